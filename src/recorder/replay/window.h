/* SPDX-License-Identifier: MIT
 *
 * A source of what had not ended at some moment: the rest of a session of which only the end is
 * kept. What had begun before keeps its beginning.
 */
#ifndef HB_REPLAY_WINDOW_H
#define HB_REPLAY_WINDOW_H

#include "trace/source.h"

/** Metadata: the seconds of recording that a trace of a flight recorder has. */
#define HB_METADATA_RING "hipboard_ring_seconds"

/** Takes `*source` over, and closes it when this fails. Its info tells the length of what is left,
 * as HB_METADATA_RING. */
hb_result hb_window_open(hb_source **source, int64_t from_ns);

#endif
