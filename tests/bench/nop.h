/* SPDX-License-Identifier: MIT
 *
 * A kernel that does nothing, for benchmarks of what launching one costs.
 */
#ifndef NOP_H
#define NOP_H

#include <hip/hip_runtime_api.h>

#include <stdio.h>
#include <stdlib.h>

#define MUST(call)                                                       \
    do {                                                                 \
        hipError_t error_ = (call);                                      \
        if (error_ != hipSuccess) {                                      \
            fprintf(stderr, "%s: %s\n", #call, hipGetErrorName(error_)); \
            exit(1);                                                     \
        }                                                                \
    } while (0)

static inline hipFunction_t load_nop(void)
{
    static char code[65536];
    hipModule_t module;
    hipFunction_t function;
    FILE *file = fopen(TEST_KERNELS, "rb");
    if (!file || fread(code, 1, sizeof code, file) == 0) {
        perror(TEST_KERNELS);
        exit(1);
    }
    fclose(file);
    MUST(hipModuleLoadData(&module, code));
    MUST(hipModuleGetFunction(&function, module, "nop"));
    return function;
}

#endif
