/* SPDX-License-Identifier: MIT
 *
 * Runtimes that hipboard has not seen: it finds out how their structures are laid out, or leaves
 * their hooks alone and says so; and what they should not do harms nobody. Each case is a process
 * of its own.
 *
 *     test_layouts [RUNTIME ODDITY FILE]
 */
#include "../captured.h"

#include <dlfcn.h>
#include <sys/wait.h>

typedef struct sizes {
    unsigned x, y, z;
} sizes;

enum { KERNELS = 5 };

/* ---- in a process of its own ---- */

static void *function(const char *name)
{
    void *address = dlsym(RTLD_DEFAULT, name);
    if (!address) exit(4);
    return address;
}

static void use(void)
{
    int (*launch_kernel)(const void *, sizes, sizes, void **, size_t, void *), (*synchronize)(void);
    void *address = function("hipLaunchKernel");
    memcpy(&launch_kernel, &address, sizeof launch_kernel);
    address = function("hipDeviceSynchronize");
    memcpy(&synchronize, &address, sizeof synchronize);
    for (int i = 0; i < KERNELS; i++)
        launch_kernel(&launch_kernel, (sizes){1, 1, 1}, (sizes){64, 1, 1}, NULL, 0, NULL);
    synchronize();
}

static int record(const char *runtime, const char *odd, const char *file)
{
    setenv("ODD_RUNTIME", odd, 1);
    setenv("HIPBOARD_HIP_BACKEND", "tracer-hook", 1); /* interposition needs events */
    if (!dlopen(runtime, RTLD_NOW | RTLD_GLOBAL)) return 5;
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.activities = HB_ACTIVITY_HIP;
    o.spool_dir = "";
    hb_profiler *prof = hb_profiler_create(&o);
    if (!prof || hb_profiler_start(prof) != HB_OK) return 6;
    use();
    if (hb_profiler_stop(prof) != HB_OK || hb_export_chrome_trace(prof, file, 0) != HB_OK) return 7;
    usleep(20000); /* what is late comes now */
    hb_profiler_destroy(prof);
    use(); /* as if nothing had been */
    return 0;
}

/* ---- the cases ---- */

static cJSON *recorded(const char *runtime, const char *odd)
{
    char path[] = "/tmp/hipboard-test-XXXXXX";
    int status, fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    pid_t pid = fork();
    if (pid == 0) {
        execl("/proc/self/exe", "test_layouts", runtime, odd, path, (char *)NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (status != 0) fail_msg("%s %s: ended with %d", runtime, odd, status);
    cJSON *trace = read_json(path);
    unlink(path);
    return trace;
}

static int kernels_of(const cJSON *trace)
{
    return count_events(trace, "kernel", NULL);
}

static void is_recorded(const char *runtime)
{
    cJSON *trace = recorded(runtime, "");
    assert_string_equal(text_of(trace, "hipboard_hip_backend"), "tracer-hook");
    assert_int_equal(kernels_of(trace), KERNELS);
    assert_int_equal(count_events(trace, "Runtime", "hipLaunchKernel"), KERNELS);
    cJSON_Delete(trace);
}

static void a_release_to_come_is_recognised_by_its_code(void **state)
{
    (void)state;
    is_recorded(NEW_RELEASE);
}

static void a_release_that_was_never_run_is_as_its_headers_say(void **state)
{
    (void)state;
    is_recorded(RELEASE_BY_HEADERS);
}

static void a_known_release_with_another_layout_is_refused(void **state)
{
    (void)state;
    cJSON *trace = recorded(KNOWN_RELEASE, "");
    assert_int_equal(kernels_of(trace), 0);
    assert_true(
        metadata_says(trace, "hipboard_hip_notes", "calls itself HIP 7.2, but its hooks are not"));
    cJSON_Delete(trace);
}

static void a_runtime_that_names_no_functions_is_refused(void **state)
{
    (void)state;
    cJSON *trace = recorded(NAMELESS, "");
    assert_int_equal(kernels_of(trace), 0);
    assert_true(
        metadata_says(trace, "hipboard_hip_notes", "its code does not show how they are laid out"));
    cJSON_Delete(trace);
}

/* A wait for the whole device would hold up the program, and break its captures of graphs. */
static void no_device_is_waited_for_because_its_work_is_reported(void **state)
{
    (void)state;
    cJSON *trace = recorded(NEW_RELEASE, "on_threads");
    assert_int_equal(kernels_of(trace), KERNELS);
    cJSON_Delete(trace);
}

static void what_is_told_after_the_end_harms_nobody(void **state)
{
    (void)state;
    cJSON *trace = recorded(NEW_RELEASE, "late");
    assert_int_equal(count_events(trace, "Runtime", "hipLaunchKernel"), KERNELS);
    assert_true(metadata_says(trace, "hipboard_hip_notes",
                              "5 of 5 pieces of device work were not reported"));
    cJSON_Delete(trace);
}

static void what_is_told_twice_is_shown_once(void **state)
{
    (void)state;
    cJSON *trace = recorded(NEW_RELEASE, "twice");
    assert_int_equal(kernels_of(trace), KERNELS);
    assert_true(
        metadata_says(trace, "hipboard_hip_notes", "5 records of device work came a second time"));
    cJSON_Delete(trace);
}

static void work_that_ends_before_it_begins_has_no_duration(void **state)
{
    (void)state;
    cJSON *trace = recorded(NEW_RELEASE, "backwards");
    assert_int_equal(kernels_of(trace), KERNELS);
    int without = 0;
    for (int i = 0; i < KERNELS; i++) {
        double us = number_of(nth_event(trace, "kernel", NULL, i), "dur");
        assert_true(us >= 0);
        without += us == 0;
    }
    assert_int_equal(without, 1);
    assert_true(metadata_says(trace, "hipboard_hip_notes",
                              "1 piece of device work that ended before it began"));
    cJSON_Delete(trace);
}

static void records_of_another_layout_are_left_out(void **state)
{
    (void)state;
    cJSON *trace = recorded(NEW_RELEASE, "other_records");
    assert_int_equal(count_events(trace, "kernel", NULL), 0);
    assert_int_equal(count_events(trace, "Runtime", "hipLaunchKernel"), KERNELS);
    assert_true(metadata_says(trace, "hipboard_hip_notes",
                              "5 records of device work from HIP 7.14 made no sense"));
    cJSON_Delete(trace);
}

static void what_was_before_the_device_was_lost_is_kept(void **state)
{
    (void)state;
    cJSON *trace = recorded(NEW_RELEASE, "lost");
    assert_int_equal(kernels_of(trace), 3);
    const cJSON *failed = nth_event(trace, "Runtime", "hipLaunchKernel", 3);
    assert_string_equal(text_of(args_of(failed), "error"), "hipErrorLaunchFailure");
    cJSON_Delete(trace);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_release_to_come_is_recognised_by_its_code),
        cmocka_unit_test(a_release_that_was_never_run_is_as_its_headers_say),
        cmocka_unit_test(a_known_release_with_another_layout_is_refused),
        cmocka_unit_test(a_runtime_that_names_no_functions_is_refused),
        cmocka_unit_test(no_device_is_waited_for_because_its_work_is_reported),
        cmocka_unit_test(what_is_told_after_the_end_harms_nobody),
        cmocka_unit_test(what_is_told_twice_is_shown_once),
        cmocka_unit_test(work_that_ends_before_it_begins_has_no_duration),
        cmocka_unit_test(records_of_another_layout_are_left_out),
        cmocka_unit_test(what_was_before_the_device_was_lost_is_kept),
    };
    if (argc == 4) return record(argv[1], argv[2], argv[3]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
