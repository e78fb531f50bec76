/* SPDX-License-Identifier: MIT
 *
 * What a host thread was doing at a time.
 */
#include "insight/insight.h"
#include "rules/name_class.h"

/* Everything on a host thread but what is always there: profiler steps. */
static bool is_host_call(const hb_insight *in, const hb_row *row)
{
    if (!hb_row_is_timed(in->trace, row)) return false;
    switch ((hb_kind)row->kind) {
    case HB_KIND_RUNTIME:
    case HB_KIND_CALL:
    case HB_KIND_PYTHON:
    case HB_KIND_FUNCTION: return true;
    case HB_KIND_OPERATOR:
    case HB_KIND_ANNOTATION:
        return !hb_row_is_of(in->trace, row, HB_CATEGORY_GPU_USER_ANNOTATION) &&
               !hb_row_is_step(in->trace, row);
    default: return false;
    }
}

static bool call_before(const void *context, const void *x, const void *y)
{
    const hb_host_call *a = x, *b = y;
    (void)context;
    return a->start != b->start ? a->start < b->start : a->end > b->end;
}

static void find_parents(hb_host_thread *t)
{
    uint32_t open = UINT32_MAX;
    for (uint32_t i = 0; i < t->calls.count; i++) {
        hb_host_call *c = &t->calls.items[i];
        while (open != UINT32_MAX && t->calls.items[open].end <= c->start)
            open = t->calls.items[open].parent;
        c->parent = open;
        open = i;
    }
}

/* Only threads that start work for a GPU are asked about. */
static void find_threads(hb_insight *in)
{
    bool added;
    for (uint32_t i = 0; i < in->works.count; i++) {
        if (in->works.items[i].launch == HB_NO_LAUNCH) continue;
        uint32_t tid = hb_row_tid(in->trace, hb_trace_row(in->trace, in->works.items[i].launch));
        hb_dict_entry *e = hb_dict_add(&in->arena, &in->thread_of, tid, &added);
        if (!added) continue;
        e->value = in->threads.count;
        *HB_PUSH(&in->arena, &in->threads) = (hb_host_thread){.tid = tid};
    }
}

void hb_insight_hosts(hb_insight *in)
{
    find_threads(in);
    for (uint32_t i = 0; in->threads.count && i < in->trace->rows.count; i++) {
        const hb_row *row = hb_trace_row(in->trace, i);
        const hb_dict_entry *e = hb_dict_get(&in->thread_of, hb_row_tid(in->trace, row));
        if (!e || !is_host_call(in, row)) continue;
        *HB_PUSH(&in->arena, &in->threads.items[e->value].calls) =
            (hb_host_call){hb_ns_to_us(row->start), hb_insight_end(row), i, UINT32_MAX};
    }
    for (uint32_t i = 0; i < in->threads.count; i++) {
        hb_host_thread *t = &in->threads.items[i];
        hb_sort(&in->arena, t->calls.items, t->calls.count, sizeof *t->calls.items, call_before,
                NULL);
        find_parents(t);
    }
}

/* The first call that begins after `time`. */
static uint32_t first_after(const hb_host_thread *t, double time)
{
    uint32_t low = 0, high = t->calls.count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (t->calls.items[middle].start <= time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The innermost call at `time`. */
static uint32_t call_at(const hb_host_thread *t, double time)
{
    uint32_t after = first_after(t, time), at = after ? after - 1 : UINT32_MAX;
    while (at != UINT32_MAX && t->calls.items[at].end < time)
        at = t->calls.items[at].parent;
    return at;
}

static const hb_host_thread *thread_of(const hb_insight *in, uint32_t launch)
{
    uint32_t tid = hb_row_tid(in->trace, hb_trace_row(in->trace, launch));
    return &in->threads.items[hb_dict_get(&in->thread_of, tid)->value];
}

hb_string_id hb_insight_runtime_at(const hb_insight *in, uint32_t launch, double time)
{
    if (launch == HB_NO_LAUNCH) return 0;
    const hb_host_thread *t = thread_of(in, launch);
    uint32_t at = call_at(t, time);
    for (; at != UINT32_MAX; at = t->calls.items[at].parent) {
        const hb_row *row = hb_trace_row(in->trace, t->calls.items[at].row);
        if (hb_row_is_call(row)) return row->name;
    }
    return 0;
}

static double share_of(const hb_host_call *c, double start, double end)
{
    return HB_MIN(c->end, end) - HB_MAX(c->start, start);
}

/* Calls that lie in no other, together. */
static double covered(const hb_host_thread *t, double start, double end)
{
    double sum = 0;
    uint32_t at = call_at(t, start), i = first_after(t, start);
    while (at != UINT32_MAX && t->calls.items[at].parent != UINT32_MAX)
        at = t->calls.items[at].parent;
    if (at != UINT32_MAX) sum += HB_MAX(0, share_of(&t->calls.items[at], start, end));
    for (; i < t->calls.count && t->calls.items[i].start < end; i++)
        if (t->calls.items[i].parent == UINT32_MAX) sum += share_of(&t->calls.items[i], start, end);
    return sum;
}

static hb_cover cover_of(const hb_insight *in, const hb_host_thread *t, uint32_t at)
{
    hb_cover cover = {0};
    for (; at != UINT32_MAX && !cover.op; at = t->calls.items[at].parent) {
        const hb_row *row = hb_trace_row(in->trace, t->calls.items[at].row);
        if (!hb_row_is_call(row))
            cover.op = row->name;
        else if (!cover.call)
            cover.call = row->name;
    }
    return cover;
}

/* What covers more than half of a window is there in its middle. */
hb_cover hb_insight_host_at(const hb_insight *in, uint32_t launch, double start, double end)
{
    if (launch == HB_NO_LAUNCH) return (hb_cover){0};
    const hb_host_thread *t = thread_of(in, launch);
    uint32_t at = call_at(t, start + (end - start) / 2);
    while (at != UINT32_MAX && share_of(&t->calls.items[at], start, end) * 2 < end - start)
        at = t->calls.items[at].parent;
    if (at != UINT32_MAX) return cover_of(in, t, at);
    return (hb_cover){.many = covered(t, start, end) * 2 >= end - start};
}
