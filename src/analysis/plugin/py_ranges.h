/* SPDX-License-Identifier: MIT
 *
 * Lists of time ranges, with the plugin's rules for merging and intersecting them.
 */
#ifndef HB_PLUGIN_PY_RANGES_H
#define HB_PLUGIN_PY_RANGES_H

#include "base/arena.h"
#include "doc/py_text.h"

typedef struct hb_range {
    hb_num start, end;
} hb_range;

typedef HB_VEC(hb_range) hb_ranges;

/** Appends to a list that is being merged, with starts in ascending order. */
void hb_ranges_merge_in(hb_arena *arena, hb_ranges *list, hb_range range);
/** A new list: sorted by start and merged. */
hb_ranges hb_ranges_merge(hb_arena *arena, const hb_range *items, uint32_t count);
hb_ranges hb_ranges_intersect(hb_arena *arena, const hb_ranges *a, const hb_ranges *b);
hb_ranges hb_ranges_subtract(hb_arena *arena, const hb_ranges *a, const hb_ranges *b);
/** Of a list that nobody needs any more. */
void hb_ranges_give_back(hb_arena *arena, hb_ranges *list);
hb_num hb_ranges_sum(const hb_ranges *list);
/** The sum of `list` within `window`. */
hb_num hb_ranges_sum_in(const hb_ranges *list, hb_range window);

/** The sums of one list within window after window: each range is passed once where the windows'
 * starts ascend, as those of steps do. */
typedef struct hb_range_sums {
    const hb_ranges *list;
    uint32_t behind; /* ranges at the list's front that all end before `start` */
    double start;    /* of the last window */
} hb_range_sums;

static inline hb_range_sums hb_range_sums_of(const hb_ranges *list)
{
    return (hb_range_sums){list, 0, -__builtin_inf()};
}

hb_num hb_ranges_sum_next(hb_range_sums *sums, hb_range window);

#endif
