/* SPDX-License-Identifier: MIT */
#include "replay/time_slices.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/times.h"
#include "rules/name_class.h"

/* Beside all that a session gives out, and exact in JSON readers that know doubles only. */
#define FIRST_EXTERNAL_ID ((uint64_t)1 << 52)

/* The plugin draws a bar for each; a fuzzer has better uses for seconds than many of the same kind.
 */
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
enum { SLICES_MOST = 1000 };
#else
enum { SLICES_MOST = 100000 };
#endif
enum { SLICES_WANTED = 20 };

typedef struct slices {
    hb_source base;
    hb_trace_info info;
    hb_source *inner;
    hb_thread_info *threads;
    int64_t slice_ns;
    uint32_t count;
    /* the present pass */
    hb_pass pass;
    uint32_t given;
    bool has_pending; /* TIMELINE: an inner event that waits for the slices before it */
    hb_trace_event pending;
    char name[HB_STEP_NAME_SIZE];
} slices;

static slices *self(hb_source *source)
{
    return (slices *)source;
}

static void make_slice(slices *s, hb_trace_event *e)
{
    int64_t start = s->info.start_ns + (int64_t)s->given * s->slice_ns;
    size_t n = hb_step_name(s->name, s->given);
    *e = (hb_trace_event){
        .kind = HB_EVENT_USER_ANNOTATION,
        .name = {s->name, (uint32_t)n},
        .start_ns = start,
        .end_ns = HB_MIN(start + s->slice_ns, s->info.stop_ns),
        .tid = 0,
        .device = -1,
        .external_id = FIRST_EXTERNAL_ID + s->given,
    };
    s->given++;
}

static hb_result begin(hb_source *source, hb_pass pass)
{
    slices *s = self(source);
    s->pass = pass;
    s->given = 0;
    s->has_pending = false;
    return s->inner->begin(s->inner, pass);
}

/* Their row comes after the threads'. */
static bool next_host(slices *s, hb_trace_event *e)
{
    if (s->given == 0 && s->inner->next(s->inner, e)) return true;
    if (s->given == s->count) return false;
    make_slice(s, e);
    return true;
}

static bool next_in_time(slices *s, hb_trace_event *e)
{
    if (!s->has_pending) s->has_pending = s->inner->next(s->inner, &s->pending);
    int64_t start = s->info.start_ns + (int64_t)s->given * s->slice_ns;
    if (s->given < s->count && (!s->has_pending || start <= s->pending.start_ns)) {
        make_slice(s, e);
        return true;
    }
    if (!s->has_pending) return false;
    s->has_pending = false;
    *e = s->pending;
    return true;
}

static bool next(hb_source *source, hb_trace_event *e)
{
    slices *s = self(source);
    if (s->pass == HB_PASS_HOST) return next_host(s, e);
    if (s->pass == HB_PASS_TIMELINE) return next_in_time(s, e);
    return s->inner->next(s->inner, e);
}

static void source_close(hb_source *source)
{
    slices *s = self(source);
    s->inner->close(s->inner);
    free(s->threads);
    free(s);
}

static hb_result look_for_steps(hb_source *source, bool *found)
{
    hb_trace_event e;
    *found = false;
    HB_TRY(source->begin(source, HB_PASS_TIMELINE));
    while (!*found && source->next(source, &e))
        *found = hb_event_is_step(&e);
    return HB_OK;
}

/* 1, 2 or 5 times a power of ten. */
static int64_t round_length(int64_t window_ns)
{
    int64_t wanted = HB_MAX(window_ns / SLICES_WANTED, 1), power = 1;
    while (power <= wanted / 10)
        power *= 10;
    return wanted >= 5 * power ? 5 * power : wanted >= 2 * power ? 2 * power : power;
}

static hb_result add_row(slices *s)
{
    size_t n = s->inner->info->num_threads;
    s->threads = calloc(n + 1, sizeof *s->threads);
    if (!s->threads) return hb_fail(HB_ERROR_NO_MEMORY, "no memory for time slices");
    if (n) memcpy(s->threads, s->inner->info->threads, n * sizeof *s->threads);
    s->threads[n] = (hb_thread_info){0, "time slices"};
    s->info.threads = s->threads;
    s->info.num_threads = n + 1;
    return HB_OK;
}

hb_result hb_time_slices_add(hb_source **source, int64_t slice_ns)
{
    bool has_steps;
    if (slice_ns == 0) return HB_OK;
    HB_TRY(look_for_steps(*source, &has_steps));
    const hb_trace_info *info = (*source)->info;
    int64_t window = info->stop_ns - info->start_ns;
    if (has_steps || window <= 0) return HB_OK;
    slices *s = calloc(1, sizeof *s);
    if (!s) return hb_fail(HB_ERROR_NO_MEMORY, "no memory for time slices");
    int64_t length =
        slice_ns == HB_TIME_SLICES_AUTO ? round_length(window) : HB_MIN(slice_ns, HB_MAX_TIME_NS);
    s->slice_ns = HB_MAX(length, window / SLICES_MOST + 1);
    s->count = (uint32_t)((window + s->slice_ns - 1) / s->slice_ns);
    s->base = (hb_source){&s->info, begin, next, source_close};
    s->inner = *source;
    s->info = *info;
    s->info.has_time_slices = true;
    if (add_row(s) != HB_OK) {
        free(s);
        return HB_ERROR_NO_MEMORY;
    }
    *source = &s->base;
    return HB_OK;
}
