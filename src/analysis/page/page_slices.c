/* SPDX-License-Identifier: MIT
 *
 * The timeline: what tracks there are, and the slices of a window in binary.
 */
#include "api/api_trace_file.h"
#include "base/bytes.h"
#include "base/thread_start.h"
#include "page/page_views.h"
#include "plugin/memory_stats.h"
#include "trace/edges.h"

/* ---- tracks and names ---- */

static void emit_key(hb_emitter *out, const hb_timeline *t, const char *name, uint32_t key)
{
    hb_buf buf;
    hb_buf_init(&buf, SIZE_MAX / 2);
    hb_key value = hb_trace_key_at(t->trace, key);
    if (value != HB_KEY_NONE) hb_buf_key(&buf, t->trace, value);
    hb_emit_pair(out, name, hb_buf_text(&buf));
    hb_buf_free(&buf);
}

static void put_track(hb_emitter *out, const hb_timeline *t, const hb_timeline_track *track)
{
    static const char *const kinds[] = {"thread", "stream", "annotation"};
    hb_emit_open(out, '{');
    hb_emit_pair(out, "kind", kinds[track->kind]);
    emit_key(out, t, "pid", track->pid);
    emit_key(out, t, "tid", track->tid);
    hb_emit_member(out, "first", track->first_lane);
    hb_emit_member(out, "lanes", track->num_lanes);
    hb_emit_member(out, "slices", (double)track->slices);
    hb_emit_close(out, '}');
}

/* By which the page colours. */
static const char *class_of(const hb_slice_name *name)
{
    if (name->step) return "step";
    switch ((hb_kind)name->kind) {
    case HB_KIND_OPERATOR: return "op";
    case HB_KIND_KERNEL: return "kernel";
    case HB_KIND_MEMCPY: return "memcpy";
    case HB_KIND_MEMSET: return "memset";
    case HB_KIND_RUNTIME:
    case HB_KIND_CALL: return "runtime";
    case HB_KIND_PYTHON:
    case HB_KIND_FUNCTION: return "function";
    case HB_KIND_ANNOTATION: return "annotation";
    default: return "other";
    }
}

static void put_names(hb_emitter *out, const hb_timeline *t)
{
    hb_emit_open_key(out, "names", '[');
    for (uint32_t i = 0; i < t->names.count; i++) {
        hb_emit_open(out, '[');
        hb_emit_str(out, hb_trace_text(t->trace, t->names.items[i].text));
        hb_emit_text(out, class_of(&t->names.items[i]));
        hb_emit_close(out, ']');
    }
    hb_emit_close(out, ']');
}

hb_result hb_page_tracks(hb_page_trace *trace, hb_emitter *out)
{
    hb_timeline *t;
    HB_TRY(hb_page_timeline(trace, &t));
    hb_emit_member(out, "span", (double)(t->end - t->start));
    hb_emit_member(out, "lanes", t->lanes.count);
    hb_emit_member(out, "slices", t->num_slices);
    hb_emit_open_key(out, "tracks", '[');
    for (uint32_t i = 0; i < t->tracks.count; i++)
        put_track(out, t, &t->tracks.items[i]);
    hb_emit_close(out, ']');
    put_names(out, t);
    return HB_OK;
}

/* ---- slices ---- */

static void count_one(void *context, const hb_drawn *drawn)
{
    (void)drawn;
    ++*(uint64_t *)context;
}

uint64_t hb_page_count_slices(const hb_timeline *timeline, const hb_slice_window *window)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < timeline->lanes.count; i++)
        hb_lane_draw(timeline, &timeline->lanes.items[i], window->from, window->to, window->cell,
                     count_one, &count);
    return count;
}

enum { GAPS, TIMES, NAMES, COUNTS, ROWS, PARTS };

typedef struct columns {
    const hb_timeline *timeline;
    const hb_lane *lane;
    hb_buf drawn; /* of the lane: hb_drawn */
    hb_buf parts[PARTS];
    int64_t last_end;
    uint32_t last_row;
} columns;

static const uint32_t *row_of(const columns *c, const hb_drawn *drawn)
{
    return &c->timeline->rows[c->lane->first + drawn->longest];
}

/* Rows lie far from each other: each is on its way while those before it are written. */
static void take_one(void *context, const hb_drawn *drawn)
{
    columns *c = context;
    hb_buf_append(&c->drawn, drawn, sizeof *drawn);
    __builtin_prefetch(row_of(c, drawn));
}

static void put_one(columns *c, const hb_drawn *drawn)
{
    hb_slice longest = hb_slice_of(c->timeline, *row_of(c, drawn));
    hb_buf_varint(&c->parts[GAPS], (uint64_t)(drawn->start - c->last_end));
    hb_buf_varint(&c->parts[TIMES], (uint64_t)(drawn->end - drawn->start));
    hb_buf_varint(&c->parts[NAMES], longest.name);
    hb_buf_varint(&c->parts[COUNTS], drawn->count - 1);
    hb_buf_varint(&c->parts[ROWS], hb_zigzag((int64_t)longest.row - c->last_row));
    c->last_row = longest.row;
    c->last_end = drawn->end;
}

static void put_lane(columns *c, const hb_slice_window *window, hb_buf *buf)
{
    enum { AHEAD = 16 };
    c->drawn.size = 0;
    c->last_end = 0;
    c->last_row = 0;
    hb_lane_draw(c->timeline, c->lane, window->from, window->to, window->cell, take_one, c);
    const hb_drawn *drawn = (const hb_drawn *)c->drawn.data;
    size_t count = c->drawn.size / sizeof *drawn;
    hb_buf_varint(buf, count);
    for (size_t i = 0; i < count; i++) {
        if (count - i > AHEAD)
            __builtin_prefetch(hb_trace_row(c->timeline->trace, *row_of(c, &drawn[i + AHEAD])));
        put_one(c, &drawn[i]);
    }
    for (int k = 0; k < PARTS; k++) {
        hb_buf_append(buf, c->parts[k].data, c->parts[k].size);
        c->parts[k].size = 0;
    }
}

static void put_lanes(const hb_timeline *timeline, const hb_slice_window *window, uint32_t first,
                      uint32_t end, hb_buf *buf)
{
    columns c = {.timeline = timeline};
    hb_buf_init(&c.drawn, SIZE_MAX / 2);
    for (int i = 0; i < PARTS; i++)
        hb_buf_init(&c.parts[i], SIZE_MAX / 2);
    for (uint32_t i = first; i < end; i++) {
        c.lane = &timeline->lanes.items[i];
        put_lane(&c, window, buf);
    }
    for (int i = 0; i < PARTS; i++) {
        buf->failed |= c.parts[i].failed;
        hb_buf_free(&c.parts[i]);
    }
    buf->failed |= c.drawn.failed;
    hb_buf_free(&c.drawn);
}

/* Lanes that a second thread draws meanwhile. */
typedef struct other_half {
    const hb_timeline *timeline;
    const hb_slice_window *window;
    uint32_t first;
    hb_buf buf;
} other_half;

static void *put_other_half(void *arg)
{
    other_half *o = arg;
    put_lanes(o->timeline, o->window, o->first, o->timeline->lanes.count, &o->buf);
    return NULL;
}

enum { MANY_SLICES = 200000 }; /* in a window: less is drawn faster than a thread begins */

/* The first lane of the second half, by slices; the number of lanes where one thread is enough. */
static uint32_t second_half(const hb_timeline *t, const hb_slice_window *window)
{
    double share = (double)(window->to - window->from) / (double)HB_MAX(t->end - t->start, 1);
    uint32_t lane = 0;
    if (share * t->num_slices < MANY_SLICES) return t->lanes.count;
    for (uint64_t before = 0; lane < t->lanes.count && before < t->num_slices / 2; lane++)
        before += t->lanes.items[lane].count;
    return lane;
}

void hb_page_put_slices(const hb_timeline *timeline, const hb_slice_window *window, hb_buf *buf)
{
    other_half other = {timeline, window, second_half(timeline, window), {0}};
    pthread_t thread;
    bool together = other.first < timeline->lanes.count;
    hb_buf_init(&other.buf, SIZE_MAX / 2);
    if (together) together = hb_background_thread(&thread, "draw", put_other_half, &other) == 0;
    hb_buf_varint(buf, (uint64_t)window->from);
    hb_buf_varint(buf, (uint64_t)(window->to - window->from));
    hb_buf_varint(buf, (uint64_t)window->cell);
    hb_buf_varint(buf, timeline->lanes.count);
    put_lanes(timeline, window, 0, together ? other.first : timeline->lanes.count, buf);
    if (together) {
        pthread_join(thread, NULL);
        hb_buf_append(buf, other.buf.data, other.buf.size);
        buf->failed |= other.buf.failed;
    }
    hb_buf_free(&other.buf);
}

/* ---- launches ---- */

hb_result hb_page_put_launches(hb_page_trace *trace, hb_buf *buf)
{
    hb_trace *t = hb_trace_file_trace(trace->file);
    hb_buf calls;
    uint32_t last = 0;
    uint64_t count = 0;
    HB_TRY(hb_trace_link(t));
    for (uint32_t i = 0; i < t->rows.count; i++) {
        const hb_row *row = hb_trace_row(t, i);
        count += hb_row_is_work(row) && hb_work_call(t, row) != HB_NO_EVENT;
    }
    hb_buf_varint(buf, count);
    hb_buf_init(&calls, SIZE_MAX / 2);
    for (uint32_t i = 0; i < t->rows.count; i++) {
        const hb_row *row = hb_trace_row(t, i);
        if (!hb_row_is_work(row) || hb_work_call(t, row) == HB_NO_EVENT) continue;
        hb_buf_varint(buf, i - last);
        hb_buf_varint(&calls, hb_zigzag((int64_t)hb_work_call(t, row) - i));
        last = i;
    }
    hb_buf_append(buf, calls.data, calls.size);
    buf->failed |= calls.failed;
    hb_buf_free(&calls);
    return HB_OK;
}
