/* SPDX-License-Identifier: MIT
 *
 * What is odd about a job's traces: a rank that is there twice, other steps, other collectives,
 * records that were lost, a clock that runs backwards. Each is said in one line, and what cannot be
 * compared is left out.
 */
#include "ranks/study.h"

#include <stdio.h>

/* How often each of some numbers is there. */
typedef struct tally {
    HB_VEC(int64_t) numbers;
} tally;

static bool is_less(const void *context, const void *x, const void *y)
{
    (void)context;
    return *(const int64_t *)x < *(const int64_t *)y;
}

/* The most frequent one, of equally frequent ones the largest; how often. */
static uint32_t most_frequent(hb_arena *arena, tally *t, int64_t *number)
{
    uint32_t most = 0;
    hb_sort(arena, t->numbers.items, t->numbers.count, sizeof *t->numbers.items, is_less, NULL);
    for (uint32_t i = 0, run = 0; i < t->numbers.count; i++) {
        run = i && t->numbers.items[i] == t->numbers.items[i - 1] ? run + 1 : 1;
        if (run < most) continue;
        most = run;
        *number = t->numbers.items[i];
    }
    return most;
}

/* ---- a rank that is there twice ---- */

/* Of cycles of one rank none begins before the one before it has ended. */
void hb_study_drop_twins(hb_rank_study *s)
{
    uint32_t kept = 0, twins = 0;
    int64_t rank = 0;
    for (uint32_t i = 0; i < s->cycles.count; i++) {
        const hb_rank_digest *d = &s->cycles.items[i].digest,
                             *before = kept ? &s->cycles.items[kept - 1].digest : NULL;
        bool twin = before && before->rank == d->rank && d->start < before->end &&
                    !(d->worker.len == before->worker.len &&
                      memcmp(d->worker.s, before->worker.s, d->worker.len) == 0);
        if (twin && !twins++) rank = d->rank;
        if (!twin) s->cycles.items[kept++] = s->cycles.items[i];
    }
    s->cycles.count = kept;
    if (twins)
        hb_study_note(s,
                      "%u trace%s of a rank that is there twice at a time, as rank %lld: left out",
                      twins, hb_plural(twins), (long long)rank);
}

/* ---- backends, clocks ---- */

static void tell_backends(hb_rank_study *s)
{
    hb_str first = {"", 0};
    for (uint32_t i = 0; i < s->cycles.count; i++) {
        hb_str own = s->cycles.items[i].digest.backend;
        if (!own.len) continue;
        if (!first.len) first = own;
        if (own.len == first.len && memcmp(own.s, first.s, own.len) == 0) continue;
        hb_study_note(
            s,
            "backends differ: %.*s of rank %lld, %.*s of rank %lld; collectives are matched "
            "all the same",
            (int)first.len, first.s, (long long)s->cycles.items[0].digest.rank, (int)own.len, own.s,
            (long long)s->cycles.items[i].digest.rank);
        return;
    }
}

static bool runs_backwards(const hb_rank_digest *d)
{
    for (uint32_t k = 1; k < d->num_steps; k++)
        if (d->steps[k].number < d->steps[k - 1].number) return true;
    return false;
}

static void tell_clocks(hb_rank_study *s)
{
    uint32_t odd = 0;
    int64_t rank = 0;
    for (uint32_t i = 0; i < s->cycles.count; i++)
        if (runs_backwards(&s->cycles.items[i].digest) && !odd++)
            rank = s->cycles.items[i].digest.rank;
    if (odd)
        hb_study_note(
            s, "the clock of rank %lld runs backwards%s: later steps begin before earlier ones",
            (long long)rank, odd > 1 ? ", and those of others" : "");
}

/* What recorders had to drop: collectives and messages may be among it. */
static void tell_lost(hb_rank_study *s)
{
    uint32_t traces = 0;
    const hb_rank_digest *most = NULL;
    for (uint32_t i = 0; i < s->cycles.count; i++) {
        const hb_rank_digest *d = &s->cycles.items[i].digest;
        if (!d->lost) continue;
        traces++;
        if (!most || d->lost > most->lost) most = d;
    }
    if (most)
        hb_study_note(s, "%u trace%s lost records, most of them that of rank %lld: %llu", traces,
                      hb_plural(traces), (long long)most->rank, (unsigned long long)most->lost);
}

/* ---- steps ---- */

static int64_t steps_of(const hb_rank_study *s, uint32_t from, uint32_t *behind)
{
    int64_t steps = 0;
    uint32_t i = from;
    for (;
         i < s->cycles.count && s->cycles.items[i].digest.rank == s->cycles.items[from].digest.rank;
         i++)
        steps += s->cycles.items[i].digest.num_steps;
    *behind = i;
    return steps;
}

static void tell_steps(hb_rank_study *s)
{
    tally t = {0};
    int64_t most = 0, own, odd_steps = 0, odd_rank = 0;
    uint32_t odd = 0;
    for (uint32_t i = 0, behind; i < s->cycles.count; i = behind)
        *HB_PUSH(&s->arena, &t.numbers) = steps_of(s, i, &behind);
    most_frequent(&s->arena, &t, &most);
    for (uint32_t i = 0, behind; i < s->cycles.count; i = behind) {
        own = steps_of(s, i, &behind);
        if (own == most || odd++) continue;
        odd_steps = own;
        odd_rank = s->cycles.items[i].digest.rank;
    }
    if (odd)
        hb_study_note(
            s,
            "%u rank%s recorded another number of steps than the others' %lld, as rank %lld %lld",
            odd, hb_plural(odd), (long long)most, (long long)odd_rank, (long long)odd_steps);
}

/* Then one cycle's steps and times are not another's. */
static bool has_several_cycles(const hb_rank_study *s)
{
    for (uint32_t i = 1; i < s->cycles.count; i++)
        if (s->cycles.items[i].digest.rank == s->cycles.items[i - 1].digest.rank) return true;
    return false;
}

/* Of the same number, but others, as of a rank that began later. */
static void tell_other_steps(hb_rank_study *s)
{
    tally firsts = {0}, lasts = {0};
    int64_t first = 0, last = 0;
    uint32_t odd = 0;
    const hb_rank_digest *example = NULL;
    for (uint32_t i = 0; i < s->cycles.count; i++) {
        const hb_rank_digest *d = &s->cycles.items[i].digest;
        if (!d->num_steps) continue;
        *HB_PUSH(&s->arena, &firsts.numbers) = d->steps[0].number;
        *HB_PUSH(&s->arena, &lasts.numbers) = d->steps[d->num_steps - 1].number;
    }
    most_frequent(&s->arena, &firsts, &first);
    most_frequent(&s->arena, &lasts, &last);
    for (uint32_t i = 0; i < s->cycles.count; i++) {
        const hb_rank_digest *d = &s->cycles.items[i].digest;
        bool other = d->num_steps && d->num_steps == last - first + 1 &&
                     d->steps[0].number != first && d->steps[d->num_steps - 1].number != last &&
                     !runs_backwards(d);
        if (other && !odd++) example = d;
    }
    if (!odd) return;
    hb_study_note(s,
                  "%u trace%s of other steps than the others' %lld to %lld, as of rank %lld %lld "
                  "to %lld",
                  odd, hb_plural(odd), (long long)first, (long long)last, (long long)example->rank,
                  (long long)example->steps[0].number,
                  (long long)example->steps[example->num_steps - 1].number);
}

static int64_t middle_of(hb_arena *arena, tally *t)
{
    hb_sort(arena, t->numbers.items, t->numbers.count, sizeof *t->numbers.items, is_less, NULL);
    return t->numbers.count ? t->numbers.items[t->numbers.count / 2] : 0;
}

/* At no time of the others'. */
static void tell_other_times(hb_rank_study *s)
{
    tally starts = {0}, ends = {0};
    uint32_t odd = 0;
    const hb_rank_digest *example = NULL;
    for (uint32_t i = 0; i < s->cycles.count; i++) {
        const hb_rank_digest *d = &s->cycles.items[i].digest;
        *HB_PUSH(&s->arena, &starts.numbers) = d->start;
        *HB_PUSH(&s->arena, &ends.numbers) = d->end;
    }
    int64_t start = middle_of(&s->arena, &starts), end = middle_of(&s->arena, &ends);
    for (uint32_t i = 0; i < s->cycles.count; i++) {
        const hb_rank_digest *d = &s->cycles.items[i].digest;
        if ((d->end < start || d->start > end) && !odd++) example = d;
    }
    if (!odd) return;
    hb_study_note(s,
                  "%u rank%s recorded at another time than the others, or by a clock that is far "
                  "away, as rank %lld from %s, most from %s",
                  odd, hb_plural(odd), (long long)example->rank, hb_study_time(example->start).text,
                  hb_study_time(start).text);
}

/* ---- runs ---- */

static bool begins_anew(const hb_rank_digest *before, const hb_rank_digest *d)
{
    return d->rank == before->rank && d->num_steps && before->num_steps &&
           d->steps[0].number == before->steps[0].number;
}

/* Where steps of a rank begin anew another run did. The last one is compared, without what ranks
 * left that only earlier ones had. */
static void keep_last_run(hb_rank_study *s)
{
    int64_t earlier = 0, last = INT64_MAX;
    uint32_t kept = 0, from = 0;
    for (uint32_t i = 0; i < s->cycles.count; i++) {
        const hb_rank_digest *d = &s->cycles.items[i].digest;
        if (i && s->cycles.items[i - 1].digest.rank != d->rank) from = kept;
        if (i && begins_anew(&s->cycles.items[i - 1].digest, d)) {
            earlier = s->cycles.items[i - 1].digest.start;
            last = HB_MIN(last, d->start);
            kept = from;
        }
        s->cycles.items[kept++] = s->cycles.items[i];
    }
    s->cycles.count = kept;
    if (last == INT64_MAX) return;
    kept = 0;
    for (uint32_t i = 0; i < s->cycles.count; i++)
        if (s->cycles.items[i].digest.end >= last) s->cycles.items[kept++] = s->cycles.items[i];
    s->cycles.count = kept;
    hb_study_note(s,
                  "steps have the same numbers in several traces of a rank: of two runs in one "
                  "directory, of %s and of %s, this is the last one; name the files of the other "
                  "to see that",
                  hb_study_time(earlier).text, hb_study_time(last).text);
}

/* ---- collectives ---- */

typedef struct way {
    const hb_rank_digest *digest;
    hb_rank_group *group;
    int64_t rank;
} way;

/* ns from the first to the end of the last */
static int64_t length_of(const way *w)
{
    hb_rank_walk walk = hb_rank_walk_group(w->digest, w->group);
    hb_rank_entry e;
    int64_t first = 0, last = 0;
    for (bool begun = false; hb_rank_next(&walk, &e); begun = true) {
        if (!begun) first = e.start;
        last = HB_MAX(last, e.end);
    }
    return last - first;
}

typedef struct group_ways {
    hb_str name;
    uint32_t cycle;
    HB_VEC(way) ways;
} group_ways;

typedef struct all_ways {
    HB_VEC(group_ways) groups;
    hb_texts *names; /* "<cycle>\t<group>" */
} all_ways;

static group_ways *ways_of(hb_rank_study *s, all_ways *all, uint32_t cycle, hb_str name)
{
    char text[16 + 256];
    int n = snprintf(text, sizeof text, "%u\t%.*s", cycle, (int)HB_MIN(name.len, 256u), name.s);
    hb_string_id id = hb_texts_add(all->names, text, (size_t)n);
    if (!id) hb_arena_leave(&s->arena, HB_ERROR_NO_MEMORY, "out of memory");
    if (id > all->groups.count)
        *HB_PUSH(&s->arena, &all->groups) = (group_ways){.name = name, .cycle = cycle};
    return &all->groups.items[id - 1];
}

static void collect(hb_rank_study *s, all_ways *all)
{
    uint32_t cycle = 0;
    for (uint32_t i = 0; i < s->cycles.count; i++) {
        hb_rank_digest *d = &s->cycles.items[i].digest;
        cycle = i && d->rank == s->cycles.items[i - 1].digest.rank ? cycle + 1 : 0;
        for (uint32_t k = 0; k < d->num_groups; k++) {
            hb_rank_group *g = (hb_rank_group *)(uintptr_t)&d->groups[k]; /* the study's own */
            if (g->numbered) continue;
            group_ways *of = ways_of(s, all, cycle, g->name);
            *HB_PUSH(&s->arena, &of->ways) = (way){d, g, d->rank};
        }
    }
}

/* Without numbers collectives are matched by their places: so where a rank lacks some in between,
 * all behind them would be matched wrongly. A recording that ended earlier lacks only the last. */
static bool has_holes(const way *w, int64_t most, int64_t usual)
{
    double share = (double)w->group->count / (double)most;
    return (double)length_of(w) > (double)usual * (share + 1) / 2;
}

static int64_t usual_length(hb_rank_study *s, const group_ways *g, int64_t most)
{
    tally lengths = {0};
    for (uint32_t i = 0; i < g->ways.count; i++)
        if (g->ways.items[i].group->count == most)
            *HB_PUSH(&s->arena, &lengths.numbers) = length_of(&g->ways.items[i]);
    hb_sort(&s->arena, lengths.numbers.items, lengths.numbers.count, sizeof(int64_t), is_less,
            NULL);
    return lengths.numbers.count ? lengths.numbers.items[lengths.numbers.count / 2] : 0;
}

/* Whether it is odd. */
static bool check_group(hb_rank_study *s, group_ways *g, bool tell)
{
    tally counts = {0};
    int64_t most = 0;
    uint32_t odd = 0;
    bool holes = false;
    const way *example = NULL;
    for (uint32_t i = 0; i < g->ways.count; i++)
        *HB_PUSH(&s->arena, &counts.numbers) = g->ways.items[i].group->count;
    if (most_frequent(&s->arena, &counts, &most) == g->ways.count) return false;
    int64_t usual = usual_length(s, g, most), examples = 0;
    for (uint32_t i = 0; i < g->ways.count; i++) {
        way *w = &g->ways.items[i];
        if (w->group->count == most) continue;
        if (!odd++) example = w, examples = w->group->count;
        if (!has_holes(w, most, usual)) continue;
        holes = true;
        w->group->count = 0;
        w->group->data.len = 0;
    }
    if (!odd || !tell) return odd;
    hb_str name = g->name.len ? g->name : HB_STR("default");
    hb_study_note(s,
                  "%u rank%s took part in another number of collectives of %.*s than most, as rank "
                  "%lld in %lld of %lld%s",
                  odd, hb_plural(odd), hb_study_cut(name, 60), name.s, (long long)example->rank,
                  (long long)examples, (long long)most,
                  holes ? ": without numbers (Seq) not to be matched, left out" : "");
    return true;
}

static void check_groups(hb_rank_study *s, all_ways *all)
{
    enum { MOST_TOLD = 64 };
    uint32_t odd = 0;
    for (uint32_t i = 0; i < all->groups.count; i++)
        odd += check_group(s, &all->groups.items[i], odd < MOST_TOLD);
    if (odd > MOST_TOLD) hb_study_note(s, "so it is with %u more communicators", odd - MOST_TOLD);
}

void hb_study_tell_mismatches(hb_rank_study *s)
{
    for (uint32_t i = 0; i < s->mismatches.count; i++) {
        const hb_mismatch *x = &s->mismatches.items[i];
        hb_str name = hb_communicator_name(x->group, x->description);
        if (!name.len) name = HB_STR("default");
        char more[60] = "";
        if (x->numbers > 1)
            snprintf(more, sizeof more, "; %llu more like it", (unsigned long long)x->numbers - 1);
        hb_study_note(s,
                      "ranks call different collectives: number %lld of %.*s is %.*s of rank %lld "
                      "(%u rank%s), %.*s of rank %lld (%u)%s",
                      (long long)x->sequence, hb_study_cut(name, 30), name.s,
                      hb_study_cut(x->operation, 30), x->operation.s,
                      (long long)s->ranks[x->rank].rank, x->ranks, hb_plural(x->ranks),
                      hb_study_cut(x->other, 30), x->other.s,
                      (long long)s->ranks[x->other_rank].rank, x->other_ranks, more);
    }
}

void hb_study_tell_odd(hb_rank_study *s)
{
    all_ways all = {.names = &s->group_names}; /* freed whatever happens */
    keep_last_run(s);
    tell_backends(s);
    tell_clocks(s);
    tell_lost(s);
    tell_steps(s);
    if (!has_several_cycles(s)) {
        tell_other_steps(s);
        tell_other_times(s);
    }
    hb_texts_free(all.names);
    if (!hb_texts_init(all.names)) hb_arena_leave(&s->arena, HB_ERROR_NO_MEMORY, "out of memory");
    collect(s, &all);
    check_groups(s, &all);
}
