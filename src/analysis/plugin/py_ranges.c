/* SPDX-License-Identifier: MIT */
#include "plugin/py_ranges.h"

#include "base/hash_map.h"

void hb_ranges_merge_in(hb_arena *arena, hb_ranges *list, hb_range r)
{
    hb_range *last = list->count ? &list->items[list->count - 1] : NULL;
    if (last && !(r.end.v > last->end.v)) return;
    if (last && r.start.v <= last->end.v)
        last->end = r.end;
    else
        *HB_PUSH(arena, list) = r;
}

static bool starts_before(const void *context, const void *a, const void *b)
{
    (void)context;
    return ((const hb_range *)a)->start.v < ((const hb_range *)b)->start.v;
}

hb_ranges hb_ranges_merge(hb_arena *arena, const hb_range *items, uint32_t count)
{
    hb_ranges merged = {0};
    if (!count) return merged;
    hb_range *sorted = HB_NEW_ARRAY(arena, hb_range, count);
    memcpy(sorted, items, count * sizeof *items);
    hb_sort(arena, sorted, count, sizeof *sorted, starts_before, NULL);
    for (uint32_t i = 0; i < count; i++)
        hb_ranges_merge_in(arena, &merged, sorted[i]);
    return merged;
}

static hb_range first(const hb_ranges *list)
{
    return list->count ? list->items[0] : (hb_range){0};
}

static void advance(const hb_ranges *list, uint32_t *i, hb_range *present)
{
    if (++*i < list->count) *present = list->items[*i];
}

/* In both walks `x` and `y` are what is left of the present ranges of `a` and `b`. Touching ends do
 * not meet. The comparisons and their order are the plugin's, because lists with reversed ranges (a
 * trace without host events has such a step) must come out as they do there. */

hb_ranges hb_ranges_intersect(hb_arena *arena, const hb_ranges *a, const hb_ranges *b)
{
    hb_ranges out = {0};
    uint32_t i = 0, j = 0;
    hb_range x = first(a), y = first(b);
    while (i < a->count && j < b->count) {
        hb_num start = y.start.v > x.start.v ? y.start : x.start;
        if (y.end.v <= x.start.v) {
            advance(b, &j, &y);
        } else if (y.end.v < x.end.v) {
            *HB_PUSH(arena, &out) = (hb_range){start, y.end};
            x.start = y.end;
            advance(b, &j, &y);
        } else {
            if (y.start.v <= x.start.v || y.start.v < x.end.v) {
                *HB_PUSH(arena, &out) = (hb_range){start, x.end};
                y.start = x.end;
            }
            advance(a, &i, &x);
        }
    }
    return out;
}

hb_ranges hb_ranges_subtract(hb_arena *arena, const hb_ranges *a, const hb_ranges *b)
{
    hb_ranges out = {0};
    uint32_t i = 0, j = 0;
    hb_range x = first(a), y = first(b);
    while (i < a->count) {
        if (j == b->count) {
            *HB_PUSH(arena, &out) = x;
            advance(a, &i, &x);
        } else if (y.end.v <= x.start.v) {
            advance(b, &j, &y);
        } else if (y.start.v > x.start.v) {
            bool meet = y.start.v < x.end.v;
            *HB_PUSH(arena, &out) = (hb_range){x.start, meet ? y.start : x.end};
            if (meet)
                x.start = y.start;
            else
                advance(a, &i, &x);
        } else if (y.end.v < x.end.v) {
            x.start = y.end;
            advance(b, &j, &y);
        } else {
            y.start = x.end;
            advance(a, &i, &x);
        }
    }
    return out;
}

void hb_ranges_give_back(hb_arena *arena, hb_ranges *list)
{
    hb_arena_give_back(arena, list->items, list->capacity * sizeof *list->items);
    *list = (hb_ranges){0};
}

hb_num hb_ranges_sum(const hb_ranges *list)
{
    hb_num sum = hb_int(0);
    for (uint32_t i = 0; i < list->count; i++)
        sum = hb_num_add(sum, hb_num_sub(list->items[i].end, list->items[i].start));
    return sum;
}

hb_num hb_ranges_sum_next(hb_range_sums *sums, hb_range window)
{
    const hb_ranges *list = sums->list;
    hb_num sum = hb_int(0);
    /* What ends before a window begins does so for later windows, too. Written so that NaN starts
     * again. */
    if (!(window.start.v >= sums->start)) sums->behind = 0;
    sums->start = window.start.v;
    while (sums->behind < list->count && list->items[sums->behind].end.v <= window.start.v)
        sums->behind++;
    for (uint32_t i = sums->behind; i < list->count; i++) {
        hb_range r = list->items[i];
        if (r.end.v <= window.start.v) continue;
        if (r.start.v >= window.end.v) break;
        if (r.start.v <= window.start.v) r.start = window.start;
        if (r.end.v >= window.end.v) r.end = window.end;
        sum = hb_num_add(sum, hb_num_sub(r.end, r.start));
    }
    return sum;
}

hb_num hb_ranges_sum_in(const hb_ranges *list, hb_range window)
{
    hb_range_sums sums = hb_range_sums_of(list);
    return hb_ranges_sum_next(&sums, window);
}
