/* SPDX-License-Identifier: MIT
 *
 * A recorded session with what HIP did, as a source of trace events.
 */
#ifndef HB_REPLAY_DEVICE_SOURCE_H
#define HB_REPLAY_DEVICE_SOURCE_H

#include "replay/host_source.h"

/** A recorded session as a source, as hb_record_source_open(), with its HIP calls and device work.
 * Waits for the reports of work that was still to be done at the session's end. */
hb_result hb_device_source_open(const hb_spool_view *view, const hb_session *session,
                                const hb_record_source_options *options, hb_source **source);

#endif
