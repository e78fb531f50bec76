/* SPDX-License-Identifier: MIT
 *
 * How much of a device's compute units kernels could have kept busy, as the plugin estimates it.
 */
#ifndef HB_GPU_SM_EFFICIENCY_H
#define HB_GPU_SM_EFFICIENCY_H

#include "base/arena.h"

typedef struct hb_sm_launch {
    double start, end, blocks; /* blocks per compute unit */
} hb_sm_launch;

typedef HB_VEC(hb_sm_launch) hb_sm_launches;

/** Within a window, the running sum of blocks per compute unit, at most 1, weighted by its time;
 * *any: some launch lies in the window. The sum is of doubles, and what is left of it by rounding
 * counts as well, as with the plugin. */
double hb_sm_weight(hb_arena *arena, const hb_sm_launches *launches, double from, double to,
                    bool *any);

#endif
