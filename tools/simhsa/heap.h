/* SPDX-License-Identifier: MIT
 *
 * Memory: everything is host memory, counted against the agent it is said to be on.
 */
#ifndef SIM_HEAP_H
#define SIM_HEAP_H

#include "agent.h"

/** Zeroed, page-aligned memory from `pool`; NULL when the agent's limit or the host's is reached.
 */
void *sim_memory_allocate(sim_pool *pool, size_t size);
/** False when `address` is not the start of an allocation. */
bool sim_memory_free(void *address);
/** After a packet's work: the runtime learns of its end by reads of its own, which
 * ThreadSanitizer does not see; by this it knows that a later free comes after. */
void sim_memory_was_used(void);
/** Counts memory that is kept elsewhere against the limit of the pool's agent; false when that is
 * reached.
 */
bool sim_memory_charge(sim_pool *pool, size_t size);
void sim_memory_refund(sim_pool *pool, size_t size);
/** Such memory is, or is no longer, at these addresses. */
bool sim_memory_know(char *base, size_t size, sim_pool *pool);
void sim_memory_forget(const char *base);
/** Whether the `size` bytes at `address` lie in one allocation or one locked range. */
bool sim_memory_holds(const void *address, uint64_t size);

/** Memory of the program that was locked has another address on the device, as on a board with
 * memory of its own: HIP 5.2 relies on it when such memory is unlocked. The two differ in a bit
 * that no address of a program has. */
#define SIM_DEVICE_ADDRESS_BIT ((uintptr_t)1 << 48)

/** Where the host finds what the device finds at `address`. */
static inline void *sim_host_address(const void *address)
{
    return (void *)((uintptr_t)address & ~SIM_DEVICE_ADDRESS_BIT);
}

/** Replaces the device addresses of locked memory among the arguments of a kernel, which is going
 * to run on the host, by the host's. */
void sim_memory_localize(void *arguments, size_t size);

#endif
