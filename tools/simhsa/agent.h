/* SPDX-License-Identifier: MIT
 *
 * Agents: the CPU and the simulated GPUs, with their memory pools.
 */
#ifndef SIM_AGENT_H
#define SIM_AGENT_H

#include "sim.h"

typedef struct sim_agent sim_agent;

/** One memory pool; an hsa_amd_memory_pool_t handle is its address. */
typedef struct sim_pool {
    sim_agent *agent;
    hsa_amd_segment_t segment;
    uint32_t flags; /* hsa_amd_memory_pool_global_flag_t */
    uint64_t bytes;
} sim_pool;

/** One agent; an hsa_agent_t handle is its address. */
struct sim_agent {
    bool is_gpu;
    unsigned index;       /* of the GPU, before ROCR_VISIBLE_DEVICES */
    uint64_t memory_used; /* bytes, over all pools; atomic */
    unsigned pool_count;
    sim_pool pools[3];
};

/** Makes the CPU and the GPUs that sim_config and ROCR_VISIBLE_DEVICES ask for. */
void sim_agents_create(void);
void sim_agents_destroy(void);

/** The agent of a handle; NULL when it is none. */
sim_agent *sim_agent_find(hsa_agent_t handle);
/** The pool of a handle; NULL when it is none. */
sim_pool *sim_pool_find(hsa_amd_memory_pool_t handle);

sim_agent *sim_cpu_agent(void);
/** The i-th visible GPU; NULL behind the last. */
sim_agent *sim_gpu_agent(unsigned i);

static inline hsa_agent_t sim_agent_handle(const sim_agent *agent)
{
    return (hsa_agent_t){(uint64_t)(uintptr_t)agent};
}

#endif
