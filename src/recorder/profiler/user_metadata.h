/* SPDX-License-Identifier: MIT
 *
 * What users add to the traces: key by key, and before the start.
 */
#ifndef HB_PROFILER_USER_METADATA_H
#define HB_PROFILER_USER_METADATA_H

#include "profiler/profiler.h"

/* why a cycle was recorded, and the request of a whole job; texts */
#define HB_METADATA_REASON     "hipboard_reason"
#define HB_METADATA_REQUEST_ID "hipboard_request_id"

/** Puts what was preset or added between cycles, and distributedInfo, into the session that just
 * began. */
void hb_metadata_emit(hb_profiler *prof);

/** What belongs to every cycle once more into the running session, of which its first records may
 * be gone. Under hb_arbitration_lock(). */
void hb_metadata_repeat(const hb_profiler *prof);

/** Forgets what was preset or added between cycles. */
void hb_metadata_drop(hb_profiler *prof);

#endif
