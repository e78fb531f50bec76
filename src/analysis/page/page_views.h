/* SPDX-License-Identifier: MIT
 *
 * What the page's views show, one function an address under "hb/". Each writes one JSON object;
 * tables have the titles and the columns of `hipboard view`, and its numbers.
 */
#ifndef HB_PAGE_PAGE_VIEWS_H
#define HB_PAGE_PAGE_VIEWS_H

#include "page/page_traces.h"
#include "routes/url.h"

/** Of a trace that is read. HB_ERROR_FORMAT where the plugin's analysis cannot digest it. */
typedef hb_result (*hb_page_view)(hb_page_trace *trace, hb_emitter *out);

hb_result hb_page_overview(hb_page_trace *trace, hb_emitter *out);
/** What the TensorBoard plugin makes of it: its advice, why it loses the file, its other numbers.
 */
hb_result hb_page_plugin(hb_page_trace *trace, hb_emitter *out);
hb_result hb_page_steps(hb_page_trace *trace, hb_emitter *out);
hb_result hb_page_operators(hb_page_trace *trace, hb_emitter *out);
hb_result hb_page_kernels(hb_page_trace *trace, hb_emitter *out);
hb_result hb_page_roofline(hb_page_trace *trace, hb_emitter *out);
hb_result hb_page_gpu(hb_page_trace *trace, hb_emitter *out);
hb_result hb_page_modules(hb_page_trace *trace, hb_emitter *out);
hb_result hb_page_memory(hb_page_trace *trace, hb_emitter *out);
hb_result hb_page_stacks(hb_page_trace *trace, hb_emitter *out);
hb_result hb_page_tracks(hb_page_trace *trace, hb_emitter *out);

/** By hb_step_quantity; 0 of no steps. */
void hb_page_mean_step(const hb_step_stat *steps, size_t count, double mean[HB_STEP_QUANTITIES]);

/** The steps by role, as `hipboard view` sums them up. */
void hb_page_roles(hb_emitter *out, const char *key, const hb_step_stat *steps, size_t count);

/** All that the page may ask about. */
hb_result hb_page_about(hb_page *page, hb_emitter *out);
/** Whether that has changed: {"generation": N}. */
hb_result hb_page_changes(hb_page *page, hb_emitter *out);
/** How far the reading of a trace is: {"done": bytes of text, "size": of the file}. */
hb_result hb_page_progress(hb_page *page, const char *trace, hb_emitter *out);
/** Of all traces of the run and the cycle of that one. */
hb_result hb_page_ranks(hb_page *page, const char *trace, hb_emitter *out);
/** "study" of the same: who makes others wait, each rank in each step; by digests. */
hb_result hb_page_put_study(const hb_page_group *traces, hb_emitter *out);
/** Of all paths, against the first. */
hb_result hb_page_compare(hb_page *page, hb_emitter *out);

/** Which slices of a timeline are wanted: of all lanes between two times; see hb_lane_draw(). */
typedef struct hb_slice_window {
    int64_t from, to, cell;
} hb_slice_window;

/** By the parameters from, to and cell, of which none need be there; HB_ERROR_INVALID_ARGUMENT. */
hb_result hb_page_window(const hb_timeline *timeline, const hb_url *url, hb_slice_window *window);

/** How many records that are. */
uint64_t hb_page_count_slices(const hb_timeline *timeline, const hb_slice_window *window);

/** Appends them in binary. All numbers are unsigned LEB128: from, to - from, cell, lanes; for each
 * lane the number of records n, then n times each: what lies between the last end (at first: from
 * 0) and the start; duration; name; count - 1; then the longest's row, as the difference to the
 * last one's, zigzag. */
void hb_page_put_slices(const hb_timeline *timeline, const hb_slice_window *window, hb_buf *buf);

/** Appends a report of that run, of all runs where it is NULL. */
hb_result hb_page_put_report(hb_page *page, const char *run, hb_buf *buf);

/** Of what a client has an outline of. Slices are told as places: [lane, start, end, name, row]. */
typedef hb_result (*hb_page_question)(hb_page_trace *trace, const hb_url *url, hb_emitter *out);
/** {"count": all, "hits": the first `most` places by time} of names that hold `text`, capitals or
 * not; exact=1: that are it. */
hb_result hb_page_find_slices(hb_page_trace *trace, const hb_url *url, hb_emitter *out);
/** {"rows": [[name, slices, time within, longest], ...]} of the lanes "0-3,7" from `from` to `to`.
 */
hb_result hb_page_sum_slices(hb_page_trace *trace, const hb_url *url, hb_emitter *out);
/** {"counters": [...], "from", "to", "cell"}; without cell one that shows all in some 2,000. */
hb_result hb_page_counters(hb_page_trace *trace, const hb_url *url, hb_emitter *out);
/** {"places": [...]} of the trace's rows "5,9". */
hb_result hb_page_place_rows(hb_page_trace *trace, const hb_url *url, hb_emitter *out);

/** Appends launches: the number n, then n times the row of device work, as the difference to the
 * last one's, and n times its call's, as the difference to the work's, zigzag. */
hb_result hb_page_put_launches(hb_page_trace *trace, hb_buf *buf);

#endif
