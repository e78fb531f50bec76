/* SPDX-License-Identifier: MIT
 *
 * Time by stack: of the call stacks of events, or of the scopes and operators around them.
 */
#ifndef HB_TORCH_STACKS_H
#define HB_TORCH_STACKS_H

#include "torch/function_events.h"

/** A frame behind its callers'. Node 0 is the root, which has no frame. */
typedef struct hb_stack_node {
    uint32_t parent;
    hb_sid frame;
    double us; /* self time of the events whose stack ends here; whole events of under 1 us too */
} hb_stack_node;

typedef struct hb_stack_tree {
    HB_VEC(hb_stack_node) nodes; /* callers before what they call */
    uint32_t *of_event;          /* node of each event of the list; 0: it has no stack */
} hb_stack_tree;

typedef struct hb_stack_choice {
    bool scopes; /* the names of the events around it and its own, instead of its call stack */
    bool device; /* device time instead of the host's */
} hb_stack_choice;

/** To be called inside hb_arena_try(). */
void hb_stack_tree_make(hb_stack_tree *tree, const hb_fn_list *list, const hb_stack_choice *choice);

/** An event's own time, as the choice is. */
static inline double hb_stack_time(const hb_fn *fn, const hb_stack_choice *choice)
{
    return choice->device ? fn->self_device : fn->self_cpu;
}

#endif
