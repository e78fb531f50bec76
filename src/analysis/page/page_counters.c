/* SPDX-License-Identifier: MIT
 *
 * The curves of a timeline's window, each in columns: its points, or of each cell the least, the
 * most and the last value, so that no peak is lost.
 */
#include "page/page_views.h"
#include "plugin/memory_stats.h"

enum { CELLS = 2048, MOST_POINTS = 2 * CELLS /* of a curve that is told point by point */ };

typedef struct columns {
    hb_buf times, lows, highs, lasts;
} columns;

static void put_value(hb_buf *to, double value)
{
    if (to->size) hb_buf_str(to, ", ");
    hb_buf_json_num(to, hb_float(value));
}

static void put_one(void *context, const hb_drawn_points *drawn)
{
    columns *c = context;
    if (c->times.size) hb_buf_str(&c->times, ", ");
    hb_buf_printf(&c->times, "%lld", (long long)drawn->time);
    put_value(&c->lows, drawn->low);
    put_value(&c->highs, drawn->high);
    put_value(&c->lasts, drawn->last);
}

static void put_list(hb_emitter *out, const char *key, hb_buf *list)
{
    hb_emit_open_key(out, key, '[');
    hb_emit_raw(out, (hb_str){hb_buf_text(list), (uint32_t)list->size});
    hb_emit_close(out, ']');
    out->buf->failed |= list->failed;
    hb_buf_free(list);
}

static void put_counter(hb_emitter *out, const hb_timeline *t, const hb_curve *counter,
                        const hb_slice_window *w)
{
    columns c;
    hb_buf name;
    hb_buf *const all[] = {&c.times, &c.lows, &c.highs, &c.lasts, &name};
    for (size_t i = 0; i < HB_ARRAY_LEN(all); i++)
        hb_buf_init(all[i], SIZE_MAX / 2);
    hb_curve_draw(counter, w->from, w->to, w->cell, put_one, &c);
    hb_key key = hb_trace_key_at(t->trace, counter->whose);
    hb_buf_append(&name, counter->name.s, counter->name.len);
    if (counter->bytes && key != HB_KEY_NONE) hb_buf_str(&name, " ");
    if (counter->bytes && key != HB_KEY_NONE) hb_buf_key(&name, t->trace, key);
    hb_emit_open(out, '{');
    hb_emit_key(out, "name");
    hb_emit_str(out, (hb_str){hb_buf_text(&name), (uint32_t)name.size});
    hb_emit_bool(out, "bytes", counter->bytes);
    put_list(out, "times", &c.times);
    put_list(out, "low", &c.lows);
    put_list(out, "high", &c.highs);
    put_list(out, "last", &c.lasts);
    hb_emit_close(out, '}');
    hb_buf_free(&name);
}

hb_result hb_page_counters(hb_page_trace *trace, const hb_url *url, hb_emitter *out)
{
    hb_timeline *t;
    hb_curves *counters;
    hb_slice_window w;
    HB_TRY(hb_page_timeline(trace, &t));
    HB_TRY(hb_page_curves(trace, &counters));
    HB_TRY(hb_page_window(t, url, &w));
    for (uint32_t i = 0; !hb_url_get(url, "cell") && i < counters->list.count; i++)
        if (counters->list.items[i].points.count > MOST_POINTS)
            w.cell = HB_MAX((w.to - w.from) / CELLS, 1);
    hb_emit_member(out, "from", (double)w.from);
    hb_emit_member(out, "to", (double)w.to);
    hb_emit_member(out, "cell", (double)w.cell);
    hb_emit_open_key(out, "counters", '[');
    for (uint32_t i = 0; i < counters->list.count; i++)
        put_counter(out, t, &counters->list.items[i], &w);
    hb_emit_close(out, ']');
    return HB_OK;
}
