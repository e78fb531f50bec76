/* SPDX-License-Identifier: MIT
 *
 * What, outside of the HIP runtime, decides whether a process can use a GPU: the driver's file and
 * environment variables.
 */
#ifndef HB_HIP_ENVIRONMENT_H
#define HB_HIP_ENVIRONMENT_H

#include "base/base.h"

/** Variables that hide devices, NULL at the end. */
extern const char *const hb_visibility_variables[];

#define HB_DRIVER "/dev/kfd"

/** How this process can open the driver's file (HB_DRIVER, but in tests), in words. */
const char *hb_driver_access(const char *path);

/** Why HIP has no device, as far as can be seen from outside. */
const char *hb_why_no_device(void);

#endif
