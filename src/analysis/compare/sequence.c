/* SPDX-License-Identifier: MIT */
#include "compare/sequence.h"

#include "base/hash_map.h"

/* ---- the shortest edit ----
 *
 * E. W. Myers, "An O(ND) difference algorithm and its variations", Algorithmica 1 (1986): after d
 * edits, how far down each diagonal (index in a less index in b) one gets. What every round ends
 * with is kept to walk back. */

typedef struct edit {
    const uint32_t *a, *b;
    uint32_t n, m;
    int32_t **rounds; /* round d: the ends on diagonals -d .. d, from [0] */
} edit;

/* d^2 stays linear in the lists' length, and with it the rounds' memory. */
static int32_t max_edits(uint32_t n, uint32_t m)
{
    uint64_t square = 8 * ((uint64_t)n + m) + 4096;
    int32_t d = 1;
    while ((uint64_t)d * (uint64_t)d < square)
        d++;
    return d;
}

/* Where a round begins on a diagonal: an element of a is left out, or one of b. */
static int32_t begin_of(const edit *e, int32_t d, int32_t k, bool *down)
{
    const int32_t *before = e->rounds[d - 1] + (d - 1);
    *down = k == -d || (k != d && before[k - 1] < before[k + 1]);
    return *down ? before[k + 1] : before[k - 1] + 1;
}

static int32_t slide(const edit *e, int32_t x, int32_t k)
{
    while (x < (int32_t)e->n && x - k < (int32_t)e->m && e->a[x] == e->b[x - k])
        x++;
    return x;
}

/* The number of edits, or -1 when there are too many. */
static int32_t run_rounds(hb_arena *arena, edit *e)
{
    int32_t limit = max_edits(e->n, e->m), n = (int32_t)e->n, m = (int32_t)e->m;
    bool down;
    e->rounds = HB_NEW_ARRAY(arena, int32_t *, (size_t)limit + 1);
    for (int32_t d = 0; d <= limit; d++) {
        e->rounds[d] = HB_NEW_ARRAY(arena, int32_t, 2 * (size_t)d + 1);
        for (int32_t k = -d; k <= d; k += 2) {
            int32_t x = slide(e, d ? begin_of(e, d, k, &down) : 0, k);
            e->rounds[d][k + d] = x;
            if (x >= n && x - k >= m) return d;
        }
    }
    return -1;
}

static void walk_back(const edit *e, int32_t d, uint32_t *match)
{
    int32_t x = (int32_t)e->n, k = (int32_t)e->n - (int32_t)e->m;
    for (; d >= 0; d--) {
        bool down = false;
        int32_t begin = d ? begin_of(e, d, k, &down) : 0;
        for (; x > begin; x--)
            match[x - k - 1] = (uint32_t)(x - 1);
        if (d) {
            x = down ? begin : begin - 1;
            k += down ? 1 : -1;
        }
    }
}

/* ---- the long way round ----
 *
 * For lists that have little in common: the k-th x of one belongs to the k-th x of the other, as
 * far as the order allows, which is a longest ascending subsequence. */

static uint64_t nth_key(hb_arena *arena, hb_dict *counts, uint32_t name)
{
    bool added;
    uint32_t nth = hb_dict_add(arena, counts, name, &added)->value++;
    return (uint64_t)nth << 32 | name;
}

static void match_in_order(hb_arena *arena, const edit *e, uint32_t *match)
{
    hb_dict places = {0}, a_counts = {0}, b_counts = {0};
    uint32_t *tops = HB_NEW_ARRAY(arena, uint32_t, (size_t)e->m + 1); /* of each pile, index in b */
    uint32_t *below = HB_NEW_ARRAY(arena, uint32_t, (size_t)e->m + 1);
    uint32_t *place = HB_NEW_ARRAY(arena, uint32_t, (size_t)e->m + 1), piles = 0;
    for (uint32_t i = 0; i < e->n; i++)
        hb_dict_set(arena, &places, nth_key(arena, &a_counts, e->a[i]), i);
    for (uint32_t i = 0; i < e->m; i++) {
        const hb_dict_entry *at = hb_dict_get(&places, nth_key(arena, &b_counts, e->b[i]));
        if (!at) continue;
        place[i] = at->value;
        uint32_t low = 0, high = piles;
        while (low < high) {
            uint32_t middle = (low + high) / 2;
            if (place[tops[middle]] < place[i])
                low = middle + 1;
            else
                high = middle;
        }
        below[i] = low ? tops[low - 1] : HB_UNMATCHED;
        tops[low] = i;
        if (low == piles) piles++;
    }
    for (uint32_t i = piles ? tops[piles - 1] : HB_UNMATCHED; i != HB_UNMATCHED; i = below[i])
        match[i] = place[i];
}

/* ---- both ---- */

void hb_sequence_align(hb_arena *arena, const uint32_t *a, uint32_t n, const uint32_t *b,
                       uint32_t m, uint32_t *match)
{
    uint32_t begin = 0, end = 0;
    for (uint32_t i = 0; i < m; i++)
        match[i] = HB_UNMATCHED;
    if (!n || !m) return;
    for (; begin < n && begin < m && a[begin] == b[begin]; begin++)
        match[begin] = begin;
    for (; begin + end < n && begin + end < m && a[n - 1 - end] == b[m - 1 - end]; end++)
        match[m - 1 - end] = n - 1 - end;
    edit e = {.a = a + begin, .b = b + begin, .n = n - begin - end, .m = m - begin - end};
    if (!e.n || !e.m) return;
    int32_t edits = run_rounds(arena, &e);
    if (edits >= 0)
        walk_back(&e, edits, match + begin);
    else
        match_in_order(arena, &e, match + begin);
    for (uint32_t i = begin; i < m - end; i++)
        if (match[i] != HB_UNMATCHED) match[i] += begin;
}

/* ---- repetitions ---- */

enum { MAX_PERIOD = 32, MAX_PASSES = 8 };

/* How long the group is that repeats from here; 0: none does. */
static uint32_t period_at(const uint32_t *names, uint32_t count)
{
    for (uint32_t period = 1; period <= MAX_PERIOD && 2 * period <= count; period++)
        if (memcmp(names, names + period, period * sizeof *names) == 0) return period;
    return 0;
}

static uint32_t count_turns(const uint32_t *names, uint32_t count, uint32_t period)
{
    uint32_t turns = 1;
    while ((turns + 1) * (uint64_t)period <= count &&
           memcmp(names, names + turns * period, period * sizeof *names) == 0)
        turns++;
    return turns;
}

/* into[i] is the place of names[i] among `kept`, which may be `names` itself. */
static uint32_t fold_once(const uint32_t *names, uint32_t count, uint32_t *kept, uint32_t *into)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < count;) {
        uint32_t period = period_at(names + i, count - i);
        uint32_t turns = period ? count_turns(names + i, count - i, period) : 1;
        uint32_t length = period ? period : 1;
        for (uint32_t k = 0; k < turns * length; k++)
            into[i + k] = n + k % length;
        memmove(kept + n, names + i, length * sizeof *names);
        n += length;
        i += turns * length;
    }
    return n;
}

/* Groups of groups: a a b a a b folds to a b a b, and that to a b. */
uint32_t hb_sequence_fold(hb_arena *arena, const uint32_t *names, uint32_t count, uint32_t *group)
{
    uint32_t *kept = HB_NEW_ARRAY(arena, uint32_t, (size_t)count + 1);
    uint32_t *into = HB_NEW_ARRAY(arena, uint32_t, (size_t)count + 1);
    uint32_t before = count, after = fold_once(names, count, kept, group);
    for (int pass = 1; pass < MAX_PASSES && after < before; pass++) {
        before = after;
        after = fold_once(kept, before, kept, into);
        for (uint32_t i = 0; i < count; i++)
            group[i] = into[group[i]];
    }
    return after;
}
