/* SPDX-License-Identifier: MIT
 *
 * How fast a trace is read and analysed, and how much memory that takes.
 *
 *     bench_read FILE...
 *
 * Each line is a process of its own, so that its largest memory is its own: the best of five runs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <hipboard/analysis.h>

enum { RUNS = 5 };

typedef struct sample {
    double open_s, views_s, cpu_s;
    double text_bytes, model_bytes, events, memory_mb;
} sample;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static const char *const views[] = {"overview",
                                    "operation",
                                    "operation/table",
                                    "operation/table?group_by=OperationAndInputShape",
                                    "kernel",
                                    "kernel/table",
                                    "kernel/table?group_by=Kernel",
                                    "kernel/tc_pie",
                                    "memory",
                                    "memory_curve",
                                    "memory_events",
                                    "module"};

static sample measure(const char *path)
{
    sample s = {0};
    hb_trace_file *file;
    struct rusage usage;
    double start = now();
    if (hb_trace_file_open(path, NULL, &file) != HB_OK) {
        fprintf(stderr, "%s\n", hb_last_error());
        exit(1);
    }
    s.open_s = now() - start;
    s.events = (double)hb_trace_file_num_events(file);
    s.text_bytes = (double)hb_trace_file_text_bytes(file);
    s.model_bytes = (double)hb_trace_file_memory_bytes(file);
    start = now();
    for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
        char *json = NULL;
        (void)hb_trace_file_query(file, views[i], &json, NULL); /* a view may be absent */
        hb_free(json);
    }
    s.views_s = now() - start;
    getrusage(RUSAGE_SELF, &usage);
    s.memory_mb = (double)usage.ru_maxrss / 1024;
    s.cpu_s = seconds(usage.ru_utime) + seconds(usage.ru_stime);
    hb_trace_file_close(file);
    return s;
}

static sample measure_apart(const char *path)
{
    int pipes[2];
    sample s;
    if (pipe(pipes) != 0) exit(1);
    pid_t child = fork();
    if (child == 0) {
        s = measure(path);
        _exit(write(pipes[1], &s, sizeof s) == (ssize_t)sizeof s ? 0 : 1);
    }
    if (child < 0 || read(pipes[0], &s, sizeof s) != (ssize_t)sizeof s) exit(1);
    waitpid(child, NULL, 0);
    close(pipes[0]);
    close(pipes[1]);
    return s;
}

int main(int argc, char **argv)
{
    printf("%-32s %10s %9s %8s %8s %9s %8s %10s %9s\n", "file", "MB of text", "events", "read s",
           "MB/s", "+ views s", "CPU s", "B an event", "MB in all");
    for (int i = 1; i < argc; i++) {
        sample best = {0};
        for (int run = 0; run < RUNS; run++) {
            sample s = measure_apart(argv[i]);
            if (run == 0 || s.open_s + s.views_s < best.open_s + best.views_s) best = s;
        }
        const char *slash = strrchr(argv[i], '/');
        printf("%-32.32s %10.1f %9.0f %8.3f %8.0f %9.3f %8.3f %10.1f %9.0f\n",
               slash ? slash + 1 : argv[i], best.text_bytes / 1e6, best.events, best.open_s,
               best.text_bytes / 1e6 / best.open_s, best.open_s + best.views_s, best.cpu_s,
               best.model_bytes / (best.events > 0 ? best.events : 1), best.memory_mb);
    }
    return 0;
}
