/* SPDX-License-Identifier: MIT
 *
 * What the plugin adds to a trace that has kernels: how busy each GPU was over time, and how much
 * of it kernels could have kept busy.
 */
#include "base/hash_map.h"
#include "plugin/answer_bodies.h"

enum { MOST_BUCKETS = 100 };

typedef struct end_point {
    hb_num time, blocks; /* blocks per compute unit */
    bool end;
} end_point;

typedef struct device {
    hb_ranges busy;
    HB_VEC(end_point) points;
    bool used;
} device;

typedef struct writing {
    hb_analysis *a;
    hb_arena *arena;
    hb_buf *buf;
    bool any;
} writing;

static void put_counter(writing *w, unsigned gpu, const char *what, const char *title, hb_num ts,
                        hb_num value)
{
    if (w->any) hb_buf_str(w->buf, ", ");
    w->any = true;
    hb_buf_printf(w->buf, "{\"ph\":\"C\", \"name\":\"GPU %u %s\", \"pid\":%u, \"ts\":", gpu, title,
                  gpu);
    hb_buf_py_num(w->buf, ts);
    hb_buf_printf(w->buf, ", \"args\":{\"%s\":", what);
    hb_buf_py_num(w->buf, value);
    hb_buf_str(w->buf, "}}");
}

/* ---- utilization, in up to 100 buckets of a power of ten of us ---- */

static hb_num time_after(hb_num from, double us)
{
    return (hb_num){from.v + us, from.is_float};
}

static void put_utilization(writing *w, unsigned gpu, const hb_ranges *busy)
{
    static const char title[] = "Utilization", what[] = "GPU Utilization";
    hb_num from = w->a->window_start, to = w->a->window_end;
    double length = to.v - from.v, size = 1;
    while (length / size > MOST_BUCKETS)
        size *= 10;
    uint32_t buckets = (uint32_t)(length / size), r = 0;
    put_counter(w, gpu, what, title, from, hb_int(1));
    put_counter(w, gpu, what, title, from, hb_int(0));
    for (uint32_t b = 0; b < buckets; b++) {
        /* The last one may be longer. */
        hb_num start = time_after(from, b * size);
        double end = b + 1 < buckets ? time_after(from, (b + 1) * size).v : to.v, sum = 0;
        while (r < busy->count && busy->items[r].end.v <= start.v)
            r++;
        for (uint32_t i = r; i < busy->count && busy->items[i].start.v < end; i++)
            sum += HB_MIN(busy->items[i].end.v, end) - HB_MAX(busy->items[i].start.v, start.v);
        put_counter(w, gpu, what, title, start, hb_float(sum / (end - start.v)));
    }
    put_counter(w, gpu, what, title, to, hb_int(0));
}

/* ---- blocks per compute unit, at most one ---- */

static bool point_before(const void *context, const void *x, const void *y)
{
    const end_point *m = x, *n = y;
    (void)context;
    return m->time.v != n->time.v ? m->time.v < n->time.v : m->end < n->end;
}

static void put_efficiency(writing *w, unsigned gpu, const device *d)
{
    static const char what[] = "Est. SM Efficiency";
    const end_point *p = d->points.items;
    bool begun = false;
    if (!d->points.count) return;
    hb_sort(w->arena, d->points.items, d->points.count, sizeof *p, point_before, NULL);
    hb_num last = p[0].time, value = p[0].blocks;
    for (uint32_t i = 1; i < d->points.count; i++) {
        if (p[i].time.v > last.v && value.v > 0) {
            if (!begun) {
                put_counter(w, gpu, what, what, w->a->window_start, hb_int(1));
                put_counter(w, gpu, what, what, w->a->window_start, hb_int(0));
                begun = true;
            }
            put_counter(w, gpu, what, what, last, value.v > 1 ? hb_float(1) : value);
            put_counter(w, gpu, what, what, p[i].time, hb_int(0));
        }
        last = p[i].time;
        value = p[i].end ? hb_num_sub(value, p[i].blocks) : hb_num_add(value, p[i].blocks);
    }
}

/* ---- all devices ---- */

static void take(writing *w, const hb_row *row, device *devices)
{
    const hb_launch *launch = hb_trace_launch_of(w->a->trace, row);
    if (launch->device_state == HB_NUMBER_NONE || launch->gpu == HB_NO_GPU) return;
    device *d = &devices[launch->gpu];
    hb_range time = hb_row_range(w->a, row);
    d->used = true;
    hb_ranges_merge_in(w->arena, &d->busy, time);
    if (!launch->blocks_state || !(launch->blocks_per_sm > 0)) return;
    hb_num blocks = {launch->blocks_per_sm, launch->blocks_state == HB_NUMBER_FLOAT};
    *HB_PUSH(w->arena, &d->points) = (end_point){time.start, blocks, false};
    *HB_PUSH(w->arena, &d->points) = (end_point){time.end, blocks, true};
}

static void put_counters(writing *w)
{
    device *devices = HB_NEW_ARRAY(w->arena, device, HB_MAX_GPUS);
    for (uint32_t i = 0; i < w->a->num_events; i++)
        if (w->a->events[i].type == HB_TYPE_KERNEL)
            take(w, hb_trace_row(w->a->trace, w->a->events[i].row), devices);
    for (unsigned g = 0; g < HB_MAX_GPUS; g++)
        if (devices[g].used) put_utilization(w, g, &devices[g].busy);
    for (unsigned g = 0; g < HB_MAX_GPUS; g++)
        if (devices[g].used) put_efficiency(w, g, &devices[g]);
}

/* What stands behind the last bracket is dropped: of a file that has one behind its events, that is
 * no JSON any more, with the plugin either. */
void hb_answer_trace(hb_emitter *out, hb_analysis *a, hb_arena *arena, const char *text,
                     size_t size)
{
    writing w = {a, arena, out->buf, false};
    if (!a->has_role[HB_ROLE_KERNEL]) {
        hb_buf_append(out->buf, text, size);
        return;
    }
    const char *end = memrchr(text, ']', size);
    hb_buf_append(out->buf, text, end ? (size_t)(end - text) : size - (size > 0));
    hb_buf_str(out->buf, ", ");
    put_counters(&w);
    hb_buf_str(out->buf, "]}");
}
