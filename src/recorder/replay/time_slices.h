/* SPDX-License-Identifier: MIT
 *
 * Steps for a program that has none: equal slices of the time, so that the plugin has something to
 * divide a long cycle by.
 */
#ifndef HB_REPLAY_TIME_SLICES_H
#define HB_REPLAY_TIME_SLICES_H

#include "trace/source.h"

/** Puts ProfilerStep annotations of `slice_ns` each (HB_TIME_SLICES_AUTO: a round length that gives
 * about twenty) over the trace of `*source`, on a row of their own, unless it has a step already. 0
 * leaves it as it is. The new source takes the place of the old one, which it owns; on failure the
 * old one stays the caller's. */
hb_result hb_time_slices_add(hb_source **source, int64_t slice_ns);

#endif
