/* SPDX-License-Identifier: MIT */
#include "replay/sample_rows.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/hash_map.h"
#include "base/string_table.h"
#include "symbols/symbolizer.h"

/* Beside all that a session gives out, exact in JSON readers that know doubles only; and beside all
 * threads' numbers. */
#define FIRST_EXTERNAL_ID (((uint64_t)1 << 52) + ((uint64_t)1 << 49))
#define FIRST_TID         INT64_C(3000000000)

enum { MOST_DEPTH = 128, MOST_FRAME = 1024 };

/* More of a sample's usual distance: the thread did not run in between. */
#define APART 2.5

typedef struct sample {
    int64_t time;
    uint32_t tid, hz;
    uint32_t first, count; /* addresses */
} sample;

typedef struct slice {
    hb_string_id name;
    int64_t start, end, tid;
} slice;

typedef struct sampler {
    hb_source base;
    hb_trace_info info;
    hb_source *inner;
    hb_arena arena;
    hb_texts texts;
    const hb_spool_view *view;
    hb_symbolizer *symbolizer;
    HB_VEC(sample) samples;
    HB_VEC(uint64_t) addresses;
    HB_VEC(slice) slices;  /* by thread, then start; outer ones first */
    HB_VEC(slice) by_time; /* by start */
    HB_VEC(hb_thread_info) threads;
    uint32_t open[MOST_DEPTH]; /* slices, the outermost first */
    uint32_t depth;
    /* the present pass */
    hb_pass pass;
    uint32_t given;
    bool has_pending, is_over;
    hb_trace_event pending;
} sampler;

/* ---- samples ---- */

static void take_record(sampler *s, const hb_record_sample *r, const hb_boottime_fit *fit)
{
    uint32_t n = (uint32_t)(r->head.units - sizeof *r / 8);
    const uint64_t *pcs = (const uint64_t *)(r + 1);
    *HB_PUSH(&s->arena, &s->samples) = (sample){.time = hb_clock_unix_of_boottime(fit, r->time),
                                                .tid = r->tid,
                                                .hz = HB_MAX(r->hz, 1u),
                                                .first = s->addresses.count,
                                                .count = n};
    for (uint32_t i = 0; i < n; i++)
        *HB_PUSH(&s->arena, &s->addresses) = pcs[i];
}

static void collect(sampler *s, const hb_session *session)
{
    const hb_records *records = s->view->records(s->view, session);
    hb_boottime_fit fit = hb_clock_fit_boottime(&session->start, hb_session_last(session));
    for (uint32_t i = 0; records && i < records->threads.count; i++) {
        uint64_t id;
        const hb_record *r;
        hb_cursor c =
            hb_cursor_open(s->view, records, hb_records_nth(records, i), 1u << HB_RECORD_SAMPLE);
        while ((r = hb_cursor_next(&c, &id)))
            if (r->type == HB_RECORD_SAMPLE) take_record(s, (const hb_record_sample *)r, &fit);
        hb_cursor_close(&c);
    }
}

static bool by_thread(const void *context, const void *a, const void *b)
{
    const sample *x = a, *y = b;
    (void)context;
    return x->tid != y->tid ? x->tid < y->tid : x->time < y->time;
}

/* ---- slices ---- */

/* Texts of frames, the outermost first. */
typedef struct frames {
    hb_string_id names[MOST_DEPTH];
    uint32_t count;
} frames;

static hb_string_id text_id(sampler *s, const char *text, size_t size)
{
    hb_string_id id = hb_texts_add(&s->texts, text, HB_MIN(size, (size_t)MOST_FRAME));
    if (!id) hb_arena_leave(&s->arena, HB_ERROR_NO_MEMORY, "out of memory");
    return id;
}

/* "file(line): function;" innermost first: the functions. */
static void read_frames(sampler *s, const sample *of, frames *f)
{
    hb_str stack = {0};
    f->count = 0;
    if (s->symbolizer && of->count)
        stack = hb_symbolizer_stack(s->symbolizer, &s->addresses.items[of->first], of->count);
    const char *at = stack.len ? stack.s + stack.len : NULL;
    while (at > stack.s && f->count < MOST_DEPTH) {
        const char *end = at[-1] == ';' ? at - 1 : at;
        for (at = end; at > stack.s && at[-1] != ';';)
            at--;
        const char *function = memmem(at, (size_t)(end - at), "): ", 3);
        function = function ? function + 3 : at;
        if (end > function) f->names[f->count++] = text_id(s, function, (size_t)(end - function));
    }
}

static void close_to(sampler *s, uint32_t depth, int64_t time)
{
    while (s->depth > depth) {
        slice *open = &s->slices.items[s->open[--s->depth]];
        open->end = HB_MAX(time, open->start + 1);
    }
}

static void take_sample(sampler *s, const sample *of, const sample *before, int64_t tid)
{
    frames f;
    int64_t period = INT64_C(1000000000) / of->hz;
    bool goes_on = before && before->tid == of->tid &&
                   (double)(of->time - before->time) <= APART * (double)period;
    if (!goes_on) close_to(s, 0, before ? before->time + period : of->time);
    read_frames(s, of, &f);
    uint32_t same = 0;
    while (same < s->depth && same < f.count &&
           s->slices.items[s->open[same]].name == f.names[same])
        same++;
    close_to(s, same, of->time);
    while (s->depth < f.count) {
        s->open[s->depth] = s->slices.count;
        *HB_PUSH(&s->arena, &s->slices) = (slice){f.names[s->depth], of->time, of->time, tid};
        s->depth++;
    }
}

/* A row beside the thread's own. */
static void name_row(sampler *s, uint32_t tid)
{
    char name[60];
    int n = snprintf(name, sizeof name, "samples of thread %u", tid);
    char *copy = hb_arena_alloc(&s->arena, (size_t)n + 1);
    memcpy(copy, name, (size_t)n + 1);
    *HB_PUSH(&s->arena, &s->threads) = (hb_thread_info){FIRST_TID + tid, copy};
}

static bool by_start(const void *context, const void *a, const void *b)
{
    (void)context;
    return ((const slice *)a)->start < ((const slice *)b)->start;
}

static void make(sampler *s, const hb_session *session)
{
    hb_str code = s->view->code;
    if (!hb_texts_init(&s->texts)) hb_arena_leave(&s->arena, HB_ERROR_NO_MEMORY, "out of memory");
    collect(s, session);
    if (!s->samples.count) return;
    if (s->view->same_process || code.s) s->symbolizer = hb_symbolizer_new(code);
    for (size_t i = 0; i < s->info.num_threads; i++)
        *HB_PUSH(&s->arena, &s->threads) = s->info.threads[i];
    hb_sort(&s->arena, s->samples.items, s->samples.count, sizeof(sample), by_thread, NULL);
    const sample *before = NULL;
    for (uint32_t i = 0; i < s->samples.count; before = &s->samples.items[i++]) {
        const sample *of = &s->samples.items[i];
        if (!before || before->tid != of->tid) name_row(s, of->tid);
        take_sample(s, of, before, FIRST_TID + of->tid);
    }
    close_to(s, 0, before->time + INT64_C(1000000000) / before->hz);
    for (uint32_t i = 0; i < s->slices.count; i++)
        *HB_PUSH(&s->arena, &s->by_time) = s->slices.items[i];
    hb_sort(&s->arena, s->by_time.items, s->by_time.count, sizeof(slice), by_start, NULL);
    s->info.threads = s->threads.items;
    s->info.num_threads = s->threads.count;
}

/* ---- as a source ---- */

static sampler *self(hb_source *source)
{
    return (sampler *)source;
}

static bool give(sampler *s, const slice *list, hb_trace_event *e)
{
    const slice *of = &list[s->given];
    *e = (hb_trace_event){.kind = HB_EVENT_USER_ANNOTATION,
                          .name = hb_texts_get(&s->texts, of->name),
                          .start_ns = of->start,
                          .end_ns = of->end,
                          .tid = of->tid,
                          .device = -1,
                          .external_id = FIRST_EXTERNAL_ID + s->given,
                          .op = {.category = HB_STR(HB_SAMPLE_CATEGORY)}};
    s->given++;
    return true;
}

static hb_result begin(hb_source *source, hb_pass pass)
{
    sampler *s = self(source);
    s->pass = pass;
    s->given = 0;
    s->has_pending = s->is_over = false;
    return s->inner->begin(s->inner, pass);
}

static bool next_in_time(sampler *s, hb_trace_event *e)
{
    if (!s->has_pending && !s->is_over) {
        s->has_pending = s->inner->next(s->inner, &s->pending);
        s->is_over = !s->has_pending;
    }
    bool more = s->given < s->by_time.count;
    if (more && (!s->has_pending || s->by_time.items[s->given].start < s->pending.start_ns))
        return give(s, s->by_time.items, e);
    if (!s->has_pending) return false;
    s->has_pending = false;
    *e = s->pending;
    return true;
}

static bool next(hb_source *source, hb_trace_event *e)
{
    sampler *s = self(source);
    if (s->pass == HB_PASS_TIMELINE) return next_in_time(s, e);
    if (s->inner->next(s->inner, e)) return true;
    return s->pass == HB_PASS_HOST && s->given < s->slices.count && give(s, s->slices.items, e);
}

static void free_sampler(sampler *s)
{
    hb_symbolizer_free(s->symbolizer);
    hb_texts_free(&s->texts);
    hb_arena_free(&s->arena);
    free(s);
}

static void source_close(hb_source *source)
{
    sampler *s = self(source);
    s->inner->close(s->inner);
    free_sampler(s);
}

static hb_result try_to_make(sampler *s, const hb_session *session)
{
    if (hb_arena_try(&s->arena)) make(s, session);
    return hb_arena_outcome(&s->arena);
}

hb_result hb_put_samples(const hb_spool_view *view, const hb_session *session, hb_source **source)
{
    sampler *s = calloc(1, sizeof *s);
    if (!s) return hb_no_memory();
    s->base = (hb_source){&s->info, begin, next, source_close};
    s->info = *(*source)->info;
    s->inner = *source;
    s->view = view;
    hb_result result = try_to_make(s, session);
    if (result != HB_OK || !s->slices.count) {
        free_sampler(s);
        return result;
    }
    *source = &s->base;
    return HB_OK;
}
