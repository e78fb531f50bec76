/* SPDX-License-Identifier: MIT */
#include "timeline/curves.h"

#include <math.h>
#include <stdlib.h>

#include "base/json_members.h"
#include "base/names.h"

typedef struct making {
    hb_curves *c;
    const hb_timeline *t;
    hb_names names;
    hb_dict known; /* name and whose it is: index of the list */
    const hb_row *row;
} making;

/* ---- curves ---- */

/* The curve of that name and process; made when it is new. */
static hb_curve *get_curve(making *m, const hb_buf *name, uint32_t whose)
{
    hb_arena *arena = &m->c->arena;
    uint32_t id = hb_names_add(arena, &m->names, (hb_str){name->data, (uint32_t)name->size});
    uint32_t i = hb_pair_number(arena, &m->known, id, whose);
    if (i == m->c->list.count)
        *HB_PUSH(arena, &m->c->list) = (hb_curve){.name = m->names.items.items[id], .whose = whose};
    return &m->c->list.items[i];
}

static void add_point(making *m, hb_curve *counter, double value)
{
    if (!isfinite(value)) return;
    *HB_PUSH(&m->c->arena, &counter->points) = (hb_curve_point){m->row->start - m->t->start, value};
}

/* ---- counters ---- */

static uint32_t pid_of(const making *m)
{
    const hb_track *track = hb_column_at(&m->t->trace->tracks.items, m->row->track);
    return track->pid;
}

/* A curve is called as the counter, and as its member where that tells more. */
static bool add_member(void *context, const hb_value *key, const hb_value *value)
{
    making *m = context;
    hb_str name = hb_trace_text(m->t->trace, m->row->name);
    bool more = !(key->size == 5 && memcmp(key->s, "value", 5) == 0) &&
                !(key->size == name.len && memcmp(key->s, name.s, name.len) == 0);
    if (value->type != HB_JSON_INT && value->type != HB_JSON_FLOAT) return true;
    hb_buf text;
    hb_buf_init(&text, SIZE_MAX / 2);
    hb_buf_append(&text, name.s, name.len);
    if (more) hb_buf_str(&text, ", ");
    if (more) hb_buf_append(&text, key->s, key->size);
    add_point(m, get_curve(m, &text, pid_of(m)), hb_value_double(value));
    hb_buf_free(&text);
    return true;
}

static void add_memory(making *m)
{
    const hb_memory_row *side = hb_column_at(&m->t->trace->memory, m->row->extra);
    if (side->allocated_state != HB_NUMBER_INT && side->allocated_state != HB_NUMBER_FLOAT) return;
    bool host = side->device_type == 0;
    hb_buf text;
    hb_buf_init(&text, 64);
    hb_buf_str(&text, host ? "Memory, CPU" : "Memory, GPU");
    hb_curve *curve = get_curve(m, &text, host ? 0 : side->device);
    curve->bytes = true;
    add_point(m, curve, side->allocated);
    hb_buf_free(&text);
}

static int by_time(const void *x, const void *y)
{
    const hb_curve_point *a = x, *b = y;
    return (a->time > b->time) - (a->time < b->time);
}

/* Where it is not in order anyway: qsort() may turn equal ones round. */
static void sort(hb_curve *counter)
{
    for (uint32_t i = 1; i < counter->points.count; i++)
        if (by_time(&counter->points.items[i - 1], &counter->points.items[i]) > 0) {
            qsort(counter->points.items, counter->points.count, sizeof(hb_curve_point), by_time);
            return;
        }
}

static void make(making *m)
{
    const hb_trace *trace = m->t->trace;
    for (uint32_t i = 0; i < trace->rows.count; i++) {
        const hb_row *row = m->row = hb_trace_row(trace, i);
        if (!(row->flags & HB_ROW_TS)) continue;
        if (row->kind == HB_KIND_MEMORY)
            add_memory(m);
        else if (hb_row_is_counter(row) && row->extra)
            hb_json_each_member(hb_trace_text(trace, row->extra), add_member, m);
    }
    for (uint32_t i = 0; i < m->c->list.count; i++)
        sort(&m->c->list.items[i]);
}

hb_result hb_curves_make(hb_curves *counters, const hb_timeline *timeline)
{
    *counters = (hb_curves){0};
    making m = {.c = counters, .t = timeline};
    if (hb_arena_try(&counters->arena)) make(&m);
    return hb_arena_outcome(&counters->arena);
}

void hb_curves_free(hb_curves *counters)
{
    hb_arena_free(&counters->arena);
    *counters = (hb_curves){0};
}

/* ---- windows ---- */

void hb_curve_draw(const hb_curve *counter, int64_t from, int64_t to, int64_t cell,
                   void (*fn)(void *context, const hb_drawn_points *drawn), void *context)
{
    const hb_curve_point *p = counter->points.items;
    uint32_t count = counter->points.count;
    uint32_t i = (uint32_t)HB_LOWER_BOUND(p, count, time, from);
    if (i > 0) i--;
    while (i < count && p[i].time < to) {
        hb_drawn_points drawn = {p[i].time, p[i].value, p[i].value, p[i].value};
        int64_t end = cell > 0 ? (p[i].time / cell + 1) * cell : p[i].time;
        for (i++; i < count && p[i].time < end && p[i].time < to; i++) {
            drawn.low = fmin(drawn.low, p[i].value);
            drawn.high = fmax(drawn.high, p[i].value);
            drawn.last = p[i].value;
        }
        fn(context, &drawn);
    }
}
