/* SPDX-License-Identifier: MIT
 *
 * The size of the structure that HIP hands to its tracer for each call, hip_api_data_t, as the code
 * of the runtime itself has it. Nothing else tells it: it is in no symbol, and differs between
 * releases.
 */
#ifndef HB_HIP_HOOK_LAYOUT_H
#define HB_HIP_HOOK_LAYOUT_H

#include "hip/hip_runtime.h"

/** sizeof(hip_api_data_t) of this runtime; 0: its code does not show it, or not beyond doubt. Reads
 * the code, runs nothing of it. */
uint32_t hb_hook_layout_api_data_size(const hb_hip *hip);

/** Numbers of functions are below this, by the names that the runtime has for them; 0: it has none.
 */
uint32_t hb_hook_layout_num_functions(const hb_hip *hip);

#endif
