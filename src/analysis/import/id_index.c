/* SPDX-License-Identifier: MIT */
#include "import/id_index.h"

enum { FREE_SIZE = 65536, MOST_PER_ID = 8 };

/* What was far until now may be near then, and is looked for there: it moves. */
static void move_near(hb_id_index *index)
{
    for (uint32_t i = 0; i < index->far.entries.count; i++) {
        const hb_dict_entry *entry = &index->far.entries.items[i];
        if (entry->key < index->size && !index->near[entry->key])
            index->near[entry->key] = entry->value;
    }
}

static void grow(hb_arena *arena, hb_id_index *index, uint64_t id)
{
    uint64_t size = HB_MAX(index->size * 2, id + 1);
    size = HB_MAX(size, (uint64_t)1024);
    uint32_t *near = HB_NEW_ARRAY(arena, uint32_t, size);
    if (index->near) memcpy(near, index->near, index->size * sizeof *near);
    hb_arena_give_back(arena, index->near, index->size * sizeof *near);
    index->near = near;
    index->size = size;
    move_near(index);
}

void hb_id_index_set(hb_arena *arena, hb_id_index *index, uint64_t id, uint32_t value)
{
    index->count++;
    if (id >= index->size && id < index->count * MOST_PER_ID + FREE_SIZE) grow(arena, index, id);
    if (id < index->size)
        index->near[id] = value;
    else
        hb_dict_set(arena, &index->far, id, value);
}

void hb_id_index_free(hb_arena *arena, hb_id_index *index)
{
    hb_arena_give_back(arena, index->near, index->size * sizeof *index->near);
    *index = (hb_id_index){0};
}
