/* SPDX-License-Identifier: MIT
 *
 * Events from a generator that costs next to nothing, for benchmarks of what is written; and
 * clocks.
 */
#ifndef HB_BENCH_GENERATED_H
#define HB_BENCH_GENERATED_H

#include <sys/resource.h>
#include <time.h>

#include "base/base.h"
#include "trace/source.h"

/* BARE: kernels without a call, grid or registers. */
typedef enum workload_kind { SCOPES, OPERATORS, KERNELS, BARE } workload_kind;

typedef struct generator {
    hb_source source;
    hb_trace_info info;
    workload_kind workload;
    uint64_t count, at;
    hb_pass pass;
    uint64_t random;
} generator;

static const char *const names[] = {
    "aten::empty",
    "aten::addmm",
    "aten::relu",
    "aten::copy_",
    "aten::as_strided",
    "forward",
    "enumerate(DataLoader)#Loader.__next__",
    "aten::_convolution",
};
static const int64_t dims[] = {64, 128, 28, 28}, strides[] = {100352, 784, 28, 1};
static const hb_input inputs[] = {
    {.kind = HB_INPUT_TENSOR, .dtype = HB_FLOAT32, .count = 4, .dims = dims, .strides = strides},
    {.kind = HB_INPUT_TENSOR,
     .dtype = HB_FLOAT32,
     .count = 2,
     .dims = dims,
     .strides = strides + 2},
    {.kind = HB_INPUT_INT, .i = 1},
};

static hb_result begin(hb_source *source, hb_pass pass)
{
    generator *g = (generator *)source;
    g->pass = pass;
    g->at = 0;
    g->random = 88172645463325252u;
    return HB_OK;
}

static uint64_t next_random(generator *g)
{
    g->random ^= g->random << 13;
    g->random ^= g->random >> 7;
    return g->random ^= g->random << 17;
}

/* Every eighth is a parent of the seven after it. */
static void host_event(generator *g, hb_trace_event *event)
{
    unsigned which = (unsigned)(next_random(g) % HB_ARRAY_LEN(names));
    int64_t start = g->info.start_ns + (int64_t)g->at * 700 + (int64_t)(g->random % 300);
    event->kind = g->workload == SCOPES ? HB_EVENT_USER_ANNOTATION : HB_EVENT_OP;
    event->flags = 0;
    event->name = (hb_str){names[which], (uint32_t)strlen(names[which])};
    event->name_key = which + 1;
    event->start_ns = start;
    event->end_ns = g->at % 8 == 0 ? start + 8 * 700 - 400 : start + (int64_t)(g->random % 350);
    event->tid = g->info.pid;
    event->device = -1;
    event->external_id = g->at + 1;
    event->op = (hb_op_args){.thread_number = 1};
    if (g->workload == OPERATORS) {
        event->op.inputs = inputs;
        event->op.num_inputs = HB_ARRAY_LEN(inputs);
    }
}

/* A launch, then its kernel. */
static void device_event(generator *g, hb_trace_event *event)
{
    bool launch = g->at % 2 == 0;
    int64_t start = g->info.start_ns + (int64_t)g->at * 2500 + (int64_t)(next_random(g) % 900);
    hb_str name = launch ? HB_STR("hipLaunchKernel") : HB_STR("void gemm<float, 64, 64>(float*)");
    *event = (hb_trace_event){
        .kind = launch ? HB_EVENT_RUNTIME : HB_EVENT_KERNEL,
        .name = name,
        .name_key = launch ? 1 : 2,
        .start_ns = start,
        .end_ns = start + 1800 + (int64_t)(g->random % 500),
        .tid = launch ? g->info.pid : 1,
        .device = launch ? -1 : 0,
        .external_id = g->at / 2 + 1,
        .correlation = g->at / 2 + 1,
    };
    if (launch)
        event->runtime = (hb_runtime_args){.cid = 107,
                                           .launches = true,
                                           .has_grid = true,
                                           .grid = {144, 1, 1},
                                           .block = {256, 1, 1}};
    else
        event->kernel = (hb_kernel_args){.has_grid = true,
                                         .grid = {144, 1, 1},
                                         .block = {256, 1, 1},
                                         .has_resources = true,
                                         .vgprs = 64,
                                         .blocks_per_sm = 144 / 304.,
                                         .occupancy = 37.5};
}

static void bare_kernel(generator *g, hb_trace_event *event)
{
    int64_t start = g->info.start_ns + (int64_t)g->at * 2500 + (int64_t)(next_random(g) % 900);
    *event = (hb_trace_event){
        .kind = HB_EVENT_KERNEL,
        .flags = HB_TEV_NO_CALL,
        .name = HB_STR("void gemm<float, 64, 64>(float*)"),
        .name_key = 1,
        .start_ns = start,
        .end_ns = start + 1000 + (int64_t)(g->random % 500),
        .tid = 1,
        .kernel = {.occupancy = -1},
    };
}

static bool next(hb_source *source, hb_trace_event *event)
{
    generator *g = (generator *)source;
    hb_pass own = g->workload >= KERNELS ? HB_PASS_DEVICE : HB_PASS_HOST;
    if (g->pass != own || g->at == g->count) return false;
    if (g->workload == BARE)
        bare_kernel(g, event);
    else if (g->workload == KERNELS)
        device_event(g, event);
    else
        host_event(g, event);
    g->at++;
    return true;
}

static generator make_generator(workload_kind workload, uint64_t count)
{
    static const hb_thread_info thread = {4711, "bench"};
    static const hb_stream_info stream = {.device = 0, .stream = 1};
    return (generator){
        .source = {.begin = begin, .next = next},
        .workload = workload,
        .count = count,
        .info = {.start_ns = 1795256296000000000,
                 .stop_ns = 1795256396000000000,
                 .pid = 4711,
                 .process_name = "bench",
                 .host_name = "host",
                 .trace_id = "0",
                 .threads = &thread,
                 .num_threads = 1,
                 .streams = &stream,
                 .num_streams = 1},
    };
}

static double now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static long peak_kib(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

#endif
