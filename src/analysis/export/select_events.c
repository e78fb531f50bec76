/* SPDX-License-Identifier: MIT */
#include "export/select_events.h"

#include <stdlib.h>

#include "base/hash_map.h"
#include "rules/name_class.h"

typedef struct selected {
    hb_source base;
    hb_trace_info info;
    hb_source *inner;
    int64_t chosen_from, chosen_until; /* of the whole choice */
    int64_t from, until;
    hb_arena arena;
    hb_dict calls; /* correlation to an index of `times` */
    HB_VEC(int64_t) times;
    uint64_t crossing[HB_PASS_TIMELINE + 1]; /* found in each pass */
    hb_pass pass;
} selected;

static selected *self(hb_source *source)
{
    return (selected *)source;
}

static bool is_inside(const selected *s, int64_t time)
{
    return time >= s->from && time < s->until;
}

static bool is_call(const hb_trace_event *e)
{
    return e->kind == HB_EVENT_RUNTIME || e->kind == HB_EVENT_SYNC;
}

static bool is_work(const hb_trace_event *e)
{
    return e->kind == HB_EVENT_KERNEL || e->kind == HB_EVENT_MEMCPY || e->kind == HB_EVENT_MEMSET;
}

int64_t hb_selection_time(hb_source *source, const hb_trace_event *e)
{
    const selected *s = self(source);
    if (!is_work(e) || (e->flags & HB_TEV_NO_CALL) || !e->correlation) return e->start_ns;
    const hb_dict_entry *entry =
        s->calls.slots.size ? hb_dict_get(&s->calls, e->correlation) : NULL;
    return entry ? s->times.items[entry->value] : e->start_ns;
}

uint64_t hb_selection_crossing(hb_source *source)
{
    const uint64_t *c = self(source)->crossing;
    return HB_MAX(c[HB_PASS_HOST], c[HB_PASS_TIMELINE]) + c[HB_PASS_MODULES] + c[HB_PASS_DEVICE];
}

static hb_result begin(hb_source *source, hb_pass pass)
{
    self(source)->pass = pass;
    self(source)->crossing[pass] = 0;
    return self(source)->inner->begin(self(source)->inner, pass);
}

/* Steps that were found are stretches of time; they reach to the next one's beginning. */
static bool reaches_beyond(const selected *s, const hb_trace_event *e)
{
    bool lasts = e->kind != HB_EVENT_MEMORY && !is_work(e) && e->end_ns > s->until;
    return lasts && s->until != INT64_MAX && !hb_is_step(e->name);
}

static bool next(hb_source *source, hb_trace_event *e)
{
    selected *s = self(source);
    while (s->inner->next(s->inner, e)) {
        if (!is_inside(s, hb_selection_time(source, e))) continue;
        s->crossing[s->pass] += reaches_beyond(s, e);
        return true;
    }
    return false;
}

static void source_close(hb_source *source)
{
    selected *s = self(source);
    if (s->inner) s->inner->close(s->inner);
    hb_arena_free(&s->arena);
    free(s);
}

/* ---- what is chosen ---- */

static void begin_inner(selected *s, hb_pass pass)
{
    hb_result result = s->inner->begin(s->inner, pass);
    if (result != HB_OK) hb_arena_leave(&s->arena, result, "%s", hb_last_error());
}

static void find_steps(selected *s, const hb_event_choice *choice)
{
    hb_trace_event e;
    bool found = false;
    begin_inner(s, HB_PASS_TIMELINE);
    s->from = INT64_MAX;
    s->until = INT64_MIN;
    while (s->inner->next(s->inner, &e)) {
        if (!hb_event_is_step(&e)) continue;
        int64_t number = hb_step_number_of(e.name);
        if (number < choice->first_step || number > choice->last_step) continue;
        s->from = HB_MIN(s->from, e.start_ns);
        s->until = HB_MAX(s->until, HB_MAX(e.end_ns, e.start_ns + 1));
        found = true;
    }
    if (!found) hb_arena_leave(&s->arena, HB_ERROR_NOT_FOUND, "no step of those asked for");
}

static int64_t after(int64_t start, double us)
{
    return us < 9e15 ? start + (int64_t)(us * 1e3) : INT64_MAX;
}

static void choose(selected *s, const hb_event_choice *choice)
{
    hb_trace_event e;
    bool steps = choice->first_step != INT64_MIN || choice->last_step != INT64_MAX;
    int64_t start = s->inner->info->start_ns;
    s->from = INT64_MIN;
    s->until = INT64_MAX;
    if (steps) find_steps(s, choice);
    if (choice->start_us > 0) s->from = HB_MAX(s->from, after(start, choice->start_us));
    if (choice->end_us > 0) s->until = HB_MIN(s->until, after(start, choice->end_us));
    s->chosen_from = s->from;
    s->chosen_until = s->until;
    begin_inner(s, HB_PASS_DEVICE);
    while (s->inner->next(s->inner, &e)) {
        if (!is_call(&e) || !e.correlation) continue;
        hb_dict_set(&s->arena, &s->calls, e.correlation, s->times.count);
        *HB_PUSH(&s->arena, &s->times) = e.start_ns;
    }
}

static hb_result try_to_choose(selected *s, const hb_event_choice *choice)
{
    if (hb_arena_try(&s->arena)) choose(s, choice);
    return hb_arena_outcome(&s->arena);
}

static void set_window(selected *s, int64_t from, int64_t until)
{
    s->from = HB_MAX(s->chosen_from, from);
    s->until = HB_MIN(s->chosen_until, until);
    s->info.start_ns = HB_MAX(s->inner->info->start_ns, s->from);
    s->info.stop_ns = HB_MAX(HB_MIN(s->inner->info->stop_ns, s->until), s->info.start_ns);
}

void hb_move_selection(hb_source *source, int64_t from, int64_t until)
{
    set_window(self(source), from, until);
}

hb_result hb_select_events(hb_source **source, const hb_event_choice *choice, bool movable)
{
    bool all = choice->first_step == INT64_MIN && choice->last_step == INT64_MAX &&
               choice->start_us <= 0 && choice->end_us <= 0;
    if (all && !movable) return HB_OK;
    selected *s = calloc(1, sizeof *s);
    if (!s) return hb_no_memory();
    s->base = (hb_source){&s->info, begin, next, source_close};
    s->info = *(*source)->info;
    s->inner = *source;
    hb_result result = try_to_choose(s, choice);
    if (result != HB_OK) {
        s->inner = NULL; /* it stays the caller's */
        source_close(&s->base);
        return result;
    }
    set_window(s, INT64_MIN, INT64_MAX);
    *source = &s->base;
    return HB_OK;
}
