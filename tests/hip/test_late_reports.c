/* SPDX-License-Identifier: MIT
 *
 * A step does not wait for the devices: what they have still to do when a cycle ends is in that
 * cycle's trace all the same. The kernels here run until they are told to end.
 */
#include "simhsa.h"
#include "vadds.h"

#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>

#include "../unit/said.h"
#include "../unit/trapped.h"

static sem_t may_end;

static atomic_bool all_may_end;
static atomic_int num_ended;

static void run_until_told(const simhsa_dispatch *d)
{
    (void)d;
    while (!atomic_load(&all_may_end) && sem_wait(&may_end) != 0)
        continue;
    atomic_fetch_add(&num_ended, 1);
}

static bool is_hooked(void)
{
    hb_hip_info *info;
    assert_int_equal(hb_hip_info_get(false, &info), HB_OK);
    bool hooked = strcmp(info->backend, "tracer-hook") == 0;
    hb_hip_info_free(info);
    return hooked;
}

/* HIP up to 5.2, since 6 and by interposition: it can't be left for later. */
static bool steps_wait(void)
{
    int version;
    HIP_OK(hipRuntimeGetVersion(&version));
    return version >= 60000000 || !is_hooked();
}

static hb_profiler *start_cycles(const char *dir)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.schedule = hb_schedule_make(.active = 1);
    o.on_trace_ready = hb_tensorboard_trace_handler(dir, NULL, HB_NO_EVENT_FILE);
    o.spool_dir = "";
    hb_profiler *prof = hb_profiler_create(&o);
    assert_non_null(prof);
    assert_int_equal(hb_profiler_start(prof), HB_OK);
    return prof;
}

/* Cycle i launches i + 1 kernels, in a grid of i + 1 blocks. */
static void a_step_returns_while_kernels_run(void **state)
{
    (void)state;
    enum { CYCLES = 3 };
    char dir[] = "/tmp/hipboard-late-XXXXXX";
    if (steps_wait()) skip();
    assert_non_null(mkdtemp(dir));
    hb_profiler *prof = start_cycles(dir);
    for (int i = 0; i < CYCLES; i++) {
        for (int k = 0; k <= i; k++)
            HIP_OK(launch_vadd(0, (unsigned)i + 1, NULL, NULL));
        if (i < CYCLES - 1) assert_int_equal(hb_profiler_step(prof), HB_OK);
    }
    for (int i = 0; i < CYCLES * (CYCLES + 1) / 2; i++) /* no kernel had ended until here */
        sem_post(&may_end);
    assert_int_equal(hb_profiler_stop(prof), HB_OK);
    hb_profiler_destroy(prof);
    for (int i = 0; i < CYCLES; i++) {
        cJSON *trace = nth_trace(dir, i);
        assert_non_null(trace);
        assert_int_equal(count_events(trace, "kernel", "vadd"), i + 1);
        for (int k = 0; k <= i; k++) {
            const cJSON *kernel = nth_event(trace, "kernel", "vadd", k);
            assert_non_null(call_of(trace, kernel));
            const cJSON *grid = cJSON_GetObjectItem(args_of(kernel), "grid");
            assert_int_equal(cJSON_GetNumberValue(cJSON_GetArrayItem(grid, 0)), i + 1);
        }
        assert_null(cJSON_GetObjectItem(trace, "hipboard_work_not_reported"));
        assert_null(cJSON_GetObjectItem(trace, "hipboard_work_without_call"));
        cJSON_Delete(trace);
    }
    remove_all(dir);
}

static bool told_of_waiting; /* it is said once */

/* The stop, with what it writes to stderr. */
static cJSON *stop_and_hear(hb_profiler *prof)
{
    said_text s;
    said_begin(&s);
    cJSON *trace = capture_stop(prof);
    const char *said = said_end(&s);
    fputs(said, stderr);
    told_of_waiting |= strstr(said, "waiting for GPUs: ") &&
                       strstr(said, " after each report (HIPBOARD_GPU_PATIENCE; said once)");
    return trace;
}

/* ---- work without end ---- */

static atomic_bool more_launches;
static atomic_int launches;

/* Until told, the stream is never empty. */
static void *launch_on_and_on(void *stream)
{
    while (atomic_load(&more_launches))
        if (launch_vadd(0, 1, NULL, stream) == hipSuccess) atomic_fetch_add(&launches, 1);
    return NULL;
}

static void a_stop_amid_launches_returns_with_what_was_done(void **state)
{
    enum { ENOUGH = 200 };
    pthread_t thread;
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.spool_dir = "";
    hb_profiler *prof = hb_profiler_create(&o);
    assert_int_equal(hb_profiler_start(prof), HB_OK);
    atomic_store(&all_may_end, true);
    atomic_store(&more_launches, true);
    assert_int_equal(pthread_create(&thread, NULL, launch_on_and_on, *state), 0);
    while (atomic_load(&launches) < ENOUGH)
        usleep(1000);
    cJSON *trace = stop_and_hear(prof);
    int before = atomic_load(&launches);
    while (atomic_load(&launches) == before) /* it still launches */
        usleep(1000);
    atomic_store(&more_launches, false);
    pthread_join(thread, NULL);
    HIP_OK(hipStreamSynchronize(*state));
    atomic_store(&all_may_end, false);
    int calls = count_events(trace, "Runtime", "hipModuleLaunchKernel");
    int kernels = count_events(trace, "kernel", "vadd");
    assert_in_range(calls, ENOUGH, before + 1); /* the last one may not be counted yet */
    assert_in_range(kernels, 1, calls);
    cJSON_Delete(trace);
}

/* ---- no file call ---- */

enum { STEPS = 20, FREE_STEPS = 5 }; /* in the first ones threads are started, which inherit it */

static sem_t launched, stepped;

/* When glibc first gives a thread's memory back it reads /proc/sys/vm/overcommit_memory, once: as
 * soon as the end of an arena is free, over a threshold that rises when large blocks are freed,
 * unless it is set. So many parts, since the first ones come from what is free before that end. */
static void *give_memory_back(void *unused)
{
    enum { PARTS = 300 };
    void *parts[PARTS];
    (void)mallopt(M_TRIM_THRESHOLD, 128 * 1024);
    for (int i = 0; i < PARTS; i++)
        parts[i] = malloc(100000);
    for (int i = PARTS - 1; i >= 0; i--)
        free(parts[i]);
    return unused;
}

/* It launches nothing itself: what the runtime does is not hipboard's. */
static void *step_trapped(void *prof)
{
    for (int i = 0; i < STEPS; i++) {
        if (i == FREE_STEPS && !trap_calls_of_files()) atomic_store(&first_call, -2);
        sem_wait(&launched);
        if (hb_profiler_step(prof) != HB_OK) atomic_store(&first_call, -3);
        sem_post(&stepped);
    }
    return NULL;
}

static void a_step_makes_no_file_call(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* they make some themselves */
#endif
    pthread_t thread;
    char dir[] = "/tmp/hipboard-late-XXXXXX";
    assert_non_null(mkdtemp(dir));
    sem_init(&launched, 0, 0);
    sem_init(&stepped, 0, 0);
    assert_int_equal(pthread_create(&thread, NULL, give_memory_back, NULL), 0);
    pthread_join(thread, NULL);
    hb_profiler *prof = start_cycles(dir);
    assert_int_equal(pthread_create(&thread, NULL, step_trapped, prof), 0);
    for (int i = 0; i < STEPS; i++) {
        sem_post(&may_end);
        HIP_OK(launch_vadd(0, 1, NULL, NULL));
        HIP_OK(hipDeviceSynchronize());
        sem_post(&launched);
        sem_wait(&stepped);
    }
    pthread_join(thread, NULL);
    if (atomic_load(&first_call) == -2) skip(); /* no seccomp here */
    assert_int_equal(atomic_load(&first_call), 0);
    assert_int_equal(hb_profiler_stop(prof), HB_OK);
    hb_profiler_destroy(prof);
    for (int i = 0; i < STEPS; i++) {
        cJSON *trace = nth_trace(dir, i);
        assert_int_equal(count_events(trace, "kernel", "vadd"), 1);
        cJSON_Delete(trace);
    }
    remove_all(dir);
}

/* ---- what is waited for ---- */

/* Of the two the first is timed. */
static void stop_does_not_wait_for_what_was_not_asked_about(void **state)
{
    (void)state;
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    if (!is_hooked()) skip();
    o.kernel_sampling = 2;
    o.spool_dir = "";
    hb_profiler *prof = hb_profiler_create(&o);
    assert_int_equal(hb_profiler_start(prof), HB_OK);
    sem_post(&may_end);
    HIP_OK(launch_vadd(0, 1, NULL, NULL));
    HIP_OK(hipDeviceSynchronize());
    HIP_OK(launch_vadd(0, 1, NULL, NULL));
    cJSON *trace = stop_and_hear(prof);
    sem_post(&may_end);
    HIP_OK(hipDeviceSynchronize());
    assert_int_equal(count_events(trace, "kernel", "vadd"), 1);
    assert_int_equal(count_events(trace, "Runtime", "hipModuleLaunchKernel"), 2);
    cJSON_Delete(trace);
}

/* The kernel ends only when the program goes on. Who waits for long is told for what. */
static void stop_does_not_wait_for_ever_and_says_what_is_missing(void **state)
{
    (void)state;
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.spool_dir = "";
    setenv("HIPBOARD_GPU_PATIENCE", "3", 1);
    hb_profiler *prof = hb_profiler_create(&o);
    assert_int_equal(hb_profiler_start(prof), HB_OK);
    HIP_OK(launch_vadd(0, 1, NULL, NULL));
    cJSON *trace = stop_and_hear(prof);
    sem_post(&may_end);
    HIP_OK(hipDeviceSynchronize());
    assert_int_equal(count_events(trace, "kernel", "vadd"), 0);
    assert_int_equal(count_events(trace, "Runtime", "hipModuleLaunchKernel"), 1);
    char *text = cJSON_PrintUnformatted(trace);
    bool noted = strstr(text, "1 of 1 pieces of device work were not reported") != NULL;
    bool lost = strstr(text, "1 record of device work was lost") != NULL; /* by interposition */
    assert_true(told_of_waiting || lost); /* which needs no waiting */
    assert_true(noted || lost || strstr(text, "\"hipboard_work_not_reported\":1") != NULL);
    cJSON_free(text);
    cJSON_Delete(trace);
}

static int be_patient(void **state);

static sem_t other_may_end;

static void run_until_other_told(const simhsa_dispatch *d)
{
    (void)d;
    while (sem_wait(&other_may_end) != 0)
        continue;
}

/* What a session has given up on ends while the one behind it still waits, and a third one records:
 * it comes into neither. */
static void a_kernel_that_was_given_up_comes_into_no_other_session(void **state)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    char dir[] = "/tmp/hipboard-late-XXXXXX";
    float *data = NULL, factor = 2;
    int n = 256;
    void *arguments[] = {&data, &factor, &n};
    if (steps_wait()) skip();
    assert_non_null(mkdtemp(dir));
    simhsa_set_kernel("scale", run_until_other_told, SIMHSA_DEFAULT_DURATION);
    o.spool_dir = "";
    hb_profiler *prof = hb_profiler_create(&o);
    assert_int_equal(hb_profiler_start(prof), HB_OK);
    HIP_OK(launch(get_kernel(modules[0], "scale"), 256, *state, arguments));
    cJSON_Delete(stop_and_hear(prof));
    be_patient(NULL);
    prof = start_cycles(dir);
    HIP_OK(launch_vadd(0, 1, NULL, NULL));
    assert_int_equal(hb_profiler_step(prof), HB_OK);
    sem_post(&other_may_end);
    HIP_OK(hipStreamSynchronize(*state));
    usleep(200000); /* its report comes on a thread of the runtime's */
    sem_post(&may_end);
    assert_int_equal(hb_profiler_stop(prof), HB_OK);
    hb_profiler_destroy(prof);
    for (int i = 0; i < 2; i++) {
        cJSON *trace = nth_trace(dir, i);
        assert_non_null(trace);
        assert_int_equal(count_events(trace, "kernel", "scale"), 0);
        assert_int_equal(count_events(trace, "kernel", "vadd"), i == 0);
        cJSON_Delete(trace);
    }
    remove_all(dir);
}

/* The kernel waits for what the program does after its next launch on the same stream, which must
 * not wait for hipboard. */
static void the_program_goes_on_after_stop_has_given_up(void **state)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    hipStream_t streams[] = {NULL, *state};
    o.spool_dir = "";
    for (int i = 0; i < 2; i++) {
        int before = atomic_load(&num_ended);
        hb_profiler *prof = hb_profiler_create(&o);
        assert_int_equal(hb_profiler_start(prof), HB_OK);
        HIP_OK(launch_vadd(0, 1, NULL, streams[i]));
        cJSON *trace = capture_stop(prof);
        assert_int_equal(atomic_load(&num_ended), before);
        HIP_OK(launch_vadd(0, 1, NULL, streams[i]));
        sem_post(&may_end);
        sem_post(&may_end);
        HIP_OK(hipDeviceSynchronize());
        assert_int_equal(atomic_load(&num_ended), before + 2);
        assert_int_equal(count_events(trace, "kernel", "vadd"), 0);
        cJSON_Delete(trace);
    }
}

/* The first stop() still waits for the device, behind the program's back, when the second comes. */
static void stop_may_be_called_again_while_the_device_is_silent(void **state)
{
    (void)state;
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.spool_dir = "";
    cJSON *traces[DEVICES];
    for (int i = 0; i < DEVICES; i++) {
        hb_profiler *prof = hb_profiler_create(&o);
        assert_int_equal(hb_profiler_start(prof), HB_OK);
        HIP_OK(hipSetDevice(i));
        HIP_OK(launch_vadd(i, 1, NULL, NULL));
        traces[i] = capture_stop(prof);
    }
    for (int i = 0; i < DEVICES; i++)
        sem_post(&may_end);
    for (int i = 0; i < DEVICES; i++) {
        HIP_OK(hipSetDevice(i));
        HIP_OK(hipDeviceSynchronize());
        assert_int_equal(count_events(traces[i], "Runtime", "hipModuleLaunchKernel"), 1);
        cJSON_Delete(traces[i]);
    }
}

static int make_stream(void **state)
{
    hipStream_t stream;
    HIP_OK(hipSetDevice(0));
    HIP_OK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
    *state = stream;
    return 0;
}

/* For devices that are silent: then little is waited for. Elsewhere the threads of the runtime may
 * take their time. */
static int be_impatient(void **state)
{
    (void)state;
    return setenv("HIPBOARD_GPU_PATIENCE", "1", 1);
}

static int make_stream_impatiently(void **state)
{
    return be_impatient(state) || make_stream(state);
}

static int be_patient(void **state)
{
    (void)state;
    return setenv("HIPBOARD_GPU_PATIENCE", "30", 1);
}

static int destroy_stream(void **state)
{
    be_patient(state);
    return hipStreamDestroy(*state);
}

static int set_up_kernels(void **state)
{
    sem_init(&may_end, 0, 0);
    sem_init(&other_may_end, 0, 0);
    simhsa_set_kernel("vadd", run_until_told, SIMHSA_DEFAULT_DURATION);
    return set_up(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_returns_while_kernels_run),
        cmocka_unit_test_setup_teardown(a_stop_amid_launches_returns_with_what_was_done,
                                        make_stream, destroy_stream),
        cmocka_unit_test(a_step_makes_no_file_call),
        cmocka_unit_test(stop_does_not_wait_for_what_was_not_asked_about),
        cmocka_unit_test_setup_teardown(stop_does_not_wait_for_ever_and_says_what_is_missing,
                                        be_impatient, be_patient),
        cmocka_unit_test_setup_teardown(a_kernel_that_was_given_up_comes_into_no_other_session,
                                        make_stream_impatiently, destroy_stream),
        cmocka_unit_test_setup_teardown(the_program_goes_on_after_stop_has_given_up,
                                        make_stream_impatiently, destroy_stream),
        cmocka_unit_test_setup_teardown(stop_may_be_called_again_while_the_device_is_silent,
                                        be_impatient, be_patient),
    };
    setenv("SIMHSA_GPUS", "2", 1);
    capture_prepare();
    return cmocka_run_group_tests(tests, set_up_kernels, NULL);
}
