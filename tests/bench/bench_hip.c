/* SPDX-License-Identifier: MIT
 *
 * What HIP capture adds to the host's time of a call, on the simulated GPU: the runtime's own path
 * is real, the device behind it is not, so nothing here is said of a GPU. A round ends before the
 * queue is full.
 *
 *     tools/simhsa/run [--runtime SUITE] build-bench/tests/bench/bench_hip [bare | own | count]
 *
 * HIPBOARD_HIP_BACKEND chooses the back-end; "bare": without hipboard, to compare with; "own": what
 * a launch takes with an empty client of the runtime's hook and with hipboard, in turns; "count":
 * 1000 recorded launches, for launch_instructions.sh.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hipboard/hipboard.h>

#include "empty_hook.h"
#include "nop.h"
#include "rounds.h"

enum { THREADS = 8, STREAMS = 4, LAUNCHES = 2000 };

static hipFunction_t nop;
static hipStream_t stream;
static char *host, *device;

static void set_up(void)
{
    nop = load_nop();
    MUST(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
    MUST(hipHostMalloc((void **)&host, 4096, 0));
    MUST(hipMalloc((void **)&device, 4096));
}

/* ---- time of a call ---- */

static __attribute__((noinline)) void launch(void)
{
    MUST(hipModuleLaunchKernel(nop, 1, 1, 1, 64, 1, 1, 0, stream, NULL, NULL));
}

static void copy(void)
{
    MUST(hipMemcpyAsync(device, host, 4096, hipMemcpyHostToDevice, stream));
}

static void wait(void)
{
    MUST(hipStreamSynchronize(stream));
}

static double start_ms;

static hb_profiler *start_sampling(uint64_t each)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.activities = HB_ACTIVITY_CPU | HB_ACTIVITY_HIP;
    o.spool_dir = "";
    o.kernel_sampling = each;
    hb_profiler *prof = hb_profiler_create(&o);
    double before = now_ns();
    if (!prof || hb_profiler_start(prof) != HB_OK) {
        fprintf(stderr, "%s\n", hb_last_error());
        exit(1);
    }
    start_ms = (now_ns() - before) / 1e6;
    return prof;
}

static hb_profiler *start(void)
{
    return start_sampling(0);
}

typedef struct cost {
    const char *what;
    void (*call)(void);
    series before, between, recorded; /* before the first profiler, between two, with one */
} cost;

static void print(const cost *c)
{
    double before = best(&c->before), recorded = best(&c->recorded);
    printf("%-26s %9.0f %9.0f %9.0f %+9.0f %+8.0f %%\n", c->what, before, best(&c->between),
           recorded, recorded - before, 100 * (recorded - before) / before);
}

static void measure_calls(void)
{
    static cost costs[] = {{.what = "null kernel", .call = launch},
                           {.what = "copy of 4 KiB to device", .call = copy}};
    enum { COSTS = sizeof costs / sizeof *costs };
    double first_start_ms = 0;
    for (int i = 0; i < COSTS * SESSIONS; i++)
        measure(&costs[i % COSTS].before, costs[i % COSTS].call, wait);
    for (int session = 0; session < SESSIONS; session++) {
        hb_profiler *prof = start();
        if (session == 0) first_start_ms = start_ms;
        for (int i = 0; i < COSTS; i++)
            measure(&costs[i].recorded, costs[i].call, wait);
        hb_profiler_destroy(prof);
        for (int i = 0; i < COSTS; i++)
            measure(&costs[i].between, costs[i].call, wait);
    }
    printf("%-26s %9s %9s %9s %9s\n", "ns a call, one thread", "before", "between", "recorded",
           "adds");
    for (int i = 0; i < COSTS; i++)
        print(&costs[i]);
    printf("registration, at the first start: %.1f ms\n", first_start_ms);
}

/* ---- many threads ---- */

static void *launch_many(void *arg)
{
    hipStream_t streams[STREAMS];
    (void)arg;
    for (int i = 0; i < STREAMS; i++)
        MUST(hipStreamCreateWithFlags(&streams[i], hipStreamNonBlocking));
    for (int i = 0; i < LAUNCHES; i++)
        MUST(hipModuleLaunchKernel(nop, 1, 1, 1, 64, 1, 1, 0, streams[i % STREAMS], NULL, NULL));
    for (int i = 0; i < STREAMS; i++)
        MUST(hipStreamSynchronize(streams[i]));
    return NULL;
}

static bool count_kernel(const hb_event *event, void *arg)
{
    *(long *)arg += event->kind == HB_EVENT_KERNEL;
    return true;
}

static void measure_threads(void)
{
    pthread_t threads[THREADS];
    long found = 0, made = (long)THREADS * LAUNCHES;
    hb_profiler *prof = start();
    double begin = now_ns();
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, launch_many, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    hb_profiler_stop(prof);
    double seconds = (now_ns() - begin) / 1e9;
    hb_profiler_events(prof, count_kernel, &found);
    printf("%d threads x %d streams: %ld kernels, %ld recorded, %ld missing, %.0f records a "
           "second\n",
           THREADS, STREAMS, made, found, made - found, (double)found / seconds);
    hb_profiler_destroy(prof);
}

/* ---- without hipboard ---- */

/* The part of the runtime itself in what recording costs. */
static void measure_empty_hook(series *launches)
{
    int version;
    void (*hook)(tracer_function * f);
    void *address = dlsym(RTLD_DEFAULT, "hipRegisterTracerCallback");
    if (!address) return;
    memcpy(&hook, &address, sizeof hook);
    MUST(hipRuntimeGetVersion(&version));
    api_data_size = version < 60000000 ? 840 : 1520; /* of 5.7, and of 6.4 and later */
    hook(empty_tracer);
    measure(launches, launch, wait);
    hook(NULL);
}

static void measure_bare(void)
{
    static series launches, copies, hooked;
    for (int i = 0; i < SESSIONS; i++) {
        measure(&launches, launch, wait);
        measure(&copies, copy, wait);
        measure_empty_hook(&hooked);
    }
    printf("without hipboard: null kernel %.0f ns, copy of 4 KiB %.0f ns\n", best(&launches),
           best(&copies));
    if (hooked.count)
        printf("... with an empty client of the runtime's hook: null kernel %.0f ns\n",
               best(&hooked));
}

/* ---- hipboard's own share ---- */

static void measure_own(void)
{
    static series bare, empty, recorded, sampled;
    for (int i = 0; i < SESSIONS; i++) {
        measure(&bare, launch, wait);
        measure_empty_hook(&empty);
        hb_profiler *prof = start();
        measure(&recorded, launch, wait);
        hb_profiler_destroy(prof);
        prof = start_sampling(8);
        measure(&sampled, launch, wait);
        hb_profiler_destroy(prof);
    }
    /* Without a hook for it (5.2) the client is the runtime's setting for times. */
    double client = empty.count ? best(&empty) : best(&bare);
    printf(
        "null kernel: nobody listens %.0f ns, empty client %.0f, recorded %.0f (own share %+.0f), "
        "with kernel_sampling 8 %.0f\n",
        best(&bare), client, best(&recorded), best(&recorded) - client, best(&sampled));
}

static void count_launches(void)
{
    hb_profiler *prof = start();
    for (int i = 0; i < 1000; i++)
        launch();
    wait();
    hb_profiler_destroy(prof);
}

/* A profiler that is made before the runtime starts, as programs should. */
static void prepare(void)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    hb_profiler_destroy(hb_profiler_create(&o));
}

int main(int argc, char **argv)
{
    int version;
    hb_hip_info *info;
    bool bare = argc > 1 && strcmp(argv[1], "bare") == 0;
    setenv("SIMHSA_KERNEL_NS", "0", 0);
    setenv("SIMHSA_COPY_NS", "0", 0);
    if (!bare) prepare();
    set_up();
    if (bare) {
        measure_bare();
        return 0;
    }
    if (argc > 1 && strcmp(argv[1], "own") == 0) {
        measure_own();
        return 0;
    }
    if (argc > 1 && strcmp(argv[1], "count") == 0) {
        count_launches();
        return 0;
    }
    MUST(hipRuntimeGetVersion(&version));
    if (hb_hip_info_get(false, &info) != HB_OK) return 1;
    printf("HIP %d.%d, back-end %s, %s\n", version / 10000000, version / 100000 % 100,
           info->backend, info->num_gpus ? info->gpus[0].name : "no device");
    hb_hip_info_free(info);
    measure_calls();
    measure_threads();
    return 0;
}
