/* SPDX-License-Identifier: MIT
 *
 * What hipcc puts into a program, done by hand in C: a code object registered as a fat binary, its
 * kernels launched through the addresses of host functions (hipLaunchKernel). So these calls are
 * tested where there is no hipcc; HIP 5.2 captures only such launches into graphs.
 */
#ifndef FATBIN_H
#define FATBIN_H

#include "hip_test.h"

#define BUNDLE_MAGIC  "__CLANG_OFFLOAD_BUNDLE__"
#define BUNDLE_HOST   "host-x86_64-unknown-linux--"
#define BUNDLE_DEVICE "hipv4-amdgcn-amd-amdhsa--gfx90a"

enum {
    BUNDLE_CODE_AT = 4096, /* code objects are page-aligned */
    BUNDLE_BYTES = BUNDLE_CODE_AT + 65536,
};

/* The compiler's interface to the runtime, in no header. */
struct fatbin_wrapper {
    uint32_t magic, version;
    const void *bundle;
    void *unused;
};
void **__hipRegisterFatBinary(const void *wrapper);
void __hipRegisterFunction(void **fatbin, const void *host_function, char *name,
                           const char *device_name, unsigned threads, void *tid, void *bid,
                           dim3 *block, dim3 *grid, int *warp_size);
void __hipUnregisterFatBinary(void **fatbin);

static inline char *put_entry(char *at, uint64_t offset, uint64_t size, const char *target)
{
    const uint64_t words[3] = {offset, size, strlen(target)};
    memcpy(at, words, sizeof words);
    memcpy(at + sizeof words, target, strlen(target));
    return at + sizeof words + strlen(target);
}

/** Registers kernels_gfx90a.co, which is read into `bundle`: BUNDLE_BYTES, page-aligned. */
static inline void **register_code_object_in(char *bundle)
{
    static struct fatbin_wrapper wrapper;
    size_t size = 0;
    FILE *file = fopen(TEST_KERNELS, "rb");
    const uint64_t entries = 2;
    assert_non_null(file);
    memset(bundle, 0, BUNDLE_CODE_AT);
    size = fread(bundle + BUNDLE_CODE_AT, 1, BUNDLE_BYTES - BUNDLE_CODE_AT, file);
    fclose(file);
    memcpy(bundle, BUNDLE_MAGIC, strlen(BUNDLE_MAGIC));
    memcpy(bundle + strlen(BUNDLE_MAGIC), &entries, sizeof entries);
    char *at = bundle + strlen(BUNDLE_MAGIC) + sizeof entries;
    at = put_entry(at, BUNDLE_CODE_AT, 0, BUNDLE_HOST);
    put_entry(at, BUNDLE_CODE_AT, size, BUNDLE_DEVICE);
    wrapper = (struct fatbin_wrapper){0x48495046, 1, bundle, NULL};
    return __hipRegisterFatBinary(&wrapper);
}

/** The same in memory that stays; before the first call of the HIP runtime. */
static inline void **register_code_object(void)
{
    char *bundle = aligned_alloc(4096, BUNDLE_BYTES);
    assert_non_null(bundle);
    return register_code_object_in(bundle);
}

/** `stub` then stands for the kernel in hipLaunchKernel(). */
static inline void register_kernel(void **fatbin, const void *stub, const char *name)
{
    char *host_name = strdup(name);
    __hipRegisterFunction(fatbin, stub, host_name, name, (unsigned)-1, NULL, NULL, NULL, NULL,
                          NULL);
    free(host_name);
}

#endif
