/* SPDX-License-Identifier: MIT */
#include "view.h"

enum { DEVICE_SELF = 2, HOST_SELF = 4 };

static const column columns[] = {{"Operator", COLUMN_TEXT},        {"Calls", COLUMN_COUNT},
                                 {"Device self", COLUMN_TIME},     {"Device total", COLUMN_TIME},
                                 {"Host self", COLUMN_TIME},       {"Host total", COLUMN_TIME},
                                 {"Device share", COLUMN_PERCENT}, {"Host share", COLUMN_PERCENT}};
static const table_spec spec = TABLE_SPEC_PLAIN("Operators", columns);

static hb_result show(view_run *run, hb_trace_file *file)
{
    const hb_operator_stat *list;
    size_t count;
    double host = 0, device = 0;
    table t;
    hb_result result = hb_trace_file_operators(file, false, &list, &count);
    if (result != HB_OK) return result;
    for (size_t i = 0; i < count; i++) {
        host += list[i].self_host_us;
        device += list[i].self_device_us;
    }
    view_table_init(&t, &spec);
    for (size_t i = 0; i < count; i++) {
        const hb_operator_stat *o = &list[i];
        if (!view_wants(run, o->name)) continue;
        table_add(&t, o->name, (double)o->calls, o->self_device_us, o->device_us, o->self_host_us,
                  o->host_us, view_share(o->self_device_us, device),
                  view_share(o->self_host_us, host));
    }
    view_table_finish(run, &t, &spec, device > 0 ? DEVICE_SELF : HOST_SELF);
    return HB_OK;
}

static const table_spec *const tables[] = {&spec, NULL};
const view view_operator = {"operator", tables, false, false, show, NULL};
