/* SPDX-License-Identifier: MIT
 *
 * Functions that HIP runtimes newer than the headers call: of HSA runtimes 5.7 and 6.4.
 */
#ifndef SIM_NEWER_H
#define SIM_NEWER_H

#include "sim.h"

hsa_status_t hsa_amd_memory_async_copy_on_engine(void *to, hsa_agent_t to_agent, const void *from,
                                                 hsa_agent_t from_agent, size_t size,
                                                 uint32_t dependency_count,
                                                 const hsa_signal_t *dependencies,
                                                 hsa_signal_t done, int engine_id, bool force);
hsa_status_t hsa_amd_memory_copy_engine_status(hsa_agent_t to, hsa_agent_t from,
                                               uint32_t *engine_mask);
hsa_status_t hsa_amd_enable_logging(uint8_t *flags, void *file);

#endif
