/* SPDX-License-Identifier: MIT */
#include "command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hipboard/analysis.h>
#include <hipboard/hipboard.h>

#include "options.h"
#include "record_values.h"
#include "text.h"

/* 50221153 is 5.2.21153. */
static const char *version_text(char text[32], int32_t version)
{
    snprintf(text, 32, "%d.%d.%d", version / 10000000, version / 100000 % 100, version % 100000);
    return text;
}

/* ---- for people ---- */

static void print_runtime(const hb_hip_info *info)
{
    char runtime[32], driver[32];
    if (!*info->runtime_path) {
        puts("HIP runtime:  none (libamdhip64 can't be loaded)");
        return;
    }
    printf("HIP runtime:  %s, %s\n", version_text(runtime, info->runtime_version),
           info->runtime_path);
    printf("HIP driver:   %s\n", version_text(driver, info->driver_version));
}

static void print_gpus(const hb_hip_info *info)
{
    if (info->num_gpus == 0) printf("Devices:      none; %s\n", info->why_no_gpu);
    for (size_t i = 0; i < info->num_gpus; i++) {
        const hb_hip_gpu *g = &info->gpus[i];
        printf("%-13s %d: %s, %s, %d CUs, %.1f GiB%s\n", i ? "" : "Devices:", g->id, g->name,
               g->arch, g->num_cus, (double)g->memory_bytes / (1 << 30),
               g->simulated ? "; not a GPU: its durations mean nothing" : "");
    }
    printf("/dev/kfd:     %s\n", info->driver_access);
}

static void print_settings(const hb_hip_info *info)
{
    bool any = false;
    for (size_t i = 0; i < info->num_settings; i++) {
        const hb_hip_setting *s = &info->settings[i];
        if (s->value) printf("%-13s %s=%s\n", any ? "" : "Environment:", s->name, s->value);
        any = any || s->value;
    }
    if (!any) puts("Environment:  no variable hides devices");
}

static void print_backends(const hb_hip_info *info)
{
    puts("\nWays to capture HIP, in the order in which they are tried:");
    for (size_t i = 0; i < info->num_backends; i++) {
        const hb_hip_backend *b = &info->backends[i];
        bool used = strcmp(b->name, info->backend) == 0;
        printf("  %-16s %s\n  %-16s %s%s\n", b->name, b->summary, "",
               b->usable ? "usable" : "not usable: ", b->usable ? "" : b->why_not);
        if (used) printf("  %-16s `hipboard record` and HB_ACTIVITY_HIP would use this one\n", "");
    }
    if (!*info->backend)
        printf("\nHIP is not captured: %s; what a program marks itself is recorded all the same\n",
               info->why_no_backend);
}

static void print_text(const hb_hip_info *info)
{
    printf("hipboard:     %s\n", hb_version());
    print_runtime(info);
    print_gpus(info);
    print_settings(info);
    print_backends(info);
}

/* ---- for programs ---- */

static void print_pair(const char *before, const char *key, const char *value)
{
    printf("%s\"%s\": ", before, key);
    if (value)
        print_json_string(value);
    else
        fputs("null", stdout);
}

static void print_json_gpus(const hb_hip_info *info)
{
    fputs(",\n \"devices\": [", stdout);
    for (size_t i = 0; i < info->num_gpus; i++) {
        const hb_hip_gpu *g = &info->gpus[i];
        printf("%s{\"id\": %d", i ? ",\n  " : "\n  ", g->id);
        print_pair(", ", "name", g->name);
        print_pair(", ", "arch", g->arch);
        printf(", \"num_cus\": %d, \"memory_bytes\": %llu, \"simulated\": %s}", g->num_cus,
               (unsigned long long)g->memory_bytes, g->simulated ? "true" : "false");
    }
    putchar(']');
}

static void print_json_settings(const hb_hip_info *info)
{
    fputs(",\n \"environment\": {", stdout);
    for (size_t i = 0; i < info->num_settings; i++)
        print_pair(i ? ", " : "", info->settings[i].name, info->settings[i].value);
    putchar('}');
}

static void print_json_backends(const hb_hip_info *info)
{
    fputs(",\n \"backends\": [", stdout);
    for (size_t i = 0; i < info->num_backends; i++) {
        const hb_hip_backend *b = &info->backends[i];
        print_pair(i ? ",\n  {" : "\n  {", "name", b->name);
        print_pair(", ", "summary", b->summary);
        printf(", \"usable\": %s", b->usable ? "true" : "false");
        print_pair(", ", "why_not", b->why_not);
        putchar('}');
    }
    putchar(']');
}

static void print_json(const hb_hip_info *info)
{
    print_pair("{", "hipboard", hb_version());
    print_pair(",\n ", "runtime_path", info->runtime_path);
    printf(",\n \"runtime_version\": %d,\n \"driver_version\": %d", info->runtime_version,
           info->driver_version);
    print_pair(",\n ", "driver_access", info->driver_access);
    print_pair(",\n ", "backend", info->backend);
    print_pair(",\n ", "why_no_backend", info->why_no_backend);
    print_json_backends(info);
    print_json_gpus(info);
    print_pair(",\n ", "why_no_device", info->why_no_gpu);
    print_json_settings(info);
    puts("}");
}

/* ---- a program's imports ---- */

typedef struct request {
    bool json;
    const char *program; /* NULL: what can be captured is asked for */
    table_list tables;
    size_t num_known;
} request;

static void print_known(void *context, const hb_known_operator *known)
{
    request *r = context;
    const char *table = strrchr(known->table, '/');
    table = table ? table + 1 : known->table;
    if (r->json) {
        print_pair(r->num_known ? ",\n {" : "\n {", "symbol", known->symbol);
        print_pair(", ", "name", known->name);
        print_pair(", ", "table", known->table);
        printf(", \"line\": %u, \"linked_in\": %s}", known->line,
               known->linked_in ? "true" : "false");
    } else {
        printf("%-32s %-32s %s:%u%s\n", known->symbol, known->name, table, known->line,
               known->linked_in ? "  (linked in statically: its calls are not seen)" : "");
    }
    r->num_known++;
}

static int print_operators(request *r)
{
    char *list = list_tables(&r->tables);
    if (!list) return EXIT_FAILED;
    if (r->json) putchar('[');
    hb_result result = hb_known_operators(r->program, list, print_known, r);
    free(list);
    if (r->json) puts("]");
    if (result != HB_OK) {
        fprintf(stderr, "hipboard info: %s\n", hb_last_error());
        return EXIT_FAILED;
    }
    if (!r->num_known && !r->json)
        puts("None: the tables know nothing that this file imports itself; its libraries have "
             "imports of their own.");
    return EXIT_FINE;
}

static int run(arguments *args)
{
    request r = {0};
    hb_hip_info *info;
    if (!parse_options(&cmd_info, args, &r)) return args->status;
    if (r.program) return print_operators(&r);
    if (hb_hip_info_get(true, &info) != HB_OK) {
        fprintf(stderr, "hipboard info: %s\n", hb_last_error());
        return EXIT_FAILED;
    }
    if (r.json)
        print_json(info);
    else
        print_text(info);
    hb_hip_info_free(info);
    return EXIT_FINE;
}

static const option_spec options[] = {
    {0, "json", NULL, "the same as JSON", INTO(json)},
    {0, "ops", "PROGRAM",
     "instead: which functions that this program or library imports `hipboard record` would make "
     "operators; it is read and not run",
     INTO(program)},
    {0, "table", "FILE", "with --ops: a table of one's own, beside hipboard's; may be repeated",
     INTO_BY(take_table, tables)},
    {0},
};

const command cmd_info = {
    .name = "info",
    .summary = "say what this machine can capture of HIP, and why not more",
    .synopsis = "[--json] [--ops PROGRAM]",
    .about = "Says what this machine can capture of HIP, and why not more: the HIP runtime, the "
             "devices that it shows to you, what hides devices, each way to capture and the one "
             "that `hipboard record` would use.",
    .options = options,
    .notes = "The environment variable HIPBOARD_HIP_BACKEND names the only way to be tried. Exit "
             "status 0, also when nothing can be captured.",
    .wanted = "takes no operands",
    .run = run,
};
