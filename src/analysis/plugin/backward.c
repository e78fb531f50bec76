/* SPDX-License-Identifier: MIT
 *
 * Modules' backward passes: where forward_backward flows tell which backward operators belong to
 * which forward ones, the plugin takes the engine's nodes out of the trees and hangs their
 * operators under a mirror of each module.
 */
#include "plugin/analysis.h"

typedef struct group {
    hb_u32s nodes;
    bool taken;
} group;

typedef struct mirror {
    hb_analysis *a;
    hb_u32s modules;  /* at the top of the trees, below steps */
    hb_u32s engine;   /* evaluate_function nodes there */
    hb_dict holders;  /* parents of engine nodes */
    hb_dict parents;  /* start of a node below an engine node -> its parent */
    hb_dict group_of; /* engine node -> group */
    HB_VEC(group) groups;
    hb_dict backward_of; /* start of a forward operator -> group */
    hb_u32s roots;       /* mirrors of the top modules */
} mirror;

static hb_tree_thread *main_thread(hb_analysis *a)
{
    hb_tree_thread *found = NULL;
    for (uint32_t i = 0; i < a->threads.count; i++)
        if (a->threads.items[i].has_step) found = &a->threads.items[i];
    return found;
}

/* The thread of a tree's child that the engine made. */
static int backward_thread(hb_analysis *a)
{
    for (uint32_t i = 0; i < a->threads.count; i++) {
        uint32_t c = a->nodes[a->threads.items[i].root].first_child;
        for (; c; c = a->nodes[c].next)
            if (hb_name_class(a, a->nodes[c].name) & HB_NAME_BACKWARD) return (int)i;
    }
    return -1;
}

static hb_tree_thread *find_main_thread(hb_analysis *a)
{
    hb_tree_thread *found = main_thread(a);
    if (found || a->threads.count == 1) return found ? found : &a->threads.items[0];
    int backward = backward_thread(a);
    for (uint32_t i = 0; i < a->threads.count; i++) {
        hb_tree_thread *t = &a->threads.items[i];
        const hb_node *root = &a->nodes[t->root];
        if ((int)i == backward) continue;
        if (!found ||
            root->end - root->start > a->nodes[found->root].end - a->nodes[found->root].start)
            found = t;
    }
    return found;
}

static bool is_engine(hb_analysis *a, const hb_node *node)
{
    return (hb_name_class(a, node->name) & HB_NAME_BACKWARD) != 0;
}

static bool taken_out(hb_analysis *a, const hb_node *node)
{
    return node->class != HB_CLASS_MODULE && node->class != HB_CLASS_STEP && is_engine(a, node);
}

/* Modules and the engine's nodes below the root and its steps. Parents of engine nodes in the order
 * in which their first one is met. */
static void find_top(mirror *m, uint32_t parent)
{
    hb_analysis *a = m->a;
    bool added;
    for (uint32_t c = a->nodes[parent].first_child; c; c = a->nodes[c].next) {
        if (a->nodes[c].class == HB_CLASS_MODULE)
            *HB_PUSH(&a->arena, &m->modules) = c;
        else if (a->nodes[c].class == HB_CLASS_STEP)
            find_top(m, c);
        else if (taken_out(a, &a->nodes[c]))
            hb_dict_add(&a->arena, &m->holders, parent, &added);
    }
}

static void take_engine(mirror *m, uint32_t parent)
{
    hb_analysis *a = m->a;
    uint32_t c = a->nodes[parent].first_child, last = HB_NO_NODE;
    hb_keep_self_host(a, &a->nodes[parent]);
    a->nodes[parent].first_child = HB_NO_NODE;
    while (c) {
        uint32_t next = a->nodes[c].next;
        if (taken_out(a, &a->nodes[c]))
            *HB_PUSH(&a->arena, &m->engine) = c;
        else
            hb_node_add_child(a, parent, &last, c);
        c = next;
    }
}

static void note_parents(mirror *m, uint32_t parent)
{
    hb_analysis *a = m->a;
    bool added;
    for (uint32_t c = a->nodes[parent].first_child; c; c = a->nodes[c].next) {
        hb_dict_entry *e =
            hb_dict_add(&a->arena, &m->parents, hb_double_key(a->nodes[c].start), &added);
        if (added) e->value = parent;
        note_parents(m, c);
    }
}

static void group_engine(mirror *m)
{
    hb_analysis *a = m->a;
    for (uint32_t i = 0; i < m->engine.count; i++) {
        uint32_t n = m->engine.items[i];
        bool joins = hb_name_is(HB_KNOWN_ACCUMULATE, hb_node_name(a, &a->nodes[n]));
        if (joins && !m->groups.count)
            hb_reject_trace(a, "the first backward node is an AccumulateGrad");
        if (!joins) {
            *HB_PUSH(&a->arena, &m->groups) = (group){0};
            hb_dict_set(&a->arena, &m->group_of, n, m->groups.count - 1);
        }
        *HB_PUSH(&a->arena, &m->groups.items[m->groups.count - 1].nodes) = n;
    }
}

static void follow_flows(mirror *m)
{
    hb_analysis *a = m->a;
    for (uint32_t i = 0; i < a->flows.entries.count; i++) {
        const hb_dict_entry *flow = &a->flows.entries.items[i];
        uint64_t at = hb_double_key(a->flow_ends.items[flow->value]);
        const hb_dict_entry *parent = hb_dict_get(&m->parents, at);
        while (parent && !is_engine(a, &a->nodes[parent->value]))
            parent = hb_dict_get(&m->parents, hb_double_key(a->nodes[parent->value].start));
        if (!parent) continue;
        const hb_dict_entry *g = hb_dict_get(&m->group_of, parent->value);
        if (!g || m->groups.items[g->value].taken)
            hb_reject_trace(a, "two flows lead to one backward node");
        m->groups.items[g->value].taken = true;
        hb_dict_set(&a->arena, &m->backward_of, flow->key, g->value);
    }
}

/* As the sums of other trees, for a mirror: its time is that of its children, which are filled
 * already. */
static void fill_mirror(hb_analysis *a, uint32_t index)
{
    hb_tree_sort_children(a, index);
    hb_node *node = &a->nodes[index];
    const hb_node *first = &a->nodes[node->first_child];
    const hb_node *last = &a->nodes[hb_node_last_child(a, node)];
    if (first->no_time || last->no_time) hb_reject_trace(a, "a module without backward operators");
    node->start = first->start;
    node->end = last->end;
    node->start_float = first->start_float;
    node->end_float = last->end_float;
    node->no_time = false;
    node->floats = node->start_float || node->end_float ? HB_FLOAT_HOST | HB_FLOAT_SELF_HOST : 0;
    for (uint32_t c = node->first_child; c; c = a->nodes[c].next) {
        const hb_node *child = &a->nodes[c];
        if (child->no_time) hb_reject_trace(a, "a module without backward operators");
        node->floats |= hb_floats_of_child(child);
        hb_node_add_work_of_child(a, node, child);
        if (child->tc_eligible) node->tc_eligible = true;
    }
}

static uint32_t new_mirror(mirror *m, uint32_t module)
{
    hb_analysis *a = m->a;
    hb_str name = hb_node_name(a, &a->nodes[module]);
    char *text = hb_arena_alloc(&a->arena, name.len + 10);
    memcpy(text, name.s, name.len);
    memcpy(text + name.len, ".backward", 9);
    uint32_t index = hb_new_node(a);
    hb_node *node = &a->nodes[index];
    node->name = hb_intern(a, text, name.len + 9);
    node->class = HB_CLASS_BACKWARD;
    node->type = HB_TYPE_BACKWARD;
    node->no_time = true;
    return index;
}

typedef struct parent_mirror {
    uint32_t node, last; /* last: of its children */
} parent_mirror;

/* A node can hang in two places only as a copy; the plugin's lists share it. Its sums are final, so
 * a copy of the node with the same children shows the same. */
static void add_group(mirror *m, parent_mirror *parent, uint64_t start)
{
    hb_analysis *a = m->a;
    const hb_dict_entry *e = hb_dict_get(&m->backward_of, start);
    for (uint32_t i = 0; e && i < m->groups.items[e->value].nodes.count; i++) {
        uint32_t copy = hb_new_node(a);
        uint32_t original = m->groups.items[e->value].nodes.items[i];
        hb_keep_self_host(a, &a->nodes[original]);
        const hb_node_work work = *hb_work_of(a, &a->nodes[original]);
        a->nodes[copy] = a->nodes[original];
        a->nodes[copy].work = 0;
        hb_node_work *made = hb_add_work(a, &a->nodes[copy]);
        *made = work;
        made->same = original;
        hb_node_add_child(a, parent->node, &parent->last, copy);
    }
}

static void mirror_module(mirror *m, uint32_t node, parent_mirror *parent)
{
    hb_analysis *a = m->a;
    bool module = a->nodes[node].class == HB_CLASS_MODULE;
    parent_mirror made = {0};
    if (module) {
        made.node = new_mirror(m, node);
        if (parent)
            hb_node_add_child(a, parent->node, &parent->last, made.node);
        else
            *HB_PUSH(&a->arena, &m->roots) = made.node;
        parent = &made;
    }
    for (uint32_t c = a->nodes[node].first_child; c; c = a->nodes[c].next) {
        if (parent && hb_is_operator(a, &a->nodes[c]))
            add_group(m, parent, hb_double_key(a->nodes[c].start));
        mirror_module(m, c, parent);
    }
    if (module && made.last) fill_mirror(a, made.node);
}

/* ---- putting the mirrors in their place ---- */

typedef struct place {
    uint32_t node, index;
} place;

static uint32_t child_at(const hb_analysis *a, uint32_t node, uint32_t index)
{
    uint32_t c = a->nodes[node].first_child;
    while (index-- && c)
        c = a->nodes[c].next;
    return c;
}

static void insert_child(hb_analysis *a, uint32_t node, uint32_t index, uint32_t child)
{
    uint32_t before = index ? child_at(a, node, index - 1) : HB_NO_NODE;
    hb_keep_self_host(a, &a->nodes[node]);
    uint32_t *link = before ? &a->nodes[before].next : &a->nodes[node].first_child;
    a->nodes[child].next = *link;
    *link = child;
}

static void insert_mirrors(mirror *m, uint32_t root)
{
    hb_analysis *a = m->a;
    HB_VEC(place) stack = {0};
    uint32_t current = root, index = 0;
    for (uint32_t i = 0; i < m->roots.count; i++)
        if (a->nodes[m->roots.items[i]].no_time)
            hb_reject_trace(a, "a module without backward operators");
    hb_sort(&a->arena, m->roots.items, m->roots.count, sizeof *m->roots.items, hb_node_before,
            a->nodes);
    for (uint32_t i = 0; i < m->roots.count && current;) {
        const hb_node *made = &a->nodes[m->roots.items[i]], *now = &a->nodes[current];
        if (made->end < now->start) {
            i++;
            continue;
        }
        if (made->start > now->end) {
            current = stack.count ? stack.items[stack.count - 1].node : HB_NO_NODE;
            if (current) index = stack.items[--stack.count].index + 1;
            continue;
        }
        for (uint32_t c; (c = child_at(a, current, index)) != 0;) {
            if (made->end < a->nodes[c].start) break;
            if (made->start >= a->nodes[c].end) {
                index++;
                continue;
            }
            *HB_PUSH(&a->arena, &stack) = (place){current, index};
            current = c;
            index = 0;
        }
        insert_child(a, current, index++, m->roots.items[i++]);
    }
}

void hb_analyze_backward(hb_analysis *a)
{
    mirror m = {.a = a};
    if (!a->flows.entries.count || !a->threads.count) return;
    hb_tree_thread *main = find_main_thread(a);
    for (uint32_t i = 0; i < a->threads.count; i++)
        find_top(&m, a->threads.items[i].root);
    if (!m.modules.count) return;
    for (uint32_t i = 0; i < m.holders.entries.count; i++)
        take_engine(&m, (uint32_t)m.holders.entries.items[i].key);
    if (!m.engine.count) return;
    for (uint32_t i = 0; i < m.engine.count; i++)
        note_parents(&m, m.engine.items[i]);
    group_engine(&m);
    follow_flows(&m);
    if (m.backward_of.entries.count)
        for (uint32_t i = 0; i < m.modules.count; i++)
            mirror_module(&m, m.modules.items[i], NULL);
    const hb_node *first = &a->nodes[main->first_node];
    if (main->has_step &&
        hb_key_tag(hb_row_tid_key(a->trace, hb_trace_row(a->trace, first->row))) != HB_KEY_TAG_INT)
        hb_reject_trace(a, "modules' backward passes need an integer tid on the main thread");
    insert_mirrors(&m, main->root);
    for (uint32_t i = 0; i < a->threads.count; i++)
        a->threads.items[i].gone = !a->nodes[a->threads.items[i].root].first_child;
}
