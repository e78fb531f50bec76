/* SPDX-License-Identifier: MIT
 *
 * Another client of rocprofiler-sdk in the same process, before hipboard and after it. Who is first
 * has it; the other goes on without. Each case is a process of its own.
 */
#include "../captured.h"
#include "other_client.h"

#include <errno.h>
#include <sys/wait.h>

#include "fake.h"

enum { LAUNCHES = 3, LOCKED = 16 };

static void launch_some(void)
{
    static const fake_symbol nop = {1, "nop.kd", 0, 0, 16, 8, 0};
    void *kernel = fake_load(&nop);
    for (int i = 0; i < LAUNCHES; i++)
        HIP_OK(hipLaunchKernel(kernel, (dim3){1, 1, 1}, (dim3){64, 1, 1}, NULL, 0, NULL));
}

static void the_other_is_first(void **state)
{
    (void)state;
    assert_int_equal(other_client_configure(), 0);
    hb_profiler *prof = capture_start(0);
    launch_some();
    cJSON *trace = capture_stop(prof);
    assert_true(metadata_says(trace, "hipboard_hip_notes",
                              "rocprofiler-sdk: another tool has configured it (version 1.0.0)"));
    cJSON_Delete(trace);
    assert_int_equal(other_client_launches, LAUNCHES);
}

static void the_other_comes_later(void **state)
{
    (void)state;
    hb_profiler *prof = capture_start(0);
    assert_int_equal(other_client_configure(), LOCKED);
    launch_some();
    cJSON *trace = capture_stop(prof);
    assert_string_equal(text_of(trace, "hipboard_hip_backend"), "rocprofiler-sdk");
    assert_int_equal(count_events(trace, "kernel", "nop"), LAUNCHES);
    assert_int_equal(count_events(trace, "Runtime", "hipLaunchKernel"), LAUNCHES);
    assert_null(cJSON_GetObjectItem(trace, "hipboard_hip_notes"));
    cJSON_Delete(trace);
    assert_int_equal(other_client_launches, 0);
}

/* As with a schedule that waits: hipboard has had its place since the profiler was made. */
static void the_other_comes_between_profiler_and_recording(void **state)
{
    (void)state;
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.spool_dir = "";
    hb_profiler *prof = hb_profiler_create(&o);
    assert_non_null(prof);
    assert_int_equal(other_client_configure(), LOCKED);
    assert_int_equal(hb_profiler_start(prof), HB_OK);
    launch_some();
    cJSON *trace = capture_stop(prof);
    assert_int_equal(count_events(trace, "kernel", "nop"), LAUNCHES);
    cJSON_Delete(trace);
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(the_other_is_first),
    cmocka_unit_test(the_other_comes_later),
    cmocka_unit_test(the_other_comes_between_profiler_and_recording),
};

static bool succeeds(const struct CMUnitTest *test)
{
    int status;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        const struct CMUnitTest tests[] = {*test};
        exit(cmocka_run_group_tests_name(test->name, tests, NULL, NULL));
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int main(void)
{
    int failures = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        failures += !succeeds(&cases[i]);
    return failures != 0;
}
