/* SPDX-License-Identifier: MIT
 *
 * The traces that a page is about, and what was read of them.
 */
#ifndef HB_PAGE_PAGE_TRACES_H
#define HB_PAGE_PAGE_TRACES_H

#include <hipboard/page.h>

#include "page/page_table.h"
#include "timeline/timeline.h"

typedef struct hb_page_trace {
    char *id; /* what addresses call it: "run/worker/span" as far as it has them */
    char *run, *worker, *span, *path;
    hb_trace_file *file;   /* NULL: not read */
    char *error;           /* why it cannot be */
    hb_insights *insights; /* NULL: not made */
    hb_timeline *timeline; /* likewise */
} hb_page_trace;

struct hb_page {
    hb_open_options open;
    char **paths; /* as they were given */
    size_t num_paths;
    hb_page_trace *traces;
    size_t num_traces;
};

hb_result hb_page_find(hb_page *page);
void hb_page_forget(hb_page *page);

/** NULL, and an error: there is none. */
hb_page_trace *hb_page_trace_of(hb_page *page, const char *id);

/** Reads it, once. The error is the reader's. */
hb_result hb_page_read(hb_page *page, hb_page_trace *trace);
/** Gives the memory back; it may be read again. */
void hb_page_unread(hb_page_trace *trace);

/** Made at the first call, of a trace that is read. */
hb_result hb_page_insights(hb_page_trace *trace, hb_insights **insights);
hb_result hb_page_timeline(hb_page_trace *trace, hb_timeline **timeline);

#endif
