/* SPDX-License-Identifier: MIT
 *
 * What recording costs the caller: nanoseconds a call, best of several rounds, beside an empty loop
 * and two reads of the processor's counter; one thread, and two at once. Prints a table; with
 * --json one object.
 */
#include <hipboard/hipboard.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

enum { CALLS = 200000, ROUNDS = 15 };

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void empty(int i)
{
    __asm__ volatile("" ::"r"(i));
}

static void two_counter_reads(int i)
{
#if defined(__x86_64__)
    unsigned long long a = __rdtsc(), b = __rdtsc();
    __asm__ volatile("" ::"r"(a), "r"(b), "r"(i));
#else
    empty(i);
#endif
}

static void scope(int i)
{
    HB_RECORD_FUNCTION("bench_scope") {
        empty(i);
    }
}

static void scope_by_name(int i)
{
    static const char *const names[] = {"forward", "backward", "optimizer", "loss"};
    HB_RECORD_FUNCTION_NAMED(names[i & 3]) {
        empty(i);
    }
}

static void op(int i)
{
    HB_OP("aten::relu") {
        empty(i);
    }
}

static void op_with_shapes(int i)
{
    HB_OP("aten::mm", HB_INPUTS(HB_TENSOR(HB_FLOAT32, 64, 32), HB_TENSOR(HB_FLOAT32, 32, 16))) {
        empty(i);
    }
}

static void op_with_other_shapes(int i)
{
    HB_OP("aten::mm", HB_INPUTS(HB_TENSOR(HB_FLOAT32, 64, i), HB_TENSOR(HB_FLOAT32, i, 16))) {
        empty(i);
    }
}

static void op_with_all(int i)
{
    HB_OP("aten::mm", HB_INPUTS(HB_TENSOR(HB_FLOAT32, 64, 32), HB_TENSOR(HB_FLOAT32, 32, 16)),
          .flops = hb_flops_mm(64, 32, 16), .sequence_number = (uint64_t)i + 1) {
        empty(i);
    }
}

static void memory(int i)
{
    hb_memory_alloc(HB_DEVICE_CPU, 0, &i, 4096);
}

static double best_of(void (*fn)(int))
{
    double best = 1e30;
    for (int round = 0; round < ROUNDS; round++) {
        double start = now_ns();
        for (int i = 0; i < CALLS; i++)
            fn(i);
        double ns = (now_ns() - start) / CALLS;
        if (ns < best) best = ns;
    }
    return best;
}

static hb_profiler *start(uint64_t max_record_bytes)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.max_record_bytes = max_record_bytes;
    o.record_shapes = o.profile_memory = o.with_flops = true;
    o.spool_dir = "";
    hb_profiler *prof = hb_profiler_create(&o);
    if (!prof || hb_profiler_start(prof) != HB_OK) {
        fprintf(stderr, "bench_record: %s\n", hb_last_error());
        exit(1);
    }
    return prof;
}

static void finish(hb_profiler *prof)
{
    hb_lost lost = {.struct_size = sizeof lost};
    hb_profiler_stop(prof);
    hb_profiler_lost(prof, &lost);
    if (lost.buffer_full)
        fprintf(stderr, "bench_record: %llu records were lost\n",
                (unsigned long long)lost.buffer_full);
    hb_profiler_destroy(prof);
}

static bool count_one(const hb_event *event, void *arg)
{
    (void)event;
    ++*(double *)arg;
    return true;
}

/* Bytes of records an event: as many as fit into a limit that is reached. */
static double bytes_of(void (*fn)(int))
{
    enum { LIMIT = 16 << 20 };
    double kept = 0;
    hb_profiler *prof = start(LIMIT);
    for (int i = 0; i < LIMIT / 2; i++)
        fn(i);
    hb_profiler_stop(prof);
    hb_profiler_events(prof, count_one, &kept);
    hb_profiler_destroy(prof);
    return kept > 0 ? LIMIT / kept : 0;
}

typedef struct worker {
    pthread_t thread;
    pthread_barrier_t *barrier;
    void (*fn)(int);
    double ns;
} worker;

static void *run_worker(void *arg)
{
    worker *w = arg;
    pthread_barrier_wait(w->barrier);
    w->ns = best_of(w->fn);
    return NULL;
}

static double two_threads(void (*fn)(int))
{
    pthread_barrier_t barrier;
    worker w[2];
    pthread_barrier_init(&barrier, NULL, 2);
    for (int i = 0; i < 2; i++) {
        w[i] = (worker){.barrier = &barrier, .fn = fn};
        pthread_create(&w[i].thread, NULL, run_worker, &w[i]);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(w[i].thread, NULL);
    pthread_barrier_destroy(&barrier);
    return w[0].ns > w[1].ns ? w[0].ns : w[1].ns;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*fn)(int);
    } rows[] = {
        {"empty loop", empty},
        {"two counter reads", two_counter_reads},
        {"scope, literal name", scope},
        {"scope, any name", scope_by_name},
        {"operator", op},
        {"operator with shapes", op_with_shapes},
        {"operator with other shapes each time", op_with_other_shapes},
        {"operator with shapes, FLOPs, sequence", op_with_all},
        {"memory event", memory},
    };
    bool json = argc > 1 && strcmp(argv[1], "--json") == 0;
    if (!json) printf("%-40s %8s %8s %10s %8s\n", "ns a call", "off", "on", "2 threads", "bytes");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double off = best_of(rows[i].fn);
        hb_profiler *prof = start(0);
        double on = best_of(rows[i].fn);
        finish(prof);
        prof = start(0);
        double both = two_threads(rows[i].fn);
        finish(prof);
        double bytes = bytes_of(rows[i].fn);
        if (json)
            printf("%s\"%s\": {\"off\": %.2f, \"on\": %.2f, \"two_threads\": %.2f, "
                   "\"bytes\": %.1f}%s\n",
                   i ? " " : "{", rows[i].name, off, on, both, bytes,
                   i + 1 < sizeof rows / sizeof *rows ? "," : "}");
        else
            printf("%-40s %8.2f %8.2f %10.2f %8.1f\n", rows[i].name, off, on, both, bytes);
    }
    return 0;
}
