/* SPDX-License-Identifier: MIT
 *
 * The HIP releases whose profiling hooks hipboard knows. They hand out structures whose size has
 * changed between releases, and a wrong size crashes the program. So what the table says is
 * compared with the runtime's code, and a release that is not in it is taken only if its code shows
 * it.
 */
#ifndef HB_HIP_HOOK_VERSIONS_H
#define HB_HIP_HOOK_VERSIONS_H

#include "hip/hip_runtime.h"

typedef struct hb_hook_version {
    int release;            /* 502 is 5.2 */
    uint32_t api_data_size; /* sizeof(hip_api_data_t) */
    uint32_t num_functions; /* numbers of functions are below this */
    bool by_record;         /* hipInitActivityCallback(), else hipRegisterTracerCallback() */
} hb_hook_version;

/** What holds of a runtime; false with the reason in `why` when that is not known. */
bool hb_hook_version_of(const hb_hip *hip, hb_hook_version *version, hb_buf *why);

#endif
