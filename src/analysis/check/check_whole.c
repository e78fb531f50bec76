/* SPDX-License-Identifier: MIT
 *
 * What only the whole trace tells of an event: what is linked to it, and what it stands in.
 */
#include <stdlib.h>

#include "base/hash_map.h"
#include "check/check.h"

#define BIT(rule) (UINT64_C(1) << HB_RULE_##rule)

typedef struct links {
    hb_checker *check;
    const hb_trace *trace;
    hb_arena arena;
    hb_dict operators; /* by External id: the first one's row */
    hb_dict calls;     /* by correlation: row */
    hb_dict threads;   /* tid -> pid of their calls, as indices of keys */
} links;

static void mark(links *l, uint32_t row, uint64_t bits)
{
    l->check->marks[row] |= bits;
}

static bool is_call(const hb_row *row)
{
    return row->kind == HB_KIND_OPERATOR || row->kind == HB_KIND_PYTHON;
}

static void note_thread(links *l, uint32_t i, const hb_row *row)
{
    bool added;
    hb_dict_entry *e = hb_dict_add(&l->arena, &l->threads, hb_row_tid(l->trace, row), &added);
    uint32_t pid = hb_row_pid(l->trace, row);
    if (added) e->value = pid;
    if (e->value != pid) mark(l, i, BIT(SHARED_TID));
}

static void note_operator(links *l, uint32_t i, const hb_row *row)
{
    bool added;
    if (is_call(row)) note_thread(l, i, row);
    if (row->id == HB_ID_NONE || !is_call(row)) return;
    hb_dict_entry *e = hb_dict_add(&l->arena, &l->operators, row->id, &added);
    if (added) e->value = i;
    if (!added) mark(l, i, BIT(DOUBLE_ID));
}

static void collect(links *l)
{
    for (uint32_t i = 0; i < l->trace->rows.count; i++) {
        const hb_row *row = hb_trace_row(l->trace, i);
        if (row->kind == HB_KIND_RUNTIME)
            hb_dict_set(&l->arena, &l->calls, hb_row_correlation(l->trace, row), i);
        else
            note_operator(l, i, row);
    }
}

static bool ran_in(const hb_trace *trace, const hb_row *call, const hb_row *operator)
{
    return hb_row_tid(trace, call) == hb_row_tid(trace, operator) &&
           call->start >= operator->start && call->start <= hb_row_end(operator);
}

static void follow_call(links *l, uint32_t i)
{
    const hb_row *call = hb_trace_row(l->trace, i);
    const hb_dict_entry *e = call->id ? hb_dict_get(&l->operators, call->id) : NULL;
    bool own = call->id == hb_row_correlation(l->trace, call);
    if (!e)
        mark(l, i, BIT(NO_OPERATOR));
    else if (own && !ran_in(l->trace, call, hb_trace_row(l->trace, e->value)))
        mark(l, i, BIT(WRONG_OPERATOR));
}

static void follow_work(links *l, uint32_t i, const hb_row *row)
{
    const hb_dict_entry *e = hb_dict_get(&l->calls, hb_row_correlation(l->trace, row));
    if (!e) {
        mark(l, i, BIT(NO_CALL));
        return;
    }
    follow_call(l, e->value);
}

static void follow(links *l)
{
    for (uint32_t i = 0; i < l->trace->rows.count; i++) {
        const hb_row *row = hb_trace_row(l->trace, i);
        if (hb_row_is_work(row)) follow_work(l, i, row);
    }
}

static void mark_crossing(links *l, const hb_analysis *a)
{
    for (uint32_t i = 0; i < a->crossing.count; i++) {
        uint32_t row = a->nodes[a->crossing.items[i]].row;
        if (row != HB_NO_ROW) mark(l, row, BIT(CROSSING));
    }
}

/* Without calls nothing is linked, and the calls' category has been told. */
static void link(links *l)
{
    const hb_analysis *a = &l->check->profile->analysis;
    collect(l);
    if (l->calls.entries.count) follow(l);
    mark_crossing(l, a);
}

hb_result hb_check_whole(hb_checker *c)
{
    links l = {.check = c, .trace = &c->profile->trace};
    uint32_t count = l.trace->rows.count;
    c->marks = calloc((size_t)count + 1, sizeof *c->marks);
    if (!c->marks) return hb_fail(HB_ERROR_NO_MEMORY, "out of memory for the check");
    c->num_marks = count;
    if (c->profile->lost) return HB_OK;
    if (hb_arena_try(&l.arena)) link(&l);
    hb_result result = hb_arena_outcome(&l.arena);
    hb_arena_free(&l.arena);
    return result;
}
