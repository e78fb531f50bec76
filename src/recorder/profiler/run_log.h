/* SPDX-License-Identifier: MIT
 *
 * A run's event file: made for the profiler, and open to every thread of the program while that is
 * there.
 */
#ifndef HB_PROFILER_RUN_LOG_H
#define HB_PROFILER_RUN_LOG_H

#include "profiler/profiler.h"
#include "summary/summary_tags.h"

/** Gives a profiler that wants one its event log, which hb_scalar() and its like then write to.
 * The file itself is made by the first record. Once a profiler; later calls make it the present one
 * again. */
void hb_run_log_open(hb_profiler *prof);

/** The step of what is logged from here on. */
void hb_run_log_step(hb_profiler *prof);

/** Logs what a run is: machine, program, settings, layout; at the first call. `info` is NULL when
 * no cycle was recorded; of `metrics` only those members count that say what runs are compared by.
 */
hb_result hb_run_log_describe(hb_profiler *prof, const hb_trace_info *info,
                              hb_profile_settings metrics, int64_t step);

/** Says once, on stderr, that hb_last_error() keeps records out of the file. */
void hb_run_log_warn(hb_profiler *prof);

/** The program ends well. */
void hb_run_log_end(hb_profiler *prof);

/** Waits for threads that are just logging, and closes. */
void hb_run_log_close(hb_profiler *prof);

#endif
