/* SPDX-License-Identifier: MIT
 *
 * The numbers of finished cycles in TensorBoard's own tabs, by an event file beside the traces.
 */
#ifndef HB_PROFILER_CYCLE_LOG_H
#define HB_PROFILER_CYCLE_LOG_H

#include "profiler/profiler.h"

/** Logs a job's cycle into the profiler's event log, if it has one. Background thread only, when
 * the trace is written. A failure is told once, on stderr. */
void hb_cycle_log(hb_profiler *prof, const hb_job *job);

#endif
