/* SPDX-License-Identifier: MIT
 *
 * A cycle's device work and runtime calls, and what they do to steps: the plugin moves a step's end
 * to the end of the work that was launched in it, and the next step's start with it.
 */
#ifndef HB_DIGEST_DIGEST_DEVICE_H
#define HB_DIGEST_DIGEST_DEVICE_H

#include "base/hash_map.h"
#include "digest/digest.h"
#include "gpu/sm_efficiency.h"

/** Work of a device, or a call of its runtime. */
typedef struct hb_device_span {
    int64_t start, end;
    uint64_t external_id; /* the scope that launched it; 0: none */
    int32_t device;
    uint32_t role;   /* hb_role */
    uint32_t launch; /* index in launches + 1; 0: a call */
} hb_device_span;

/** A call of the runtime that may have launched something. */
typedef struct hb_device_call {
    int64_t start, end;
    uint64_t correlation;
} hb_device_call;

/** All device work of one correlation. */
typedef struct hb_device_launch {
    int64_t start, end;
    uint32_t count;
    bool in_step; /* a step's call launched it */
} hb_device_launch;

/** What the GPU numbers need of a kernel. */
typedef struct hb_kernel_span {
    int64_t start, end;
    double blocks, occupancy; /* per compute unit, 0: not known; percent, < 0: not known */
    int32_t device;
} hb_kernel_span;

typedef struct hb_device_copy {
    int64_t start;
    uint64_t bytes;
    hb_copy_way way;
} hb_device_copy;

typedef struct hb_cycle_device {
    HB_VEC(hb_device_span) spans;   /* by start */
    HB_VEC(hb_device_call) calls;   /* by start */
    HB_VEC(hb_kernel_span) kernels; /* by start */
    HB_VEC(hb_device_copy) copies;
    HB_VEC(hb_device_launch) launches;
    hb_dict launch_of; /* by correlation */
} hb_cycle_device;

/** Notes an event of HB_PASS_DEVICE. */
void hb_cycle_device_add(hb_cycle_device *device, hb_arena *arena, const hb_trace_info *info,
                         const hb_trace_event *event);
/** When all are noted. */
void hb_cycle_device_sort(hb_cycle_device *device);

/** Moves the starts and ends of the numbers' steps as the plugin does, leaves out those that work
 * of earlier steps covers wholly, and finds how many the plugin shows. */
void hb_cycle_device_extend(hb_cycle_device *device, hb_cycle_numbers *numbers);

/** Adds copies, and the events of the device and of its runtime, to the steps they are of. */
void hb_cycle_device_count(const hb_cycle_device *device, hb_cycle_numbers *numbers);

/** The numbers of each GPU in each step's time, and in that of all shown ones. */
void hb_cycle_device_gpus(const hb_cycle_device *device, hb_cycle_numbers *numbers);

#endif
