/* SPDX-License-Identifier: MIT */
#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inputs.h"
#include "options.h"

typedef struct line {
    char *stack;
    double us;
} line;

typedef struct request {
    hb_stacks_options options;
    const char *path; /* NULL or "-": standard output */
    FILE *to;
    bool begun;  /* what was in the file is gone */
    line *lines; /* of all files, when they are merged */
    size_t count, capacity;
    unsigned long long shown;
    bool no_memory;
} request;

/* ---- lines ---- */

/* A file keeps what it has until there is something to put in its place. */
static void begin(request *r)
{
    if (!r->begun && r->to != stdout) (void)!ftruncate(fileno(r->to), 0); /* or it is a pipe */
    r->begun = true;
}

static bool print_line(void *context, const char *stack, double us)
{
    request *r = context;
    begin(r);
    r->shown++;
    return fprintf(r->to, "%s %lld\n", stack, (long long)us) > 0;
}

static bool keep_line(void *context, const char *stack, double us)
{
    request *r = context;
    if (r->count == r->capacity) {
        size_t capacity = r->capacity ? r->capacity * 2 : 1024;
        line *lines = realloc(r->lines, capacity * sizeof *lines);
        if (!lines) return !(r->no_memory = true);
        r->lines = lines;
        r->capacity = capacity;
    }
    char *copy = strdup(stack);
    if (!copy) return !(r->no_memory = true);
    r->lines[r->count++] = (line){copy, us};
    return true;
}

static int by_stack(const void *x, const void *y)
{
    return strcmp(((const line *)x)->stack, ((const line *)y)->stack);
}

static void print_merged(request *r)
{
    if (r->count) qsort(r->lines, r->count, sizeof *r->lines, by_stack);
    for (size_t i = 0, next; i < r->count; i = next) {
        double us = 0;
        for (next = i; next < r->count && by_stack(&r->lines[i], &r->lines[next]) == 0; next++)
            us += r->lines[next].us;
        print_line(r, r->lines[i].stack, us);
    }
    for (size_t i = 0; i < r->count; i++)
        free(r->lines[i].stack);
    free(r->lines);
}

/* ---- files ---- */

static hb_result add(void *context, hb_trace_file *file, const input *from)
{
    request *r = context;
    (void)from;
    return hb_trace_file_stacks(file, &r->options, r->options.merged ? keep_line : print_line, r);
}

static int print(request *r, const arguments *args)
{
    int status = each_input("stacks", args, 0, add, r);
    print_merged(r);
    if (r->no_memory) {
        fputs("hipboard stacks: out of memory\n", stderr);
        status = EXIT_FAILED;
    }
    if (status == EXIT_FINE && r->shown == 0)
        fprintf(stderr, "hipboard stacks: nothing to show: %s\n",
                r->options.scopes ? "no event has a microsecond of its own"
                                  : "no events with call stacks; --scopes needs none");
    return status;
}

static bool is_input(const char *path, const arguments *args)
{
    struct stat st, other;
    if (stat(path, &st) != 0) return false;
    for (int i = 0; i < args->count; i++)
        if (stat(args->words[i], &other) == 0 && other.st_dev == st.st_dev &&
            other.st_ino == st.st_ino)
            return true;
    return false;
}

static int run(arguments *args)
{
    request r = {.options = HB_STACKS_OPTIONS_INIT, .to = stdout};
    if (!parse_options(&cmd_stacks, args, &r)) return args->status;
    if (!r.path || strcmp(r.path, "-") == 0) return print(&r, args);
    if (is_input(r.path, args))
        return usage_error("stacks", "'%s' is what is read: write to another file", r.path);
    int fd = open(r.path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    r.to = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (!r.to) {
        fprintf(stderr, "hipboard stacks: cannot open '%s': %s\n", r.path, strerror(errno));
        return EXIT_FAILED;
    }
    int status = print(&r, args);
    if (status == EXIT_FINE) begin(&r);
    status = flush_output("stacks", r.to, status, EXIT_FAILED);
    fclose(r.to);
    return status;
}

static const option_spec options[] = {
    {0, "metric", "METRIC",
     "self_cpu_time_total (the default) or self_cuda_time_total; self_cpu_memory_usage or "
     "self_cuda_memory_usage: bytes that were allocated, less those that were freed; device, hip "
     "or xpu may stand for cuda",
     INTO(options.metric)},
    {0, "folded", NULL,
     "each stack once, with its time over all events, steps and files, for flamegraph.pl, "
     "speedscope and the like",
     INTO(options.merged)},
    {0, "scopes", NULL,
     "not call stacks but the scopes and operators around each event, which every trace has",
     INTO(options.scopes)},
    {'o', "output", "FILE", "write to FILE (-: standard output, the default)", INTO(path)},
    {0},
};

const command cmd_stacks = {
    .name = "stacks",
    .summary = "print time by call stack, for flame graphs",
    .synopsis = "[OPTIONS] PATH...",
    .about = "Prints what torch.profiler's export_stacks() writes: a line for each event with a "
             "call stack, its frames from the outermost to the innermost and its own time in "
             "microseconds. PATHs are trace files of any writer (- reads standard input) and log "
             "directories.",
    .options = options,
    .notes = "PyTorch 2.13 records call stacks only with with_stack=True and "
             "experimental_config=_ExperimentalConfig(verbose=True); hipboard with with_stack.\n"
             "\n"
             "    hipboard stacks --folded --scopes runs/mine | flamegraph.pl > flames.svg",
    .least = 1,
    .most = MANY,
    .wanted = "no file or log directory is given",
    .run = run,
};
