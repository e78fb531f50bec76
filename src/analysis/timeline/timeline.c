/* SPDX-License-Identifier: MIT */
#include "timeline/timeline.h"

#include <stdlib.h>

enum { FAN_SHIFT = 4, FAN = 1 << FAN_SHIFT }; /* slices, or nodes, below a node of the tree */

typedef struct making {
    hb_timeline *t;
    uint32_t *counts; /* of slices, by track_of() */
    hb_dict names;    /* text and kind -> index of names */
} making;

static bool is_drawn(const hb_trace *trace, const hb_row *row)
{
    return (row->flags & HB_ROW_COMPLETE) && hb_row_is_timed(trace, row);
}

/* A device's annotations cross its work, and stand in a track of their own behind it. */
static uint32_t track_of(const hb_trace *trace, const hb_row *row)
{
    return 2 * row->track + hb_row_is_of(trace, row, HB_CATEGORY_GPU_USER_ANNOTATION);
}

static uint32_t name_of(making *m, const hb_row *row)
{
    bool added;
    uint64_t key = (uint64_t)row->name << 8 | row->kind;
    hb_dict_entry *e = hb_dict_add(&m->t->arena, &m->names, key, &added);
    if (!added) return e->value;
    bool step = hb_row_is_step(m->t->trace, row);
    e->value = m->t->names.count;
    *HB_PUSH(&m->t->arena, &m->t->names) = (hb_slice_name){row->name, row->kind, step};
    return e->value;
}

/* ---- slices, track after track, by time ---- */

void hb_timeline_span(const hb_trace *trace, int64_t *start, int64_t *end)
{
    bool first = true;
    *start = *end = 0;
    for (uint32_t i = 0; i < trace->rows.count; i++) {
        const hb_row *row = hb_trace_row(trace, i);
        if (!is_drawn(trace, row)) continue;
        *start = first ? row->start : HB_MIN(*start, row->start);
        *end = first ? hb_row_end(row) : HB_MAX(*end, hb_row_end(row));
        first = false;
    }
}

static void count_slices(making *m)
{
    hb_timeline *t = m->t;
    hb_timeline_span(t->trace, &t->start, &t->end);
    for (uint32_t i = 0; i < t->trace->rows.count; i++) {
        const hb_row *row = hb_trace_row(t->trace, i);
        if (!is_drawn(t->trace, row)) continue;
        m->counts[track_of(t->trace, row)]++;
        t->num_slices++;
    }
}

static void place_slices(making *m, uint32_t *next)
{
    hb_timeline *t = m->t;
    for (uint32_t i = 0; i < t->trace->rows.count; i++) {
        const hb_row *row = hb_trace_row(t->trace, i);
        if (!is_drawn(t->trace, row)) continue;
        t->slices[next[track_of(t->trace, row)]++] =
            (hb_slice){row->start - t->start, hb_row_end(row) - t->start, i, name_of(m, row)};
    }
}

static int by_start(const void *x, const void *y)
{
    const hb_slice *a = x, *b = y;
    if (a->start != b->start) return a->start < b->start ? -1 : 1;
    if (a->end != b->end) return a->end > b->end ? -1 : 1;
    return a->row < b->row ? -1 : a->row > b->row;
}

/* Writers' order is often by time already. */
static void sort_slices(hb_slice *slices, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++)
        if (by_start(&slices[i - 1], &slices[i]) > 0) {
            qsort(slices, count, sizeof *slices, by_start);
            return;
        }
}

/* ---- lanes ---- */

typedef struct lane_ends {
    int64_t *items; /* when the last slice of each lane ends */
    uint32_t count, capacity;
    uint32_t *counts; /* of its slices */
    uint32_t counts_count, counts_capacity;
} lane_ends;

static void add_lane(hb_arena *arena, lane_ends *lanes)
{
    lanes->items =
        hb_arena_grow(arena, lanes->items, lanes->count, &lanes->capacity, sizeof(int64_t));
    lanes->counts = hb_arena_grow(arena, lanes->counts, lanes->count, &lanes->counts_capacity,
                                  sizeof(uint32_t));
    lanes->items[lanes->count] = INT64_MIN;
    lanes->counts[lanes->count++] = 0;
}

/* Below all that it lies in; there the first lane that is free, as what it crosses takes one too.
 * `open`: lanes that may not be; above it all are free. */
static uint32_t lane_of(hb_arena *arena, lane_ends *lanes, uint32_t *open, const hb_slice *s)
{
    uint32_t lane = 0;
    while (*open && lanes->items[*open - 1] <= s->start)
        --*open;
    for (uint32_t i = 0; i < *open; i++)
        if (lanes->items[i] > s->start && lanes->items[i] >= s->end) lane = i + 1;
    while (lane < *open && lanes->items[lane] > s->start)
        lane++;
    if (lane == lanes->count) add_lane(arena, lanes);
    lanes->items[lane] = s->end;
    lanes->counts[lane]++;
    *open = HB_MAX(*open, lane + 1);
    return lane;
}

static int64_t length(const hb_slice *s)
{
    return s->end - s->start;
}

static hb_longest node_of(const hb_slice *s, uint32_t i)
{
    int64_t ns = length(&s[i]);
    return (hb_longest){i, ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX};
}

static bool is_longer(const hb_slice *s, hb_longest a, hb_longest b)
{
    if (a.ns != b.ns) return a.ns > b.ns;
    return a.ns == UINT32_MAX && length(&s[a.slice]) > length(&s[b.slice]);
}

/* Each level of the tree behind the one that it is made of. */
static void plant(hb_timeline *t, hb_lane *lane)
{
    const hb_slice *s = t->slices + lane->first;
    uint32_t nodes = 0;
    for (uint32_t n = lane->count; n > 1;)
        nodes += n = (n + FAN - 1) >> FAN_SHIFT;
    lane->longest = HB_NEW_ARRAY(&t->arena, hb_longest, nodes + 1);
    hb_longest *level = NULL, *to = lane->longest;
    for (uint32_t n = lane->count; n > 1;) {
        uint32_t above = (n + FAN - 1) >> FAN_SHIFT;
        for (uint32_t i = 0; i < above; i++) {
            uint32_t first = i << FAN_SHIFT;
            hb_longest best = level ? level[first] : node_of(s, first);
            for (uint32_t k = first + 1; k < n && k < first + FAN; k++) {
                hb_longest other = level ? level[k] : node_of(s, k);
                if (is_longer(s, other, best)) best = other;
            }
            to[i] = best;
        }
        level = to;
        to += above;
        n = above;
    }
}

/* Stable by lane: within one they stay in order of time. `scratch` has room for them all. */
static void add_track(hb_timeline *t, hb_timeline_track *track, hb_slice *slices, uint32_t count,
                      hb_slice *scratch, uint32_t *lane_at)
{
    lane_ends lanes = {0};
    uint32_t open = 0;
    for (uint32_t i = 0; i < count; i++)
        lane_at[i] = lane_of(&t->arena, &lanes, &open, &slices[i]);
    track->first_lane = t->lanes.count;
    track->num_lanes = lanes.count;
    track->slices = count;
    uint32_t first = (uint32_t)(slices - t->slices);
    uint32_t *next = HB_NEW_ARRAY(&t->arena, uint32_t, lanes.count + 1);
    for (uint32_t i = 0; i < lanes.count; i++) {
        *HB_PUSH(&t->arena, &t->lanes) = (hb_lane){first, lanes.counts[i], NULL};
        next[i] = first - (uint32_t)(slices - t->slices);
        first += lanes.counts[i];
    }
    for (uint32_t i = 0; i < count; i++)
        scratch[next[lane_at[i]]++] = slices[i];
    if (count) memcpy(slices, scratch, count * sizeof *slices);
    for (uint32_t i = 0; i < lanes.count; i++)
        plant(t, &t->lanes.items[track->first_lane + i]);
}

/* ---- tracks ---- */

static hb_track_kind kind_of(const hb_timeline *t, const hb_slice *slices, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const hb_row *row = hb_trace_row(t->trace, slices[i].row);
        if (hb_row_is_work(row)) return HB_TRACK_STREAM;
        if (hb_row_is_of(t->trace, row, HB_CATEGORY_GPU_USER_ANNOTATION))
            return HB_TRACK_ANNOTATION;
    }
    return HB_TRACK_THREAD;
}

static bool has_step(const hb_timeline *t, const hb_timeline_track *track)
{
    const hb_lane *lane = &t->lanes.items[track->first_lane];
    for (uint32_t i = 0; i < track->num_lanes && i < 2; i++)
        for (uint32_t k = 0; k < lane[i].count; k++)
            if (t->names.items[t->slices[lane[i].first + k].name].step) return true;
    return false;
}

/* Threads that run steps, other threads, devices; within them the file's order. */
static void order_tracks(hb_timeline *t)
{
    uint32_t n = t->tracks.count, at = 0;
    hb_timeline_track *sorted = HB_NEW_ARRAY(&t->arena, hb_timeline_track, n + 1);
    for (int place = 0; place < 3; place++)
        for (uint32_t i = 0; i < n; i++) {
            const hb_timeline_track *track = &t->tracks.items[i];
            int wanted = track->kind == HB_TRACK_THREAD ? !has_step(t, track) : 2;
            if (wanted == place) sorted[at++] = *track;
        }
    t->tracks.items = sorted;
}

static void make(making *m)
{
    hb_timeline *t = m->t;
    uint32_t tracks = 2 * t->trace->tracks.items.count, at = 0, most = 0;
    m->counts = HB_NEW_ARRAY(&t->arena, uint32_t, tracks + 1);
    uint32_t *next = HB_NEW_ARRAY(&t->arena, uint32_t, tracks + 1);
    count_slices(m);
    t->slices = HB_NEW_ARRAY(&t->arena, hb_slice, t->num_slices + 1);
    for (uint32_t i = 0; i < tracks; i++) {
        next[i] = at;
        at += m->counts[i];
        most = HB_MAX(most, m->counts[i]);
    }
    place_slices(m, next);
    hb_slice *scratch = HB_NEW_ARRAY(&t->arena, hb_slice, most + 1);
    uint32_t *lane_at = HB_NEW_ARRAY(&t->arena, uint32_t, most + 1);
    for (uint32_t i = 0; i < tracks; i++) {
        uint32_t count = m->counts[i];
        hb_slice *slices = t->slices + next[i] - count;
        const hb_track *from = hb_column_at(&t->trace->tracks.items, i / 2);
        if (!count) continue;
        sort_slices(slices, count);
        hb_timeline_track *track = HB_PUSH(&t->arena, &t->tracks);
        *track = (hb_timeline_track){kind_of(t, slices, count), from->pid, from->tid, 0, 0, 0};
        add_track(t, track, slices, count, scratch, lane_at);
    }
    order_tracks(t);
}

hb_result hb_timeline_make(hb_timeline *timeline, const hb_trace *trace)
{
    *timeline = (hb_timeline){.trace = trace};
    making m = {.t = timeline};
    if (hb_arena_try(&timeline->arena)) make(&m);
    return hb_arena_outcome(&timeline->arena);
}

void hb_timeline_free(hb_timeline *timeline)
{
    hb_arena_free(&timeline->arena);
    *timeline = (hb_timeline){0};
}

/* ---- windows ---- */

/* The longest of slices [from, to), to > from; of equal ones the first. */
static uint32_t longest_of(const hb_slice *s, const hb_lane *lane, uint32_t from, uint32_t to)
{
    uint32_t n = lane->count, low = from, high = to;
    const hb_longest *level = NULL, *above = lane->longest;
    hb_longest best = node_of(s, from);
    while (low < high) {
        for (; low < high && (low & (FAN - 1)); low++) {
            hb_longest other = level ? level[low] : node_of(s, low);
            if (is_longer(s, other, best)) best = other;
        }
        for (; low < high && (high & (FAN - 1)); high--) {
            hb_longest other = level ? level[high - 1] : node_of(s, high - 1);
            if (is_longer(s, other, best)) best = other;
        }
        low >>= FAN_SHIFT;
        high >>= FAN_SHIFT;
        level = above;
        n = (n + FAN - 1) >> FAN_SHIFT;
        above += n;
    }
    return best.slice;
}

/* The first of slices [at, count) that begins at `time` or later. Few are looked at when it is
 * about `near` behind: cells hold about as many as the last one did. */
static uint32_t gallop(const hb_slice *s, uint32_t at, uint32_t count, int64_t time, uint32_t near)
{
    uint32_t low = at, high = count, step = near / 8 + 1;
    uint32_t guess = near < count - at ? at + near : count;
    /* Where the cell behind is likely to end: it comes from memory while this one is drawn. */
    if (near < count - guess) __builtin_prefetch(&s[guess + near]);
    if (guess < count && s[guess].start < time) {
        for (low = guess + 1; low < count && s[low].start < time; step *= 2) {
            guess = low;
            low = step < count - low ? low + step : count;
        }
        high = low;
        low = guess + 1;
    } else {
        high = guess;
        for (uint32_t back = guess; back > at; step *= 2) {
            back = back - at > step ? back - step : at;
            if (s[back].start < time) {
                low = back + 1;
                break;
            }
            high = back;
        }
    }
    return low + (uint32_t)HB_LOWER_BOUND(s + low, high - low, start, time);
}

void hb_lane_draw(const hb_timeline *timeline, const hb_lane *lane, int64_t from, int64_t to,
                  int64_t cell, void (*fn)(void *context, const hb_drawn *drawn), void *context)
{
    const hb_slice *s = timeline->slices + lane->first;
    uint32_t i = (uint32_t)HB_LOWER_BOUND(s, lane->count, end, from), near = 0;
    while (i < lane->count && s[i].start < to) {
        uint32_t next = i + 1;
        if (cell > 0 && length(&s[i]) < cell) {
            next = gallop(s, i + 1, lane->count, (s[i].start / cell + 1) * cell, near);
            near = next - i - 1;
        }
        /* What outlasts the cell, begun within it, stands for itself. */
        if (next > i + 1 && length(&s[next - 1]) >= cell) next--;
        const hb_slice *longest = &s[next > i + 1 ? longest_of(s, lane, i, next) : i];
        fn(context, &(hb_drawn){s[i].start, s[next - 1].end, next - i, longest});
        i = next;
    }
}
