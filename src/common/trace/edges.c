/* SPDX-License-Identifier: MIT */
#include "trace/edges.h"

#include "base/hash_map.h"
#include "trace/link.h"

typedef struct linker {
    hb_arena arena;
    hb_trace *trace;
    hb_dict calls;  /* correlation -> row, of the correlations that device work has */
    hb_dict scopes; /* External id of calls and work -> row + 1 of the scope; 0: none */
} linker;

static hb_device_row *edges_of(const linker *l, uint32_t row)
{
    return hb_column_at(&l->trace->devices, hb_trace_row(l->trace, row)->extra);
}

/* Whether External ids of device work are operators'. Writers of 2023 put a record's own
 * correlation there, ROCm's newest write none. */
static bool ids_are_scopes(const hb_trace *trace)
{
    for (uint32_t i = 0; i < trace->rows.count; i++) {
        const hb_row *row = hb_trace_row(trace, i);
        if (hb_row_is_work(row) && row->id != HB_ID_NONE &&
            row->id != hb_row_correlation(trace, row))
            return true;
    }
    return false;
}

/* ---- calls ---- */

/* False: there is no device work. */
static bool find_correlations(linker *l)
{
    bool any = false;
    for (uint32_t i = 0; i < l->trace->rows.count; i++) {
        const hb_row *row = hb_trace_row(l->trace, i);
        if (!hb_row_is_work(row)) continue;
        any = true;
        hb_id correlation = hb_row_correlation(l->trace, row);
        if (correlation) hb_dict_set(&l->arena, &l->calls, correlation, HB_NO_EVENT);
    }
    return any;
}

static void link_calls(linker *l)
{
    const hb_trace *trace = l->trace;
    for (uint32_t i = 0; i < trace->rows.count; i++) {
        const hb_row *row = hb_trace_row(trace, i);
        if (!hb_row_is_call(row) || !hb_row_is_timed(trace, row)) continue;
        hb_dict_entry *e = hb_dict_get(&l->calls, hb_row_correlation(trace, row));
        if (e) e->value = i;
    }
    for (uint32_t i = 0; i < trace->rows.count; i++) {
        const hb_row *row = hb_trace_row(trace, i);
        if (!hb_row_is_work(row)) continue;
        const hb_dict_entry *e = hb_dict_get(&l->calls, hb_row_correlation(trace, row));
        edges_of(l, i)->call = e ? e->value + 1 : 0;
    }
}

/* ---- scopes by id ---- */

static bool has_scope_id(const hb_row *row)
{
    return row->id != HB_ID_NONE && row->id != HB_ID_ZERO;
}

static bool seeks_scope(const hb_row *row)
{
    return hb_row_is_work(row) || hb_row_is_call(row);
}

static void link_scopes_by_id(linker *l)
{
    const hb_trace *trace = l->trace;
    for (uint32_t i = 0; i < trace->rows.count; i++) {
        const hb_row *row = hb_trace_row(trace, i);
        if (has_scope_id(row) && seeks_scope(row)) hb_dict_set(&l->arena, &l->scopes, row->id, 0);
    }
    for (uint32_t i = 0; i < trace->rows.count; i++) {
        const hb_row *row = hb_trace_row(trace, i);
        if (row->kind != HB_KIND_OPERATOR || !has_scope_id(row)) continue;
        hb_dict_entry *e = hb_row_is_timed(trace, row) ? hb_dict_get(&l->scopes, row->id) : NULL;
        if (e) e->value = i + 1;
    }
    for (uint32_t i = 0; i < trace->rows.count; i++) {
        const hb_row *row = hb_trace_row(trace, i);
        if (has_scope_id(row) && seeks_scope(row))
            edges_of(l, i)->scope = hb_dict_get(&l->scopes, row->id)->value;
    }
}

/* ---- scopes by time ---- */

static void own(void *context, uint32_t call, uint32_t scope)
{
    edges_of(context, call)->scope = scope + 1;
}

static void link_scopes_by_time(linker *l)
{
    const hb_trace *trace = l->trace;
    HB_VEC(hb_host_span) spans = {0};
    for (uint32_t i = 0; i < trace->rows.count; i++) {
        const hb_row *row = hb_trace_row(trace, i);
        bool is_call = hb_row_is_call(row);
        bool is_scope = row->kind == HB_KIND_OPERATOR && has_scope_id(row);
        if ((!is_call && !is_scope) || !hb_row_is_timed(trace, row)) continue;
        *HB_PUSH(&l->arena, &spans) = (hb_host_span){.start = row->start,
                                                     .end = hb_row_end(row),
                                                     .thread = hb_row_tid(trace, row),
                                                     .item = i,
                                                     .is_call = is_call};
    }
    hb_find_owners(&l->arena, spans.items, spans.count, own, l);
    for (uint32_t i = 0; i < trace->rows.count; i++) {
        const hb_row *row = hb_trace_row(trace, i);
        if (!hb_row_is_work(row)) continue;
        uint32_t call = hb_work_call(trace, row);
        edges_of(l, i)->scope = call == HB_NO_EVENT ? 0 : edges_of(l, call)->scope;
    }
}

static void forget(hb_trace *trace)
{
    for (uint32_t i = 0; i < trace->devices.count; i++) {
        hb_device_row *d = hb_column_at(&trace->devices, i);
        d->call = d->scope = 0;
    }
}

hb_result hb_trace_link(hb_trace *trace)
{
    linker l = {.trace = trace};
    if (trace->linked) return HB_OK;
    forget(trace);
    if (hb_arena_try(&l.arena) && find_correlations(&l)) {
        trace->ids_are_scopes = ids_are_scopes(trace);
        link_calls(&l);
        if (trace->ids_are_scopes)
            link_scopes_by_id(&l);
        else
            link_scopes_by_time(&l);
    }
    hb_result result = hb_arena_outcome(&l.arena);
    hb_arena_free(&l.arena);
    trace->linked = result == HB_OK;
    return result;
}
