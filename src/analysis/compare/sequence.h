/* SPDX-License-Identifier: MIT
 *
 * Lists of names: repetitions within one, and what of two lists belongs together.
 */
#ifndef HB_COMPARE_SEQUENCE_H
#define HB_COMPARE_SEQUENCE_H

#include "base/arena.h"

enum { HB_UNMATCHED = UINT32_MAX };

/** Pairs equal elements of `a` and `b` in their order, as many as there can be; in lists that
 * differ too much for that many as long as the time is near to linear. match[i] is the index in `a`
 * that b[i] belongs to, or HB_UNMATCHED; ascending. */
void hb_sequence_align(hb_arena *arena, const uint32_t *a, uint32_t n, const uint32_t *b,
                       uint32_t m, uint32_t *match);

/** Elements that repeat as a group right after each other become one turn of that group: of
 * x a b a b a b y the groups are x, a, b, y. group[i] is the group of names[i], counted in order
 * of first appearance; returns how many there are. */
uint32_t hb_sequence_fold(hb_arena *arena, const uint32_t *names, uint32_t count, uint32_t *group);

#endif
