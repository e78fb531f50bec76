/* SPDX-License-Identifier: MIT
 *
 * Operators and kernels in groups.
 */
#include <math.h>

#include "plugin/analysis.h"

hb_string_id hb_python_text(hb_analysis *a, hb_string_id json)
{
    bool added;
    hb_dict_entry *e = hb_dict_add(&a->arena, &a->python_texts, json, &added);
    if (!added) return e->value;
    hb_buf buf;
    hb_buf_init(&buf, SIZE_MAX / 2);
    if (json)
        hb_json_to_python(&buf, hb_trace_text(a->trace, json));
    else
        hb_buf_str(&buf, "None");
    hb_string_id id = hb_intern(a, buf.data ? buf.data : "", buf.size);
    hb_buf_free(&buf);
    hb_dict_set(&a->arena, &a->python_texts, json, id);
    return id;
}

bool hb_python_false(hb_str json)
{
    hb_value v = hb_json_value(json);
    hb_num number;
    if (hb_value_number(&v, &number)) return number.v == 0;
    if (v.type == HB_JSON_STRING) return v.size == 0;
    if (v.type == HB_JSON_ARRAY) return *hb_scan_space(v.s + 1) == ']';
    if (v.type == HB_JSON_OBJECT) return *hb_scan_space(v.s + 1) == '}';
    return true;
}

/* ---- operators ---- */

static void add_op(hb_op_stat *s, const hb_analysis *a, const hb_node *n)
{
    const hb_node_work *work = hb_work_of(a, n);
    s->calls++;
    s->host += n->end - n->start;
    s->device += work->device;
    s->self_host += hb_self_host(a, n);
    s->self_device += work->self_device;
    s->tc_self += work->tc_self;
    s->tc_total += work->tc_total;
    s->floats |= n->floats;
}

static void add_stat(hb_op_stat *s, const hb_op_stat *own)
{
    s->calls += own->calls;
    s->host += own->host;
    s->device += own->device;
    s->self_host += own->self_host;
    s->self_device += own->self_device;
    s->tc_self += own->tc_self;
    s->tc_total += own->tc_total;
    s->floats |= own->floats;
}

/* The group of a key; a new one takes its words from its first member. */
static uint32_t find_group(hb_arena *arena, hb_dict *dict, hb_op_stats *stats, uint64_t key,
                           const hb_node *n)
{
    bool added;
    hb_dict_entry *e = hb_dict_add(arena, dict, key, &added);
    if (added) {
        e->value = stats->count;
        *HB_PUSH(arena, stats) = (hb_op_stat){.name = n->name, .tc_eligible = n->tc_eligible};
    }
    return e->value;
}

void hb_group_by_name(hb_analysis *a, hb_arena *arena, const hb_u32s *ops, hb_op_stats *stats)
{
    hb_dict dict = {0};
    for (uint32_t i = 0; i < ops->count; i++) {
        const hb_node *n = &a->nodes[ops->items[i]];
        uint32_t group = find_group(arena, &dict, stats, n->name, n); /* may move the groups */
        add_op(&stats->items[group], a, n);
    }
}

/* A number for each pair, in order of appearance. */
static uint32_t pair(hb_analysis *a, hb_dict *pairs, uint32_t first, uint32_t second)
{
    bool added;
    hb_dict_entry *e = hb_dict_add(&a->arena, pairs, (uint64_t)first << 32 | second, &added);
    if (added) e->value = pairs->entries.count;
    return e->value;
}

/* In which groups an operator is. */
typedef struct places {
    uint32_t name, shape;
    uint32_t stack, shape_stack; /* where has_stack */
    bool has_stack;
} places;

typedef struct grouping {
    hb_dict by_name, by_shape, by_stack, by_shape_stack, pairs;
    hb_dict known; /* name and row of hb_trace.ops -> index of known_places */
    HB_VEC(places) known_places;
} grouping;

/* It puts them into a set. */
static void check_stack(hb_analysis *a, const hb_node *n, const hb_op_row *op)
{
    hb_json type = hb_json_value(hb_trace_text(a->trace, op->stack)).type;
    if (op->stack && (type == HB_JSON_ARRAY || type == HB_JSON_OBJECT))
        hb_reject_trace(a, "event %u: Call stack is a container", n->row);
}

static places find_places(hb_analysis *a, grouping *g, const hb_node *n, const hb_op_row *op)
{
    places p = {0};
    check_stack(a, n, op);
    hb_string_id shape = hb_python_text(a, op->dims);
    uint32_t name_shape = pair(a, &g->pairs, n->name, shape);
    p.name = find_group(&a->arena, &g->by_name, &a->by_name, n->name, n);
    hb_op_stat *s = &a->by_name.items[p.name];
    if (!s->calls) s->shape = shape;
    p.shape = find_group(&a->arena, &g->by_shape, &a->by_shape, name_shape, n);
    a->by_shape.items[p.shape].shape = shape;
    p.has_stack = op->stack && !hb_python_false(hb_trace_text(a->trace, op->stack));
    if (!p.has_stack) return p;
    a->by_name.items[p.name].has_stack = a->by_shape.items[p.shape].has_stack = true;
    uint64_t name_stack = (uint64_t)n->name << 32 | op->stack;
    p.stack = find_group(&a->arena, &g->by_stack, &a->by_stack, name_stack, n);
    s = &a->by_stack.items[p.stack];
    if (!s->calls) s->shape = shape;
    s->stack = op->stack;
    uint64_t all = (uint64_t)name_shape << 32 | op->stack;
    p.shape_stack = find_group(&a->arena, &g->by_shape_stack, &a->by_shape_stack, all, n);
    s = &a->by_shape_stack.items[p.shape_stack];
    s->shape = shape;
    s->stack = op->stack;
    return p;
}

/* Operators without a detail have their row in common with those that are called alike. */
static places places_of(hb_analysis *a, grouping *g, const hb_node *n)
{
    bool added;
    const hb_row *row = hb_trace_row(a->trace, n->row);
    const hb_op_row *op = hb_trace_op(a->trace, row);
    if (op->detail) return find_places(a, g, n, op);
    uint64_t key = (uint64_t)n->name << 32 | row->extra;
    hb_dict_entry *e = hb_dict_add(&a->arena, &g->known, key, &added);
    if (!added) return g->known_places.items[e->value];
    e->value = g->known_places.count;
    places p = find_places(a, g, n, op);
    *HB_PUSH(&a->arena, &g->known_places) = p;
    return p;
}

static void group_op(hb_analysis *a, grouping *g, const hb_node *n)
{
    places p = places_of(a, g, n);
    hb_op_stat own = {0};
    add_op(&own, a, n);
    add_stat(&a->by_name.items[p.name], &own);
    add_stat(&a->by_shape.items[p.shape], &own);
    if (!p.has_stack) return;
    add_stat(&a->by_stack.items[p.stack], &own);
    add_stat(&a->by_shape_stack.items[p.shape_stack], &own);
}

/* ---- kernels by operator ---- */

static hb_string_id text_or_zero(hb_analysis *a, hb_string_id json)
{
    if (!json || hb_python_false(hb_trace_text(a->trace, json))) return hb_intern(a, "0", 1);
    return hb_python_text(a, json);
}

static double weight(uint8_t state, double value)
{
    return state == HB_NUMBER_NONE || value == 0 ? 0 : value;
}

static void group_kernel(hb_analysis *a, hb_dict *dict, hb_dict *pairs, const hb_device_node *d)
{
    const hb_row *row = hb_trace_row(a->trace, d->row);
    uint32_t launch_index = hb_trace_device(a->trace, row)->launch;
    const hb_launch *l = hb_trace_launch_of(a->trace, row);
    bool added;
    /* Launches differ also by device and metrics, which do not separate groups. */
    uint32_t look =
        pair(a, pairs,
             pair(a, pairs, text_or_zero(a, l->registers), text_or_zero(a, l->shared)) | 1u << 31,
             pair(a, pairs, hb_python_text(a, l->grid), hb_python_text(a, l->block)) | 1u << 30);
    uint32_t who = pair(a, pairs, row->name, d->op_name);
    (void)launch_index;
    hb_dict_entry *e = hb_dict_add(&a->arena, dict, (uint64_t)who << 32 | look, &added);
    if (added) {
        e->value = a->kernel_ops.count;
        hb_kernel_op_stat *made = HB_PUSH(&a->arena, &a->kernel_ops);
        *made = (hb_kernel_op_stat){.name = row->name,
                                    .op_name = d->op_name,
                                    .min = {INFINITY, false},
                                    .tc_used = d->tc_used,
                                    .op_tc_eligible = d->op_tc_eligible};
        made->grid = hb_python_text(a, l->grid);
        made->block = hb_python_text(a, l->block);
        made->registers = text_or_zero(a, l->registers);
        made->shared = text_or_zero(a, l->shared);
    }
    if (l->blocks_state == HB_NUMBER_BAD || l->occupancy_state == HB_NUMBER_BAD)
        hb_reject_trace(a, "event %u: a kernel's metric is not a number", d->row);
    hb_kernel_op_stat *s = &a->kernel_ops.items[e->value];
    double duration = d->end - d->start;
    hb_num took = {duration, d->is_float};
    s->calls++;
    s->total = hb_num_add(s->total, took);
    if (duration < s->min.v) s->min = took; /* of equal ones the first stays, as in Python */
    if (duration > s->max.v) s->max = took;
    s->blocks_per_sm += weight(l->blocks_state, l->blocks_per_sm) * duration;
    s->occupancy += weight(l->occupancy_state, l->occupancy) * duration;
}

static void group_tree(void *context, hb_analysis *a, const hb_node *op)
{
    group_op(a, context, op);
}

void hb_analyze_ops(hb_analysis *a)
{
    grouping g = {0};
    hb_dict kernels = {0}, pairs = {0};
    for (uint32_t i = 0; i < a->threads.count && a->runtimes.count; i++)
        if (!a->threads.items[i].gone)
            hb_tree_collect(a, &a->arena, a->threads.items[i].root, NULL, &a->kernels);
    for (uint32_t i = 0; i < a->kernels.count; i++)
        group_kernel(a, &kernels, &pairs, &a->devices.items[a->kernels.items[i]]);
    hb_each_operator(a, group_tree, &g);
}

/* ---- tensor cores ---- */

typedef struct tc_sums {
    double tc[HB_MAX_GPUS], total[HB_MAX_GPUS], all;
    bool any;
} tc_sums;

static void sum_kernels(hb_analysis *a, const hb_node *n, bool by_device, tc_sums *sums)
{
    for (uint32_t r = hb_work_of(a, n)->calls; r; r = a->refs.items[r - 1].next) {
        const hb_runtime *rt = &a->runtimes.items[a->refs.items[r - 1].runtime];
        if (rt->dummy) continue;
        for (uint32_t i = rt->first_device; i; i = a->devices.items[i - 1].next) {
            const hb_device_node *d = &a->devices.items[i - 1];
            if (d->type != HB_TYPE_KERNEL) continue;
            double duration = d->end - d->start;
            sums->all += duration;
            if (!by_device) continue;
            const hb_launch *l = hb_trace_launch_of(a->trace, hb_trace_row(a->trace, d->row));
            if (l->device_state == HB_NUMBER_NONE)
                hb_reject_trace(a, "event %u: a kernel of an operator has no device", d->row);
            if (l->gpu == HB_NO_GPU) continue; /* told, or passed over, with the GPUs' use */
            sums->any = true;
            sums->total[l->gpu] += duration;
            if (d->tc_used) sums->tc[l->gpu] += duration;
        }
    }
}

/* Nodes that could use tensor cores and have none such below them. Returns whether there is one. */
static bool sum_bottom(hb_analysis *a, uint32_t index, tc_sums *sums)
{
    bool below = false;
    for (uint32_t c = a->nodes[index].first_child; c; c = a->nodes[c].next)
        below |= sum_bottom(a, c, sums);
    if (!a->nodes[index].tc_eligible || below) return below;
    sum_kernels(a, &a->nodes[index], false, sums);
    return true;
}

static void sum_operator(void *context, hb_analysis *a, const hb_node *op)
{
    sum_kernels(a, op, true, context);
}

void hb_analyze_tensor_cores(hb_analysis *a)
{
    tc_sums ops = {0}, bottom = {0};
    if (a->runtimes.count) hb_each_operator(a, sum_operator, &ops);
    for (uint32_t i = 0; i < a->num_gpus; i++) {
        hb_gpu *gpu = &a->gpus[i];
        gpu->has_tc = ops.any;
        gpu->tc_ratio = ops.total[gpu->slot] > 0 ? ops.tc[gpu->slot] / ops.total[gpu->slot] : 0;
    }
    for (uint32_t i = 0; i < a->threads.count; i++)
        if (!a->threads.items[i].gone && a->runtimes.count)
            sum_bottom(a, a->threads.items[i].root, &bottom);
    a->tc_eligible_ratio = ops.all > 0 ? bottom.all / ops.all : 0;
}
