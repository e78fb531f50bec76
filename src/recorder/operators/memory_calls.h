/* SPDX-License-Identifier: MIT
 *
 * Calls of a program's own allocators, rows of kind memory, as memory events.
 */
#ifndef HB_OPERATORS_MEMORY_CALLS_H
#define HB_OPERATORS_MEMORY_CALLS_H

#include "interpose/trampolines.h"
#include "ops/op_call.h"

/** At its beginning; whether its end is wanted, too. Uses the call's state. */
bool hb_memory_call_enter(const hb_op_entry *row, hb_call *call);
/** At its end, if it was wanted. */
void hb_memory_call_leave(const hb_op_entry *row, const hb_call *call);
/** An exception leaves it. */
void hb_memory_call_abandon(const hb_call *call);

#endif
