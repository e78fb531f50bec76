/* SPDX-License-Identifier: MIT
 *
 * A cycle's numbers for TensorBoard's own tabs, from one sweep over its events in the order of
 * time. What is kept grows with the steps, the device's work and the distinct names, not with the
 * host's events.
 *
 * Steps, roles and the numbers of GPUs are those of the plugin's overview, but for two things: a
 * moment is given to one role only, also where the plugin, having given away all of the steps'
 * time, counts the next role in full; and steps at the end that the plugin distrusts are there.
 *
 * What the host does belongs to the step that began last on the host, device work and copies to the
 * step in whose time they begin.
 */
#ifndef HB_DIGEST_DIGEST_H
#define HB_DIGEST_DIGEST_H

#include "base/arena.h"
#include "digest/cycle_marks.h"
#include "rules/step_roles.h"
#include "trace/devices.h"
#include "trace/source.h"

/** Where copies go; between GPUs as well as within one is the third. */
typedef enum hb_copy_way {
    HB_COPY_HOST_TO_DEVICE,
    HB_COPY_DEVICE_TO_HOST,
    HB_COPY_DEVICE_TO_DEVICE,
    HB_COPY_WAYS
} hb_copy_way;

/** A ProfilerStep#N. */
typedef struct hb_step_times {
    int64_t step;
    int64_t host_start_ns;
    int64_t start_ns, end_ns;       /* with the device work that was launched in it */
    int64_t role_ns[HB_ROLE_PARTS]; /* together end - start */
    double flops;
    uint64_t launched; /* pieces of device work */
    uint64_t copied_bytes[HB_COPY_WAYS];
    uint64_t events, host_events;
} hb_step_times;

#define HB_CYCLE_DEVICES 64

/** A GPU's, in percent of a step's time, or of that of all shown steps. */
typedef enum hb_gpu_number {
    HB_GPU_UTILIZATION,
    HB_GPU_SM_EFFICIENCY,
    HB_GPU_OCCUPANCY,
    HB_GPU_NUMBERS
} hb_gpu_number;

typedef struct hb_device_numbers {
    bool has_memory, has_kernels;
    int64_t peak_bytes, current_bytes; /* of what is allocated; at the end */
    double percent[HB_GPU_NUMBERS];    /* NaN: not known */
} hb_device_numbers;

#define HB_HOST_DEVICE (-1)

/** A name's part; self times of operators and scopes, durations of kernels. */
typedef struct hb_name_cost {
    hb_str name;
    uint64_t calls;
    int64_t self_ns;
} hb_name_cost;

typedef HB_VEC(hb_name_cost) hb_name_costs;

typedef struct hb_cycle_numbers {
    hb_arena arena;              /* of all below */
    HB_VEC(hb_step_times) steps; /* in the order of time */
    uint32_t shown_steps;        /* the first ones, which the plugin shows too */
    bool whole;                  /* the program has no steps: the one here is all of the cycle */
    hb_device_numbers host, devices[HB_CYCLE_DEVICES];
    int num_devices;                 /* highest HIP ordinal with work or memory, + 1 */
    hb_device_numbers *step_devices; /* of each step: the host's, then each device's */
    uint64_t copied_bytes[HB_COPY_WAYS];
    HB_VEC(double) kernel_us;         /* every kernel's duration */
    hb_name_costs operators, kernels; /* those that cost most first */
    uint64_t events, host_events;
    hb_cycle_marks own_marks; /* while they are made */
} hb_cycle_numbers;

/** Names are borrowed from the source. `marks`: what may have been gathered of the same events, for
 * the same kind of scopes; NULL or not whole: they are read for it. To be freed also after a
 * failure.
 */
hb_result hb_cycle_numbers_make(hb_source *source, hb_own_scopes scopes, hb_cycle_marks *marks,
                                hb_cycle_numbers *numbers);
void hb_cycle_numbers_free(hb_cycle_numbers *numbers);

/** Whether numbers are kept of a HIP ordinal. */
static inline bool hb_cycle_has_gpu(int32_t device)
{
    return device >= 0 && device < HB_CYCLE_DEVICES;
}

/** The whole cycle's; of a GPU that numbers are kept of, or HB_HOST_DEVICE. */
static inline hb_device_numbers *hb_cycle_numbers_device(hb_cycle_numbers *n, int32_t device)
{
    return device == HB_HOST_DEVICE ? &n->host : &n->devices[device];
}

/** A step's; `device` is less than num_devices. */
static inline hb_device_numbers *hb_cycle_step_device(const hb_cycle_numbers *n, uint32_t step,
                                                      int32_t device)
{
    return &n->step_devices[(size_t)step * (size_t)(n->num_devices + 1) + (size_t)(device + 1)];
}

/** The step in whose time a moment lies; NULL: in none. */
hb_step_times *hb_cycle_step_at(hb_cycle_numbers *numbers, int64_t ns);

#endif
