/* SPDX-License-Identifier: MIT
 *
 * What a trace's devices tell of the work that ran on them.
 */
#ifndef HB_TRACE_DEVICES_H
#define HB_TRACE_DEVICES_H

#include "trace/event.h"

/** NULL when nothing is known of the device. */
const hb_device_info *hb_find_device(const hb_trace_info *info, int32_t id);

/** A kernel's blocks per compute unit of its device; 0: not known. */
double hb_blocks_per_sm(const hb_trace_info *info, const hb_trace_event *kernel);

/** How many blocks a grid has that is written as JSON's "[x, y, z]"; 0 when it is something else,
 * or no such number. */
double hb_blocks_of_grid(const char *grid);

#endif
