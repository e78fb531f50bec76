/* SPDX-License-Identifier: MIT
 *
 * What a cycle's end costs: how long the program waits in the step that completes it, how fast the
 * background thread writes it, and how much memory that takes over the records themselves.
 *
 *     bench_cycle DIRECTORY [EVENTS] [gzip] [--json]
 */
#include <hipboard/hipboard.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* VmRSS without what is mapped from files: the records of a spool are not counted. */
static double anonymous_mb(void)
{
    char line[256];
    double kb = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "RssAnon: %lf", &kb) == 1) break;
    if (f) fclose(f);
    return kb / 1024;
}

static double directory_mb(const char *path)
{
    double bytes = 0;
    DIR *dir = opendir(path);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        char file[4096];
        struct stat st;
        snprintf(file, sizeof file, "%s/%s", path, e->d_name);
        if (strstr(e->d_name, ".pt.trace.json") && stat(file, &st) == 0)
            bytes += (double)st.st_size;
    }
    if (dir) closedir(dir);
    return bytes / 1e6;
}

static void die(void)
{
    fprintf(stderr, "bench_cycle: %s\n", hb_last_error());
    exit(1);
}

int main(int argc, char **argv)
{
    const char *dir = argc > 1 ? argv[1] : NULL;
    long events = argc > 2 ? atol(argv[2]) : 1000000;
    bool gzip = argc > 3 && strcmp(argv[3], "gzip") == 0;
    bool json = argc > 1 && strcmp(argv[argc - 1], "--json") == 0;
    if (!dir || events < 1) {
        fprintf(stderr, "usage: bench_cycle DIRECTORY [EVENTS] [gzip] [--json]\n");
        return 2;
    }
    double before_mb = directory_mb(dir);
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.schedule = hb_schedule_make(.active = 1, .repeat = 1);
    o.on_trace_ready = hb_tensorboard_trace_handler(dir, "bench", gzip ? HB_GZIP : 0);
    hb_profiler *prof = hb_profiler_create(&o);
    if (!prof || hb_profiler_start(prof) != HB_OK) die();
    double start = now_s();
    for (long i = 0; i < events; i++)
        HB_RECORD_FUNCTION("bench_scope") {
        }
    double recorded = now_s(), memory = anonymous_mb();
    if (hb_profiler_step(prof) != HB_OK) die();
    double stepped = now_s();
    double peak = memory;
    while (directory_mb(dir) == before_mb && now_s() - stepped < 600) { /* being written */
        struct timespec nap = {0, 5000000};
        double mb = anonymous_mb();
        if (mb > peak) peak = mb;
        nanosleep(&nap, NULL);
    }
    if (hb_profiler_stop(prof) != HB_OK) die();
    double written = now_s();
    double million = (double)events / 1e6, seconds = written - recorded;
    double mb = directory_mb(dir) - before_mb;
    hb_profiler_destroy(prof);
    if (json)
        printf("{\"events\": %ld, \"gzip\": %s, \"record_ns\": %.2f, \"blocked_ms\": %.3f, "
               "\"write_s\": %.3f, \"events_per_s\": %.0f, \"file_mb\": %.1f, "
               "\"writer_mb\": %.1f}\n",
               events, gzip ? "true" : "false", (recorded - start) * 1e9 / (double)events,
               (stepped - recorded) * 1e3, seconds, (double)events / seconds, mb, peak - memory);
    else
        printf("%ld events%s: recording %.1f ns each; the step waited %.2f ms (%.2f ms a million); "
               "written in %.2f s: %.2f M events/s, %.0f MB/s, %.1f MB; writer's memory %.1f MB\n",
               events, gzip ? ", gzip" : "", (recorded - start) * 1e9 / (double)events,
               (stepped - recorded) * 1e3, (stepped - recorded) * 1e3 / million, seconds,
               (double)events / seconds / 1e6, mb / seconds, mb, peak - memory);
    return 0;
}
