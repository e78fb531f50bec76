/* SPDX-License-Identifier: MIT
 *
 * rocprofiler-sdk's agents: which of HIP's devices, whose order and number the user may have
 * changed, is which of the driver's.
 */
#ifndef HB_HIP_ROCPROFILER_AGENTS_H
#define HB_HIP_ROCPROFILER_AGENTS_H

#include "hip/rocprofiler_library.h"

/** Once, before the others. */
void hb_rocp_agents_find(const hb_rocp *rocp);

/** The driver's number of an agent; -1: unknown. */
int32_t hb_rocp_agent_node(hb_rocp_id agent);

/** The driver's number of a HIP device; -1: unknown. Asks the runtime. */
int32_t hb_rocp_node_of_device(const hb_hip *hip, int device);

#endif
