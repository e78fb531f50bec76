/* SPDX-License-Identifier: MIT
 *
 * The devices as HIP described them when it first worked on one: after a fault it describes none.
 */
#ifndef HB_HIP_KNOWN_DEVICES_H
#define HB_HIP_KNOWN_DEVICES_H

#include "hip/hip_runtime.h"

/** Asks for them, once in the process; from any thread, among hipboard's own calls. */
void hb_known_devices_look(const hb_hip *hip);

/** The devices, by their ordinals; *count is 0 when they were not asked for. */
const hb_hip_device *hb_known_devices(int *count);

#endif
