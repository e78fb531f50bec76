/* SPDX-License-Identifier: MIT */
#include "command.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inputs.h"

static const char help[] =
    "usage: hipboard stacks [OPTIONS] PATH...\n"
    "\n"
    "Prints what torch.profiler's export_stacks() writes: a line for each event with a\n"
    "call stack, its frames from the outermost to the innermost and its own time in\n"
    "microseconds. PATHs are trace files of any writer (- reads standard input) and log\n"
    "directories.\n"
    "\n"
    "  --metric METRIC   self_cpu_time_total (the default) or self_cuda_time_total;\n"
    "                    device, hip or xpu may stand for cuda\n"
    "  --folded          each stack once, with its time over all events, steps and\n"
    "                    files, for flamegraph.pl, speedscope and the like\n"
    "  --scopes          not call stacks but the scopes and operators around each\n"
    "                    event, which every trace has\n"
    "  -o FILE           writes to FILE\n"
    "  -h, --help        this text\n"
    "\n"
    "PyTorch 2.13 records call stacks only with with_stack=True and\n"
    "experimental_config=_ExperimentalConfig(verbose=True); hipboard with with_stack.\n"
    "\n"
    "    hipboard stacks --folded --scopes runs/mine | flamegraph.pl > flames.svg\n";

typedef struct line {
    char *stack;
    double us;
} line;

typedef struct request {
    hb_stacks_options options;
    FILE *to;
    line *lines; /* of all files, when they are merged */
    size_t count, capacity;
    unsigned long long shown;
    bool no_memory;
} request;

/* ---- lines ---- */

static bool print_line(void *context, const char *stack, double us)
{
    request *r = context;
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

static int print(request *r, char **paths, int count)
{
    int status = each_input("stacks", paths, count, add, r);
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

static int write_to(request *r, const char *path, char **paths, int count)
{
    r->to = path ? fopen(path, "w") : stdout;
    if (!r->to) {
        fprintf(stderr, "hipboard stacks: cannot open '%s': %s\n", path, strerror(errno));
        return EXIT_FAILED;
    }
    int status = print(r, paths, count);
    if (path) {
        status = flush_output("stacks", r->to, status, EXIT_FAILED);
        fclose(r->to);
    }
    return status;
}

int cmd_stacks(int argc, char **argv)
{
    static const struct option options[] = {
        {"metric", required_argument, NULL, 'm'},
        {"folded", no_argument, NULL, 'f'},
        {"scopes", no_argument, NULL, 's'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    request r = {.options = HB_STACKS_OPTIONS_INIT};
    const char *path = NULL;
    int option;
    opterr = 0;
    optind = 1;
    while ((option = getopt_long(argc, argv, "ho:", options, NULL)) != -1)
        switch (option) {
        case 'h': fputs(help, stdout); return EXIT_FINE;
        case 'm': r.options.metric = optarg; break;
        case 'f': r.options.merged = true; break;
        case 's': r.options.scopes = true; break;
        case 'o': path = optarg; break;
        default:
            return usage_error("stacks", "option '%s' is unknown or lacks its value",
                               argv[optind - 1]);
        }
    if (optind == argc) return usage_error("stacks", "no file or log directory is given");
    return write_to(&r, path, argv + optind, argc - optind);
}
