/* SPDX-License-Identifier: MIT
 *
 * One call tree a thread, by nesting of times.
 */
#include <math.h>

#include "plugin/analysis.h"

/* Python's sys.maxsize, as a double. */
#define FOREVER 9223372036854775807.0

/* The plugin recurses, and Python stops it near 1000 calls deep. */
enum { MAX_DEPTH = 960 };

uint32_t hb_new_node(hb_analysis *a)
{
    a->nodes =
        hb_arena_grow(&a->arena, a->nodes, a->num_nodes, &a->nodes_capacity, sizeof *a->nodes);
    a->nodes[a->num_nodes] = (hb_node){.row = HB_NO_ROW};
    return a->num_nodes++;
}

hb_node_work *hb_add_work(hb_analysis *a, hb_node *node)
{
    if (!node->work) {
        *HB_PUSH(&a->arena, &a->works) = (hb_node_work){0};
        node->work = a->works.count - 1;
    }
    return &a->works.items[node->work];
}

void hb_node_add_child(hb_analysis *a, uint32_t parent, uint32_t *last, uint32_t child)
{
    a->nodes[child].next = HB_NO_NODE;
    if (*last)
        a->nodes[*last].next = child;
    else
        a->nodes[parent].first_child = child;
    *last = child;
}

uint32_t hb_node_last_child(const hb_analysis *a, const hb_node *node)
{
    uint32_t last = node->first_child;
    while (last && a->nodes[last].next)
        last = a->nodes[last].next;
    return last;
}

bool hb_node_before(const void *context, const void *x, const void *y)
{
    const hb_node *nodes = context;
    const hb_node *m = &nodes[*(const uint32_t *)x], *n = &nodes[*(const uint32_t *)y];
    return m->start != n->start ? m->start < n->start : m->end > n->end;
}

void hb_tree_sort_children(hb_analysis *a, uint32_t node)
{
    hb_u32s list = {0};
    for (uint32_t c = a->nodes[node].first_child; c; c = a->nodes[c].next)
        *HB_PUSH(&a->arena, &list) = c;
    hb_sort(&a->arena, list.items, list.count, sizeof *list.items, hb_node_before, a->nodes);
    uint32_t last = a->nodes[node].first_child = HB_NO_NODE;
    for (uint32_t i = 0; i < list.count; i++)
        hb_node_add_child(a, node, &last, list.items[i]);
}

/* ---- sums ---- */

/* Calls in order of start, the longer first; those without times, or at time 0, come last. */
static bool call_before(const void *context, const void *x, const void *y)
{
    const hb_analysis *a = context;
    const hb_runtime *m = &a->runtimes.items[a->refs.items[*(const uint32_t *)x].runtime];
    const hb_runtime *n = &a->runtimes.items[a->refs.items[*(const uint32_t *)y].runtime];
    bool m_timed = !m->dummy && m->start != 0 && m->end != 0;
    bool n_timed = !n->dummy && n->start != 0 && n->end != 0;
    double m_start = m_timed ? m->start : FOREVER, n_start = n_timed ? n->start : FOREVER;
    if (m_start != n_start) return m_start < n_start;
    return m_timed && n_timed && m->end > n->end;
}

static void sort_calls(hb_analysis *a, hb_node_work *work)
{
    if (!work->calls || !a->refs.items[work->calls - 1].next) return;
    hb_u32s list = {0};
    for (uint32_t r = work->calls; r; r = a->refs.items[r - 1].next)
        *HB_PUSH(&a->arena, &list) = r - 1;
    hb_sort(&a->arena, list.items, list.count, sizeof *list.items, call_before, a);
    work->calls = list.items[0] + 1;
    for (uint32_t i = 0; i < list.count; i++)
        a->refs.items[list.items[i]].next = i + 1 < list.count ? list.items[i + 1] + 1 : 0;
}

/* Adds to what is there: a call that hangs on two nodes counts twice, as with the plugin. `owner`
 * may be NULL. */
static void fill_call(hb_analysis *a, hb_runtime *rt, const hb_node *owner)
{
    for (uint32_t i = rt->first_device; i; i = a->devices.items[i - 1].next) {
        hb_device_node *d = &a->devices.items[i - 1];
        if (owner) {
            d->op_name = owner->name;
            d->op_tc_eligible = owner->tc_eligible;
        }
        rt->device += d->end - d->start;
        rt->device_float |= d->is_float;
        if (d->tc_used) rt->tc += d->end - d->start;
    }
}

void hb_node_add_work_of_child(hb_analysis *a, hb_node *node, const hb_node *child)
{
    if (!child->work) return;
    hb_node_work *work = hb_add_work(a, node);
    const hb_node_work *below = hb_work_of(a, child);
    work->device += below->device;
    work->tc_total += below->tc_total;
}

static void add_children(hb_analysis *a, hb_node *node, bool spread)
{
    for (uint32_t c = node->first_child; c; c = a->nodes[c].next) {
        const hb_node *child = &a->nodes[c];
        node->floats |= hb_floats_of_child(child);
        hb_node_add_work_of_child(a, node, child);
        if (spread && child->tc_eligible) node->tc_eligible = true;
    }
}

static void add_work_of_call(hb_node_work *work, const hb_runtime *rt)
{
    work->device += rt->device;
    work->self_device += rt->device;
    work->tc_self += rt->tc;
    work->tc_total += rt->tc;
}

static void add_calls(hb_analysis *a, hb_node *node)
{
    for (uint32_t r = hb_work_of(a, node)->calls; r; r = a->refs.items[r - 1].next) {
        const hb_runtime *rt = &a->runtimes.items[a->refs.items[r - 1].runtime];
        if (!rt->dummy && rt->is_float) node->floats |= HB_FLOAT_SELF_HOST;
        if (rt->device_float) node->floats |= HB_FLOAT_DEVICE | HB_FLOAT_SELF_DEVICE;
        if (rt->first_device) add_work_of_call(hb_add_work(a, node), rt);
        if (node->type == HB_TYPE_OPERATOR && rt->tc > 0) node->tc_eligible = true;
    }
}

static void add_operators_device(hb_analysis *a, hb_node *node)
{
    double sum = 0;
    for (uint32_t c = node->first_child; c; c = a->nodes[c].next) {
        if (!hb_is_operator(a, &a->nodes[c])) continue;
        sum += hb_work_of(a, &a->nodes[c])->device;
        if (a->nodes[c].floats & HB_FLOAT_DEVICE) node->floats |= HB_FLOAT_SELF_DEVICE;
    }
    if (sum != 0) hb_add_work(a, node)->self_device += sum;
}

double hb_self_host(const hb_analysis *a, const hb_node *node)
{
    const hb_node_work *work = hb_work_of(a, node);
    if (node->self_kept) return work->self_host;
    double self = node->end - node->start;
    for (uint32_t c = node->first_child; c; c = a->nodes[c].next)
        self -= a->nodes[c].end - a->nodes[c].start;
    for (uint32_t r = work->calls; r; r = a->refs.items[r - 1].next) {
        const hb_runtime *rt = &a->runtimes.items[a->refs.items[r - 1].runtime];
        if (!rt->dummy) self -= rt->end - rt->start;
    }
    return self;
}

void hb_keep_self_host(hb_analysis *a, hb_node *node)
{
    if (node->self_kept) return;
    double self = hb_self_host(a, node);
    hb_add_work(a, node)->self_host = self;
    node->self_kept = true;
}

/* Sums a node and what lies below it; for one tree. */
static void fill_tree(hb_analysis *a, uint32_t index)
{
    for (uint32_t c = a->nodes[index].first_child; c; c = a->nodes[c].next)
        fill_tree(a, c);
    hb_node *node = &a->nodes[index];
    if (node->work) sort_calls(a, &a->works.items[node->work]);
    for (uint32_t r = hb_work_of(a, node)->calls; r; r = a->refs.items[r - 1].next)
        fill_call(a, &a->runtimes.items[a->refs.items[r - 1].runtime], node);
    if (node->start_float || node->end_float) node->floats |= HB_FLOAT_HOST | HB_FLOAT_SELF_HOST;
    add_children(a, node, node->type == HB_TYPE_OPERATOR);
    add_calls(a, node);
    if (node->class == HB_CLASS_MODULE || node->class == HB_CLASS_PL_MODULE)
        add_operators_device(a, node);
}

/* ---- building ---- */

/* A call that is the only one of an operator of its own name takes the operator's place: children
 * and runtime calls become its parent's, and what hung on the parent itself is forgotten. */
static void merge_doubles(hb_analysis *a, uint32_t index)
{
    hb_node *node = &a->nodes[index];
    while (node->type == HB_TYPE_OPERATOR && node->first_child) {
        const hb_node *child = &a->nodes[node->first_child];
        if (child->next || child->type != HB_TYPE_OPERATOR || child->name != node->name) break;
        node->first_child = child->first_child;
        node->work = child->work;
    }
    for (uint32_t c = node->first_child; c; c = a->nodes[c].next)
        merge_doubles(a, c);
}

/* What only partly overlaps the call before it is left out. */
static void nest(hb_analysis *a, const hb_tree_thread *thread)
{
    struct {
        uint32_t node, last; /* last: of its children */
        double end;
    } stack[MAX_DEPTH + 1];
    uint32_t depth = 0, behind = thread->first_node + thread->num_nodes;
    stack[0].node = thread->root;
    stack[0].last = HB_NO_NODE;
    stack[0].end = a->nodes[thread->root].end;
    for (uint32_t i = thread->first_node; i < behind; i++) {
        const hb_node *node = &a->nodes[i];
        while (!(node->start < stack[depth].end)) {
            if (depth == 0) hb_reject_trace(a, "an event's time is not finite");
            depth--;
        }
        if (!(node->end <= stack[depth].end)) {
            *HB_PUSH(&a->arena, &a->crossing) = i;
            continue;
        }
        hb_node_add_child(a, stack[depth].node, &stack[depth].last, i);
        if (++depth > MAX_DEPTH)
            hb_reject_trace(a, "calls are nested more than %d deep", MAX_DEPTH);
        stack[depth].node = i;
        stack[depth].last = HB_NO_NODE;
        stack[depth].end = node->end;
    }
}

static uint32_t new_dummy_call(hb_analysis *a)
{
    hb_runtime *rt = HB_PUSH(&a->arena, &a->runtimes);
    *rt = (hb_runtime){.row = HB_NO_ROW, .dummy = true, .has_device = true};
    rt->first_device = a->stale_first;
    fill_call(a, rt, NULL);
    return a->runtimes.count - 1;
}

static void add_root_calls(hb_analysis *a, hb_tree_thread *thread, bool stale)
{
    hb_u32s calls = {0};
    for (uint32_t i = 0; i < thread->zero_calls.count; i++)
        *HB_PUSH(&a->arena, &calls) = thread->zero_calls.items[i];
    if (stale && a->stale_first) *HB_PUSH(&a->arena, &calls) = new_dummy_call(a);
    for (uint32_t i = calls.count; i-- > 0;) {
        hb_node_work *work = hb_add_work(a, &a->nodes[thread->root]);
        *HB_PUSH(&a->arena, &a->refs) = (hb_call_ref){calls.items[i], work->calls};
        work->calls = a->refs.count;
    }
}

static void bound_root(hb_analysis *a, uint32_t index)
{
    hb_node *root = &a->nodes[index];
    root->no_time = !root->first_child;
    if (root->no_time) return;
    const hb_node *first = &a->nodes[root->first_child];
    const hb_node *last = &a->nodes[hb_node_last_child(a, root)];
    root->start = first->start;
    root->start_float = first->start_float;
    root->end = last->end;
    root->end_float = last->end_float;
    if (root->start_float || root->end_float) root->floats |= HB_FLOAT_HOST;
}

/* How deep Python nests the objects of a tree; the root not counted. */
static uint32_t depth_of(const hb_analysis *a, uint32_t index)
{
    uint32_t deepest = 0;
    for (uint32_t c = a->nodes[index].first_child; c; c = a->nodes[c].next) {
        uint32_t below = 1 + depth_of(a, c); /* once: a macro would ask twice at every level */
        deepest = HB_MAX(deepest, below);
    }
    uint32_t calls = hb_work_of(a, &a->nodes[index])->calls;
    for (uint32_t r = calls; r && deepest < 2; r = a->refs.items[r - 1].next)
        deepest =
            HB_MAX(deepest, a->runtimes.items[a->refs.items[r - 1].runtime].has_device ? 2u : 1u);
    return deepest;
}

static bool earlier(const void *context, const void *x, const void *y)
{
    const hb_node *m = x, *n = y;
    (void)context;
    return m->start != n->start ? m->start < n->start : m->end > n->end;
}

static void build(hb_analysis *a, hb_tree_thread *thread, bool stale)
{
    bool has_step = false;
    hb_node *nodes = &a->nodes[thread->first_node];
    hb_sort(&a->arena, nodes, thread->num_nodes, sizeof *nodes, earlier, NULL);
    for (uint32_t i = 0; i < thread->num_nodes && !has_step; i++)
        has_step = hb_name_class(a, nodes[i].name) & HB_NAME_STEP;
    thread->root = hb_new_node(a);
    thread->has_step = has_step;
    hb_node *root = &a->nodes[thread->root];
    root->start = -FOREVER;
    root->end = FOREVER;
    root->name = a->sid_root;
    root->type = HB_TYPE_PYTHON;
    add_root_calls(a, thread, has_step && stale);
    nest(a, thread);
    merge_doubles(a, thread->root);
    fill_tree(a, thread->root);
    bound_root(a, thread->root);
    uint32_t depth = depth_of(a, thread->root);
    a->depth = HB_MAX(a->depth, depth);
}

void hb_analyze_trees(hb_analysis *a)
{
    a->sid_root = hb_intern(a, "CallTreeRoot", 12);
    for (uint32_t i = 0; i < a->threads.count; i++)
        build(a, &a->threads.items[i], true);
    hb_analyze_backward(a);
    for (uint32_t i = 0; i < a->pl_threads.count; i++)
        build(a, &a->pl_threads.items[i], false);
}

void hb_tree_collect(hb_analysis *a, hb_arena *arena, uint32_t index, hb_u32s *ops,
                     hb_u32s *kernels)
{
    for (uint32_t c = a->nodes[index].first_child; c; c = a->nodes[c].next)
        hb_tree_collect(a, arena, c, ops, kernels);
    const hb_node *node = &a->nodes[index];
    for (uint32_t r = kernels ? hb_work_of(a, node)->calls : 0; r; r = a->refs.items[r - 1].next) {
        const hb_runtime *rt = &a->runtimes.items[a->refs.items[r - 1].runtime];
        for (uint32_t d = rt->first_device; d; d = a->devices.items[d - 1].next)
            if (a->devices.items[d - 1].type == HB_TYPE_KERNEL) *HB_PUSH(arena, kernels) = d - 1;
    }
    if (ops && hb_is_operator(a, node)) *HB_PUSH(arena, ops) = index;
}

typedef struct visiting {
    hb_analysis *a;
    void (*visit)(void *context, hb_analysis *a, const hb_node *op);
    void *context;
} visiting;

static void visit_tree(const visiting *v, uint32_t index)
{
    hb_analysis *a = v->a;
    for (uint32_t c = a->nodes[index].first_child; c; c = a->nodes[c].next)
        visit_tree(v, c);
    if (hb_is_operator(a, &a->nodes[index])) v->visit(v->context, a, &a->nodes[index]);
}

void hb_each_operator(hb_analysis *a,
                      void (*visit)(void *context, hb_analysis *a, const hb_node *op),
                      void *context)
{
    const visiting v = {a, visit, context};
    for (uint32_t i = 0; i < a->threads.count; i++)
        if (!a->threads.items[i].gone) visit_tree(&v, a->threads.items[i].root);
}
