/* SPDX-License-Identifier: MIT
 *
 * Texts as numbers, in an arena. Two texts never have one number, also where their hashes are one:
 * of 100,000 names a pair or so has the same 32 bits.
 */
#ifndef HB_BASE_NAMES_H
#define HB_BASE_NAMES_H

#include "base/hash_map.h"
#include "base/str.h"

/** Zeroed: none. */
typedef struct hb_names {
    HB_VEC(hb_str) items; /* by number; copies, each with a NUL behind it */
    hb_dict by_hash;
} hb_names;

/** The text's number, from 0 in the order in which they came. Leaves by the arena without memory.
 */
uint32_t hb_names_add(hb_arena *arena, hb_names *names, hb_str text);

#endif
