/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "view.h"

static const column columns[] = {{"Module", COLUMN_TEXT},     {"Calls", COLUMN_COUNT},
                                 {"Operators", COLUMN_COUNT}, {"Host total", COLUMN_TIME},
                                 {"Host self", COLUMN_TIME},  {"Device total", COLUMN_TIME},
                                 {"Device self", COLUMN_TIME}};
static const table_spec spec = TABLE_SPEC_PLAIN("Modules", columns);

static hb_result show(view_run *run, hb_trace_file *file)
{
    const hb_module_stats *list;
    size_t count;
    table t;
    char name[1024];
    hb_result result = hb_trace_file_modules(file, &list, &count);
    if (result != HB_OK) return result;
    view_table_init(&t, &spec);
    for (size_t i = 0; i < count; i++) {
        const hb_module_stats *m = &list[i];
        if (!view_wants(run, m->name)) continue;
        /* Indented as a tree, which sorted rows are not. */
        int indent = run->format == VIEW_TEXT && !run->sort_by ? 2 * m->depth : 0;
        snprintf(name, sizeof name, "%*s%s", indent, "", m->name);
        table_add(&t, name, (double)m->occurrences, (double)m->operators, m->host_us,
                  m->self_host_us, m->device_us, m->self_device_us);
    }
    view_table_finish(run, &t, &spec, -1);
    return HB_OK;
}

static const table_spec *const tables[] = {&spec, NULL};
const view view_module = {"module", tables, false, false, show, NULL};
