/* SPDX-License-Identifier: MIT */
#include "torch/key_averages.h"

#include <stdlib.h>

/* ---- groups ---- */

typedef struct grouping {
    const hb_fn_list *list;
    const hb_group_options *options;
    hb_fn_stack *stacks;
    hb_dict pairs;  /* (group so far, next part) -> a number for both */
    hb_dict shapes; /* dims -> torch's text of them */
    hb_dict groups; /* number of the whole key -> index + 1 */
    uint32_t num_pairs;
} grouping;

/* A number for a list's beginning and one more element. */
static uint32_t pair(grouping *g, uint32_t head, uint32_t tail)
{
    bool added;
    hb_dict_entry *e = hb_dict_add(g->list->arena, &g->pairs, (uint64_t)head << 32 | tail, &added);
    if (added) e->value = ++g->num_pairs;
    return e->value;
}

static hb_string_id shapes_of(grouping *g, const hb_fn *fn)
{
    hb_trace *trace = g->list->trace;
    const hb_row *row = fn->row == HB_NO_FN ? NULL : hb_trace_row(trace, fn->row);
    bool has = row && !(fn->flags & HB_FN_DEVICE) &&
               (row->kind == HB_KIND_OPERATOR || row->kind == HB_KIND_ANNOTATION);
    hb_string_id dims = has ? hb_trace_op(trace, row)->dims : 0;
    bool added;
    hb_dict_entry *e = hb_dict_add(g->list->arena, &g->shapes, dims, &added);
    if (added) {
        hb_string_id made = hb_fn_shapes(g->list->arena, trace, dims);
        e->value = made;
    }
    return e->value;
}

static uint32_t key_of(grouping *g, const hb_fn *fn, hb_string_id shapes, const hb_fn_stack *stack)
{
    uint32_t kind = fn->flags & (HB_FN_DEVICE | HB_FN_ANNOTATION);
    uint32_t key = pair(g, fn->name, kind);
    if (g->options->by_overload) key = pair(g, key, fn->overload);
    if (g->options->by_shape) key = pair(g, key, shapes);
    for (uint32_t i = 0; i < stack->count; i++)
        key = pair(g, key, stack->frames[i]);
    return key;
}

static void add(const hb_fn_list *list, hb_average *a, uint32_t i)
{
    const hb_fn *fn = &list->items[i];
    const hb_fn_extra *extra = list->extras ? &list->extras[i] : NULL;
    a->count++;
    a->cpu_total += fn->cpu_total;
    a->self_cpu += fn->self_cpu;
    if (list->use_device) {
        a->device_total += fn->device_total;
        a->self_device += fn->self_device;
    }
    if (!extra) return;
    a->cpu_bytes += extra->cpu_bytes;
    a->self_cpu_bytes += extra->self_cpu_bytes;
    a->device_bytes += extra->device_bytes;
    a->self_device_bytes += extra->self_device_bytes;
    a->flops += extra->flops;
}

static hb_average start_group(const hb_group_options *o, const hb_fn *fn, hb_string_id shapes,
                              hb_fn_stack stack)
{
    return (hb_average){.name = fn->name,
                        .overload = o->each || o->by_overload ? fn->overload : 0,
                        .shapes = o->each || o->by_shape ? shapes : 0,
                        .stack = stack,
                        .device = fn->flags & HB_FN_DEVICE,
                        .annotation = fn->flags & HB_FN_ANNOTATION,
                        .nested = fn->parent != HB_NO_FN};
}

hb_averages hb_key_averages_make(const hb_fn_list *list, const hb_group_options *options)
{
    hb_arena *arena = list->arena;
    grouping g = {.list = list, .options = options};
    HB_VEC(hb_average) made = {0};
    uint32_t frames = options->each ? UINT32_MAX : options->stack_frames;
    g.stacks = hb_fn_stacks(list, frames);
    for (uint32_t i = 0; i < list->count; i++) {
        const hb_fn *fn = &list->items[i];
        if (fn->flags & HB_FN_GONE) continue;
        hb_string_id shapes = options->each || options->by_shape ? shapes_of(&g, fn) : 0;
        uint32_t key = options->each ? i : key_of(&g, fn, shapes, &g.stacks[i]);
        bool added;
        hb_dict_entry *e = hb_dict_add(arena, &g.groups, key, &added);
        if (added) {
            e->value = made.count;
            *HB_PUSH(arena, &made) = start_group(options, fn, shapes, g.stacks[i]);
        }
        add(list, &made.items[e->value], i);
    }
    return (hb_averages){made.items, made.count};
}

hb_average hb_total_average(const hb_fn_list *list)
{
    hb_average total = {0};
    for (uint32_t i = 0; i < list->count; i++)
        if (!(list->items[i].flags & HB_FN_GONE)) add(list, &total, i);
    return total;
}

/* ---- order ---- */

typedef enum sort_by {
    BY_NUMBER, /* a double at `offset` */
    BY_CPU_TIME,
    BY_DEVICE_TIME,
    BY_COUNT,
    BY_KEY,
    BY_SHAPES,
    BY_OVERLOAD,
    BY_STACK,
    BY_NOTHING, /* an attribute that is the same for all groups of a trace */
    BY_ANNOTATION,
} sort_by;

#define NUMBER(field) BY_NUMBER, offsetof(hb_average, field)

static const struct {
    const char *name;
    sort_by by;
    size_t offset;
} sort_keys[] = {
    {"cpu_time", BY_CPU_TIME, 0},
    {"device_time", BY_DEVICE_TIME, 0},
    {"cpu_time_total", NUMBER(cpu_total)},
    {"device_time_total", NUMBER(device_total)},
    {"self_cpu_time_total", NUMBER(self_cpu)},
    {"self_device_time_total", NUMBER(self_device)},
    {"cpu_memory_usage", NUMBER(cpu_bytes)},
    {"device_memory_usage", NUMBER(device_bytes)},
    {"self_cpu_memory_usage", NUMBER(self_cpu_bytes)},
    {"self_device_memory_usage", NUMBER(self_device_bytes)},
    {"count", BY_COUNT, 0},
    {"flops", NUMBER(flops)},
    {"key", BY_KEY, 0},
    {"input_shapes", BY_SHAPES, 0},
    {"overload_name", BY_OVERLOAD, 0},
    {"stack", BY_STACK, 0},
    {"is_user_annotation", BY_ANNOTATION, 0},
    {"is_async", BY_NOTHING, 0},
    {"is_remote", BY_NOTHING, 0},
    {"is_legacy", BY_NOTHING, 0},
    {"node_id", BY_NOTHING, 0},
    {"use_device", BY_NOTHING, 0},
};

typedef struct sort_context {
    const hb_trace *trace;
    sort_by by;
    size_t offset;
} sort_context;

static double number_of(const sort_context *s, const hb_average *a)
{
    switch (s->by) {
    case BY_NUMBER: {
        double v;
        memcpy(&v, (const char *)a + s->offset, sizeof v);
        return v;
    }
    case BY_CPU_TIME: return a->cpu_total / (double)a->count;
    case BY_DEVICE_TIME: return a->device_total / (double)a->count;
    case BY_COUNT: return (double)a->count;
    case BY_ANNOTATION: return a->annotation;
    default: return 0;
    }
}

/* Of a trace that is not torch's, a sign may stand before something else. */
static bool begins_integer(const char *s)
{
    s += *s == '-';
    return *s >= '0' && *s <= '9';
}

/* Lists of lists of integers as Python compares them: the first difference decides, and a list
 * that ends is less than one that goes on. */
static int compare_shapes(const char *a, const char *b)
{
    while (*a && *b) {
        if (begins_integer(a) && begins_integer(b)) {
            char *a_end, *b_end;
            long long x = strtoll(a, &a_end, 10), y = strtoll(b, &b_end, 10);
            if (x != y) return x < y ? -1 : 1;
            a = a_end;
            b = b_end;
        } else if (*a == *b) {
            a++;
            b++;
        } else if (*a == ']' || *b == ']') {
            return *a == ']' ? -1 : 1;
        } else {
            return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
        }
    }
    return (*a != 0) - (*b != 0);
}

/* Lists of texts as Python compares them. */
static int compare_stacks(const hb_trace *t, const hb_fn_stack *a, const hb_fn_stack *b)
{
    for (uint32_t i = 0; i < a->count && i < b->count; i++) {
        if (a->frames[i] == b->frames[i]) continue;
        return strcmp(hb_trace_text(t, a->frames[i]).s, hb_trace_text(t, b->frames[i]).s);
    }
    return (a->count > b->count) - (a->count < b->count);
}

static int compare_texts(const sort_context *s, const hb_average *a, const hb_average *b)
{
    const hb_trace *t = s->trace;
    switch (s->by) {
    case BY_KEY: return strcmp(hb_trace_text(t, a->name).s, hb_trace_text(t, b->name).s);
    case BY_SHAPES:
        if (!a->shapes || !b->shapes) return 0;
        return compare_shapes(hb_trace_text(t, a->shapes).s, hb_trace_text(t, b->shapes).s);
    case BY_OVERLOAD:
        if (!a->overload || !b->overload) return (a->overload != 0) - (b->overload != 0);
        return strcmp(hb_trace_text(t, a->overload).s, hb_trace_text(t, b->overload).s);
    case BY_STACK: return compare_stacks(t, &a->stack, &b->stack);
    default: return 0;
    }
}

static bool larger(const void *context, const void *x, const void *y)
{
    const sort_context *s = context;
    if (s->by == BY_KEY || s->by == BY_SHAPES || s->by == BY_OVERLOAD || s->by == BY_STACK)
        return compare_texts(s, x, y) > 0;
    return number_of(s, x) > number_of(s, y);
}

/* As Python's str.replace() for each of the device names. */
static void plain_key(const char *key, char *to, size_t size)
{
    static const char *const devices[] = {"cuda", "xpu", "privateuse1", "hip"};
    size_t n = 0;
    while (*key && n + 8 < size) {
        size_t skip = 0;
        for (size_t i = 0; i < HB_ARRAY_LEN(devices) && !skip; i++)
            if (strncmp(key, devices[i], strlen(devices[i])) == 0) skip = strlen(devices[i]);
        if (skip) {
            memcpy(to + n, "device", 6);
            n += 6;
            key += skip;
        } else {
            to[n++] = *key++;
        }
    }
    to[n] = 0;
}

hb_result hb_averages_sort(hb_averages *averages, hb_arena *arena, const hb_trace *trace,
                           const char *key)
{
    char plain[80];
    plain_key(key, plain, sizeof plain);
    for (size_t i = 0; i < HB_ARRAY_LEN(sort_keys); i++) {
        if (strcmp(plain, sort_keys[i].name) != 0) continue;
        sort_context s = {trace, sort_keys[i].by, sort_keys[i].offset};
        hb_sort(arena, averages->items, averages->count, sizeof *averages->items, larger, &s);
        return HB_OK;
    }
    return hb_fail(HB_ERROR_INVALID_ARGUMENT, "there is no sort key '%s'", key);
}
