/* SPDX-License-Identifier: MIT
 *
 * What a copy copies, where its arguments do not say.
 */
#ifndef HB_HIP_CALL_COPIES_H
#define HB_HIP_CALL_COPIES_H

#include "hip/call_layouts.h"
#include "record/format.h"

enum hb_copy_kind { /* hipMemcpyKind */
                    HB_COPY_KIND_TO_DEVICE = 1,
                    HB_COPY_KIND_TO_HOST = 2,
                    HB_COPY_KIND_WITHIN = 3,
                    HB_COPY_KIND_DEFAULT = 4,
                    HB_COPY_KIND_BY_ENGINE = 1024, /* WITHIN, since HIP 6.0 */
};

/** Of a function without an argument for it: enum hb_copy_kind; -1: it is a fill. */
int32_t hb_copy_kind_of(const hb_hip_call *call);

/** Of a copy, by its kind and addresses: enum hb_work_kind, HB_COPY_WITHIN_HOST, or 0: not known.
 */
uint8_t hb_copy_direction(const hb_record_copy *r);

/** The devices of a copy between two, where those are not known. */
void hb_copy_find_devices(hb_record_copy *r);

/** Whose memory it is; 0 where the runtime does not say. */
int hb_copy_device_of(const void *ptr);

#endif
