/* SPDX-License-Identifier: MIT
 *
 * The rows of a process as events.
 */
#include <stdlib.h>

#include "import/import_set.h"

typedef struct rows_source {
    hb_source base;
    const hb_import_process *process;
    const hb_import_rows *rows;
    hb_pass pass;
    uint32_t thread;            /* HOST: whose turn it is */
    uint32_t scope, memory, at; /* places in the orders */
    uint32_t *timeline;         /* scopes and memory by time; memory: beyond the scopes */
    hb_arg args[];              /* of the present event */
} rows_source;

static rows_source *self(hb_source *source)
{
    return (rows_source *)source;
}

static int64_t unix_time(const rows_source *s, int64_t time)
{
    return time + s->process->offset;
}

static int64_t tid_of(const rows_source *s, uint32_t thread)
{
    return ((const hb_import_thread *)hb_column_at(&s->rows->threads.items, thread))->tid;
}

static hb_str text_of(const rows_source *s, hb_string_id id)
{
    return hb_texts_get(s->rows->texts, id);
}

/* ---- the host ---- */

static void make_host(const rows_source *s, hb_trace_event *e, const hb_import_host *host)
{
    *e = (hb_trace_event){
        .flags = host->flags & HB_IMPORT_UNFINISHED ? HB_TEV_UNFINISHED : 0,
        .name = text_of(s, host->name),
        .name_key = host->name,
        .start_ns = unix_time(s, host->start),
        .end_ns = unix_time(s, host->end),
        .tid = tid_of(s, host->thread),
        .device = -1,
    };
}

static void make_scope(const rows_source *s, hb_trace_event *e, uint32_t row)
{
    make_host(s, e, hb_column_at(&s->rows->scopes, row));
    bool annotates =
        ((const hb_import_host *)hb_column_at(&s->rows->scopes, row))->flags & HB_IMPORT_ANNOTATION;
    e->kind = annotates ? HB_EVENT_USER_ANNOTATION : HB_EVENT_OP;
    e->external_id = (uint64_t)row + 1;
}

static void make_memory(const rows_source *s, hb_trace_event *e, uint32_t row)
{
    const hb_import_memory *m = hb_column_at(&s->rows->memory, row);
    *e = (hb_trace_event){
        .kind = HB_EVENT_MEMORY,
        .flags = m->failed ? HB_TEV_OUT_OF_MEMORY : 0,
        .start_ns = unix_time(s, m->time),
        .end_ns = unix_time(s, m->time),
        .tid = tid_of(s, m->thread),
        .device = -1,
        .memory = {.device_type = m->device < 0 ? HB_DEVICE_CPU : HB_DEVICE_HIP,
                   .device_id = m->device,
                   .addr = m->address,
                   .bytes = m->bytes,
                   .total_allocated = m->total,
                   .total_reserved = m->total},
    };
}

static const hb_import_host *scope_at(const rows_source *s, uint32_t place)
{
    if (place >= s->rows->scopes.count) return NULL;
    return hb_column_at(&s->rows->scopes, s->rows->scopes_order[place]);
}

/* Frees of unknown memory stand behind all threads. */
static const hb_import_memory *memory_at(const rows_source *s, uint32_t place)
{
    if (place >= s->rows->memory.count) return NULL;
    const hb_import_memory *m = hb_column_at(&s->rows->memory, s->rows->memory_order[place]);
    return m->thread == UINT32_MAX ? NULL : m;
}

static bool next_on_host(rows_source *s, hb_trace_event *e)
{
    for (; s->thread < s->rows->threads.items.count; s->thread++) {
        const hb_import_host *scope = scope_at(s, s->scope);
        const hb_import_memory *memory = memory_at(s, s->memory);
        if (scope && scope->thread == s->thread) {
            make_scope(s, e, s->rows->scopes_order[s->scope++]);
            return true;
        }
        if (memory && memory->thread == s->thread) {
            make_memory(s, e, s->rows->memory_order[s->memory++]);
            return true;
        }
    }
    return false;
}

/* ---- all threads by time ---- */

static int64_t time_of(const hb_import_rows *r, uint32_t item)
{
    if (item < r->scopes.count)
        return ((const hb_import_host *)hb_column_at(&r->scopes, item))->start;
    return ((const hb_import_memory *)hb_column_at(&r->memory, item - r->scopes.count))->time;
}

static bool earlier(const void *rows, const void *a, const void *b)
{
    return time_of(rows, *(const uint32_t *)a) < time_of(rows, *(const uint32_t *)b);
}

static void sort_timeline(rows_source *s, hb_arena *arena)
{
    const hb_import_rows *r = s->rows;
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->scopes.count; i++) /* parents first where times are equal */
        s->timeline[n++] = r->scopes_order[i];
    for (uint32_t i = 0; i < r->memory.count; i++)
        s->timeline[n++] = r->memory_order[i] + r->scopes.count;
    hb_sort(arena, s->timeline, n, sizeof *s->timeline, earlier, r);
}

static hb_result make_timeline(rows_source *s)
{
    hb_arena arena = {0};
    if (s->timeline) return HB_OK;
    size_t n = (size_t)s->rows->scopes.count + s->rows->memory.count;
    s->timeline = malloc((n + 1) * sizeof *s->timeline);
    if (!s->timeline) return hb_no_memory();
    if (hb_arena_try(&arena)) sort_timeline(s, &arena);
    hb_result result = hb_arena_outcome(&arena);
    hb_arena_free(&arena);
    return result;
}

static bool next_in_time(rows_source *s, hb_trace_event *e)
{
    const hb_import_rows *r = s->rows;
    for (; s->at < r->scopes.count + r->memory.count; s->at++) {
        uint32_t item = s->timeline[s->at];
        if (item < r->scopes.count) {
            make_scope(s, e, item);
        } else {
            const hb_import_memory *m = hb_column_at(&r->memory, item - r->scopes.count);
            if (m->thread == UINT32_MAX) continue;
            make_memory(s, e, item - r->scopes.count);
        }
        s->at++;
        return true;
    }
    return false;
}

/* ---- numbers ---- */

static bool next_sample(rows_source *s, hb_trace_event *e)
{
    if (s->at >= s->rows->samples.count) return false;
    const hb_import_sample *m = hb_column_at(&s->rows->samples, s->rows->samples_order[s->at++]);
    *e = (hb_trace_event){
        .kind = HB_EVENT_COUNTER,
        .name = text_of(s, m->name),
        .name_key = m->name,
        .start_ns = unix_time(s, m->time),
        .end_ns = unix_time(s, m->time),
        .tid = tid_of(s, m->thread),
        .device = -1,
        .counter = {m->value, m->unit ? text_of(s, m->unit) : (hb_str){0}},
    };
    return true;
}

/* ---- calls ---- */

static void set_call_args(hb_runtime_args *args, const hb_import_call_args *from)
{
    static const hb_str kinds[] = {HB_STR("0"), HB_STR("1"), HB_STR("2"), HB_STR("3"), HB_STR("4")};
    args->has_grid = from->has_grid;
    memcpy(args->grid, from->grid, sizeof args->grid);
    memcpy(args->block, from->block, sizeof args->block);
    args->shared_bytes = from->shared_bytes;
    args->stream = from->stream;
    args->ptr = from->ptr;
    args->src = from->src;
    args->bytes = from->bytes;
    if (from->copies) args->kind = kinds[HB_MIN(from->copy_kind, HB_ARRAY_LEN(kinds) - 1)];
}

static void make_call(const rows_source *s, hb_trace_event *e, uint32_t row)
{
    const hb_import_host *call = hb_column_at(&s->rows->calls, row);
    make_host(s, e, call);
    bool only_waits = (call->flags & (HB_IMPORT_WAITS | HB_IMPORT_LAUNCHES)) == HB_IMPORT_WAITS;
    e->kind = only_waits ? HB_EVENT_SYNC : HB_EVENT_RUNTIME;
    if (call->flags & HB_IMPORT_MINOR) e->flags |= HB_TEV_MINOR;
    e->external_id = call->scope;
    e->correlation = call->correlation;
    e->runtime = (hb_runtime_args){.launches = (call->flags & HB_IMPORT_LAUNCHES) != 0};
    if (call->args) set_call_args(&e->runtime, hb_column_at(&s->rows->call_args.items, call->args));
}

/* ---- device work ---- */

static void set_kernel(hb_kernel_args *k, const hb_import_launch *l,
                       const struct hb_import_estimate *estimate)
{
    *k = (hb_kernel_args){
        .has_grid = l->has_grid,
        .has_resources = l->has_resources,
        .vgprs = l->vgprs,
        .sgprs = l->sgprs,
        .agprs = l->agprs,
        .lds_bytes = l->lds_bytes,
        .scratch_bytes = l->scratch_bytes,
        .blocks_per_sm = estimate->blocks_per_sm,
        .warps_per_sm = estimate->warps_per_sm,
        .occupancy = estimate->percent,
        .limiting_factor = estimate->limit,
    };
    memcpy(k->grid, l->grid, sizeof k->grid);
    memcpy(k->block, l->block, sizeof k->block);
}

static void set_copy(hb_trace_event *e, const hb_import_launch *l)
{
    static const struct {
        hb_str name;
        const char *kind;
    } copies[] = {
        [HB_IMPORT_COPY_UNKNOWN] = {HB_STR("Memcpy"), NULL},
        [HB_IMPORT_COPY_HTOD] = {HB_STR("Memcpy HtoD (Host -> Device)"), "HtoD"},
        [HB_IMPORT_COPY_DTOH] = {HB_STR("Memcpy DtoH (Device -> Host)"), "DtoH"},
        [HB_IMPORT_COPY_DTOD] = {HB_STR("Memcpy DtoD (Device -> Device)"), "DtoD"},
        [HB_IMPORT_COPY_HTOH] = {HB_STR("Memcpy HtoH (Host -> Host)"), "HtoH"},
        [HB_IMPORT_COPY_PTOP] = {HB_STR("Memcpy PtoP (Device -> Device)"), "PtoP"},
    };
    bool fills = l->kind == HB_EVENT_MEMSET;
    e->name = fills ? HB_STR("Memset (Device)") : copies[l->copy].name;
    e->name_key = 0;
    e->copy = (hb_copy_args){l->bytes, fills ? "Device" : copies[l->copy].kind, l->from, l->to};
}

/* Counters, and the stream where rows are queues. */
static void set_values(rows_source *s, hb_trace_event *e, const hb_import_work *work,
                       const hb_import_lane *lane)
{
    uint32_t n = 0;
    if (s->rows->by_queue && lane->stream >= 0)
        s->args[n++] = hb_arg_int("hip stream", lane->stream);
    for (uint32_t i = 0; i < work->num_values; i++) {
        const hb_import_value *v = hb_column_at(&s->rows->values, work->values + i);
        s->args[n++] = hb_arg_double(text_of(s, v->name).s, v->value);
    }
    e->args = s->args;
    e->num_args = n;
}

static void make_work(rows_source *s, hb_trace_event *e, uint32_t row)
{
    const hb_import_rows *r = s->rows;
    const hb_import_work *work = hb_column_at(&r->works, row);
    const hb_import_lane *lane = hb_import_lane_of(r, work);
    const hb_import_launch *l = hb_import_launch_of(r, work);
    const hb_import_host *call = work->call ? hb_column_at(&r->calls, work->call - 1) : NULL;
    *e = (hb_trace_event){
        .kind = (hb_event_kind)l->kind,
        .flags = call ? 0 : HB_TEV_NO_CALL,
        .name = text_of(s, work->name),
        .name_key = work->name,
        .start_ns = unix_time(s, work->start),
        .end_ns = unix_time(s, work->end),
        .tid = hb_import_row_of(r, lane),
        .device = lane->device,
        .external_id = call ? call->scope : 0,
        .correlation = work->correlation,
    };
    if (l->kind == HB_EVENT_KERNEL)
        set_kernel(&e->kernel, l, &r->estimates[work->launch]);
    else
        set_copy(e, l);
    set_values(s, e, work, lane);
}

static bool next_on_device(rows_source *s, hb_trace_event *e)
{
    const hb_import_rows *r = s->rows;
    if (s->at < r->calls.count) {
        make_call(s, e, r->calls_order[s->at++]);
        return true;
    }
    uint32_t work = s->at - r->calls.count;
    if (work >= r->works.count) return false;
    make_work(s, e, r->works_order[work]);
    s->at++;
    return true;
}

/* ---- the source ---- */

static hb_result begin(hb_source *source, hb_pass pass)
{
    rows_source *s = self(source);
    s->pass = pass;
    s->thread = s->scope = s->memory = s->at = 0;
    return pass == HB_PASS_TIMELINE ? make_timeline(s) : HB_OK;
}

static bool next(hb_source *source, hb_trace_event *e)
{
    rows_source *s = self(source);
    switch (s->pass) {
    case HB_PASS_HOST: return next_on_host(s, e);
    case HB_PASS_TIMELINE: return next_in_time(s, e);
    case HB_PASS_SCALARS: return next_sample(s, e);
    case HB_PASS_DEVICE: return next_on_device(s, e);
    default: return false; /* such tools know no modules */
    }
}

static void source_close(hb_source *source)
{
    free(self(source)->timeline);
    free(source);
}

/* The most that any one has: its counters, and its stream. */
static size_t most_args(const hb_import_rows *r)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < r->works.count; i++)
        most = HB_MAX(most, ((const hb_import_work *)hb_column_at(&r->works, i))->num_values);
    return (size_t)most + 1;
}

hb_result hb_import_rows_source(const hb_import_process *process, hb_source **source)
{
    rows_source *s = calloc(1, sizeof *s + most_args(&process->rows) * sizeof *s->args);
    if (!s) return hb_no_memory();
    s->base = (hb_source){&process->info, begin, next, source_close};
    s->process = process;
    s->rows = &process->rows;
    *source = &s->base;
    return HB_OK;
}
