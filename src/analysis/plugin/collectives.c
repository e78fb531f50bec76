/* SPDX-License-Identifier: MIT
 *
 * Collectives in order of time, each with the step that it lies in.
 */
#include "plugin/analysis.h"

static bool comm_before(const void *context, const void *x, const void *y)
{
    const hb_comm *m = x, *n = y;
    (void)context;
    return m->start.v != n->start.v ? m->start.v < n->start.v : m->end.v > n->end.v;
}

static bool range_before(const void *context, const void *x, const void *y)
{
    const hb_range *m = x, *n = y;
    (void)context;
    return m->start.v != n->start.v ? m->start.v < n->start.v : m->end.v > n->end.v;
}

void hb_analyze_comms(hb_analysis *a)
{
    for (uint32_t i = 0; i < a->comms.count; i++) {
        hb_comm *c = &a->comms.items[i];
        hb_sort(&a->arena, c->ranges.items, c->ranges.count, sizeof(hb_range), range_before, NULL);
    }
    hb_sort(&a->arena, a->comms.items, a->comms.count, sizeof *a->comms.items, comm_before, NULL);
    uint32_t step = 0;
    for (uint32_t i = 0; i < a->comms.count && step < a->steps.count; i++) {
        hb_comm *c = &a->comms.items[i];
        while (step < a->steps.count) {
            hb_range r = a->steps.items[step].range;
            bool inside = c->start.v >= r.start.v && c->end.v <= r.end.v;
            if (inside) c->step = (int)step;
            if (inside || c->start.v < r.end.v) break;
            step++;
        }
    }
}
