/* SPDX-License-Identifier: MIT
 *
 * What `hipboard record` tells libhipboard-capture.so, by environment variables, so that the
 * program's children are told as well.
 */
#ifndef HB_TOOLS_CAPTURE_H
#define HB_TOOLS_CAPTURE_H

#include <stdbool.h>

#define CAPTURE_LIBRARY     "libhipboard-capture.so"
#define ROCPROFILER_LIBRARY "libhipboard-rocprofiler.so"

#define CAPTURE_DIR        "HIPBOARD_CAPTURE_DIR"
#define CAPTURE_ACTIVITIES "HIPBOARD_CAPTURE_ACTIVITIES" /* enum hb_activity, as a number */
#define CAPTURE_FLAGS      "HIPBOARD_CAPTURE_FLAGS"      /* enum hb_export_flags */
#define CAPTURE_MAIN       "HIPBOARD_CAPTURE_MAIN" /* the process that may write an event file */
#define CAPTURE_RUN        "HIPBOARD_CAPTURE_RUN"  /* of one `hipboard record`, no other's */
#define CAPTURE_SCHEDULE   "HIPBOARD_CAPTURE_SCHEDULE" /* wait,warmup,active,repeat,skip_first */
/* records when it is triggered: 1; by this signal, too; by steps of over so many percent of the
 * median */
#define CAPTURE_ON_DEMAND  "HIPBOARD_CAPTURE_ON_DEMAND"
#define CAPTURE_SIGNAL     "HIPBOARD_CAPTURE_SIGNAL"
#define CAPTURE_SLOW_STEP  "HIPBOARD_CAPTURE_SLOW_STEP"
/* also by a failed HIP call: 1; by a number that passes a limit */
#define CAPTURE_HIP_ERRORS "HIPBOARD_CAPTURE_HIP_ERRORS"
#define CAPTURE_METRIC     "HIPBOARD_CAPTURE_METRIC"
/* keeps the end of what it records until it is triggered: nanoseconds,steps,bytes */
#define CAPTURE_RING       "HIPBOARD_CAPTURE_RING"
#define CAPTURE_MAX_CYCLES "HIPBOARD_CAPTURE_MAX_CYCLES"
/* nanoseconds, since a process began; 0 or absent: none */
#define CAPTURE_DELAY      "HIPBOARD_CAPTURE_DELAY"
#define CAPTURE_DURATION   "HIPBOARD_CAPTURE_DURATION"
#define CAPTURE_SLICE      "HIPBOARD_CAPTURE_SLICE"
/* steps that are found: 0: none; 1: they are; N+1: those of loop N */
#define CAPTURE_STEPS      "HIPBOARD_CAPTURE_STEPS"
#define CAPTURE_TELEMETRY  "HIPBOARD_CAPTURE_TELEMETRY" /* nanoseconds between readings; 0: none */
#define CAPTURE_STACK      "HIPBOARD_CAPTURE_STACK"     /* call stacks: 1 */
#define CAPTURE_SAMPLE_HZ  "HIPBOARD_CAPTURE_SAMPLE_HZ" /* call stacks a second; 0: none */
#define CAPTURE_MODULES    "HIPBOARD_CAPTURE_MODULES" /* a JSON string: which frames are modules' */
#define CAPTURE_SAMPLING   "HIPBOARD_CAPTURE_KERNEL_SAMPLING"
#define CAPTURE_OPERATORS  "HIPBOARD_CAPTURE_OPERATORS" /* hb_profiler_options.operators */

/* ---- inside the library ---- */

/** The process's main() is about to run, or it was just forked. */
void capture_start(void);

/** The process ends; its trace is written before this returns. */
void capture_finish(void);

/** The same where another thread may hold any lock, as in a signal handler or before an exec: waits
 * for a bounded time, after which the records are left to be recovered. True when something was
 * being captured and is written. */
bool capture_finish_from_outside(void);

/** A range is about to begin. True when it is a step of the program's, "ProfilerStep#N", which the
 * schedule counts, so that the profiler marks it itself. */
bool capture_begins_step(const char *range);

#endif
