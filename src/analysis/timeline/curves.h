/* SPDX-License-Identifier: MIT
 *
 * Curves of a trace: what counters tell, and what allocators say is allocated.
 */
#ifndef HB_TIMELINE_CURVES_H
#define HB_TIMELINE_CURVES_H

#include "timeline/timeline.h"

/** From `time` on, ns since hb_timeline.start, until the next one. */
typedef struct hb_curve_point {
    int64_t time;
    double value;
} hb_curve_point;

typedef struct hb_curve {
    hb_str name;
    uint32_t whose; /* a process or, of memory, a device; index of hb_trace.keys, 0: none */
    bool bytes;     /* memory */
    HB_VEC(hb_curve_point) points; /* by time */
} hb_curve;

typedef struct hb_curves {
    hb_arena arena;
    HB_VEC(hb_curve) list; /* in the order in which they appear */
} hb_curves;

/** The timeline's trace must outlive them. HB_ERROR_NO_MEMORY. Free them in any case. */
hb_result hb_curves_make(hb_curves *counters, const hb_timeline *timeline);
void hb_curves_free(hb_curves *counters);

/** What is drawn for the points of a cell: from the first one's time on, they lie between the two,
 * and end with the last. */
typedef struct hb_drawn_points {
    int64_t time;
    double low, high, last;
} hb_drawn_points;

/** Calls `fn` for what is drawn between two times, from left to right, beginning with what holds
 * at `from`. `cell` 0: for each point by itself. */
void hb_curve_draw(const hb_curve *counter, int64_t from, int64_t to, int64_t cell,
                   void (*fn)(void *context, const hb_drawn_points *drawn), void *context);

#endif
