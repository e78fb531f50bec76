/* SPDX-License-Identifier: MIT
 *
 * A set of keys. Ids that writers count up are bits; what is far from all others is hashed.
 */
#ifndef HB_TRACE_KEY_SET_H
#define HB_TRACE_KEY_SET_H

#include "base/hash_map.h"
#include "trace/trace.h"

typedef struct hb_key_set {
    uint64_t *bits; /* of the integers from `low` on */
    int64_t low;
    uint64_t count;
    hb_dict others;
} hb_key_set;

/** Most integers will be from `low` to `high`; takes a bit for each if these are at most `limit`.
 * Without this call every key is hashed. */
void hb_key_set_expect(hb_arena *arena, hb_key_set *set, int64_t low, int64_t high, uint64_t limit);
void hb_key_set_add(hb_arena *arena, hb_key_set *set, hb_key key);
bool hb_key_set_has(const hb_key_set *set, hb_key key);

#endif
