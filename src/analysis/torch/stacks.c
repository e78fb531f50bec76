/* SPDX-License-Identifier: MIT */
#include "torch/stacks.h"

typedef struct maker {
    hb_stack_tree *tree;
    const hb_fn_list *list;
    const hb_stack_choice *choice;
    hb_dict children; /* (node, frame) -> node */
} maker;

static uint32_t child(maker *m, uint32_t node, hb_string_id frame)
{
    bool added;
    hb_arena *arena = m->list->arena;
    uint64_t key = (uint64_t)node << 32 | frame;
    hb_dict_entry *e = hb_dict_add(arena, &m->children, key, &added);
    if (!added) return e->value;
    e->value = m->tree->nodes.count;
    *HB_PUSH(arena, &m->tree->nodes) = (hb_stack_node){.parent = node, .frame = frame};
    return m->tree->nodes.count - 1;
}

static uint32_t node_of_stack(maker *m, const hb_fn_stack *stack)
{
    uint32_t node = 0;
    for (uint32_t i = stack->count; i-- > 0;) /* the outermost first */
        node = child(m, node, stack->frames[i]);
    return node;
}

/* Device work counts where it was launched; by itself only when nobody knows where that was. */
static uint32_t node_of_scopes(maker *m, uint32_t event)
{
    const hb_fn *fn = &m->list->items[event];
    if (fn->flags & HB_FN_DEVICE && fn->flags & (HB_FN_GIVEN | HB_FN_ANNOTATION)) return 0;
    uint32_t outer = fn->parent == HB_NO_FN ? 0 : m->tree->of_event[fn->parent];
    return child(m, outer, fn->name);
}

void hb_stack_tree_make(hb_stack_tree *tree, const hb_fn_list *list, const hb_stack_choice *choice)
{
    hb_arena *arena = list->arena;
    maker m = {.tree = tree, .list = list, .choice = choice};
    *tree = (hb_stack_tree){.of_event = HB_NEW_ARRAY(arena, uint32_t, list->count + 1)};
    hb_fn_stack *stacks = choice->scopes ? NULL : hb_fn_stacks(list, UINT32_MAX);
    HB_PUSH(arena, &tree->nodes)->frame = 0;
    for (uint32_t i = 0; i < list->count; i++) { /* parents stand before their children */
        if (list->items[i].flags & HB_FN_GONE) continue;
        uint32_t node = stacks ? node_of_stack(&m, &stacks[i]) : node_of_scopes(&m, i);
        tree->of_event[i] = node;
        tree->nodes.items[node].amount += hb_stack_amount(list, i, choice);
    }
}
