/* SPDX-License-Identifier: MIT
 *
 * simhsa - a simulated AMD GPU below AMD's real HIP runtime: what programs and kernel libraries
 * use.
 *
 * A kernel launched on the simulated GPU does nothing unless a host function stands in for it. Such
 * functions come from a shared object, named by SIMHSA_KERNELS, that exports the table
 *
 *     #include "simhsa.h"
 *
 *     static void vadd(const simhsa_dispatch *d)
 *     {
 *         const struct { const float *a, *b; float *c; int n; } *args = d->kernarg;
 *         for (int i = 0; i < args->n; i++)
 *             args->c[i] = args->a[i] + args->b[i];
 *     }
 *
 *     const simhsa_kernel simhsa_kernels[] = {
 *         {"vadd", vadd, 50000},
 *         {NULL, NULL, 0},
 *     };
 *
 * or from the program itself through simhsa_set_kernel().
 */
#ifndef SIMHSA_H
#define SIMHSA_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Duration "what SIMHSA_KERNEL_NS says". */
#define SIMHSA_DEFAULT_DURATION UINT64_MAX

/** One launch, as the packet on the queue has it. Valid only during the call. */
typedef struct simhsa_dispatch {
    const char *name;       /**< the kernel's symbol, without ".kd": mangled for C++ kernels */
    const void *kernarg;    /**< the arguments, each at its natural alignment, in order */
    uint32_t grid[3];       /**< work-items, not blocks */
    uint16_t block[3];      /**< work-items per block */
    uint32_t group_bytes;   /**< LDS per block, static and dynamic */
    uint32_t private_bytes; /**< scratch per work-item */
    uint32_t device;        /**< index of the simulated GPU */
    uint64_t queue;         /**< id of the hardware queue */
} simhsa_dispatch;

/** Does a kernel's work on the CPU. Called on the queue's own thread: functions of different queues
 * run at the same time. Must not call the HIP runtime. */
typedef void (*simhsa_kernel_fn)(const simhsa_dispatch *dispatch);

/** One row of a kernel library's table `simhsa_kernels`, which ends with a NULL name. */
typedef struct simhsa_kernel {
    const char *name;
    simhsa_kernel_fn fn;  /**< NULL: only the duration is set */
    uint64_t duration_ns; /**< as in simhsa_set_kernel() */
} simhsa_kernel;

extern const simhsa_kernel simhsa_kernels[];

/** Makes `fn` stand for the kernel `name` (copied) from its next launch on, in loaded and in later
 * code objects. `duration_ns` is the simulated run time; a function that takes longer makes it
 * longer; 0 means as long as the function takes. SIMHSA_KERNEL_NS, when it names the kernel, wins.
 * Any thread, any time, also before the HIP runtime starts. */
void simhsa_set_kernel(const char *name, simhsa_kernel_fn fn, uint64_t duration_ns);

/** Launches of the kernel `name` that the simulated GPUs have finished. */
uint64_t simhsa_kernel_launches(const char *name);

#ifdef __cplusplus
}
#endif

#endif
