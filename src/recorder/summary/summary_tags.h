/* SPDX-License-Identifier: MIT
 *
 * A profile's numbers over time for TensorBoard's own tabs: scalars, memory, tables, settings and a
 * layout that draws together what belongs together. Pure: numbers in, records into an event log.
 *
 * Steps are the program's own. What is not known is NaN and not logged.
 */
#ifndef HB_SUMMARY_SUMMARY_TAGS_H
#define HB_SUMMARY_SUMMARY_TAGS_H

#include <hipboard/event_log.h>

#include "base/base.h"

/* The numbers of a step or of a cycle: the group of its tag, and what is common to both. In a group
 * of their own, "hipboard_cycle", are the same numbers of a cycle: of times the averages over its
 * steps, of what is counted the sums.
 *
 * The eight times from kernel to other are the step's roles and add up to it.
 *
 * Overhead is the sum of two: recording, in the program's own threads, is estimated as the number
 * of host records times what one was measured to take on this machine in this process (what hooks
 * of HIP calls take comes on top); writing is the processor time that the background thread took
 * for the cycle's trace and numbers. */
#define HB_PROFILE_NUMBER_MAP(X)                          \
    X(STEP_MS, "time", "step_ms")                         \
    X(KERNEL_MS, "time", "kernel_ms")                     \
    X(MEMCPY_MS, "time", "memcpy_ms")                     \
    X(MEMSET_MS, "time", "memset_ms")                     \
    X(COMMUNICATION_MS, "time", "communication_ms")       \
    X(RUNTIME_MS, "time", "runtime_ms")                   \
    X(DATA_LOADER_MS, "time", "data_loader_ms")           \
    X(CPU_MS, "time", "cpu_ms")                           \
    X(OTHER_MS, "time", "other_ms")                       \
    X(GFLOPS, "time", "gflop_per_s")                      \
    X(UTILIZATION, "gpu", "utilization_percent")          \
    X(SM_EFFICIENCY, "gpu", "sm_efficiency_percent")      \
    X(OCCUPANCY, "gpu", "occupancy_percent")              \
    X(EXPOSED_MS, "communication", "exposed_ms")          \
    X(HOST_TO_DEVICE, "copies", "host_to_device_mib")     \
    X(DEVICE_TO_HOST, "copies", "device_to_host_mib")     \
    X(DEVICE_TO_DEVICE, "copies", "device_to_device_mib") \
    X(EVENTS, "profiler", "events")                       \
    X(LOST_EVENTS, "profiler", "lost_events")             \
    X(RECORDING_MS, "profiler", "recording_ms")           \
    X(WRITING_MS, "profiler", "writing_ms")               \
    X(OVERHEAD_MS, "profiler", "overhead_ms")

typedef enum hb_profile_number {
#define HB_PROFILE_NUMBER_ENUM(name, group, leaf) HB_PROFILE_##name,
    HB_PROFILE_NUMBER_MAP(HB_PROFILE_NUMBER_ENUM)
#undef HB_PROFILE_NUMBER_ENUM
        HB_PROFILE_NUMBERS
} hb_profile_number;

typedef struct hb_profile_numbers {
    double value[HB_PROFILE_NUMBERS];
} hb_profile_numbers;

/** What numbers are of. */
typedef enum hb_profile_span {
    HB_PROFILE_STEP,
    HB_PROFILE_CYCLE,
    HB_PROFILE_SPANS
} hb_profile_span;

const char *hb_profile_tag(hb_profile_span span, hb_profile_number number);

/** Nothing known yet. */
void hb_profile_numbers_init(hb_profile_numbers *numbers);

/** When, and of what: a step, or the cycle that ended with it. */
typedef struct hb_profile_at {
    hb_profile_span span;
    int64_t step, unix_ns;
} hb_profile_at;

/** Logs what is known. */
hb_result hb_profile_log_numbers(hb_event_log *log, hb_profile_at at,
                                 const hb_profile_numbers *numbers);

/** Of one of the devices; NaN: not known. */
typedef struct hb_profile_device {
    double utilization, sm_efficiency, occupancy; /* percent */
    double peak_bytes, current_bytes;
} hb_profile_device;

/** `name`: "GPU0", "CPU". */
hb_result hb_profile_log_device(hb_event_log *log, hb_profile_at at, const char *name,
                                const hb_profile_device *device);

hb_result hb_profile_log_step_times(hb_event_log *log, int64_t step, const double *ms, size_t n);
hb_result hb_profile_log_kernel_times(hb_event_log *log, int64_t step, const double *us, size_t n);

/* ---- texts ---- */

typedef struct hb_profile_pair {
    const char *key, *value;
} hb_profile_pair;

/** Values that are NULL or empty are not known and left out. */
hb_result hb_profile_log_environment(hb_event_log *log, int64_t step, const hb_profile_pair *pairs,
                                     size_t num_pairs);

/** What an operator or a kernel cost. */
typedef struct hb_profile_cost {
    const char *name;
    uint64_t calls;
    double total_us;
} hb_profile_cost;

typedef enum hb_profile_table { HB_PROFILE_TOP_OPERATORS, HB_PROFILE_TOP_KERNELS } hb_profile_table;

/** In the order given; `all_us` is what shares are of. */
hb_result hb_profile_log_costs(hb_event_log *log, int64_t step, hb_profile_table table,
                               const hb_profile_cost *costs, size_t num_costs, double all_us);

/** Sentences, without markup. */
hb_result hb_profile_log_advice(hb_event_log *log, int64_t step, const char *const *advice,
                                size_t num_advice);

/** Why HIP's part of the cycle is not whole, in sentences; nothing is logged without any. */
hb_result hb_profile_log_hip_notes(hb_event_log *log, int64_t step, const char *const *notes,
                                   size_t num_notes);

/** "hipboard/reason": why a cycle was recorded. */
hb_result hb_profile_log_reason(hb_event_log *log, int64_t step, const char *reason);

/** Nothing is logged when nothing was lost. */
hb_result hb_profile_log_lost(hb_event_log *log, int64_t step, const hb_lost *lost);

/* ---- once a run ---- */

/** What the runs of a log directory are compared by. NULL, 0 and negative: not known. */
typedef struct hb_profile_settings {
    const char *arch;         /* "gfx90a" */
    int compute_units;        /* of a device */
    const char *rocm_version; /* "6.1.2" */
    int64_t ranks;
    const char *git;      /* commit */
    const hb_hparam *own; /* the user's, which come before known ones of the same names */
    size_t num_own;
    bool has_steps, has_gpu;    /* step time, utilization: what runs are compared by */
    const char *memory;         /* the device whose peak they are compared by, "GPU0" */
    const char *const *metrics; /* the user's */
    size_t num_metrics;
} hb_profile_settings;

hb_result hb_profile_log_settings(hb_event_log *log, const hb_profile_settings *settings);

/** The Custom Scalars tab: Time, Memory, Communication. */
hb_result hb_profile_log_layout(hb_event_log *log);

#endif
