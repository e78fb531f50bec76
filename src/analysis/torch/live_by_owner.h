/* SPDX-License-Identifier: MIT
 *
 * Who held memory at a moment: living allocations in groups of one origin.
 */
#ifndef HB_TORCH_LIVE_BY_OWNER_H
#define HB_TORCH_LIVE_BY_OWNER_H

#include "torch/allocations.h"

typedef struct hb_live_owner {
    uint32_t owner; /* an event of the group; HB_NO_FN: no operator around */
    bool held;      /* from before the trace, by `held_by`: a name, 0: not known */
    hb_string_id held_by;
    hb_fn_stack stack;
    uint64_t count;
    double bytes, largest;
    uint32_t first; /* its first change */
} hb_live_owner;

typedef HB_VEC(hb_live_owner) hb_live_owners;

/** What lives on `device` after change `at` (HB_NO_RECORD: before all, which is nothing known), by
 * bytes, descending. Groups are the owners' names, or with `stacks` (hb_fn_stacks() of the list)
 * the names of all events around and the call stack. To be called inside hb_arena_try(). */
hb_live_owners hb_live_by_owner(const hb_allocations *a, uint32_t device, uint32_t at,
                                const hb_fn_stack *stacks);

/** The text "outer;...;owner", into `to`. */
void hb_put_scopes(const hb_fn_list *list, uint32_t owner, hb_buf *to);

#endif
