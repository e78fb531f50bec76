/* SPDX-License-Identifier: MIT
 *
 * What a device is, into the running session.
 */
#ifndef HB_HIP_DEVICE_RECORD_H
#define HB_HIP_DEVICE_RECORD_H

#include "hip/hip_runtime.h"

/** `node`: the driver's number of it; -1: not known. */
void hb_device_record_put(int id, int32_t node, const hb_hip_device *device);

#endif
