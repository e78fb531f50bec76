/* SPDX-License-Identifier: MIT
 *
 * Each GPU's and stream's time, and its gaps.
 */
#include "insight/insight.h"

/* ---- busy times ---- */

typedef struct gpu_ranges {
    hb_intervals all, kinds[HB_WORK_KINDS];
} gpu_ranges;

static void take_work(hb_insight *in, const hb_work *w, gpu_ranges *r, hb_gpu_sum *gpu)
{
    hb_interval time = {w->start, w->end};
    if (!r->all.count) gpu->start = w->start;
    gpu->end = r->all.count ? HB_MAX(gpu->end, w->end) : w->end;
    hb_intervals_cover(&in->arena, &r->all, time);
    hb_intervals_cover(&in->arena, &r->kinds[w->kind], time);
}

static double left_over(hb_insight *in, const hb_intervals *from, const hb_intervals *taken)
{
    hb_intervals rest = hb_intervals_subtract(&in->arena, from, taken);
    return hb_intervals_sum(&rest);
}

static hb_intervals both(hb_insight *in, const hb_intervals *a, const hb_intervals *b)
{
    HB_VEC(hb_interval) list = {0};
    for (uint32_t i = 0; i < a->count; i++)
        *HB_PUSH(&in->arena, &list) = a->items[i];
    for (uint32_t i = 0; i < b->count; i++)
        *HB_PUSH(&in->arena, &list) = b->items[i];
    return hb_intervals_merge(&in->arena, list.items, list.count);
}

static void sum_gpu(hb_insight *in, const gpu_ranges *r, hb_gpu_sum *gpu)
{
    const hb_intervals *computation = &r->kinds[HB_WORK_COMPUTATION];
    const hb_intervals *communication = &r->kinds[HB_WORK_COMMUNICATION];
    gpu->busy = hb_intervals_sum(&r->all);
    for (int k = 0; k < HB_WORK_KINDS; k++)
        gpu->kinds[k] = hb_intervals_sum(&r->kinds[k]);
    gpu->exposed_communication = left_over(in, communication, computation);
    hb_intervals kernels = both(in, computation, communication);
    gpu->exposed_copy = left_over(in, &r->kinds[HB_WORK_COPY], &kernels);
}

/* ---- gaps ---- */

static hb_idle idle_of(const hb_insight *in, const hb_work *next, double since)
{
    if (next->launch == HB_NO_LAUNCH) return HB_IDLE_UNKNOWN;
    return hb_ns_to_us(hb_trace_row(in->trace, next->launch)->start) > since ? HB_IDLE_LATE
                                                                             : HB_IDLE_QUEUED;
}

static void add_gap(hb_insight *in, uint32_t gpu, double since, uint32_t next)
{
    const hb_work *w = &in->works.items[next];
    hb_gap *g = HB_PUSH(&in->arena, &in->gaps);
    *g = (hb_gap){since, w->start, gpu, next, idle_of(in, w, since), {0}};
    double end = w->start;
    if (g->idle == HB_IDLE_LATE) { /* what came before the launch is what made it late */
        const hb_row *launch = hb_trace_row(in->trace, w->launch);
        end = HB_MIN(end, hb_insight_end(launch));
    }
    g->cover = hb_insight_host_at(in, w->launch, since, end);
    hb_gpu_sum *sum = &in->gpus.items[gpu];
    sum->gaps++;
    sum->idle[g->idle] += w->start - since;
    sum->largest_gap = HB_MAX(sum->largest_gap, w->start - since);
}

static void take_stream(hb_insight *in, const hb_work *w)
{
    hb_stream_sum *s = &in->streams.items[w->stream];
    if (s->works++ && w->start > s->last_end) {
        double gap = w->start - s->last_end;
        s->idle[idle_of(in, w, s->last_end)] += gap;
        s->largest_gap = HB_MAX(s->largest_gap, gap);
        s->gaps++;
    }
    double from = s->works > 1 ? HB_MAX(w->start, s->last_end) : w->start;
    s->busy += HB_MAX(0, w->end - from);
    s->last_end = s->works > 1 ? HB_MAX(s->last_end, w->end) : w->end;
}

/* ---- what the gaps come from ---- */

static bool gap_before(const void *context, const void *x, const void *y)
{
    const hb_gap *a = x, *b = y;
    (void)context;
    return a->end - a->start > b->end - b->start;
}

static bool cause_before(const void *context, const void *x, const void *y)
{
    (void)context;
    return ((const hb_gap_cause *)x)->total > ((const hb_gap_cause *)y)->total;
}

typedef struct cause_index {
    hb_dict pairs; /* a call and an operator -> their number */
    hb_dict causes;
} cause_index;

static hb_gap_cause *cause_of(hb_insight *in, cause_index *index, const hb_gap *g)
{
    bool added;
    uint64_t pair = (uint64_t)g->cover.call << 32 | g->cover.op;
    hb_dict_entry *e = hb_dict_add(&in->arena, &index->pairs, pair, &added);
    if (added) e->value = index->pairs.entries.count;
    uint64_t key =
        (uint64_t)e->value << 32 | (uint64_t)g->gpu << 3 | (uint64_t)g->idle << 1 | g->cover.many;
    e = hb_dict_add(&in->arena, &index->causes, key, &added);
    if (added) {
        e->value = in->causes.count;
        *HB_PUSH(&in->arena, &in->causes) = (hb_gap_cause){g->gpu, g->idle, g->cover, 0, 0, 0};
    }
    return &in->causes.items[e->value];
}

static void sum_causes(hb_insight *in)
{
    cause_index index = {0};
    for (uint32_t i = 0; i < in->gaps.count; i++) {
        const hb_gap *g = &in->gaps.items[i];
        hb_gap_cause *c = cause_of(in, &index, g);
        c->gaps++;
        c->total += g->end - g->start;
        c->largest = HB_MAX(c->largest, g->end - g->start);
    }
    hb_sort(&in->arena, in->gaps.items, in->gaps.count, sizeof *in->gaps.items, gap_before, NULL);
    hb_sort(&in->arena, in->causes.items, in->causes.count, sizeof *in->causes.items, cause_before,
            NULL);
}

void hb_insight_gpus(hb_insight *in)
{
    gpu_ranges *ranges = HB_NEW_ARRAY(&in->arena, gpu_ranges, in->gpus.count + 1);
    for (uint32_t i = 0; i < in->works.count; i++) {
        const hb_work *w = &in->works.items[i];
        uint32_t gpu = in->streams.items[w->stream].gpu;
        hb_gpu_sum *sum = &in->gpus.items[gpu];
        if (ranges[gpu].all.count && w->start > sum->end) add_gap(in, gpu, sum->end, i);
        take_work(in, w, &ranges[gpu], sum);
        take_stream(in, w);
    }
    for (uint32_t i = 0; i < in->gpus.count; i++)
        sum_gpu(in, &ranges[i], &in->gpus.items[i]);
    sum_causes(in);
}
