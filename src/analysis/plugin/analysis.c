/* SPDX-License-Identifier: MIT */
#include "plugin/analysis.h"

#include <stdio.h>

#include "plugin/memory_stats.h"

void hb_reject_trace(hb_analysis *a, const char *format, ...)
{
    char reason[240];
    va_list args;
    va_start(args, format);
    vsnprintf(reason, sizeof reason, format, args);
    va_end(args);
    hb_arena_leave(&a->arena, HB_ERROR_FORMAT, "%s", reason);
}

hb_string_id hb_intern(hb_analysis *a, const char *text, size_t size)
{
    hb_string_id id = hb_texts_add(&a->trace->strings, text, size);
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
        hb_json_to_python(buf, hb_trace_text(trace, hb_key_string(key)));
        return;
    case HB_KEY_TAG_TEXT: s = hb_trace_text(trace, hb_key_string(key)); break;
    }
    hb_buf_append(buf, s.s + (*s.s == '"'), s.len - (*s.s == '"'));
}

/* The plugin makes a summary of each GPU in use. */
static void check_gpu_infos(hb_analysis *a)
{
    for (uint32_t i = 0; i < a->num_gpus; i++) {
        int id = a->gpus[i].id;
        if (a->props.is_null) continue;
        if (!a->props.has_length) hb_reject_trace(a, "deviceProperties is not a list");
        if (id >= (int)a->props.count || id < 0) continue;
        const hb_prop *prop = &a->props.items[id];
        hb_num number;
        if (!prop->is_object) hb_reject_trace(a, "deviceProperties: entry %d is not an object", id);
        if (prop->memory.type > HB_JSON_STRING ||
            (prop->memory.type == HB_JSON_STRING && !hb_text_number(&prop->memory, &number)))
            hb_reject_trace(a, "deviceProperties: totalGlobalMem is not a number");
    }
}

typedef struct stage {
    void (*run)(hb_analysis *a);
    bool needed; /* by the others */
    bool costs;  /* of hb_analysis_run_costs() */
} stage;

static const stage first_stages[] = {
    {hb_analyze_events, true, true},   {hb_analyze_links, true, true},
    {hb_analyze_steps, true, true},    {hb_analyze_comms, false, true},
    {hb_analyze_overall, false, true}, {hb_analyze_gpus, false, true},
};

static const stage other_stages[] = {
    {hb_analyze_nodes, true, true},         {hb_analyze_trees, true, true},
    {hb_analyze_ops, true, false},          {hb_analyze_tensor_cores, false, false},
    {hb_analyze_kernel_names, true, false}, {hb_analyze_memory, false, true},
    {hb_analyze_advice, false, false},      {check_gpu_infos, false, false},
    {hb_analyze_modules, false, false},
};

/* The plugin loses a file for each stage that fails. To all others, what a stage has found until
 * then is what it finds. */
static hb_result run(hb_analysis *a, const stage *s)
{
    if (hb_arena_try(&a->arena)) s->run(a);
    bool spared = a->arena.result == HB_ERROR_FORMAT && !s->needed && a->trace->normalized;
    return spared ? HB_OK : hb_arena_outcome(&a->arena);
}

static hb_result run_stages(hb_analysis *a, const stage *list, size_t count, bool only_costs)
{
    for (size_t i = 0; i < count; i++)
        if (list[i].costs || !only_costs) HB_TRY(run(a, &list[i]));
    return HB_OK;
}

hb_result hb_analysis_begin(hb_analysis *a, hb_trace *trace)
{
    memset(a, 0, sizeof *a);
    a->trace = trace;
    hb_buf_init(&a->text, 1 << 20);
    return run_stages(a, first_stages, HB_ARRAY_LEN(first_stages), false);
}

hb_result hb_analysis_finish(hb_analysis *a)
{
    return run_stages(a, other_stages, HB_ARRAY_LEN(other_stages), false);
}

hb_result hb_analysis_run(hb_analysis *a, hb_trace *trace)
{
    HB_TRY(hb_analysis_begin(a, trace));
    return hb_analysis_finish(a);
}

hb_result hb_analysis_run_costs(hb_analysis *a, hb_trace *trace)
{
    HB_TRY(hb_analysis_begin(a, trace));
    return run_stages(a, other_stages, HB_ARRAY_LEN(other_stages), true);
}

void hb_analysis_free(hb_analysis *a)
{
    hb_buf_free(&a->text);
    hb_arena_free(&a->arena);
}
