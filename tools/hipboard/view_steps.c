/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "view.h"

static const column columns[] = {{"Step", COLUMN_TEXT},     {"Total", COLUMN_TIME},
                                 {"Kernel", COLUMN_TIME},   {"Memcpy", COLUMN_TIME},
                                 {"Memset", COLUMN_TIME},   {"Comm", COLUMN_TIME},
                                 {"Runtime", COLUMN_TIME},  {"DataLoader", COLUMN_TIME},
                                 {"CPU Exec", COLUMN_TIME}, {"Other", COLUMN_TIME}};
static const table_spec spec = TABLE_SPEC_PLAIN("Steps", columns);

static hb_result show(view_run *run, hb_trace_file *file)
{
    const hb_step_stat *list;
    size_t count;
    table t;
    hb_result result = hb_trace_file_steps(file, &list, &count);
    if (result != HB_OK) return result;
    view_table_init(&t, &spec);
    for (size_t i = 0; i < count; i++) {
        const hb_step_stat *x = &list[i];
        if ((run->step && strcmp(run->step, x->name) != 0) || !view_wants(run, x->name)) continue;
        table_add(&t, x->name, x->duration_us, x->kernel_us, x->memcpy_us, x->memset_us,
                  x->communication_us, x->runtime_us, x->loader_us, x->cpu_us, x->other_us);
    }
    view_table_finish(run, &t, &spec, -1);
    return HB_OK;
}

static const table_spec *const tables[] = {&spec, NULL};
const view view_steps = {"steps", tables, true, true, show, NULL};
