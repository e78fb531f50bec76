/* SPDX-License-Identifier: MIT
 *
 * Routes to answers.
 */
#ifndef HB_QUERY_QUERY_H
#define HB_QUERY_QUERY_H

#include "query/logdir.h"
#include "query/trace_file.h"
#include "query/url.h"
#include "report/answers.h"

/** A caller's progress() as a reader calls it, with a file's path: hb_read_options.progress and its
 * context. */
typedef struct hb_file_progress {
    const hb_open_options *options;
    const char *path;
} hb_file_progress;
bool hb_file_progress_report(void *context, uint64_t bytes, uint64_t total);

/** Analysed at the first call; NULL when the plugin could not, which hb_last_error() tells. */
hb_analysis *hb_trace_file_analysis(hb_trace_file *file);

/** Appends the answer about one trace. `other` is the second trace of diff routes, or NULL. */
hb_result hb_query_profile(hb_analysis *a, hb_analysis *other, unsigned num_workers,
                           const hb_url *url, hb_emitter *out);

/** True for routes about one trace. */
bool hb_query_is_profile_route(const char *route);
bool hb_query_is_diff_route(const char *route);

hb_result hb_query_logdir(hb_logdir *logdir, const hb_url *url, hb_emitter *out);

#endif
