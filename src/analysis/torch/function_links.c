/* SPDX-License-Identifier: MIT */
#include "torch/function_links.h"

#include "trace/link.h"

typedef struct linker {
    hb_arena *arena;
    const hb_trace *trace;
    hb_fn *fns;
    hb_dict calls; /* correlation -> index of the call, where it is linked */
} linker;

static bool is_work(const hb_row *row)
{
    return row->kind == HB_KIND_KERNEL || row->kind == HB_KIND_MEMCPY ||
           row->kind == HB_KIND_MEMSET;
}

bool hb_fn_has_links(const hb_trace *trace)
{
    for (uint32_t i = 0; i < trace->rows.count; i++) {
        const hb_row *row = hb_trace_row(trace, i);
        if (is_work(row) && row->id != HB_ID_NONE && row->id != hb_row_correlation(trace, row))
            return true;
    }
    return false;
}

static bool is_scope(const hb_row *row, const hb_fn *fn)
{
    return row->kind == HB_KIND_OPERATOR && fn->link != HB_ID_NONE;
}

static void own(void *context, uint32_t call, uint32_t scope)
{
    linker *l = context;
    const hb_row *row = hb_trace_row(l->trace, l->fns[call].row);
    hb_id correlation = hb_row_correlation(l->trace, row);
    l->fns[call].link = l->fns[scope].link;
    l->fns[call].flags |= HB_FN_LINKED;
    if (correlation != HB_ID_NONE) hb_dict_set(l->arena, &l->calls, correlation, call);
}

static void link_calls(linker *l, uint32_t count)
{
    hb_host_span *spans = HB_NEW_ARRAY(l->arena, hb_host_span, count + 1);
    size_t n = 0;
    for (uint32_t i = 0; i < count; i++) {
        const hb_row *row = hb_trace_row(l->trace, l->fns[i].row);
        if (!is_scope(row, &l->fns[i]) && !hb_row_is_call(row)) continue;
        spans[n++] = (hb_host_span){.start = row->start,
                                    .end = hb_row_end(row),
                                    .thread = (int64_t)hb_row_tid_key(l->trace, row),
                                    .item = i,
                                    .is_call = hb_row_is_call(row)};
    }
    hb_find_owners(spans, n, own, l);
}

static void link_work(const linker *l, hb_fn *fn)
{
    const hb_row *row = hb_trace_row(l->trace, fn->row);
    if (!is_work(row)) return;
    const hb_dict_entry *call = hb_dict_get(&l->calls, hb_row_correlation(l->trace, row));
    if (!call) return;
    fn->link = l->fns[call->value].link;
    fn->flags |= HB_FN_LINKED;
}

void hb_fn_link_by_time(hb_arena *arena, const hb_trace *trace, hb_fn *fns, uint32_t count)
{
    linker l = {.arena = arena, .trace = trace, .fns = fns};
    link_calls(&l, count);
    for (uint32_t i = 0; i < count; i++)
        link_work(&l, &fns[i]);
}
