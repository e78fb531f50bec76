/* SPDX-License-Identifier: MIT */
#include "command.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "progress.h"

static const char help[] =
    "usage: hipboard check LOGDIR...\n"
    "\n"
    "Says what torch-tb-profiler will not show of each run of a log directory, and why: files that "
    "it\n"
    "loses, runs that it loses, views that stay blank.\n"
    "\n"
    "  -h, --help   this text\n"
    "\n"
    "Exit status 1 when a file or a run would be lost, or when there is none.\n";

/* A view, and what a trace must hold for the plugin to show it. */
static const struct {
    const char *view, *needs;
} needs[] = {
    {"Kernel", "complete events of category kernel that belong to no collective"},
    {"Memory", "instant events named [memory]"},
    {"Module", "python_function events with Python ids and module ids, inside the call trees"},
    {"Distributed", "the same collectives (nccl:... or gloo:...) in all workers of a span"},
};

typedef struct counts {
    const char *run;
    unsigned lost;
} counts;

static void report_lost(void *context, const char *path, const char *reason)
{
    counts *c = context;
    c->lost++;
    size_t n = strlen(path);
    bool named = strncmp(reason, path, n) == 0 && reason[n] == ':';
    printf("  lost: %s: %s\n", path, named ? reason + n + 2 : reason);
}

/* The run's name in a URL. */
static void encode(char *to, size_t size, const char *name)
{
    size_t n = 0;
    for (; *name && n + 4 < size; name++)
        n += (size_t)snprintf(to + n, size - n, "%%%02X", (unsigned char)*name);
    to[n] = 0;
}

static void report_blank(const char *views)
{
    char quoted[32];
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++) {
        snprintf(quoted, sizeof quoted, "\"%s\"", needs[i].view);
        if (!strstr(views, quoted))
            printf("  no view %s: it needs %s\n", needs[i].view, needs[i].needs);
    }
}

/* Categories that writers use today and the plugin ignores, in one file. */
static void report_ignored(const char *path)
{
    static const char *const ignored[] = {"cuda_runtime", "hip_runtime", "cuda_driver",
                                          "hip_driver"};
    hb_open_options options = progress_options();
    hb_trace_file *file;
    hb_file_event event;
    size_t counts_of[sizeof ignored / sizeof *ignored] = {0};
    if (hb_trace_file_open(path, &options, &file) != HB_OK) return;
    for (size_t i = 0; hb_trace_file_event(file, i, &event) == HB_OK; i++)
        for (size_t k = 0; event.category && k < sizeof ignored / sizeof *ignored; k++)
            counts_of[k] += strcmp(event.category, ignored[k]) == 0;
    progress_clear();
    for (size_t k = 0; k < sizeof ignored / sizeof *ignored; k++)
        if (counts_of[k])
            printf("  %s: %zu events of category %s are ignored: operators have no device time\n",
                   path, counts_of[k], ignored[k]);
    hb_trace_file_close(file);
}

static bool report_file(void *context, const hb_logdir_file *file)
{
    const counts *c = context;
    if (strcmp(file->run, c->run) == 0) report_ignored(file->path);
    return true;
}

static bool check_run(hb_logdir *logdir, const char *run)
{
    counts c = {run, 0};
    char url[4096] = "views?run=", *views;
    printf("%s\n", run);
    if (hb_logdir_lost_files(logdir, run, report_lost, &c) != HB_OK) {
        progress_clear();
        fprintf(stderr, "hipboard check: %s\n", hb_last_error());
        return false;
    }
    progress_clear();
    encode(url + strlen(url), sizeof url - strlen(url), run);
    if (hb_logdir_query(logdir, url, &views, NULL) == HB_OK) {
        report_blank(views);
        hb_logdir_files(logdir, report_file, &c);
    } else {
        printf("  the run is not shown at all\n");
    }
    hb_free(views);
    return c.lost == 0;
}

static bool check(const char *path)
{
    hb_logdir *logdir = NULL;
    hb_open_options options = progress_options();
    bool fine = true;
    if (hb_logdir_open(path, &options, &logdir) != HB_OK || hb_logdir_num_runs(logdir) == 0) {
        fprintf(stderr, "hipboard check: %s: no runs: no files named *.pt.trace.json[.gz]\n", path);
        fine = false;
    }
    for (size_t i = 0; i < hb_logdir_num_runs(logdir); i++)
        fine &= check_run(logdir, hb_logdir_run(logdir, i));
    hb_logdir_close(logdir);
    return fine;
}

int cmd_check(int argc, char **argv)
{
    int status = EXIT_FINE;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            fputs(help, stdout);
            return EXIT_FINE;
        } else if (argv[i][0] == '-') {
            return usage_error("check", "option '%s' is unknown", argv[i]);
        }
    if (argc < 2) return usage_error("check", "no log directory is given");
    for (int i = 1; i < argc; i++)
        if (!check(argv[i])) status = EXIT_FAILED;
    return status;
}
