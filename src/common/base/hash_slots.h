/* SPDX-License-Identifier: MIT
 *
 * The hash table: open addressing over numbers, from 1, of items that lie with their owner, who
 * tells whether an item has the key that is looked for. All tables that a lock or one thread guards
 * are made of it. What threads fill without a lock has its own (record/strings.c,
 * record/live_memory.c, hip/kernels.c, comm/mpi_requests.c, comm/mpi_communicators.c), and
 * plugin/gpu_use.c has Python's, for its order.
 */
#ifndef HB_BASE_HASH_SLOTS_H
#define HB_BASE_HASH_SLOTS_H

#include "base/arena.h"

/** All zero is empty. */
typedef struct hb_slots {
    uint32_t *items; /* 0: free */
    uint32_t size;   /* a power of two, at least half of them free */
    uint32_t used;
} hb_slots;

typedef bool (*hb_slot_match)(const void *owner, uint32_t item, const void *key);

/** The slot of the item that has the key, or that it would take. Not of an empty table. Inlined
 * with its `match`. */
static inline __attribute__((always_inline)) uint32_t *hb_slots_find(
    const hb_slots *slots, uint32_t hash, hb_slot_match match, const void *owner, const void *key)
{
    uint32_t mask = slots->size - 1, i = hash & mask;
    while (slots->items[i] && !match(owner, slots->items[i], key))
        i = (i + 1) & mask;
    return &slots->items[i];
}

/** Enters an item whose key is not in the table; there is room. */
static inline void hb_slots_enter(hb_slots *slots, uint32_t hash, uint32_t item)
{
    uint32_t mask = slots->size - 1, i = hash & mask;
    while (slots->items[i])
        i = (i + 1) & mask;
    slots->items[i] = item;
    slots->used++;
}

static inline bool hb_slots_have_room(const hb_slots *slots)
{
    return slots->used < slots->size / 2;
}

/** Makes the table an empty one of twice the size, of `least` at the least, a power of two, into
 * which its owner enters the items again. In the arena; NULL: in none, to be freed, and false
 * without memory, the table as it was. */
bool hb_slots_double(hb_arena *arena, hb_slots *slots, uint32_t least);

/** Likewise in no arena, but in memory while it can be: hb_large_alloc_scattered(). */
bool hb_slots_double_scattered(hb_slots *slots, uint32_t least);

/** Nothing is in it any more; it keeps its size. */
static inline void hb_slots_clear(hb_slots *slots)
{
    if (slots->size) memset(slots->items, 0, slots->size * sizeof *slots->items);
    slots->used = 0;
}

/** Of a table that is in no arena. */
void hb_slots_free(hb_slots *slots);

/** The hash of a number. */
static inline uint32_t hb_hash_number(uint64_t number)
{
    return (uint32_t)(number * 0x9e3779b97f4a7c15u >> 32);
}

#endif
