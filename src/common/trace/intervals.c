/* SPDX-License-Identifier: MIT */
#include "trace/intervals.h"

#include "base/hash_map.h"

void hb_intervals_cover(hb_arena *arena, hb_intervals *list, hb_interval interval)
{
    hb_interval *last = list->count ? &list->items[list->count - 1] : NULL;
    if (!last || interval.start > last->end)
        *HB_PUSH(arena, list) = interval;
    else
        last->end = HB_MAX(last->end, interval.end);
}

static bool starts_before(const void *context, const void *a, const void *b)
{
    (void)context;
    return ((const hb_interval *)a)->start < ((const hb_interval *)b)->start;
}

hb_intervals hb_intervals_merge(hb_arena *arena, const hb_interval *items, uint32_t count)
{
    hb_intervals merged = {0};
    if (!count) return merged;
    hb_interval *sorted = HB_NEW_ARRAY(arena, hb_interval, count);
    memcpy(sorted, items, count * sizeof *items);
    hb_sort(arena, sorted, count, sizeof *sorted, starts_before, NULL);
    for (uint32_t i = 0; i < count; i++)
        hb_intervals_cover(arena, &merged, sorted[i]);
    return merged;
}

hb_intervals hb_intervals_subtract(hb_arena *arena, const hb_intervals *a, const hb_intervals *b)
{
    hb_intervals rest = {0};
    uint32_t first = 0;
    for (uint32_t i = 0; i < a->count; i++) {
        hb_interval left = a->items[i];
        while (first < b->count && b->items[first].end <= left.start)
            first++;
        for (uint32_t j = first; j < b->count && b->items[j].start < left.end; j++) {
            if (b->items[j].start > left.start)
                *HB_PUSH(arena, &rest) = (hb_interval){left.start, b->items[j].start};
            left.start = HB_MAX(left.start, b->items[j].end);
        }
        if (left.start < left.end) *HB_PUSH(arena, &rest) = left;
    }
    return rest;
}

double hb_intervals_sum(const hb_intervals *list)
{
    double sum = 0;
    for (uint32_t i = 0; i < list->count; i++)
        sum += list->items[i].end - list->items[i].start;
    return sum;
}
