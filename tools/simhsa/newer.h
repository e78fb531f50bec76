/* SPDX-License-Identifier: MIT
 *
 * Functions that HIP runtimes newer than the headers call: of HSA runtimes 5.7, 6.4 and 7.2.
 * Structures of one number are that number here, which is passed alike.
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
hsa_status_t hsa_amd_memory_get_preferred_copy_engine(hsa_agent_t to, hsa_agent_t from,
                                                      uint32_t *engine_mask);
hsa_status_t hsa_amd_agent_set_async_scratch_limit(hsa_agent_t agent, size_t threshold);
hsa_status_t hsa_amd_enable_logging(uint8_t *flags, void *file);

hsa_status_t hsa_amd_vmem_address_reserve_align(void **address, size_t size, uint64_t wanted,
                                                uint64_t alignment, uint64_t flags);
hsa_status_t hsa_amd_vmem_address_reserve(void **address, size_t size, uint64_t wanted,
                                          uint64_t flags);
hsa_status_t hsa_amd_vmem_address_free(void *address, size_t size);
hsa_status_t hsa_amd_vmem_handle_create(hsa_amd_memory_pool_t pool, size_t size, int type,
                                        uint64_t flags, uint64_t *handle);
hsa_status_t hsa_amd_vmem_handle_release(uint64_t handle);
hsa_status_t hsa_amd_vmem_retain_alloc_handle(uint64_t *handle, void *address);
hsa_status_t hsa_amd_vmem_get_alloc_properties_from_handle(uint64_t handle,
                                                           hsa_amd_memory_pool_t *pool, int *type);
hsa_status_t hsa_amd_vmem_map(void *address, size_t size, size_t offset, uint64_t handle,
                              uint64_t flags);
hsa_status_t hsa_amd_vmem_unmap(void *address, size_t size);
hsa_status_t hsa_amd_vmem_set_access(void *address, size_t size, const void *descriptions,
                                     size_t count);
hsa_status_t hsa_amd_vmem_get_access(void *address, int *permissions, hsa_agent_t agent);

#endif
