/* SPDX-License-Identifier: MIT
 *
 * Who makes the others wait, beyond what chance does, why, and what a step would take without.
 */
#include <math.h>
#include <stdio.h>

#include "ranks/medians.h"
#include "ranks/meetings.h"

enum {
    MOST_NAMED = 8,
    LEAST_COLLECTIVES = 30, /* where no steps are known */
    MUCH_LESS = 100,
};

/* That so many of `trials` are as likely as `p`, or more: the logarithm of it. */
static double log_tail(double hits, double trials, double p)
{
    if (hits <= 0 || p >= 1 || p <= 0) return 0;
    if (hits <= trials * p) return 0;
    double term = lgamma(trials + 1) - lgamma(hits + 1) - lgamma(trials - hits + 1) +
                  hits * log(p) + (trials - hits) * log1p(-p);
    double sum = 1, factor = 1; /* of the terms behind, as parts of the first */
    for (double k = hits; k < trials && factor > 1e-12; k++) {
        factor *= (trials - k) / (k + 1) * p / (1 - p);
        sum += factor;
    }
    return fmin(0, term + log(sum));
}

/* One bad moment, or two, make nobody late: what the two worst blocks count is left out. */
static bool is_beyond_chance(const hb_rank_study *s, const hb_study_rank *rank)
{
    const hb_rank_part *part = &rank->part;
    double chance = part->expected / (double)part->entered, limit = log(1e-4 / s->num_ranks);
    if (log_tail((double)part->last, (double)part->entered, chance) > limit) return false;
    uint32_t worst[2] = {0}, in[2] = {0};
    for (uint32_t b = 0; b < s->blocks.count; b++) {
        uint32_t n = part->last_in[b], all = (uint32_t)s->blocks.items[b].meetings;
        int to = n > worst[0] ? 0 : n > worst[1] ? 1 : -1;
        if (to == 0) {
            worst[1] = worst[0];
            in[1] = in[0];
        }
        if (to >= 0) {
            worst[to] = n;
            in[to] = all;
        }
    }
    double rest = (double)part->last - worst[0] - worst[1];
    double trials = fmax(rest, (double)part->entered - in[0] - in[1]);
    return log_tail(rest, trials, chance) < log(1e-3 / s->num_ranks);
}

/* Where all meet in all collectives, each may as well be the one who makes the others wait most in
 * a step: the chance of that does not depend on how many of a step's collectives it is late at.
 * Else not known. */
static bool all_meet_in_all(const hb_rank_study *s)
{
    for (uint32_t i = 0; i < s->num_ranks; i++) {
        const hb_rank_part *part = &s->ranks[i].part;
        double chance = part->entered ? part->expected / (double)part->entered : 0;
        if (fabs(chance * s->num_ranks - 1) > 0.01) return false;
    }
    return s->num_ranks > 1;
}

/* In how many steps each made the others wait most; the number of steps that anybody did. */
static uint32_t count_worst(hb_rank_study *s, uint32_t *times)
{
    uint32_t steps = 0;
    for (uint32_t b = 0; b < s->blocks.count; b++) {
        uint32_t worst = 0;
        for (uint32_t i = 1; i < s->num_ranks; i++)
            if (s->ranks[i].part.caused_in[b] > s->ranks[worst].part.caused_in[b]) worst = i;
        if (s->ranks[worst].part.caused_in[b] <= 0) continue;
        times[worst]++;
        steps++;
    }
    return steps;
}

/* So in many steps, not in a few one after the other. */
static bool is_worst_beyond_chance(const hb_rank_study *s, uint32_t times, uint32_t steps)
{
    if (times * 4 < steps) return false;
    return log_tail(times, steps, 1.0 / s->num_ranks) < log(1e-4 / s->num_ranks);
}

/* ---- why ---- */

static double median_role(hb_rank_study *s, const int *roles, int count, double *mine,
                          const hb_study_rank *rank)
{
    double *values = HB_NEW_ARRAY(&s->results, double, s->num_ranks);
    *mine = 0;
    for (int r = 0; r < count; r++) {
        *mine += rank->role[roles[r]];
        for (uint32_t i = 0; i < s->num_ranks; i++)
            values[i] += s->ranks[i].role[roles[r]];
    }
    return hb_median(values, s->num_ranks);
}

static const hb_rank_cost *cost_in(const hb_rank_digest *d, const hb_rank_cost *like)
{
    for (uint32_t i = 0; i < d->num_costs; i++) {
        const hb_rank_cost *c = &d->costs[i];
        if (c->device == like->device && c->name.len == like->name.len &&
            memcmp(c->name.s, like->name.s, c->name.len) == 0)
            return c;
    }
    return NULL;
}

static double cost_of(const hb_rank_study *s, const hb_study_rank *rank, const hb_rank_cost *like)
{
    double sum = 0;
    for (uint32_t c = 0; c < rank->num_cycles; c++) {
        const hb_rank_cost *cost = cost_in(&s->cycles.items[rank->first_cycle + c].digest, like);
        if (cost) sum += (double)cost->self;
    }
    return sum;
}

/* of its operators that cost most the one that takes longest longer than of the median rank. */
static void find_operator(hb_rank_study *s, const hb_study_rank *rank, hb_late_rank *late)
{
    const hb_rank_digest *d = &s->cycles.items[rank->first_cycle].digest;
    double *values = HB_NEW_ARRAY(&s->results, double, s->num_ranks), most = 0;
    hb_str name = {"", 0};
    for (uint32_t i = 0; i < d->num_costs; i++) {
        double mine = cost_of(s, rank, &d->costs[i]);
        if (mine <= most) continue;
        for (uint32_t r = 0; r < s->num_ranks; r++)
            values[r] = cost_of(s, &s->ranks[r], &d->costs[i]);
        double more = mine - hb_median(values, s->num_ranks);
        if (more <= most) continue;
        most = more;
        name = d->costs[i].name;
    }
    if (most <= 0) return;
    char *text = HB_NEW_ARRAY(&s->results, char, name.len + 1);
    memcpy(text, name.s, name.len);
    late->operator_name = text;
    late->operator_us = most / 1e3 / HB_MAX(1u, s->steps);
}

static hb_late_because reason(hb_rank_study *s, const hb_study_rank *rank)
{
    static const struct {
        hb_late_because because;
        int roles[3], count;
    } reasons[] = {{HB_LATE_DEVICE, {HB_ROLE_KERNEL, HB_ROLE_MEMCPY, HB_ROLE_MEMSET}, 3},
                   {HB_LATE_LOADING, {HB_ROLE_LOADER}, 1},
                   {HB_LATE_COMPUTE, {HB_ROLE_CPU, HB_ROLE_RUNTIME}, 2},
                   {HB_LATE_HOST, {HB_ROLE_OTHER}, 1}};
    double lateness = rank->part.late, most = 0;
    hb_late_because because = HB_LATE_INCONCLUSIVE;
    for (size_t i = 0; i < HB_ARRAY_LEN(reasons); i++) {
        double mine, median = median_role(s, reasons[i].roles, reasons[i].count, &mine, rank);
        if (mine - median <= fmax(most, 0.5 * lateness)) continue;
        most = mine - median;
        because = reasons[i].because;
    }
    if (because == HB_LATE_INCONCLUSIVE && rank->part.messages > 0.5 * lateness)
        because = HB_LATE_MESSAGE;
    return because;
}

/* ---- what a step would take without ---- */

/* All that was done is done again in thought, with the late rank coming when the median one does:
 * by how much each rank is earlier then, is carried on through all collectives. */
typedef struct replay {
    uint32_t rank;
    double *earlier; /* by rank */
    double *scratch;
    bool begun;
} replay;

static void replay_meeting(replay *r, const hb_meeting *m, double *scratch)
{
    double last = -INFINITY, was = (double)(m->last - m->who[0].start);
    int64_t base = m->who[0].start;
    uint32_t others = 0;
    double mine = NAN;
    for (uint32_t i = 0; i < m->count; i++) {
        double at = (double)(m->who[i].start - base) - r->earlier[m->who[i].rank];
        if (m->who[i].rank == r->rank)
            mine = at;
        else {
            scratch[others++] = at;
            last = fmax(last, at);
        }
    }
    if (!others) return;
    if (mine == mine) last = fmax(last, fmin(mine, hb_median(scratch, others)));
    for (uint32_t i = 0; i < m->count; i++)
        r->earlier[m->who[i].rank] = was - last;
}

static void replay_all(hb_rank_study *s, replay *replays, uint32_t count)
{
    hb_meetings *meetings = hb_meetings_open(s);
    double *scratch = HB_NEW_ARRAY(&s->results, double, s->num_ranks + 1);
    for (const hb_meeting *m; (m = hb_meetings_next_for_all(meetings));) {
        if (s->by_durations) hb_meeting_align((hb_meeting *)(uintptr_t)m);
        ((hb_meeting *)(uintptr_t)m)->last = INT64_MIN;
        for (uint32_t i = 0; i < m->count; i++)
            ((hb_meeting *)(uintptr_t)m)->last = HB_MAX(m->last, m->who[i].start);
        for (uint32_t i = 0; i < count; i++)
            replay_meeting(&replays[i], m, scratch);
    }
}

static void find_gains(hb_rank_study *s, const uint32_t *named)
{
    replay replays[MOST_NAMED] = {0};
    for (uint32_t i = 0; i < s->late.count; i++) {
        replays[i].rank = named[i];
        replays[i].earlier = HB_NEW_ARRAY(&s->results, double, s->num_ranks + 1);
    }
    replay_all(s, replays, s->late.count);
    for (uint32_t i = 0; i < s->late.count; i++) {
        double gain = hb_median(replays[i].earlier, s->num_ranks);
        s->late.items[i].gain_us = gain / 1e3 / HB_MAX(1u, s->steps);
    }
}

/* ---- naming ---- */

static void explain_inconclusive(hb_rank_study *s)
{
    char *why = s->inconclusive;
    size_t size = sizeof s->inconclusive;
    if (s->num_ranks < 2)
        snprintf(why, size, "one rank alone waits for nobody");
    else if (!s->synchronizing)
        snprintf(why, size, "no collective that all ranks wait in was recorded");
    else if ((s->has_steps || s->made_steps) && s->steps < HB_RANKS_LEAST_STEPS)
        snprintf(why, size, "fewer than %d steps", HB_RANKS_LEAST_STEPS);
    else if (!s->has_steps && s->synchronizing < LEAST_COLLECTIVES)
        snprintf(why, size, "no steps, and fewer than %d collectives", LEAST_COLLECTIVES);
}

static const char *text_of(hb_rank_study *s, hb_str text)
{
    char *copy = HB_NEW_ARRAY(&s->results, char, text.len + 1);
    memcpy(copy, text.s, text.len);
    return copy;
}

static bool causes_more(const void *context, const void *x, const void *y)
{
    const hb_study_rank *ranks = context;
    return ranks[*(const uint32_t *)x].part.caused > ranks[*(const uint32_t *)y].part.caused;
}

static void name_one(hb_rank_study *s, uint32_t index)
{
    const hb_study_rank *rank = &s->ranks[index];
    hb_late_rank *late = HB_PUSH(&s->results, &s->late);
    *late = (hb_late_rank){.rank = rank->rank,
                           .host = text_of(s, rank->host),
                           .times_last = rank->part.last,
                           .collectives = rank->part.entered,
                           .caused_us = rank->part.caused / 1e3,
                           .share = s->all_waits > 0 ? rank->part.caused / s->all_waits : 0,
                           .because = reason(s, rank)};
    find_operator(s, rank, late);
}

/* Who is last by microseconds, where the one that matters is not, is no news. */
static bool waits_much(const hb_rank_study *s, const hb_study_rank *rank)
{
    double most = 0;
    for (uint32_t i = 0; i < s->num_ranks; i++)
        most = fmax(most, s->ranks[i].part.caused);
    return rank->part.caused * MUCH_LESS >= most;
}

static bool is_late(const hb_rank_study *s, const hb_study_rank *rank, uint32_t times,
                    uint32_t steps)
{
    return rank->part.entered &&
           (is_beyond_chance(s, rank) || is_worst_beyond_chance(s, times, steps)) &&
           waits_much(s, rank);
}

void hb_study_name_late(hb_rank_study *s)
{
    uint32_t count = 0, *named = HB_NEW_ARRAY(&s->results, uint32_t, s->num_ranks + 1);
    explain_inconclusive(s);
    if (*s->inconclusive) return;
    uint32_t *times = HB_NEW_ARRAY(&s->results, uint32_t, s->num_ranks + 1);
    uint32_t steps = all_meet_in_all(s) ? count_worst(s, times) : 0;
    for (uint32_t i = 0; i < s->num_ranks; i++)
        if (is_late(s, &s->ranks[i], times[i], steps)) named[count++] = i;
    hb_sort(&s->results, named, count, sizeof *named, causes_more, s->ranks);
    s->num_late = count;
    for (uint32_t i = 0; i < count && i < MOST_NAMED; i++)
        name_one(s, named[i]);
    find_gains(s, named);
}
