/* SPDX-License-Identifier: MIT */
#include "write/memory_stacks.h"

#include <stdlib.h>

enum { NO_OP = UINT32_MAX };

void hb_memory_stacks_free(hb_memory_stacks *m)
{
    if (m->texts.items) hb_texts_free(&m->texts);
    free(m->ops.items);
    *m = (hb_memory_stacks){0};
}

static void begin_thread(hb_memory_stacks *m, int64_t tid)
{
    m->tid = tid;
    m->ops.count = m->next = 0;
    m->open = NO_OP;
}

bool hb_memory_stacks_note(hb_memory_stacks *m, const hb_trace_event *op)
{
    if (m->tid != op->tid || m->next) begin_thread(m, op->tid);
    if (!m->texts.items && !hb_texts_init(&m->texts)) return false;
    hb_stacked_op *added = HB_APPEND(&m->ops);
    if (!added) return false;
    hb_string_id stack = hb_texts_add(&m->texts, op->op.stack.s, op->op.stack.len);
    *added = (hb_stacked_op){op->start_ns, op->end_ns, stack, NO_OP};
    return stack != 0;
}

hb_str hb_memory_stacks_at(hb_memory_stacks *m, int64_t tid, int64_t ns)
{
    if (!m->ops.count || m->tid != tid) return HB_STR("");
    if (!m->next) m->open = NO_OP;
    for (; m->next < m->ops.count && m->ops.items[m->next].start <= ns; m->next++) {
        hb_stacked_op *op = &m->ops.items[m->next];
        while (m->open != NO_OP && m->ops.items[m->open].end <= op->start)
            m->open = m->ops.items[m->open].outer;
        op->outer = m->open;
        m->open = m->next;
    }
    while (m->open != NO_OP && m->ops.items[m->open].end < ns)
        m->open = m->ops.items[m->open].outer;
    return m->open == NO_OP ? HB_STR("") : hb_texts_get(&m->texts, m->ops.items[m->open].stack);
}
