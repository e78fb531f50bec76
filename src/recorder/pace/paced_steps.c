/* SPDX-License-Identifier: MIT
 *
 * The window is shown to the rules for steps as a trace: each launch a call with a kernel that
 * takes as long as any other.
 */
#include "pace/paced_steps.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "steps/find_steps.h"
#include "trace/source.h"

enum { STEPS_LEAST = 5, WORK_NS = 1000 };

/* ---- the window ---- */

bool hb_pace_window_add(hb_pace_window *w, const hb_pace_seen *seen, const uint64_t *pcs,
                        uint32_t count)
{
    hb_pace_seen *added = HB_APPEND(&w->calls);
    if (!added) return false;
    *added = *seen;
    added->frames = w->frames.count;
    added->num_frames = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t *frame = HB_APPEND(&w->frames);
        if (!frame) break;
        *frame = pcs[i];
        added->num_frames++;
    }
    return true;
}

hb_pace_window *hb_pace_window_copy(const hb_pace_window *w)
{
    hb_pace_window *copy = calloc(1, sizeof *copy);
    if (!copy) return NULL;
    *copy = *w;
    copy->calls.capacity = w->calls.count;
    copy->frames.capacity = w->frames.count;
    copy->calls.items = malloc(w->calls.count * sizeof *w->calls.items + 1);
    copy->frames.items = malloc(w->frames.count * sizeof *w->frames.items + 1);
    if (!copy->calls.items || !copy->frames.items) {
        hb_pace_window_clear(copy);
        free(copy);
        return NULL;
    }
    if (w->calls.count)
        memcpy(copy->calls.items, w->calls.items, w->calls.count * sizeof *w->calls.items);
    if (w->frames.count)
        memcpy(copy->frames.items, w->frames.items, w->frames.count * sizeof *w->frames.items);
    return copy;
}

void hb_pace_window_clear(hb_pace_window *w)
{
    free(w->calls.items);
    free(w->frames.items);
    *w = (hb_pace_window){0};
}

/* ---- as a trace ---- */

typedef struct window_source {
    hb_source base;
    hb_trace_info info;
    const hb_pace_window *window;
    hb_pass pass;
    uint32_t at;
    bool work; /* the next event is the work of the call before */
    char name[24];
} window_source;

static hb_result begin(hb_source *source, hb_pass pass)
{
    window_source *s = (window_source *)source;
    s->pass = pass;
    s->at = 0;
    s->work = false;
    return HB_OK;
}

static void name_call(window_source *s, hb_trace_event *e, const hb_pace_seen *seen)
{
    int n = seen->deed == HB_PACE_COPY ? snprintf(s->name, sizeof s->name, "transfer")
                                       : snprintf(s->name, sizeof s->name, "%" PRIx64, seen->key);
    e->name = (hb_str){s->name, (uint32_t)n};
}

static void make_call(window_source *s, hb_trace_event *e, const hb_pace_seen *seen)
{
    *e = (hb_trace_event){.kind = seen->deed == HB_PACE_WAIT ? HB_EVENT_SYNC : HB_EVENT_RUNTIME,
                          .start_ns = seen->start_ns,
                          .end_ns = seen->start_ns + 1,
                          .tid = seen->tid,
                          .device = -1,
                          .correlation = s->at + 1,
                          .runtime.launches = seen->deed != HB_PACE_WAIT,
                          .runtime.pcs = &s->window->frames.items[seen->frames],
                          .runtime.num_pcs = seen->num_frames};
    name_call(s, e, seen);
}

static void make_work(window_source *s, hb_trace_event *e, const hb_pace_seen *seen)
{
    bool copy = seen->deed == HB_PACE_COPY;
    *e = (hb_trace_event){.kind = copy ? HB_EVENT_MEMCPY : HB_EVENT_KERNEL,
                          .start_ns = seen->start_ns,
                          .end_ns = seen->start_ns + WORK_NS,
                          .device = 0,
                          .correlation = s->at + 1};
    if (copy) e->copy.kind = "DtoH";
    name_call(s, e, seen);
}

static bool next(hb_source *source, hb_trace_event *e)
{
    window_source *s = (window_source *)source;
    if (s->pass != HB_PASS_DEVICE || s->at >= s->window->calls.count) return false;
    const hb_pace_seen *seen = &s->window->calls.items[s->at];
    if (s->work)
        make_work(s, e, seen);
    else
        make_call(s, e, seen);
    bool has_work = seen->deed != HB_PACE_WAIT;
    s->at += s->work || !has_work;
    s->work = !s->work && has_work;
    return true;
}

static void close_nothing(hb_source *source)
{
    (void)source;
}

static window_source source_of(const hb_pace_window *w)
{
    window_source s = {.base = {NULL, begin, next, close_nothing}, .window = w};
    s.info.start_ns = w->calls.items[0].start_ns;
    s.info.stop_ns = w->calls.items[w->calls.count - 1].start_ns + 1;
    return s;
}

/* ---- the call that each step makes once ---- */

typedef struct made {
    uint64_t key;
    uint32_t step, at; /* step: index + 1; 0: outside */
} made;

static int by_key_and_place(const void *a, const void *b)
{
    const made *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* Those of the steps' thread, from the first step on; their number. */
static uint32_t list_calls(const hb_pace_window *w, const hb_found_steps *steps, made *list,
                           uint32_t *most)
{
    uint32_t n = 0, step = 0, calls = 0;
    for (uint32_t i = 0; i < w->calls.count; i++) {
        const hb_pace_seen *c = &w->calls.items[i];
        if (c->tid != steps->tid || c->start_ns < steps->items[0].start_ns) continue;
        while (step < steps->count && c->start_ns >= steps->items[step].end_ns)
            step++, calls = 0;
        bool inside = step < steps->count && c->start_ns >= steps->items[step].start_ns;
        list[n++] = (made){c->key, inside ? step + 1 : 0, i};
        calls++;
        if (step + 1 < steps->count) *most = HB_MAX(*most, calls); /* the last may reach further */
    }
    return n;
}

/* The last step may not have come to it yet. */
static bool is_once_in_each(const made *calls, uint32_t count, size_t steps)
{
    for (uint32_t i = 0; i < count; i++)
        if (calls[i].step != i + 1) return false;
    return count == steps || count + 1 == steps;
}

/* The earliest in a step. */
static const made *find_anchor(const made *list, uint32_t count, size_t steps)
{
    const made *best = NULL;
    for (uint32_t i = 0, n; i < count; i += n) {
        for (n = 1; i + n < count && list[i + n].key == list[i].key; n++) {
        }
        if (is_once_in_each(&list[i], n, steps) && (!best || list[i].at < best->at))
            best = &list[i];
    }
    return best;
}

static bool find_in(const hb_pace_window *w, const hb_found_steps *steps, hb_pace_anchor *anchor)
{
    made *list = malloc(w->calls.count * sizeof *list);
    if (!list) return false;
    anchor->calls = 1;
    uint32_t n = list_calls(w, steps, list, &anchor->calls);
    qsort(list, n, sizeof *list, by_key_and_place);
    const made *found = find_anchor(list, n, steps->count);
    if (found) {
        anchor->key = found->key;
        anchor->tid = steps->tid;
        anchor->steps = (int64_t)steps->count;
    }
    free(list);
    return found != NULL;
}

/* Names are addresses here, of which people learn nothing. */
static void tell(hb_found_steps *steps, hb_pace_anchor *anchor)
{
    hb_buf json;
    bool stacks = steps->method == HB_STEPS_STACKS;
    snprintf(steps->rule, sizeof steps->rule,
             "counted by the launch that each makes once, of %zu that were seen before by %s",
             steps->count, stacks ? "the call stacks of launches" : "the sequence of launches");
    hb_buf_init(&json, HB_PACE_TOLD_SIZE);
    hb_found_steps_tell(steps, &json);
    snprintf(anchor->told, sizeof anchor->told, "%s", json.failed ? "{}" : hb_buf_text(&json));
    hb_buf_free(&json);
}

bool hb_pace_find(const hb_pace_window *w, hb_pace_anchor *anchor)
{
    hb_found_steps steps;
    hb_step_wish wish = {.operators_are_calls = true};
    if (!w->calls.count) return false;
    window_source s = source_of(w);
    s.base.info = &s.info;
    if (hb_find_steps(&s.base, &wish, &steps) != HB_OK) return false;
    bool seen = steps.method == HB_STEPS_STACKS || steps.method == HB_STEPS_SEQUENCE;
    bool found = seen && steps.count >= STEPS_LEAST && find_in(w, &steps, anchor);
    if (found) tell(&steps, anchor);
    hb_found_steps_free(&steps);
    return found;
}
