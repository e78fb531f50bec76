/* SPDX-License-Identifier: MIT */
#include "trace/key_set.h"

void hb_key_set_expect(hb_arena *arena, hb_key_set *set, int64_t low, int64_t high, uint64_t limit)
{
    /* Keys hold 62 bits, so that this does not overflow. */
    uint64_t count = low <= high ? (uint64_t)(high - low) + 1 : 0;
    if (count == 0 || count > limit) return;
    set->low = low;
    set->count = count;
    set->bits = HB_NEW_ARRAY(arena, uint64_t, count / 64 + 1);
}

/* The key's bit; set->count or more: it has none. */
static uint64_t bit_of(const hb_key_set *set, hb_key key)
{
    if (hb_key_tag(key) != HB_KEY_TAG_INT) return UINT64_MAX;
    return (uint64_t)hb_key_value(key) - (uint64_t)set->low;
}

void hb_key_set_add(hb_arena *arena, hb_key_set *set, hb_key key)
{
    uint64_t bit = bit_of(set, key);
    if (bit < set->count)
        set->bits[bit / 64] |= UINT64_C(1) << bit % 64;
    else
        hb_dict_set(arena, &set->others, key, 1);
}

bool hb_key_set_has(const hb_key_set *set, hb_key key)
{
    uint64_t bit = bit_of(set, key);
    if (bit < set->count) return set->bits[bit / 64] >> bit % 64 & 1;
    return hb_dict_get(&set->others, key) != NULL;
}
