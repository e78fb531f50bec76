/* SPDX-License-Identifier: MIT
 *
 * Which events count, and in which order.
 */
#include <math.h>
#include <stdlib.h>

#include "plugin/analysis.h"

/* µs. A window that seems longer than a day of milliseconds has a wrong end. */
#define WINDOW_LIMIT (24.0 * 3600 * 1000)

/* ---- the wrong end of old traces ---- */

/* Walks backwards until both markers are found; returns the row of the end to leave out. */
static uint32_t find_wrong_end(hb_analysis *a)
{
    uint32_t start = HB_NO_ROW, end = HB_NO_ROW;
    for (uint32_t i = a->trace->rows.count; i-- > 0 && (start == HB_NO_ROW || end == HB_NO_ROW);) {
        const hb_row *row = hb_trace_row(a->trace, i);
        if (!(row->flags & HB_ROW_NAME))
            hb_reject_trace(a, "event %u has no name that is a string", i);
        hb_str name = hb_trace_text(a->trace, row->name);
        if (hb_name_is(HB_KNOWN_WINDOW_END, name))
            end = i;
        else if (hb_name_is(HB_KNOWN_WINDOW_BEGIN, name))
            start = i;
    }
    if (start == HB_NO_ROW || end == HB_NO_ROW) return HB_NO_ROW;
    const hb_row *from = hb_trace_row(a->trace, start), *to = hb_trace_row(a->trace, end);
    if (!(from->flags & to->flags & HB_ROW_TS)) hb_reject_trace(a, "a window marker has no time");
    return hb_plugin_ts(a->trace, to) - hb_plugin_ts(a->trace, from) > WINDOW_LIMIT ? end
                                                                                    : HB_NO_ROW;
}

/* ---- one event ---- */

static void check_fields(hb_analysis *a, uint32_t i, const hb_row *row)
{
    if (row->flags & HB_ROW_ARGS_ODD) hb_reject_trace(a, "event %u: args is not an object", i);
    if (!(row->flags & HB_ROW_TS)) hb_reject_trace(a, "event %u: ts is not a number", i);
    if (row->kind != HB_KIND_MEMORY && !(row->flags & HB_ROW_DUR))
        hb_reject_trace(a, "event %u: dur is not a number", i);
}

/* What the plugin rounds, or asks the order of. Of other events it depends on those beside them. */
static void check_finite(hb_analysis *a, uint32_t i, const hb_row *row, hb_type type)
{
    const hb_odd_times *odd = hb_row_odd_times(a->trace, row);
    if (HB_LIKELY(!odd)) return;
    bool timed = type == HB_TYPE_OPERATOR || type == HB_TYPE_STEP || type == HB_TYPE_KERNEL ||
                 type == HB_TYPE_MEMORY;
    if (timed && !isfinite(odd->ts)) hb_reject_trace(a, "event %u: ts is not finite", i);
    if (type == HB_TYPE_KERNEL && !isfinite(odd->dur))
        hb_reject_trace(a, "event %u: dur is not finite", i);
}

static void need_name(hb_analysis *a, uint32_t i, const hb_row *row)
{
    if (!(row->flags & HB_ROW_NAME)) hb_reject_trace(a, "event %u has no name that is a string", i);
}

static hb_type operator_type(hb_analysis *a, const hb_row *row)
{
    hb_str name = hb_trace_text(a->trace, row->name);
    if (hb_name_class(a, row->name) & HB_NAME_STEP) return HB_TYPE_STEP;
    if (a->lightning && hb_name_is(HB_KNOWN_LIGHTNING_PROFILE, name)) return HB_TYPE_PL_PROFILE;
    if (a->lightning && hb_name_is(HB_KNOWN_LIGHTNING_MODULE, name)) return HB_TYPE_PL_MODULE;
    return HB_TYPE_OPERATOR;
}

/* False: the plugin drops the event. */
static bool decide_type(hb_analysis *a, uint32_t i, const hb_row *row, hb_type *type)
{
    switch ((hb_kind)row->kind) {
    case HB_KIND_OPERATOR:
        need_name(a, i, row);
        *type = operator_type(a, row);
        return true;
    case HB_KIND_ANNOTATION: {
        unsigned bits = row->flags & HB_ROW_NAME ? hb_name_class(a, row->name) : 0;
        *type = bits & HB_NAME_STEP ? HB_TYPE_STEP : HB_TYPE_ANNOTATION;
        return (bits & (HB_NAME_STEP | HB_NAME_COLLECTIVE)) != 0;
    }
    case HB_KIND_PYTHON:
        need_name(a, i, row);
        *type = HB_TYPE_PYTHON;
        return true;
    case HB_KIND_FUNCTION:
        if (a->lightning) return false;
        *type = hb_trace_function(a->trace, row)->module ? HB_TYPE_MODULE : HB_TYPE_FUNCTION;
        if (*type == HB_TYPE_MODULE) need_name(a, i, row);
        return true;
    case HB_KIND_RUNTIME: *type = HB_TYPE_RUNTIME; return true;
    case HB_KIND_KERNEL:
        need_name(a, i, row);
        *type = HB_TYPE_KERNEL;
        return true;
    case HB_KIND_MEMCPY:
        need_name(a, i, row);
        *type = HB_TYPE_MEMCPY;
        return true;
    case HB_KIND_MEMSET:
        need_name(a, i, row);
        *type = HB_TYPE_MEMSET;
        return true;
    case HB_KIND_SPAN: *type = HB_TYPE_SPAN; return true;
    case HB_KIND_MEMORY: *type = HB_TYPE_MEMORY; return true;
    case HB_KIND_OTHER:
    case HB_KIND_CALL:
    case HB_KIND_FLOW:
    case HB_KIND_COUNT: break;
    }
    return false;
}

/* Whether the file has its events in order, as most have. */
typedef struct file_order {
    double last; /* ts of the last one */
    bool by_time;
} file_order;

static void add_event(hb_analysis *a, uint32_t i, const hb_row *row, file_order *order)
{
    hb_type type;
    if (row->flags & HB_ROW_NOT_OBJECT) hb_reject_trace(a, "event %u is not an object", i);
    if ((row->flags & (HB_ROW_COMPLETE | HB_ROW_CAT)) == HB_ROW_COMPLETE)
        hb_reject_trace(a, "event %u has no category that is a string", i);
    if (row->flags & HB_ROW_MEMORY_X)
        hb_reject_trace(a, "event %u: a complete event of category memory", i);
    if (!decide_type(a, i, row, &type)) return;
    check_fields(a, i, row);
    check_finite(a, i, row, type);
    if (!(row->flags & HB_ROW_TS_INT) || (type != HB_TYPE_MEMORY && !(row->flags & HB_ROW_DUR_INT)))
        a->all_int = false;
    hb_num ts = hb_row_ts(a, row);
    if (a->num_events == 0 || ts.v < a->first_ts.v) a->first_ts = ts;
    order->by_time &= !(ts.v < order->last);
    order->last = ts.v;
    a->events[a->num_events++] = (hb_ev){i, type};
}

/* ---- flows ---- */

/* Ids of starts and ends in order of appearance; an end's ts is looked up by the start's id. */
static void take_flows(hb_analysis *a, const hb_u32s *rows)
{
    hb_dict starts = {0}, ends = {0};
    for (uint32_t i = 0; i < rows->count; i++) {
        const hb_row *row = hb_trace_row(a->trace, rows->items[i]);
        if ((row->flags & (HB_ROW_HAS_ID | HB_ROW_HAS_TS)) != (HB_ROW_HAS_ID | HB_ROW_HAS_TS))
            hb_reject_trace(a, "event %u: a forward_backward flow without id or ts",
                            rows->items[i]);
        if (row->ph != 's' && row->ph != 'f') continue;
        if (hb_key_tag(hb_row_key(a->trace, row)) == HB_KEY_TAG_CONTAINER)
            hb_reject_trace(a, "event %u: a flow's id is a container", rows->items[i]);
        hb_dict_set(&a->arena, row->ph == 's' ? &starts : &ends, row->id, rows->items[i]);
    }
    for (uint32_t i = 0; i < starts.entries.count; i++) {
        const hb_dict_entry *start = &starts.entries.items[i];
        const hb_dict_entry *end = hb_dict_get(&ends, start->key);
        if (!end) continue;
        const hb_row *from = hb_trace_row(a->trace, start->value);
        const hb_row *to = hb_trace_row(a->trace, end->value);
        if (!(from->flags & to->flags & HB_ROW_TS)) continue;
        hb_dict_set(&a->arena, &a->flows, hb_double_key(hb_plugin_ts(a->trace, from)),
                    a->flow_ends.count);
        *HB_PUSH(&a->arena, &a->flow_ends) = hb_plugin_ts(a->trace, to);
    }
}

/* ---- in order of time ---- */

/* Of microseconds, which are in the order of nanoseconds, but two of these may become one of them.
 */
static bool earlier(const void *trace, const void *x, const void *y)
{
    const hb_row *m = hb_trace_row(trace, ((const hb_ev *)x)->row);
    const hb_row *n = hb_trace_row(trace, ((const hb_ev *)y)->row);
    enum { SURELY = 1000 };
    if (HB_LIKELY(!hb_row_odd_times(trace, m) && !hb_row_odd_times(trace, n))) {
        if (m->start >= n->start) return false;
        if (n->start - m->start >= SURELY) return true;
    }
    return hb_plugin_ts(trace, m) < hb_plugin_ts(trace, n);
}

static bool is_lightning(const hb_trace *trace)
{
    hb_value v = hb_json_value(hb_trace_member(trace, "Framework"));
    return hb_value_is(&v, "pytorch-lightning");
}

void hb_analyze_events(hb_analysis *a)
{
    hb_u32s flows = {0};
    file_order order = {-__builtin_inf(), true};
    a->lightning = is_lightning(a->trace);
    hb_props_parse(&a->arena, hb_trace_member(a->trace, "deviceProperties"), &a->props);
    if (a->trace->rows.count > HB_MAX_EVENTS)
        hb_arena_leave(&a->arena, HB_ERROR_LIMIT, "the views take no more than %d events",
                       HB_MAX_EVENTS);
    uint32_t wrong_end = a->wrong_end = find_wrong_end(a);
    a->events = HB_NEW_ARRAY(&a->arena, hb_ev, a->trace->rows.count + 1);
    a->all_int = true;
    a->first_ts = hb_float(__builtin_inf());
    for (uint32_t i = 0; i < a->trace->rows.count; i++) {
        const hb_row *row = hb_trace_row(a->trace, i);
        if (i == wrong_end) continue;
        if (row->kind == HB_KIND_FLOW)
            *HB_PUSH(&a->arena, &flows) = i;
        else
            add_event(a, i, row, &order);
    }
    if (!order.by_time)
        hb_sort(&a->arena, a->events, a->num_events, sizeof *a->events, earlier, a->trace);
    take_flows(a, &flows);
}
