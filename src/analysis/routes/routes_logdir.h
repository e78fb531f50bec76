/* SPDX-License-Identifier: MIT
 *
 * Routes to answers.
 */
#ifndef HB_ROUTES_ROUTES_LOGDIR_H
#define HB_ROUTES_ROUTES_LOGDIR_H

#include "logdir/logdir.h"
#include "logdir/views.h"
#include "plugin/answer_bodies.h"
#include "routes/url.h"

/** Appends the answer about one trace. `other` is the second trace of diff routes, or NULL. */
hb_result hb_query_profile(hb_analysis *a, hb_analysis *other, unsigned num_workers,
                           const hb_url *url, hb_emitter *out);

/** True for routes about one trace. */
bool hb_query_is_profile_route(const char *route);
bool hb_query_is_diff_route(const char *route);

hb_result hb_query_logdir(hb_logdir *logdir, const hb_url *url, hb_emitter *out);

#endif
