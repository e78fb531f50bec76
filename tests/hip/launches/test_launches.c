/* SPDX-License-Identifier: MIT
 *
 * Interposition of ways to launch that no runtime of Debian has, on a stand-in for HIP 7: by a
 * structure, and by functions whose addresses the program was given.
 */
#include "../captured.h"
#include "../rocprofiler/fake.h"

#include <dlfcn.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "fake_events.h"
#include "launch_config.h"

typedef hipError_t launch_fn(const launch_config *config, void *kernel, void **params);

extern launch_fn hipLaunchKernelExC;
extern hipError_t hipDrvLaunchKernelEx(const launch_config *config, void *kernel, void **params,
                                       void **extra);
extern hipError_t hipGetProcAddress(const char *name, void **function, int version, uint64_t flags,
                                    void *found);

extern hipError_t hipGetDriverEntryPoint(const char *name, void **function,
                                         unsigned long long flags, int *found);
extern hipError_t hipLibraryLoadData(void **library, const void *code, void *options, void *values,
                                     unsigned count, void *library_options, void *library_values,
                                     unsigned library_count);
extern hipError_t hipLibraryGetKernel(void **function, void *library, const char *name);

static const fake_symbol vadd = {1, "vadd", 512, 16, 24, 20, 4};
static const launch_config config = {{3, 2, 1}, {64, 4, 1}, 1024, (hipStream_t)64, NULL, 0};

static void is_triple(const cJSON *event, const char *key, const uint32_t expected[3])
{
    const cJSON *array = cJSON_GetObjectItemCaseSensitive(args_of(event), key);
    for (int i = 0; i < 3; i++)
        assert_int_equal((uint32_t)cJSON_GetNumberValue(cJSON_GetArrayItem(array, i)), expected[i]);
}

/* Stops; there are so many launches by `function`, each with what `config` says and its kernel. */
static void check_launches(hb_profiler *prof, const char *function, int launches)
{
    cJSON *trace = capture_stop(prof);
    assert_string_equal(text_of(trace, "hipboard_hip_backend"), "interposition");
    assert_int_equal(count_events(trace, "Runtime", function), launches);
    assert_int_equal(count_events(trace, "kernel", "vadd"), launches);
    for (int i = 0; i < launches; i++) {
        const cJSON *kernel = nth_event(trace, "kernel", "vadd", i), *call = call_of(trace, kernel);
        assert_string_equal(text_of(call, "name"), function);
        is_triple(call, "grid", config.grid);
        is_triple(call, "block", config.block);
        is_triple(kernel, "grid", config.grid);
        assert_int_equal(arg(call, "shared memory"), config.lds);
        assert_int_equal(arg(kernel, "stream"), 1);
    }
    cJSON_Delete(trace);
}

static void launches_by_a_structure_show_what_is_in_it(void **state)
{
    (void)state;
    void *kernel = fake_load(&vadd);
    hb_profiler *prof = capture_start(0);
    HIP_OK(hipLaunchKernelExC(&config, kernel, NULL));
    check_launches(prof, "hipLaunchKernelExC", 1);
    prof = capture_start(0);
    HIP_OK(hipDrvLaunchKernelEx(&config, kernel, NULL, NULL));
    check_launches(prof, "hipDrvLaunchKernelEx", 1);
}

static void addresses_that_were_given_out_are_of_stand_ins(void **state)
{
    (void)state;
    void *kernel = fake_load(&vadd);
    launch_fn *looked_up, *asked_for;
    void *address;
    hb_profiler *prof = capture_start(0);
    address = dlsym(RTLD_DEFAULT, "hipLaunchKernelExC");
    memcpy(&looked_up, &address, sizeof address);
    HIP_OK(hipGetProcAddress("hipLaunchKernelExC", &address, 70000000, 0, NULL));
    memcpy(&asked_for, &address, sizeof address);
    HIP_OK(looked_up(&config, kernel, NULL));
    HIP_OK(asked_for(&config, kernel, NULL));
    check_launches(prof, "hipLaunchKernelExC", 2);
}

static void kernels_of_libraries_are_seen(void **state)
{
    (void)state;
    void *library, *kernel, *address;
    int found;
    launch_fn *given;
    hb_profiler *prof = capture_start(0);
    HIP_OK(hipLibraryLoadData(&library, &vadd, NULL, NULL, 0, NULL, NULL, 0));
    HIP_OK(hipLibraryGetKernel(&kernel, library, "vadd"));
    HIP_OK(hipLaunchKernelExC(&config, kernel, NULL));
    HIP_OK(hipGetDriverEntryPoint("hipLaunchKernelExC", &address, 0, &found));
    memcpy(&given, &address, sizeof address);
    HIP_OK(given(&config, kernel, NULL));
    check_launches(prof, "hipLaunchKernelExC", 2);
}

static void a_launch_that_tells_nothing_is_said_to_be_missing(void **state)
{
    (void)state;
    void *kernel = fake_load(&vadd);
    hb_profiler *prof = capture_start(0);
    HIP_OK(hipLaunchByPtr(kernel));
    cJSON *trace = capture_stop(prof);
    assert_int_equal(count_events(trace, "kernel", NULL), 0);
    assert_true(metadata_says(trace, "hipboard_hip_notes", "1 call (such as hipLaunchByPtr)"));
    cJSON_Delete(trace);
}

/* A launch of which an event fails so; the kernels in its trace. */
static int kernels_where(fake_event_call call, int after, int times, int error, int lost)
{
    void *kernel = fake_load(&vadd);
    hb_profiler *prof = capture_start(0);
    fake_event_fails(call, after, times, error);
    HIP_OK(hipLaunchKernelExC(&config, kernel, NULL));
    cJSON *trace = capture_stop(prof);
    int kernels = count_events(trace, "kernel", "vadd");
    assert_int_equal(count_events(trace, "Runtime", "hipLaunchKernelExC"), 1);
    assert_int_equal(metadata_says(trace, "hipboard_hip_notes",
                                   "1 record of device work was lost by interposition"),
                     lost);
    assert_null(cJSON_GetObjectItem(trace, "hipboard_work_not_reported"));
    cJSON_Delete(trace);
    return kernels;
}

static void times_that_are_not_known_yet_are_asked_for_again(void **state)
{
    (void)state;
    assert_int_equal(kernels_where(FAKE_EVENT_QUERY, 0, 3, hipErrorNotReady, 0), 1);
    assert_int_equal(kernels_where(FAKE_EVENT_ELAPSED, 0, 3, hipErrorNotReady, 0), 1);
    assert_int_equal(kernels_where(FAKE_EVENT_ELAPSED, 1, 3, hipErrorNotReady, 0), 1);
}

static void kernels_whose_events_fail_are_said_to_be_lost(void **state)
{
    (void)state;
    assert_int_equal(kernels_where(FAKE_EVENT_ELAPSED, 0, 1, hipErrorInvalidHandle, 1), 0);
    assert_int_equal(kernels_where(FAKE_EVENT_ELAPSED, 1, 1, hipErrorInvalidHandle, 1), 0);
    assert_int_equal(kernels_where(FAKE_EVENT_RECORD, 0, 1, hipErrorOutOfMemory, 1), 0); /* start */
    assert_int_equal(kernels_where(FAKE_EVENT_RECORD, 1, 1, hipErrorOutOfMemory, 1), 0); /* stop */
}

/* What the device's clock has gained since it was last compared shows, not what it has in all. */
static void clocks_are_compared_again(void **state)
{
    enum { PAUSE_MS = 1000 };
    const double share = 0.2;
    void *kernel = fake_load(&vadd);
    (void)state;
    fake_events_gain(share);
    hb_profiler *prof = capture_start(0);
    for (int i = 0; i < 2; i++) {
        HIP_OK(hipLaunchKernelExC(&config, kernel, NULL));
        if (i == 0) nanosleep(&(struct timespec){.tv_sec = PAUSE_MS / 1000}, NULL);
    }
    cJSON *trace = capture_stop(prof);
    fake_events_gain(0);
    const cJSON *work = nth_event(trace, "kernel", "vadd", 1), *call = call_of(trace, work);
    assert_true(fabs(number_of(work, "ts") - number_of(call, "ts")) < PAUSE_MS * share * 1e3 / 2);
    cJSON_Delete(trace);
}

/* As a device does that has other work to do first. */
static void clocks_that_cannot_be_compared_at_once_cost_no_times(void **state)
{
    (void)state;
    enum { PAUSE_MS = 300, QUERIES = 400 };
    void *kernel = fake_load(&vadd);
    hb_profiler *prof = capture_start(0);
    HIP_OK(hipDeviceReset()); /* and they were never compared */
    for (int i = 0; i < 3; i++) {
        fake_event_fails(FAKE_EVENT_QUERY, 1, QUERIES, hipErrorNotReady);
        HIP_OK(hipLaunchKernelExC(&config, kernel, NULL));
        poll(NULL, 0, PAUSE_MS);
    }
    cJSON *trace = capture_stop(prof);
    assert_int_equal(count_events(trace, "kernel", "vadd"), 3);
    assert_null(cJSON_GetObjectItem(trace, "hipboard_hip_notes"));
    cJSON_Delete(trace);
}

/* Their events are gone with the device: they are never asked about again. */
static void kernels_that_a_reset_overtakes_are_said_to_be_lost(void **state)
{
    (void)state;
    enum { BEFORE = 3, AFTER = 2 };
    void *kernel = fake_load(&vadd);
    hb_profiler *prof = capture_start(0);
    fake_event_fails(FAKE_EVENT_QUERY, 0, INT_MAX, hipErrorNotReady);
    for (int i = 0; i < BEFORE; i++)
        HIP_OK(hipLaunchKernelExC(&config, kernel, NULL));
    HIP_OK(hipDeviceReset());
    fake_event_fails(FAKE_EVENT_QUERY, 0, 0, 0);
    for (int i = 0; i < AFTER; i++)
        HIP_OK(hipLaunchKernelExC(&config, kernel, NULL));
    cJSON *trace = capture_stop(prof);
    assert_int_equal(count_events(trace, "Runtime", "hipLaunchKernelExC"), BEFORE + AFTER);
    assert_int_equal(count_events(trace, "kernel", "vadd"), AFTER);
    assert_true(metadata_says(trace, "hipboard_hip_notes", "3 records of device work were lost"));
    assert_null(cJSON_GetObjectItem(trace, "hipboard_work_not_reported"));
    cJSON_Delete(trace);
}

/* ---- the program's end ---- */

static const char *never_begins; /* the thread's name */

/* The library's call, too. */
int pthread_setname_np(pthread_t thread, const char *name)
{
    (void)thread;
    while (never_begins && strcmp(name, never_begins) == 0)
        pause();
    return prctl(PR_SET_NAME, name);
}

int __lsan_is_turned_off(void);

/* What a program has at its exit is no leak. */
int __lsan_is_turned_off(void)
{
    return never_begins != NULL;
}

static void exit_with_a_launch(void)
{
    void *kernel = fake_load(&vadd);
    never_begins = "hipboard/timing";
    (void)capture_start(0);
    if (hipLaunchKernelExC(&config, kernel, NULL) != hipSuccess) _exit(1);
    exit(0);
}

/* Who waits for it can't take its own time for that of a thread which is not yet known. */
static void the_program_ends_while_the_reader_of_times_has_not_begun(void **state)
{
    (void)state;
    enum { ENOUGH_MS = 30000, LOOK_MS = 10 };
    int status;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) exit_with_a_launch();
    for (int ms = 0; waitpid(pid, &status, WNOHANG) == 0; ms += LOOK_MS) {
        if (ms == ENOUGH_MS) kill(pid, SIGKILL);
        poll(NULL, 0, LOOK_MS);
    }
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launches_by_a_structure_show_what_is_in_it),
        cmocka_unit_test(addresses_that_were_given_out_are_of_stand_ins),
        cmocka_unit_test(kernels_of_libraries_are_seen),
        cmocka_unit_test(a_launch_that_tells_nothing_is_said_to_be_missing),
        cmocka_unit_test(times_that_are_not_known_yet_are_asked_for_again),
        cmocka_unit_test(kernels_whose_events_fail_are_said_to_be_lost),
        cmocka_unit_test(clocks_are_compared_again),
        cmocka_unit_test(clocks_that_cannot_be_compared_at_once_cost_no_times),
        cmocka_unit_test(kernels_that_a_reset_overtakes_are_said_to_be_lost),
        cmocka_unit_test(the_program_ends_while_the_reader_of_times_has_not_begun),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
