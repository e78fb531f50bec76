/* SPDX-License-Identifier: MIT
 *
 * hipboard/page.h - traces as a page in a browser.
 *
 * One page, which needs no network and no code of others, and what it asks for. A report is a file
 * that holds both; a server hands out the same answers one by one.
 *
 *     const char *paths[] = {"runs/mine"};
 *     hb_page *page;
 *     if (hb_page_open(paths, 1, NULL, &page) != HB_OK ||
 *         hb_page_write_report(page, "report.html", NULL) != HB_OK)
 *         puts(hb_last_error());
 *     hb_page_close(page);
 */
#ifndef HIPBOARD_PAGE_H
#define HIPBOARD_PAGE_H

#include <hipboard/analysis.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hb_page hb_page;

/** Finds traces; a path is a trace file, a log directory or the directory of a run. Reads none yet.
 * HB_ERROR_NOT_FOUND when a path is not there or holds no trace. `options` may be NULL; traces are
 * read as with its `unify`. Belongs to one thread at a time. */
HB_API hb_result hb_page_open(const char *const *paths, size_t num_paths,
                              const hb_open_options *options, hb_page **page);
HB_API void hb_page_close(hb_page *page);

HB_API size_t hb_page_num_traces(const hb_page *page);

/** An answer to the page. */
typedef struct hb_page_answer {
    char *body; /* free it with hb_free() */
    size_t size;
    const char *type; /* as in Content-Type */
} hb_page_answer;

/** What the page gets for `address`, "route?name=value&...": "index.html", "page.js", "page.css";
 * "hb/about"; "hb/overview?trace=ID" and likewise steps, operators, kernels, gpu, memory, modules,
 * stacks, timeline; "hb/timeline/slices?trace=ID&from=NS&to=NS&cell=NS"; "hb/ranks?trace=ID" of all
 * traces of its run and cycle; "hb/compare". IDs stand in "hb/about". Reads a trace at the first
 * question about it. HB_ERROR_NOT_FOUND for other addresses, HB_ERROR_INVALID_ARGUMENT for odd
 * values; of a trace that cannot be read, why. */
HB_API hb_result hb_page_ask(hb_page *page, const char *address, hb_page_answer *answer);

typedef struct hb_report_options {
    size_t struct_size;
    uint64_t max_size; /* bytes of the file; 0: 10 MiB. What does not fit is said on the page */
    /** May be NULL. A trace that is left out of the report, and why. */
    void (*left_out)(void *context, const char *path, const char *reason);
    void *context;
} hb_report_options;

#define HB_REPORT_OPTIONS_INIT HB_SIZED_(hb_report_options)

/** Writes a page with all that it may ask for into one file, which appears whole or not at all.
 * Traces that cannot be read are left out; HB_ERROR_NOT_FOUND when that are all of them. */
HB_API hb_result hb_page_write_report(hb_page *page, const char *path,
                                      const hb_report_options *options);

#ifdef __cplusplus
}
#endif
#endif /* HIPBOARD_PAGE_H */
