/* SPDX-License-Identifier: MIT */
#include "timeline/timeline.h"

#include <stdlib.h>

enum { FAN_SHIFT = 3, FAN = 1 << FAN_SHIFT }; /* slices, or nodes, below a node of the tree */

typedef struct making {
    hb_timeline *t;
    hb_arena scratch; /* what is not needed any more when it is made: as large as the slices */
    uint32_t *counts; /* of slices, by track_of() */
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

static uint32_t find_name(const hb_timeline *t, const hb_row *row)
{
    uint32_t i = t->by_text[row->name];
    while (i && t->names.items[i - 1].kind != row->kind)
        i = t->names.items[i - 1].next;
    return i;
}

static void add_name(making *m, const hb_row *row)
{
    hb_timeline *t = m->t;
    if (find_name(t, row)) return;
    hb_slice_name name = {row->name, t->by_text[row->name], row->kind,
                          hb_row_is_step(t->trace, row)};
    *HB_PUSH(&t->arena, &t->names) = name;
    t->by_text[row->name] = t->names.count;
}

static int64_t start_of(const hb_timeline *t, uint32_t row)
{
    return hb_trace_row(t->trace, row)->start - t->start;
}

static int64_t end_of(const hb_timeline *t, uint32_t row)
{
    return hb_row_end(hb_trace_row(t->trace, row)) - t->start;
}

hb_slice hb_slice_of(const hb_timeline *t, uint32_t row)
{
    const hb_row *r = hb_trace_row(t->trace, row);
    return (hb_slice){r->start - t->start, hb_row_end(r) - t->start, row, find_name(t, r) - 1};
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
        add_name(m, row);
        t->rows[next[track_of(t->trace, row)]++] = i;
    }
}

/* What begins together is called by the longer one. */
static bool by_start(const void *context, const void *x, const void *y)
{
    const hb_timeline *t = context;
    uint32_t i = *(const uint32_t *)x, k = *(const uint32_t *)y;
    const hb_row *a = hb_trace_row(t->trace, i), *b = hb_trace_row(t->trace, k);
    if (a->start != b->start) return a->start < b->start;
    if (a->duration != b->duration) return a->duration > b->duration;
    return i < k;
}

/* Writers' order is often by time already. */
static void sort_slices(making *m, uint32_t *rows, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++)
        if (by_start(m->t, &rows[i], &rows[i - 1])) {
            hb_sort(&m->scratch, rows, count, sizeof *rows, by_start, m->t);
            return;
        }
}

/* ---- lanes ---- */

/* When the last slice of each lane ends, as a tree of the least and the largest below each node:
 * where calls cross each other there may be as many lanes as calls. */
typedef struct lane_ends {
    int64_t *least, *largest; /* [1] is the root; the lanes' own begin at `capacity` */
    uint32_t count, capacity; /* a power of two, or 0 */
    uint32_t *counts;         /* of each lane's slices */
} lane_ends;

static void set_end(lane_ends *lanes, uint32_t lane, int64_t end)
{
    uint32_t k = lanes->capacity + lane;
    lanes->least[k] = lanes->largest[k] = end;
    while (k >>= 1) {
        lanes->least[k] = HB_MIN(lanes->least[2 * k], lanes->least[2 * k + 1]);
        lanes->largest[k] = HB_MAX(lanes->largest[2 * k], lanes->largest[2 * k + 1]);
    }
}

/* Lanes that are not there yet are found by nobody. */
static void add_lane(hb_arena *arena, lane_ends *lanes)
{
    lane_ends before = *lanes;
    if (lanes->count == lanes->capacity) {
        lanes->capacity = HB_MAX(2 * before.capacity, 8u);
        lanes->least = HB_NEW_ARRAY(arena, int64_t, 2 * (size_t)lanes->capacity);
        lanes->largest = HB_NEW_ARRAY(arena, int64_t, 2 * (size_t)lanes->capacity);
        lanes->counts = HB_NEW_ARRAY(arena, uint32_t, lanes->capacity);
        for (uint32_t k = 0; k < 2 * lanes->capacity; k++) {
            lanes->least[k] = INT64_MAX;
            lanes->largest[k] = INT64_MIN;
        }
        for (uint32_t i = 0; i < before.count; i++) {
            set_end(lanes, i, before.largest[before.capacity + i]);
            lanes->counts[i] = before.counts[i];
        }
    }
    lanes->counts[lanes->count++] = 0;
}

/* The last lane whose end is at least that, and one; 0: none. */
static uint32_t behind_last_at_least(const lane_ends *lanes, int64_t end)
{
    uint32_t k = 1;
    if (!lanes->count || lanes->largest[1] < end) return 0;
    while (k < lanes->capacity)
        k = 2 * k + (lanes->largest[2 * k + 1] >= end);
    return k - lanes->capacity + 1;
}

/* The first lane from `lane` on whose end is at most that; the count: none. */
static uint32_t first_at_most(const lane_ends *lanes, uint32_t lane, int64_t end)
{
    if (lane >= lanes->count) return lanes->count;
    uint32_t k = lanes->capacity + lane;
    while (lanes->least[k] > end) { /* what lies right of it */
        while (k & 1)
            k >>= 1;
        if (!k++) return lanes->count;
    }
    while (k < lanes->capacity)
        k = 2 * k + (lanes->least[2 * k] > end);
    return k - lanes->capacity;
}

/* Below all that it lies in; there the first that is free, as what it crosses takes one too. */
static uint32_t lane_of(hb_arena *arena, lane_ends *lanes, int64_t start, int64_t end)
{
    uint32_t lane = behind_last_at_least(lanes, HB_MAX(end, start + 1));
    lane = first_at_most(lanes, lane, start);
    if (lane == lanes->count) add_lane(arena, lanes);
    set_end(lanes, lane, end);
    lanes->counts[lane]++;
    return lane;
}

static hb_slice_node node_of(const hb_timeline *t, const hb_lane *lane, uint32_t i)
{
    uint32_t row = t->rows[lane->first + i];
    int64_t start = start_of(t, row), end = end_of(t, row), ns = end - start;
    return (hb_slice_node){start, end, i, ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX};
}

static int64_t length_of(const hb_timeline *t, const hb_lane *lane, uint32_t i)
{
    return hb_trace_row(t->trace, t->rows[lane->first + i])->duration;
}

/* Adds what follows; of equally long slices the first one stays. */
static void join(const hb_timeline *t, const hb_lane *lane, hb_slice_node *to,
                 const hb_slice_node *next)
{
    bool longer = next->ns > to->ns;
    if (next->ns == UINT32_MAX && to->ns == UINT32_MAX)
        longer = length_of(t, lane, next->longest) > length_of(t, lane, to->longest);
    to->end = next->end;
    if (!longer) return;
    to->longest = next->longest;
    to->ns = next->ns;
}

/* Each level of the tree behind the one that it is made of. */
static void plant(hb_timeline *t, hb_lane *lane)
{
    uint32_t nodes = 0;
    for (uint32_t n = lane->count; n > 1;)
        nodes += n = (n + FAN - 1) >> FAN_SHIFT;
    lane->nodes = HB_NEW_ARRAY(&t->arena, hb_slice_node, nodes + 1);
    hb_slice_node *level = NULL, *to = lane->nodes;
    for (uint32_t n = lane->count; n > 1;) {
        uint32_t above = (n + FAN - 1) >> FAN_SHIFT;
        for (uint32_t i = 0; i < above; i++) {
            uint32_t first = i << FAN_SHIFT;
            to[i] = level ? level[first] : node_of(t, lane, first);
            for (uint32_t k = first + 1; k < n && k < first + FAN; k++) {
                hb_slice_node other = level ? level[k] : node_of(t, lane, k);
                join(t, lane, &to[i], &other);
            }
        }
        level = to;
        to += above;
        n = above;
    }
}

/* Stable by lane: within one they stay in order of time. `copy` has room for them all. */
static void add_track(making *m, hb_timeline_track *track, uint32_t *rows, uint32_t count,
                      uint32_t *copy, uint32_t *lane_at)
{
    hb_timeline *t = m->t;
    lane_ends lanes = {0};
    for (uint32_t i = 0; i < count; i++)
        lane_at[i] = lane_of(&m->scratch, &lanes, start_of(t, rows[i]), end_of(t, rows[i]));
    track->first_lane = t->lanes.count;
    track->num_lanes = lanes.count;
    track->slices = count;
    uint32_t first = (uint32_t)(rows - t->rows);
    uint32_t *next = HB_NEW_ARRAY(&m->scratch, uint32_t, lanes.count + 1);
    for (uint32_t i = 0; i < lanes.count; i++) {
        *HB_PUSH(&t->arena, &t->lanes) = (hb_lane){first, lanes.counts[i], NULL};
        next[i] = first - (uint32_t)(rows - t->rows);
        first += lanes.counts[i];
    }
    for (uint32_t i = 0; i < count; i++)
        copy[next[lane_at[i]]++] = rows[i];
    if (count) memcpy(rows, copy, count * sizeof *rows);
    for (uint32_t i = 0; i < lanes.count; i++)
        plant(t, &t->lanes.items[track->first_lane + i]);
}

/* ---- tracks ---- */

static hb_track_kind kind_of(const hb_timeline *t, const uint32_t *rows, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const hb_row *row = hb_trace_row(t->trace, rows[i]);
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
            if (t->names.items[hb_slice_at(t, &lane[i], k).name].step) return true;
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
    m->counts = HB_NEW_ARRAY(&m->scratch, uint32_t, tracks + 1);
    uint32_t *next = HB_NEW_ARRAY(&m->scratch, uint32_t, tracks + 1);
    count_slices(m);
    t->rows = HB_NEW_ARRAY(&t->arena, uint32_t, t->num_slices + 1);
    t->by_text = HB_NEW_ARRAY(&t->arena, uint32_t, t->trace->strings.count + 1);
    for (uint32_t i = 0; i < tracks; i++) {
        next[i] = at;
        at += m->counts[i];
        most = HB_MAX(most, m->counts[i]);
    }
    place_slices(m, next);
    uint32_t *copy = HB_NEW_ARRAY(&m->scratch, uint32_t, most + 1);
    uint32_t *lane_at = HB_NEW_ARRAY(&m->scratch, uint32_t, most + 1);
    for (uint32_t i = 0; i < tracks; i++) {
        uint32_t count = m->counts[i], *rows = t->rows + next[i] - count;
        const hb_track *from = hb_column_at(&t->trace->tracks.items, i / 2);
        if (!count) continue;
        sort_slices(m, rows, count);
        hb_timeline_track *track = HB_PUSH(&t->arena, &t->tracks);
        *track = (hb_timeline_track){kind_of(t, rows, count), from->pid, from->tid, 0, 0, 0};
        add_track(m, track, rows, count, copy, lane_at);
    }
    order_tracks(t);
}

hb_result hb_timeline_make(hb_timeline *timeline, const hb_trace *trace)
{
    *timeline = (hb_timeline){.trace = trace};
    making m = {.t = timeline};
    if (hb_arena_try(&timeline->arena)) {
        if (hb_arena_try(&m.scratch)) make(&m);
    }
    hb_result result = hb_arena_outcome(&timeline->arena);
    if (result == HB_OK) result = hb_arena_outcome(&m.scratch);
    hb_arena_free(&m.scratch);
    return result;
}

void hb_timeline_free(hb_timeline *timeline)
{
    hb_arena_free(&timeline->arena);
    *timeline = (hb_timeline){0};
}

/* ---- windows ---- */

uint32_t hb_lane_find(const hb_timeline *t, const hb_lane *lane, int64_t time)
{
    uint32_t low = 0, high = lane->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (end_of(t, t->rows[lane->first + middle]) < time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

enum { MOST_LEVELS = 11 }; /* of a tree: 8 to that power are all 32 bits count */

typedef struct drawing {
    const hb_timeline *timeline;
    const hb_lane *lane;
    const hb_slice_node *levels[MOST_LEVELS + 1]; /* [1]: of 8 slices, ... */
    uint32_t counts[MOST_LEVELS + 1];             /* [0]: of the slices */
    int64_t from, to, cell;
    hb_slice_node open; /* what is drawn together, up to now */
    int64_t bound;      /* what begins there is not drawn with it */
    uint32_t count;     /* of its slices; 0: there is none */
    void (*fn)(void *context, const hb_drawn *drawn);
    void *context;
} drawing;

static void draw_open(drawing *d)
{
    if (d->count)
        d->fn(d->context, &(hb_drawn){d->open.start, d->open.end, d->count, d->open.longest});
    d->count = 0;
}

static void draw(drawing *d, const hb_slice_node *node, uint32_t count)
{
    bool alone = d->cell == 0 || node->end - node->start >= d->cell;
    if (alone || node->start >= d->bound) draw_open(d);
    if (d->count)
        join(d->timeline, d->lane, &d->open, node);
    else
        d->open = *node;
    if (!d->count && !alone) d->bound = (node->start / d->cell + 1) * d->cell;
    d->count += count;
    if (alone) draw_open(d);
}

static void draw_slices(drawing *d, uint32_t first, uint32_t end)
{
    /* Rows lie far from each other: all of them are asked for before the first is looked at. */
    for (uint32_t i = first; i < end; i++)
        __builtin_prefetch(hb_trace_row(d->timeline->trace, d->timeline->rows[d->lane->first + i]));
    for (uint32_t i = first; i < end; i++) {
        hb_slice_node slice = node_of(d->timeline, d->lane, i);
        if (slice.start >= d->to) return;
        if (slice.end >= d->from) draw(d, &slice, 1);
    }
}

/* A node that fits into a cell stands for its slices; of others one looks at what they are of. */
static void draw_nodes(drawing *d, int level, uint32_t first, uint32_t end)
{
    const hb_slice_node *nodes = d->levels[level];
    for (uint32_t i = first; i < end && nodes[i].start < d->to; i++) {
        const hb_slice_node *node = &nodes[i];
        if (node->end < d->from) continue;
        uint32_t below = i << FAN_SHIFT, stop = HB_MIN(below + FAN, d->counts[level - 1]);
        bool inside = node->start >= d->from && node->end < d->to;
        if (inside && node->end - node->start < d->cell) {
            uint32_t shift = (uint32_t)level * FAN_SHIFT;
            uint64_t behind = HB_MIN((uint64_t)(i + 1) << shift, (uint64_t)d->lane->count);
            draw(d, node, (uint32_t)(behind - ((uint64_t)i << shift)));
        } else if (level == 1) {
            draw_slices(d, below, stop);
        } else {
            draw_nodes(d, level - 1, below, stop);
        }
    }
}

void hb_lane_draw(const hb_timeline *timeline, const hb_lane *lane, int64_t from, int64_t to,
                  int64_t cell, void (*fn)(void *context, const hb_drawn *drawn), void *context)
{
    drawing d = {.timeline = timeline,
                 .lane = lane,
                 .from = from,
                 .to = to,
                 .cell = cell,
                 .fn = fn,
                 .context = context};
    const hb_slice_node *nodes = lane->nodes;
    int level = 0;
    d.counts[0] = lane->count;
    for (uint32_t n = lane->count; n > 1; nodes += n) {
        n = (n + FAN - 1) >> FAN_SHIFT;
        d.levels[++level] = nodes;
        d.counts[level] = n;
    }
    if (level)
        draw_nodes(&d, level, 0, 1);
    else
        draw_slices(&d, 0, lane->count);
    draw_open(&d);
}
