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

typedef struct hb_page_options {
    size_t struct_size;
    const hb_open_options *open; /* how traces are read, always as with its `unify`; NULL: so */
    uint64_t max_memory; /* bytes that traces may take which nobody asks about just now; of more the
                          * one asked about longest ago is read again when it is asked about. 0: a
                          * quarter of the machine's */
    bool live;           /* paths are looked at again while questions come: what appears, changes
                          * and goes there does so in answers. They need hold no trace yet */
} hb_page_options;

#define HB_PAGE_OPTIONS_INIT HB_SIZED_(hb_page_options)

/** Finds traces; a path is a trace file, a log directory or the directory of a run. Reads none yet.
 * HB_ERROR_NOT_FOUND when a path is not there or holds no trace. `options` may be NULL. Any number
 * of threads may ask a page at once; about one trace they wait for each other. */
HB_API hb_result hb_page_open(const char *const *paths, size_t num_paths,
                              const hb_page_options *options, hb_page **page);
/** When nobody asks any more. */
HB_API void hb_page_close(hb_page *page);

HB_API size_t hb_page_num_traces(hb_page *page);

/** An answer to the page. */
typedef struct hb_page_answer {
    char *body; /* free it with hb_free() */
    size_t size;
    const char *type; /* as in Content-Type */
} hb_page_answer;

/** What the page gets for `address`, "route?name=value&...": "index.html", "page.js", "page.css";
 * "hb/about"; "hb/overview?trace=ID" and likewise steps, operators, kernels, gpu, memory, modules,
 * stacks, timeline; "hb/timeline/slices?trace=ID&from=NS&to=NS&cell=NS"; "hb/ranks?trace=ID" of all
 * traces of its run and cycle; "hb/compare"; "hb/changes", whose number is another one when
 * "hb/about" is; "hb/progress?trace=ID" while it is read; "hb/report?run=NAME", what
 * hb_page_write_report() writes of that run, or of all. IDs stand in "hb/about". Reads a trace at
 * the first question about it. HB_ERROR_NOT_FOUND for other addresses, HB_ERROR_INVALID_ARGUMENT
 * for odd values; of a trace that cannot be read, why. */
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
