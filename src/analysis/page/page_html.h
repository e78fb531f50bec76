/* SPDX-License-Identifier: MIT
 *
 * A report's main numbers in plain HTML, which a browser without JavaScript shows.
 */
#ifndef HB_PAGE_PAGE_HTML_H
#define HB_PAGE_PAGE_HTML_H

#include "page/page_traces.h"

void hb_html_title(hb_buf *buf, const hb_page *page);
void hb_html_begin(hb_buf *buf);
/** Of a trace that is read. */
void hb_html_trace(hb_buf *buf, hb_page_trace *trace);
void hb_html_left_out(hb_buf *buf, const hb_page_trace *trace, const char *why);

#endif
