/* SPDX-License-Identifier: MIT */
#include "trace/cuts.h"

#include <stdlib.h>

/* A step that begins at a time at which a file ends is of the next one. */
static int compare(const void *a, const void *b)
{
    const hb_cut_place *x = a, *y = b;
    if (x->at != y->at) return x->at < y->at ? -1 : 1;
    return (x->kind < y->kind) - (x->kind > y->kind);
}

void hb_sort_cut_places(hb_cut_place *places, size_t count)
{
    qsort(places, count, sizeof *places, compare);
}

size_t hb_cut_place_of(const hb_cut_place *places, size_t count, double when)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (places[middle].at <= when)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? low - 1 : 0;
}

/* The best place at which a file that has become too large at `full` can end. */
static size_t best_of(const hb_cut_place *places, size_t begin, size_t full)
{
    size_t best = full;
    for (size_t i = full; i > begin; i--)
        if (places[i].kind > places[best].kind) best = i;
    return best;
}

size_t hb_next_cut(const hb_cut_place *places, size_t count, size_t begin, const hb_cut_rule *rule)
{
    uint64_t size = rule->common, steps = 0;
    for (size_t i = begin; i < count; i++) {
        bool step = places[i].kind == HB_CUT_STEP;
        if (i > begin) {
            if (places[i].kind == HB_CUT_TIME) return i;
            if (step && rule->steps && steps >= rule->steps) return i;
            bool holds = size > rule->common;
            if (rule->max_size && holds && size + places[i].size > rule->max_size)
                return best_of(places, begin, i);
        }
        steps += step;
        size += places[i].size;
    }
    return count;
}
