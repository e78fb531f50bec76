/* SPDX-License-Identifier: MIT */
#include "plugin/tree_diff.h"

const hb_tree_thread *hb_first_thread(const hb_analysis *a, const hb_threads *threads)
{
    (void)a;
    for (uint32_t i = 0; i < threads->count; i++)
        if (!threads->items[i].gone) return &threads->items[i];
    return NULL;
}

static void list_children(hb_arena *arena, const hb_analysis *a, uint32_t node, hb_u32s *list)
{
    for (uint32_t c = a->nodes[node].first_child; c; c = a->nodes[c].next)
        *HB_PUSH(arena, list) = c;
}

/* What lies in the steps, or below the root when there are none. */
static hb_diff_side top_level(hb_arena *arena, hb_analysis *a, const hb_tree_thread *thread)
{
    hb_u32s all = {0}, inner = {0};
    bool steps = false;
    list_children(arena, a, thread->root, &all);
    for (uint32_t i = 0; i < all.count; i++) {
        if (a->nodes[all.items[i]].class != HB_CLASS_STEP) continue;
        steps = true;
        list_children(arena, a, all.items[i], &inner);
    }
    hb_u32s *list = steps ? &inner : &all;
    return (hb_diff_side){a, list->items, list->count, list->count == 1};
}

static bool is_anchor(const hb_node *n)
{
    return n->class == HB_CLASS_BACKWARD || n->class == HB_CLASS_LOADER ||
           n->class == HB_CLASS_MODULE || n->class == HB_CLASS_OPTIMIZER ||
           n->class == HB_CLASS_STEP;
}

static bool matches(const hb_analysis *l, const hb_node *m, const hb_analysis *r, const hb_node *n)
{
    hb_str s = hb_node_name(l, m), u = hb_node_name(r, n);
    return m->class == n->class && s.len == u.len && memcmp(s.s, u.s, s.len) == 0;
}

static void compare(hb_arena *arena, hb_diff *diff);

static void add_pair(hb_arena *arena, hb_diff *diff, hb_diff_side left, hb_diff_side right)
{
    left.single |= left.count == 1;
    right.single |= right.count == 1;
    hb_diff *child = HB_PUSH(arena, &diff->children);
    memset(child, 0, sizeof *child);
    child->left = left;
    child->right = right;
    compare(arena, child);
}

static hb_diff_side slice(const hb_diff_side *side, uint32_t from, uint32_t to)
{
    return (hb_diff_side){side->analysis, side->nodes + from, to - from, false};
}

/* Anchors of the left that have a partner further on the right cut both lists into pieces. */
static void compare_lists(hb_arena *arena, hb_diff *diff, const hb_diff_side *l,
                          const hb_diff_side *r)
{
    uint32_t l_from = 0, r_from = 0;
    bool any = false;
    for (uint32_t i = 0; i < l->count; i++) {
        const hb_node *n = &l->analysis->nodes[l->nodes[i]];
        uint32_t j = r_from;
        if (!is_anchor(n)) continue;
        while (j < r->count &&
               !matches(l->analysis, n, r->analysis, &r->analysis->nodes[r->nodes[j]]))
            j++;
        if (j == r->count) continue;
        any = true;
        if (i > l_from || j > r_from)
            add_pair(arena, diff, slice(l, l_from, i), slice(r, r_from, j));
        add_pair(arena, diff, slice(l, i, i + 1), slice(r, j, j + 1));
        l_from = i + 1;
        r_from = j + 1;
    }
    if (any && (l_from < l->count || r_from < r->count))
        add_pair(arena, diff, slice(l, l_from, l->count), slice(r, r_from, r->count));
}

static void compare(hb_arena *arena, hb_diff *diff)
{
    hb_diff_side *l = &diff->left, *r = &diff->right;
    if (!l->count || !r->count || l->single != r->single) return;
    if (!l->single) {
        compare_lists(arena, diff, l, r);
        return;
    }
    hb_u32s left = {0}, right = {0};
    list_children(arena, l->analysis, l->nodes[0], &left);
    list_children(arena, r->analysis, r->nodes[0], &right);
    hb_diff_side a = {l->analysis, left.items, left.count, false};
    hb_diff_side b = {r->analysis, right.items, right.count, false};
    compare_lists(arena, diff, &a, &b);
}

hb_result hb_diff_run(hb_arena *arena, hb_analysis *left, hb_analysis *right, hb_diff **diff)
{
    const hb_tree_thread *l = hb_first_thread(left, &left->threads);
    const hb_tree_thread *r = hb_first_thread(right, &right->threads);
    if (!l || !r) return hb_fail(HB_ERROR_FORMAT, "a trace without operators cannot be compared");
    *diff = HB_NEW_ARRAY(arena, hb_diff, 1);
    (*diff)->left = top_level(arena, left, l);
    (*diff)->right = top_level(arena, right, r);
    compare(arena, *diff);
    return HB_OK;
}
