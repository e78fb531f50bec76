/* SPDX-License-Identifier: MIT
 *
 * What part of the ranks' time is useful, and where the rest goes, as POP defines it; step by step;
 * where steps begin to take another time; which nodes are unlike the others.
 */
#include <math.h>
#include <stdio.h>

#include "base/names.h"
#include "ranks/medians.h"
#include "ranks/study.h"

/* ---- efficiencies ---- */

static double useful_of(const int64_t *role, double *whole)
{
    double sum = 0;
    for (int i = 0; i < HB_ROLE_PARTS; i++)
        sum += (double)role[i];
    *whole = sum;
    return sum - (double)role[HB_ROLE_COMMUNICATION];
}

static void add_steps(hb_rank_study *s, const hb_study_rank *rank, double *whole, double *useful)
{
    memset(whole, 0, sizeof *whole * s->blocks.count);
    memset(useful, 0, sizeof *useful * s->blocks.count);
    for (uint32_t c = 0; c < rank->num_cycles; c++) {
        const hb_rank_digest *d = &s->cycles.items[rank->first_cycle + c].digest;
        for (uint32_t i = 0; i < d->num_steps; i++) {
            double all;
            int block = hb_study_block_of(s, rank, hb_rank_time(d, d->steps[i].start));
            if (block < 0) continue;
            useful[block] += useful_of(d->steps[i].role, &all);
            whole[block] += all;
        }
    }
    for (uint32_t b = 0; b < s->blocks.count; b++) {
        hb_study_block *to = &s->blocks.items[b];
        if (whole[b] <= 0) continue;
        to->ranks++;
        to->longest = fmax(to->longest, whole[b]);
        to->useful += useful[b];
        to->most_useful = fmax(to->most_useful, useful[b]);
    }
}

static void product(hb_rank_study *s, hb_efficiency *e, double transfer)
{
    if (e->elapsed <= 0 || e->most_useful <= 0) return;
    double mean = e->useful / s->num_ranks;
    e->parallel = mean / e->elapsed;
    e->balance = mean / e->most_useful;
    e->communication = e->most_useful / e->elapsed;
    e->transfer = fmax(e->communication, 1 - transfer / e->elapsed);
    e->serialization = e->communication / e->transfer;
}

/* ---- where steps change ---- */

static double median_of(hb_arena *arena, const hb_study_block *blocks, uint32_t count)
{
    double *values = HB_NEW_ARRAY(arena, double, count + 1);
    for (uint32_t i = 0; i < count; i++)
        values[i] = blocks[i].longest;
    return hb_median(values, count);
}

/* How much steps differ from the one before: a shift is in one of these only. */
static double noise_of(hb_rank_study *s)
{
    uint32_t n = s->blocks.count;
    double *values = HB_NEW_ARRAY(&s->results, double, n);
    for (uint32_t i = 0; i + 1 < n; i++)
        values[i] = s->blocks.items[i + 1].longest - s->blocks.items[i].longest;
    return hb_deviation_about(values, n - 1, 0) / M_SQRT2;
}

static double distance_from(double median, const hb_study_block *blocks, uint32_t count)
{
    double sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += fabs(blocks[i].longest - median);
    return sum;
}

/* Where both sides are nearest to their medians: the medians alone are the same for as long as most
 * of a side is. */
static void find_change(hb_rank_study *s)
{
    enum { LEAST = 3 };
    uint32_t n = s->blocks.count;
    double least = INFINITY;
    if (!s->has_steps || n < 2 * LEAST + 2) return;
    for (uint32_t at = LEAST; at + LEAST <= n; at++) {
        const hb_study_block *first = s->blocks.items, *rest = first + at;
        double before = median_of(&s->results, first, at);
        double after = median_of(&s->results, rest, n - at);
        double sum = distance_from(before, first, at) + distance_from(after, rest, n - at);
        if (sum >= least) continue;
        least = sum;
        s->change = (hb_change_point){false, rest->number, before, after};
    }
    double shift = fabs(s->change.after - s->change.before);
    s->change.found = shift > 5 * noise_of(s) && shift > 0.05 * s->change.before;
}

void hb_study_efficiency(hb_rank_study *s)
{
    hb_efficiency *e = &s->efficiency;
    double transfer = 0;
    double *whole = HB_NEW_ARRAY(&s->results, double, s->blocks.count + 1);
    double *useful = HB_NEW_ARRAY(&s->results, double, s->blocks.count + 1);
    for (uint32_t i = 0; i < s->num_ranks; i++) {
        const hb_study_rank *rank = &s->ranks[i];
        double mine = rank->whole - rank->role[HB_ROLE_COMMUNICATION];
        e->elapsed = fmax(e->elapsed, rank->whole);
        e->useful += mine;
        e->most_useful = fmax(e->most_useful, mine);
        transfer += rank->part.transfer / s->num_ranks;
        if (s->has_steps) add_steps(s, rank, whole, useful);
    }
    product(s, e, transfer);
    find_change(s);
}

/* ---- places ---- */

/* What options.by puts ranks together by, in place of nodes. */
static hb_str place_of(hb_rank_study *s, const hb_study_rank *rank, uint32_t per_node)
{
    if (s->options.by == HB_RANKS_BY_MODULO) {
        char *name = HB_NEW_ARRAY(&s->results, char, 40);
        int n = snprintf(name, 40, "rank %% %u = %u", per_node,
                         (unsigned)(rank->rank % (int64_t)per_node));
        return (hb_str){name, (uint32_t)n};
    }
    if (s->options.by == HB_RANKS_BY_SWITCH)
        for (uint32_t i = 0; i + 1 < s->groups.count; i += 2)
            if (hb_str_is(rank->host, s->groups.items[i]))
                return (hb_str){s->groups.items[i + 1], (uint32_t)strlen(s->groups.items[i + 1])};
    return rank->host.len ? rank->host : HB_STR("?");
}

static void regroup(hb_rank_study *s)
{
    uint32_t per_node = 1, count = 0;
    hb_names known = {0};
    for (uint32_t i = 0; i < s->num_nodes; i++)
        per_node = HB_MAX(per_node, s->nodes[i].ranks);
    s->places = HB_NEW_ARRAY(&s->results, hb_study_node, s->num_ranks + 1);
    for (uint32_t i = 0; i < s->num_ranks; i++) {
        hb_str name = place_of(s, &s->ranks[i], per_node);
        uint32_t which = s->ranks[i].place = hb_names_add(&s->results, &known, name);
        if (which == count) s->places[count++].name = name;
        hb_study_node *place = &s->places[which];
        const hb_rank_part *part = &s->ranks[i].part;
        place->ranks++;
        place->late += part->entered ? part->late / (double)part->entered : 0;
        place->waited += part->waited + part->messages;
        place->useful += s->ranks[i].whole - s->ranks[i].role[HB_ROLE_COMMUNICATION];
    }
    s->num_places = count;
}

/* Which of them lie far from the others. */
static void find_outliers(hb_rank_study *s)
{
    enum { LEAST = 5 };
    uint32_t n = s->num_places;
    double *values = HB_NEW_ARRAY(&s->results, double, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        hb_study_node *place = &s->places[i];
        place->late /= place->ranks;
        place->waited /= place->ranks;
        place->useful /= place->ranks;
        values[i] = place->late;
    }
    if (n < LEAST) return;
    double median = hb_median(values, n), deviation = hb_deviation_about(values, n, median);
    for (uint32_t i = 0; i < n && deviation > 0; i++)
        s->places[i].outlier = (s->places[i].late - median) / deviation;
}

static bool later(const void *context, const void *x, const void *y)
{
    (void)context;
    return ((const hb_study_node *)x)->late > ((const hb_study_node *)y)->late;
}

void hb_study_places(hb_rank_study *s)
{
    regroup(s);
    find_outliers(s);
    hb_sort(&s->results, s->places, s->num_places, sizeof *s->places, later, NULL);
}
