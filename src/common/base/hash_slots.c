/* SPDX-License-Identifier: MIT */
#include "base/hash_slots.h"

#include <stdlib.h>

bool hb_slots_double(hb_arena *arena, hb_slots *slots, uint32_t least)
{
    uint32_t size = HB_MAX(slots->size * 2, least);
    if (size <= slots->size) return false;
    uint32_t *items = arena ? HB_NEW_ARRAY(arena, uint32_t, size) : calloc(size, sizeof *items);
    if (!items) return false;
    if (arena)
        hb_arena_give_back(arena, slots->items, slots->size * sizeof *items);
    else
        free(slots->items);
    *slots = (hb_slots){items, size, 0};
    return true;
}

void hb_slots_free(hb_slots *slots)
{
    free(slots->items);
    *slots = (hb_slots){0};
}
