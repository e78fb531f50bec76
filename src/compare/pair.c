/* SPDX-License-Identifier: MIT
 *
 * What of two runs belongs together: first what is equal in all that tells items apart, then of the
 * rest what is equal in less.
 */
#include "compare/comparison.h"

typedef struct pairing {
    hb_arena *arena;
    const hb_compare_run *runs[2];
    hb_pairs pairs;
    hb_dict names, keys; /* (name, shape) -> number; (number, module) -> pair */
} pairing;

static uint64_t key_of(pairing *p, const hb_item *item, bool shape, bool module)
{
    bool added;
    uint64_t name = (uint64_t)item->name << 32 | (shape ? item->shape : 0);
    hb_dict_entry *e = hb_dict_add(p->arena, &p->names, name, &added);
    if (added) e->value = p->names.entries.count;
    return (uint64_t)e->value << 32 | (module ? item->module : 0);
}

static void add_item(pairing *p, int side, uint32_t index, bool shape, bool module)
{
    bool added;
    uint64_t key = key_of(p, &p->runs[side]->items.items[index], shape, module);
    hb_dict_entry *e = hb_dict_add(p->arena, &p->keys, key, &added);
    if (added) {
        e->value = p->pairs.count;
        *HB_PUSH(p->arena, &p->pairs) = (hb_pair){.before = {0}};
    }
    hb_pair *pair = &p->pairs.items[e->value];
    *HB_PUSH(p->arena, side ? &pair->after : &pair->before) = index;
}

static const hb_item *first_item(const pairing *p, const hb_pair *pair)
{
    return pair->before.count ? &p->runs[0]->items.items[pair->before.items[0]]
                              : &p->runs[1]->items.items[pair->after.items[0]];
}

static bool is_lonely(const hb_pair *pair)
{
    return (pair->before.count == 0) != (pair->after.count == 0);
}

static void move_items(hb_arena *arena, hb_u32s *to, hb_u32s *from)
{
    for (uint32_t i = 0; i < from->count; i++)
        *HB_PUSH(arena, to) = from->items[i];
    from->count = 0;
}

/* Those without partner in either run meet where a coarser key is equal. */
static void join_lonely(pairing *p, bool module)
{
    hb_dict sides = {0}, first = {0};
    bool added;
    for (uint32_t i = 0; i < p->pairs.count; i++) {
        const hb_pair *pair = &p->pairs.items[i];
        if (!is_lonely(pair)) continue;
        uint64_t key = key_of(p, first_item(p, pair), false, module);
        hb_dict_add(p->arena, &sides, key, &added)->value |= pair->before.count ? 1 : 2;
    }
    for (uint32_t i = 0; i < p->pairs.count; i++) {
        hb_pair *pair = &p->pairs.items[i];
        if (!is_lonely(pair)) continue;
        uint64_t key = key_of(p, first_item(p, pair), false, module);
        if (hb_dict_get(&sides, key)->value != 3) continue;
        hb_dict_entry *e = hb_dict_add(p->arena, &first, key, &added);
        if (added) {
            e->value = i;
            continue;
        }
        move_items(p->arena, &p->pairs.items[e->value].before, &pair->before);
        move_items(p->arena, &p->pairs.items[e->value].after, &pair->after);
    }
}

static void drop_empty(hb_pairs *pairs)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < pairs->count; i++)
        if (pairs->items[i].before.count || pairs->items[i].after.count)
            pairs->items[n++] = pairs->items[i];
    pairs->count = n;
}

void hb_pairs_make(hb_arena *arena, const hb_compare_run *before, const hb_compare_run *after,
                   hb_compare_by by, hb_compare_group group, hb_pairs *pairs)
{
    pairing p = {.arena = arena, .runs = {before, after}};
    /* A device is no shape: what moved to another one is gone from here and new there. */
    bool shape = group >= HB_GROUP_SHAPE || by == HB_COMPARE_MEMORY,
         module = group == HB_GROUP_MODULE;
    for (int side = 0; side < 2; side++)
        for (uint32_t i = 0; i < p.runs[side]->items.count; i++)
            if (p.runs[side]->items.items[i].by == by) add_item(&p, side, i, shape, module);
    if (by != HB_COMPARE_MEMORY) {
        if (module) join_lonely(&p, true);
        if (shape || module) join_lonely(&p, false);
        drop_empty(&p.pairs);
    }
    *pairs = p.pairs;
}
