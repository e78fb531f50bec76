/* SPDX-License-Identifier: MIT
 *
 *   bench_ring [SECONDS]
 *
 * What a scope takes with a flight recorder and in an ordinary cycle, in turns; then, for SECONDS
 * (10) at full speed, what a flight recorder of 1 s keeps in memory and on disk.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <hipboard/hipboard.h>

#include "rounds.h"

static char dir[] = "/tmp/hipboard-ring-XXXXXX";

static void scope(void)
{
    HB_RECORD_FUNCTION("scope") {
    }
}

static void nothing(void) {}

static hb_profiler *start(bool ring)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.activities = HB_ACTIVITY_CPU;
    o.spool_dir = dir;
    if (ring) o.ring_ns = INT64_C(1000000000);
    if (ring) o.on_trace_ready = hb_tensorboard_trace_handler(dir, "w", HB_NO_EVENT_FILE);
    hb_profiler *prof = hb_profiler_create(&o);
    if (prof && hb_profiler_start(prof) == HB_OK) return prof;
    fprintf(stderr, "%s\n", hb_last_error());
    exit(1);
}

static double file_mib(void)
{
    double bytes = 0;
    DIR *list = opendir(dir);
    for (struct dirent *entry; list && (entry = readdir(list));) {
        char path[600];
        struct stat st;
        snprintf(path, sizeof path, "%s/%s", dir, entry->d_name);
        if (strstr(entry->d_name, ".hbspool") && stat(path, &st) == 0)
            bytes += (double)st.st_blocks * 512;
    }
    if (list) closedir(list);
    return bytes / 1048576;
}

static double resident_mib(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file && fscanf(file, "%*s %ld", &pages) != 1) pages = 0;
    if (file) fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE) / 1048576;
}

static void take_turns(void)
{
    static series plain, ring;
    for (int i = 0; i < SESSIONS; i++) {
        for (int with = 0; with < 2; with++) {
            hb_profiler *prof = start(with);
            measure(with ? &ring : &plain, scope, nothing);
            hb_profiler_destroy(prof);
        }
    }
    printf("a scope: %.1f ns in a cycle, %.1f ns with a flight recorder\n", best(&plain),
           best(&ring));
}

static void go_on(double seconds)
{
    double begin = now_ns(), told = begin;
    uint64_t scopes = 0;
    hb_profiler *prof = start(true);
    printf("%8s %12s %10s %10s\n", "seconds", "scopes", "file MiB", "RSS MiB");
    for (double now = begin; now - begin < seconds * 1e9; now = now_ns()) {
        for (int i = 0; i < 10000; i++)
            scope();
        scopes += 10000;
        if (now - told < seconds * 1e8) continue;
        told = now;
        printf("%8.1f %12llu %10.1f %10.1f\n", (now - begin) / 1e9, (unsigned long long)scopes,
               file_mib(), resident_mib());
    }
    hb_profiler_destroy(prof);
}

int main(int argc, char **argv)
{
    if (!mkdtemp(dir)) return 1;
    take_turns();
    go_on(argc > 1 ? atof(argv[1]) : 10);
    rmdir(dir);
}
