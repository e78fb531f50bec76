/* SPDX-License-Identifier: MIT */
#include "plugin/answer_bodies.h"

#include <stdio.h>

static bool has_gpu(const hb_analysis *a)
{
    return a->has_role[HB_ROLE_RUNTIME] || a->has_role[HB_ROLE_KERNEL] ||
           a->has_role[HB_ROLE_MEMCPY] || a->has_role[HB_ROLE_MEMSET];
}

static bool is_shown(const hb_analysis *a, hb_role role)
{
    switch (role) {
    case HB_ROLE_KERNEL:
    case HB_ROLE_MEMCPY:
    case HB_ROLE_MEMSET:
    case HB_ROLE_RUNTIME: return has_gpu(a);
    case HB_ROLE_COMMUNICATION: return a->has_role[HB_ROLE_COMMUNICATION];
    default: return true;
    }
}

/* A trace without host events has one step from the largest int to the smallest; only its length is
 * beyond a double's integers. */
static void length_text(hb_buf *buf, hb_num length)
{
    if (!length.is_float && length.v == -18446744073709551616.0)
        hb_buf_str(buf, "-18446744073709551615");
    else
        hb_buf_py_num(buf, length);
}

static void tooltip(hb_emitter *out, hb_str step, hb_num total, hb_role role, hb_num cost)
{
    hb_buf text;
    hb_buf_init(&text, SIZE_MAX / 2);
    hb_buf_str(&text, "<div class=\"visualization-tooltip\" style=\"white-space: nowrap;\">Step ");
    hb_buf_append(&text, step.s, step.len);
    hb_buf_str(&text, "<br>Total: ");
    length_text(&text, total);
    hb_buf_printf(&text, "us<br><b>%s: ", hb_role_title(role));
    hb_buf_py_num(&text, cost);
    hb_buf_str(&text, "us</b><br>Percentage: ");
    hb_buf_py_float(&text, hb_py_round(100 * cost.v / total.v, 2));
    hb_buf_str(&text, "%</div>");
    hb_emit_str(out, (hb_str){text.data, (uint32_t)text.size});
    hb_buf_free(&text);
}

static void columns(hb_emitter *out, const hb_analysis *a)
{
    hb_emit_open_key(out, "columns", '[');
    hb_emit_column(out, "string", "Step", NULL);
    for (hb_role role = 0; role < HB_ROLE_TOTAL; role++) {
        if (!is_shown(a, role)) continue;
        hb_emit_column(out, "number", hb_role_title(role), NULL);
        hb_emit_raw(out, HB_STR("{\"type\": \"string\", \"role\": \"tooltip\", "
                                "\"p\": {\"html\": \"true\"}}"));
    }
    hb_emit_close(out, ']');
}

static void rows(hb_emitter *out, const hb_analysis *a)
{
    hb_emit_open_key(out, "rows", '[');
    for (uint32_t i = 0; i < a->steps.count; i++) {
        const hb_step *step = &a->steps.items[i];
        hb_str name = hb_trace_text(a->trace, step->name);
        hb_emit_open(out, '[');
        hb_emit_str(out, name);
        for (hb_role role = 0; role < HB_ROLE_TOTAL; role++) {
            if (!is_shown(a, role)) continue;
            hb_emit_num(out, step->costs[role]);
            tooltip(out, name, step->costs[HB_ROLE_TOTAL], role, step->costs[role]);
        }
        hb_emit_close(out, ']');
    }
    hb_emit_close(out, ']');
}

static void average(hb_emitter *out, const char *name, double value, double total)
{
    hb_emit_pair(out, "name", name);
    hb_emit_pair(out, "description", "");
    hb_emit_key(out, "value");
    hb_emit_int(out, hb_py_round(value, 0));
    hb_emit_key(out, "extra");
    if (value == total && strcmp(name, "Average Step Time") == 0)
        hb_emit_int(out, 100);
    else
        hb_emit_float(out, hb_py_round(100 * value / total, 2));
}

static void performance(hb_emitter *out, const hb_analysis *a)
{
    double total = a->average[HB_ROLE_TOTAL].v;
    hb_emit_open_key(out, "performance", '[');
    hb_emit_open(out, '{');
    average(out, "Average Step Time", total, total);
    hb_emit_open_key(out, "children", '[');
    for (hb_role role = 0; role < HB_ROLE_TOTAL; role++) {
        if (!is_shown(a, role)) continue;
        hb_emit_open(out, '{');
        average(out, hb_role_title(role), a->average[role].v, total);
        hb_emit_close(out, '}');
    }
    hb_emit_close(out, ']');
    hb_emit_close(out, '}');
    hb_emit_close(out, ']');
}

static void recommendations(hb_emitter *out, const hb_analysis *a)
{
    hb_buf html;
    hb_buf_init(&html, SIZE_MAX / 2);
    hb_buf_str(&html, "<ul>");
    for (uint32_t i = 0; i < a->advice.count; i++) {
        hb_buf_str(&html, "<li>");
        hb_buf_str(&html, a->advice.items[i]);
        hb_buf_str(&html, "</li>");
    }
    if (!a->advice.count) hb_buf_str(&html, "<li>N/A</li>");
    hb_buf_str(&html, "</ul>");
    hb_emit_key(out, "recommendations");
    hb_emit_str(out, (hb_str){html.data, (uint32_t)html.size});
    hb_buf_free(&html);
}

/* ---- GPU summary ---- */

static void entry(hb_emitter *out, const char *title, hb_buf *value)
{
    hb_emit_open(out, '{');
    hb_emit_pair(out, "title", title);
    hb_emit_key(out, "value");
    hb_emit_str(out, (hb_str){value->data ? value->data : "", (uint32_t)value->size});
    hb_emit_close(out, '}');
    value->size = 0;
}

static void percent(hb_emitter *out, const char *title, double value)
{
    hb_buf text;
    hb_buf_init(&text, 4096);
    hb_buf_py_float(&text, hb_py_round(value, 2));
    hb_buf_str(&text, " %");
    entry(out, title, &text);
    hb_buf_free(&text);
}

static void value_json(hb_emitter *out, const hb_value *v)
{
    hb_buf text;
    if (v->type != HB_JSON_STRING) {
        hb_emit_raw(out, (hb_str){v->s, (uint32_t)v->size});
        return;
    }
    hb_buf_init(&text, SIZE_MAX / 2);
    hb_value_to_python(&text, v);
    hb_emit_str(out, (hb_str){text.data ? text.data : "", (uint32_t)text.size});
    hb_buf_free(&text);
}

/* "15.78 GB", as the plugin shows it; false when it is not known. */
static bool memory_text(hb_buf *buf, const hb_prop *prop)
{
    hb_num bytes;
    if (hb_value_is_null(&prop->memory)) return false;
    if (!hb_value_number(&prop->memory, &bytes) && !hb_text_number(&prop->memory, &bytes))
        return false;
    hb_buf_py_float(buf, hb_py_round(bytes.v / 1024 / 1024 / 1024, 2));
    hb_buf_str(buf, " GB");
    return true;
}

/* "9.0"; false when it is not known. */
static bool capability_text(hb_buf *buf, const hb_prop *prop)
{
    if (hb_value_is_null(&prop->major) || hb_value_is_null(&prop->minor)) return false;
    hb_prop_capability(buf, prop);
    return true;
}

void hb_answer_gpu(hb_emitter *out, const hb_prop *prop)
{
    hb_buf text;
    hb_buf_init(&text, 1 << 20);
    hb_emit_open(out, '{');
    if (!hb_value_is_null(&prop->name)) {
        hb_emit_key(out, "Name");
        value_json(out, &prop->name);
    }
    if (memory_text(&text, prop)) {
        hb_emit_pair(out, "Memory", hb_buf_text(&text));
        hb_emit_key(out, "Memory Raw");
        value_json(out, &prop->memory);
    }
    text.size = 0;
    if (capability_text(&text, prop)) hb_emit_pair(out, "Compute Capability", hb_buf_text(&text));
    hb_emit_close(out, '}');
    hb_buf_free(&text);
}

static void gpu_properties(hb_emitter *out, const hb_prop *prop)
{
    hb_buf text;
    hb_buf_init(&text, 1 << 20);
    if (!hb_value_is_null(&prop->name)) {
        hb_emit_open(out, '{');
        hb_emit_pair(out, "title", "Name");
        hb_emit_key(out, "value");
        value_json(out, &prop->name);
        hb_emit_close(out, '}');
    }
    if (memory_text(&text, prop)) entry(out, "Memory", &text);
    if (capability_text(&text, prop)) entry(out, "Compute Capability", &text);
    hb_buf_free(&text);
}

static void gpu_entries(hb_emitter *out, const hb_analysis *a, const hb_gpu *gpu)
{
    hb_buf text;
    hb_buf_init(&text, 4096);
    char title[32], id[16];
    snprintf(title, sizeof title, "GPU %s:", hb_gpu_text(gpu, id));
    entry(out, title, &text);
    if (gpu->id >= 0 && (uint32_t)gpu->id < a->props.count)
        gpu_properties(out, &a->props.items[gpu->id]);
    percent(out, "GPU Utilization", gpu->utilization * 100);
    if (gpu->has_sm) percent(out, "Est. SM Efficiency", gpu->sm_efficiency * 100);
    if (gpu->has_occupancy) percent(out, "Est. Achieved Occupancy", gpu->occupancy);
    if (gpu->has_tc) percent(out, "Kernel Time using Tensor Cores", gpu->tc_ratio * 100);
}

static void gpu_summary(hb_emitter *out, const hb_analysis *a)
{
    bool sm = false, occupancy = false, tc = false;
    hb_emit_open_key(out, "gpu_metrics", '{');
    hb_emit_pair(out, "title", "GPU Summary");
    hb_emit_open_key(out, "data", '[');
    for (uint32_t i = 0; i < a->num_gpus; i++) {
        if (i) hb_emit_raw(out, HB_STR("{\"title\": \"<hr/>\", \"value\": \"\"}"));
        gpu_entries(out, a, &a->gpus[i]);
        sm |= a->gpus[i].has_sm;
        occupancy |= a->gpus[i].has_occupancy;
        tc |= a->gpus[i].has_tc;
    }
    hb_emit_close(out, ']');
    char tip[4096];
    snprintf(tip, sizeof tip, "%s%s%s%s", hb_tip_gpu_head, sm ? hb_tip_sm : "",
             occupancy ? hb_tip_occupancy : "", tc ? hb_tip_tc : "");
    hb_emit_pair(out, "tooltip", tip);
    hb_emit_close(out, '}');
}

void hb_answer_overview(hb_emitter *out, hb_analysis *a, unsigned num_workers)
{
    char count[16];
    snprintf(count, sizeof count, "%u", num_workers);
    hb_emit_open(out, '{');
    hb_emit_open_key(out, "steps", '{');
    columns(out, a);
    rows(out, a);
    hb_emit_close(out, '}');
    performance(out, a);
    recommendations(out, a);
    hb_emit_open_key(out, "environments", '[');
    hb_emit_open(out, '{');
    hb_emit_pair(out, "title", "Number of Worker(s)");
    hb_emit_pair(out, "value", count);
    hb_emit_close(out, '}');
    hb_emit_open(out, '{');
    hb_emit_pair(out, "title", "Device Type");
    hb_emit_pair(out, "value", has_gpu(a) ? "GPU" : "CPU");
    hb_emit_close(out, '}');
    hb_emit_close(out, ']');
    if (a->num_gpus) gpu_summary(out, a);
    hb_emit_close(out, '}');
}
