/* SPDX-License-Identifier: MIT
 *
 * How long many runs take to be compared, and how much memory that takes.
 *
 *     bench_compare DIRECTORY [RUNS [MB]]      (default 50 runs of 100 MB)
 *
 * The runs are recorded into DIRECTORY first, unless they are there: a training loop's calls, layer
 * by layer with modules and shapes, ten steps a run. They stay there for the next time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <hipboard/compare.h>

enum { STEPS = 10, LAYERS = 48, OPS_A_LAYER = 12, BYTES_AN_EVENT = 375 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void die(void)
{
    fprintf(stderr, "bench_compare: %s\n", hb_last_error());
    exit(1);
}

/* ---- the runs ---- */

static void layer(hb_module *modules, int number)
{
    HB_MODULE(modules[number]) {
        for (int i = 0; i < OPS_A_LAYER / 3; i++) {
            HB_OP("aten::linear", HB_INPUTS(HB_TENSOR(HB_FLOAT32, 64, 256 + i),
                                            HB_TENSOR(HB_FLOAT32, 256 + i, 64))) {
                HB_OP("aten::addmm", HB_INPUTS(HB_TENSOR(HB_FLOAT32, 64, 256 + i),
                                               HB_TENSOR(HB_FLOAT32, 256 + i, 64))) {
                }
            }
            HB_OP("aten::relu", HB_INPUTS(HB_TENSOR(HB_FLOAT32, 64, 64))) {
            }
        }
    }
}

static void record(const char *directory, hb_module *modules, double megabytes)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    double events = megabytes * 1e6 / BYTES_AN_EVENT;
    int batches = (int)(events / STEPS / (LAYERS * (OPS_A_LAYER + 1))) + 1;
    o.schedule = hb_schedule_make(.active = STEPS, .repeat = 1);
    o.on_trace_ready = hb_tensorboard_trace_handler(directory, "bench", HB_NO_EVENT_FILE);
    o.record_shapes = o.with_modules = true;
    hb_profiler *prof = hb_profiler_create(&o);
    if (!prof || hb_profiler_start(prof) != HB_OK) die();
    for (int step = 0; step < STEPS; step++) {
        for (int batch = 0; batch < batches; batch++)
            for (int i = 0; i < LAYERS; i++)
                layer(modules, i);
        if (hb_profiler_step(prof) != HB_OK) die();
    }
    if (hb_profiler_stop(prof) != HB_OK) die();
    hb_profiler_destroy(prof);
}

static void record_all(const char *directory, int runs, double megabytes)
{
    hb_module modules[LAYERS];
    for (int i = 0; i < LAYERS; i++)
        modules[i] = hb_module_create("DecoderLayer");
    for (int run = 0; run < runs; run++) {
        char path[4096];
        struct stat st;
        snprintf(path, sizeof path, "%s/run%02d", directory, run);
        if (stat(path, &st) != 0) record(path, modules, megabytes);
    }
}

/* ---- comparing ---- */

static double text_bytes;

static bool add_up(void *context, const hb_logdir_file *file)
{
    struct stat st;
    (void)context;
    if (stat(file->path, &st) == 0) text_bytes += (double)st.st_size;
    return true;
}

static size_t measure_files(const char *directory)
{
    hb_logdir *logdir;
    if (hb_logdir_open(directory, NULL, &logdir) != HB_OK) die();
    size_t runs = hb_logdir_num_runs(logdir);
    hb_logdir_files(logdir, add_up, NULL);
    hb_logdir_close(logdir);
    return runs;
}

/* In a process of its own, whose largest memory is then that of the comparison. */
static void compare(const char *directory, unsigned threads)
{
    hb_compare_options o = HB_COMPARE_OPTIONS_INIT;
    hb_comparison *c;
    struct rusage usage;
    char *text;
    double start = now();
    o.threads = threads;
    if (hb_compare(&directory, 1, &o, &c) != HB_OK) die();
    double loaded = now();
    if (hb_comparison_text(c, NULL, &text, NULL) != HB_OK) die();
    double written = now();
    getrusage(RUSAGE_SELF, &usage);
    printf("%8u %10.2f %10.2f %10.2f %8.0f %8.0f\n", threads, loaded - start, written - loaded,
           written - start, text_bytes / 1e6 / (written - start), (double)usage.ru_maxrss / 1024);
    hb_free(text);
    hb_comparison_free(c);
}

int main(int argc, char **argv)
{
    int runs = argc > 2 ? atoi(argv[2]) : 50;
    double megabytes = argc > 3 ? atof(argv[3]) : 100;
    if (argc < 2 || runs < 2 || !(megabytes > 0)) {
        fprintf(stderr, "usage: bench_compare DIRECTORY [RUNS [MB]]\n");
        return 2;
    }
    record_all(argv[1], runs, megabytes);
    size_t found = measure_files(argv[1]);
    printf("%zu runs, %.0f MB each\n", found, text_bytes / 1e6 / (double)found);
    printf("%8s %10s %10s %10s %8s %8s\n", "threads", "read s", "compare s", "in all s", "MB/s",
           "MB");
    for (unsigned threads = 1; threads <= 2; threads++) {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            compare(argv[1], threads);
            exit(0);
        }
        if (child < 0 || waitpid(child, NULL, 0) != child) return 1;
    }
    return 0;
}
