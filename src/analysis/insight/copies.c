/* SPDX-License-Identifier: MIT
 *
 * Copies and fills by kind: their names tell from where to where.
 */
#include "insight/insight.h"

static hb_copy_sum *sum_of(hb_insight *in, hb_dict *sums, uint32_t gpu, hb_string_id name)
{
    bool added;
    hb_dict_entry *e = hb_dict_add(&in->arena, sums, (uint64_t)gpu << 32 | name, &added);
    if (added) {
        e->value = in->copies.count;
        *HB_PUSH(&in->arena, &in->copies) = (hb_copy_sum){.gpu = gpu, .name = name};
    }
    return &in->copies.items[e->value];
}

static bool longer(const void *context, const void *x, const void *y)
{
    (void)context;
    return ((const hb_copy_sum *)x)->total > ((const hb_copy_sum *)y)->total;
}

static double bytes_of(const hb_insight *in, const hb_work *w)
{
    const hb_trace *t = in->trace;
    double bytes = hb_trace_launch_of(t, hb_trace_row(t, w->row))->bytes;
    if (bytes > 0 || w->launch == HB_NO_LAUNCH) return bytes;
    const hb_row *call = hb_trace_row(t, w->launch);
    return hb_row_is_call(call) ? hb_trace_launch_of(t, call)->bytes : 0;
}

void hb_insight_copies(hb_insight *in)
{
    hb_dict sums = {0};
    for (uint32_t i = 0; i < in->works.count; i++) {
        const hb_work *w = &in->works.items[i];
        const hb_row *row = hb_trace_row(in->trace, w->row);
        if (row->kind == HB_KIND_KERNEL) continue;
        hb_copy_sum *s = sum_of(in, &sums, in->streams.items[w->stream].gpu, row->name);
        double bytes = bytes_of(in, w);
        s->calls++;
        s->total += hb_ns_to_us(row->duration);
        s->longest = HB_MAX(s->longest, hb_ns_to_us(row->duration));
        s->bytes += bytes;
        if (bytes > 0) s->timed += hb_ns_to_us(row->duration);
    }
    hb_sort(&in->arena, in->copies.items, in->copies.count, sizeof *in->copies.items, longer, NULL);
}
