/* SPDX-License-Identifier: MIT
 *
 * The text of kernels.hip once more, for the processor: what the simulated GPU of tools/simhsa runs
 * when the program launches a kernel. A library of its own, so that digits knows nothing of it:
 *
 *     export SIMHSA_KERNELS=build/samples/digits/digits_kernels.so
 *     tools/simhsa/run build/samples/digits/digits --device hip
 */
#include "../hip/kernels.h"
#include "simhsa.h"

#include <math.h>
#include <stddef.h>

#define DIGITS_ON_HOST
#define __shared__
#define KERNEL(name) static void name(struct name##_args a)

#ifndef THREADS_BACKWARDS
#define THREADS_BACKWARDS 0 /* what comes of threads must not depend on their order */
#endif

static inline int nth_thread(int n)
{
    return THREADS_BACKWARDS ? KERNEL_BLOCK - 1 - n : n;
}

/* The block's threads one after the other; all of one loop before those of the next. */
#define EACH_THREAD(t) for (int turn = 0, t; t = nth_thread(turn), turn < KERNEL_BLOCK; turn++)
#define EACH_ITEM(i, n)                                                                          \
    for (int turn = 0, i; i = blockIdx.x * KERNEL_BLOCK + nth_thread(turn), turn < KERNEL_BLOCK; \
         turn++)                                                                                 \
        if (i < (n))
#define PER_THREAD KERNEL_BLOCK
#define OWN(t)     t

/* Queues of the GPU are threads here, each with a kernel of its own. */
static _Thread_local struct {
    int x, y, z;
} blockIdx;

#include "../hip/kernels.hip"

/* Which blocks there are; their size is KERNEL_BLOCK. */
#define EACH_BLOCK(d)                                                    \
    for (blockIdx.z = 0; blockIdx.z < (int)d->grid[2]; blockIdx.z++)     \
        for (blockIdx.y = 0; blockIdx.y < (int)d->grid[1]; blockIdx.y++) \
            for (blockIdx.x = 0; blockIdx.x < (int)(d->grid[0] / KERNEL_BLOCK); blockIdx.x++)

#define RUN(name)                                          \
    static void run_##name(const simhsa_dispatch *d)       \
    {                                                      \
        EACH_BLOCK(d)                                      \
            name(*(const struct name##_args *)d->kernarg); \
    }
KERNELS(RUN)

#define ENTRY(name) {#name, run_##name, SIMHSA_DEFAULT_DURATION},
const simhsa_kernel simhsa_kernels[] = {KERNELS(ENTRY){NULL, NULL, 0}};
