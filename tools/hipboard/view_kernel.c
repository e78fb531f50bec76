/* SPDX-License-Identifier: MIT */
#include "view.h"

static const column columns[] = {{"Kernel", COLUMN_TEXT},   {"Calls", COLUMN_COUNT},
                                 {"Total", COLUMN_TIME},    {"Mean", COLUMN_TIME},
                                 {"Max", COLUMN_TIME},      {"Min", COLUMN_TIME},
                                 {"Share", COLUMN_PERCENT}, {"Blocks per SM", COLUMN_NUMBER}};
static const table_spec spec = TABLE_SPEC_PLAIN("Kernels", columns);

static hb_result show(view_run *run, hb_trace_file *file)
{
    const hb_kernel_stats *list;
    size_t count;
    double total = 0;
    table t;
    hb_result result = hb_trace_file_kernels(file, &list, &count);
    if (result != HB_OK) return result;
    for (size_t i = 0; i < count; i++)
        total += list[i].total_us;
    view_table_init(&t, &spec);
    for (size_t i = 0; i < count; i++) {
        const hb_kernel_stats *k = &list[i];
        if (!view_wants(run, k->name)) continue;
        table_add(&t, k->name, (double)k->calls, k->total_us, k->mean_us, k->max_us, k->min_us,
                  view_share(k->total_us, total), k->blocks_per_sm);
    }
    view_table_finish(run, &t, &spec, -1);
    return HB_OK;
}

static const table_spec *const tables[] = {&spec, NULL};
const view view_kernel = {"kernel", tables, false, show, NULL};
