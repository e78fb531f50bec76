/* SPDX-License-Identifier: MIT
 *
 * A library of one kernel (KERNEL), as hipcc makes them: the runtime hears of it when it is loaded
 * and when it is unloaded, by functions that no profiler is told of.
 */
#include "fatbin.h"

int launch_own(void *data);

static void **fatbin;

static void stub(void) {}

__attribute__((constructor)) static void come(void)
{
    static _Alignas(4096) char bundle[BUNDLE_BYTES];
    fatbin = register_code_object_in(bundle);
    register_kernel(fatbin, (const void *)(uintptr_t)stub, KERNEL);
}

__attribute__((destructor)) static void go(void)
{
    __hipUnregisterFatBinary(fatbin);
}

int launch_own(void *data)
{
    int n = 256;
    void *arguments[] = {&data, &data, &data, &n};
    return hipLaunchKernel((const void *)(uintptr_t)stub, (dim3){1, 1, 1}, (dim3){256, 1, 1},
                           arguments, 0, NULL);
}
