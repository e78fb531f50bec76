/* SPDX-License-Identifier: MIT
 *
 * HIP calls that fail, that hipboard knows little of, or that it can't see.
 */
#include "vadds.h"

#include <dlfcn.h>

/* By functions whose arguments hipboard does not read. */
static void work_of_any_call_is_that_calls(void **state)
{
    (void)state;
    enum { WIDTH = 64, HEIGHT = 8 };
    void *data;
    static char host[WIDTH * HEIGHT];
    HIP_OK(hipMalloc(&data, sizeof host));
    hipPitchedPtr pitched = {data, WIDTH, WIDTH, HEIGHT};
    hb_profiler *prof = capture_start(0);
    HIP_OK(hipMemset3D(pitched, 1, (hipExtent){WIDTH, HEIGHT, 1}));
    hipMemcpy3DParms parms = {.srcPtr = pitched,
                              .dstPtr = {host, WIDTH, WIDTH, HEIGHT},
                              .extent = {WIDTH, HEIGHT, 1},
                              .kind = hipMemcpyDeviceToHost};
    HIP_OK(hipMemcpy3D(&parms));
    assert_int_equal(host[0], 1);
    cJSON *trace = capture_stop(prof);
    if (metadata_says(trace, "hipboard_hip_backend", "interposition")) {
        assert_true(metadata_says(trace, "hipboard_hip_notes", "of 2 calls (such as hipMem"));
    } else {
        const cJSON *fill = nth_event(trace, "gpu_memset", "Memset (Device)", 0);
        const cJSON *copy = nth_event(trace, "gpu_memcpy", "Memcpy DtoH (Device -> Host)", 0);
        assert_string_equal(text_of(call_of(trace, fill), "name"), "hipMemset3D");
        assert_string_equal(text_of(call_of(trace, copy), "name"), "hipMemcpy3D");
    }
    cJSON_Delete(trace);
    HIP_OK(hipFree(data));
}

/* A function of the runtime that the headers of 5.2 do not know; NULL where it does not either. */
static void newer(const char *name, void *function)
{
    void *address = dlsym(RTLD_DEFAULT, name);
    memcpy(function, &address, sizeof address);
}

static void such_work_stands_on_its_stream(void **state)
{
    (void)state;
    enum { WIDTH = 64, HEIGHT = 8, BYTES = WIDTH * HEIGHT };
    char *data;
    hipStream_t stream;
    int (*fill)(void *, size_t, unsigned, size_t, size_t, hipStream_t);
    newer("hipMemsetD2D32Async", &fill);
    HIP_OK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
    HIP_OK(hipMalloc((void **)&data, 2 * BYTES));
    hipPitchedPtr from = {data, WIDTH, WIDTH, HEIGHT}, to = {data + BYTES, WIDTH, WIDTH, HEIGHT};
    hb_profiler *prof = capture_start(0);
    HIP_OK(hipMemset3DAsync(from, 1, (hipExtent){WIDTH, HEIGHT, 1}, stream));
    hipMemcpy3DParms parms = {.srcPtr = from,
                              .dstPtr = to,
                              .extent = {WIDTH, HEIGHT, 1},
                              .kind = hipMemcpyDeviceToDevice};
    HIP_OK(hipMemcpy3DAsync(&parms, stream));
    if (fill) assert_int_equal(fill(data, WIDTH, 7, WIDTH / 4, HEIGHT, stream), 0);
    HIP_OK(hipStreamSynchronize(stream));
    cJSON *trace = capture_stop(prof);
    const cJSON *event;
    int seen = 0;
    cJSON_ArrayForEach(event, events_of(trace))
    {
        if (!is_event(event, "gpu_memset", NULL) && !is_event(event, "gpu_memcpy", NULL)) continue;
        assert_true(arg(event, "stream") > 0);
        seen++;
    }
    bool timed = metadata_says(trace, "hipboard_hip_backend", "interposition");
    assert_int_equal(seen, (timed ? 0 : 2) + (fill != NULL));
    cJSON_Delete(trace);
    HIP_OK(hipFree(data));
}

static __typeof__(hipModuleLaunchKernel) *early_launch;

/* An address of before the first profiler, which nothing can stand in for. */
static void launches_by_an_early_address_are_seen_or_said_to_be_missing(void **state)
{
    (void)state;
    float *data;
    HIP_OK(hipMalloc((void **)&data, 1024));
    int n = 256;
    void *arguments[] = {&data, &data, &data, &n};
    hb_profiler *prof = capture_start(0);
    HIP_OK(early_launch(vadds[0], 1, 1, 1, 256, 1, 1, 0, NULL, arguments, NULL));
    HIP_OK(hipDeviceSynchronize());
    cJSON *trace = capture_stop(prof);
    if (metadata_says(trace, "hipboard_hip_backend", "tracer-hook"))
        assert_int_equal(count_events(trace, "kernel", "vadd"), 1);
    if (metadata_says(trace, "hipboard_hip_backend", "activity-hooks")) {
        assert_int_equal(count_events(trace, "kernel", "(kernel of an unseen call)"), 1);
        assert_true(metadata_says(trace, "hipboard_hip_notes", "1 kernel was launched by calls"));
    }
    cJSON_Delete(trace);
    HIP_OK(hipFree(data));
}

static void failing_calls_show_their_error(void **state)
{
    (void)state;
    int device;
    hb_profiler *prof = capture_start(0);
    HIP_IS(hipErrorInvalidValue, hipFree((void *)8));
    HIP_OK(hipDeviceSynchronize());
    HIP_OK(hipGetDevice(&device)); /* too chatty to show */
    (void)hipGetLastError();
    cJSON *trace = capture_stop(prof);
    const cJSON *failed = nth_event(trace, "Runtime", "hipFree", 0);
    assert_non_null(failed);
    assert_string_equal(text_of(args_of(failed), "error"), "hipErrorInvalidValue");
    assert_false(cJSON_HasObjectItem(
        args_of(nth_event(trace, "Runtime", "hipDeviceSynchronize", 0)), "error"));
    assert_int_equal(count_events(trace, "Runtime", NULL), 2); /* nor does hipboard show itself */
    cJSON_Delete(trace);
}

/* Also the second in a row, one in the middle of good ones, and launches. */
static void each_failure_shows_its_error(void **state)
{
    (void)state;
    float *data;
    int n = 64;
    void *arguments[] = {&data, &data, &data, &n};
    HIP_OK(hipMalloc((void **)&data, 1024));
    hb_profiler *prof = capture_start(0);
    HIP_IS(hipErrorInvalidValue, hipFree((void *)8));
    HIP_IS(hipErrorInvalidValue, hipFree((void *)8));
    HIP_OK(launch_vadd(0, 1, data, NULL));
    hipError_t refused =
        hipModuleLaunchKernel(vadds[0], 1, 1, 1, 1 << 20, 1, 1, 0, NULL, NULL, NULL);
    assert_int_not_equal(refused, hipSuccess);
    HIP_OK(launch_vadd(0, 1, data, NULL));
    /* HIP 5.2 finds out that this is too much when it has made the work. */
    hipError_t too_much =
        hipModuleLaunchKernel(vadds[0], 1, 1, 1, 64, 1, 1, 1 << 20, NULL, arguments, NULL);
    assert_int_not_equal(too_much, hipSuccess);
    cJSON *trace = capture_stop(prof);
    for (int i = 0; i < 2; i++)
        assert_string_equal(text_of(args_of(nth_event(trace, "Runtime", "hipFree", i)), "error"),
                            "hipErrorInvalidValue");
    const hipError_t results[] = {hipSuccess, refused, hipSuccess, too_much};
    for (int i = 0; i < 4; i++)
        assert_string_equal(
            text_of(args_of(nth_event(trace, "Runtime", "hipModuleLaunchKernel", i)), "error"),
            results[i] ? hipGetErrorName(results[i]) : "");
    assert_int_equal(count_events(trace, "kernel", "vadd"), 2);
    assert_null(cJSON_GetObjectItem(trace, "hipboard_hip_notes"));
    cJSON_Delete(trace);
    (void)hipGetLastError();
    HIP_OK(hipFree(data));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_of_any_call_is_that_calls),
        cmocka_unit_test(such_work_stands_on_its_stream),
        cmocka_unit_test(launches_by_an_early_address_are_seen_or_said_to_be_missing),
        cmocka_unit_test(failing_calls_show_their_error),
        cmocka_unit_test(each_failure_shows_its_error),
    };
    void *address = dlsym(RTLD_DEFAULT, "hipModuleLaunchKernel");
    memcpy(&early_launch, &address, sizeof address);
    setenv("SIMHSA_GPUS", "2", 1);
    capture_prepare();
    return cmocka_run_group_tests(tests, set_up, NULL);
}
