/* SPDX-License-Identifier: MIT
 *
 * How the HIP runtime's hooks report finished device work, the same in both of their forms.
 */
#ifndef HB_HIP_HOOK_RECORDS_H
#define HB_HIP_HOOK_RECORDS_H

#include "hip/calls.h"
#include "record/strings.h"

typedef struct hb_hook_activity {
    uint32_t domain, kind, op; /* op: enum hb_hook_op */
    uint64_t id;               /* a record id, or the correlation of the call */
    uint64_t begin_ns, end_ns; /* CLOCK_BOOTTIME */
    int32_t device;            /* a HIP ordinal, or the driver's number of the device */
    uint64_t queue;
    union {
        size_t bytes;            /* copies */
        const char *kernel_name; /* dispatches, since HIP 5.4 */
    };
} hb_hook_activity;

enum hb_hook_op { HB_HOOK_DISPATCH = 0, HB_HOOK_COPY = 1, HB_HOOK_BARRIER = 2 };

enum { HB_HOOK_KERNEL = 0x11f0, HB_HOOK_GRAPH_KERNELS = 0x11f1 }; /* of hb_hook_activity.kind */

/** Whether it can be what it says it is, and was not told before: `op` is what the callback was
 * told beside it. What is not is counted. */
bool hb_hook_activity_is_sound(const hb_hook_activity *a, uint32_t op);

/** A record of it, without name, joined by `work`; of kind 0: a marker. */
hb_record_work hb_hook_work(const hb_hook_activity *a, uint64_t work);

/** A session begins, and ends: what was odd about its records becomes notes. */
void hb_hook_activities_start(void);
void hb_hook_activities_note(const hb_hip *hip);

#endif
