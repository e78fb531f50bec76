/* SPDX-License-Identifier: MIT */
#include "view.h"

enum { SELF_ALLOCATED = 5 };

static const column columns[] = {{"Operator", COLUMN_TEXT},   {"Device", COLUMN_TEXT},
                                 {"Calls", COLUMN_COUNT},     {"Self increase", COLUMN_BYTES},
                                 {"Increase", COLUMN_BYTES},  {"Self allocated", COLUMN_BYTES},
                                 {"Allocated", COLUMN_BYTES}, {"Self allocations", COLUMN_COUNT}};
static const table_spec spec = TABLE_SPEC_PLAIN("Memory", columns);

static hb_result show(view_run *run, hb_trace_file *file)
{
    const hb_memory_stats_row *list;
    size_t count;
    table t;
    hb_result result = hb_trace_file_memory(file, &list, &count);
    if (result != HB_OK) return result;
    view_table_init(&t, &spec);
    for (size_t i = 0; i < count; i++) {
        const hb_memory_stats_row *m = &list[i];
        if (!view_wants(run, m->name)) continue;
        table_add(&t, m->name, m->device, (double)m->calls, m->self_increase_bytes,
                  m->increase_bytes, m->self_allocated_bytes, m->allocated_bytes,
                  m->self_allocations);
    }
    view_table_finish(run, &t, &spec, SELF_ALLOCATED);
    return HB_OK;
}

static const table_spec *const tables[] = {&spec, NULL};
const view view_memory = {"memory", tables, false, false, show, NULL};
