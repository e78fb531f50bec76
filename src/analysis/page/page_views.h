/* SPDX-License-Identifier: MIT
 *
 * What the page's views show, one function an address under "hb/". Each writes one JSON object;
 * tables have the titles and the columns of `hipboard view`, and its numbers.
 */
#ifndef HB_PAGE_PAGE_VIEWS_H
#define HB_PAGE_PAGE_VIEWS_H

#include "page/page_traces.h"

/** Of a trace that is read. HB_ERROR_FORMAT where the plugin's analysis cannot digest it. */
typedef hb_result (*hb_page_view)(hb_page_trace *trace, hb_emitter *out);

hb_result hb_page_steps(hb_page_trace *trace, hb_emitter *out);
hb_result hb_page_operators(hb_page_trace *trace, hb_emitter *out);
hb_result hb_page_kernels(hb_page_trace *trace, hb_emitter *out);
hb_result hb_page_gpu(hb_page_trace *trace, hb_emitter *out);
hb_result hb_page_modules(hb_page_trace *trace, hb_emitter *out);
hb_result hb_page_memory(hb_page_trace *trace, hb_emitter *out);
hb_result hb_page_stacks(hb_page_trace *trace, hb_emitter *out);
hb_result hb_page_tracks(hb_page_trace *trace, hb_emitter *out);

hb_result hb_page_overview(hb_page *page, hb_page_trace *trace, hb_emitter *out);

/** By hb_step_quantity; 0 of no steps. */
void hb_page_mean_step(const hb_step_stat *steps, size_t count, double mean[HB_STEP_QUANTITIES]);

/** The steps by role, as `hipboard view` sums them up. */
void hb_page_roles(hb_emitter *out, const char *key, const hb_step_stat *steps, size_t count);

/** All that the page may ask about. */
hb_result hb_page_about(hb_page *page, hb_emitter *out);
/** Of all traces of the run and the cycle of this one. */
hb_result hb_page_ranks(hb_page *page, const hb_page_trace *trace, hb_emitter *out);
/** Of all paths, against the first. */
hb_result hb_page_compare(hb_page *page, hb_emitter *out);

/** Which slices of a timeline are wanted: of all lanes between two times; see hb_lane_draw(). */
typedef struct hb_slice_window {
    int64_t from, to, cell;
} hb_slice_window;

/** How many records that are. */
uint64_t hb_page_count_slices(const hb_timeline *timeline, const hb_slice_window *window);

/** Appends them in binary. All numbers are unsigned LEB128: from, to - from, cell, lanes; for each
 * lane the number of records n, then n times each: what lies between the last end (at first: from
 * 0) and the start; duration; name; count - 1; then the longest's row, as the difference to the
 * last one's, zigzag. */
void hb_page_put_slices(const hb_timeline *timeline, const hb_slice_window *window, hb_buf *buf);

/** Appends launches: the number n, then n times the row of device work, as the difference to the
 * last one's, and n times its call's, as the difference to the work's, zigzag. */
hb_result hb_page_put_launches(hb_page_trace *trace, hb_buf *buf);

#endif
