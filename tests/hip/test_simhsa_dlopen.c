/* SPDX-License-Identifier: MIT
 *
 * A program that is not linked to the HIP runtime but opens it while it runs, as interpreters and
 * plug-ins do. Works with any of HIP 5 and 6: only what both have in the same form is used.
 */
#include "hip_test.h"

#include <dlfcn.h>

/* X(name): the functions looked up, typed as HIP's header declares them. */
#define FUNCTIONS(X)         \
    X(hipGetDeviceCount)     \
    X(hipMalloc)             \
    X(hipFree)               \
    X(hipMemcpy)             \
    X(hipMemcpyAsync)        \
    X(hipStreamCreate)       \
    X(hipStreamSynchronize)  \
    X(hipStreamDestroy)      \
    X(hipModuleLoadData)     \
    X(hipModuleGetFunction)  \
    X(hipModuleLaunchKernel) \
    X(hipModuleUnload)       \
    X(hipRuntimeGetVersion)

static struct {
#define MEMBER(name) __typeof__(&name) name;
    FUNCTIONS(MEMBER)
#undef MEMBER
} hip;

static void *open_runtime(void)
{
    static const char *const names[] = {"libamdhip64.so.5", "libamdhip64.so.6"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        if (library) return library;
    }
    fail_msg("%s", dlerror());
    return NULL;
}

static int set_up(void **state)
{
    (void)state;
    setenv("SIMHSA_KERNELS", TEST_KERNEL_LIBRARY, 1);
    void *library = open_runtime();
#define LOOK_UP(name)                            \
    *(void **)&hip.name = dlsym(library, #name); \
    assert_non_null(hip.name);
    FUNCTIONS(LOOK_UP)
#undef LOOK_UP
    return 0;
}

static void a_dlopened_runtime_computes(void **state)
{
    (void)state;
    enum { N = 1000 };
    int count = 0, version = 0, n = N;
    float host[N], *a, *b, *c;
    hipModule_t module;
    hipFunction_t vadd;
    hipStream_t stream;
    void *code = read_code_object();
    assert_int_equal(hip.hipGetDeviceCount(&count), hipSuccess);
    assert_int_equal(count, 1);
    assert_int_equal(hip.hipRuntimeGetVersion(&version), hipSuccess);
    print_message("HIP %d\n", version);
    assert_int_equal(hip.hipModuleLoadData(&module, code), hipSuccess);
    assert_int_equal(hip.hipModuleGetFunction(&vadd, module, "vadd"), hipSuccess);
    assert_int_equal(hip.hipStreamCreate(&stream), hipSuccess);
    assert_int_equal(hip.hipMalloc((void **)&a, sizeof host), hipSuccess);
    assert_int_equal(hip.hipMalloc((void **)&b, sizeof host), hipSuccess);
    assert_int_equal(hip.hipMalloc((void **)&c, sizeof host), hipSuccess);
    for (int i = 0; i < N; i++)
        host[i] = (float)i;
    assert_int_equal(hip.hipMemcpy(a, host, sizeof host, hipMemcpyHostToDevice), hipSuccess);
    assert_int_equal(hip.hipMemcpyAsync(b, host, sizeof host, hipMemcpyHostToDevice, stream),
                     hipSuccess);
    assert_int_equal(hip.hipModuleLaunchKernel(vadd, 4, 1, 1, 256, 1, 1, 0, stream,
                                               (void *[]){&a, &b, &c, &n}, NULL),
                     hipSuccess);
    assert_int_equal(hip.hipStreamSynchronize(stream), hipSuccess);
    assert_int_equal(hip.hipMemcpy(host, c, sizeof host, hipMemcpyDeviceToHost), hipSuccess);
    for (int i = 0; i < N; i++)
        assert_float_equal(host[i], 2 * (float)i, 0);
    assert_int_equal(hip.hipFree(a), hipSuccess);
    assert_int_equal(hip.hipFree(b), hipSuccess);
    assert_int_equal(hip.hipFree(c), hipSuccess);
    assert_int_equal(hip.hipStreamDestroy(stream), hipSuccess);
    assert_int_equal(hip.hipModuleUnload(module), hipSuccess);
    free(code);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_dlopened_runtime_computes)};
    return cmocka_run_group_tests(tests, set_up, NULL);
}
