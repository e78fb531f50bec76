/* SPDX-License-Identifier: MIT */
#include "inputs.h"
#include "view.h"

#define COLUMNS                                                               \
    {"Kernel", COLUMN_TEXT}, {"Calls", COLUMN_COUNT}, {"Total", COLUMN_TIME}, \
        {"Mean", COLUMN_TIME}, {"Max", COLUMN_TIME}, {"Min", COLUMN_TIME},    \
        {"Share", COLUMN_PERCENT},                                            \
    {                                                                         \
        "Blocks per SM", COLUMN_NUMBER                                        \
    }

static const column columns[] = {COLUMNS};
static const table_spec spec = TABLE_SPEC_PLAIN("Kernels", columns);

/* Of one in so many launches: what all would take is extrapolated, and named so. */
static const column sampled_columns[] = {COLUMNS, {"Extrapolated total", COLUMN_TIME}};
static const table_spec sampled_spec = TABLE_SPEC_PLAIN("Kernels", sampled_columns);

static const column counter_columns[] = {{"Kernel", COLUMN_TEXT},
                                         {"Counter", COLUMN_TEXT},
                                         {"Kernels", COLUMN_COUNT},
                                         {"Mean", COLUMN_NUMBER},
                                         {"Max", COLUMN_NUMBER}};
static const table_spec counter_spec = TABLE_SPEC_NOTED(
    "Counters", "of each kernel; while they are read kernels run one by one", counter_columns);

static hb_result show_counters(view_run *run, hb_trace_file *file)
{
    hb_kernel_counter *list;
    size_t count;
    table t;
    hb_result result = hb_trace_file_counters(file, &list, &count);
    if (result != HB_OK || !count) return result;
    view_table_init(&t, &counter_spec);
    for (size_t i = 0; i < count; i++)
        if (view_wants(run, list[i].kernel))
            table_add(&t, list[i].kernel, list[i].counter, (double)list[i].kernels, list[i].mean,
                      list[i].max);
    view_table_finish(run, &t, &counter_spec, -1);
    hb_free(list);
    return HB_OK;
}

static hb_result show(view_run *run, hb_trace_file *file)
{
    const hb_kernel_stats *list;
    size_t count;
    double total = 0;
    double each = (double)kernel_sampling(file);
    const table_spec *shown = each > 1 ? &sampled_spec : &spec;
    table t;
    hb_result result = hb_trace_file_kernels(file, &list, &count);
    if (result != HB_OK) return result;
    for (size_t i = 0; i < count; i++)
        total += list[i].total_us;
    view_table_init(&t, shown);
    for (size_t i = 0; i < count; i++) {
        const hb_kernel_stats *k = &list[i];
        if (!view_wants(run, k->name)) continue;
        table_add(&t, k->name, (double)k->calls, k->total_us, k->mean_us, k->max_us, k->min_us,
                  view_share(k->total_us, total), k->blocks_per_sm, each * k->total_us);
    }
    view_table_finish(run, &t, shown, -1);
    return show_counters(run, file);
}

static const table_spec *const tables[] = {&spec, &sampled_spec, &counter_spec, NULL};
const view view_kernel = {"kernel", tables, false, false, show, NULL};
