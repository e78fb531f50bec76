/* SPDX-License-Identifier: MIT
 *
 * Time, or bytes, by stack: of the call stacks of events, or of the scopes and operators around
 * them.
 */
#ifndef HB_TORCH_STACKS_H
#define HB_TORCH_STACKS_H

#include "torch/function_events.h"

/** A frame behind its callers'. Node 0 is the root, which has no frame. */
typedef struct hb_stack_node {
    uint32_t parent;
    hb_string_id frame;
    double amount; /* of the events whose stack ends here, those of less than 1 each too */
} hb_stack_node;

typedef struct hb_stack_tree {
    HB_VEC(hb_stack_node) nodes; /* callers before what they call */
    uint32_t *of_event;          /* node of each event of the list; 0: it has no stack */
} hb_stack_tree;

typedef struct hb_stack_choice {
    bool scopes; /* the names of the events around it and its own, instead of its call stack */
    bool device; /* the device's instead of the host's */
    bool bytes;  /* what was allocated, less what was freed, instead of time */
} hb_stack_choice;

/** To be called inside hb_arena_try(). */
void hb_stack_tree_make(hb_stack_tree *tree, const hb_fn_list *list, const hb_stack_choice *choice);

/** An event's own time or bytes, as the choice is. */
static inline double hb_stack_amount(const hb_fn_list *list, uint32_t event,
                                     const hb_stack_choice *choice)
{
    const hb_fn *fn = &list->items[event];
    if (!choice->bytes) return choice->device ? fn->self_device : fn->self_cpu;
    if (!list->extras) return 0;
    const hb_fn_extra *extra = &list->extras[event];
    return choice->device ? extra->self_device_bytes : extra->self_cpu_bytes;
}

#endif
