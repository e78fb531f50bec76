/* SPDX-License-Identifier: MIT
 *
 * One recorded cycle in a spool: begun, ended, read, given back.
 */
#ifndef HB_RECORD_SESSION_H
#define HB_RECORD_SESSION_H

#include "record/record.h"
#include "trace/event.h"

/** Starts recording: from now until hb_session_end() all threads record into a new session, which
 * is this process's alone, also where another has not been stopped yet. HB_ERROR_LIMIT when the
 * spool is full. */
hb_result hb_session_begin(hb_spool *spool, uint32_t flags, int64_t cycle, hb_session **session);

/** Refreshes the session's newest clock pair, so that a crash's records can be dated. One thread at
 * a time. */
void hb_session_tick(hb_session *session);

/** Stops recording: no thread begins another record in the session. Does not wait. */
void hb_session_stop(hb_session *session);

/** To be called before a stopped session is read or released: waits until every thread has left the
 * recording call that it was in, for 100 ms at most; the last records of others are counted as
 * interrupted. When it returns, its records are what they will be, and are read where they lie; the
 * writer goes on putting them into the file. Any thread, any number of times. */
void hb_session_settle(hb_spool *spool, hb_session *session);

/** Both, of the session that is recording. */
void hb_session_end(hb_session *session);

/** Adds what threads lost that could not tell of which session it was. */
void hb_session_count_early(hb_session *session);

/** What the session lost, in the words of the public API. After hb_session_settle(). */
hb_lost hb_session_lost(const hb_session *session);

/** Gives the session's chunks and what was written of them back to the spool. */
void hb_session_release(hb_spool *spool, hb_session *session);

/* ---- a session that goes on: for flight recorders ---- */

/** Of a session begun with HB_SESSION_RING: drops, chunk by chunk, records that ended before
 * `horizon` (ticks), and more, oldest first, as long as what is kept takes over `most_bytes` of the
 * file (or memory). Of what metadata and devices were told in, a small part stays longer. The space
 * is used again. `kept`: a time near to the horizon, for readers. Any thread that does not record.
 * By itself the spool drops the oldest as its room runs out. While a snapshot of it is read neither
 * drops anything. */
void hb_session_drop(hb_spool *spool, hb_session *session, uint64_t horizon, uint64_t most_bytes,
                     const hb_clock_pair *kept);

/** What a recording session has by now, as a session that was stopped, with a trace id of its own:
 * its copy, to be read by any source through hb_snapshot.view. Recording goes on meanwhile; open
 * scopes are unfinished. Close it before the spool, and before hb_session_release() of its session.
 * HB_ERROR_NO_MEMORY. */
typedef struct hb_snapshot hb_snapshot;
hb_result hb_session_snapshot(hb_spool *spool, hb_session *session, hb_snapshot **snapshot);
void hb_snapshot_close(hb_snapshot *snapshot);

/* ---- reading ---- */

/** A spool to read from: this process's own, or a recovered one that is trusted in nothing. */
typedef struct hb_spool_view {
    const hb_spool_header *head;
    /** The string of an id; {NULL, 0} when there is none. */
    hb_str (*string)(const struct hb_spool_view *view, uint32_t id);
    /** Where a session's records are, closed; never NULL. */
    const hb_records *(*records)(const struct hb_spool_view *view, const hb_session *session);
    /** A part's records, into `raw` of part->raw_bytes; false when they are gone or damaged. */
    bool (*load)(const struct hb_spool_view *view, uint32_t session,
                 const hb_thread_records *thread, const hb_part *part, char *raw);
    /** There is no memory to load a part into: who asks whether all was read is told. */
    void (*has_no_room)(const struct hb_spool_view *view);
    void *from;        /* their own */
    bool same_process; /* program counters are of this process's code */
    hb_str code;       /* else what its process had mapped (symbols/loaded_code.h), if known */
} hb_spool_view;

struct hb_snapshot {
    hb_spool_view view;
    hb_session session;
    hb_records *records;
    hb_spool *spool;
};

/** The view of this process's spool: of sessions that have ended. */
hb_spool_view hb_spool_view_own(hb_spool *spool);

/** Decodes a part's bytes as they stand in files and memory. */
bool hb_part_decode(const hb_part *part, const unsigned char *coded, char *raw);

/** A walk over a thread's records in the order of their start. Records are copies of the cursor's
 * own, good until it comes to the next part: copy what is kept longer, or keep its hb_record_ref.
 */
typedef struct hb_cursor {
    const hb_spool_view *view;
    const hb_thread_records *thread;
    uint32_t session;
    uint32_t part;  /* the next one */
    uint32_t types; /* parts without records of these are passed over */
    char *raw;
    size_t capacity;
    char *at, *end;
    uint64_t next_id;
    hb_record *last;
} hb_cursor;

#define HB_TYPES_ALL UINT32_MAX

/** To be closed with hb_cursor_close(). */
hb_cursor hb_cursor_open(const hb_spool_view *view, const hb_records *records,
                         const hb_thread_records *thread, uint32_t types);
void hb_cursor_close(hb_cursor *cursor);

/** The next record, of any type, with the External id of a scope in *id (0 for others); NULL at the
 * end. */
hb_record *hb_cursor_next(hb_cursor *cursor, uint64_t *id);

/* ---- records kept for later ---- */

/** Where a record is: 8 bytes to keep instead of a copy. */
typedef uint64_t hb_record_ref;

/** Of the record that the cursor gave last; `thread` is the place in the order of threads. */
hb_record_ref hb_cursor_ref(const hb_cursor *cursor, uint32_t thread);

/** Reads records by their refs, some parts at a time. */
typedef struct hb_record_reader {
    const hb_spool_view *view;
    const hb_records *records;
    struct hb_read_part *parts;
    uint32_t clock;
} hb_record_reader;

void hb_record_reader_init(hb_record_reader *reader, const hb_spool_view *view,
                           const hb_records *records);
void hb_record_reader_free(hb_record_reader *reader);

/** The record, good until 30 more were read; NULL when it can't be read. */
const hb_record *hb_record_read(hb_record_reader *reader, hb_record_ref ref);

#endif
