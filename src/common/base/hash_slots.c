/* SPDX-License-Identifier: MIT */
#include "base/hash_slots.h"

#include "base/large_memory.h"

static size_t doubled(const hb_slots *slots, uint32_t least)
{
    uint32_t size = HB_MAX(slots->size * 2, least);
    return size <= slots->size ? 0 : size;
}

bool hb_slots_double(hb_arena *arena, hb_slots *slots, uint32_t least)
{
    size_t size = doubled(slots, least), bytes = size * sizeof(uint32_t);
    if (!size) return false;
    uint32_t *items = arena ? hb_arena_alloc(arena, bytes) : hb_large_alloc(bytes);
    if (!items) return false;
    if (arena)
        hb_arena_give_back(arena, slots->items, slots->size * sizeof *items);
    else
        hb_slots_free(slots);
    *slots = (hb_slots){items, (uint32_t)size, 0};
    return true;
}

bool hb_slots_double_scattered(hb_slots *slots, uint32_t least)
{
    size_t size = doubled(slots, least);
    uint32_t *items = size ? hb_large_alloc_scattered(size * sizeof *items) : NULL;
    if (!items) return false;
    hb_slots_free(slots);
    *slots = (hb_slots){items, (uint32_t)size, 0};
    return true;
}

void hb_slots_free(hb_slots *slots)
{
    hb_large_free(slots->items, slots->size * sizeof *slots->items);
    *slots = (hb_slots){0};
}
