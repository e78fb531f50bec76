/* SPDX-License-Identifier: MIT
 *
 * What a call of a library costs more when it is an operator by a table: when no table names it,
 * when one does and nobody records, and when it is recorded with two inputs and FLOPs, beside an
 * operator of the same inputs that the program marks itself.
 *
 *     build-bench/tests/bench/bench_operators
 */
#include <hipboard/hipboard.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int bench_multiply(int m, int n, int k, const float *a, const float *b, float *c);

enum { CALLS = 2000, ROUNDS = 60 }; /* as many as chunks hold without waiting for the writer */

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void call(void)
{
    bench_multiply(64, 48, 32, NULL, NULL, NULL);
}

static void call_marked(void)
{
    HB_OP_GUARD("bench_multiply",
                HB_INPUTS(HB_TENSOR(HB_FLOAT32, 64, 32), HB_TENSOR(HB_FLOAT32, 32, 48)),
                .flops = 196608);
    bench_multiply(64, 48, 32, NULL, NULL, NULL);
}

static double time_of(void (*one)(void))
{
    double best = 1e30;
    for (int round = 0; round < ROUNDS; round++) {
        double begin = now_ns();
        for (int i = 0; i < CALLS; i++)
            one();
        double ns = (now_ns() - begin) / CALLS;
        best = ns < best ? ns : best;
    }
    return best;
}

static hb_profiler *profiler(const char *table)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.activities = HB_ACTIVITY_CPU;
    o.record_shapes = o.with_flops = true;
    o.spool_dir = "";
    o.operators = table;
    hb_profiler *prof = hb_profiler_create(&o);
    if (!prof) {
        fprintf(stderr, "%s\n", hb_last_error());
        exit(1);
    }
    return prof;
}

static double recorded(const char *table, void (*one)(void))
{
    hb_profiler *prof = profiler(table);
    hb_profiler_start(prof);
    double ns = time_of(one);
    hb_profiler_stop(prof);
    hb_profiler_destroy(prof);
    return ns;
}

int main(void)
{
    char path[] = "/tmp/bench_operators.XXXXXX";
    int fd = mkstemp(path);
    FILE *table = fd < 0 ? NULL : fdopen(fd, "w");
    if (!table) return 1;
    fprintf(table, "bench_multiply | m:i n:i k:i a b c | f32[m,k] f32[k,n] | 2*m*n*k\n");
    fclose(table);
    double off = time_of(call);
    double marked = recorded(NULL, call_marked);
    hb_profiler *prof = profiler(path);
    double idle = time_of(call);
    double by_table = recorded(path, call);
    hb_profiler_destroy(prof);
    unlink(path);
    printf("ns a call: %.1f off, +%.1f idle, +%.1f recorded by a table, +%.1f marked by hb_op()\n",
           off, idle - off, by_table - off, marked - off);
    return 0;
}
