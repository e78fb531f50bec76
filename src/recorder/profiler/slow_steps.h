/* SPDX-License-Identifier: MIT
 *
 * Tells a step that took much longer than usual. In whole numbers, since a program may trap
 * floating-point errors in the thread that asks.
 */
#ifndef HB_PROFILER_SLOW_STEPS_H
#define HB_PROFILER_SLOW_STEPS_H

#include "base/base.h"

#define HB_SLOW_STEPS_KEPT  31u
#define HB_SLOW_STEPS_LEAST 8u /* fewer tell nothing of what is usual */

/** All zero: nothing has been seen. */
typedef struct hb_slow_steps {
    int64_t began_ns; /* the present step, CLOCK_MONOTONIC; 0: unknown */
    int64_t ns[HB_SLOW_STEPS_KEPT];
    uint64_t count;
} hb_slow_steps;

/** The present step ends and the next begins. True when it took more than `percent` of the median
 * of those before it, with both in ns. */
bool hb_slow_steps_next(hb_slow_steps *s, int64_t now_ns, unsigned percent, int64_t *took,
                        int64_t *median);

#endif
