/* SPDX-License-Identifier: MIT */
#include "trace/host_nest.h"

#include "base/hash_map.h"

static bool is_before(const void *context, const void *x, const void *y)
{
    const hb_trace *trace = context;
    const hb_row *a = hb_trace_row(trace, *(const uint32_t *)x),
                 *b = hb_trace_row(trace, *(const uint32_t *)y);
    uint32_t t = hb_row_tid(trace, a), u = hb_row_tid(trace, b);
    if (t != u) return t < u;
    return a->start != b->start ? a->start < b->start : a->duration > b->duration;
}

void hb_host_nest_make(hb_arena *arena, const hb_trace *trace, hb_u32s rows, hb_host_nest *nest)
{
    *nest = (hb_host_nest){trace, rows, HB_NEW_ARRAY(arena, uint32_t, (size_t)rows.count + 1)};
    hb_sort(arena, rows.items, rows.count, sizeof *rows.items, is_before, trace);
    uint32_t open = HB_NO_PLACE, thread = 0;
    for (uint32_t i = 0; i < rows.count; i++) {
        const hb_row *row = hb_host_nest_row(nest, i);
        if (hb_row_tid(trace, row) != thread) open = HB_NO_PLACE;
        thread = hb_row_tid(trace, row);
        while (open != HB_NO_PLACE && hb_row_end(hb_host_nest_row(nest, open)) <= row->start)
            open = nest->parents[open];
        nest->parents[i] = open;
        open = i;
    }
}
