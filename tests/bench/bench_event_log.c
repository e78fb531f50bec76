/* SPDX-License-Identifier: MIT
 *
 * What a scalar costs its caller, and how long it takes to be in the file; with a Python that has
 * torch, the same for torch's SummaryWriter.
 *
 *     bench_event_log DIR [PYTHON [SCALARS]]
 *
 * ns/call are processor time of the calling thread, so that other load on the machine counts less;
 * seconds are by the clock. Best of five for hipboard, once for torch. DIR gets the files and keeps
 * them.
 */
#include <hipboard/event_log.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS      5
#define MAX_THREADS 4

static int scalars = 1000000;

static double clock_ns(clockid_t clock)
{
    struct timespec at;
    clock_gettime(clock, &at);
    return (double)at.tv_sec * 1e9 + (double)at.tv_nsec;
}

static double now_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

static double my_ns(void)
{
    return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static hb_event_log *open_log(const char *dir)
{
    hb_event_log_options options = HB_EVENT_LOG_OPTIONS_INIT;
    options.max_queue_bytes = (uint64_t)512 << 20; /* nothing is dropped */
    hb_event_log *log = hb_event_log_open(dir, &options);
    if (log) return log;
    fprintf(stderr, "bench_event_log: %s\n", hb_last_error());
    exit(1);
}

static void check(hb_result result)
{
    if (result == HB_OK) return;
    fprintf(stderr, "bench_event_log: %s\n", hb_last_error());
    exit(1);
}

/* ---- one thread after the other call ---- */

typedef struct timing {
    double call_ns, written_s, bytes;
} timing;

static timing time_one_thread(const char *dir)
{
    hb_event_log *log = open_log(dir);
    double start = now_ns(), mine = my_ns();
    for (int i = 0; i < scalars; i++)
        hb_event_log_scalar(log, "train/loss", i, i * 0.5);
    mine = my_ns() - mine;
    check(hb_event_log_flush(log));
    double written = now_ns();
    struct stat status = {0};
    stat(hb_event_log_path(log), &status);
    check(hb_event_log_close(log));
    return (timing){mine / scalars, (written - start) / 1e9, (double)status.st_size};
}

static double bench_one_thread(const char *dir)
{
    timing best = {1e9, 1e9, 0};
    for (int round = 0; round < ROUNDS; round++) {
        timing t = time_one_thread(dir);
        if (t.call_ns < best.call_ns) best.call_ns = t.call_ns;
        if (t.written_s < best.written_s) best.written_s = t.written_s;
        best.bytes = t.bytes;
    }
    printf("1 thread, %d scalars        %8.1f ns/call   %8.3f s until written   %5.1f bytes each\n",
           scalars, best.call_ns, best.written_s, best.bytes / scalars);
    return best.written_s;
}

/* ---- several threads at once ---- */

typedef struct worker {
    pthread_t thread;
    pthread_barrier_t *start;
    hb_event_log *log;
    int calls;
    double ns;
} worker;

static void *work(void *arg)
{
    worker *self = arg;
    pthread_barrier_wait(self->start);
    double start = my_ns();
    for (int i = 0; i < self->calls; i++)
        hb_event_log_scalar(self->log, "train/loss", i, i * 0.5);
    self->ns = (my_ns() - start) / self->calls;
    return NULL;
}

static double time_threads(const char *dir, int threads)
{
    worker workers[MAX_THREADS];
    pthread_barrier_t barrier;
    hb_event_log *log = open_log(dir);
    pthread_barrier_init(&barrier, NULL, (unsigned)threads);
    for (int i = 0; i < threads; i++) {
        workers[i] = (worker){.start = &barrier, .log = log, .calls = scalars / threads};
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    }
    double sum = 0;
    for (int i = 0; i < threads; i++) {
        pthread_join(workers[i].thread, NULL);
        sum += workers[i].ns;
    }
    check(hb_event_log_close(log));
    pthread_barrier_destroy(&barrier);
    return sum / threads;
}

static void bench_threads(const char *dir, int threads)
{
    double best = 1e9;
    for (int round = 0; round < ROUNDS; round++) {
        double ns = time_threads(dir, threads);
        if (ns < best) best = ns;
    }
    printf("%d threads, %d in all      %8.1f ns/call\n", threads, scalars, best);
}

/* ---- as a training loop does: now and then, with cold caches ---- */

#define PACED 2000

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void bench_paced(const char *dir)
{
    static double ns[PACED];
    static char other_work[4 << 20];
    hb_event_log *log = open_log(dir);
    for (int i = 0; i < PACED; i++) {
        memset(other_work, i, sizeof other_work);
        double start = now_ns();
        hb_event_log_scalar(log, "train/loss", i, i * 0.5);
        ns[i] = now_ns() - start;
    }
    check(hb_event_log_close(log));
    qsort(ns, PACED, sizeof ns[0], by_size);
    printf(
        "1 call after 4 MiB of work     %8.1f ns median, %.1f ns at 99 %%, with two clock reads\n",
        ns[PACED / 2], ns[PACED * 99 / 100]);
}

/* ---- hb_scalar(): through the profiler ---- */

static double time_profiled(const char *dir, bool recorded)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.activities = HB_ACTIVITY_CPU;
    o.schedule = hb_schedule_make(.wait = recorded ? 0 : 2, .active = 1);
    o.on_trace_ready = hb_tensorboard_trace_handler(dir, "bench", 0);
    hb_profiler *prof = hb_profiler_create(&o);
    check(prof ? hb_profiler_start(prof) : HB_ERROR_STATE);
    double mine = my_ns();
    for (int i = 0; i < scalars; i++)
        hb_scalar("train/loss", i * 0.5);
    mine = my_ns() - mine;
    check(hb_profiler_stop(prof));
    hb_profiler_destroy(prof);
    return mine / scalars;
}

static void bench_profiled(const char *dir)
{
    double best[2] = {1e9, 1e9};
    for (int round = 0; round < ROUNDS; round++) {
        for (int recorded = 0; recorded < 2; recorded++) {
            double ns = time_profiled(dir, recorded);
            if (ns < best[recorded]) best[recorded] = ns;
        }
    }
    double start = my_ns();
    for (int i = 0; i < scalars; i++)
        hb_scalar("train/loss", i * 0.5);
    double none = (my_ns() - start) / scalars;
    printf(
        "hb_scalar()                    %8.1f ns/call, %.1f ns in recorded steps, %.1f ns without "
        "a profiler\n",
        best[0], best[1], none);
}

/* ---- torch ---- */

static void bench_torch(const char *dir, const char *python, double ours)
{
    static const char script[] =
        "import sys, time\n"
        "from torch.utils.tensorboard import SummaryWriter\n"
        "writer = SummaryWriter(sys.argv[1])\n"
        "start, mine = time.perf_counter(), time.thread_time()\n"
        "for i in range(int(sys.argv[2])): writer.add_scalar(\"train/loss\", i * 0.5, i)\n"
        "mine = time.thread_time() - mine\n"
        "writer.flush()\n"
        "print(mine, time.perf_counter() - start)\n";
    char command[4096];
    snprintf(command, sizeof command, "'%s' -c '%s' '%s' %d", python, script, dir, scalars);
    FILE *pipe = popen(command, "r");
    double mine, written;
    if (!pipe || fscanf(pipe, "%lf %lf", &mine, &written) != 2) {
        fprintf(stderr, "bench_event_log: %s has no torch with tensorboard\n", python);
        exit(1);
    }
    pclose(pipe);
    printf("torch SummaryWriter            %8.1f ns/call   %8.3f s until written   %.0f times as "
           "long\n",
           mine * 1e9 / scalars, written, written / ours);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "bench_event_log DIR [PYTHON [SCALARS]]\n");
        return 2;
    }
    if (argc > 3) scalars = atoi(argv[3]);
    double ours = bench_one_thread(argv[1]);
    for (int threads = 2; threads <= MAX_THREADS; threads *= 2)
        bench_threads(argv[1], threads);
    bench_paced(argv[1]);
    bench_profiled(argv[1]);
    if (argc > 2) bench_torch(argv[1], argv[2], ours);
    return 0;
}
