/* SPDX-License-Identifier: MIT
 *
 * hipboard/analysis.h: stacks for flame graphs.
 */
#include "torch/stacks.h"

#include <stdio.h>

#include "api/api_trace_file.h"

typedef struct walk {
    hb_trace *trace;
    hb_arena arena;
    hb_stack_choice choice;
    hb_stack_tree tree;
    hb_fn_list list;
    hb_buf text;
    hb_u32s path;
    bool (*fn)(void *context, const char *stack, double amount);
    void *context;
} walk;

static hb_result choose(const char *metric, hb_stack_choice *choice)
{
    static const char *const places[] = {"cpu", "cuda", "xpu", "privateuse1", "hip", "device"};
    static const char *const measures[] = {"time_total", "memory_usage"};
    char known[64];
    if (!metric) return HB_OK;
    for (size_t i = 0; i < HB_ARRAY_LEN(places); i++)
        for (size_t k = 0; k < HB_ARRAY_LEN(measures); k++) {
            snprintf(known, sizeof known, "self_%s_%s", places[i], measures[k]);
            if (strcmp(metric, known) != 0) continue;
            choice->device = i > 0;
            choice->bytes = k > 0;
            return HB_OK;
        }
    return hb_fail(HB_ERROR_INVALID_ARGUMENT,
                   "there is no metric '%s': self_cpu_time_total, self_cuda_time_total, "
                   "self_cpu_memory_usage or self_cuda_memory_usage",
                   metric);
}

/* As torch's table of translations. */
static void put_frame(hb_buf *to, hb_str frame)
{
    char *p = hb_buf_reserve(to, frame.len);
    if (!p) return;
    for (uint32_t i = 0; i < frame.len; i++)
        p[i] = frame.s[i] && strchr(" ;\t\n", frame.s[i]) ? '_' : frame.s[i];
    to->size += frame.len;
}

static const char *text_of(walk *w, uint32_t node)
{
    w->path.count = 0;
    for (; node; node = w->tree.nodes.items[node].parent)
        *HB_PUSH(&w->arena, &w->path) = node;
    w->text.size = 0;
    for (uint32_t i = w->path.count; i-- > 0;) {
        put_frame(&w->text, hb_trace_text(w->trace, w->tree.nodes.items[w->path.items[i]].frame));
        if (i) hb_buf_append(&w->text, ";", 1);
    }
    const char *text = hb_buf_text(&w->text);
    if (w->text.failed) hb_arena_leave(&w->arena, HB_ERROR_NO_MEMORY, "out of memory");
    return text;
}

static bool show(walk *w, uint32_t node, double amount)
{
    return !node || amount < 1 || w->fn(w->context, text_of(w, node), amount);
}

static void each_event(walk *w)
{
    for (uint32_t i = 0; i < w->list.count; i++)
        if (!show(w, w->tree.of_event[i], hb_stack_amount(&w->list, i, &w->choice))) return;
}

static void each_stack(walk *w)
{
    for (uint32_t i = 1; i < w->tree.nodes.count; i++)
        if (!show(w, i, w->tree.nodes.items[i].amount)) return;
}

static hb_result run(walk *w, bool merged)
{
    if (hb_arena_try(&w->arena)) {
        hb_fn_list_make(&w->list, &w->arena, w->trace);
        hb_stack_tree_make(&w->tree, &w->list, &w->choice);
        if (merged)
            each_stack(w);
        else
            each_event(w);
    }
    return hb_arena_outcome(&w->arena);
}

hb_result hb_trace_file_stacks(hb_trace_file *file, const hb_stacks_options *options,
                               bool (*fn)(void *context, const char *stack, double amount),
                               void *context)
{
    hb_stacks_options o = HB_STACKS_OPTIONS_INIT;
    if (!file || !fn) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "an argument is NULL");
    HB_TRY(hb_options_take(options, &o, sizeof o, "HB_STACKS_OPTIONS_INIT"));
    walk w = {.trace = hb_trace_file_trace(file), .fn = fn, .context = context};
    w.choice.scopes = o.scopes;
    HB_TRY(choose(o.metric, &w.choice));
    hb_buf_init(&w.text, SIZE_MAX / 2);
    hb_result result = run(&w, o.merged);
    hb_buf_free(&w.text);
    hb_arena_free(&w.arena);
    return result;
}
