/* SPDX-License-Identifier: MIT
 *
 * How large a file becomes is known when it is written: one that is too large is written again, of
 * less, and what was learned from it holds for the following ones.
 */
#include "export/split_export.h"

#include <math.h>
#include <stdio.h>

#include "base/hash_map.h"
#include "export/event_facts.h"
#include "export/select_events.h"
#include "rules/name_class.h"
#include "trace/cuts.h"

enum { STRETCHES = 1 << 15, MOST_FILES = 9999 };

/* The steps of a process, by their numbers. */
typedef struct steps {
    hb_dict index; /* number to one of `starts` */
    HB_VEC(int64_t) starts;
} steps;

typedef struct plan {
    hb_split *split;
    int64_t first, last; /* times of the first and the last event */
    double width;        /* of a stretch */
    HB_VEC(hb_cut_place) places;
    steps *steps;      /* of each process */
    const steps *lead; /* those of the places */
    hb_dict numbers;   /* start of a step of `lead` to one of `starts` */
    int64_t *open;     /* by how many more events are open in a stretch than in the one before */
    uint64_t common;   /* bytes of a file with next to nothing in it */
    double factor;     /* bytes written beyond that for each that was expected */
} plan;

bool hb_export_is_split(const hb_export_options *o)
{
    return o->max_size > 0 || o->split_steps > 0 || o->split_us > 0;
}

/* ---- events ---- */

static const hb_pass passes[] = {HB_PASS_TIMELINE, HB_PASS_MODULES, HB_PASS_SCALARS,
                                 HB_PASS_DEVICE};

static void begin(const plan *p, hb_source *source, hb_pass pass)
{
    hb_result result = source->begin(source, pass);
    if (result != HB_OK) hb_arena_leave(p->split->arena, result, "%s", hb_last_error());
}

typedef void visit_fn(plan *p, size_t process, const hb_trace_event *e);

static void visit_all(plan *p, visit_fn *visit)
{
    hb_trace_event e;
    for (size_t i = 0; i < p->split->num_sources; i++)
        for (size_t k = 0; k < HB_ARRAY_LEN(passes); k++) {
            hb_source *source = p->split->sources[i];
            begin(p, source, passes[k]);
            while (source->next(source, &e))
                visit(p, i, &e);
        }
}

static bool is_scope(const hb_trace_event *e)
{
    return e->kind == HB_EVENT_OP || e->kind == HB_EVENT_USER_ANNOTATION;
}

static bool is_on_host(const hb_trace_event *e)
{
    return is_scope(e) || e->kind == HB_EVENT_RUNTIME || e->kind == HB_EVENT_SYNC ||
           e->kind == HB_EVENT_MODULE;
}

/* ---- places ---- */

/* Times are counted from the first one, so that they are exact. */
static double since(const plan *p, int64_t time)
{
    return (double)(time - p->first);
}

static void add_place(plan *p, double at, hb_cut_kind kind)
{
    *HB_PUSH(p->split->arena, &p->places) = (hb_cut_place){.at = ceil(at), .kind = kind};
}

static void note_step(plan *p, steps *s, const hb_trace_event *e)
{
    bool added;
    uint64_t number = (uint64_t)hb_step_number_of(e->name);
    hb_dict_entry *entry = hb_dict_add(p->split->arena, &s->index, number, &added);
    if (!added) return;
    entry->value = s->starts.count;
    *HB_PUSH(p->split->arena, &s->starts) = e->start_ns;
}

static void note_time(plan *p, size_t process, const hb_trace_event *e)
{
    int64_t when = hb_selection_time(p->split->sources[process], e);
    p->first = HB_MIN(p->first, when);
    p->last = HB_MAX(p->last, when);
    if (hb_event_is_step(e)) note_step(p, &p->steps[process], e);
}

/* Of all processes those with the most; a cut is at the step of the same number in each. One alone
 * may be made up, and is no place to cut at. */
static void add_steps(plan *p)
{
    p->lead = &p->steps[0];
    for (size_t i = 1; i < p->split->num_sources; i++)
        if (p->steps[i].starts.count > p->lead->starts.count) p->lead = &p->steps[i];
    if (p->lead->starts.count < 2) return;
    for (uint32_t i = 0; i < p->lead->starts.count; i++) {
        hb_dict_set(p->split->arena, &p->numbers, (uint64_t)p->lead->starts.items[i], i);
        add_place(p, since(p, p->lead->starts.items[i]), HB_CUT_STEP);
    }
}

static void add_times(plan *p)
{
    double ns = p->split->options->split_us * 1e3, files = since(p, p->last) / ns;
    if (!(ns > 0)) return;
    if (files >= MOST_FILES)
        hb_arena_leave(p->split->arena, HB_ERROR_LIMIT,
                       "%s: would become %.0f files: split it by longer times", p->split->output,
                       files);
    for (double k = 0; k <= files; k++)
        add_place(p, k * ns, HB_CUT_TIME);
}

static size_t stretch_of(const plan *p, int64_t time)
{
    double n = since(p, time) / p->width;
    return n > STRETCHES - 1 ? STRETCHES - 1 : n > 0 ? (size_t)n : 0;
}

static void note_open(plan *p, size_t process, const hb_trace_event *e)
{
    (void)process;
    if (!is_on_host(e) || (is_scope(e) && hb_is_made_up(e))) return;
    p->open[stretch_of(p, e->start_ns) + 1]++;
    p->open[stretch_of(p, e->end_ns) + 1]--;
}

/* A pause where nothing lies open on the host. */
static void add_stretches(plan *p)
{
    int64_t depth = 0;
    p->width = HB_MAX(since(p, p->last) / STRETCHES, 1);
    p->open = hb_arena_alloc(p->split->arena, (STRETCHES + 1) * sizeof *p->open);
    visit_all(p, note_open);
    for (size_t i = 0; i < STRETCHES; i++) {
        depth += p->open[i];
        add_place(p, (double)i * p->width, depth ? HB_CUT_ANYWHERE : HB_CUT_PAUSE);
    }
}

static uint64_t expected_size(const plan *p, const hb_trace_event *e)
{
    switch (p->split->options->format) {
    case HB_EXPORT_CSV: return 150 + (uint64_t)e->name.len;
    case HB_EXPORT_ROCPD: return 150;
    default: return 60;
    }
}

static void note_size(plan *p, size_t process, const hb_trace_event *e)
{
    int64_t when = hb_selection_time(p->split->sources[process], e);
    size_t at = hb_cut_place_of(p->places.items, p->places.count, since(p, when));
    p->places.items[at].size += expected_size(p, e);
}

static void find_places(plan *p)
{
    const hb_export_options *o = p->split->options;
    p->first = INT64_MAX;
    p->last = INT64_MIN;
    visit_all(p, note_time);
    if (p->first > p->last) p->first = p->last = 0;
    add_steps(p);
    if (o->split_steps && !p->lead->starts.count)
        hb_arena_leave(p->split->arena, HB_ERROR_NOT_FOUND, "there are no steps to be split by");
    add_times(p);
    if (o->max_size) add_stretches(p);
    if (!p->places.count) add_place(p, 0, HB_CUT_ANYWHERE);
    hb_sort_cut_places(p->places.items, p->places.count);
    visit_all(p, note_size);
}

/* ---- files ---- */

/* "trace.0001.pftrace"; of directories "tables.0001". */
static const char *path_of(const plan *p, size_t number)
{
    const char *output = p->split->output, *slash = strrchr(output, '/');
    const char *dot = strrchr(slash ? slash : output, '.');
    size_t all = strlen(output), stem = all, size = all + 8;
    if (dot && p->split->options->format != HB_EXPORT_CSV) stem = (size_t)(dot - output);
    char *path = hb_arena_alloc(p->split->arena, size);
    snprintf(path, size, "%.*s.%04zu%s", (int)stem, output, number, output + stem);
    return path;
}

static int64_t time_at(const plan *p, size_t process, size_t place)
{
    const hb_cut_place *at = &p->places.items[place];
    int64_t time = p->first + (int64_t)at->at;
    if (at->kind != HB_CUT_STEP) return time;
    const hb_dict_entry *lead = hb_dict_get(&p->numbers, (uint64_t)time);
    const steps *own = &p->steps[process];
    if (!lead || !own->starts.count) return time;
    const hb_dict_entry *same =
        hb_dict_get(&own->index, p->lead->index.entries.items[lead->value].key);
    return same ? own->starts.items[same->value] : time;
}

static void move_all(const plan *p, size_t from, size_t until)
{
    for (size_t i = 0; i < p->split->num_sources; i++)
        hb_move_selection(p->split->sources[i], from ? time_at(p, i, from) : INT64_MIN,
                          until < p->places.count ? time_at(p, i, until) : INT64_MAX);
}

static bool has_events(const plan *p, hb_source *source)
{
    hb_trace_event e;
    for (size_t k = 0; k < HB_ARRAY_LEN(passes); k++) {
        begin(p, source, passes[k]);
        if (source->next(source, &e)) return true;
    }
    return false;
}

static hb_result add_processes(const plan *p, hb_exporter *exporter, hb_export_counts *counts)
{
    for (size_t i = 0; i < p->split->num_sources; i++) {
        hb_source *source = p->split->sources[i];
        if (!has_events(p, source)) continue;
        HB_TRY(exporter->add(exporter, source, counts));
        counts->notes[HB_EXPORT_CROSSING] += hb_selection_crossing(source);
    }
    return HB_OK;
}

static void add_counts(hb_export_counts *to, const hb_export_counts *counts)
{
    to->events += counts->events;
    for (size_t i = 0; i < HB_EXPORT_NOTE_COUNT; i++)
        to->notes[i] += counts->notes[i];
}

typedef struct written {
    uint64_t size;
    bool is_empty, is_kept;
} written;

/* Kept when it has something in it, and no more bytes than `most`. */
static hb_result write_file(plan *p, const char *path, uint64_t most, written *w)
{
    hb_exporter *exporter;
    hb_export_counts counts = {0};
    HB_TRY(p->split->open(path, p->split->options, &exporter));
    hb_result result = add_processes(p, exporter, &counts);
    *w = (written){.size = result == HB_OK ? exporter->size(exporter) : 0};
    w->is_empty = counts.events == 0;
    w->is_kept = result == HB_OK && !w->is_empty && w->size <= most;
    if (w->is_kept) result = exporter->finish(exporter);
    exporter->close(exporter);
    if (w->is_kept && result == HB_OK) add_counts(&p->split->counts, &counts);
    return result;
}

static uint64_t expected(const plan *p, size_t from, size_t until)
{
    uint64_t size = 0;
    for (size_t i = from; i < until; i++)
        size += p->places.items[i].size;
    return size;
}

static size_t next_cut(const plan *p, size_t from)
{
    const hb_export_options *o = p->split->options;
    double room = (double)o->max_size - (double)p->common;
    uint64_t most = o->max_size ? (uint64_t)HB_MAX(room / p->factor, 1) : 0;
    hb_cut_rule rule = {most, 0, o->split_steps};
    return hb_next_cut(p->places.items, p->places.count, from, &rule);
}

/* What was written tells how much each event takes. */
static void learn(plan *p, uint64_t size, size_t from, size_t until)
{
    double own = (double)size - (double)p->common;
    p->factor = 1.05 * HB_MAX(own, 1) / (double)HB_MAX(expected(p, from, until), 1);
}

/* Returns where it ends. */
static size_t write_from(plan *p, size_t from)
{
    size_t until = next_cut(p, from), number = p->split->paths.count + 1;
    const char *path = path_of(p, number);
    if (!expected(p, from, until)) return until;
    if (number > MOST_FILES)
        hb_arena_leave(p->split->arena, HB_ERROR_LIMIT, "%s: would become over %d files",
                       p->split->output, MOST_FILES);
    written w = {0};
    while (!w.is_kept) {
        uint64_t max = p->split->options->max_size;
        uint64_t most = max && until > from + 1 ? max : UINT64_MAX;
        move_all(p, from, until);
        hb_result result = write_file(p, path, most, &w);
        if (result != HB_OK) hb_arena_leave(p->split->arena, result, "%s", hb_last_error());
        if (w.is_empty) return until;
        learn(p, w.size, from, until);
        if (!w.is_kept) until = HB_MIN(next_cut(p, from), until - 1);
    }
    *HB_PUSH(p->split->arena, &p->split->paths) = path;
    return until;
}

/* What a file takes that has one event. */
static void measure(plan *p)
{
    hb_exporter *exporter;
    hb_export_counts counts = {0};
    uint64_t max = p->split->options->max_size;
    if (!max) return;
    for (size_t i = 0; i < p->split->num_sources; i++)
        hb_move_selection(p->split->sources[i], p->first, p->first + 1);
    hb_result result = p->split->open(path_of(p, 1), p->split->options, &exporter);
    if (result == HB_OK) {
        result = add_processes(p, exporter, &counts);
        if (result == HB_OK) p->common = exporter->size(exporter);
        exporter->close(exporter);
    }
    if (result != HB_OK) hb_arena_leave(p->split->arena, result, "%s", hb_last_error());
    if (p->common >= max)
        hb_arena_leave(p->split->arena, HB_ERROR_LIMIT,
                       "%s: a file with one event takes %llu bytes: split it into larger ones",
                       p->split->output, (unsigned long long)p->common);
}

void hb_write_split(hb_split *split)
{
    plan p = {.split = split, .factor = 1};
    p.steps = hb_arena_alloc(split->arena, split->num_sources * sizeof *p.steps);
    find_places(&p);
    measure(&p);
    for (size_t at = 0; at < p.places.count;)
        at = write_from(&p, at);
}
