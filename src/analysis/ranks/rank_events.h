/* SPDX-License-Identifier: MIT
 *
 * A digest of a trace file of any writer, made in one pass over its text.
 */
#ifndef HB_RANKS_RANK_EVENTS_H
#define HB_RANKS_RANK_EVENTS_H

#include <hipboard/analysis.h>

#include "digest/rank_digest.h"

/** Appends the digest of the trace at `path`, which is called `worker`, "" where nobody says so.
 * What is odd about the text is lived with; `cut`: it ends in the middle. HB_ERROR_FORMAT,
 * HB_ERROR_IO, HB_ERROR_STATE when progress() stops it. */
hb_result hb_rank_digest_of_file(const char *path, const char *worker,
                                 const hb_open_options *options, hb_buf *digest, bool *cut);

#endif
