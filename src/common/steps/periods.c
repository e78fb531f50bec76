/* SPDX-License-Identifier: MIT */
#include "steps/periods.h"

#include <math.h>

#include "base/hash_map.h"

enum {
    LEAST_WORDS = 9,
    ROUNDS_LEAST = 3,
    LAGS_MOST = 300,
    ANCHORS_MOST = 48,
    OCCURRENCES_LOOKED_AT = 400,
    GAP_TIMES = 10, /* a gap is a border by itself when it is so many times the next longest */
};

#define AGREEMENT_LEAST 0.98 /* of a period; what lies within 0.01 of the best is as good */
#define LIKENESS_LEAST  0.7  /* of the bags between anchors */
#define ANOTHER_KIND    0.5
#define BORDERS_LEAST   0.8 /* share of rounds that begin where the host waited */
#define COVERAGE_LEAST  0.8
#define REGULAR         0.3 /* deviation by mean of what counts as regular */

/* The kernels of a thread as numbers from 0, and where each one occurs. */
typedef struct sequence {
    const hb_step_words *words;
    hb_arena *arena;
    uint32_t n, num_words, first; /* first: of the thread's words */
    uint32_t *ids;                /* by position */
    uint32_t *positions;          /* index of the word */
    bool *borders;                /* the host waited before it, or copied */
    bool *loads;                  /* ... for data */
    hb_u32s *where;               /* by id */
} sequence;

/* ---- the sequence ---- */

static void index_words(sequence *s, bool exact)
{
    hb_dict known = {0};
    for (uint32_t i = 0; i < s->n; i++) {
        const hb_step_word *w = &s->words->items.items[s->positions[i]];
        bool added;
        hb_dict_entry *e = hb_dict_add(s->arena, &known, exact ? w->exact : w->name, &added);
        if (added) e->value = s->num_words++;
        s->ids[i] = e->value;
    }
    s->where = HB_NEW_ARRAY(s->arena, hb_u32s, s->num_words + 1);
    for (uint32_t i = 0; i < s->n; i++)
        *HB_PUSH(s->arena, &s->where[s->ids[i]]) = i;
}

/* Copies are no words, but borders. */
static sequence make_sequence(const hb_step_words *words, hb_word_range thread, bool exact)
{
    sequence s = {.words = words, .arena = words->arena, .first = thread.first};
    uint32_t most = thread.end - thread.first;
    s.ids = HB_NEW_ARRAY(s.arena, uint32_t, most + 1);
    s.positions = HB_NEW_ARRAY(s.arena, uint32_t, most + 1);
    s.borders = HB_NEW_ARRAY(s.arena, bool, most + 1);
    s.loads = HB_NEW_ARRAY(s.arena, bool, most + 1);
    bool border = false, load = false;
    for (uint32_t i = thread.first; i < thread.end; i++) {
        const hb_step_word *w = &words->items.items[i];
        border |= w->host_waits;
        load |= w->loads;
        if (w->is_copy) continue;
        s.positions[s.n] = i;
        s.loads[s.n] = load;
        s.borders[s.n++] = border;
        border = load = false;
    }
    index_words(&s, exact);
    return s;
}

static const hb_step_word *word_at(const sequence *s, uint32_t position)
{
    return &s->words->items.items[s->positions[position]];
}

/* How long the host took before it asked for this one. */
static double gap_before(const sequence *s, uint32_t position)
{
    if (!position) return 0;
    int64_t ns = word_at(s, position)->start_ns - word_at(s, position - 1)->end_ns;
    return ns > 0 ? (double)ns : 0;
}

/* Deviation by mean of the distances of an ascending list. */
static double unevenness(const uint32_t *at, uint32_t count)
{
    double n = count - 1, sum = 0, squares = 0;
    for (uint32_t i = 1; i < count; i++) {
        double gap = (double)at[i] - (double)at[i - 1];
        sum += gap;
        squares += gap * gap;
    }
    double mean = sum / n, variance = squares / n - mean * mean;
    return variance > 0 ? sqrt(variance) / mean : 0;
}

/* ---- a stretch that comes again and again ---- */

typedef struct lag {
    uint32_t length, votes, lead, end; /* positions [lead, end) */
    double agreement;
} lag;

static void vote(const sequence *s, hb_dict *votes, uint32_t distance)
{
    bool added;
    if (distance >= 2 && s->n >= ROUNDS_LEAST * distance)
        hb_dict_add(s->arena, votes, distance, &added)->value++;
}

/* A step's length is the distance of two occurrences of a word that it has once, or a few times. */
static void vote_by(const sequence *s, hb_dict *votes, const hb_u32s *where)
{
    static const uint32_t apart[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32};
    uint32_t count = HB_MIN(where->count, (uint32_t)OCCURRENCES_LOOKED_AT);
    const uint32_t *at = where->items + (where->count - count) / 2;
    if (count < ROUNDS_LEAST) return;
    for (size_t k = 0; k < HB_ARRAY_LEN(apart); k++)
        for (uint32_t i = 0; i + apart[k] < count; i++)
            vote(s, votes, at[i + apart[k]] - at[i]);
}

static bool more_votes(const void *context, const void *a, const void *b)
{
    (void)context;
    return ((const lag *)a)->votes > ((const lag *)b)->votes;
}

/* Without what comes before the loop and after it. */
static void measure(const sequence *s, lag *l)
{
    uint32_t last = s->n - l->length, lead = 0, equal = 0;
    while (lead < last && s->ids[lead] != s->ids[lead + l->length])
        lead++;
    while (last > lead && s->ids[last - 1] != s->ids[last - 1 + l->length])
        last--;
    for (uint32_t i = lead; i < last; i++)
        equal += s->ids[i] == s->ids[i + l->length];
    if (last - lead < 2 * l->length) return;
    l->agreement = equal / (double)(last - lead);
    l->lead = lead;
    l->end = last + l->length;
}

static bool shorter(const void *context, const void *a, const void *b)
{
    (void)context;
    return ((const lag *)a)->length < ((const lag *)b)->length;
}

/* Those that are as good as the best one, the shortest first. */
static uint32_t best_lags(const sequence *s, lag **result)
{
    hb_dict votes = {0};
    for (uint32_t w = 0; w < s->num_words; w++)
        vote_by(s, &votes, &s->where[w]);
    uint32_t n = votes.entries.count, kept = 0;
    lag *all = HB_NEW_ARRAY(s->arena, lag, n + 1);
    for (uint32_t i = 0; i < n; i++)
        all[i] = (lag){.length = (uint32_t)votes.entries.items[i].key,
                       .votes = votes.entries.items[i].value};
    hb_sort(s->arena, all, n, sizeof *all, more_votes, NULL);
    n = HB_MIN(n, (uint32_t)LAGS_MOST);
    double best = 0;
    for (uint32_t i = 0; i < n; i++) {
        measure(s, &all[i]);
        best = fmax(best, all[i].agreement);
    }
    for (uint32_t i = 0; i < n; i++)
        if (all[i].agreement >= fmax(best - 0.01, AGREEMENT_LEAST)) all[kept++] = all[i];
    hb_sort(s->arena, all, kept, sizeof *all, shorter, NULL);
    *result = all;
    return kept;
}

/* ---- what speaks against it ---- */

static bool has_two_words(const sequence *s, uint32_t from, uint32_t end)
{
    for (uint32_t i = from + 1; i < end; i++)
        if (s->ids[i] != s->ids[from]) return true;
    return false;
}

static bool covers(const sequence *s, uint32_t first, uint32_t end)
{
    hb_word_range range = {s->positions[first], s->positions[end - 1] + 1};
    double words = (double)(end - first) / s->n;
    double work = (double)hb_step_words_work(s->words, range);
    return words >= COVERAGE_LEAST && work >= COVERAGE_LEAST * (double)s->words->work_ns;
}

/* A word that comes regularly, but in fewer than half of the rounds: these are rounds of an inner
 * loop, or some of them are of another kind. */
static bool has_rarer(const sequence *s, uint32_t first, uint32_t end, uint32_t rounds)
{
    for (uint32_t w = 0; w < s->num_words; w++) {
        const uint32_t *at = s->where[w].items;
        uint32_t count = s->where[w].count;
        while (count && at[0] < first)
            at++, count--;
        while (count && at[count - 1] >= end)
            count--;
        if (count < ROUNDS_LEAST || count > rounds / 2) continue;
        if (at[count - 1] - at[0] >= (end - first) * 6 / 10 && unevenness(at, count) <= REGULAR)
            return true;
    }
    return false;
}

/* ---- where a period begins ---- */

typedef struct phase {
    double borders, loads; /* share */
    double gap;            /* mean */
} phase;

static phase phase_of(const sequence *s, const lag *l, uint32_t offset)
{
    phase p = {0};
    uint32_t n = 0;
    for (uint32_t at = l->lead + offset; at < l->end; at += l->length) {
        if (!at) continue; /* nothing is known of what came before */
        p.borders += s->borders[at];
        p.loads += s->loads[at];
        p.gap += gap_before(s, at);
        n++;
    }
    if (n) p.borders /= n, p.loads /= n, p.gap /= n;
    return p;
}

/* Where the host waits: for data, or else for anything; of several such places the one with the
 * longest gap. Without any, only a gap that is like no other. False: nowhere. */
static bool find_border(const sequence *s, const lag *l, uint32_t *offset)
{
    double longest = -1, second = 0, longest_border = -1;
    uint32_t at_gap = 0, at_border = 0;
    bool loads = false;
    for (uint32_t i = 0; i < l->length; i++) {
        phase p = phase_of(s, l, i);
        if (p.gap > longest) {
            second = longest;
            longest = p.gap;
            at_gap = i;
        } else {
            second = fmax(second, p.gap);
        }
        if (p.borders < BORDERS_LEAST) continue;
        bool load = p.loads >= BORDERS_LEAST;
        if (load == loads ? p.gap <= longest_border : loads) continue;
        loads = load;
        longest_border = p.gap;
        at_border = i;
    }
    *offset = longest_border >= 0 ? at_border : at_gap;
    return longest_border >= 0 || (longest > 0 && longest >= GAP_TIMES * second);
}

/* The word behind the last loader, of the copies before a position and it; else `otherwise`. */
static uint32_t behind_loader(const sequence *s, uint32_t position, uint32_t otherwise)
{
    if (position >= s->n) return otherwise;
    uint32_t least = position ? s->positions[position - 1] + 1 : s->first;
    for (uint32_t i = s->positions[position] + 1; i-- > least;)
        if (s->words->items.items[i].loads) return i;
    return otherwise;
}

static void add_round(const sequence *s, hb_period *period, uint32_t first, uint32_t end)
{
    *HB_PUSH(s->arena, &period->rounds) =
        (hb_word_range){behind_loader(s, first, s->positions[first]),
                        behind_loader(s, end, s->positions[end - 1] + 1)};
}

static bool try_lag(const sequence *s, const lag *l, hb_period *period)
{
    uint32_t offset;
    if (!has_two_words(s, l->lead, l->lead + l->length) || !find_border(s, l, &offset))
        return false;
    uint32_t first = l->lead + offset, rounds = (l->end - first) / l->length;
    uint32_t end = first + rounds * l->length;
    if (rounds < ROUNDS_LEAST || !covers(s, first, end)) return false;
    if (has_rarer(s, first, end, rounds)) return false;
    for (uint32_t i = 0; i < rounds; i++)
        add_round(s, period, first + i * l->length, first + (i + 1) * l->length);
    period->agreement = l->agreement;
    period->name = word_at(s, first)->name;
    return true;
}

static bool by_lag(const sequence *s, hb_period *period)
{
    lag *lags;
    uint32_t n = best_lags(s, &lags);
    for (uint32_t i = 0; i < n; i++)
        if (try_lag(s, &lags[i], period)) return true;
    return false;
}

/* ---- a word that each step has once ---- */

typedef struct anchor {
    const hb_u32s *where;
    double unevenness, likeness;
} anchor;

static bool more_even(const void *context, const void *a, const void *b)
{
    (void)context;
    return ((const anchor *)a)->unevenness < ((const anchor *)b)->unevenness;
}

static uint32_t even_anchors(const sequence *s, anchor **result)
{
    anchor *all = HB_NEW_ARRAY(s->arena, anchor, s->num_words + 1);
    uint32_t n = 0;
    for (uint32_t w = 0; w < s->num_words; w++) {
        const hb_u32s *at = &s->where[w];
        if (at->count <= ROUNDS_LEAST || at->count > s->n / 3) continue;
        double u = unevenness(at->items, at->count);
        if (u <= 0.5) all[n++] = (anchor){.where = at, .unevenness = u};
    }
    hb_sort(s->arena, all, n, sizeof *all, more_even, NULL);
    *result = all;
    return HB_MIN(n, (uint32_t)ANCHORS_MOST);
}

/* How much of two neighbouring rounds is alike, in any order; `counts` are all 0, and are again. */
static double likeness_of_pair(const sequence *s, uint32_t a, uint32_t b, uint32_t end,
                               int32_t *counts)
{
    uint32_t same = 0;
    for (uint32_t i = a; i < b; i++)
        counts[s->ids[i]]++;
    for (uint32_t i = b; i < end; i++)
        same += counts[s->ids[i]]-- > 0;
    for (uint32_t i = a; i < end; i++)
        counts[s->ids[i]] = 0;
    return same / (double)HB_MAX(b - a, end - b);
}

/* In the mean; 0 when some rounds are of quite another kind than their neighbours, as validation
 * is. */
static double likeness(const sequence *s, const hb_u32s *where, int32_t *counts)
{
    double sum = 0;
    uint32_t n = where->count - 2, others = 0;
    for (uint32_t i = 2; i < where->count; i++) {
        double alike =
            likeness_of_pair(s, where->items[i - 2], where->items[i - 1], where->items[i], counts);
        others += alike < ANOTHER_KIND;
        sum += alike;
    }
    return others > n / 20 ? 0 : sum / n;
}

static double share_of_borders(const sequence *s, const hb_u32s *where)
{
    uint32_t borders = 0, n = 0;
    for (uint32_t i = 0; i < where->count; i++) {
        if (!where->items[i]) continue;
        borders += s->borders[where->items[i]];
        n++;
    }
    return n ? borders / (double)n : 0;
}

/* The last round is as long as the others are in the mean, or shorter. */
static uint32_t end_of_anchor(const sequence *s, const hb_u32s *where)
{
    uint32_t last = where->items[where->count - 1], first = where->items[0];
    uint32_t mean = (last - first) / (where->count - 1);
    return HB_MIN(s->n, last + mean);
}

static bool is_convincing(const sequence *s, const anchor *a)
{
    uint32_t first = a->where->items[0], end = end_of_anchor(s, a->where);
    return a->likeness >= LIKENESS_LEAST && has_two_words(s, first, a->where->items[1]) &&
           share_of_borders(s, a->where) >= BORDERS_LEAST && covers(s, first, end) &&
           !has_rarer(s, first, end, a->where->count);
}

static bool agree(uint32_t a, uint32_t b)
{
    uint32_t low = HB_MIN(a, b), high = HB_MAX(a, b);
    return high - low <= 1 + high / 50;
}

/* False: there is none, or they contradict each other. */
static bool by_anchor(const sequence *s, hb_period *period)
{
    anchor *all, *best = NULL;
    uint32_t n = even_anchors(s, &all);
    int32_t *counts = HB_NEW_ARRAY(s->arena, int32_t, s->num_words + 1);
    for (uint32_t i = 0; i < n; i++) {
        all[i].likeness = likeness(s, all[i].where, counts);
        if (!is_convincing(s, &all[i])) continue;
        if (best && !agree(best->where->count, all[i].where->count)) return false;
        if (!best || all[i].likeness > best->likeness) best = &all[i];
    }
    if (!best) return false;
    const hb_u32s *at = best->where;
    for (uint32_t i = 0; i < at->count; i++)
        add_round(s, period, at->items[i],
                  i + 1 < at->count ? at->items[i + 1] : end_of_anchor(s, at));
    period->agreement = best->likeness;
    period->name = word_at(s, at->items[0])->name;
    return true;
}

/* ---- the whole ---- */

static bool look(const hb_step_words *words, hb_word_range thread, bool exact, hb_period *period)
{
    sequence s = make_sequence(words, thread, exact);
    hb_period other = {0};
    if (s.n < LEAST_WORDS || s.num_words < 2) return false;
    if (!by_lag(&s, period)) return by_anchor(&s, period);
    if (by_anchor(&s, &other) && !agree(period->rounds.count, other.rounds.count))
        period->rounds.count = 0;
    return true;
}

/* Shapes that change from step to step hide what names alone show. */
void hb_periods_find(const hb_step_words *words, hb_word_range thread, hb_period *period)
{
    *period = (hb_period){0};
    if (!look(words, thread, true, period)) look(words, thread, false, period);
}
