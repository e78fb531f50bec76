/* SPDX-License-Identifier: MIT
 *
 * HIP capture: what a program does with AMD's real HIP runtime, on the simulated GPU, is found in
 * its trace.
 */
#include "simhsa.h"
#include "vadds.h"

#include <dlfcn.h>
#include <pthread.h>

enum { THREADS = 4, LAUNCHES = 50 };

/* ---- several threads, devices and streams ---- */

static void *launch_many(void *arg)
{
    int device = (int)(intptr_t)arg % DEVICES;
    hipStream_t stream;
    float *data;
    HIP_OK(hipSetDevice(device));
    HIP_OK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
    HIP_OK(hipMalloc((void **)&data, 256 * sizeof *data));
    HB_RECORD_FUNCTION("train") {
        for (int i = 0; i < LAUNCHES; i++)
            HB_OP("aten::add")
                HIP_OK(launch_vadd(device, 1, data, stream));
    }
    HIP_OK(hipStreamSynchronize(stream));
    HIP_OK(hipFree(data));
    HIP_OK(hipStreamDestroy(stream));
    return NULL;
}

/* The operator with this External id on that thread. */
static bool runs_inside(const cJSON *trace, const cJSON *call, double id)
{
    const cJSON *op;
    cJSON_ArrayForEach(op, events_of(trace))
    {
        if (!is_event(op, "cpu_op", "aten::add") || arg(op, "External id") != id) continue;
        double start = number_of(op, "ts"), end = start + number_of(op, "dur");
        return number_of(op, "tid") == number_of(call, "tid") && start <= number_of(call, "ts") &&
               number_of(call, "ts") <= end;
    }
    return false;
}

static void every_kernel_has_its_launch_device_and_operator(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    int on_device[DEVICES] = {0};
    hb_profiler *prof = capture_start(HB_ACTIVITY_CPU | HB_ACTIVITY_HIP);
    for (intptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, launch_many, (void *)i), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    cJSON *trace = capture_stop(prof);
    double uncertainty = number_of(trace, "hipboard_device_clock_uncertainty_ns") / 1e3;
    assert_true(uncertainty > 0 && uncertainty < 1e6);
    const cJSON *kernel;
    cJSON_ArrayForEach(kernel, events_of(trace))
    {
        if (!is_event(kernel, "kernel", "vadd")) continue;
        const cJSON *call = call_of(trace, kernel);
        assert_non_null(call);
        assert_string_equal(text_of(call, "name"), "hipModuleLaunchKernel");
        assert_true(arg(kernel, "External id") == arg(call, "External id"));
        assert_true(runs_inside(trace, call, arg(call, "External id")));
        assert_true(number_of(kernel, "ts") >= number_of(call, "ts") - uncertainty - 0.001);
        assert_true(number_of(kernel, "pid") == arg(kernel, "device"));
        assert_true(number_of(kernel, "tid") == arg(kernel, "stream"));
        assert_in_range((int)arg(kernel, "device"), 0, DEVICES - 1);
        assert_in_range((int)arg(kernel, "stream"), 1, THREADS / DEVICES);
        on_device[(int)arg(kernel, "device")]++;
    }
    for (int i = 0; i < DEVICES; i++)
        assert_int_equal(on_device[i], THREADS / DEVICES * LAUNCHES);
    assert_null(cJSON_GetObjectItem(trace, "hipboard_hip_notes"));
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(trace, "deviceProperties")), DEVICES);
    cJSON_Delete(trace);
}

/* ---- kernels ---- */

static void kernels_show_what_they_take(void **state)
{
    (void)state;
    hipFunction_t reverse = get_kernel(modules[0], "reverse");
    int *data;
    void *arguments[] = {&data};
    HIP_OK(hipMalloc((void **)&data, 4096));
    hb_profiler *prof = capture_start(0);
    HIP_OK(hipModuleLaunchKernel(reverse, 220, 1, 1, 256, 1, 1, 1024, NULL, arguments, NULL));
    cJSON *trace = capture_stop(prof);
    const cJSON *kernel = nth_event(trace, "kernel", "reverse", 0);
    assert_non_null(kernel);
    assert_true(arg(kernel, "stream") == 0); /* the null stream */
    /* As llvm-readelf --notes shows them in kernels_gfx90a.co; nothing else tells the SGPRs. */
    assert_true(arg(kernel, "registers per thread") == 3);
    assert_true(arg(kernel, "sgprs per wave") == 9);
    assert_true(arg(kernel, "agprs per thread") == 0);
    assert_true(arg(kernel, "shared memory") == 4096 + 1024);
    assert_true(arg(kernel, "blocks per SM") == 2); /* of 110 CUs */
    assert_true(arg(kernel, "warps per SM") == 8);
    assert_true(arg(kernel, "est. achieved occupancy %") == 25);
    assert_true(metadata_says(trace, "deviceProperties", "simulated"));
    assert_versions(trace);
    assert_true(strlen(text_of(trace, "hipboard_hip_backend")) > 0);
    cJSON_Delete(trace);
    HIP_OK(hipFree(data));
}

/* By HIP events: a graph is one piece of work. */
static bool is_timed_by_events(const cJSON *trace)
{
    return strcmp(text_of(trace, "hipboard_hip_backend"), "interposition") == 0;
}

static void check_kernels_of_graph(const cJSON *trace)
{
    const cJSON *replay = nth_event(trace, "cpu_op", "replay", 0);
    assert_int_equal(count_events(trace, "kernel", "vadd"), 2);
    for (int i = 0; i < 2; i++) {
        const cJSON *kernel = nth_event(trace, "kernel", "vadd", i);
        assert_string_equal(text_of(call_of(trace, kernel), "name"), "hipGraphLaunch");
        assert_true(arg(kernel, "External id") == arg(replay, "External id"));
        const cJSON *grid = cJSON_GetObjectItem(args_of(kernel), "grid");
        assert_int_equal(cJSON_GetNumberValue(cJSON_GetArrayItem(grid, 0)), i + 1);
    }
}

static void check_whole_graph(const cJSON *trace)
{
    const cJSON *graph = nth_event(trace, "kernel", "(graph)", 0);
    assert_non_null(graph);
    assert_int_equal(count_events(trace, "kernel", NULL), 1);
    assert_string_equal(text_of(call_of(trace, graph), "name"), "hipGraphLaunch");
}

static void graphs_give_their_kernels_to_the_launch(void **state)
{
    (void)state;
    hipStream_t stream;
    hipGraph_t graph;
    hipGraphExec_t exec;
    float *data;
    HIP_OK(hipStreamCreate(&stream));
    HIP_OK(hipMalloc((void **)&data, 4096));
    hb_profiler *prof = capture_start(0);
    HIP_OK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    HIP_OK(launch_as_hipcc(1, data, stream));
    HIP_OK(launch_as_hipcc(2, data, stream));
    HIP_OK(hipStreamEndCapture(stream, &graph));
    HIP_OK(hipGraphInstantiate(&exec, graph, NULL, NULL, 0));
    HB_RECORD_FUNCTION("replay")
        HIP_OK(hipGraphLaunch(exec, stream));
    HIP_OK(hipStreamSynchronize(stream));
    cJSON *trace = capture_stop(prof);
    if (is_timed_by_events(trace))
        check_whole_graph(trace);
    else
        check_kernels_of_graph(trace);
    cJSON_Delete(trace);
    HIP_OK(hipGraphExecDestroy(exec));
    HIP_OK(hipGraphDestroy(graph));
    HIP_OK(hipFree(data));
    HIP_OK(hipStreamDestroy(stream));
}

static int works_of(const cJSON *trace)
{
    return count_events(trace, "kernel", NULL) + count_events(trace, "gpu_memcpy", NULL);
}

/* HIP 7.2 reports of a graph's kernels before and behind a copy one only. */
static void all_are_there_or_counted(const cJSON *trace, int made)
{
    char said[64];
    int works = works_of(trace);
    snprintf(said, sizeof said, "%d of %d pieces of device work were not reported", made - works,
             made);
    if (works != made && !metadata_says(trace, "hipboard_hip_notes", said))
        fail_msg("%d of %d, and nothing is said", works, made);
    assert_false(works == made && cJSON_GetObjectItem(trace, "hipboard_hip_notes"));
}

/* Of a graph of which it is not known how much it does, the runs tell of each other. */
static void what_runs_lack_is_said(const cJSON *trace, int runs)
{
    int most = 0, all = works_of(trace);
    char said[64];
    for (int i = 0; i < runs; i++) {
        const cJSON *launch = nth_event(trace, "cuda_runtime", "hipGraphLaunch", i), *e;
        int works = 0;
        cJSON_ArrayForEach(e, events_of(trace)) works +=
            (is_event(e, "kernel", NULL) || is_event(e, "gpu_memcpy", NULL)) &&
            call_of(trace, e) == launch;
        if (works > most) most = works;
    }
    assert_int_equal(metadata_says(trace, "hipboard_graph_notes", "not reported"),
                     all < most * runs);
    snprintf(said, sizeof said, "%d piece", most * runs - all);
    if (all < most * runs && !metadata_says(trace, "hipboard_graph_notes", said))
        fail_msg("%d of %d, and not that many are said", all, most * runs);
}

/* What graphs do is reported for each run, copies beside kernels, or said to be missing. Of one
 * that was made before the recording only HIP 5.2 says beforehand how much that is; what others
 * report late of it nobody waits for. */
static void all_runs_of_a_graph_are_there(void **state)
{
    (void)state;
    enum { RUNS = 3 };
    hipStream_t stream;
    hipGraph_t graph;
    hipGraphExec_t exec;
    float *data, host[16];
    HIP_OK(hipStreamCreate(&stream));
    HIP_OK(hipMalloc((void **)&data, 4096));
    hb_profiler *prof = capture_start(0);
    HIP_OK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    HIP_OK(launch_as_hipcc(1, data, stream));
    HIP_OK(hipMemcpyAsync(host, data, sizeof host, hipMemcpyDeviceToHost, stream));
    HIP_OK(launch_as_hipcc(1, data, stream));
    HIP_OK(hipStreamEndCapture(stream, &graph));
    HIP_OK(hipGraphInstantiate(&exec, graph, NULL, NULL, 0));
    for (int i = 0; i < RUNS; i++)
        HIP_OK(hipGraphLaunch(exec, stream));
    HIP_OK(hipStreamSynchronize(stream));
    cJSON *trace = capture_stop(prof);
    int most = is_timed_by_events(trace) ? RUNS : 3 * RUNS;
    all_are_there_or_counted(trace, most);
    cJSON_Delete(trace);
    prof = capture_start(0);
    for (int i = 0; i < RUNS; i++)
        HIP_OK(hipGraphLaunch(exec, stream));
    HIP_OK(hipStreamSynchronize(stream));
    trace = capture_stop(prof);
    bool told = strcmp(text_of(trace, "hipboard_hip_backend"), "activity-hooks") == 0;
    assert_true(told ? works_of(trace) == most : works_of(trace) <= most);
    what_runs_lack_is_said(trace, RUNS);
    assert_false(metadata_says(trace, "hipboard_hip_notes", "graph"));
    cJSON_Delete(trace);
    HIP_OK(hipGraphExecDestroy(exec));
    HIP_OK(hipGraphDestroy(graph));
    HIP_OK(hipFree(data));
    HIP_OK(hipStreamDestroy(stream));
}

static void graphs_that_run_once_are_there(void **state)
{
    (void)state;
    enum { GRAPHS = 3 };
    hipStream_t stream;
    hipGraph_t graphs[GRAPHS];
    hipGraphExec_t execs[GRAPHS];
    HIP_OK(hipStreamCreate(&stream));
    hb_profiler *prof = capture_start(0);
    for (int i = 0; i < GRAPHS; i++) {
        HIP_OK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
        HIP_OK(launch_as_hipcc(1, NULL, stream));
        HIP_OK(hipStreamEndCapture(stream, &graphs[i]));
        HIP_OK(hipGraphInstantiate(&execs[i], graphs[i], NULL, NULL, 0));
        HIP_OK(hipGraphLaunch(execs[i], stream));
    }
    HIP_OK(hipStreamSynchronize(stream));
    cJSON *trace = capture_stop(prof);
    const char *name = is_timed_by_events(trace) ? "(graph)" : "vadd";
    assert_int_equal(count_events(trace, "kernel", name), GRAPHS);
    assert_false(metadata_says(trace, "hipboard_hip_notes", "graph"));
    cJSON_Delete(trace);
    for (int i = 0; i < GRAPHS; i++) {
        HIP_OK(hipGraphExecDestroy(execs[i]));
        HIP_OK(hipGraphDestroy(graphs[i]));
    }
    HIP_OK(hipStreamDestroy(stream));
}

static void annotations_cover_the_work_they_launched(void **state)
{
    (void)state;
    float *data;
    HIP_OK(hipMalloc((void **)&data, 4096));
    hb_profiler *prof = capture_start(0);
    HB_RECORD_FUNCTION("layer") {
        HB_OP("aten::add")
            for (int i = 0; i < 3; i++)
                HIP_OK(launch_vadd(0, 1, data, NULL));
    }
    cJSON *trace = capture_stop(prof);
    const cJSON *range = nth_event(trace, "gpu_user_annotation", "layer", 0);
    assert_non_null(range);
    assert_int_equal(count_events(trace, "gpu_user_annotation", NULL), 1);
    double start = number_of(range, "ts"), end = start + number_of(range, "dur");
    for (int i = 0; i < 3; i++) {
        const cJSON *kernel = nth_event(trace, "kernel", "vadd", i);
        assert_true(start <= number_of(kernel, "ts"));
        assert_true(number_of(kernel, "ts") + number_of(kernel, "dur") <= end);
    }
    cJSON_Delete(trace);
    HIP_OK(hipFree(data));
}

/* ---- copies and fills ---- */

static void copies_and_fills_show_direction_and_bytes(void **state)
{
    (void)state;
    char host[4096] = "";
    char *device;
    HIP_OK(hipMalloc((void **)&device, sizeof host));
    hb_profiler *prof = capture_start(0);
    HIP_OK(hipMemcpy(device, host, sizeof host, hipMemcpyHostToDevice));
    HIP_OK(hipMemsetD32(device, 7, 100));
    HIP_OK(hipMemcpy(host, device, 400, hipMemcpyDeviceToHost));
    HIP_OK(hipMemcpy(device, device + 2048, 1000, hipMemcpyDeviceToDevice));
    cJSON *trace = capture_stop(prof);
    const cJSON *in = nth_event(trace, "gpu_memcpy", "Memcpy HtoD (Host -> Device)", 0);
    const cJSON *out = nth_event(trace, "gpu_memcpy", "Memcpy DtoH (Device -> Host)", 0);
    const cJSON *within = nth_event(trace, "gpu_memcpy", "Memcpy DtoD (Device -> Device)", 0);
    const cJSON *fill = nth_event(trace, "gpu_memset", "Memset (Device)", 0);
    assert_true(in && arg(in, "bytes") == 4096);
    assert_true(out && arg(out, "bytes") == 400);
    assert_true(within && arg(within, "bytes") == 1000);
    assert_true(fill && arg(fill, "bytes") == 400);
    assert_string_equal(text_of(call_of(trace, fill), "name"), "hipMemsetD32");
    assert_string_equal(text_of(args_of(call_of(trace, in)), "kind"), "1");
    cJSON_Delete(trace);
    HIP_OK(hipFree(device));
}

/* A kernel of the runtime does small ones from and to pinned memory. */
static void copies_of_pinned_memory_show_their_direction(void **state)
{
    (void)state;
    static const size_t sizes[] = {64, 4096, 65536};
    enum { SIZES = 3, MOST = 65536 };
    void *device, *pinned;
    hipStream_t stream;
    HIP_OK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
    HIP_OK(hipMalloc(&device, MOST));
    HIP_OK(hipHostMalloc(&pinned, MOST, 0));
    hb_profiler *prof = capture_start(0);
    for (int i = 0; i < SIZES; i++) {
        HIP_OK(hipMemcpyAsync(device, pinned, sizes[i], hipMemcpyHostToDevice, stream));
        HIP_OK(hipMemcpyAsync(pinned, device, sizes[i], hipMemcpyDeviceToHost, stream));
        HIP_OK(hipMemcpyAsync(device, pinned, sizes[i], hipMemcpyDefault, stream));
        HIP_OK(hipMemcpyAsync(pinned, device, sizes[i], hipMemcpyDefault, stream));
        HIP_OK(hipMemcpyHtoDAsync(device, pinned, sizes[i], stream));
        HIP_OK(hipMemcpyDtoHAsync(pinned, device, sizes[i], stream));
    }
    HIP_OK(hipStreamSynchronize(stream));
    cJSON *trace = capture_stop(prof);
    assert_int_equal(count_events(trace, "gpu_memcpy", "Memcpy HtoD (Host -> Device)"), 3 * SIZES);
    assert_int_equal(count_events(trace, "gpu_memcpy", "Memcpy DtoH (Device -> Host)"), 3 * SIZES);
    assert_int_equal(count_events(trace, "gpu_memcpy", NULL), 6 * SIZES);
    cJSON_Delete(trace);
    HIP_OK(hipHostFree(pinned));
    HIP_OK(hipFree(device));
    HIP_OK(hipStreamDestroy(stream));
}

static void copies_between_devices_name_both(void **state)
{
    (void)state;
    char *on_0, *on_1;
    HIP_OK(hipMalloc((void **)&on_0, 4096));
    HIP_OK(hipSetDevice(1));
    HIP_OK(hipMalloc((void **)&on_1, 4096));
    hb_profiler *prof = capture_start(0);
    HIP_OK(hipMemcpyPeer(on_1, 1, on_0, 0, 4096));
    HIP_OK(hipMemcpyPeerAsync(on_0, 0, on_1, 1, 4000, NULL));
    HIP_OK(hipMemcpy(on_1, on_0, 1000, hipMemcpyDeviceToDevice));
    HIP_OK(hipMemcpy(on_1, on_1 + 2048, 500, hipMemcpyDeviceToDevice));
    cJSON *trace = capture_stop(prof);
    static const int expected[][3] = {{4096, 0, 1}, {4000, 1, 0}, {1000, 0, 1}};
    for (int i = 0; i < 3; i++) { /* they stand in the order in which they were reported */
        const cJSON *copy;
        int n = 0;
        do
            copy = nth_event(trace, "gpu_memcpy", "Memcpy PtoP (Device -> Device)", n++);
        while (copy && (int)arg(copy, "bytes") != expected[i][0]);
        assert_non_null(copy);
        assert_int_equal((int)arg(copy, "fromDevice"), expected[i][1]);
        assert_int_equal((int)arg(copy, "toDevice"), expected[i][2]);
    }
    assert_int_equal(count_events(trace, "gpu_memcpy", "Memcpy DtoD (Device -> Device)"), 1);
    cJSON_Delete(trace);
    HIP_OK(hipFree(on_1));
    HIP_OK(hipFree(on_0));
    HIP_OK(hipSetDevice(0));
}

/* ---- memory ---- */

static void pools_and_managed_memory_add_up(void **state)
{
    (void)state;
    void *a, *b, *managed;
    hipStream_t stream;
    HIP_OK(hipStreamCreate(&stream));
    hb_profiler *prof = capture_start(0);
    HIP_OK(hipMallocAsync(&a, 1 << 20, stream));
    HIP_OK(hipMallocAsync(&b, 1 << 21, stream));
    HIP_OK(hipFreeAsync(a, stream));
    HIP_OK(hipMallocManaged(&managed, 4096, hipMemAttachGlobal));
    HIP_OK(hipFreeAsync(b, stream));
    HIP_OK(hipStreamSynchronize(stream));
    HIP_OK(hipFree(managed));
    cJSON *trace = capture_stop(prof);
    static const double expected[][2] = {
        {1 << 20, 1 << 20},       {1 << 21, 3 << 20}, {-(1 << 20), 1 << 21},
        {4096, (1 << 21) + 4096}, {-(1 << 21), 4096}, {-4096, 0},
    };
    assert_int_equal(count_events(trace, "cpu_instant_event", "[memory]"), 6);
    for (int i = 0; i < 6; i++) {
        const cJSON *event = nth_event(trace, "cpu_instant_event", "[memory]", i);
        assert_int_equal((int)arg(event, "Device Type"), 1);
        assert_true(arg(event, "Bytes") == expected[i][0]);
        assert_true(arg(event, "Total Allocated") == expected[i][1]);
    }
    cJSON_Delete(trace);
    /* HIP 5.2.3 hangs in hipStreamDestroy() after hipFreeAsync(), recorded or not. */
}

static void totals_are(const cJSON *trace, const double expected[][2], int events)
{
    assert_int_equal(count_events(trace, "cpu_instant_event", "[memory]"), events);
    for (int i = 0; i < events; i++) {
        const cJSON *event = nth_event(trace, "cpu_instant_event", "[memory]", i);
        double allocated = arg(event, "Total Allocated"), reserved = arg(event, "Total Reserved");
        if (allocated != expected[i][0] || reserved != expected[i][1])
            fail_msg("event %d: %.0f of %.0f bytes, not %.0f of %.0f", i, allocated, reserved,
                     expected[i][0], expected[i][1]);
    }
}

/* 7.2 takes 32 MiB at a time, those before it as much as is asked for. 5.7 counts what lay in
 * memory that it has given back, now and then, and tells 10^18 bytes from then on: nothing is kept
 * then. */
static double reserved_by(hipMemPool_t pool)
{
    uint64_t bytes = 0;
    HIP_OK(hipMemPoolGetAttribute(pool, hipMemPoolAttrReservedMemCurrent, &bytes));
    if (bytes > (uint64_t)1 << 48) return 0;
    assert_true(bytes >= 1 << 20);
    return (double)bytes;
}

/* What a pool keeps is reserved, not allocated. */
static void pools_reserve_more_than_is_allocated(void **state)
{
    (void)state;
    void *a, *plain;
    hipMemPool_t pool;
    hipStream_t stream;
    HIP_OK(hipStreamCreate(&stream));
    HIP_OK(hipDeviceGetMemPool(&pool, 0));
    HIP_OK(hipMemPoolTrimTo(pool, 0)); /* what the test before has left there */
    hb_profiler *prof = capture_start(0);
    HIP_OK(hipMallocAsync(&a, 1 << 20, stream));
    double kept = reserved_by(pool);
    HIP_OK(hipFreeAsync(a, stream)); /* kept by the pool */
    HIP_OK(hipMalloc(&plain, 4096));
    HIP_OK(hipStreamSynchronize(stream));
    HIP_OK(hipMemPoolTrimTo(pool, 0));
    HIP_OK(hipFree(plain));
    cJSON *trace = capture_stop(prof);
    const double expected[][2] = {
        {1 << 20, kept ? kept : 1 << 20}, {0, kept}, {4096, kept + 4096}, {0, 0}};
    totals_are(trace, expected, 4);
    cJSON_Delete(trace);
}

/* It may be destroyed while nothing is recorded. By interposition it is not asked about at all. */
static void a_pool_of_the_programs_own_counts_while_it_is_there(void **state)
{
    (void)state;
    void *a, *plain;
    hipMemPool_t pool;
    hipStream_t stream;
    hipMemPoolProps props = {.allocType = hipMemAllocationTypePinned,
                             .location = {hipMemLocationTypeDevice, 0}};
    HIP_OK(hipStreamCreate(&stream));
    HIP_OK(hipMemPoolCreate(&pool, &props));
    hb_profiler *prof = capture_start(0);
    HIP_OK(hipMallocFromPoolAsync(&a, 1 << 20, pool, stream));
    double kept = reserved_by(pool);
    HIP_OK(hipFreeAsync(a, stream));
    cJSON *trace = capture_stop(prof);
    bool asked = metadata_says(trace, "hipboard_hip_backend", "tracer-hook");
    const double first[][2] = {{1 << 20, asked ? kept : 1 << 20}, {0, asked ? kept : 0}};
    totals_are(trace, first, 2);
    cJSON_Delete(trace);
    HIP_OK(hipStreamSynchronize(stream));
    HIP_OK(hipMemPoolDestroy(pool));
    prof = capture_start(0);
    HIP_OK(hipMalloc(&plain, 4096));
    HIP_OK(hipFree(plain));
    trace = capture_stop(prof);
    static const double second[][2] = {{4096, 4096}, {0, 0}};
    totals_are(trace, second, 2);
    cJSON_Delete(trace);
}

static double reserved_now(hipMemPool_t pool)
{
    uint64_t bytes = 0;
    HIP_OK(hipMemPoolGetAttribute(pool, hipMemPoolAttrReservedMemCurrent, &bytes));
    return (double)bytes;
}

/* What the others keep stays. */
static void a_pool_that_is_destroyed_keeps_nothing(void **state)
{
    (void)state;
    enum { POOLS = 3 };
    void *a, *plain;
    hipMemPool_t pools[POOLS];
    hipStream_t stream;
    hipMemPoolProps props = {.allocType = hipMemAllocationTypePinned,
                             .location = {hipMemLocationTypeDevice, 0}};
    HIP_OK(hipStreamCreate(&stream));
    for (int i = 0; i < POOLS; i++)
        HIP_OK(hipMemPoolCreate(&pools[i], &props));
    hb_profiler *prof = capture_start(0);
    for (int i = 0; i < POOLS; i++) {
        HIP_OK(hipMallocFromPoolAsync(&a, 1 << 20, pools[i], stream));
        HIP_OK(hipFreeAsync(a, stream));
    }
    HIP_OK(hipMemPoolDestroy(pools[1]));
    double kept_by_two = reserved_now(pools[0]) + reserved_now(pools[2]);
    HIP_OK(hipMalloc(&plain, 4096));
    HIP_OK(hipMemPoolDestroy(pools[0]));
    HIP_OK(hipFree(plain)); /* which may give back what is kept */
    double kept_by_one = reserved_now(pools[2]);
    cJSON *trace = capture_stop(prof);
    if (metadata_says(trace, "hipboard_hip_backend", "tracer-hook")) {
        const cJSON *made = nth_event(trace, "cpu_instant_event", "[memory]", 2 * POOLS);
        const cJSON *freed = nth_event(trace, "cpu_instant_event", "[memory]", 2 * POOLS + 1);
        assert_true(arg(made, "Total Reserved") == 4096 + kept_by_two);
        assert_true(arg(freed, "Total Reserved") == kept_by_one);
    }
    cJSON_Delete(trace);
    HIP_OK(hipMemPoolDestroy(pools[2]));
}

/* Of microseconds since 1970 a double holds quarters, each rounded by itself. */
static bool lies_within(const cJSON *instant, const cJSON *call)
{
    double start = number_of(call, "ts"), at = number_of(instant, "ts");
    return start - 0.25 <= at && at <= start + number_of(call, "dur") + 0.25;
}

static void memory_adds_up(void **state)
{
    (void)state;
    void *before, *a, *b, *pinned, *none;
    HIP_OK(hipMalloc(&before, 1 << 16));
    hb_profiler *prof = capture_start(0);
    HIP_OK(hipMalloc(&a, 1 << 20));
    HIP_OK(hipSetDevice(1));
    HIP_OK(hipMalloc(&b, 1 << 21));
    HIP_OK(hipSetDevice(0));
    HIP_OK(hipHostMalloc(&pinned, 4096, 0));
    HIP_IS(hipErrorOutOfMemory, hipMalloc(&none, (size_t)1 << 50));
    HIP_OK(hipFree(b)); /* from another device than its own */
    HIP_OK(hipFree(a));
    HIP_OK(hipFree(before)); /* its size is known all the same */
    HIP_OK(hipHostFree(pinned));
    HIP_OK(hipHostMalloc(&pinned, 8192, 0));
    HIP_OK(hipFree(pinned)); /* takes any memory */
    cJSON *trace = capture_stop(prof);
    static const struct {
        int type, device;
        double bytes, total;
    } expected[] = {
        {1, 0, 1 << 20, (1 << 20) + (1 << 16)},
        {1, 1, 1 << 21, 1 << 21},
        {0, -1, 4096, 4096},
        {1, 1, -(1 << 21), 0},
        {1, 0, -(1 << 20), 1 << 16},
        {1, 0, -(1 << 16), 0},
        {0, -1, -4096, 0},
        {0, -1, 8192, 8192},
        {0, -1, -8192, 0},
    };
    assert_int_equal(count_events(trace, "cpu_instant_event", "[memory]"), 9);
    for (int i = 0; i < 9; i++) {
        const cJSON *event = nth_event(trace, "cpu_instant_event", "[memory]", i);
        assert_int_equal((int)arg(event, "Device Type"), expected[i].type);
        assert_int_equal((int)arg(event, "Device Id"), expected[i].device);
        assert_true(arg(event, "Bytes") == expected[i].bytes);
        assert_true(arg(event, "Total Allocated") == expected[i].total);
    }
    assert_true(lies_within(nth_event(trace, "cpu_instant_event", "[memory]", 0),
                            nth_event(trace, "Runtime", "hipMalloc", 0)));
    assert_true(lies_within(nth_event(trace, "cpu_instant_event", "[memory]", 6),
                            nth_event(trace, "Runtime", "hipHostFree", 0)));
    const cJSON *oom = nth_event(trace, "cpu_instant_event", "[OutOfMemory]", 0);
    assert_non_null(oom);
    assert_true(arg(oom, "Bytes") == (double)((size_t)1 << 50));
    cJSON_Delete(trace);
}

/* A handle that comes back as another device's stream. */
/* Where one that is gone stood, another one may be made: it has its own name. */
static void a_kernel_in_the_place_of_an_unloaded_one_has_its_own_name(void **state)
{
    (void)state;
    enum { TRIES = 200 };
    int n = 256;
    float *data, factor = 2;
    void *of_vadd[] = {&data, &data, &data, &n}, *of_scale[] = {&data, &factor, &n};
    HIP_OK(hipMalloc((void **)&data, 256 * sizeof *data));
    hb_profiler *prof = capture_start(HB_ACTIVITY_HIP);
    hipModule_t module = load_module();
    hipFunction_t vadd = get_kernel(module, "vadd"), scale = NULL;
    HIP_OK(launch(vadd, 256, NULL, of_vadd));
    HIP_OK(hipDeviceSynchronize());
    HIP_OK(hipModuleUnload(module));
    hipModule_t others[TRIES];
    int tries = 0;
    while (tries < TRIES && scale != vadd) {
        others[tries] = load_module();
        scale = get_kernel(others[tries++], "scale");
    }
    bool same_place = scale == vadd;
    if (same_place) HIP_OK(launch(scale, 256, NULL, of_scale));
    HIP_OK(hipDeviceSynchronize());
    while (tries)
        HIP_OK(hipModuleUnload(others[--tries]));
    cJSON *trace = capture_stop(prof);
    assert_int_equal(count_events(trace, "kernel", "vadd"), 1);
    assert_int_equal(count_events(trace, "kernel", "scale"), same_place);
    cJSON_Delete(trace);
    HIP_OK(hipFree(data));
}

/* Libraries of hipcc's: nobody is told when one is closed. */
static void a_kernel_in_the_place_of_a_closed_librarys_has_its_own_name(void **state)
{
    static const char *const files[] = {TEST_VADD_LIBRARY, TEST_REVERSE_LIBRARY};
    enum { STATIC = 4096 }; /* LDS of the second's kernel */
    void *data, *library = NULL, *address[2];
    (void)state;
    HIP_OK(hipMalloc(&data, 4096));
    hb_profiler *prof = capture_start(HB_ACTIVITY_HIP);
    for (int i = 0; i < 2; i++) {
        int (*launch_own)(void *);
        if (library) dlclose(library);
        assert_non_null(library = dlopen(files[i], RTLD_NOW | RTLD_LOCAL));
        address[i] = dlsym(library, "launch_own");
        memcpy(&launch_own, &address[i], sizeof address[i]);
        assert_int_equal(hb_profiler_step(prof), HB_OK);
        HIP_OK(launch_own(data));
        HIP_OK(hipDeviceSynchronize());
    }
    cJSON *trace = capture_stop(prof);
    assert_ptr_equal(address[0], address[1]);
    assert_int_equal(count_events(trace, "kernel", "vadd"), 1);
    assert_int_equal(count_events(trace, "kernel", "reverse"), 1);
    assert_true(arg(nth_event(trace, "kernel", "reverse", 0), "shared memory") == STATIC);
    cJSON_Delete(trace);
    dlclose(library);
    HIP_OK(hipFree(data));
}

static void streams_are_of_the_device_that_made_them(void **state)
{
    (void)state;
    float *data[DEVICES];
    for (int i = 0; i < DEVICES; i++) {
        HIP_OK(hipSetDevice(i));
        HIP_OK(hipMalloc((void **)&data[i], 1024));
    }
    hb_profiler *prof = capture_start(0);
    for (int i = 0; i < 4 * DEVICES; i++) {
        hipStream_t stream;
        HIP_OK(hipSetDevice(i % DEVICES));
        HIP_OK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
        HIP_OK(launch_vadd(i % DEVICES, 1, data[i % DEVICES], stream));
        HIP_OK(hipStreamSynchronize(stream));
        HIP_OK(hipStreamDestroy(stream));
    }
    cJSON *trace = capture_stop(prof);
    for (int i = 0; i < 4 * DEVICES; i++) {
        const cJSON *call = nth_event(trace, "Runtime", "hipModuleLaunchKernel", i);
        const cJSON *kernel;
        int found = 0;
        cJSON_ArrayForEach(kernel, events_of(trace))
        {
            if (!is_event(kernel, "kernel", "vadd")) continue;
            if (arg(kernel, "correlation") != arg(call, "correlation")) continue;
            assert_int_equal((int)arg(kernel, "device"), i % DEVICES);
            found++;
        }
        assert_int_equal(found, 1);
    }
    cJSON_Delete(trace);
    for (int i = 0; i < DEVICES; i++)
        HIP_OK(hipFree(data[i]));
    HIP_OK(hipSetDevice(0));
}

/* ---- cycles ---- */

static void each_cycle_has_its_own(void **state)
{
    (void)state;
    float *data;
    HIP_OK(hipMalloc((void **)&data, 4096));
    for (int cycle = 0; cycle < 3; cycle++) {
        hb_profiler *prof = capture_start(0);
        HIP_OK(launch_vadd(0, 1, data, NULL));
        cJSON *trace = capture_stop(prof); /* waits for it */
        assert_int_equal(count_events(trace, "kernel", "vadd"), 1);
        cJSON_Delete(trace);
        HIP_OK(launch_vadd(0, 1, data, NULL)); /* in none */
        HIP_OK(hipDeviceSynchronize());
    }
    HIP_OK(hipFree(data));
}

/* ---- kernel_sampling ---- */

static cJSON *record_sampled(uint64_t each, int launches, bool wait)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.spool_dir = "";
    o.kernel_sampling = each;
    hb_profiler *prof = hb_profiler_create(&o);
    assert_int_equal(hb_profiler_start(prof), HB_OK);
    for (int i = 0; i < launches; i++)
        HIP_OK(launch_vadd(0, i % 8 + 1, NULL, NULL));
    if (wait) HIP_OK(hipDeviceSynchronize());
    return capture_stop(prof);
}

static bool samples(const cJSON *trace)
{
    return number_of(trace, "hipboard_kernel_sampling") > 0;
}

static void sampling_times_some_kernels_and_keeps_all_calls(void **state)
{
    (void)state;
    cJSON *trace = record_sampled(8, 800, true);
    assert_int_equal(count_events(trace, "Runtime", "hipModuleLaunchKernel"), 800);
    assert_true(
        metadata_says(trace, "hipboard_hip_notes", samples(trace) ? "one of 8" : "not possible"));
    if (samples(trace)) {
        assert_int_equal((int)number_of(trace, "hipboard_kernel_sampling"), 8);
        assert_int_equal(count_events(trace, "kernel", "vadd"), 100);
        assert_true(metadata_says(trace, "hipboard_hip_notes", "one of 8 launches"));
        bool any[9] = {false}; /* the loop of eight different launches does not meet with it */
        const cJSON *kernel;
        int different = 0;
        cJSON_ArrayForEach(kernel, events_of(trace))
        {
            if (!is_event(kernel, "kernel", "vadd")) continue;
            assert_non_null(call_of(trace, kernel));
            int blocks = (int)cJSON_GetNumberValue(
                cJSON_GetArrayItem(cJSON_GetObjectItem(args_of(kernel), "grid"), 0));
            assert_in_range(blocks, 1, 8);
            different += !any[blocks];
            any[blocks] = true;
        }
        assert_true(different == 8);
    } else {
        assert_int_equal(count_events(trace, "kernel", "vadd"), 800);
    }
    cJSON_Delete(trace);
    trace = record_sampled(1, 20, true);
    assert_int_equal(count_events(trace, "kernel", "vadd"), 20);
    assert_null(cJSON_GetObjectItem(trace, "hipboard_hip_notes"));
    cJSON_Delete(trace);
    trace = record_sampled(1000, 20, true); /* the first of a thread is timed */
    assert_int_equal(count_events(trace, "kernel", "vadd"), samples(trace) ? 1 : 20);
    cJSON_Delete(trace);
}

static void a_cycle_without_hip_says_so(void **state)
{
    (void)state;
    hb_profiler *prof = capture_start(HB_ACTIVITY_HIP);
    cJSON *trace = capture_stop(prof);
    assert_true(metadata_says(trace, "hipboard_hip_notes", "no HIP call was made"));
    cJSON_Delete(trace);
    prof = capture_start(HB_ACTIVITY_CPU);
    HIP_OK(hipDeviceSynchronize());
    trace = capture_stop(prof);
    assert_int_equal(count_events(trace, "Runtime", NULL), 0);
    cJSON_Delete(trace);
}

static int prepare(void **state)
{
    register_vadd();
    return set_up(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kernel_has_its_launch_device_and_operator),
        cmocka_unit_test(a_kernel_in_the_place_of_an_unloaded_one_has_its_own_name),
        cmocka_unit_test(a_kernel_in_the_place_of_a_closed_librarys_has_its_own_name),
        cmocka_unit_test(streams_are_of_the_device_that_made_them),
        cmocka_unit_test(kernels_show_what_they_take),
        cmocka_unit_test(graphs_give_their_kernels_to_the_launch),
        cmocka_unit_test(all_runs_of_a_graph_are_there),
        cmocka_unit_test(graphs_that_run_once_are_there),
        cmocka_unit_test(annotations_cover_the_work_they_launched),
        cmocka_unit_test(copies_and_fills_show_direction_and_bytes),
        cmocka_unit_test(copies_of_pinned_memory_show_their_direction),
        cmocka_unit_test(copies_between_devices_name_both),
        cmocka_unit_test(pools_and_managed_memory_add_up),
        cmocka_unit_test(pools_reserve_more_than_is_allocated),
        cmocka_unit_test(a_pool_of_the_programs_own_counts_while_it_is_there),
        cmocka_unit_test(a_pool_that_is_destroyed_keeps_nothing),
        cmocka_unit_test(memory_adds_up),
        cmocka_unit_test(each_cycle_has_its_own),
        cmocka_unit_test(sampling_times_some_kernels_and_keeps_all_calls),
        cmocka_unit_test(a_cycle_without_hip_says_so),
    };
    setenv("SIMHSA_GPUS", "2", 1);
    capture_prepare();
    return cmocka_run_group_tests(tests, prepare, NULL);
}
