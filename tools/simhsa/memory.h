/* SPDX-License-Identifier: MIT
 *
 * Memory: everything is host memory, counted against the agent it is said to be on.
 */
#ifndef SIM_MEMORY_H
#define SIM_MEMORY_H

#include "agent.h"

/** Zeroed, page-aligned memory from `pool`; NULL when the agent's limit or the host's is reached. */
void *sim_memory_allocate(sim_pool *pool, size_t size);
/** False when `address` is not the start of an allocation. */
bool sim_memory_free(void *address);
/** The GPU whose memory holds `address`; NULL for host and unknown memory. */
sim_agent *sim_memory_gpu(const void *address);

#endif
