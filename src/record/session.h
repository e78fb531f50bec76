/* SPDX-License-Identifier: MIT
 *
 * One recorded cycle in a spool: begun, ended, read, given back.
 */
#ifndef HB_RECORD_SESSION_H
#define HB_RECORD_SESSION_H

#include "record/record.h"
#include "trace/event.h"

/** A spool to read from: this process's own, or a recovered one that is trusted in nothing. */
typedef struct hb_spool_view {
    char *base;
    uint32_t num_chunks;
    /** The string of an id; {NULL, 0} when there is none. */
    hb_str (*string)(const struct hb_spool_view *view, uint32_t id);
    const struct hb_string_runs *runs; /* recovered spools */
    bool same_process;                 /* program counters mean something */
} hb_spool_view;

/** The view of this process's spool. */
hb_spool_view hb_spool_view_own(const hb_spool *spool);

/** Starts recording: from now until hb_session_end() all threads record into a new session.
 * HB_ERROR_LIMIT when the spool is full. */
hb_result hb_session_begin(hb_spool *spool, uint32_t flags, int64_t cycle, hb_session **session);

/** Refreshes the session's newest clock pair, so that a crash's records can be dated. One thread at
 * a time. */
void hb_session_tick(hb_session *session);

/** Stops recording; when it returns no thread writes to the session any more. */
void hb_session_end(hb_session *session);

/** What the session lost, in the words of the public API. After hb_session_end(). */
hb_lost hb_session_lost(const hb_session *session);

/** Gives the session's chunks back to the spool. */
void hb_session_release(hb_spool *spool, hb_session *session);

/** A session's thread: a walk over its records in the order of their start. */
typedef struct hb_cursor {
    const hb_spool_view *view;
    hb_chunk *chunk;
    char *at, *end;
    uint64_t next_id;
    uint32_t chunks_left; /* against loops in damaged spools */
} hb_cursor;

hb_cursor hb_cursor_open(const hb_spool_view *view, uint32_t first_chunk);

/** The next record, with the External id of a scope in *id (0 for others); NULL at the end. */
hb_record *hb_cursor_next(hb_cursor *cursor, uint64_t *id);

/** The chunk of an index; NULL when the spool has none of that kind there. */
hb_chunk *hb_view_chunk(const hb_spool_view *view, uint32_t index, enum hb_chunk_kind kind);
hb_session *hb_view_session(const hb_spool_view *view, uint32_t index);

/** Fills in what needs the order of all threads' records: modules' ids and parents, and memory
 * totals that the program left to us. Done once; after hb_session_end(). */
hb_result hb_session_finalize(const hb_spool_view *view, hb_session *session);
/** In a forked child. */
void hb_finalize_after_fork(void);

#endif
