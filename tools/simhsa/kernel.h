/* SPDX-License-Identifier: MIT
 *
 * Kernels by name: what stands for them and how long they take.
 */
#ifndef SIM_KERNEL_H
#define SIM_KERNEL_H

#include "sim.h"
#include "simhsa.h"

/** One of the HIP runtime's own copy and fill kernels, done for real. The bytes it wrote. */
typedef uint64_t (*sim_builtin_fn)(const simhsa_dispatch *dispatch);

/** NULL when `name` is none of them. */
sim_builtin_fn sim_builtin_find(const char *name);

/** Lives as long as the process, so that dispatches need no lock to hold on to it. */
typedef struct sim_kernel {
    struct sim_kernel *next;
    sim_builtin_fn builtin;
    simhsa_kernel_fn fn;  /* atomic */
    uint64_t duration_ns; /* atomic; as the program set it */
    uint64_t planned_ns;  /* atomic; as SIMHSA_KERNEL_NS set it */
    uint64_t launches;    /* atomic */
    char name[];
} sim_kernel;

/** The kernel of that name, made when new; NULL when out of memory. */
sim_kernel *sim_kernel_named(const char *name);

/** Does the work of one launch that began at `begin_ns`; when it is over, in the same clock. */
uint64_t sim_kernel_run(sim_kernel *kernel, const simhsa_dispatch *dispatch, uint64_t begin_ns);

/** Takes over SIMHSA_KERNEL_NS="NS[,PATTERN=NS]..." (NULL: nothing set). False, with a line on
 * stderr, when malformed. */
bool sim_kernel_plan(const char *text);

/** Loads the kernel libraries that SIMHSA_KERNELS names; says on stderr which cannot be. */
void sim_kernels_load(void);

#endif
