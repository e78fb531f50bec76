/* SPDX-License-Identifier: MIT
 *
 * A recorded program runs as if it were not: results, errors, callbacks and look-ups of functions
 * are the same with a profiler and without.
 */
#include "captured.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <unistd.h>

static hipModule_t module;
static hipFunction_t vadd;

static int set_up(void **state)
{
    (void)state;
    module = load_module();
    vadd = get_kernel(module, "vadd");
    return 0;
}

/* ---- the thread's last error ---- */

typedef struct errors {
    int count;
    hipError_t seen[64];
} errors;

static void see(errors *e, hipError_t result)
{
    assert_in_range(e->count, 0, 60);
    e->seen[e->count++] = result;
    e->seen[e->count++] = hipPeekAtLastError();
}

static void make_errors(errors *e)
{
    void *memory = NULL, *none;
    hipStream_t stream;
    int n = 0;
    void *arguments[] = {&memory, &memory, &memory, &n};
    *e = (errors){0};
    see(e, hipGetLastError());
    see(e, hipMalloc(&none, (size_t)1 << 50));
    see(e, hipMalloc(&memory, 4096));
    see(e, hipMalloc(&none, (size_t)1 << 50));
    see(e, hipGetLastError());
    see(e, hipFree((void *)8));
    see(e, launch(vadd, 256, NULL, arguments));
    see(e, hipModuleLaunchKernel(vadd, 0, 1, 1, 256, 1, 1, 0, NULL, arguments, NULL));
    see(e, hipMemcpy(memory, NULL, 16, hipMemcpyHostToDevice));
    see(e, hipStreamCreate(&stream));
    see(e, hipMemcpyAsync(NULL, memory, 16, hipMemcpyDeviceToHost, stream));
    see(e, hipStreamDestroy(stream));
    see(e, hipSetDevice(99));
    see(e, hipDeviceSynchronize());
    see(e, hipEventQuery(NULL));
    see(e, hipFree(memory));
    see(e, hipHostFree((void *)8));
    see(e, hipGetLastError());
    see(e, hipGetLastError());
}

static void errors_are_those_of_the_program(void **state)
{
    (void)state;
    errors without, with;
    make_errors(&without);
    hb_profiler *prof = capture_start(HB_ACTIVITY_HIP);
    make_errors(&with);
    cJSON_Delete(capture_stop(prof));
    assert_int_equal(with.count, without.count);
    for (int i = 0; i < with.count; i++)
        if (with.seen[i] != without.seen[i])
            fail_msg("%s after call %d is %s with a profiler, %s without",
                     i % 2 ? "the last error" : "the result", i / 2, hipGetErrorName(with.seen[i]),
                     hipGetErrorName(without.seen[i]));
}

/* ---- callbacks ---- */

static _Atomic int called;

static void on_stream(hipStream_t stream, hipError_t status, void *arg)
{
    (void)stream;
    (void)status;
    atomic_fetch_add(&called, (int)(intptr_t)arg);
}

/* HIP 5.2 has a fault here: with its hooks for calls, streams that are made while they are in use
 * never call back. */
static void stream_callbacks_come(void **state)
{
    (void)state;
    void *memory;
    hipStream_t streams[3] = {NULL};
    HIP_OK(hipMalloc(&memory, 3 * 4096)); /* a part for each: they run at once */
    HIP_OK(hipStreamCreate(&streams[1]));
    atomic_store(&called, 0);
    hb_profiler *prof = capture_start(HB_ACTIVITY_HIP);
    HIP_OK(hipStreamCreate(&streams[2]));
    for (intptr_t i = 0; i < 3; i++) {
        HIP_OK(hipMemsetAsync((char *)memory + 4096 * i, 0, 4096, streams[i]));
        HIP_OK(hipStreamAddCallback(streams[i], on_stream, (void *)(i + 1), 0));
    }
    for (int ms = 0; atomic_load(&called) != 6 && ms < 120000; ms++)
        usleep(1000);
    assert_int_equal(atomic_load(&called), 6);
    HIP_OK(hipDeviceSynchronize());
    cJSON *trace = capture_stop(prof);
    assert_int_equal(count_events(trace, "Runtime", "hipStreamAddCallback"), 3);
    cJSON_Delete(trace);
    HIP_OK(hipFree(memory));
    HIP_OK(hipStreamDestroy(streams[1]));
    HIP_OK(hipStreamDestroy(streams[2]));
}

/* ---- looking functions up ---- */

typedef hipError_t (*free_fn)(void *);

static free_fn look_up(void *handle)
{
    free_fn function;
    void *address = dlsym(handle, "hipFree");
    memcpy(&function, &address, sizeof function);
    return function;
}

static void functions_that_were_looked_up_are_seen(void **state)
{
    (void)state;
    void *runtime = dlopen("libamdhip64.so.5", RTLD_LAZY | RTLD_NOLOAD);
    assert_non_null(runtime);
    hb_profiler *prof = capture_start(HB_ACTIVITY_HIP);
    HIP_OK(look_up(runtime)(NULL));
    HIP_OK(look_up(RTLD_DEFAULT)(NULL));
    HIP_OK(hipFree(NULL));
    cJSON *trace = capture_stop(prof);
    assert_int_equal(count_events(trace, "Runtime", "hipFree"), 3);
    cJSON_Delete(trace);
    dlclose(runtime);
}

static void functions_by_get_proc_address_are_seen(void **state)
{
    (void)state;
    int (*get)(const char *, void **, int, uint64_t, void *);
    void *address = dlsym(RTLD_DEFAULT, "hipGetProcAddress");
    if (!address) skip(); /* HIP before 6.1 */
    hb_profiler *prof = capture_start(HB_ACTIVITY_HIP);
    address = dlsym(RTLD_DEFAULT, "hipGetProcAddress");
    memcpy(&get, &address, sizeof get);
    free_fn release = NULL;
    HIP_OK(get("hipFree", (void **)&release, 60000000, 0, NULL));
    HIP_OK(release(NULL));
    HIP_IS(hipErrorInvalidValue, release((void *)8));
    cJSON *trace = capture_stop(prof);
    assert_int_equal(count_events(trace, "Runtime", "hipFree"), 2);
    assert_int_equal(count_events(trace, "Runtime", "hipGetProcAddress"), 1);
    cJSON_Delete(trace);
}

/* RTLD_NEXT is what comes after the program, though hipboard stands between. */
static void look_ups_find_what_they_did(void **state)
{
    (void)state;
    void *before = dlsym(RTLD_NEXT, "hb_version"), *main_before = dlsym(RTLD_DEFAULT, "main");
    hb_profiler *prof = capture_start(HB_ACTIVITY_HIP);
    assert_ptr_equal(dlsym(RTLD_NEXT, "hb_version"), before);
    assert_ptr_equal(dlsym(RTLD_DEFAULT, "main"), main_before);
    assert_null(dlsym(RTLD_DEFAULT, "hipNoSuchFunction"));
    assert_non_null(strstr(dlerror(), "hipNoSuchFunction"));
    cJSON_Delete(capture_stop(prof));
    assert_non_null(before);
}

/* ---- results ---- */

/* Many parameters, most of them on the stack. */
static void kernels_get_their_arguments(void **state)
{
    (void)state;
    enum { N = 1000 };
    static float a[N], b[N], c[N];
    float *da, *db, *dc;
    int n = N;
    void *arguments[] = {&da, &db, &dc, &n};
    for (int i = 0; i < N; i++) {
        a[i] = (float)i;
        b[i] = 2;
    }
    hb_profiler *prof = capture_start(HB_ACTIVITY_HIP);
    HIP_OK(hipMalloc((void **)&da, sizeof a));
    HIP_OK(hipMalloc((void **)&db, sizeof b));
    HIP_OK(hipMalloc((void **)&dc, sizeof c));
    HIP_OK(hipMemcpy(da, a, sizeof a, hipMemcpyHostToDevice));
    HIP_OK(hipMemcpyHtoD((hipDeviceptr_t)db, b, sizeof b));
    HIP_OK(launch(vadd, 1024, NULL, arguments));
    HIP_OK(hipMemcpy2D(c, sizeof c, dc, sizeof c, sizeof c, 1, hipMemcpyDeviceToHost));
    cJSON *trace = capture_stop(prof);
    for (int i = 0; i < N; i++)
        assert_true(c[i] == (float)i + 2);
    assert_int_equal(count_events(trace, "kernel", "vadd"), 1);
    cJSON_Delete(trace);
    HIP_OK(hipFree(da));
    HIP_OK(hipFree(db));
    HIP_OK(hipFree(dc));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_are_those_of_the_program),
        cmocka_unit_test(stream_callbacks_come),
        cmocka_unit_test(functions_that_were_looked_up_are_seen),
        cmocka_unit_test(functions_by_get_proc_address_are_seen),
        cmocka_unit_test(look_ups_find_what_they_did),
        cmocka_unit_test(kernels_get_their_arguments),
    };
    setenv("SIMHSA_KERNELS", TEST_KERNEL_LIBRARY, 1);
    capture_prepare();
    return cmocka_run_group_tests(tests, set_up, NULL);
}
