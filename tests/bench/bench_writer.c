/* SPDX-License-Identifier: MIT
 *
 * How fast the trace writer is and how little memory it takes: events from a generator that costs
 * next to nothing go to memory, to gzip and to a file.
 *
 *     bench_writer [million events]
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "generated.h"
#include "io/gzip.h"
#include "write/write.h"

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
