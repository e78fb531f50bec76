/* SPDX-License-Identifier: MIT
 *
 * The numbers of finished cycles in TensorBoard's own tabs, by an event file beside the traces.
 */
#ifndef HB_PROFILER_CYCLE_LOG_H
#define HB_PROFILER_CYCLE_LOG_H

#include "profiler/profiler.h"

/** Which of the program's scopes the trace that these export flags make has as operators. */
static inline hb_own_scopes hb_own_scopes_of(unsigned flags)
{
    return flags & HB_DIALECT_KINETO ? HB_SCOPES_ARE_ANNOTATIONS : HB_SCOPES_ARE_OPERATORS;
}

/** Logs a job's cycle into the profiler's event log, if it has one. Background thread only, when
 * the trace is written; `marks`: as gathered meanwhile, perhaps. A failure is told once, on stderr.
 */
void hb_cycle_log(hb_profiler *prof, const hb_job *job, hb_cycle_marks *marks);

#endif
