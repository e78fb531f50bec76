/* SPDX-License-Identifier: MIT
 *
 * Two simulated GPUs, each with a kernel to launch.
 */
#ifndef VADDS_H
#define VADDS_H

#include "captured.h"
#include "fatbin.h"

enum { DEVICES = 2 };

static hipModule_t modules[DEVICES];
static hipFunction_t vadds[DEVICES];

static inline int set_up(void **state)
{
    (void)state;
    for (int i = 0; i < DEVICES; i++) {
        HIP_OK(hipSetDevice(i));
        modules[i] = load_module();
        vadds[i] = get_kernel(modules[i], "vadd");
        /* A device's first stream compiles kernels of the runtime's own. */
        hipStream_t stream;
        HIP_OK(hipStreamCreate(&stream));
        HIP_OK(hipStreamDestroy(stream));
    }
    HIP_OK(hipSetDevice(0));
    return 0;
}

static inline hipError_t launch_vadd(int device, unsigned blocks, float *data, hipStream_t stream)
{
    int n = (int)blocks * 256;
    void *arguments[] = {&data, &data, &data, &n};
    return launch(vadds[device], blocks * 256, stream, arguments);
}

static inline void vadd_stub(void) {}

/** For the next; before the first call of the HIP runtime. */
static inline void register_vadd(void)
{
    register_kernel(register_code_object(), (const void *)(uintptr_t)vadd_stub, "vadd");
}

/** As programs of hipcc launch it, which every release of HIP captures into graphs. */
static inline hipError_t launch_as_hipcc(unsigned blocks, float *data, hipStream_t stream)
{
    int n = (int)blocks * 256;
    void *arguments[] = {&data, &data, &data, &n};
    return hipLaunchKernel((const void *)(uintptr_t)vadd_stub, (dim3){blocks, 1, 1},
                           (dim3){256, 1, 1}, arguments, 0, stream);
}

#endif
