/* SPDX-License-Identifier: MIT
 *
 * What of two runs belongs together: first what is equal in all that tells items apart, then of the
 * rest what is equal in less.
 */
#include "compare/comparison.h"

enum { IN_BEFORE = 1, IN_AFTER = 2, IN_BOTH = IN_BEFORE | IN_AFTER };

/* A pair in the making. */
typedef struct draft {
    uint32_t joins; /* the one that its items go to; itself */
    uint32_t item;  /* its first */
    uint8_t first_side, sides;
} draft;

typedef struct pairing {
    hb_arena arena;
    const hb_compare_run *runs[2];
    hb_compare_by by;
    bool shape, module; /* tell items apart */
    HB_VEC(draft) drafts;
    hb_u32s draft_of[2]; /* by item of that kind, in their order */
    hb_dict names, keys; /* (name, shape) -> number; (number, module) -> draft */
} pairing;

static uint64_t key_of(pairing *p, const hb_run_item *item, bool shape, bool module)
{
    bool added;
    uint64_t name = (uint64_t)item->name << 32 | (shape ? item->shape : 0);
    hb_dict_entry *e = hb_dict_add(&p->arena, &p->names, name, &added);
    if (added) e->value = p->names.entries.count;
    return (uint64_t)e->value << 32 | (module ? item->module : 0);
}

static void add_item(pairing *p, int side, uint32_t index)
{
    bool added;
    uint64_t key = key_of(p, &p->runs[side]->items.items[index], p->shape, p->module);
    hb_dict_entry *e = hb_dict_add(&p->arena, &p->keys, key, &added);
    if (added) {
        e->value = p->drafts.count;
        *HB_PUSH(&p->arena, &p->drafts) = (draft){e->value, index, (uint8_t)side, 0};
    }
    p->drafts.items[e->value].sides |= side ? IN_AFTER : IN_BEFORE;
    *HB_PUSH(&p->arena, &p->draft_of[side]) = e->value;
}

static bool is_lonely(const draft *d, uint32_t index)
{
    return d->joins == index && d->sides != IN_BOTH;
}

static uint64_t coarse_key(pairing *p, const draft *d, bool module)
{
    return key_of(p, &p->runs[d->first_side]->items.items[d->item], false, module);
}

/* Those without partner in either run meet where a coarser key is equal. */
static void join_lonely(pairing *p, bool module)
{
    hb_dict sides = {0}, first = {0};
    bool added;
    for (uint32_t i = 0; i < p->drafts.count; i++) {
        const draft *d = &p->drafts.items[i];
        if (!is_lonely(d, i)) continue;
        hb_dict_add(&p->arena, &sides, coarse_key(p, d, module), &added)->value |= d->sides;
    }
    for (uint32_t i = 0; i < p->drafts.count; i++) {
        draft *d = &p->drafts.items[i];
        if (!is_lonely(d, i)) continue;
        uint64_t key = coarse_key(p, d, module);
        if (hb_dict_get(&sides, key)->value != IN_BOTH) continue;
        hb_dict_entry *e = hb_dict_add(&p->arena, &first, key, &added);
        if (added) e->value = i;
        d->joins = e->value;
    }
    for (uint32_t i = 0; i < p->drafts.count; i++)
        p->drafts.items[p->drafts.items[i].joins].sides |= p->drafts.items[i].sides;
}

static void find_pairs(pairing *p)
{
    for (int side = 0; side < 2; side++)
        for (uint32_t i = 0; i < p->runs[side]->items.count; i++)
            if (p->runs[side]->items.items[i].by == p->by) add_item(p, side, i);
    if (p->by == HB_COMPARE_MEMORY) return;
    if (p->module) join_lonely(p, true);
    if (p->shape || p->module) join_lonely(p, false);
}

/* ---- the result ---- */

/* Drafts that join no other become pairs; `number`: of which. */
static uint32_t number_pairs(const pairing *p, uint32_t *number)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->drafts.count; i++)
        if (p->drafts.items[i].joins == i) number[i] = n++;
    for (uint32_t i = 0; i < p->drafts.count; i++)
        number[i] = number[p->drafts.items[i].joins];
    return n;
}

static hb_u32s *side_of(hb_pair *pair, int side)
{
    return side ? &pair->after : &pair->before;
}

/* The items of all pairs stand in one array, pair by pair. */
static void fill_side(const pairing *p, int side, const uint32_t *number, hb_pairs *pairs,
                      uint32_t *items)
{
    const hb_u32s *draft_of = &p->draft_of[side];
    for (uint32_t i = 0; i < draft_of->count; i++)
        side_of(&pairs->items[number[draft_of->items[i]]], side)->capacity++;
    for (uint32_t i = 0; i < pairs->count; i++) {
        hb_u32s *list = side_of(&pairs->items[i], side);
        list->items = items;
        items += list->capacity;
    }
    for (uint32_t i = 0, k = 0; i < p->runs[side]->items.count; i++) {
        if (p->runs[side]->items.items[i].by != p->by) continue;
        hb_u32s *list = side_of(&pairs->items[number[draft_of->items[k++]]], side);
        list->items[list->count++] = i;
    }
}

static void make_pairs(pairing *p, hb_pairs *pairs, uint32_t *items)
{
    find_pairs(p);
    uint32_t *number = HB_NEW_ARRAY(&p->arena, uint32_t, p->drafts.count + 1);
    pairs->count = number_pairs(p, number);
    fill_side(p, 0, number, pairs, items);
    fill_side(p, 1, number, pairs, items + p->draft_of[0].count);
}

static uint32_t count_items(const hb_compare_run *run, hb_compare_by by)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < run->items.count; i++)
        n += run->items.items[i].by == by;
    return n;
}

void hb_pairs_make(hb_arena *arena, const hb_compare_run *before, const hb_compare_run *after,
                   hb_compare_by by, hb_compare_group group, hb_pairs *pairs)
{
    /* A device is no shape: what moved to another one is gone from here and new there. */
    pairing p = {.runs = {before, after},
                 .by = by,
                 .shape = group >= HB_GROUP_SHAPE || by == HB_COMPARE_MEMORY,
                 .module = group == HB_GROUP_MODULE};
    size_t most = (size_t)count_items(before, by) + count_items(after, by);
    uint32_t *items = HB_NEW_ARRAY(arena, uint32_t, most + 1);
    *pairs = (hb_pairs){.items = HB_NEW_ARRAY(arena, hb_pair, most + 1)};
    if (hb_arena_try(&p.arena)) make_pairs(&p, pairs, items);
    hb_result result = p.arena.result;
    hb_arena_free(&p.arena);
    if (result != HB_OK) hb_arena_leave(arena, result, "out of memory for pairs of items");
}
