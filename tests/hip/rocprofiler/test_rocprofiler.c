/* SPDX-License-Identifier: MIT
 *
 * HIP capture by rocprofiler-sdk, on stand-ins for it and for ROCm's HIP. A process can be
 * configured but once, so each test is a process of its own.
 */
#include "../captured.h"
#include "recording.h"

#include <errno.h>
#include <pthread.h>
#include <sys/wait.h>

/* HIP's headers declare it for C++ only. */
extern hipError_t hipExtModuleLaunchKernel(hipFunction_t f, uint32_t gx, uint32_t gy, uint32_t gz,
                                           uint32_t bx, uint32_t by, uint32_t bz, size_t lds,
                                           hipStream_t stream, void **params, void **extra,
                                           hipEvent_t begin, hipEvent_t end, uint32_t flags);

/* Since HIP 6.4, which the installed headers need not be. */
typedef struct launch_config {
    dim3 grid, block;
    size_t lds;
    hipStream_t stream;
} launch_config;

extern hipError_t hipLaunchKernelExC(const launch_config *config, const void *f, void **params);

typedef struct module_config {
    uint32_t grid[3], block[3], lds;
    hipStream_t stream;
} module_config;

extern hipError_t hipDrvLaunchKernelEx(const module_config *config, void *f, void **params,
                                       void **extra);
extern hipError_t hipGetProcAddress(const char *name, void **function, int version, uint64_t flags,
                                    void *found);

/* Since HIP 7. */
extern hipError_t hipGetDriverEntryPoint(const char *name, void **function,
                                         unsigned long long flags, int *found);
extern hipError_t hipLibraryLoadData(void **library, const void *code, void *options, void *values,
                                     unsigned count, void *library_options, void *library_values,
                                     unsigned library_count);
extern hipError_t hipLibraryGetKernel(void **function, void *library, const char *name);
extern hipError_t hipLibraryUnload(void *library);

static cJSON *stop(hb_profiler *prof)
{
    cJSON *trace = capture_stop(prof);
    assert_string_equal(text_of(trace, "hipboard_hip_backend"), "rocprofiler-sdk");
    return trace;
}

static const fake_symbol vadd = {1, "_Z4vaddPKfS0_Pfi.kd", 512, 16, 24, 20, 4};

static hipError_t launch_by_host(void *kernel, unsigned blocks, unsigned lds, hipStream_t stream)
{
    return hipLaunchKernel(kernel, (dim3){blocks, 1, 1}, (dim3){128, 2, 1}, NULL, lds, stream);
}

/* ---- the recording ---- */

enum { MAX_THREADS = 16, FEW_MEMBERS = 4 };

typedef struct player {
    recording *recording;
    uint64_t thread;
    pthread_t pthread;
} player;

static hipStream_t stream_of(uint64_t id)
{
    return (hipStream_t)(uintptr_t)(id * 64);
}

/* One of the recording's threads: its launches, in their order, each in an operator of its own. */
static void *play(void *arg)
{
    const player *p = arg;
    HB_RECORD_FUNCTION("replay") {
        for (size_t i = 0; i < p->recording->num_dispatches; i++) {
            recorded_dispatch *d = &p->recording->dispatches[i];
            const uint32_t *grid = d->dispatch.grid, *block = d->dispatch.workgroup;
            if (d->thread != p->thread) continue;
            if (d->unasked) {
                fake_run(&d->dispatch);
                continue;
            }
            fake_next_launch(&d->dispatch);
            HB_OP("aten::launch")
                hipExtModuleLaunchKernel(d->function, grid[0], grid[1], grid[2], block[0], block[1],
                                         block[2], 0, stream_of(d->stream), NULL, NULL, NULL, NULL,
                                         0);
        }
    }
    return NULL;
}

static void play_all(recording *r)
{
    player players[MAX_THREADS];
    int n = 0;
    for (size_t i = 0; i < r->num_dispatches; i++) {
        int known = 0;
        while (known < n && players[known].thread != r->dispatches[i].thread)
            known++;
        assert_in_range(known, 0, MAX_THREADS - 1);
        if (known == n) players[n++] = (player){r, r->dispatches[i].thread, 0};
    }
    for (int i = 0; i < n; i++)
        assert_int_equal(pthread_create(&players[i].pthread, NULL, play, &players[i]), 0);
    for (int i = 0; i < n; i++)
        pthread_join(players[i].pthread, NULL);
}

/* Brings the recording to the present, so that its last kernel ends about now. */
static void shift(recording *r)
{
    struct timespec t;
    uint64_t last = 0;
    clock_gettime(CLOCK_BOOTTIME, &t);
    for (size_t i = 0; i < r->num_dispatches; i++)
        last = r->dispatches[i].dispatch.end_ns > last ? r->dispatches[i].dispatch.end_ns : last;
    uint64_t by = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec - last;
    for (size_t i = 0; i < r->num_dispatches; i++) {
        r->dispatches[i].dispatch.begin_ns += by;
        r->dispatches[i].dispatch.end_ns += by;
    }
}

static void load_all(recording *r)
{
    for (size_t i = 0; i < r->num_symbols; i++) {
        void *function = fake_load(&r->symbols[i]);
        for (size_t d = 0; d < r->num_dispatches; d++)
            if (r->dispatches[d].symbol == &r->symbols[i]) r->dispatches[d].function = function;
    }
}

static int by_time(const void *a, const void *b)
{
    const fake_dispatch *x = &((const recorded_dispatch *)a)->dispatch;
    const fake_dispatch *y = &((const recorded_dispatch *)b)->dispatch;
    if (x->begin_ns != y->begin_ns) return x->begin_ns < y->begin_ns ? -1 : 1;
    return (x->end_ns > y->end_ns) - (x->end_ns < y->end_ns);
}

/* An event of the trace with what it is sorted by. */
typedef struct found {
    const cJSON *event;
    double key, second;
} found;

static int by_key(const void *a, const void *b)
{
    const found *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return (x->second > y->second) - (x->second < y->second);
}

static size_t find_all(const cJSON *trace, const char *category, const char *name, found *all,
                       size_t room, bool by_id)
{
    size_t n = 0;
    const cJSON *e;
    cJSON_ArrayForEach(e, events_of(trace))
    {
        if (!is_event(e, category, name)) continue;
        assert_true(n < room);
        all[n].event = e;
        all[n].key = by_id ? arg(e, "External id") : number_of(e, "ts");
        all[n++].second = by_id ? 0 : number_of(e, "dur");
    }
    qsort(all, n, sizeof *all, by_key);
    return n;
}

static void is_triple(const cJSON *event, const char *key, const uint32_t expected[3])
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(args_of(event), key);
    assert_int_equal(cJSON_GetArraySize(list), 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal((uint32_t)cJSON_GetArrayItem(list, i)->valuedouble, expected[i]);
}

/* The trace's clock and the recording's are two. How fast one goes by the other was measured over
 * the session only, which is shorter than the recording. */
static void is_time(double us, uint64_t ns, double rate)
{
    double error = us * 1000 - (double)ns * rate;
    assert_true(error < 2.5 && error > -2.5);
}

static double rate_of(const found *kernels, const recorded_dispatch *recorded, size_t n)
{
    double ns = (double)(recorded[n - 1].dispatch.begin_ns - recorded[0].dispatch.begin_ns);
    double rate = (kernels[n - 1].key - kernels[0].key) * 1000 / ns;
    assert_true(rate > 0.999 && rate < 1.001);
    return rate;
}

static void is_as_recorded(const cJSON *event, const recorded_dispatch *d, double rate)
{
    uint32_t blocks[3];
    for (int i = 0; i < 3; i++)
        blocks[i] = (d->dispatch.grid[i] + d->dispatch.workgroup[i] - 1) / d->dispatch.workgroup[i];
    assert_string_equal(text_of(event, "name"), d->plain_name);
    is_triple(event, "grid", blocks);
    is_triple(event, "block", d->dispatch.workgroup);
    is_time(number_of(event, "dur"), d->dispatch.end_ns - d->dispatch.begin_ns, rate);
    assert_int_equal(arg(event, "registers per thread"), d->symbol->arch_vgprs);
    assert_int_equal(arg(event, "sgprs per wave"), d->symbol->sgprs);
    assert_int_equal(arg(event, "agprs per thread"), d->symbol->accum_vgprs);
    assert_int_equal(arg(event, "shared memory"), d->dispatch.group_bytes);
    assert_int_equal(arg(event, "scratch per thread"), d->dispatch.private_bytes);
    assert_int_equal(arg(event, "device"), 0);
    if (!d->unasked) assert_true((arg(event, "stream") == 0) == (d->stream == 0));
}

static void check_recording(const cJSON *trace, recording *r)
{
    size_t n = r->num_dispatches;
    found *kernels = calloc(n, sizeof *kernels), *ops = calloc(n, sizeof *ops);
    qsort(r->dispatches, n, sizeof *r->dispatches, by_time);
    assert_int_equal(find_all(trace, "kernel", NULL, kernels, n, false), n);
    double rate = rate_of(kernels, r->dispatches, n);
    for (size_t i = 0; i < n; i++) {
        is_as_recorded(kernels[i].event, &r->dispatches[i], rate);
        is_time(kernels[i].key - kernels[0].key,
                r->dispatches[i].dispatch.begin_ns - r->dispatches[0].dispatch.begin_ns, rate);
    }
    /* Each operator has one kernel, and the runtime's own have none. */
    size_t num_ops = find_all(trace, "cpu_op", "aten::launch", ops, n, true);
    assert_int_equal(num_ops, n - r->num_unasked);
    assert_int_equal(find_all(trace, "kernel", NULL, kernels, n, true), n);
    for (size_t i = 0; i < n; i++)
        assert_true(kernels[i].key == (i < r->num_unasked ? 0 : ops[i - r->num_unasked].key));
    free(kernels);
    free(ops);
}

static void every_kernel_is_as_recorded(void **state)
{
    (void)state;
    const char *path = getenv("ROCPROFV3_JSON");
    recording r = recording_open(path ? path : TEST_DATA "/rocprofv3_mi350x.json.gz");
    assert_true(r.num_dispatches > 1000);
    /* The first session finds and configures rocprofiler-sdk; the code is loaded after it. */
    cJSON_Delete(stop(capture_start(0)));
    load_all(&r);
    shift(&r);
    hb_profiler *prof = capture_start(0);
    play_all(&r);
    cJSON *trace = stop(prof);
    check_recording(trace, &r);
    assert_int_equal(count_events(trace, "Runtime", "hipExtModuleLaunchKernel"),
                     r.num_dispatches - r.num_unasked);
    assert_true(number_of(trace, "hipboard_work_without_call") == r.num_unasked);
    assert_null(cJSON_GetObjectItem(trace, "hipboard_hip_notes"));
    printf("%zu kernels as recorded, rocprofiler-sdk %s\n", r.num_dispatches,
           text_of(trace, "hipboard_hip_backend_version"));
    cJSON_Delete(trace);
    recording_close(&r);
}

/* ---- calls ---- */

static void calls_have_their_arguments_and_errors(void **state)
{
    (void)state;
    void *data, *more;
    char host[4096] = "";
    hipStream_t stream = stream_of(1);
    hb_profiler *prof = capture_start(0);
    void *kernel = fake_load(&vadd);
    HIP_OK(hipMalloc(&data, sizeof host));
    HIP_IS(hipErrorOutOfMemory, hipMalloc(&more, (size_t)1 << 40));
    HIP_OK(hipMemcpyAsync(data, host, sizeof host, hipMemcpyHostToDevice, stream));
    HIP_OK(launch_by_host(kernel, 3, 256, stream));
    HIP_OK(hipMemsetAsync(data, 0, 1000, NULL));
    HIP_OK(hipMemcpyAsync(host, data, 100, hipMemcpyDeviceToHost, stream));
    HIP_OK(hipMemcpyAsync(data, (char *)data + 2048, 500, hipMemcpyDeviceToDevice, stream));
    HIP_OK(hipStreamSynchronize(stream));
    HIP_OK(hipFree(data));
    cJSON *trace = stop(prof);
    const cJSON *e = nth_event(trace, "kernel", "vadd(float const*, float const*, float*, int)", 0);
    assert_non_null(e);
    assert_int_equal(arg(e, "shared memory"), 512 + 256);
    assert_int_equal(arg(e, "registers per thread"), 20);
    assert_int_equal(arg(e, "stream"), 1);
    is_triple(e, "grid", (uint32_t[]){3, 1, 1});
    is_triple(call_of(trace, e), "grid", (uint32_t[]){3, 1, 1});
    is_triple(call_of(trace, e), "block", (uint32_t[]){128, 2, 1});
    assert_int_equal(arg(call_of(trace, e), "shared memory"), 256);
    assert_string_equal(text_of(call_of(trace, e), "name"), "hipLaunchKernel");
    e = nth_event(trace, "Runtime", "hipMalloc", 1);
    assert_string_equal(text_of(args_of(e), "error"), "hipErrorOutOfMemory");
    e = nth_event(trace, "Runtime", "hipMalloc", 0);
    assert_int_equal(arg(e, "bytes"), sizeof host);
    assert_string_equal(text_of(args_of(e), "error"), "");
    e = nth_event(trace, "gpu_memcpy", "Memcpy HtoD (Host -> Device)", 0);
    assert_int_equal(arg(e, "bytes"), sizeof host);
    assert_int_equal(arg(e, "stream"), 1);
    e = nth_event(trace, "gpu_memcpy", "Memcpy DtoH (Device -> Host)", 0);
    assert_int_equal(arg(e, "bytes"), 100);
    e = nth_event(trace, "gpu_memcpy", "Memcpy DtoD (Device -> Device)", 0);
    assert_int_equal(arg(e, "bytes"), 500);
    assert_int_equal(count_events(trace, "gpu_memcpy", NULL), 3);
    /* The runtime's own kernel does it. */
    e = nth_event(trace, "gpu_memset", NULL, 0);
    assert_int_equal(arg(e, "bytes"), 1000);
    assert_int_equal(arg(e, "stream"), 0);
    assert_string_equal(text_of(call_of(trace, e), "name"), "hipMemsetAsync");
    assert_int_equal(count_events(trace, "kernel", NULL), 1);
    assert_int_equal(count_events(trace, "cpu_instant_event", "[memory]"), 2);
    assert_int_equal(count_events(trace, "cpu_instant_event", "[OutOfMemory]"), 1);
    assert_null(cJSON_GetObjectItem(trace, "hipboard_hip_notes"));
    assert_int_equal(number_of(trace, "hip_runtime_version"), 70051831);
    cJSON_Delete(trace);
}

/* Rows are as long as the runtime makes them; where there is no memory, as is asked for. */
static void pitched_memory_has_the_bytes_of_its_rows(void **state)
{
    (void)state;
    void *data, *none;
    size_t pitch = 0;
    hb_profiler *prof = capture_start(0);
    HIP_OK(hipMallocPitch(&data, &pitch, 100, 8));
    assert_int_equal(pitch, 256);
    HIP_IS(hipErrorOutOfMemory, hipMallocPitch(&none, &pitch, (size_t)1 << 40, 2));
    HIP_OK(hipFree(data));
    cJSON *trace = stop(prof);
    static const double bytes[] = {256 * 8, -256 * 8};
    assert_int_equal(count_events(trace, "cpu_instant_event", "[memory]"), 2);
    for (int i = 0; i < 2; i++)
        assert_true(arg(nth_event(trace, "cpu_instant_event", "[memory]", i), "Bytes") == bytes[i]);
    assert_int_equal(count_events(trace, "cpu_instant_event", "[OutOfMemory]"), 1);
    const cJSON *oom = nth_event(trace, "cpu_instant_event", "[OutOfMemory]", 0);
    assert_true(arg(oom, "Bytes") == 0x1p41);
    cJSON_Delete(trace);
}

static void kernels_of_libraries_and_given_addresses_are_seen(void **state)
{
    (void)state;
    static const char *const calls[] = {"hipLibraryLoadData",     "hipLibraryGetKernel",
                                        "hipGetDriverEntryPoint", "hipGetProcAddress",
                                        "hipLaunchKernelExC",     "hipModuleLaunchKernel",
                                        "hipDrvLaunchKernelEx",   "hipLibraryUnload"};
    static const fake_symbol of_library = {77, "of_library.kd", 0, 0, 16, 8, 0};
    hb_profiler *prof = capture_start(0);
    launch_config config = {{3, 2, 1}, {64, 4, 1}, 0, stream_of(3)};
    module_config of_module = {{3, 2, 1}, {64, 4, 1}, 0, stream_of(3)};
    __typeof__(hipModuleLaunchKernel) *plain;
    __typeof__(hipDrvLaunchKernelEx) *by_config;
    void *library, *f, *address;
    int result;
    HIP_OK(hipLibraryLoadData(&library, &of_library, NULL, NULL, 0, NULL, NULL, 0));
    HIP_OK(hipLibraryGetKernel(&f, library, "of_library"));
    HIP_OK(hipLaunchKernelExC(&config, f, NULL));
    HIP_OK(hipGetDriverEntryPoint("hipModuleLaunchKernel", &address, 0, &result));
    memcpy(&plain, &address, sizeof address);
    HIP_OK(plain(f, 3, 2, 1, 64, 4, 1, 0, stream_of(3), NULL, NULL));
    HIP_OK(hipGetProcAddress("hipDrvLaunchKernelEx", &address, 70000000, 0, NULL));
    memcpy(&by_config, &address, sizeof address);
    HIP_OK(by_config(&of_module, f, NULL, NULL));
    HIP_OK(hipLibraryUnload(library));
    cJSON *trace = stop(prof);
    assert_int_equal(count_events(trace, "kernel", "of_library"), 3);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        assert_int_equal(count_events(trace, "Runtime", calls[i]), 1);
    for (int i = 0; i < 3; i++) {
        const cJSON *kernel = nth_event(trace, "kernel", "of_library", i);
        is_triple(kernel, "grid", (uint32_t[]){3, 2, 1});
        is_triple(kernel, "block", (uint32_t[]){64, 4, 1});
        assert_non_null(call_of(trace, kernel));
    }
    assert_null(cJSON_GetObjectItem(trace, "hipboard_hip_notes"));
    cJSON_Delete(trace);
}

static void launches_by_a_structure_show_what_is_in_it(void **state)
{
    (void)state;
    hb_profiler *prof = capture_start(0);
    launch_config config = {{3, 2, 1}, {64, 4, 1}, 1024, stream_of(3)};
    module_config of_module = {{3, 2, 1}, {64, 4, 1}, 1024, stream_of(3)};
    __typeof__(hipDrvLaunchKernelEx) *asked_for;
    void *f = fake_load(&vadd), *address;
    HIP_OK(hipLaunchKernelExC(&config, f, NULL));
    HIP_OK(hipDrvLaunchKernelEx(&of_module, f, NULL, NULL));
    HIP_OK(hipGetProcAddress("hipDrvLaunchKernelEx", &address, 70000000, 0, NULL));
    memcpy(&asked_for, &address, sizeof address);
    HIP_OK(asked_for(&of_module, f, NULL, NULL));
    cJSON *trace = stop(prof);
    assert_int_equal(count_events(trace, "kernel", NULL), 3);
    assert_int_equal(count_events(trace, "Runtime", "hipDrvLaunchKernelEx"), 2);
    for (int i = 0; i < 3; i++) {
        const cJSON *kernel = nth_event(trace, "kernel", NULL, i), *call = call_of(trace, kernel);
        is_triple(call, "grid", (uint32_t[]){3, 2, 1});
        is_triple(call, "block", (uint32_t[]){64, 4, 1});
        assert_int_equal(arg(call, "shared memory"), 1024);
        assert_int_equal(arg(kernel, "shared memory"), 512 + 1024);
        assert_int_equal(arg(kernel, "stream"), 1);
    }
    cJSON_Delete(trace);
}

/* The operator's kernel is joined with a call that hipboard knows nothing of. */
static void functions_that_are_not_known_may_launch(void **state)
{
    (void)state;
    hb_profiler *prof = capture_start(0);
    void *kernel = fake_load(&vadd);
    HB_OP("aten::mm")
        HIP_OK(hipLaunchByPtr(kernel));
    HIP_OK(hipDeviceSynchronize());
    cJSON *trace = stop(prof);
    const cJSON *e = nth_event(trace, "kernel", NULL, 0);
    const cJSON *op = nth_event(trace, "cpu_op", "aten::mm", 0);
    assert_string_equal(text_of(call_of(trace, e), "name"), "hipLaunchByPtr");
    assert_true(arg(e, "External id") == arg(op, "External id"));
    assert_int_equal(count_events(trace, "ac2g", NULL), 2); /* from the call to the kernel */
    cJSON_Delete(trace);
}

static void graphs_show_all_their_kernels_each_time(void **state)
{
    (void)state;
    static const fake_symbol other = {2, "plain_c.kd", 0, 0, 8, 8, 0};
    hb_profiler *prof = capture_start(0);
    void *kernels[] = {fake_load(&vadd), fake_load(&other)};
    for (int i = 0; i < 3; i++)
        HIP_OK(hipGraphLaunch((hipGraphExec_t)kernels, stream_of(2)));
    cJSON *trace = stop(prof);
    assert_int_equal(count_events(trace, "kernel", "plain_c"), 3);
    assert_int_equal(count_events(trace, "kernel", NULL), 6);
    for (int i = 0; i < 6; i++) {
        const cJSON *kernel = nth_event(trace, "kernel", NULL, i);
        assert_string_equal(text_of(call_of(trace, kernel), "name"), "hipGraphLaunch");
        is_triple(kernel, "grid", (uint32_t[]){4, 2, 1}); /* the last block is a part */
    }
    assert_null(cJSON_GetObjectItem(trace, "hipboard_hip_notes"));
    cJSON_Delete(trace);
}

/* HIP_VISIBLE_DEVICES has made the driver's numbers and HIP's differ. */
static void work_is_on_the_device_as_hip_counts(void **state)
{
    (void)state;
    hb_profiler *prof = capture_start(0);
    void *kernel = fake_load(&vadd);
    for (int id = 0; id < 3; id++) {
        HIP_OK(hipSetDevice(id));
        for (int i = 0; i <= id; i++)
            HIP_OK(launch_by_host(kernel, 1, 0, NULL));
    }
    cJSON *trace = stop(prof);
    int on[3] = {0};
    const cJSON *e;
    cJSON_ArrayForEach(e, events_of(trace)) if (is_event(e, "kernel", NULL))
        on[(int)arg(e, "device")]++;
    assert_int_equal(on[0], 1);
    assert_int_equal(on[1], 2);
    assert_int_equal(on[2], 3);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(trace, "deviceProperties")), 3);
    cJSON_Delete(trace);
}

static void nothing_is_recorded_between_sessions(void **state)
{
    (void)state;
    hb_profiler *prof = capture_start(0);
    void *kernel = fake_load(&vadd);
    HIP_OK(launch_by_host(kernel, 1, 0, NULL));
    cJSON *trace = stop(prof);
    assert_int_equal(count_events(trace, "kernel", NULL), 1);
    cJSON_Delete(trace);
    HIP_OK(launch_by_host(kernel, 1, 0, NULL));
    prof = capture_start(0);
    HIP_OK(launch_by_host(kernel, 1, 0, NULL));
    HIP_OK(launch_by_host(kernel, 1, 0, NULL));
    trace = stop(prof);
    assert_int_equal(count_events(trace, "kernel", NULL), 2);
    assert_int_equal(count_events(trace, "Runtime", "hipLaunchKernel"), 2);
    cJSON_Delete(trace);
}

/* As with a schedule that waits. */
static void hip_may_start_between_profiler_and_recording(void **state)
{
    (void)state;
    int count;
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.spool_dir = "";
    hb_profiler *prof = hb_profiler_create(&o);
    assert_non_null(prof);
    HIP_OK(hipGetDeviceCount(&count));
    void *kernel = fake_load(&vadd);
    assert_int_equal(hb_profiler_start(prof), HB_OK);
    HIP_OK(launch_by_host(kernel, 1, 0, NULL));
    cJSON *trace = stop(prof);
    assert_int_equal(count_events(trace, "kernel", "vadd(float const*, float const*, float*, int)"),
                     1);
    cJSON_Delete(trace);
}

/* The stand-in for HIP has a kernel run right behind its launch, for 50 us. */
static void times_of_another_clock_are_set_right(void **state)
{
    (void)state;
    hb_profiler *prof = capture_start(0);
    HIP_OK(launch_by_host(fake_load(&vadd), 1, 0, NULL));
    cJSON *trace = stop(prof);
    const cJSON *kernel = nth_event(trace, "kernel", NULL, 0);
    assert_non_null(kernel);
    double behind_us = number_of(kernel, "ts") - number_of(call_of(trace, kernel), "ts");
    assert_true(behind_us > -600e6 && behind_us < 600e6); /* far less than an hour */
    is_time(number_of(kernel, "dur"), 50000, 1);
    cJSON_Delete(trace);
}

/* As a signal's handler may. */
static jmp_buf before_call;

static void jump_out(void)
{
    longjmp(before_call, 1);
}

/* Calls whose end never comes are not in the way of those that follow. */
static void calls_that_are_jumped_out_of_are_over(void **state)
{
    (void)state;
    static volatile int jumps;
    enum { JUMPS = 20 };
    hb_profiler *volatile prof = capture_start(0);
    void *volatile kernel = fake_load(&vadd);
    for (jumps = 0; jumps < JUMPS; jumps++) {
        fake_in_next_wait(jump_out);
        if (setjmp(before_call) == 0) HIP_OK(hipDeviceSynchronize());
    }
    HIP_OK(launch_by_host(kernel, 1, 0, NULL));
    cJSON *trace = stop(prof);
    const cJSON *e = nth_event(trace, "kernel", NULL, 0);
    assert_string_equal(text_of(call_of(trace, e), "name"), "hipLaunchKernel");
    assert_int_equal(count_events(trace, "Runtime", "hipLaunchKernel"), 1);
    cJSON_Delete(trace);
}

/* ---- what is missing is said ---- */

static void losses_are_counted(void **state)
{
    (void)state;
    hb_profiler *prof = capture_start(0);
    void *kernel = fake_load(&vadd);
    for (int i = 0; i < 100; i++)
        HIP_OK(launch_by_host(kernel, 1, 0, NULL));
    cJSON *trace = stop(prof);
    assert_int_equal(count_events(trace, "kernel", NULL), 90);
    assert_true(metadata_says(trace, "hipboard_hip_notes",
                              "10 records of device work were lost by rocprofiler-sdk"));
    cJSON_Delete(trace);
}

/* Without it there is none left that knows this HIP; the program is served all the same. */
static void refused_with(const char *reason)
{
    void *data;
    hb_profiler *prof = capture_start(0);
    HIP_OK(hipMalloc(&data, 100));
    HIP_OK(hipFree(data));
    HIP_OK(launch_by_host(fake_load(&vadd), 1, 0, NULL));
    cJSON *trace = capture_stop(prof);
    if (!metadata_says(trace, "hipboard_hip_notes", reason) &&
        !metadata_says(trace, "hipboard_hip_refused", reason))
        fail_msg("'%s' is not in %s", reason,
                 cJSON_Print(cJSON_GetObjectItem(trace, "hipboard_hip_notes")));
    cJSON_Delete(trace);
}

static void a_wrong_version_is_refused(void **state)
{
    (void)state;
    refused_with("its version is 2.0.0; hipboard knows 0.4 to 0.6 and 1.x");
}

static void an_unreleased_version_is_refused(void **state)
{
    (void)state;
    refused_with("its version is 0.7.0");
}

static void another_tools_configuration_is_respected(void **state)
{
    (void)state;
    refused_with("rocprofiler-sdk: another tool has configured it (version 1.0.0)");
}

static void its_refusals_are_told(void **state)
{
    (void)state;
    refused_with("refuses to report device work: Generalized error");
}

static void a_runtime_that_does_not_report_is_found_out(void **state)
{
    (void)state;
    refused_with("does not hear of this HIP runtime's calls");
}

static void it_is_not_tried_when_hip_has_started(void **state)
{
    (void)state;
    int count;
    HIP_OK(hipGetDeviceCount(&count));
    refused_with("the HIP runtime had been used before");
}

static void a_forked_process_says_that_hip_is_missing(void **state)
{
    (void)state;
    hb_profiler *prof = capture_start(0);
    void *kernel = fake_load(&vadd);
    HIP_OK(launch_by_host(kernel, 1, 0, NULL));
    cJSON_Delete(stop(prof));
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        prof = capture_start(HB_ACTIVITY_HIP);
        HIP_OK(launch_by_host(kernel, 1, 0, NULL));
        cJSON *trace = capture_stop(prof);
        bool said = metadata_says(trace, "hipboard_hip_notes", "in a forked process");
        _exit(said && count_events(trace, "kernel", NULL) == 0 ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    prof = capture_start(0);
    HIP_OK(launch_by_host(kernel, 1, 0, NULL));
    cJSON *trace = stop(prof);
    assert_int_equal(count_events(trace, "kernel", NULL), 1);
    cJSON_Delete(trace);
}

/* ---- processes ---- */

typedef struct scenario {
    const char *settings[4]; /* NAME=value */
    struct CMUnitTest test;
} scenario;

#define SCENARIO(function, ...)                   \
    {                                             \
        {__VA_ARGS__}, cmocka_unit_test(function) \
    }

static const scenario scenarios[] = {
    SCENARIO(every_kernel_is_as_recorded, "FAKE_ROCPROFILER_VERSION=1.0.0"),
    SCENARIO(every_kernel_is_as_recorded, "FAKE_ROCPROFILER_VERSION=0.5.0"),
    SCENARIO(calls_have_their_arguments_and_errors, "FAKE_ROCPROFILER_VERSION=1.2.1"),
    SCENARIO(calls_have_their_arguments_and_errors, "FAKE_ROCPROFILER_VERSION=0.6.0"),
    SCENARIO(kernels_of_libraries_and_given_addresses_are_seen),
    SCENARIO(launches_by_a_structure_show_what_is_in_it),
    SCENARIO(functions_that_are_not_known_may_launch),
    SCENARIO(pitched_memory_has_the_bytes_of_its_rows, "FAKE_ROCPROFILER_VERSION=1.0.0"),
    SCENARIO(graphs_show_all_their_kernels_each_time, "FAKE_ROCPROFILER_VERSION=1.1.0"),
    SCENARIO(work_is_on_the_device_as_hip_counts, "FAKE_HIP_ORDER=6,1,3"),
    SCENARIO(nothing_is_recorded_between_sessions, "FAKE_ROCPROFILER_VERSION=0.4.0"),
    SCENARIO(hip_may_start_between_profiler_and_recording),
    SCENARIO(times_of_another_clock_are_set_right, "FAKE_ROCPROFILER_AHEAD=3600"),
    SCENARIO(calls_that_are_jumped_out_of_are_over),
    SCENARIO(losses_are_counted, "FAKE_ROCPROFILER_DROPS=10"),
    SCENARIO(a_wrong_version_is_refused, "FAKE_ROCPROFILER_VERSION=2.0.0"),
    SCENARIO(an_unreleased_version_is_refused, "FAKE_ROCPROFILER_VERSION=0.7.0"),
    SCENARIO(another_tools_configuration_is_respected, "FAKE_ROCPROFILER_TAKEN=1"),
    SCENARIO(its_refusals_are_told, "FAKE_ROCPROFILER_REFUSES=rocprofiler_create_buffer"),
    SCENARIO(a_runtime_that_does_not_report_is_found_out, "FAKE_HIP_UNREGISTERED=1"),
    SCENARIO(it_is_not_tried_when_hip_has_started),
    SCENARIO(a_forked_process_says_that_hip_is_missing),
};

static int run(const scenario *s)
{
    const struct CMUnitTest tests[] = {s->test};
    for (size_t i = 0; i < sizeof s->settings / sizeof *s->settings && s->settings[i]; i++) {
        printf("with %s\n", s->settings[i]);
        putenv((char *)(uintptr_t)s->settings[i]);
    }
    return cmocka_run_group_tests_name(s->test.name, tests, NULL, NULL);
}

static bool succeeds(const scenario *s)
{
    int status;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) exit(run(s));
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int main(void)
{
    int failures = 0;
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
        failures += !succeeds(&scenarios[i]);
    return failures != 0;
}
