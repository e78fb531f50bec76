/* SPDX-License-Identifier: MIT */
#include "compare/tree_overlay.h"

#include <stdlib.h>

#include "compare/comparison.h"
#include "compare/sequence.h"

typedef struct tree_sums {
    double calls, host, self_host, device, self_device;
} tree_sums;

typedef struct tree_node {
    hb_string_id name;
    uint32_t first, next; /* child and sibling; 0: none */
    tree_sums sums[2];
} tree_node;

struct hb_call_tree {
    hb_arena arena;          /* the nodes */
    HB_VEC(tree_node) nodes; /* [0] is not used, [1] is the root: the step */
    hb_texts texts;
    double steps[2];
};

/* While one step is added; memory of its own, as lists come and go. */
typedef struct adder {
    hb_call_tree *tree;
    hb_arena arena;
    hb_analysis *analysis;
    hb_string_id *names; /* of the trace's names, the tree's; 0: not looked up yet */
    int side;
} adder;

enum { ROOT = 1 };

hb_call_tree *hb_call_tree_new(void)
{
    hb_call_tree *tree = calloc(1, sizeof *tree);
    if (tree && !hb_texts_init(&tree->texts)) {
        free(tree);
        return NULL;
    }
    return tree;
}

void hb_call_tree_free(hb_call_tree *tree)
{
    if (!tree) return;
    hb_texts_free(&tree->texts);
    hb_arena_free(&tree->arena);
    free(tree);
}

/* ---- nodes ---- */

static uint32_t new_node(adder *a, hb_string_id name)
{
    hb_call_tree *t = a->tree;
    *HB_PUSH(&t->arena, &t->nodes) = (tree_node){.name = name};
    return t->nodes.count - 1;
}

static hb_string_id name_of(adder *a, const hb_node *n)
{
    hb_string_id *name = &a->names[n->name];
    if (*name) return *name;
    hb_str s = hb_trace_text(a->analysis->trace, n->name);
    *name = hb_texts_add(&a->tree->texts, s.s, s.len);
    if (!*name) hb_arena_leave(&a->tree->arena, HB_ERROR_NO_MEMORY, "out of memory for names");
    return *name;
}

static void add_sums(tree_sums *s, const hb_analysis *a, const hb_node *n)
{
    const hb_node_work *work = hb_work_of(a, n);
    s->calls++;
    s->host += n->end - n->start;
    s->self_host += hb_self_host(a, n);
    s->device += work->device;
    s->self_device += work->self_device;
}

/* ---- one list of calls into another ---- */

typedef struct group {
    hb_string_id name;
    hb_u32s calls; /* nodes of the analysis */
} group;

static void add_calls(adder *a, uint32_t parent, const hb_u32s *calls);

/* Loops become one turn, so that it does not matter how many there were. */
static group *fold(adder *a, const hb_u32s *calls, uint32_t *count)
{
    uint32_t *names = HB_NEW_ARRAY(&a->arena, uint32_t, calls->count + 1);
    uint32_t *into = HB_NEW_ARRAY(&a->arena, uint32_t, calls->count + 1);
    for (uint32_t i = 0; i < calls->count; i++)
        names[i] = name_of(a, &a->analysis->nodes[calls->items[i]]);
    *count = hb_sequence_fold(&a->arena, names, calls->count, into);
    group *groups = HB_NEW_ARRAY(&a->arena, group, *count + 1);
    for (uint32_t i = 0; i < calls->count; i++) {
        groups[into[i]].name = names[i];
        *HB_PUSH(&a->arena, &groups[into[i]].calls) = calls->items[i];
    }
    return groups;
}

/* For each group the child of `parent` that it belongs to; new ones take their place in the order.
 */
static uint32_t *place_groups(adder *a, uint32_t parent, const group *groups, uint32_t count)
{
    hb_call_tree *t = a->tree;
    hb_u32s children = {0}, names = {0};
    uint32_t *wanted = HB_NEW_ARRAY(&a->arena, uint32_t, count + 1);
    uint32_t *places = HB_NEW_ARRAY(&a->arena, uint32_t, count + 1);
    for (uint32_t c = t->nodes.items[parent].first; c; c = t->nodes.items[c].next) {
        *HB_PUSH(&a->arena, &children) = c;
        *HB_PUSH(&a->arena, &names) = t->nodes.items[c].name;
    }
    for (uint32_t i = 0; i < count; i++)
        wanted[i] = groups[i].name;
    hb_sequence_align(&a->arena, names.items, names.count, wanted, count, places);
    uint32_t before = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (places[i] != HB_UNMATCHED) {
            places[i] = children.items[places[i]];
        } else {
            uint32_t made = places[i] = new_node(a, groups[i].name);
            uint32_t *link = before ? &t->nodes.items[before].next : &t->nodes.items[parent].first;
            t->nodes.items[made].next = *link;
            *link = made;
        }
        before = places[i];
    }
    return places;
}

static void add_below(adder *a, uint32_t place, const hb_u32s *calls)
{
    for (uint32_t i = 0; i < calls->count; i++) {
        hb_u32s children = {0};
        const hb_node *nodes = a->analysis->nodes;
        for (uint32_t c = nodes[calls->items[i]].first_child; c; c = nodes[c].next)
            *HB_PUSH(&a->arena, &children) = c;
        if (children.count) add_calls(a, place, &children);
    }
}

static void add_calls(adder *a, uint32_t parent, const hb_u32s *calls)
{
    uint32_t count;
    group *groups = fold(a, calls, &count);
    uint32_t *places = place_groups(a, parent, groups, count);
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < groups[i].calls.count; k++)
            add_sums(&a->tree->nodes.items[places[i]].sums[a->side], a->analysis,
                     &a->analysis->nodes[groups[i].calls.items[k]]);
        add_below(a, places[i], &groups[i].calls);
    }
}

/* ---- steps ---- */

/* The first with steps; without any, the first one, as the plugin has it. */
static const hb_tree_thread *main_thread(const hb_analysis *a)
{
    const hb_tree_thread *first = NULL;
    for (uint32_t i = 0; i < a->threads.count; i++) {
        const hb_tree_thread *t = &a->threads.items[i];
        if (t->gone) continue;
        if (t->has_step) return t;
        if (!first) first = t;
    }
    return first;
}

static void add_children(adder *a, const hb_node *from)
{
    hb_u32s calls = {0};
    tree_sums *s = &a->tree->nodes.items[ROOT].sums[a->side];
    add_sums(s, a->analysis, from);
    a->tree->steps[a->side]++;
    for (uint32_t c = from->first_child; c; c = a->analysis->nodes[c].next)
        *HB_PUSH(&a->arena, &calls) = c;
    if (calls.count) add_calls(a, ROOT, &calls);
    hb_arena_free(&a->arena);
}

/* Steps may stand below other calls, as of a training loop that is a scope itself. */
static bool add_steps(adder *a, const hb_digest *d, uint32_t index)
{
    bool any = false;
    for (uint32_t c = a->analysis->nodes[index].first_child; c; c = a->analysis->nodes[c].next) {
        const hb_node *n = &a->analysis->nodes[c];
        if (n->class != HB_CLASS_STEP) {
            any |= add_steps(a, d, c);
        } else if (hb_digest_step_at(d, n->start) != UINT32_MAX) {
            add_children(a, n);
            any = true;
        }
    }
    return any;
}

static void add_tree(adder *a, const hb_digest *d)
{
    const hb_tree_thread *thread = main_thread(a->analysis);
    if (!a->tree->nodes.count) {
        new_node(a, 0);
        new_node(a, 0);
    }
    if (thread && !add_steps(a, d, thread->root) && !thread->has_step)
        add_children(a, &a->analysis->nodes[thread->root]);
}

/* Two arenas, two ways out. */
static hb_result add_guarded(adder *a, const hb_digest *d)
{
    if (!hb_arena_try(&a->tree->arena)) return HB_ERROR_NO_MEMORY;
    if (!hb_arena_try(&a->arena)) return HB_ERROR_NO_MEMORY;
    add_tree(a, d);
    return HB_OK;
}

hb_result hb_call_tree_add(hb_call_tree *tree, hb_digest *d, int side)
{
    adder a = {.tree = tree, .analysis = d->analysis, .side = side};
    a.names = calloc(d->analysis->trace->strings.count + 1, sizeof *a.names);
    hb_result result = a.names ? add_guarded(&a, d) : HB_ERROR_NO_MEMORY;
    hb_arena_free(&a.arena);
    free(a.names);
    return result;
}

/* ---- the result ---- */

static hb_tree_difference row_of(const hb_call_tree *t, const tree_node *n, unsigned depth)
{
    hb_tree_difference row = {.name = n->name ? hb_texts_get(&t->texts, n->name).s : "step",
                              .depth = depth,
                              .verdict = !n->sums[1].calls   ? HB_VERDICT_ONLY_BASELINE
                                         : !n->sums[0].calls ? HB_VERDICT_ONLY_RUN
                                                             : HB_VERDICT_NOISE};
    for (int side = 0; side < 2; side++) {
        const tree_sums *s = &n->sums[side];
        double steps = t->steps[side] ? t->steps[side] : 1;
        row.calls[side] = s->calls / steps;
        row.host_us[side] = s->host / steps;
        row.self_host_us[side] = s->self_host / steps;
        row.device_us[side] = s->device / steps;
        row.self_device_us[side] = s->self_device / steps;
    }
    return row;
}

static void list_nodes(const hb_call_tree *t, uint32_t index, unsigned depth,
                       hb_tree_difference *rows, size_t *count)
{
    rows[(*count)++] = row_of(t, &t->nodes.items[index], depth);
    for (uint32_t c = t->nodes.items[index].first; c; c = t->nodes.items[c].next)
        list_nodes(t, c, depth + 1, rows, count);
}

hb_result hb_call_tree_list(hb_call_tree *t, hb_tree_difference **rows, size_t *count)
{
    *count = 0;
    *rows = malloc((t->nodes.count + 1) * sizeof **rows);
    if (!*rows) return hb_no_memory();
    if (t->nodes.count) list_nodes(t, ROOT, 0, *rows, count);
    return HB_OK;
}
