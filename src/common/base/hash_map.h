/* SPDX-License-Identifier: MIT
 *
 * A Python dict from 64-bit keys to 32-bit values: it keeps the order of insertion, an overwritten
 * entry keeps its place, a removed and added one goes to the end. Also: a stable sort.
 */
#ifndef HB_BASE_HASH_MAP_H
#define HB_BASE_HASH_MAP_H

#include "base/hash_slots.h"
#include "base/vector.h"

typedef struct hb_dict_entry {
    uint64_t key;
    uint32_t value;
    bool alive;
} hb_dict_entry;

typedef struct hb_dict {
    HB_VEC(hb_dict_entry) entries; /* skip those not alive */
    hb_slots slots;                /* of numbers of entries, from 1 */
    uint64_t low;                  /* dense: the key that slot 0 is for */
    uint8_t shift;                 /* likewise: a slot is for each so manieth key, as bits */
    bool dense;                    /* keys are so close to each other that each has a slot */
} hb_dict;

/** The living entry or NULL; valid until the next insertion. */
hb_dict_entry *hb_dict_get(const hb_dict *dict, uint64_t key);

/** The entry of `key`, added with value 0 if it was not there; *added tells. Without an arena,
 * NULL, the dict is to be freed by hb_dict_free(); NULL is then returned without memory. */
hb_dict_entry *hb_dict_add(hb_arena *arena, hb_dict *dict, uint64_t key, bool *added);

/** Of one that is in no arena. */
void hb_dict_free(hb_dict *dict);

static inline void hb_dict_set(hb_arena *arena, hb_dict *dict, uint64_t key, uint32_t value)
{
    bool added;
    hb_dict_add(arena, dict, key, &added)->value = value;
}

/** UINT32_MAX: it is not there. */
static inline uint32_t hb_dict_value(const hb_dict *dict, uint64_t key)
{
    const hb_dict_entry *entry = hb_dict_get(dict, key);
    return entry ? entry->value : UINT32_MAX;
}

/** The number, from 0, of two numbers, of which no two pairs have one. */
static inline uint32_t hb_pair_number(hb_arena *arena, hb_dict *pairs, uint32_t a, uint32_t b)
{
    bool added;
    hb_dict_entry *entry = hb_dict_add(arena, pairs, (uint64_t)a << 32 | b, &added);
    if (added) entry->value = pairs->entries.count - 1;
    return entry->value;
}

/** A double as a key: 1 and 1.0 are one, and so are 0.0 and -0.0. */
static inline uint64_t hb_double_key(double v)
{
    uint64_t bits;
    v += 0.0;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

/** Stable merge sort; fast when runs are in order already. `less(context, a, b)`: a before b. */
typedef bool (*hb_less)(const void *context, const void *a, const void *b);
void hb_sort(hb_arena *arena, void *items, size_t count, size_t size, hb_less less,
             const void *context);

#endif
