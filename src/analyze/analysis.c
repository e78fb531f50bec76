/* SPDX-License-Identifier: MIT */
#include "analyze/analysis.h"

#include <stdio.h>

#include "analyze/memory.h"

void hb_lose(hb_analysis *a, const char *format, ...)
{
    char reason[240];
    va_list args;
    va_start(args, format);
    vsnprintf(reason, sizeof reason, format, args);
    va_end(args);
    hb_arena_leave(&a->arena, HB_ERROR_FORMAT, "%s", reason);
}

hb_sid hb_intern(hb_analysis *a, const char *text, size_t size)
{
    hb_sid id = hb_texts_add(&a->trace->strings, text, size);
    if (!id) hb_arena_leave(&a->arena, HB_ERROR_NO_MEMORY, "out of memory for names");
    return id;
}

void hb_buf_key(hb_buf *buf, const hb_trace *trace, hb_key key)
{
    hb_str s = {"", 0};
    switch (hb_key_tag(key)) {
    case HB_KEY_TAG_NONE: hb_buf_str(buf, "None"); return;
    case HB_KEY_TAG_INT: hb_buf_printf(buf, "%lld", (long long)hb_key_value(key)); return;
    case HB_KEY_TAG_CONTAINER:
        hb_json_to_python(buf, hb_trace_text(trace, hb_key_sid(key)));
        return;
    case HB_KEY_TAG_TEXT: s = hb_trace_text(trace, hb_key_sid(key)); break;
    }
    hb_buf_append(buf, s.s + (*s.s == '"'), s.len - (*s.s == '"'));
}

/* The plugin makes a summary of each GPU in use. */
static void check_gpu_infos(hb_analysis *a)
{
    for (uint32_t i = 0; i < a->num_gpus; i++) {
        int id = a->gpus[i].id;
        if (a->props.is_null) continue;
        if (!a->props.has_length) hb_lose(a, "deviceProperties is not a list");
        if (id >= (int)a->props.count || id < 0) continue;
        const hb_prop *prop = &a->props.items[id];
        hb_num number;
        if (!prop->is_object) hb_lose(a, "deviceProperties: entry %d is not an object", id);
        if (prop->memory.type > HB_JSON_STRING ||
            (prop->memory.type == HB_JSON_STRING && !hb_text_number(&prop->memory, &number)))
            hb_lose(a, "deviceProperties: totalGlobalMem is not a number");
    }
}

static void run(hb_analysis *a)
{
    hb_analyze_events(a);
    hb_analyze_nodes(a);
    hb_analyze_trees(a);
    hb_analyze_steps(a);
    hb_analyze_comms(a);
    hb_analyze_ops(a);
    hb_analyze_overall(a);
    hb_analyze_gpus(a);
    hb_analyze_tensor_cores(a);
    hb_analyze_kernel_names(a);
    hb_analyze_memory(a);
    hb_analyze_advice(a);
    check_gpu_infos(a);
    hb_analyze_modules(a);
}

hb_result hb_analysis_run(hb_analysis *a, hb_trace *trace)
{
    memset(a, 0, sizeof *a);
    a->trace = trace;
    hb_buf_init(&a->text, 1 << 20);
    if (hb_arena_try(&a->arena)) run(a);
    if (a->arena.result != HB_OK) return hb_fail(a->arena.result, "%s", a->arena.reason);
    return HB_OK;
}

void hb_analysis_free(hb_analysis *a)
{
    hb_buf_free(&a->text);
    hb_arena_free(&a->arena);
}
