/* SPDX-License-Identifier: MIT
 *
 * What the tests that drive the real HIP runtime share.
 */
#ifndef HIP_TEST_H
#define HIP_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <hip/hip_runtime_api.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HIP_IS(expected, call)                                                        \
    do {                                                                              \
        hipError_t hip_is_ = (call);                                                  \
        if (hip_is_ != (expected))                                                    \
            fail_msg("%s is %s, not %s", #call, hipGetErrorName(hip_is_), #expected); \
    } while (0)
#define HIP_OK(call) HIP_IS(hipSuccess, call)

/** kernels_gfx90a.co; the caller frees it. */
static inline void *read_code_object(void)
{
    FILE *file = fopen(TEST_KERNELS, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    long size = ftell(file);
    assert_true(size > 0);
    rewind(file);
    void *bytes = malloc((size_t)size);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, (size_t)size, file), size);
    fclose(file);
    return bytes;
}

static inline hipModule_t load_module(void)
{
    hipModule_t module;
    void *code = read_code_object();
    HIP_OK(hipModuleLoadData(&module, code));
    free(code);
    return module;
}

static inline hipFunction_t get_kernel(hipModule_t module, const char *name)
{
    hipFunction_t function;
    HIP_OK(hipModuleGetFunction(&function, module, name));
    return function;
}

/** One-dimensional, `threads` in blocks of 256. */
static inline hipError_t launch(hipFunction_t kernel, unsigned threads, hipStream_t stream,
                                void **arguments)
{
    return hipModuleLaunchKernel(kernel, (threads + 255) / 256, 1, 1, 256, 1, 1, 0, stream,
                                 arguments, NULL);
}

#endif
