/* SPDX-License-Identifier: MIT
 *
 * How the HIP runtime's hooks report finished device work, the same in both of their forms.
 */
#ifndef HB_DEVICE_HOOK_RECORDS_H
#define HB_DEVICE_HOOK_RECORDS_H

#include "device/calls.h"
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

/** enum hb_work_kind of the runtime's kind of a command; 0: a marker, or one without a row. */
static inline uint32_t hb_hook_work_kind(uint32_t kind)
{
    switch (kind) {
    case 0x11f0:                        /* a kernel */
    case 0x11f1: return HB_WORK_KERNEL; /* of a graph */
    case 0x11f3:
    case 0x1201: return HB_WORK_DTOH;
    case 0x11f4:
    case 0x1202: return HB_WORK_HTOD;
    case 0x11f5:
    case 0x1203: return HB_WORK_DTOD;
    case 0x1207: return HB_WORK_FILL;
    default: return 0;
    }
}

/** A record of it, without name, joined by `work`. */
static inline hb_record_work hb_hook_work(const hb_hook_activity *a, uint64_t work)
{
    return (hb_record_work){
        .head.name = HB_STRING_UNNAMED,
        .work = work,
        .begin_ns = (int64_t)a->begin_ns,
        .end_ns = (int64_t)a->end_ns,
        .bytes = a->op == HB_HOOK_COPY ? a->bytes : 0,
        .queue = a->queue,
        .device = a->device,
        .kind = hb_hook_work_kind(a->kind),
    };
}

#endif
