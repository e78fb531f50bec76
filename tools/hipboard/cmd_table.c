/* SPDX-License-Identifier: MIT */
#include "command.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inputs.h"
#include "options.h"
#include "progress.h"
#include "text.h"

typedef struct request {
    hb_key_averages_options group;
    hb_table_options table;
    bool json, total;
} request;

/* ---- values of options ---- */

static const char *take_limit(void *to, const char *text)
{
    long long n;
    if (!parse_number(text, -1, LLONG_MAX, &n) || n == 0) return "expected a number of rows, or -1";
    *(uint64_t *)to = n < 0 ? UINT64_MAX : (uint64_t)n;
    return NULL;
}

static const char *take_depth(void *to, const char *text)
{
    long long n;
    if (!parse_number(text, 0, 1000000, &n)) return "expected a number of frames";
    *(unsigned *)to = (unsigned)n;
    return NULL;
}

static const char *take_width(void *to, const char *text)
{
    long long n;
    if (!parse_number(text, 4, 1000000, &n)) return "expected a width, 4 or more";
    *(unsigned *)to = (unsigned)n;
    return NULL;
}

/* ---- JSON ---- */

static void put_stat(const hb_average_stat *s)
{
    printf("{\"key\": ");
    print_json_string(s->key);
    printf(", \"overload_name\": ");
    print_json_string(s->overload_name);
    printf(", \"input_shapes\": ");
    print_json_string(s->input_shapes);
    printf(", \"stack\": [");
    for (size_t i = 0; i < s->stack_size; i++) {
        if (i) printf(", ");
        print_json_string(s->stack[i]);
    }
    printf("], \"device\": %s, \"user_annotation\": %s, \"top_level\": %s, \"count\": %llu",
           s->is_device ? "true" : "false", s->is_user_annotation ? "true" : "false",
           s->is_nested ? "false" : "true", (unsigned long long)s->count);
    printf(", \"cpu_time_total\": %.17g, \"self_cpu_time_total\": %.17g", s->cpu_us,
           s->self_cpu_us);
    printf(", \"device_time_total\": %.17g, \"self_device_time_total\": %.17g", s->device_us,
           s->self_device_us);
    printf(", \"cpu_memory_usage\": %.0f, \"self_cpu_memory_usage\": %.0f", s->cpu_bytes,
           s->self_cpu_bytes);
    printf(", \"device_memory_usage\": %.0f, \"self_device_memory_usage\": %.0f", s->device_bytes,
           s->self_device_bytes);
    printf(", \"flops\": ");
    print_json_number(s->flops);
    putchar('}');
}

static void put_json(hb_key_averages *averages)
{
    hb_average_stat stat;
    printf("{\"groups\": [");
    for (size_t i = 0; hb_key_averages_get(averages, i, &stat) == HB_OK; i++) {
        printf(i ? ",\n  " : "\n  ");
        put_stat(&stat);
    }
    printf("\n], \"total\": ");
    if (hb_key_averages_total(averages, &stat) == HB_OK) put_stat(&stat);
    printf("}\n");
}

/* ---- output ---- */

static hb_result put_averages(hb_key_averages *averages, const request *r)
{
    char *text = NULL;
    size_t size = 0;
    if (r->json) {
        put_json(averages);
        return HB_OK;
    }
    hb_result result = r->total ? hb_key_averages_total_text(averages, &r->table, &text, &size)
                                : hb_key_averages_table(averages, &r->table, &text, &size);
    if (result != HB_OK) return result;
    if (!size) fputs("hipboard table: no events\n", stderr);
    fwrite(text, 1, size, stdout);
    hb_free(text);
    return HB_OK;
}

static int print(const char *path, const request *r)
{
    hb_open_options options = progress_options();
    hb_trace_file *file = open_trace("table", path, &options);
    hb_key_averages *averages = NULL;
    if (!file) return EXIT_FAILED;
    tell_processes("table", path);
    tell_sampling("table", path, file);
    hb_result result = hb_key_averages_create(file, &r->group, &averages);
    progress_clear();
    if (result == HB_OK) result = put_averages(averages, r);
    int status = tell_result("table", path, result);
    hb_key_averages_destroy(averages);
    hb_trace_file_close(file);
    return status;
}

/* ---- the command line ---- */

static int run(arguments *args)
{
    request r = {HB_KEY_AVERAGES_OPTIONS_INIT, HB_TABLE_OPTIONS_INIT, false, false};
    if (!parse_options(&cmd_table, args, &r)) return args->status;
    return print(args->words[0], &r);
}

static const option_spec options[] = {
    {0, "sort-by", "KEY",
     "descending by cpu_time, cpu_time_total, self_cpu_time_total, cuda_time, cuda_time_total, "
     "self_cuda_time_total, cpu_memory_usage, self_cpu_memory_usage, cuda_memory_usage, "
     "self_cuda_memory_usage, count, flops, key, input_shapes, overload_name, stack; device, hip "
     "or xpu may stand for cuda",
     INTO(group.sort_by)},
    {0, "row-limit", "N", "at most N rows (100); -1: all", INTO_BY(take_limit, table.row_limit)},
    {0, "group-by-input-shape", NULL, "groups differ by input shapes",
     INTO(group.group_by_input_shape)},
    {0, "group-by-stack", "N", "groups differ by the N innermost frames of the call stack",
     INTO_BY(take_depth, group.group_by_stack_n)},
    {0, "group-by-overload-name", NULL, "groups differ by overload names",
     INTO(group.group_by_overload_name)},
    {0, "events", NULL, "every event by itself, as events().table()", INTO(group.events)},
    {0, "top-level-only", NULL, "only what ran inside nothing else",
     INTO(table.top_level_events_only)},
    {0, "total", NULL, "one line instead, what total_average() prints", INTO(total)},
    {0, "header", "TEXT", "a line above the table", INTO(table.header)},
    {0, "time-unit", "s|ms|us", "one unit for all times", INTO(table.time_unit)},
    {0, "max-name-width", "N", "cut names (55)", INTO_BY(take_width, table.max_name_column_width)},
    {0, "max-shapes-width", "N", "cut input shapes (80)",
     INTO_BY(take_width, table.max_shapes_column_width)},
    {0, "max-source-width", "N", "cut call stacks' lines (75)",
     INTO_BY(take_width, table.max_src_column_width)},
    {0, "device-name", "NAME", "in the headers (CUDA, as torch says on all GPUs); HIP/CUDA, ...",
     INTO(table.device_name)},
    {0, "json", NULL, "all groups in full precision; times in us", INTO(json)},
    {0},
};

const command cmd_table = {
    .name = "table",
    .summary = "print torch's key_averages() table of a trace",
    .synopsis = "[OPTIONS] PATH",
    .about = "Prints what torch.profiler prints with key_averages(...).table(...), from a trace "
             "file of any writer (.pt.trace.json[.gz]; - reads standard input).",
    .options = options,
    .notes = "Unlike torch 2.13, a table with both stacks and FLOPs has them below their own "
             "headers.",
    .least = 1,
    .most = 1,
    .wanted = "expected one trace file",
    .run = run,
};
