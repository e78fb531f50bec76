/* SPDX-License-Identifier: MIT
 *
 * What torch derives from an operator's inputs and call stack: shapes, stacks.
 */
#include <math.h>
#include <stdlib.h>

#include "base/json_scan.h"
#include "torch/function_events.h"
#include "trace/op_work.h"

/* ---- shapes ---- */

/* One element of Input Dims: a tensor's dimensions, or a list of tensors, which torch leaves out.
 */
static const char *put_shape(hb_buf *to, const char *p)
{
    const char *first = p + 1, *end = hb_behind_list(p);
    while (*first == ' ')
        first++;
    if (*first == '[') {
        hb_buf_str(to, "[]");
        return end;
    }
    for (; p < end; p++) {
        if (*p == ' ') continue;
        hb_buf_append(to, p, 1);
        if (*p == ',') hb_buf_append(to, " ", 1);
    }
    return end;
}

hb_string_id hb_fn_shapes(hb_arena *arena, hb_trace *trace, hb_string_id dims)
{
    hb_buf text;
    hb_buf_init(&text, SIZE_MAX / 2);
    const char *p = dims ? hb_trace_text(trace, dims).s : "[]";
    hb_buf_str(&text, "[");
    for (p += *p == '['; *p && *p != ']';) {
        if (*p != '[') {
            p++;
            continue;
        }
        if (text.size > 1) hb_buf_str(&text, ", ");
        p = put_shape(&text, p);
    }
    hb_buf_str(&text, "]");
    hb_string_id id = text.failed ? 0 : hb_texts_add(&trace->strings, text.data, text.size);
    hb_buf_free(&text);
    if (!id) hb_arena_leave(arena, HB_ERROR_NO_MEMORY, "out of memory");
    return id;
}

/* ---- call stacks ---- */

typedef struct stacks {
    const hb_fn_list *list;
    uint32_t limit;
    hb_dict by_text;   /* Call stack's text -> index in made */
    hb_dict by_parent; /* row of a Python function -> index in made */
    HB_VEC(hb_fn_stack) made;
    hb_dict functions; /* Python id -> row */
} stacks;

/* torch's own frames around a backward pass. */
static bool is_noise(const char *frame)
{
    static const char *const pairs[][2] = {
        {"autograd/__init__", "_make_grads"},
        {"autograd/__init__", "backward"},
        {"torch/tensor", "backward"},
        {"_internal/common_utils", "prof_callable"},
        {"_internal/common_utils", "prof_func_call"},
        {"_internal/common_utils", "prof_meth_call"},
    };
    for (size_t i = 0; i < HB_ARRAY_LEN(pairs); i++)
        if (strstr(frame, pairs[i][0]) && strstr(frame, pairs[i][1])) return true;
    return false;
}

static hb_string_id intern(stacks *s, const char *text, size_t size)
{
    hb_string_id id = hb_texts_add(&s->list->trace->strings, text, size);
    if (!id) hb_arena_leave(s->list->arena, HB_ERROR_NO_MEMORY, "out of memory");
    return id;
}

static uint32_t keep(stacks *s, const hb_string_id *frames, uint32_t count)
{
    hb_string_id *copy = HB_NEW_ARRAY(s->list->arena, hb_string_id, count + 1);
    if (count) memcpy(copy, frames, count * sizeof *frames);
    *HB_PUSH(s->list->arena, &s->made) = (hb_fn_stack){copy, count};
    return s->made.count - 1;
}

/* "inner;...;outer;" in JSON text. */
static uint32_t split_stack(stacks *s, hb_str json)
{
    HB_VEC(hb_string_id) frames = {0};
    hb_buf text;
    hb_buf_init(&text, SIZE_MAX / 2);
    hb_value value = {json.s + 1, json.len - 2, HB_JSON_STRING,
                      memchr(json.s, '\\', json.len) != NULL};
    hb_value_decode(&value, &text);
    for (const char *p = hb_buf_text(&text), *end; *p && frames.count < s->limit; p = end) {
        end = p + strcspn(p, ";");
        hb_string_id frame = intern(s, p, (size_t)(end - p));
        if (end > p && !is_noise(hb_trace_text(s->list->trace, frame).s))
            *HB_PUSH(s->list->arena, &frames) = frame;
        end += *end == ';';
    }
    hb_buf_free(&text);
    return keep(s, frames.items, frames.count);
}

static uint32_t stack_of_text(stacks *s, hb_string_id json)
{
    bool added;
    hb_dict_entry *e = hb_dict_add(s->list->arena, &s->by_text, json, &added);
    if (!added) return e->value;
    hb_str text = hb_trace_text(s->list->trace, json);
    bool string = text.len >= 2 && text.s[0] == '"';
    uint32_t made = string ? split_stack(s, text) : keep(s, NULL, 0);
    hb_dict_set(s->list->arena, &s->by_text, json, made);
    return made;
}

/* Python functions name their callers by id. */
static uint32_t stack_of_function(stacks *s, const hb_row *row)
{
    HB_VEC(hb_string_id) frames = {0};
    const hb_trace *trace = s->list->trace;
    hb_id parent = hb_trace_function(trace, row)->parent;
    hb_dict_entry *known = hb_dict_get(&s->by_parent, parent);
    if (known) return known->value;
    hb_id id = parent;
    for (uint32_t steps = 0; id != HB_ID_NONE && frames.count < s->limit; steps++) {
        const hb_dict_entry *e = hb_dict_get(&s->functions, id);
        if (!e || steps > 1000) break;
        const hb_row *caller = hb_trace_row(trace, e->value);
        if (!is_noise(hb_trace_text(trace, caller->name).s))
            *HB_PUSH(s->list->arena, &frames) = caller->name;
        id = hb_trace_function(trace, caller)->parent;
    }
    uint32_t made = keep(s, frames.items, frames.count);
    hb_dict_set(s->list->arena, &s->by_parent, parent, made);
    return made;
}

static uint32_t stack_of(stacks *s, const hb_fn *fn)
{
    if (fn->row == HB_NO_FN) return 0;
    const hb_row *row = hb_trace_row(s->list->trace, fn->row);
    if (row->kind == HB_KIND_FUNCTION) return stack_of_function(s, row);
    if (row->kind != HB_KIND_OPERATOR && row->kind != HB_KIND_ANNOTATION &&
        row->kind != HB_KIND_PYTHON)
        return 0;
    hb_string_id json = hb_trace_op(s->list->trace, row)->stack;
    return json ? stack_of_text(s, json) : 0;
}

static const hb_op_detail *detail_of(const hb_fn_list *list, const hb_fn *fn)
{
    if (fn->row == HB_NO_FN) return NULL;
    const hb_row *row = hb_trace_row(list->trace, fn->row);
    return row->kind == HB_KIND_OPERATOR
               ? hb_trace_detail(list->trace, hb_trace_op(list->trace, row))
               : NULL;
}

/* A backward operator runs inside the engine's scope with its name. */
static bool is_backward(const hb_fn_list *list, uint32_t i)
{
    uint32_t parent = list->items[i].parent;
    if (parent == HB_NO_FN) return false;
    hb_str outer = hb_trace_text(list->trace, list->items[parent].name);
    hb_str name = hb_trace_text(list->trace, list->items[i].name);
    if (!hb_name_is(HB_KNOWN_BACKWARD, outer)) return false;
    hb_str of = hb_name_behind(HB_KNOWN_BACKWARD, outer);
    return of.len == 1 + name.len && *of.s == ' ' && memcmp(of.s + 1, name.s, name.len) == 0;
}

/* The event itself or the innermost around it that is a backward operator, by event. */
static uint32_t *find_backward(const hb_fn_list *list)
{
    uint32_t *backward = HB_NEW_ARRAY(list->arena, uint32_t, list->count + 1);
    for (uint32_t i = 0; i < list->count; i++) {
        const hb_fn *fn = &list->items[i];
        backward[i] = is_backward(list, i)     ? i
                      : fn->parent == HB_NO_FN ? HB_NO_FN
                                               : backward[fn->parent];
    }
    return backward;
}

/* (sequence number, thread); threads are indices of keys times two. */
static uint64_t forward_key(int64_t sequence, uint32_t thread)
{
    return (uint64_t)(uint32_t)(int32_t)sequence << 32 | thread;
}

/* ---- forward threads: a file knows threads by the system's ids, "Fwd thread id" counts them ----
 */

/* An end of an arrow, as (thread, time). */
static uint64_t place_key(const hb_trace *trace, const hb_row *row)
{
    return (uint64_t)row->start * 0x9e3779b97f4a7c15u ^ hb_row_tid(trace, row);
}

static bool is_arrow(const hb_fn_list *list, const hb_row *row, char ph)
{
    return row->ph == ph && row->flags & HB_ROW_TS && row->id != HB_ID_NONE &&
           row->kind == HB_KIND_OTHER && row->flags & HB_ROW_CAT &&
           hb_row_is_of(list->trace, row, HB_CATEGORY_FWDBWD);
}

/* Where an arrow begins is the forward operator, and where it ends the backward one, which knows
 * the thread's number: number -> thread. */
static void follow_arrows(const hb_fn_list *list, hb_dict *thread_of)
{
    hb_arena *arena = list->arena;
    hb_dict begins = {0}, ends = {0}; /* id -> row; place of the end -> row of the begin */
    for (uint32_t i = 0; i < list->trace->rows.count; i++) {
        const hb_row *row = hb_trace_row(list->trace, i);
        if (is_arrow(list, row, 's')) hb_dict_set(arena, &begins, row->id, i);
    }
    for (uint32_t i = 0; begins.entries.count && i < list->trace->rows.count; i++) {
        const hb_row *row = hb_trace_row(list->trace, i);
        const hb_dict_entry *e = is_arrow(list, row, 'f') ? hb_dict_get(&begins, row->id) : NULL;
        if (e) hb_dict_set(arena, &ends, place_key(list->trace, row), e->value);
    }
    for (uint32_t i = 0; ends.entries.count && i < list->count; i++) {
        bool added;
        const hb_op_detail *d = detail_of(list, &list->items[i]);
        if (!d || !d->fwd_thread || hb_dict_get(thread_of, (uint64_t)d->fwd_thread)) continue;
        const hb_dict_entry *e = hb_dict_get(
            &ends, place_key(list->trace, hb_trace_row(list->trace, list->items[i].row)));
        if (e)
            hb_dict_add(arena, thread_of, (uint64_t)d->fwd_thread, &added)->value =
                hb_row_tid(list->trace, hb_trace_row(list->trace, e->value)) * 2;
    }
}

/* Without arrows the thread where most of the sequence numbers were forward operators' is meant. */
static uint32_t forward_thread(const hb_fn_list *list, int32_t id, const uint32_t *backward,
                               const hb_dict *forward, const hb_u32s *threads)
{
    uint32_t best = UINT32_MAX, most = 0;
    for (uint32_t t = 0; t < threads->count; t++) {
        uint32_t votes = 0;
        for (uint32_t i = 0; i < list->count; i++) {
            const hb_op_detail *d = backward[i] == i ? detail_of(list, &list->items[i]) : NULL;
            if (d && d->fwd_thread == id)
                votes += hb_dict_get(forward, forward_key(d->sequence, threads->items[t])) != NULL;
        }
        if (votes > most) {
            most = votes;
            best = threads->items[t];
        }
    }
    return best;
}

/* Within a backward operator, the stack of the forward one counts: of the first event outside with
 * its sequence number, on its thread. */
static void give_forward_stacks(const hb_fn_list *list, hb_fn_stack *of_event)
{
    uint32_t *backward = find_backward(list);
    hb_dict first = {0}, forward = {0}, thread_of = {0}, seen = {0};
    hb_u32s threads = {0};
    for (uint32_t i = 0; i < list->count; i++) {
        const hb_fn *fn = &list->items[i];
        const hb_op_detail *d = detail_of(list, fn);
        bool added;
        if (backward[i] != HB_NO_FN || fn->flags & HB_FN_GONE || !d || d->sequence < 0) continue;
        hb_dict_entry *e =
            hb_dict_add(list->arena, &first, forward_key(d->sequence, fn->thread), &added);
        if (added) e->value = i;
        if (d->fwd_thread) continue;
        hb_dict_set(list->arena, &forward, forward_key(d->sequence, fn->thread), i);
        hb_dict_add(list->arena, &seen, fn->thread, &added);
        if (added) *HB_PUSH(list->arena, &threads) = fn->thread;
    }
    follow_arrows(list, &thread_of);
    hb_fn_stack *own = HB_NEW_ARRAY(list->arena, hb_fn_stack, list->count + 1);
    if (list->count) memcpy(own, of_event, list->count * sizeof *own);
    for (uint32_t i = 0; i < list->count; i++) {
        bool added;
        if (backward[i] == HB_NO_FN) continue;
        of_event[i] = (hb_fn_stack){NULL, 0};
        const hb_op_detail *d = detail_of(list, &list->items[backward[i]]);
        if (!d || !d->fwd_thread) continue;
        hb_dict_entry *t = hb_dict_add(list->arena, &thread_of, (uint64_t)d->fwd_thread, &added);
        if (added) {
            uint32_t found = forward_thread(list, d->fwd_thread, backward, &forward, &threads);
            t->value = found;
        }
        const hb_dict_entry *e = hb_dict_get(&first, forward_key(d->sequence, t->value));
        if (e) of_event[i] = own[e->value];
    }
}

hb_fn_stack *hb_fn_stacks(const hb_fn_list *list, uint32_t limit)
{
    hb_fn_stack *result = HB_NEW_ARRAY(list->arena, hb_fn_stack, list->count + 1);
    stacks s = {.list = list, .limit = limit};
    const hb_trace *trace = list->trace;
    bool any = false;
    for (uint32_t i = 0; i < list->count && limit; i++) {
        const hb_row *row =
            list->items[i].row == HB_NO_FN ? NULL : hb_trace_row(trace, list->items[i].row);
        if (row && row->kind == HB_KIND_FUNCTION) {
            hb_dict_set(list->arena, &s.functions, row->id, list->items[i].row);
            any |= (row->flags & HB_ROW_STACK) != 0;
        } else if (row && row->kind == HB_KIND_OPERATOR) {
            any |= hb_trace_op(trace, row)->stack != 0;
        }
    }
    if (!any) return result; /* torch did not ask for stacks then, nor for those of functions */
    keep(&s, NULL, 0);
    for (uint32_t i = 0; i < list->count; i++) {
        uint32_t made = stack_of(&s, &list->items[i]); /* may move the list of them */
        result[i] = s.made.items[made];
    }
    give_forward_stacks(list, result);
    return result;
}
