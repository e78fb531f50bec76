/* SPDX-License-Identifier: MIT
 *
 * A recorded session as a source of trace events.
 */
#ifndef HB_REPLAY_HOST_SOURCE_H
#define HB_REPLAY_HOST_SOURCE_H

#include "record/live_memory.h"
#include "record/session.h"
#include "trace/source.h"

/** A recorded metadata entry of this name becomes the trace's distributedInfo. */
#define HB_METADATA_DISTRIBUTED      "distributedInfo"
/** ... and one of this name, where calls of RCCL are in the session. */
#define HB_METADATA_DISTRIBUTED_RCCL "distributedInfo with RCCL"

/** What the session itself does not know. Texts are borrowed until the source is closed. */
typedef struct hb_record_source_options {
    const hb_metadata *metadata; /* put after the recorded entries */
    size_t num_metadata;
    /** Of sessions that are trusted in nothing: whether a recorded text is JSON. NULL: all are. */
    bool (*is_json)(const char *text);
    /** What is allocated as the session ends, for what was at its beginning. NULL: not known. */
    const hb_live_total *allocated;
    uint32_t num_allocated;
} hb_record_source_options;

/** Opens an ended session. The view must outlive the source. */
hb_result hb_record_source_open(const hb_spool_view *view, const hb_session *session,
                                const hb_record_source_options *options, hb_source **source);

#endif
