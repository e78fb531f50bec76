/* SPDX-License-Identifier: MIT */
#include "command.h"

#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "progress.h"
#include "table.h"

static const char help[] =
    "usage: hipboard table [OPTIONS] PATH\n"
    "\n"
    "Prints what torch.profiler prints with key_averages(...).table(...), from a trace file of "
    "any\n"
    "writer (.pt.trace.json[.gz]; - reads standard input).\n"
    "\n"
    "  --sort-by KEY              descending by cpu_time, cpu_time_total, self_cpu_time_total,\n"
    "                             cuda_time, cuda_time_total, self_cuda_time_total,\n"
    "                             cpu_memory_usage, self_cpu_memory_usage, cuda_memory_usage,\n"
    "                             self_cuda_memory_usage, count, flops, key, input_shapes,\n"
    "                             overload_name, stack; device, hip or xpu may stand\n"
    "                             for cuda\n"
    "  --row-limit N              at most N rows (100); -1: all\n"
    "  --group-by-input-shape     groups differ by input shapes\n"
    "  --group-by-stack N         groups differ by the N innermost frames of the call stack\n"
    "  --group-by-overload-name   groups differ by overload names\n"
    "  --events                   every event by itself, as events().table()\n"
    "  --top-level-only           only what ran inside nothing else\n"
    "  --total                    one line instead, what total_average() prints\n"
    "  --header TEXT              a line above the table\n"
    "  --time-unit s|ms|us        one unit for all times\n"
    "  --max-name-width N         cut names (55); likewise --max-shapes-width (80) and\n"
    "                             --max-source-width (75)\n"
    "  --device-name NAME         in the headers (CUDA, as torch says on all GPUs); HIP/CUDA, ...\n"
    "  --json                     all groups in full precision; times in us\n"
    "  -h, --help                 this text\n"
    "\n"
    "Unlike torch 2.13, a table with both stacks and FLOPs has them below their own headers.\n";

typedef struct request {
    hb_key_averages_options group;
    hb_table_options table;
    bool json, total;
} request;

/* ---- the command line ---- */

static bool set_limit(request *r, const char *text)
{
    long long n;
    if (!parse_number(text, -1, LLONG_MAX, &n) || n == 0) return false;
    r->table.row_limit = n < 0 ? UINT64_MAX : (uint64_t)n;
    return true;
}

static bool set_unsigned(unsigned *to, const char *text, long long min)
{
    long long n;
    if (!parse_number(text, min, 1000000, &n)) return false;
    *to = (unsigned)n;
    return true;
}

static const struct option long_options[] = {
    {"sort-by", required_argument, NULL, 's'},
    {"row-limit", required_argument, NULL, 'r'},
    {"group-by-input-shape", no_argument, NULL, 'i'},
    {"group-by-stack", required_argument, NULL, 'k'},
    {"group-by-overload-name", no_argument, NULL, 'o'},
    {"events", no_argument, NULL, 'e'},
    {"top-level-only", no_argument, NULL, 't'},
    {"total", no_argument, NULL, 'T'},
    {"header", required_argument, NULL, 'H'},
    {"time-unit", required_argument, NULL, 'u'},
    {"max-name-width", required_argument, NULL, 'n'},
    {"max-shapes-width", required_argument, NULL, 'w'},
    {"max-source-width", required_argument, NULL, 'S'},
    {"device-name", required_argument, NULL, 'd'},
    {"json", no_argument, NULL, 'j'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

/* False: the option's value makes no sense. */
static bool apply(request *r, int option, const char *value)
{
    switch (option) {
    case 's': r->group.sort_by = value; return true;
    case 'r': return set_limit(r, value);
    case 'i': return r->group.group_by_input_shape = true;
    case 'k': return set_unsigned(&r->group.group_by_stack_n, value, 0);
    case 'o': return r->group.group_by_overload_name = true;
    case 'e': return r->group.events = true;
    case 't': return r->table.top_level_events_only = true;
    case 'T': return r->total = true;
    case 'H': r->table.header = value; return true;
    case 'u': r->table.time_unit = value; return true;
    case 'n': return set_unsigned(&r->table.max_name_column_width, value, 4);
    case 'w': return set_unsigned(&r->table.max_shapes_column_width, value, 4);
    case 'S': return set_unsigned(&r->table.max_src_column_width, value, 4);
    case 'd': r->table.device_name = value; return true;
    case 'j': return r->json = true;
    default: return false;
    }
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
    printf(", \"flops\": %.17g}", s->flops);
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
    fwrite(text, 1, size, stdout);
    hb_free(text);
    return HB_OK;
}

static int print(const char *path, const request *r)
{
    hb_open_options options = progress_options();
    hb_trace_file *file = NULL;
    hb_key_averages *averages = NULL;
    hb_result result = hb_trace_file_open(path, &options, &file);
    if (result == HB_OK) result = hb_key_averages_create(file, &r->group, &averages);
    progress_clear();
    if (result == HB_OK) result = put_averages(averages, r);
    if (result != HB_OK) fprintf(stderr, "hipboard table: %s\n", hb_last_error());
    hb_key_averages_destroy(averages);
    hb_trace_file_close(file);
    if (result == HB_ERROR_INVALID_ARGUMENT) return EXIT_USAGE;
    return result == HB_OK ? EXIT_FINE : EXIT_FAILED;
}

int cmd_table(int argc, char **argv)
{
    request r = {HB_KEY_AVERAGES_OPTIONS_INIT, HB_TABLE_OPTIONS_INIT, false, false};
    int option;
    opterr = 0;
    optind = 1;
    while ((option = getopt_long(argc, argv, "h", long_options, NULL)) != -1) {
        if (option == 'h') {
            fputs(help, stdout);
            return EXIT_FINE;
        }
        if (option == '?')
            return usage_error("table", "option '%s' is unknown or lacks its value",
                               argv[optind - 1]);
        if (!apply(&r, option, optarg))
            return usage_error("table", "'%s' is no value for the option before it", optarg);
    }
    if (optind + 1 != argc) return usage_error("table", "expected one trace file");
    return print(argv[optind], &r);
}
