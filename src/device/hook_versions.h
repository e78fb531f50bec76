/* SPDX-License-Identifier: MIT
 *
 * The HIP releases whose profiling hooks hipboard knows. They hand out structures whose size has
 * changed between releases without a sign of it, and a wrong size crashes the program: so a release
 * that is not in the table is refused.
 */
#ifndef HB_DEVICE_HOOK_VERSIONS_H
#define HB_DEVICE_HOOK_VERSIONS_H

#include "device/hip_runtime.h"

typedef struct hb_hook_version {
    int release;            /* 502 is 5.2 */
    uint32_t api_data_size; /* sizeof(hip_api_data_t) */
    uint32_t num_functions; /* numbers of functions are below this */
    bool by_record;         /* hipInitActivityCallback(), else hipRegisterTracerCallback() */
} hb_hook_version;

/** The row of a runtime; NULL with the reason in `why` when there is none or when another tool
 * holds the hooks. */
const hb_hook_version *hb_hook_version_of(const hb_hip *hip, hb_buf *why);

#endif
