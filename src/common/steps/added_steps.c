/* SPDX-License-Identifier: MIT
 *
 * A source with steps between its own events. They stand before what begins with them, so that the
 * range that made them lies inside.
 */
#include <stdlib.h>

#include "base/base.h"
#include "rules/name_class.h"
#include "steps/find_steps.h"

/* Beside all that other sources give out, and exact in JSON readers that know doubles only. */
#define FIRST_EXTERNAL_ID (((uint64_t)1 << 52) + ((uint64_t)1 << 51))

typedef struct added {
    hb_source base;
    hb_trace_info info;
    hb_source *inner;
    hb_found_steps steps;
    hb_thread_info *threads;
    hb_metadata *metadata;
    hb_buf json; /* of the entry that tells how they were found */
    /* the present pass */
    hb_pass pass;
    size_t given;
    bool on_their_thread; /* HOST: its events have begun */
    bool has_pending;
    hb_trace_event pending;
    char name[HB_STEP_NAME_SIZE];
} added;

static added *self(hb_source *source)
{
    return (added *)source;
}

static void make_step(added *s, hb_trace_event *e)
{
    static const hb_arg mark = {"hipboard", HB_ARG_STRING, 0, 0, 0, "inferred"};
    const hb_found_step *step = &s->steps.items[s->given];
    size_t n = hb_step_name(s->name, step->number);
    *e = (hb_trace_event){
        .kind = HB_EVENT_USER_ANNOTATION,
        .name = {s->name, (uint32_t)n},
        .start_ns = step->start_ns,
        .end_ns = step->end_ns,
        .tid = s->steps.tid,
        .device = -1,
        .external_id = FIRST_EXTERNAL_ID + s->given,
        .op = {.args = &mark, .num_args = 1},
    };
    s->given++;
}

static hb_result begin(hb_source *source, hb_pass pass)
{
    added *s = self(source);
    s->pass = pass;
    s->given = 0;
    s->has_pending = s->on_their_thread = false;
    return s->inner->begin(s->inner, pass);
}

/* HOST: thread after thread, its scopes, then its memory. A thread without scopes comes last. */
static bool is_due_on_host(added *s)
{
    const hb_trace_event *e = &s->pending;
    if (!s->has_pending) return true;
    bool theirs = e->tid == s->steps.tid;
    bool left = s->on_their_thread && !theirs;
    s->on_their_thread |= theirs;
    if (left) return true;
    return theirs &&
           (e->kind == HB_EVENT_MEMORY || s->steps.items[s->given].start_ns <= e->start_ns);
}

static bool is_due(added *s)
{
    if (s->given == s->steps.count) return false;
    if (s->pass == HB_PASS_HOST) return is_due_on_host(s);
    return !s->has_pending || s->steps.items[s->given].start_ns <= s->pending.start_ns;
}

static bool next(hb_source *source, hb_trace_event *e)
{
    added *s = self(source);
    if (s->pass != HB_PASS_HOST && s->pass != HB_PASS_TIMELINE) return s->inner->next(s->inner, e);
    if (!s->has_pending) s->has_pending = s->inner->next(s->inner, &s->pending);
    if (is_due(s)) {
        make_step(s, e);
        return true;
    }
    if (!s->has_pending) return false;
    s->has_pending = false;
    *e = s->pending;
    return true;
}

static void free_added(added *s)
{
    hb_found_steps_free(&s->steps);
    free(s->threads);
    free(s->metadata);
    hb_buf_free(&s->json);
    free(s);
}

static void source_close(hb_source *source)
{
    added *s = self(source);
    s->inner->close(s->inner);
    free_added(s);
}

/* Steps of no thread have a row of their own. */
static hb_result add_row(added *s)
{
    size_t n = s->info.num_threads;
    if (s->steps.tid) return HB_OK;
    s->threads = calloc(n + 1, sizeof *s->threads);
    if (!s->threads) return hb_no_memory();
    if (n) memcpy(s->threads, s->info.threads, n * sizeof *s->threads);
    s->threads[n] = (hb_thread_info){0, "inferred steps"};
    s->info.threads = s->threads;
    s->info.num_threads = n + 1;
    return HB_OK;
}

/* ---- how they were found ---- */

void hb_found_steps_tell(const hb_found_steps *f, hb_buf *json)
{
    static const char *const methods[] = {"own",         "asked for", "ranges",
                                          "call stacks", "sequence",  "one for all"};
    hb_buf_printf(json, "{\"method\": \"%s\", \"inferred\": true, \"steps\": %zu",
                  methods[f->method], f->count);
    if (f->method == HB_STEPS_STACKS || f->method == HB_STEPS_SEQUENCE)
        hb_buf_printf(json, ", \"agreement\": %.3f, \"coverage\": %.3f", f->agreement, f->coverage);
    hb_buf_str(json, ", \"rule\": ");
    hb_buf_json_string(json, f->rule, strlen(f->rule));
    hb_buf_str(json, "}");
}

static hb_result add_metadata(added *s)
{
    size_t n = s->info.num_metadata;
    hb_buf_init(&s->json, (size_t)1 << 16);
    hb_found_steps_tell(&s->steps, &s->json);
    s->metadata = calloc(n + 2, sizeof *s->metadata);
    if (!s->metadata || s->json.failed) return hb_no_memory();
    if (n) memcpy(s->metadata, s->info.metadata, n * sizeof *s->metadata);
    s->metadata[n++] = (hb_metadata){HB_METADATA_STEPS, hb_buf_text(&s->json)};
    if (s->steps.loops) s->metadata[n++] = (hb_metadata){"hipboard_loops", s->steps.loops};
    s->info.metadata = s->metadata;
    s->info.num_metadata = n;
    return HB_OK;
}

hb_result hb_put_steps(hb_source **source, hb_found_steps *found)
{
    if (!found->count) return HB_OK;
    added *s = calloc(1, sizeof *s);
    hb_result result = s ? HB_OK : hb_no_memory();
    if (s) {
        s->base = (hb_source){&s->info, begin, next, source_close};
        s->info = *(*source)->info;
        s->steps = *found;
        result = add_row(s);
        if (result == HB_OK) result = add_metadata(s);
    }
    if (result != HB_OK) {
        if (s) s->steps = (hb_found_steps){0};
        if (s) free_added(s);
        return result;
    }
    *found = (hb_found_steps){0};
    s->inner = *source;
    *source = &s->base;
    return HB_OK;
}
