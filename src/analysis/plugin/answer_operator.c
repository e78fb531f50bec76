/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "plugin/answer_bodies.h"
#include "plugin/answers.h"

/* ---- pies ---- */

typedef hb_num (*measure)(const hb_op_stat *stat);

static hb_num device_total(const hb_op_stat *s)
{
    return (hb_num){s->device, s->floats & HB_FLOAT_DEVICE};
}

static hb_num device_self(const hb_op_stat *s)
{
    return (hb_num){s->self_device, s->floats & HB_FLOAT_SELF_DEVICE};
}

static hb_num host_total(const hb_op_stat *s)
{
    return (hb_num){s->host, s->floats & HB_FLOAT_HOST};
}

static hb_num host_self(const hb_op_stat *s)
{
    return (hb_num){s->self_host, s->floats & HB_FLOAT_SELF_HOST};
}

/* In the order of the measure. The caller frees. */
static hb_ranked *rank(const hb_op_stats *stats, measure measure_of, bool positive, uint32_t *count)
{
    hb_ranked *list = malloc((stats->count + 1) * sizeof *list);
    *count = 0;
    for (uint32_t i = 0; list && i < stats->count; i++) {
        double value = measure_of(&stats->items[i]).v;
        if (!positive || value > 0) list[(*count)++] = (hb_ranked){value, i};
    }
    if (list) hb_rank(list, *count);
    return list;
}

static void pie(hb_emitter *out, hb_analysis *a, const hb_op_stats *stats, const char *key,
                const char *title, measure measure_of)
{
    uint32_t count;
    hb_ranked *list = rank(stats, measure_of, true, &count);
    hb_emit_key(out, key);
    if (!count) {
        hb_emit_null(out);
        free(list);
        return;
    }
    hb_emit_open(out, '{');
    hb_emit_pair(out, "title", title);
    hb_emit_open_key(out, "columns", '[');
    hb_emit_column(out, "string", "name", NULL);
    hb_emit_column(out, "number", "value", NULL);
    hb_emit_close(out, ']');
    hb_emit_open_key(out, "rows", '[');
    for (uint32_t i = 0; i < count; i++) {
        hb_emit_open(out, '[');
        hb_emit_str(out, hb_trace_text(a->trace, stats->items[list[i].index].name));
        hb_emit_num(out, measure_of(&stats->items[list[i].index]));
        hb_emit_close(out, ']');
    }
    hb_emit_close(out, ']');
    hb_emit_close(out, '}');
    free(list);
}

void hb_answer_op_pie(hb_emitter *out, hb_analysis *a, bool by_shape)
{
    const hb_op_stats *stats = by_shape ? &a->by_shape : &a->by_name;
    hb_emit_open(out, '{');
    pie(out, a, stats, "device_total_time", "Device Total Time (us)", device_total);
    pie(out, a, stats, "device_self_time", "Device Self Time (us)", device_self);
    pie(out, a, stats, "host_total_time", "Host Total Time (us)", host_total);
    pie(out, a, stats, "host_self_time", "Host Self Time (us)", host_self);
    hb_emit_close(out, '}');
}

/* ---- tables ---- */

static bool has_device_columns(const hb_analysis *a)
{
    return a->has_role[HB_ROLE_KERNEL] || a->has_role[HB_ROLE_MEMCPY] ||
           a->has_role[HB_ROLE_MEMSET];
}

static void rounded(hb_emitter *out, const char *key, double value)
{
    hb_emit_key(out, key);
    hb_emit_int(out, hb_py_round(value, 0));
}

static void ratio(hb_emitter *out, const char *key, double part, double whole)
{
    hb_emit_key(out, key);
    if (whole > 0)
        hb_emit_float(out, hb_py_round(100 * (part / whole), 2));
    else
        hb_emit_int(out, 0);
}

static void row(hb_emitter *out, hb_analysis *a, const hb_op_stat *s, bool by_shape, bool stack)
{
    hb_emit_open(out, '{');
    hb_emit_key(out, "name");
    hb_emit_str(out, hb_trace_text(a->trace, s->name));
    if (by_shape) {
        hb_emit_key(out, "input_shape");
        hb_emit_str(out, hb_trace_text(a->trace, s->shape));
    }
    hb_emit_key(out, "calls");
    hb_emit_int(out, s->calls);
    if (has_device_columns(a)) {
        rounded(out, "device_self_duration", s->self_device);
        rounded(out, "device_total_duration", s->device);
    }
    rounded(out, "host_self_duration", s->self_host);
    rounded(out, "host_total_duration", s->host);
    hb_emit_pair(out, "tc_eligible", s->tc_eligible ? "Yes" : "No");
    ratio(out, "tc_self_ratio", s->tc_self, s->self_device);
    ratio(out, "tc_total_ratio", s->tc_total, s->device);
    if (stack) {
        hb_str json = hb_trace_text(a->trace, s->stack);
        hb_emit_key(out, "call_stack");
        hb_buf text;
        hb_buf_init(&text, SIZE_MAX / 2);
        if (*json.s == '"') {
            hb_json_to_python(&text, json);
            hb_emit_str(out, (hb_str){text.data ? text.data : "", (uint32_t)text.size});
        } else {
            hb_emit_raw(out, json);
        }
        hb_buf_free(&text);
    } else {
        hb_emit_key(out, "has_call_stack");
        hb_emit_raw(out, s->has_stack ? HB_STR("true") : HB_STR("false"));
    }
    hb_emit_close(out, '}');
}

static void table(hb_emitter *out, hb_analysis *a, const hb_op_stats *stats, bool by_shape,
                  bool stack)
{
    bool device = has_device_columns(a);
    uint32_t count;
    hb_ranked *list = rank(stats, device ? device_self : host_self, false, &count);
    hb_emit_open(out, '{');
    hb_emit_open_key(out, "metadata", '{');
    hb_emit_pair(out, "sort", device ? "device_self_duration" : "host_self_duration");
    hb_emit_open_key(out, "tooltips", '{');
    hb_emit_pair(out, "tc_eligible", hb_tip_op_tc_eligible);
    hb_emit_pair(out, "tc_self_ratio", hb_tip_op_tc_self);
    hb_emit_pair(out, "tc_total_ratio", hb_tip_op_tc_total);
    hb_emit_close(out, '}');
    hb_emit_close(out, '}');
    hb_emit_open_key(out, "data", '[');
    for (uint32_t i = 0; i < count; i++)
        row(out, a, &stats->items[list[i].index], by_shape, stack);
    hb_emit_close(out, ']');
    hb_emit_close(out, '}');
    free(list);
}

void hb_answer_op_table(hb_emitter *out, hb_analysis *a, bool by_shape)
{
    table(out, a, by_shape ? &a->by_shape : &a->by_name, by_shape, false);
}

static bool has_key(hb_analysis *a, const hb_op_stat *s, bool by_shape, hb_str key)
{
    hb_str name = hb_trace_text(a->trace, s->name), shape = hb_trace_text(a->trace, s->shape);
    if (!by_shape) return name.len == key.len && memcmp(name.s, key.s, key.len) == 0;
    return key.len == name.len + 3 + shape.len && memcmp(key.s, name.s, name.len) == 0 &&
           memcmp(key.s + name.len, "###", 3) == 0 &&
           memcmp(key.s + name.len + 3, shape.s, shape.len) == 0;
}

hb_result hb_answer_op_stack(hb_emitter *out, hb_analysis *a, bool by_shape, hb_str key)
{
    const hb_op_stats *all = by_shape ? &a->by_shape_stack : &a->by_stack;
    hb_op_stats some = {0};
    some.items = malloc((all->count + 1) * sizeof *some.items);
    if (!some.items) return hb_no_memory();
    for (uint32_t i = 0; i < all->count; i++)
        if (has_key(a, &all->items[i], by_shape, key)) some.items[some.count++] = all->items[i];
    if (some.count) table(out, a, &some, by_shape, true);
    free(some.items);
    if (!some.count)
        return hb_fail(HB_ERROR_NOT_FOUND, "no call stacks of operator '%.*s'", (int)key.len,
                       key.s);
    return HB_OK;
}
