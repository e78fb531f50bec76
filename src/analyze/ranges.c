/* SPDX-License-Identifier: MIT */
#include "analyze/ranges.h"

#include "analyze/dict.h"

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

/* What of `a` lies in `b`, or with `common` false, what does not. Touching ends do not meet. What
 * of `a` is left of the present `b` is dropped, and so on; the comparisons are the plugin's,
 * because lists with reversed ranges (a trace without host events has such a step) must come out as
 * they do there. */
static hb_ranges sweep(hb_arena *arena, const hb_ranges *a, const hb_ranges *b, bool common)
{
    hb_ranges out = {0};
    uint32_t i = 0, j = 0;
    if (!a->count) return out;
    hb_range x = a->items[0], y = b->count ? b->items[0] : (hb_range){0};
    while (i < a->count && (j < b->count || !common)) {
        bool next_x = false, next_y = false;
        hb_range part = {x.start, x.start}; /* nothing */
        bool found = false;
        if (j == b->count) {
            part = x;
            found = next_x = true;
        } else if (y.end.v <= x.start.v) {
            next_y = true;
        } else if (y.start.v <= x.start.v && y.end.v < x.end.v) {
            part.end = y.end;
            found = common;
            x.start = y.end;
            next_y = true;
        } else if (y.start.v <= x.start.v) {
            part = x;
            found = common;
            y.start = x.end;
            next_x = true;
        } else if (common && y.end.v < x.end.v) {
            part = y;
            found = next_y = true;
            x.start = y.end;
        } else if (y.start.v < x.end.v && common) {
            part = (hb_range){y.start, x.end};
            found = next_x = true;
            y.start = x.end;
        } else if (y.start.v < x.end.v) {
            part.end = y.start;
            found = true;
            x.start = y.start;
        } else {
            part = x;
            found = !common;
            next_x = true;
        }
        if (found) *HB_PUSH(arena, &out) = part;
        if (next_x && ++i < a->count) x = a->items[i];
        if (next_y && ++j < b->count) y = b->items[j];
    }
    return out;
}

hb_ranges hb_ranges_intersect(hb_arena *arena, const hb_ranges *a, const hb_ranges *b)
{
    return sweep(arena, a, b, true);
}

hb_ranges hb_ranges_subtract(hb_arena *arena, const hb_ranges *a, const hb_ranges *b)
{
    return sweep(arena, a, b, false);
}

hb_num hb_ranges_sum(const hb_ranges *list)
{
    hb_num sum = hb_int(0);
    for (uint32_t i = 0; i < list->count; i++)
        sum = hb_num_add(sum, hb_num_sub(list->items[i].end, list->items[i].start));
    return sum;
}

hb_num hb_ranges_sum_in(const hb_ranges *list, hb_range window)
{
    hb_num sum = hb_int(0);
    for (uint32_t i = 0; i < list->count; i++) {
        hb_range r = list->items[i];
        if (r.end.v <= window.start.v) continue;
        if (r.start.v >= window.end.v) break;
        if (r.start.v <= window.start.v) r.start = window.start;
        if (r.end.v >= window.end.v) r.end = window.end;
        sum = hb_num_add(sum, hb_num_sub(r.end, r.start));
    }
    return sum;
}
