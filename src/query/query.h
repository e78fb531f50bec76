/* SPDX-License-Identifier: MIT
 *
 * Routes to answers.
 */
#ifndef HB_QUERY_QUERY_H
#define HB_QUERY_QUERY_H

#include "query/logdir.h"
#include "query/url.h"
#include "query/views.h"
#include "report/answers.h"

/** Appends the answer about one trace. `other` is the second trace of diff routes, or NULL. */
hb_result hb_query_profile(hb_analysis *a, hb_analysis *other, unsigned num_workers,
                           const hb_url *url, hb_emitter *out);

/** True for routes about one trace. */
bool hb_query_is_profile_route(const char *route);
bool hb_query_is_diff_route(const char *route);

hb_result hb_query_logdir(hb_logdir *logdir, const hb_url *url, hb_emitter *out);

#endif
