/* SPDX-License-Identifier: MIT
 *
 * Stretches of time, in one unit of the caller's choice: what they cover together, and what of them
 * others leave over. Lists are in ascending order and do not touch, unless it says otherwise.
 */
#ifndef HB_TRACE_INTERVALS_H
#define HB_TRACE_INTERVALS_H

#include "base/arena.h"

typedef struct hb_interval {
    double start, end;
} hb_interval;

typedef HB_VEC(hb_interval) hb_intervals;

/** Adds one that starts no earlier than all that are there. */
void hb_intervals_cover(hb_arena *arena, hb_intervals *list, hb_interval interval);

/** What intervals in any order cover. */
hb_intervals hb_intervals_merge(hb_arena *arena, const hb_interval *items, uint32_t count);

/** What is in `a` and not in `b`. */
hb_intervals hb_intervals_subtract(hb_arena *arena, const hb_intervals *a, const hb_intervals *b);

double hb_intervals_sum(const hb_intervals *list);

#endif
