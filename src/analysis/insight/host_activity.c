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

/* Threads' calls stand one behind the other. */
static void find_calls(hb_insight *in)
{
    const hb_host_nest *nest = &in->hosts;
    for (uint32_t i = 0; i < nest->rows.count; i++) {
        uint32_t tid = hb_row_tid(in->trace, hb_host_nest_row(nest, i));
        hb_host_thread *t = &in->threads.items[hb_dict_get(&in->thread_of, tid)->value];
        if (t->first == t->end) t->first = i;
        t->end = i + 1;
    }
}

void hb_insight_hosts(hb_insight *in)
{
    hb_u32s rows = {0};
    find_threads(in);
    for (uint32_t i = 0; in->threads.count && i < in->trace->rows.count; i++) {
        const hb_row *row = hb_trace_row(in->trace, i);
        if (hb_dict_get(&in->thread_of, hb_row_tid(in->trace, row)) && is_host_call(in, row))
            *HB_PUSH(&in->arena, &rows) = i;
    }
    hb_host_nest_make(&in->arena, in->trace, rows, &in->hosts);
    find_calls(in);
}

static double start_of(const hb_insight *in, uint32_t call)
{
    return hb_ns_to_us(hb_host_nest_row(&in->hosts, call)->start);
}

static double end_of(const hb_insight *in, uint32_t call)
{
    return hb_insight_end(hb_host_nest_row(&in->hosts, call));
}

static uint32_t parent_of(const hb_insight *in, uint32_t call)
{
    return in->hosts.parents[call];
}

/* The first call that begins after `time`. */
static uint32_t first_after(const hb_insight *in, const hb_host_thread *t, double time)
{
    uint32_t low = t->first, high = t->end;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (start_of(in, middle) <= time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The innermost call at `time`. */
static uint32_t call_at(const hb_insight *in, const hb_host_thread *t, double time)
{
    uint32_t after = first_after(in, t, time), at = after > t->first ? after - 1 : HB_NO_PLACE;
    while (at != HB_NO_PLACE && end_of(in, at) < time)
        at = parent_of(in, at);
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
    uint32_t at = call_at(in, thread_of(in, launch), time);
    for (; at != HB_NO_PLACE; at = parent_of(in, at)) {
        const hb_row *row = hb_host_nest_row(&in->hosts, at);
        if (hb_row_is_call(row)) return row->name;
    }
    return 0;
}

static double share_of(const hb_insight *in, uint32_t call, double start, double end)
{
    return HB_MIN(end_of(in, call), end) - HB_MAX(start_of(in, call), start);
}

/* Calls that lie in no other, together. */
static double covered(const hb_insight *in, const hb_host_thread *t, double start, double end)
{
    double sum = 0;
    uint32_t at = call_at(in, t, start), i = first_after(in, t, start);
    while (at != HB_NO_PLACE && parent_of(in, at) != HB_NO_PLACE)
        at = parent_of(in, at);
    if (at != HB_NO_PLACE) sum += HB_MAX(0, share_of(in, at, start, end));
    for (; i < t->end && start_of(in, i) < end; i++)
        if (parent_of(in, i) == HB_NO_PLACE) sum += share_of(in, i, start, end);
    return sum;
}

static hb_cover cover_of(const hb_insight *in, uint32_t at)
{
    hb_cover cover = {0};
    for (; at != HB_NO_PLACE && !cover.op; at = parent_of(in, at)) {
        const hb_row *row = hb_host_nest_row(&in->hosts, at);
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
    uint32_t at = call_at(in, t, start + (end - start) / 2);
    while (at != HB_NO_PLACE && share_of(in, at, start, end) * 2 < end - start)
        at = parent_of(in, at);
    if (at != HB_NO_PLACE) return cover_of(in, at);
    return (hb_cover){.many = covered(in, t, start, end) * 2 >= end - start};
}
