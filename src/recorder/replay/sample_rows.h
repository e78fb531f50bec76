/* SPDX-License-Identifier: MIT
 *
 * Samples of the program as rows: what stood on a thread's stack in samples that follow each other
 * was there between them. Each sampled thread gets a row of such frames beside its own.
 */
#ifndef HB_REPLAY_SAMPLE_ROWS_H
#define HB_REPLAY_SAMPLE_ROWS_H

#include "record/session.h"
#include "trace/source.h"

/** The category of such frames. */
#define HB_SAMPLE_CATEGORY "cpu_sample"

/** Puts a source with the session's samples around *source, which it then owns, where there are
 * some. */
hb_result hb_put_samples(const hb_spool_view *view, const hb_session *session, hb_source **source);

#endif
