/* SPDX-License-Identifier: MIT
 *
 * Calls that move data between GPUs, and those that make, free and group what does: rows of kinds
 * collective, send, receive, group and group_end, and those with communicators.
 */
#ifndef HB_OPERATORS_COMMUNICATION_CALLS_H
#define HB_OPERATORS_COMMUNICATION_CALLS_H

#include <hipboard/comm.h>

#include "base/vector.h"
#include "operators/operator_calls.h"

/** What a thread has called in a group that has not ended: zeroed at first. Kept, and emptied by
 * setting both numbers to 0. */
typedef struct hb_held_call {
    uint32_t name;
    uint64_t communicator; /* what it is known by to its members */
    hb_comm_info info;
} hb_held_call;
typedef struct hb_held_calls {
    uint32_t depth;
    HB_VEC(hb_held_call) calls;
} hb_held_calls;

/** Whether a row is asked for also while nothing is recorded. */
bool hb_communication_counts(const hb_op_entry *row);

/** At a call's beginning, recorded or not. */
void hb_communication_note(hb_operator *o, hb_call *call);

/** Of one that is being recorded: false when there is nothing to be recorded now, since it begins
 * at its group's end. */
bool hb_communication_is_due(hb_operator *o, const hb_call *call, hb_held_calls *held);

/** The scope of one that is due. */
hb_scope hb_communication_begin(hb_operator *o, const hb_call *call, hb_held_calls *held,
                                const void *caller);

/** At its end, recorded or not. */
void hb_communication_leave(hb_operator *o, const hb_call *call);

/** A session begins: its first communication will say so in its metadata. */
void hb_communications_start(void);

#endif
