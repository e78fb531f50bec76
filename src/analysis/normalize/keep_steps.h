/* SPDX-License-Identifier: MIT
 *
 * A choice of steps, as if nothing else had been recorded.
 */
#ifndef HB_NORMALIZE_KEEP_STEPS_H
#define HB_NORMALIZE_KEEP_STEPS_H

#include "trace/trace.h"

/** Leaves in the trace only ProfilerStep#first to #last, what began on the host within them, and
 * the device work that it launched. HB_ERROR_NOT_FOUND when there is no such step; the trace is
 * then as before. */
hb_result hb_keep_steps(hb_trace *trace, int64_t first, int64_t last);

#endif
