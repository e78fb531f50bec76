/* SPDX-License-Identifier: MIT */
#include "page/page_html.h"

#include "page/page_views.h"

enum { MOST_OPERATORS = 20 };

/* Text that is no markup, whatever stands in it. */
static void put_escaped(hb_buf *buf, const char *text)
{
    for (; *text; text++) {
        switch (*text) {
        case '&': hb_buf_str(buf, "&amp;"); break;
        case '<': hb_buf_str(buf, "&lt;"); break;
        case '>': hb_buf_str(buf, "&gt;"); break;
        case '"': hb_buf_str(buf, "&quot;"); break;
        case '\'': hb_buf_str(buf, "&#39;"); break;
        default: hb_buf_append(buf, text, 1);
        }
    }
}

static void put_element(hb_buf *buf, const char *name, const char *text)
{
    hb_buf_printf(buf, "<%s>", name);
    put_escaped(buf, text);
    hb_buf_printf(buf, "</%s>", name);
}

void hb_html_title(hb_buf *buf, const hb_page *page)
{
    put_escaped(buf, page->traces[0]->id);
    if (page->num_traces > 1) hb_buf_printf(buf, " and %zu more", page->num_traces - 1);
    hb_buf_str(buf, " - hipboard");
}

void hb_html_begin(hb_buf *buf)
{
    hb_buf_str(buf,
               "<p><strong>These are the main numbers only.</strong> Tables, pictures and the "
               "timeline need JavaScript, in Chromium 97, Firefox 113, Safari 16.4 or later. Open "
               "this file there; it asks for nothing from any network.</p>\n");
}

void hb_html_left_out(hb_buf *buf, const hb_page_trace *trace, const char *why)
{
    put_element(buf, "h2", trace->id);
    hb_buf_str(buf, "<p>Left out: ");
    put_escaped(buf, why);
    hb_buf_str(buf, "</p>\n");
}

static void put_steps(hb_buf *buf, const hb_step_stat *steps, size_t count)
{
    double mean[HB_STEP_QUANTITIES];
    hb_page_mean_step(steps, count, mean);
    hb_buf_printf(buf, "<p>%zu steps of %.3f ms on average</p>\n", count, mean[HB_STEP_TIME] / 1e3);
    hb_buf_str(buf, "<table><tr><th>Average step</th><th>ms</th><th>%</th></tr>\n");
    for (int q = HB_STEP_KERNEL; q < HB_STEP_QUANTITIES; q++)
        if (mean[q] > 0)
            hb_buf_printf(buf, "<tr><td>%s</td><td>%.3f</td><td>%.1f</td></tr>\n",
                          hb_step_quantity_name((hb_step_quantity)q), mean[q] / 1e3,
                          100 * mean[q] / mean[HB_STEP_TIME]);
    hb_buf_str(buf, "</table>\n");
}

static double self_us(const hb_operator_stat *o)
{
    return o->self_host_us + o->self_device_us;
}

/* By their own time: each time the longest of those that come behind the last one. */
static void put_operators(hb_buf *buf, const hb_operator_stat *list, size_t count)
{
    const hb_operator_stat *last = NULL;
    hb_buf_str(buf, "<table><tr><th>Operator</th><th>Calls</th><th>Host self, ms</th>"
                    "<th>Device self, ms</th></tr>\n");
    for (int shown = 0; shown < MOST_OPERATORS; shown++) {
        const hb_operator_stat *next = NULL;
        for (const hb_operator_stat *o = list; o < list + count; o++) {
            bool behind =
                !last || self_us(o) < self_us(last) || (self_us(o) == self_us(last) && o > last);
            if (behind && (!next || self_us(o) > self_us(next))) next = o;
        }
        if (!next) break;
        hb_buf_str(buf, "<tr>");
        put_element(buf, "td", next->name);
        hb_buf_printf(buf, "<td>%llu</td><td>%.3f</td><td>%.3f</td></tr>\n",
                      (unsigned long long)next->calls, next->self_host_us / 1e3,
                      next->self_device_us / 1e3);
        last = next;
    }
    hb_buf_str(buf, "</table>\n");
}

static void put_findings(hb_buf *buf, hb_page_trace *trace)
{
    hb_insights *insights;
    const hb_finding *list;
    size_t count;
    if (hb_page_insights(trace, &insights) != HB_OK ||
        hb_insights_findings(insights, &list, &count) != HB_OK || !count)
        return;
    hb_buf_str(buf, "<ul>\n");
    for (size_t i = 0; i < count; i++) {
        hb_buf_str(buf, "<li>");
        put_escaped(buf, list[i].text);
        hb_buf_str(buf, " ");
        put_escaped(buf, list[i].evidence);
        hb_buf_str(buf, "</li>\n");
    }
    hb_buf_str(buf, "</ul>\n");
}

void hb_html_trace(hb_buf *buf, hb_page_trace *trace)
{
    const hb_step_stat *steps;
    const hb_operator_stat *operators;
    size_t count;
    put_element(buf, "h2", trace->id);
    if (hb_trace_file_steps(trace->file, &steps, &count) == HB_OK && count)
        put_steps(buf, steps, count);
    put_findings(buf, trace);
    if (hb_trace_file_operators(trace->file, false, &operators, &count) == HB_OK && count)
        put_operators(buf, operators, count);
}
