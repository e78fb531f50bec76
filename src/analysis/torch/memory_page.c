/* SPDX-License-Identifier: MIT
 *
 * A page that needs nothing but itself: stacked areas, an operator's memory each. A slice of time
 * shows the moment in it when most was allocated, so that no peak is lost.
 */
#include "torch/live_by_owner.h"
#include "torch/memory_timeline.h"
#include "torch/table_text.h"

enum {
    SLICES = 1000,
    OPERATORS = 8,          /* areas of their own, those with most bytes at the peak */
    OTHERS = OPERATORS,     /* all other allocations */
    BEFORE = OPERATORS + 1, /* what was there when the trace began, or is not known */
    SERIES = OPERATORS + 2,
    WIDTH = SLICES,
    HEIGHT = 420,
};

static const char *const colors[SERIES] = {"#4269d0", "#efb118", "#ff725c", "#6cc5b0", "#3ca951",
                                           "#ff8ab7", "#a463f2", "#97bbf5", "#9498a0", "#d4d6da"};

typedef struct page {
    const hb_allocations *a;
    const hb_memory_place *place;
    uint32_t device;
    hb_live_owners holders;   /* at the peak, by operator */
    hb_dict series_of;        /* name -> series + 1 */
    double (*slices)[SERIES]; /* bytes */
    int64_t first_ns, last_ns;
    double most; /* of all slices' sums */
    hb_buf *to;
} page;

/* ---- numbers ---- */

static hb_string_id name_of(const page *p, uint32_t owner)
{
    return owner == HB_NO_FN ? 0 : p->a->list->items[owner].name;
}

static void choose_series(page *p)
{
    p->holders = hb_live_by_owner(p->a, p->device, p->place->peak, NULL);
    for (uint32_t i = 0; i < p->holders.count && i < OPERATORS; i++)
        if (!p->holders.items[i].held)
            hb_dict_set(p->a->arena, &p->series_of, name_of(p, p->holders.items[i].owner), i + 1);
}

static int series_of(const page *p, const hb_memory_change *c)
{
    if (!c->joined) return BEFORE;
    const hb_allocation *x = &p->a->items.items[c->joined - 1];
    if (x->held) return BEFORE;
    const hb_dict_entry *e = hb_dict_get(&p->series_of, name_of(p, x->owner));
    return e ? (int)e->value - 1 : OTHERS;
}

static void find_times(page *p)
{
    p->first_ns = INT64_MAX;
    for (uint32_t i = 0; i < p->a->num_changes; i++)
        if (p->a->changes[i].device == p->device) {
            p->first_ns = HB_MIN(p->first_ns, p->a->changes[i].ns);
            p->last_ns = p->a->changes[i].ns;
        }
}

static uint32_t slice_at(const page *p, int64_t ns)
{
    double span = (double)(p->last_ns - p->first_ns);
    double at = span > 0 ? (double)(ns - p->first_ns) / span * SLICES : 0;
    return at < SLICES - 1 ? (uint32_t)at : SLICES - 1;
}

/* `now` goes on from one change to the next; a slice keeps the fullest state seen in it. */
static void fill_slices(page *p)
{
    double now[SERIES] = {0}, best = -1;
    uint32_t slice = 0;
    now[BEFORE] = p->place->start_bytes;
    for (uint32_t i = 0; i < p->a->num_changes; i++) {
        const hb_memory_change *c = &p->a->changes[i];
        if (c->device != p->device) continue;
        for (uint32_t next = slice_at(p, c->ns); slice < next; best = -1)
            memcpy(p->slices[++slice], now, sizeof now);
        double held = 0;
        now[series_of(p, c)] += c->held ? 0 : c->bytes;
        for (int k = 0; k < BEFORE; k++)
            held += now[k];
        now[BEFORE] = HB_MAX(c->total - held, 0);
        if (held + now[BEFORE] <= best) continue;
        best = held + now[BEFORE];
        memcpy(p->slices[slice], now, sizeof now);
    }
}

static double height_of(const page *p, uint32_t slice, int series)
{
    double sum = 0;
    for (int k = 0; k <= series; k++)
        sum += HB_MAX(p->slices[slice][k], 0);
    return sum;
}

/* ---- text ---- */

static void put_escaped(hb_buf *to, hb_str text)
{
    for (uint32_t i = 0; i < text.len; i++) {
        switch (text.s[i]) {
        case '<': hb_buf_str(to, "&lt;"); break;
        case '&': hb_buf_str(to, "&amp;"); break;
        case 0: hb_buf_str(to, "&#xfffd;"); break;
        default: hb_buf_append(to, &text.s[i], 1);
        }
    }
}

static void put_title(page *p, int series)
{
    if (series == BEFORE)
        hb_buf_str(p->to, "(allocated before, or not known)");
    else if (series == OTHERS)
        hb_buf_str(p->to, "(all others)");
    else if (p->holders.items[series].owner == HB_NO_FN)
        hb_buf_str(p->to, "(outside of all operators)");
    else
        put_escaped(p->to,
                    hb_trace_text(p->a->list->trace, name_of(p, p->holders.items[series].owner)));
}

static bool is_shown(const page *p, int series)
{
    for (uint32_t i = 0; i < SLICES; i++)
        if (p->slices[i][series] > 0) return true;
    return false;
}

/* Steps from left to right, and the area below's back. */
static void put_area(page *p, int series)
{
    double scale = HEIGHT / p->most;
    hb_buf_printf(p->to, "<path fill=\"%s\" d=\"M0 %d", colors[series], HEIGHT);
    for (uint32_t i = 0; i < SLICES; i++)
        hb_buf_printf(p->to, "V%.1fH%u", HEIGHT - height_of(p, i, series) * scale, i + 1);
    for (uint32_t i = SLICES; i-- > 0;)
        hb_buf_printf(p->to, "V%.1fH%u", HEIGHT - height_of(p, i, series - 1) * scale, i);
    hb_buf_str(p->to, "Z\"><title>");
    put_title(p, series);
    hb_buf_str(p->to, "</title></path>\n");
}

static void put_chart(page *p)
{
    hb_buf_printf(p->to, "<svg viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\">\n", WIDTH,
                  HEIGHT);
    for (int k = 0; k < SERIES; k++)
        if (is_shown(p, k)) put_area(p, k);
    hb_buf_str(p->to, "</svg>\n");
}

static void put_legend(page *p)
{
    hb_buf_str(p->to, "<table><tr><th></th><th>at the peak</th><th></th></tr>\n");
    for (int k = SERIES; k-- > 0;) {
        if (!is_shown(p, k)) continue;
        double bytes = p->slices[slice_at(
            p, p->place->peak == HB_NO_RECORD ? p->first_ns : p->a->changes[p->place->peak].ns)][k];
        hb_buf_printf(p->to, "<tr><td><i style=\"background:%s\"></i></td><td>", colors[k]);
        hb_put_memory(p->to, HB_MAX(bytes, 0));
        hb_buf_str(p->to, "</td><td>");
        put_title(p, k);
        hb_buf_str(p->to, "</td></tr>\n");
    }
    hb_buf_str(p->to, "</table>\n");
}

static void put_head(page *p)
{
    hb_buf_printf(p->to,
                  "<!doctype html>\n<html><head><meta charset=\"utf-8\"><title>Memory of "
                  "%s</title><style>\n"
                  "body{font:14px system-ui,sans-serif;margin:2em;max-width:1100px}\n"
                  "svg{width:100%%;height:420px;background:#f6f7f9;display:block}\n"
                  "i{display:inline-block;width:1em;height:1em}\n"
                  "td,th{padding:.1em .6em;text-align:left}td:nth-child(2){text-align:right}\n"
                  ".axis{display:flex;justify-content:space-between}\n"
                  "</style></head><body>\n<h1>Memory of %s</h1>\n<p>Peak: ",
                  p->place->name, p->place->name);
    hb_put_memory(p->to, p->place->peak_bytes);
    hb_buf_str(p->to, " (the top of the chart). At the end: ");
    hb_put_memory(p->to, p->place->total);
    hb_buf_str(p->to, ".</p>\n");
}

static void put_axis(page *p)
{
    hb_buf_str(p->to, "<div class=\"axis\"><span>0</span><span>");
    hb_put_time(p->to, (double)(p->last_ns - p->first_ns) / 1000, NULL);
    hb_buf_str(p->to, "</span></div>\n");
}

void hb_report_memory_page(const hb_allocations *a, uint32_t device, hb_buf *to)
{
    page p = {.a = a, .device = device, .to = to};
    if (device >= a->devices.count) {
        hb_buf_str(to, "<!doctype html>\n<html><head><meta charset=\"utf-8\"><title>Memory</title>"
                       "</head><body><p>The trace has no memory events of that device.</p></body>"
                       "</html>\n");
        return;
    }
    p.place = &a->devices.items[device];
    p.slices = hb_arena_alloc(a->arena, SLICES * sizeof *p.slices);
    choose_series(&p);
    find_times(&p);
    fill_slices(&p);
    for (uint32_t i = 0; i < SLICES; i++)
        p.most = HB_MAX(p.most, height_of(&p, i, SERIES - 1));
    if (p.most <= 0) p.most = 1;
    put_head(&p);
    put_chart(&p);
    put_axis(&p);
    put_legend(&p);
    hb_buf_str(to, "</body></html>\n");
}
