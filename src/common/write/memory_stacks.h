/* SPDX-License-Identifier: MIT
 *
 * The call stacks of memory events: those of the operators around them, as a source tells of a
 * thread's memory after its operators. What is kept are the operators with stacks of one thread.
 */
#ifndef HB_WRITE_MEMORY_STACKS_H
#define HB_WRITE_MEMORY_STACKS_H

#include "base/string_table.h"
#include "trace/event.h"

typedef struct hb_stacked_op {
    int64_t start, end;
    hb_string_id stack;
    uint32_t outer; /* index; UINT32_MAX: none */
} hb_stacked_op;

/** All zero is empty. */
typedef struct hb_memory_stacks {
    hb_texts texts;
    HB_VEC(hb_stacked_op) ops; /* by start, parents first */
    uint32_t next, open; /* the first that begins later than the last time asked for; the innermost
                            that was open then, UINT32_MAX: none */
    int64_t tid;
} hb_memory_stacks;

void hb_memory_stacks_free(hb_memory_stacks *m);

/** Notes an operator that has a stack. False without memory. */
bool hb_memory_stacks_note(hb_memory_stacks *m, const hb_trace_event *op);

/** The stack of the innermost one around a time of its thread, times ascending; empty: none. */
hb_str hb_memory_stacks_at(hb_memory_stacks *m, int64_t tid, int64_t ns);

#endif
