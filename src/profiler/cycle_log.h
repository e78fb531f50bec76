/* SPDX-License-Identifier: MIT
 *
 * The numbers of finished cycles in TensorBoard's own tabs, by an event file beside the traces.
 */
#ifndef HB_PROFILER_CYCLE_LOG_H
#define HB_PROFILER_CYCLE_LOG_H

#include "profiler/profiler.h"

/** Logs a cycle into the profiler's event log, if it has one. `step_num` stands for the cycle when
 * it has no step. Background thread only. A failure is told once, on stderr. */
void hb_cycle_log(hb_profiler *prof, const hb_cycle *cycle, int64_t step_num);

#endif
