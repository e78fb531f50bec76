/* SPDX-License-Identifier: MIT
 *
 * What the program itself knows about the recorded cycles: steps, time spent waiting for data,
 * calls and FLOPs by operator, modules, memory, kernels. Written as JSON by --report, so that tests
 * can compare what TensorBoard shows with what happened. A program of your own needs none of this.
 *
 * The functions count only while hipboard records, and nothing at all before report_enable().
 */
#ifndef DIGITS_REPORT_H
#define DIGITS_REPORT_H

#include "options.h"

#include <hipboard/hipboard.h>

struct training_result {
    int64_t steps, train_digits, held_back_digits, correct;
    double final_loss, seconds;
    bool trace_failed;
    const char *device_name; /* of the GPU; "": none */
};

/** Opens the file, or ends the program. Call it on the main thread, before anything is recorded. */
void report_enable(const char *path);

bool report_enabled(void);

/** Whether something is counted now. */
bool report_counts(void);

/** Seconds on a clock that only goes forward. */
double report_clock(void);

/* From any thread. report_op() returns `flops`, so that it can stand among an operator's arguments,
 * which hipboard evaluates only while it records. `name` must live on. */
double report_op(const char *name, double flops);
void report_memory(hb_device_type device, int64_t change, int64_t allocated, int64_t reserved);

/* From the main thread. */
void report_module(const char *parent, const char *name); /* one call; parent "": outermost */
void report_loader(double seconds);                       /* one call of loader_next() */
void report_step(int64_t number, double seconds, double loss);
void report_kernel_timed(const char *name, double microseconds); /* a launch, between two events */
bool report_has_cycle(void); /* one with steps, whose end is not yet told */
void report_cycle_end(hb_profiler *prof);

/** Does nothing without report_enable(). Ends the program when the file cannot be written. */
void report_write(const struct options *options, const struct training_result *result);

#endif
