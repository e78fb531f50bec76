/* SPDX-License-Identifier: MIT
 *
 * How fast the trace writer is and how little memory it takes: events from a generator that costs
 * next to nothing go to memory, to gzip and to a file.
 *
 *     bench_writer [million events]
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "io/gzip.h"
#include "write/write.h"

typedef enum workload_kind { SCOPES, OPERATORS, KERNELS } workload_kind;

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

static bool next(hb_source *source, hb_trace_event *event)
{
    generator *g = (generator *)source;
    hb_pass own = g->workload == KERNELS ? HB_PASS_DEVICE : HB_PASS_HOST;
    if (g->pass != own || g->at == g->count) return false;
    if (g->workload == KERNELS)
        device_event(g, event);
    else
        host_event(g, event);
    g->at++;
    return true;
}

static generator make_generator(workload_kind workload, uint64_t count)
{
    static const hb_thread_info thread = {4711, "bench"};
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
                 .num_threads = 1},
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

/* Memory as a caller would reuse it: a warm buffer, written over and over. */
typedef struct warm_sink {
    hb_sink sink;
    char *data;
    size_t size, at;
} warm_sink;

static hb_result warm_write(hb_sink *sink, const void *data, size_t size)
{
    warm_sink *warm = (warm_sink *)sink;
    if (warm->at + size > warm->size) warm->at = 0;
    memcpy(warm->data + warm->at, data, size);
    warm->at += size;
    return HB_OK;
}

typedef enum target_kind {
    TO_MEMORY,
    TO_GZIP,        /* the coder that is smaller */
    TO_GZIP_ZLIB,   /* by zlib alone */
    TO_GZIP_EVENTS, /* by the events' likeness alone */
    TO_FILE,
    TO_GZIP_FILE
} target_kind;
static const char *const targets[] = {"memory",    "gzip", "gzip, zlib",
                                      "gzip, own", "file", "gzip file"};

static hb_result write_to(generator *g, target_kind target, hb_write_options o,
                          hb_write_stats *stats)
{
    warm_sink warm = {{warm_write}, malloc(64 << 20), 64 << 20, 0};
    memset(warm.data, 1, warm.size);
    const char *path = o.gzip ? "bench_writer.json.gz" : "bench_writer.json";
    hb_result result;
    if (target == TO_MEMORY) {
        result = hb_write_trace(&g->source, &warm.sink, &o, stats);
    } else if (target <= TO_GZIP_EVENTS) {
        static const hb_gzip_coder coders[] = {
            [TO_GZIP] = HB_GZIP_SMALLER,
            [TO_GZIP_ZLIB] = HB_GZIP_ZLIB,
            [TO_GZIP_EVENTS] = HB_GZIP_EVENTS,
        };
        hb_gzip gzip;
        result = hb_gzip_open(&gzip, &warm.sink, NULL, 0, coders[target]);
        result = result ? result : hb_write_trace(&g->source, &gzip.sink, &o, stats);
        result = result ? result : hb_gzip_finish(&gzip);
        stats->bytes = gzip.out.bytes;
        hb_gzip_free(&gzip);
    } else {
        result = hb_write_trace_file(&g->source, path, &o, stats);
        unlink(path);
    }
    free(warm.data);
    return result;
}

static void bench(workload_kind workload, hb_write_dialect dialect, target_kind target,
                  uint64_t count)
{
    static const char *const workloads[] = {"scopes", "operators", "launches+kernels"};
    generator g = make_generator(workload, count);
    g.source.info = &g.info;
    hb_write_options o = {
        .dialect = dialect, .replace = true, .trace_name = "bench", .gzip = target == TO_GZIP_FILE};
    hb_write_stats stats = {0};
    double cpu = 1e9, wall = 1e9;
    for (int round = 0; round < 3; round++) {
        double cpu_start = now(CLOCK_PROCESS_CPUTIME_ID), start = now(CLOCK_MONOTONIC);
        if (write_to(&g, target, o, &stats) != HB_OK) {
            printf("%s\n", hb_last_error());
            exit(1);
        }
        cpu = HB_MIN(cpu, now(CLOCK_PROCESS_CPUTIME_ID) - cpu_start);
        wall = HB_MIN(wall, now(CLOCK_MONOTONIC) - start);
    }
    printf("%-17s %-12s %-10s %8.2f M/s %8.2f M/s %8.0f MB/s %8.1f B/event %7.1fx %8ld KiB\n",
           workloads[workload], dialect == HB_WRITE_KINETO ? "kineto" : "tensorboard",
           targets[target], (double)count / cpu / 1e6, (double)count / wall / 1e6,
           (double)stats.json_bytes / cpu / 1e6, (double)stats.bytes / (double)count,
           (double)stats.json_bytes / (double)stats.bytes, peak_kib());
}

int main(int argc, char **argv)
{
    uint64_t count = (uint64_t)((argc > 1 ? atof(argv[1]) : 1) * 1e6);
    printf("%llu events, best of 3, one thread; peak memory so far, of which 64 MiB the target "
           "buffer\n",
           (unsigned long long)count);
    printf("%-17s %-12s %-10s %12s %12s %13s %16s %8s %12s\n", "events", "dialect", "to",
           "per CPU time", "per time", "JSON per CPU", "size", "ratio", "peak memory");
    for (workload_kind w = SCOPES; w <= KERNELS; w++)
        for (hb_write_dialect d = HB_WRITE_TENSORBOARD; d <= HB_WRITE_KINETO; d++)
            bench(w, d, TO_MEMORY, count);
    for (workload_kind w = SCOPES; w <= KERNELS; w++)
        for (target_kind t = TO_GZIP; t <= TO_GZIP_EVENTS; t++)
            bench(w, HB_WRITE_TENSORBOARD, t, count);
    bench(SCOPES, HB_WRITE_TENSORBOARD, TO_FILE, count);
    bench(SCOPES, HB_WRITE_TENSORBOARD, TO_GZIP_FILE, count);
    return 0;
}
