/* SPDX-License-Identifier: MIT
 *
 * The paths that are gone most often, on a workload that is always the same, so that their
 * instructions can be counted: tests/bench/hot_paths.py.
 *
 *     hot_paths PATH DIRECTORY
 *
 * What is counted is what runs in counted(). Prints how many times the path was gone there.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hipboard/analysis.h>
#include <hipboard/hipboard.h>

enum { TIMES = 20000 };

static char trace[4096], zipped[4096];
static hb_profiler *prof;

static void need(hb_result result)
{
    if (result == HB_OK) return;
    fprintf(stderr, "%s\n", hb_last_error());
    exit(1);
}

/* ---- recording ---- */

static void scope(int i)
{
    HB_SCOPE("scope");
    __asm__ volatile("" ::"r"(i));
}

static void op(int i)
{
    HB_OP_GUARD("op");
    __asm__ volatile("" ::"r"(i));
}

static void op_with_shapes(int i)
{
    HB_OP_GUARD("aten::mm",
                HB_INPUTS(HB_TENSOR(HB_FLOAT32, 64, 32), HB_TENSOR(HB_FLOAT32, 32, 16)));
    __asm__ volatile("" ::"r"(i));
}

static void memory(int i)
{
    hb_memory_alloc(HB_DEVICE_CPU, 0, &i, 4096);
}

static void record(void (*path)(int))
{
    for (int i = 0; i < TIMES; i++)
        path(i);
}

static void record_scopes(void)
{
    record(scope);
}

static void record_operators(void)
{
    record(op);
}

static void record_shapes(void)
{
    record(op_with_shapes);
}

static void record_memory(void)
{
    record(memory);
}

/* ---- files ---- */

static void write_json(void)
{
    need(hb_export_chrome_trace(prof, trace, 0));
}

static void write_gzip(void)
{
    need(hb_export_chrome_trace(prof, zipped, 0));
}

static void read_views(void)
{
    static const char *const views[] = {"overview", "operation", "operation/table", "memory"};
    hb_trace_file *file;
    need(hb_trace_file_open(trace, NULL, &file));
    for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
        char *json = NULL;
        (void)hb_trace_file_query(file, views[i], &json, NULL); /* a view may be absent */
        hb_free(json);
    }
    hb_trace_file_close(file);
}

static const struct {
    const char *name;
    void (*run)(void);
    bool records;
} paths[] = {
    {"scope", record_scopes, true},          {"op", record_operators, true},
    {"op with shapes", record_shapes, true}, {"memory", record_memory, true},
    {"write json", write_json, false},       {"write gzip", write_gzip, false},
    {"read and views", read_views, false},
};

__attribute__((noinline)) static void counted(void (*path)(void))
{
    path();
    __asm__ volatile("" ::: "memory"); /* no tail call, which would leave what is counted */
}

static void start(void)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.record_shapes = o.profile_memory = true;
    o.spool_dir = "";
    prof = hb_profiler_create(&o);
    if (!prof) need(HB_ERROR_STATE);
    need(hb_profiler_start(prof));
}

int main(int argc, char **argv)
{
    if (argc != 3) return 2;
    snprintf(trace, sizeof trace, "%s/x.pt.trace.json", argv[2]);
    snprintf(zipped, sizeof zipped, "%s/x.pt.trace.json.gz", argv[2]);
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        if (strcmp(paths[i].name, argv[1]) != 0) continue;
        start();
        paths[i].records ? paths[i].run() : record_shapes(); /* so that the first time is over */
        if (paths[i].records) counted(paths[i].run);
        need(hb_profiler_stop(prof));
        if (paths[i].run == read_views) write_json();
        if (!paths[i].records) counted(paths[i].run);
        hb_profiler_destroy(prof);
        printf("%d\n", TIMES);
        return 0;
    }
    return 2;
}
