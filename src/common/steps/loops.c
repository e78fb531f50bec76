/* SPDX-License-Identifier: MIT */
#include "steps/loops.h"

#include "base/hash_map.h"

enum { ROUNDS_LEAST = 3, LEVELS_MOST = 64, LOOPS_MOST = 256, LOOPS_AT_ONCE = 64 };

#define EVEN          1.0  /* of places, as squares of deviation by mean: what may be a head */
#define NEARLY        0.03 /* as even as another one */
#define RARE_BUT_EVEN 0.1

/* Neighbours that were called from the same place. */
typedef struct visit {
    uint32_t place; /* index */
    hb_word_range range;
} visit;

typedef struct place {
    uint64_t address;
    hb_u32s visits; /* indices */
    uint32_t words;
    double unevenness; /* of its visits' distances: their deviation by their mean, squared */
} place;

/* The launches of a stretch, apart where their stacks part. */
typedef struct level {
    const hb_step_words *words;
    hb_word_range range;
    uint32_t depth;
    HB_VEC(visit) visits;
    HB_VEC(place) places;
} level;

static bool frame_at(const hb_step_words *words, uint32_t word, uint32_t depth, uint64_t *address)
{
    const hb_step_word *w = &words->items.items[word];
    if (depth >= w->num_frames) return false;
    *address = words->frames.items[w->frames + depth];
    return true;
}

/* As deep as all have one address. */
static uint32_t common_depth(const hb_step_words *words, hb_word_range range, uint32_t depth)
{
    uint64_t first, other;
    for (;; depth++) {
        if (!frame_at(words, range.first, depth, &first)) return depth;
        for (uint32_t i = range.first + 1; i < range.end; i++)
            if (!frame_at(words, i, depth, &other) || other != first) return depth;
    }
}

/* Launches of the function itself, whose stack ends here, have no place. */
static void part(level *l)
{
    hb_arena *arena = l->words->arena;
    hb_dict known = {0};
    uint32_t last = UINT32_MAX;
    for (uint32_t i = l->range.first; i < l->range.end; i++) {
        uint64_t address = 0;
        bool added, there = frame_at(l->words, i, l->depth, &address);
        hb_dict_entry *entry = hb_dict_add(arena, &known, there ? address : 0, &added);
        if (added) {
            entry->value = l->places.count;
            *HB_PUSH(arena, &l->places) = (place){.address = there ? address : 0};
        }
        uint32_t at = entry->value;
        if (at != last) {
            *HB_PUSH(arena, &l->places.items[at].visits) = l->visits.count;
            *HB_PUSH(arena, &l->visits) = (visit){at, {i, i}};
        }
        last = at;
        l->visits.items[l->visits.count - 1].range.end = i + 1;
        l->places.items[at].words++;
    }
}

static double unevenness_of(const hb_u32s *visits)
{
    double n = visits->count - 1, sum = 0, squares = 0;
    for (uint32_t i = 1; i < visits->count; i++) {
        double gap = (double)visits->items[i] - (double)visits->items[i - 1];
        sum += gap;
        squares += gap * gap;
    }
    double mean = sum / n, variance = squares / n - mean * mean;
    return variance > 0 ? variance / (mean * mean) : 0;
}

static bool comes_again(const place *p)
{
    return p->address && p->visits.count >= ROUNDS_LEAST;
}

static uint32_t most_visits(const level *l)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < l->places.count; i++)
        if (comes_again(&l->places.items[i])) most = HB_MAX(most, l->places.items[i].visits.count);
    return most;
}

/* The one that is on the way of every round, so that no other is visited more evenly; of those that
 * are nearly so the first. NULL: there is no loop. */
static const place *head_of(level *l, uint32_t least, uint32_t most)
{
    double evenest = EVEN;
    for (uint32_t i = 0; i < l->places.count; i++) {
        place *p = &l->places.items[i];
        if (!comes_again(p) || p->visits.count < least || p->visits.count > most) continue;
        p->unevenness = unevenness_of(&p->visits);
        evenest = HB_MIN(evenest, p->unevenness);
    }
    for (uint32_t i = 0; i < l->places.count; i++) {
        const place *p = &l->places.items[i];
        if (comes_again(p) && p->visits.count >= least && p->visits.count <= most &&
            p->unevenness <= evenest + NEARLY)
            return p;
    }
    return NULL;
}

/* Of a loop whose inner one stands in the same function, or was put there by the compiler: places
 * that are rarer and as regular. NULL: none. */
static const place *outer_head_of(level *l, uint32_t most, uint32_t *places)
{
    const place *head = most > 2 * ROUNDS_LEAST ? head_of(l, ROUNDS_LEAST, most / 2 - 1) : NULL;
    if (!head || head->unevenness > RARE_BUT_EVEN) return NULL;
    uint32_t n = head->visits.count, first = head->visits.items[0],
             last = head->visits.items[n - 1];
    *places = 0;
    for (uint32_t i = 0; i < l->places.count; i++) {
        const place *p = &l->places.items[i];
        *places += comes_again(p) && p->visits.count + 1 >= n && p->visits.count <= n + 1;
    }
    return last - first >= l->visits.count / 2 ? head : NULL;
}

static uint32_t find_in(const hb_step_words *words, hb_word_range range, uint32_t depth,
                        uint32_t parent, uint32_t levels, hb_loops *loops);

/* To the end of the last visit of a place that comes again. */
static uint32_t end_of(const level *l, uint32_t *places)
{
    uint32_t end = 0;
    for (uint32_t i = 0; i < l->places.count; i++) {
        const place *p = &l->places.items[i];
        if (!comes_again(p)) continue;
        ++*places;
        uint32_t last = p->visits.items[p->visits.count - 1];
        end = HB_MAX(end, l->visits.items[last].range.end);
    }
    return end;
}

static hb_loop make_loop(const level *l, const place *head, uint32_t parent)
{
    hb_loop loop = {.parent = parent, .depth = l->depth, .place = head->address};
    uint32_t end = end_of(l, &loop.places), n = head->visits.count;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t first = l->visits.items[head->visits.items[i]].range.first;
        uint32_t next = i + 1 < n ? l->visits.items[head->visits.items[i + 1]].range.first : end;
        *HB_PUSH(l->words->arena, &loop.rounds) = (hb_word_range){first, next};
    }
    return loop;
}

/* The first visit of the inner loop behind one of the outer one's places. */
static uint32_t next_inner(const level *l, uint32_t from, uint32_t least)
{
    while (from < l->visits.count &&
           l->places.items[l->visits.items[from].place].visits.count < least)
        from++;
    return from;
}

/* for { for { a b } c }: a round does not begin with c, but with the a behind it. */
static hb_loop make_outer_loop(const level *l, const place *head, uint32_t most, uint32_t places,
                               uint32_t parent)
{
    hb_loop loop = make_loop(l, head, parent);
    uint32_t start = next_inner(l, 0, most / 2);
    loop.places = places + 1;
    if (start >= head->visits.items[0]) return loop;
    uint32_t n = loop.rounds.count, end = loop.rounds.items[n - 1].end;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t next = next_inner(l, head->visits.items[i], most / 2);
        bool last = i + 1 == n || next >= l->visits.count;
        uint32_t stop = last ? end : l->visits.items[next].range.first;
        loop.rounds.items[i] = (hb_word_range){l->visits.items[start].range.first, stop};
        start = HB_MIN(next, l->visits.count - 1);
    }
    loop.place = l->places.items[l->visits.items[next_inner(l, 0, most / 2)].place].address;
    return loop;
}

static bool is_same(const hb_loop *a, const hb_loop *b)
{
    return a->depth == b->depth && a->place == b->place && a->parent == b->parent;
}

/* A loop that is found in visit after visit of a place is one loop, of all their rounds. Parents
 * come before their children, so what they became is known. */
static void join(const hb_step_words *words, hb_loops *loops, uint32_t first)
{
    uint32_t kept = first, *became = HB_NEW_ARRAY(words->arena, uint32_t, loops->count - first + 1);
    for (uint32_t i = first; i < loops->count; i++) {
        hb_loop from = loops->items[i];
        uint32_t k = first;
        if (from.parent > first) from.parent = became[from.parent - 1 - first] + 1;
        while (k < kept && !is_same(&loops->items[k], &from))
            k++;
        became[i - first] = k;
        hb_loop *to = &loops->items[k];
        if (k == kept) {
            *to = from;
            kept++;
            continue;
        }
        for (uint32_t r = 0; r < from.rounds.count; r++)
            *HB_PUSH(words->arena, &to->rounds) = from.rounds.items[r];
        to->places = HB_MAX(to->places, from.places);
        to->is_finer &= from.is_finer;
    }
    loops->count = kept;
}

/* Its own launches fill the visit from its beginning to its end, and the frame below is the
 * function's that is called. */
static bool fills(const hb_loop *loop, const level *l, hb_word_range range)
{
    const hb_word_range *last = &loop->rounds.items[loop->rounds.count - 1];
    return loop->depth == l->depth + 1 && loop->rounds.items[0].first == range.first &&
           last->end == range.end;
}

/* `for (...) step();` beside a rarer place, as an output each ten steps: one visit is many calls.
 */
static void look_into_visits(const level *l, uint32_t own, uint32_t parent, uint32_t levels,
                             hb_loops *loops)
{
    uint32_t first = loops->count;
    for (uint32_t i = 0; i < l->visits.count; i++) {
        const visit *v = &l->visits.items[i];
        if (!l->places.items[v->place].address) continue;
        uint32_t top =
            find_in(l->words, v->range, l->depth + 1, own ? own : parent, levels + 1, loops);
        if (top) loops->items[top - 1].is_finer = own && fills(&loops->items[top - 1], l, v->range);
        if (loops->count - first >= LOOPS_AT_ONCE) join(l->words, loops, first);
    }
    join(l->words, loops, first);
}

/* Gives the index + 1 of the loop of this stretch's own level; 0: there is none. */
static uint32_t find_in(const hb_step_words *words, hb_word_range range, uint32_t depth,
                        uint32_t parent, uint32_t levels, hb_loops *loops)
{
    if (range.end - range.first < ROUNDS_LEAST || levels == LEVELS_MOST ||
        loops->count >= LOOPS_MOST)
        return 0;
    level l = {.words = words, .range = range, .depth = common_depth(words, range, depth)};
    uint32_t first = loops->count, outer_places, own = 0;
    part(&l);
    uint32_t most = most_visits(&l);
    const place *head = head_of(&l, (most + 1) / 2, most);
    const place *outer = head ? outer_head_of(&l, most, &outer_places) : NULL;
    if (outer) {
        *HB_PUSH(words->arena, loops) = make_outer_loop(&l, outer, most, outer_places, parent);
        parent = loops->count;
    }
    if (head) {
        hb_loop loop = make_loop(&l, head, parent);
        loop.is_finer = outer != NULL;
        *HB_PUSH(words->arena, loops) = loop;
        own = loops->count;
    }
    if (l.visits.count > 1) look_into_visits(&l, own, parent, levels, loops);
    return head ? first + 1 : 0;
}

void hb_loops_find(const hb_step_words *words, hb_word_range thread, hb_loops *loops)
{
    find_in(words, thread, 0, 0, 0, loops);
}
