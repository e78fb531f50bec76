/* SPDX-License-Identifier: MIT */
#include "torch/live_by_owner.h"

typedef struct grouping {
    const hb_allocations *a;
    const hb_fn_stack *stacks;
    hb_dict pairs;  /* (group so far, next part) -> a number for both */
    hb_dict groups; /* number of the whole -> index */
    hb_dict paths;  /* event -> number of its path */
    hb_live_owners made;
} grouping;

static uint32_t pair(grouping *g, uint32_t head, uint32_t tail)
{
    bool added;
    hb_dict_entry *e = hb_dict_add(g->a->arena, &g->pairs, (uint64_t)head << 32 | tail, &added);
    if (added) e->value = g->pairs.entries.count;
    return e->value;
}

static uint32_t path_of(grouping *g, uint32_t event)
{
    hb_u32s up = {0};
    uint32_t number = 0;
    const hb_fn *items = g->a->list->items;
    const hb_dict_entry *known = hb_dict_get(&g->paths, event);
    if (known) return known->value;
    for (uint32_t i = event; i != HB_NO_FN; i = items[i].parent)
        *HB_PUSH(g->a->arena, &up) = items[i].name;
    while (up.count)
        number = pair(g, number, up.items[--up.count]);
    hb_dict_set(g->a->arena, &g->paths, event, number);
    return number;
}

static uint32_t group_of(grouping *g, const hb_allocation *x)
{
    uint32_t owner = x->owner;
    if (x->held) return pair(g, UINT32_MAX, x->held_by);
    if (owner == HB_NO_FN) return 0;
    if (!g->stacks) return pair(g, 0, g->a->list->items[owner].name);
    uint32_t number = path_of(g, owner);
    for (uint32_t i = 0; i < g->stacks[owner].count; i++)
        number = pair(g, number, g->stacks[owner].frames[i]);
    return number;
}

static void add(grouping *g, const hb_allocation *x)
{
    bool added;
    hb_dict_entry *e = hb_dict_add(g->a->arena, &g->groups, group_of(g, x), &added);
    if (added) {
        e->value = g->made.count;
        hb_live_owner *made = HB_PUSH(g->a->arena, &g->made);
        *made = (hb_live_owner){
            .owner = x->owner, .held = x->held, .held_by = x->held_by, .first = x->begin};
        if (g->stacks && x->owner != HB_NO_FN) made->stack = g->stacks[x->owner];
    }
    hb_live_owner *h = &g->made.items[e->value];
    h->count++;
    h->bytes += x->bytes;
    h->largest = HB_MAX(h->largest, x->bytes);
}

static bool larger(const void *context, const void *x, const void *y)
{
    (void)context;
    return ((const hb_live_owner *)x)->bytes > ((const hb_live_owner *)y)->bytes;
}

hb_live_owners hb_live_by_owner(const hb_allocations *a, uint32_t device, uint32_t at,
                                const hb_fn_stack *stacks)
{
    grouping g = {.a = a, .stacks = stacks};
    const hb_allocation *x = at == HB_NO_RECORD ? NULL : hb_first_allocation(a, device);
    for (; x; x = hb_next_allocation(a, x))
        if (hb_allocation_lives(x, at)) add(&g, x);
    hb_sort(a->arena, g.made.items, g.made.count, sizeof *g.made.items, larger, NULL);
    return g.made;
}

void hb_put_scopes(const hb_fn_list *list, uint32_t owner, hb_buf *to)
{
    hb_u32s up = {0};
    for (uint32_t i = owner; i != HB_NO_FN; i = list->items[i].parent)
        *HB_PUSH(list->arena, &up) = list->items[i].name;
    while (up.count) {
        hb_str name = hb_trace_text(list->trace, up.items[--up.count]);
        hb_buf_append(to, name.s, name.len);
        if (up.count) hb_buf_append(to, ";", 1);
    }
}
