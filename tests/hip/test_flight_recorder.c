/* SPDX-License-Identifier: MIT
 *
 * What a flight recorder keeps of HIP: it is there when it is written, while it goes on.
 */
#include <stdatomic.h>

#include "simhsa.h"
#include "vadds.h"

static char dir[64];

static hb_profiler *start_with(hb_profiler_options o)
{
    o.on_trace_ready = hb_tensorboard_trace_handler(dir, "w", HB_NO_EVENT_FILE);
    o.spool_dir = "";
    hb_profiler *prof = hb_profiler_create(&o);
    assert_non_null(prof);
    assert_int_equal(hb_profiler_start(prof), HB_OK);
    return prof;
}

static hb_profiler *start_ring(void)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.ring_ns = 60 * INT64_C(1000000000);
    o.trigger_hip_errors = true;
    return start_with(o);
}

static void launch_and_wait(void)
{
    HIP_OK(launch_vadd(0, 1, NULL, NULL));
    HIP_OK(hipDeviceSynchronize());
}

static int make_dir(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/hipboard-flight-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
    (void)state;
    remove_all(dir);
    return 0;
}

static void check_trace(const cJSON *trace, int kernels)
{
    assert_non_null(trace);
    assert_int_equal(count_events(trace, "kernel", "vadd"), kernels);
    for (int i = 0; i < kernels; i++)
        assert_non_null(call_of(trace, nth_event(trace, "kernel", "vadd", i)));
    const cJSON *devices = cJSON_GetObjectItem(trace, "deviceProperties");
    assert_int_equal(cJSON_GetArraySize(devices), DEVICES);
    assert_versions(trace);
}

static void a_call_that_fails_has_it_written(void **state)
{
    (void)state;
    hb_profiler *prof = start_ring();
    launch_and_wait();
    assert_int_equal(hipMemset(NULL, 0, 4096), hipErrorInvalidValue);
    assert_int_equal(hb_profiler_flush(prof), HB_OK);
    cJSON *trace = nth_trace(dir, 0);
    check_trace(trace, 1);
    assert_true(metadata_says(trace, "hipboard_reason", "hipMemset failed with error 1"));
    cJSON_Delete(trace);
    launch_and_wait(); /* it goes on */
    assert_int_equal(hb_profiler_dump(prof, "again"), HB_OK);
    assert_int_equal(hb_profiler_flush(prof), HB_OK);
    trace = nth_trace(dir, 1);
    check_trace(trace, 2);
    assert_true(metadata_says(trace, "hipboard_reason", "again"));
    cJSON_Delete(trace);
    hb_profiler_destroy(prof);
}

/* Where not every kernel is timed, the trace says so: sums are multiplied by it. */
static void what_is_sampled_says_so(void **state)
{
    (void)state;
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.ring_ns = 60 * INT64_C(1000000000);
    o.kernel_sampling = 4;
    hb_profiler *prof = start_with(o);
    for (int i = 0; i < 8; i++)
        HIP_OK(launch_vadd(0, 1, NULL, NULL));
    HIP_OK(hipDeviceSynchronize());
    assert_int_equal(hb_profiler_dump(prof, "now"), HB_OK);
    assert_int_equal(hb_profiler_flush(prof), HB_OK);
    cJSON *trace = nth_trace(dir, 0);
    assert_non_null(trace);
    bool sampled = number_of(trace, "hipboard_kernel_sampling") == 4;
    assert_int_equal(sampled, count_events(trace, "kernel", "vadd") == 2);
    assert_true(sampled || count_events(trace, "kernel", "vadd") == 8);
    assert_int_equal(count_events(trace, "Runtime", "hipModuleLaunchKernel"), 8);
    cJSON_Delete(trace);
    hb_profiler_destroy(prof);
}

static atomic_bool takes_long;

static void run_kernel(const simhsa_dispatch *d)
{
    (void)d;
    while (atomic_load(&takes_long))
        usleep(1000);
}

/* That work is not done yet is an answer. */
static void not_ready_is_no_failure(void **state)
{
    (void)state;
    hb_profiler *prof = start_ring();
    atomic_store(&takes_long, true);
    HIP_OK(launch_vadd(0, 1, NULL, NULL));
    hipError_t answer = hipStreamQuery(NULL);
    atomic_store(&takes_long, false);
    HIP_OK(hipDeviceSynchronize());
    assert_int_equal(answer, hipErrorNotReady);
    assert_int_equal(hb_profiler_flush(prof), HB_OK);
    assert_null(nth_trace(dir, 0));
    hb_profiler_destroy(prof);
}

__attribute__((noinline)) static void made_here(void)
{
    HIP_OK(hipSetDevice(0));
    __asm__ volatile("");
}

/* Also where the first call from there is kept no more. */
static void every_call_shows_where_it_was_made(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* frames of theirs stand in between */
#endif
    enum { STEPS = 6, KEPT = 2, SCOPES = 400000 };
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.ring_steps = KEPT;
    o.with_stack = true;
    hb_profiler *prof = start_with(o);
    for (int i = 0; i < STEPS; i++) {
        made_here();
        for (int k = 0; k < SCOPES && i == 0; k++)
            HB_RECORD_FUNCTION("scope") {
            }
        assert_int_equal(hb_profiler_step(prof), HB_OK);
    }
    assert_int_equal(hb_profiler_dump(prof, "now"), HB_OK);
    assert_int_equal(hb_profiler_flush(prof), HB_OK);
    cJSON *trace = nth_trace(dir, 0);
    assert_int_equal(count_events(trace, "cpu_op", "hipSetDevice"), KEPT);
    for (int i = 0; i < KEPT; i++)
        assert_true(was_made_in(nth_event(trace, "cpu_op", "hipSetDevice", i), "made_here"));
    cJSON_Delete(trace);
    hb_profiler_destroy(prof);
}

static int set_up_kernels(void **state)
{
    simhsa_set_kernel("vadd", run_kernel, SIMHSA_DEFAULT_DURATION);
    return set_up(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_call_that_fails_has_it_written, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(what_is_sampled_says_so, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(not_ready_is_no_failure, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(every_call_shows_where_it_was_made, make_dir, remove_dir),
    };
    setenv("SIMHSA_GPUS", "2", 1);
    capture_prepare();
    return cmocka_run_group_tests(tests, set_up_kernels, NULL);
}
