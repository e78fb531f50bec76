/* SPDX-License-Identifier: MIT
 *
 * Operators that a program captures into a HIP graph: their work is that of the graph's runs.
 */
#include "simhsa.h"
#include "vadds.h"

#include <pthread.h>
#include <semaphore.h>

enum { RUNS = 4 };

static float *data;
static hipStream_t stream;
static bool as_hipcc = true; /* how kernels are launched */

static hb_profiler *start(void)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.with_flops = true;
    o.spool_dir = "";
    hb_profiler *prof = hb_profiler_create(&o);
    assert_non_null(prof);
    assert_int_equal(hb_profiler_start(prof), HB_OK);
    return prof;
}

static void product(const char *name, double flops, int kernels)
{
    hb_op_info info = {.flops = flops};
    hb_scope scope = hb_op(name, &info);
    for (int i = 0; i < kernels; i++)
        HIP_OK(as_hipcc ? launch_as_hipcc(1, data, stream) : launch_vadd(0, 1, data, stream));
    hb_scope_end(&scope);
}

static hipGraph_t end_capture(void)
{
    hipGraph_t graph;
    HIP_OK(hipStreamEndCapture(stream, &graph));
    return graph;
}

/* Three products, one of which launches two kernels, and is called by an operator around it. */
static hipGraph_t capture(void)
{
    HIP_OK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    product("small", 100, 1);
    hb_op_info outer = {.flops = 4000};
    HB_RECORD_FUNCTION("layer") {
        hb_scope scope = hb_op("large", &outer);
        product("inner", 0, 2);
        hb_scope_end(&scope);
    }
    product("small", 100, 1);
    return end_capture();
}

static hipGraphExec_t instantiate(hipGraph_t graph)
{
    hipGraphExec_t exec;
    HIP_OK(hipGraphInstantiate(&exec, graph, NULL, NULL, 0));
    return exec;
}

static void run(hipGraphExec_t exec, int times)
{
    for (int i = 0; i < times; i++)
        HIP_OK(hipGraphLaunch(exec, stream));
    HIP_OK(hipStreamSynchronize(stream));
}

static void destroy(hipGraph_t graph, hipGraphExec_t exec)
{
    HIP_OK(hipGraphExecDestroy(exec));
    HIP_OK(hipGraphDestroy(graph));
}

static double sum_of_flops(const cJSON *trace)
{
    double sum = 0;
    const cJSON *e;
    cJSON_ArrayForEach(e, events_of(trace))
    {
        double flops = arg(e, "flops");
        if (is_event(e, "cpu_op", NULL) && flops > 0) sum += flops;
    }
    return sum;
}

static int kernels_of(const cJSON *trace, const char *operator)
{
    int n = 0;
    const cJSON *e;
    cJSON_ArrayForEach(e, events_of(trace)) n +=
        is_event(e, "kernel", NULL) &&
        strcmp(text_of(args_of(e), "captured operator"), operator) == 0;
    return n;
}

static bool tells_kernels(const cJSON *trace)
{
    return strcmp(text_of(trace, "hipboard_hip_backend"), "interposition") != 0;
}

static void flops_are_those_of_the_runs(void **state)
{
    (void)state;
    hb_profiler *prof = start();
    hipGraph_t graph = capture();
    hipGraphExec_t exec = instantiate(graph);
    run(exec, RUNS);
    cJSON *trace = capture_stop(prof);
    assert_true(sum_of_flops(trace) == RUNS * 4200);
    assert_int_equal(count_events(trace, "cpu_op", "hipGraphLaunch"), RUNS);
    for (int i = 0; i < RUNS; i++) {
        const cJSON *launch = nth_event(trace, "cpu_op", "hipGraphLaunch", i);
        assert_true(arg(launch, "flops") == 4200);
        assert_string_equal(text_of(args_of(launch), "operators"), "small x2, large");
    }
    const cJSON *large = nth_event(trace, "cpu_op", "large", 0);
    assert_string_equal(text_of(args_of(large), "graph"), "captured");
    assert_true(arg(large, "flops") < 0);
    if (tells_kernels(trace)) {
        assert_int_equal(kernels_of(trace, "small"), 2 * RUNS);
        assert_int_equal(kernels_of(trace, "large"), 2 * RUNS);
    }
    assert_null(cJSON_GetObjectItem(trace, "hipboard_graph_notes"));
    assert_null(cJSON_GetObjectItem(trace, "hipboard_hip_notes"));
    cJSON_Delete(trace);
    destroy(graph, exec);
}

static void operators_beside_a_capture_keep_their_flops(void **state)
{
    (void)state;
    hb_profiler *prof = start();
    product("before", 10, 1);
    hipGraph_t graph = capture();
    product("after", 10, 1);
    HIP_OK(hipStreamSynchronize(stream));
    cJSON *trace = capture_stop(prof);
    assert_true(sum_of_flops(trace) == 20); /* the graph was never run */
    cJSON_Delete(trace);
    HIP_OK(hipGraphDestroy(graph));
}

/* As llama.cpp does for each token. */
static void an_updated_graph_does_what_the_other_does(void **state)
{
    (void)state;
    hipGraph_t other;
    hipGraphNode_t node;
    hipGraphExecUpdateResult result;
    hb_profiler *prof = start();
    hipGraph_t graph = capture();
    hipGraphExec_t exec = instantiate(graph);
    run(exec, 1);
    HIP_OK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    for (int i = 0; i < 4; i++)
        product("other", 7, 1);
    HIP_OK(hipStreamEndCapture(stream, &other));
    bool updated = hipGraphExecUpdate(exec, other, &node, &result) == hipSuccess;
    run(exec, 1);
    cJSON *trace = capture_stop(prof);
    assert_true(sum_of_flops(trace) == 4200 + (updated ? 28 : 4200));
    cJSON_Delete(trace);
    HIP_OK(hipGraphDestroy(other));
    destroy(graph, exec);
}

static void what_was_captured_before_is_not_known_and_said(void **state)
{
    (void)state;
    hipGraph_t graph = capture();
    hipGraphExec_t exec = instantiate(graph);
    hb_profiler *prof = start();
    run(exec, 2);
    cJSON *trace = capture_stop(prof);
    assert_true(sum_of_flops(trace) == 0);
    assert_true(metadata_says(trace, "hipboard_graph_notes", "2 runs of graphs that were not"));
    cJSON_Delete(trace);
    destroy(graph, exec);
}

/* HIP 5.2 captures no hipModuleLaunchKernel: what it launches has run when a graph is to be made of
 * it, and belongs to its operators. */
static void what_a_release_does_not_capture_has_run(void **state)
{
    (void)state;
    as_hipcc = false;
    hb_profiler *prof = start();
    hipGraph_t graph = capture();
    as_hipcc = true;
    HIP_OK(hipStreamSynchronize(stream));
    cJSON *trace = capture_stop(prof);
    int ran = count_events(trace, "kernel", "vadd");
    assert_true(ran == 0 || ran == 4);
    assert_true(sum_of_flops(trace) == (ran ? 4200 : 0));
    assert_int_equal(kernels_of(trace, "small"), 0);
    assert_null(cJSON_GetObjectItem(trace, "hipboard_hip_notes"));
    cJSON_Delete(trace);
    HIP_OK(hipGraphDestroy(graph));
}

/* ---- captures and sessions that do not begin and end together ---- */

/* Kernels that are still running when their session ends, and when it is no longer waited for. */
enum { LONG_NS = 50000000, VERY_LONG_NS = 700000000 };

static hipStream_t other; /* that is not captured */

/* HIP 5.3 to 6.0 tells nothing about any stream meanwhile. */
static bool tells_of_streams_amid_captures(void)
{
    int version;
    HIP_OK(hipRuntimeGetVersion(&version));
    return version < 50300000 || version >= 60100000;
}

/* At the end hipboard's own threads ask the runtime about the other stream; that must not be to it
 * what a program does that a capture forbids. */
static void a_capture_survives_a_session_that_waits(void **state)
{
    (void)state;
    bool told = tells_of_streams_amid_captures();
    setenv("HIPBOARD_GPU_PATIENCE", told ? "30" : "1", 1);
    HIP_OK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    hb_profiler *prof = start();
    HIP_OK(launch_as_hipcc(1, data, other));
    usleep(20000); /* HIP 6 reports it on a thread of its own */
    simhsa_set_kernel("vadd", NULL, LONG_NS);
    HIP_OK(launch_as_hipcc(1, data, other));
    cJSON *trace = capture_stop(prof);
    HIP_OK(launch_as_hipcc(1, data, stream));
    HIP_OK(hipGraphDestroy(end_capture()));
    unsetenv("HIPBOARD_GPU_PATIENCE");
    simhsa_set_kernel("vadd", NULL, SIMHSA_DEFAULT_DURATION);
    if (told || !tells_kernels(trace)) assert_int_equal(count_events(trace, "kernel", "vadd"), 2);
    assert_null(cJSON_GetObjectItem(trace, "hipboard_hip_notes"));
    cJSON_Delete(trace);
}

/* Meanwhile the clocks are compared anew, which takes work on a stream of hipboard's own. */
static void times_are_read_amid_a_capture_that_lasts(void **state)
{
    enum { LONGER_THAN_A_COMPARISON_HOLDS_US = 250000, LAUNCHES = 2 };
    (void)state;
    HIP_OK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    hb_profiler *prof = start();
    for (int i = 0; i < LAUNCHES; i++) {
        usleep(LONGER_THAN_A_COMPARISON_HOLDS_US);
        HIP_OK(launch_as_hipcc(1, data, other));
    }
    usleep(LONGER_THAN_A_COMPARISON_HOLDS_US);
    HIP_OK(launch_as_hipcc(1, data, stream));
    HIP_OK(hipGraphDestroy(end_capture()));
    cJSON *trace = capture_stop(prof);
    assert_int_equal(count_events(trace, "kernel", "vadd"), LAUNCHES);
    assert_null(cJSON_GetObjectItem(trace, "hipboard_hip_notes"));
    cJSON_Delete(trace);
}

/* Its end is not heard. */
static void a_capture_that_a_session_ends_in_costs_the_next_nothing(void **state)
{
    (void)state;
    hb_profiler *prof = start();
    HIP_OK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    HIP_OK(launch_as_hipcc(1, data, stream));
    cJSON_Delete(capture_stop(prof));
    HIP_OK(hipGraphDestroy(end_capture()));
    prof = start();
    HIP_OK(launch_as_hipcc(1, data, stream));
    HIP_OK(hipStreamSynchronize(stream));
    cJSON *trace = capture_stop(prof);
    assert_int_equal(count_events(trace, "kernel", "vadd"), 1);
    assert_null(cJSON_GetObjectItem(trace, "hipboard_hip_notes"));
    cJSON_Delete(trace);
}

static sem_t captures, may_end, launched, may_go_on;

static void reset_turns(void)
{
    sem_t *const turns[] = {&captures, &may_end, &launched, &may_go_on};
    for (size_t i = 0; i < sizeof turns / sizeof *turns; i++)
        sem_init(turns[i], 0, 0);
}

static void *capture_on_a_thread(void *unused)
{
    hipGraph_t graph;
    HIP_OK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    sem_post(&captures);
    sem_wait(&may_end);
    HIP_OK(hipStreamEndCapture(stream, &graph));
    HIP_OK(hipGraphDestroy(graph));
    return unused;
}

/* The thread that captures is gone in the second session: nothing is heard of it any more. */
static void a_capture_counts_in_its_own_session_only(void **state)
{
    (void)state;
    pthread_t thread;
    reset_turns();
    hb_profiler *prof = start();
    assert_int_equal(pthread_create(&thread, NULL, capture_on_a_thread, NULL), 0);
    sem_wait(&captures);
    cJSON_Delete(capture_stop(prof));
    sem_post(&may_end);
    pthread_join(thread, NULL);
    simhsa_set_kernel("vadd", NULL, VERY_LONG_NS);
    prof = start();
    HIP_OK(launch_as_hipcc(1, data, other));
    cJSON *trace = capture_stop(prof);
    simhsa_set_kernel("vadd", NULL, SIMHSA_DEFAULT_DURATION);
    assert_null(cJSON_GetObjectItem(trace, "hipboard_hip_notes"));
    assert_int_equal(count_events(trace, "kernel", "vadd"), 1);
    cJSON_Delete(trace);
}

/* What is captured of it in the session does not run, and no report of it is to come. */
static void a_capture_that_a_session_begins_in_is_one(void **state)
{
    (void)state;
    HIP_OK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    product("before", 10, 2);
    hb_profiler *prof = start();
    product("small", 100, 1);
    product("large", 4000, 2);
    hipGraph_t graph = end_capture();
    product("after", 10, 1);
    HIP_OK(hipStreamSynchronize(stream));
    cJSON *trace = capture_stop(prof);
    assert_null(cJSON_GetObjectItem(trace, "hipboard_hip_notes"));
    assert_null(cJSON_GetObjectItem(trace, "hipboard_work_not_reported"));
    assert_int_equal(count_events(trace, "kernel", "vadd"), 1);
    assert_true(sum_of_flops(trace) == 10);
    cJSON_Delete(trace);
    HIP_OK(hipGraphDestroy(graph));
}

/* Of which a part is recorded. */
static void runs_of_such_a_graph_are_not_known_and_said(void **state)
{
    (void)state;
    HIP_OK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    product("before", 10, 2);
    hb_profiler *prof = start();
    product("small", 100, 1);
    hipGraph_t partly = end_capture();
    hipGraph_t whole = capture();
    hipGraphExec_t execs[] = {instantiate(partly), instantiate(whole)};
    for (int i = 0; i < 2; i++)
        run(execs[i], 1);
    cJSON *trace = capture_stop(prof);
    assert_true(sum_of_flops(trace) == 4200);
    assert_true(metadata_says(trace, "hipboard_graph_notes", "1 run of graphs that were not"));
    assert_null(cJSON_GetObjectItem(trace, "hipboard_hip_notes"));
    cJSON_Delete(trace);
    destroy(partly, execs[0]);
    destroy(whole, execs[1]);
}

/* Into which the thread has launched; then it does so again, outside of it, and ends. */
static void end_capture_of(pthread_t thread)
{
    sem_wait(&captures);
    HIP_OK(hipGraphDestroy(end_capture()));
    sem_post(&may_end);
    pthread_join(thread, NULL);
    HIP_OK(hipStreamSynchronize(stream));
}

static void *launch_amid_and_after_a_capture(void *unused)
{
    product("amid", 100, 1);
    sem_post(&captures);
    sem_wait(&may_end);
    product("after", 10, 1);
    return unused;
}

/* As backward passes of PyTorch do. */
static void another_thread_may_launch_into_it(void **state)
{
    (void)state;
    pthread_t thread;
    reset_turns();
    HIP_OK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    hb_profiler *prof = start();
    assert_int_equal(pthread_create(&thread, NULL, launch_amid_and_after_a_capture, NULL), 0);
    end_capture_of(thread);
    cJSON *trace = capture_stop(prof);
    assert_null(cJSON_GetObjectItem(trace, "hipboard_hip_notes"));
    assert_int_equal(count_events(trace, "kernel", "vadd"), 1);
    assert_true(sum_of_flops(trace) == 10);
    cJSON_Delete(trace);
}

static void *launch_before_amid_and_after_a_capture(void *unused)
{
    product("before", 10, 1);
    sem_post(&launched);
    sem_wait(&may_go_on);
    return launch_amid_and_after_a_capture(unused);
}

/* As they do whose warm-up was on the stream that is then captured. */
static void another_thread_that_knows_the_stream_may_launch_into_it(void **state)
{
    (void)state;
    pthread_t thread;
    reset_turns();
    hb_profiler *prof = start();
    assert_int_equal(pthread_create(&thread, NULL, launch_before_amid_and_after_a_capture, NULL),
                     0);
    sem_wait(&launched);
    HIP_OK(hipStreamSynchronize(stream));
    HIP_OK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    sem_post(&may_go_on);
    end_capture_of(thread);
    cJSON *trace = capture_stop(prof);
    assert_null(cJSON_GetObjectItem(trace, "hipboard_hip_notes"));
    assert_int_equal(count_events(trace, "kernel", "vadd"), 2);
    assert_true(sum_of_flops(trace) == 20);
    cJSON_Delete(trace);
}

/* That thread does nothing more, and is not waited for. */
static void the_end_waits_for_work_behind_it(void **state)
{
    (void)state;
    pthread_t thread;
    reset_turns();
    HIP_OK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    hb_profiler *prof = start();
    assert_int_equal(pthread_create(&thread, NULL, launch_amid_and_after_a_capture, NULL), 0);
    sem_wait(&captures);
    HIP_OK(hipGraphDestroy(end_capture()));
    simhsa_set_kernel("vadd", NULL, VERY_LONG_NS);
    HIP_OK(launch_as_hipcc(1, data, other));
    cJSON *trace = capture_stop(prof);
    simhsa_set_kernel("vadd", NULL, SIMHSA_DEFAULT_DURATION);
    sem_post(&may_end);
    pthread_join(thread, NULL);
    HIP_OK(hipDeviceSynchronize());
    assert_null(cJSON_GetObjectItem(trace, "hipboard_hip_notes"));
    assert_int_equal(count_events(trace, "kernel", "vadd"), 1);
    cJSON_Delete(trace);
}

static void *end_no_capture(void *unused)
{
    hipGraph_t graph;
    bool failed = hipStreamEndCapture(other, &graph) != hipSuccess;
    (void)hipGetLastError();
    return failed ? unused : NULL;
}

/* By interposition an event of the captured stream must not be asked for meanwhile. */
static void an_end_that_is_no_captures_breaks_none(void **state)
{
    (void)state;
    pthread_t thread;
    void *failed;
    simhsa_set_kernel("vadd", NULL, LONG_NS);
    hb_profiler *prof = start();
    HIP_OK(launch_as_hipcc(1, data, stream));
    HIP_OK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    assert_int_equal(pthread_create(&thread, NULL, end_no_capture, data), 0);
    pthread_join(thread, &failed);
    assert_non_null(failed);
    usleep(20000); /* while its kernel runs */
    HIP_OK(launch_as_hipcc(1, data, stream));
    HIP_OK(hipGraphDestroy(end_capture()));
    simhsa_set_kernel("vadd", NULL, SIMHSA_DEFAULT_DURATION);
    cJSON *trace = capture_stop(prof);
    assert_int_equal(count_events(trace, "kernel", "vadd"), 1);
    cJSON_Delete(trace);
}

static int prepare(void **state)
{
    register_vadd();
    set_up(state);
    HIP_OK(hipStreamCreate(&stream));
    HIP_OK(hipStreamCreateWithFlags(&other, hipStreamNonBlocking));
    HIP_OK(hipMalloc((void **)&data, 4096));
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flops_are_those_of_the_runs),
        cmocka_unit_test(operators_beside_a_capture_keep_their_flops),
        cmocka_unit_test(an_updated_graph_does_what_the_other_does),
        cmocka_unit_test(what_was_captured_before_is_not_known_and_said),
        cmocka_unit_test(what_a_release_does_not_capture_has_run),
        cmocka_unit_test(a_capture_survives_a_session_that_waits),
        cmocka_unit_test(times_are_read_amid_a_capture_that_lasts),
        cmocka_unit_test(a_capture_that_a_session_ends_in_costs_the_next_nothing),
        cmocka_unit_test(a_capture_counts_in_its_own_session_only),
        cmocka_unit_test(a_capture_that_a_session_begins_in_is_one),
        cmocka_unit_test(runs_of_such_a_graph_are_not_known_and_said),
        cmocka_unit_test(another_thread_may_launch_into_it),
        cmocka_unit_test(another_thread_that_knows_the_stream_may_launch_into_it),
        cmocka_unit_test(the_end_waits_for_work_behind_it),
        cmocka_unit_test(an_end_that_is_no_captures_breaks_none),
    };
    setenv("SIMHSA_GPUS", "2", 1);
    capture_prepare();
    return cmocka_run_group_tests(tests, prepare, NULL);
}
