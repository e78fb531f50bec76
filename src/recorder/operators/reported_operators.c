/* SPDX-License-Identifier: MIT */
#include "operators/reported_operators.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/reported_calls.h"
#include "operators/library_calls.h"
#include "operators/operator_calls.h"
#include "record/thread.h"

/* A function of ours that nobody knows a row of is asked for again: a table may come later.
 * Released by who finds the operator, acquired by all other threads that report it. */
static _Atomic(hb_operator *) by_number[HB_REPORTED_FUNCTIONS];

/* The outermost call that a thread is in; what its library calls within it is the library's. */
typedef struct outermost_call {
    hb_operator *operator; /* NULL: nobody wants to know of it */
    hb_scope scope;
    uint64_t stack[2]; /* where it returns to, as hb_call.stack has it in front */
    hb_call call;
} outermost_call;

static _Thread_local uint32_t depth;

/* In the thread's own memory: a program may load this library late, when little is left for what is
 * thread-local. NULL without memory. */
static outermost_call *outermost(void)
{
    hb_thread *t = hb_thread_self();
    if (HB_UNLIKELY(t && !t->reported)) t->reported = calloc(1, sizeof(outermost_call));
    return t ? t->reported : NULL;
}

static hb_operator *operator_of(uint32_t number)
{
    if (number >= HB_REPORTED_FUNCTIONS) return NULL;
    hb_operator *o = atomic_load_explicit(&by_number[number], memory_order_acquire);
    const char *function = o ? NULL : hb_reported_function(number);
    if (o || !function) return o;
    o = hb_operators_of(function);
    if (o) atomic_store_explicit(&by_number[number], o, memory_order_release);
    return o;
}

static size_t size_of(const hb_op_param *p)
{
    switch (p->class) {
    case HB_OP_INT:
    case HB_OP_NATIVE: return 4;
    case HB_OP_STRUCT: return p->words * sizeof(uint64_t);
    default: return 8;
    }
}

/* A structure that is passed by value is one of characters: ncclUniqueId. Where it does not fit
 * into registers, aarch64 passes its address. False: the row has more than was reported. */
static bool take_words(const hb_op_entry *row, const hb_reported_call *r, uint64_t *words)
{
    size_t at = 0;
    for (uint32_t i = 0; i < row->num_params; i++) {
        const hb_op_param *p = &row->params[i];
        size_t size = size_of(p), align = p->class == HB_OP_STRUCT ? 1 : size;
        const char *from = (const char *)r->args + (at = (at + align - 1) / align * align);
        if (p->class == HB_OP_FLOAT || at + size > r->size) return false;
        if (p->class == HB_OP_STRUCT && p->place < HB_OP_REGISTERS)
            words[p->place] = (uintptr_t)from;
        else
            memcpy(&words[p->place], from, size);
        at += size;
    }
    return true;
}

static void begin(const hb_reported_call *r)
{
    hb_operator *o = hb_operator_is_inside() ? NULL : operator_of(r->number);
    outermost_call *c = outermost();
    if (!c) return;
    c->operator= NULL;
    c->call = (hb_call){.stack = &c->stack[1]};
    c->stack[0] = (uintptr_t)r->caller;
    if (!o || !o->communicates || !take_words(o->row, r, c->call.words)) return;
    c->operator= o;
    c->scope = hb_operator_reported_begin(o, &c->call);
}

static void end(const hb_reported_call *r)
{
    outermost_call *c = outermost();
    if (!c || !c->operator) return;
    c->call.results[0] = r->result;
    hb_operator_reported_end(c->operator, & c->call, &c->scope);
}

static void listen(const hb_reported_call *r, bool begins)
{
    if (begins && depth++ == 0) begin(r);
    if (!begins && depth && --depth == 0) end(r);
}

void hb_reported_operators_listen(void)
{
    hb_reports_listen(listen);
}
