/* SPDX-License-Identifier: MIT
 *
 * Where records live until they are traces. Recording threads fill hot chunks: mapped pages of a
 * hidden file where that is safe, so that a killed process's records can be recovered, else memory.
 * A background thread codes full ones and writes them behind, and gives the chunks back; so a
 * recording thread makes no system call and waits for no disk.
 *
 * Locks: `lock` guards the records' places and the sessions; nothing is read or written under it,
 * and no recording thread takes it. `file_lock` guards the descriptor. fork() waits for neither: a
 * child uses none of what they guard.
 */
#ifndef HB_RECORD_SPOOL_H
#define HB_RECORD_SPOOL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/files.h"
#include "base/lock.h"
#include "record/free_space.h"
#include "record/pool.h"
#include "record/records.h"
#include "record/strings.h"

/* Thousands of cycles may wait to be written; what is sought by number is in a short list. */
enum { HB_SPOOL_LISTS = 256 };

typedef struct hb_spool {
    struct hb_spool *next_open;
    char *base;      /* NULL: not open */
    uint32_t serial; /* no other of this process has it */
    hb_chunk_pool pool;
    hb_spool_header head;
    hb_kept_file file; /* none: in memory */
    hb_kept_file dir;  /* that it is in, or none */
    char *path;        /* of the file, absolute, or NULL */
    bool lacks_file;   /* it could not be made, where one was wanted */
    hb_lock lock, file_lock;
    hb_news changed;
    _Atomic uint32_t held;   /* see hb_spool_holds() */
    _Atomic uint64_t unread; /* parts that did not come back from the file */
    _Atomic int read_error;  /* why the last of them did not; 0: it is damaged, or cut off */
    /* under `lock` */
    hb_records *records[HB_SPOOL_LISTS]; /* of sessions that are not released, by their number */
    hb_buf unneeded;                     /* hb_extents of the file that nobody needs any more */
    uint32_t being_written;              /* the chunk that the writer is at */
    unsigned recording;                  /* sessions */
    uint64_t kept_bytes;                 /* of parts in file and memory */
    /* the writer's */
    pthread_t writer;
    bool writer_runs, writer_ended;
    hb_news ended;
    _Atomic bool writer_ends;
    bool file_full;
    uint64_t tail;          /* behind the last segment */
    hb_buf space;           /* zeros before it; see free_space.h */
    uint64_t floor;         /* below it the file is not cut off */
    uint64_t names_written; /* the string table is in the file up to here, or in hot chunks */
    void *scratch;
    /* under the string table's lock */
    hb_strings_mirror mirror;
    uint32_t names_chunk;      /* takes in new names; 0: none */
    _Atomic bool names_missed; /* some are only in the table: the writer writes them */
} hb_spool;

typedef struct hb_spool_options {
    const char *dir; /* NULL or "": memory */
    const char *worker_name;
    uint64_t max_bytes; /* of chunks and of what is written of them */
} hb_spool_options;

/** Falls back to memory when the directory is not fit (hb_dir_is_mappable()) or the file can't be
 * made: `lacks_file` tells of the latter. Fails only without memory or threads. */
hb_result hb_spool_open(hb_spool *spool, const hb_spool_options *options);

/** Ends the writer; removes the file unless `keep`. False when a thread that is silent may still
 * write there: then the memory stays, also that of `spool`. */
bool hb_spool_close(hb_spool *spool, bool keep);

/** In a forked child: lets go of the mapping and the file, which stay the parent's. */
void hb_spool_abandon(hb_spool *spool);

/** The program ends: files of open spools go whose sessions are all traces. */
void hb_spools_at_exit(void);

/** Whether there is a session that is no trace yet: then the file must stay. */
bool hb_spool_has_unsaved(hb_spool *spool);

/** A session's table entry, zeroed; NULL when there is no room. */
hb_session *hb_spool_new_session(hb_spool *spool);

/** enum hb_session_state. Release, with the acquire in hb_session_state(): whoever sees a state
 * sees what was written to the entry before, and who finds it NONE may have it. */
static inline void hb_session_set_state(hb_session *session, uint32_t state)
{
    __atomic_store_n(&session->state, state, __ATOMIC_RELEASE);
}

static inline uint32_t hb_session_state(const hb_session *session)
{
    return __atomic_load_n(&session->state, __ATOMIC_ACQUIRE);
}

/** A chunk of that session, which lay in memory only, is in the file. Under the lock. */
void hb_spool_no_more_in_memory(hb_spool *spool, uint32_t number);

/** The list that a session's records are in. Under the lock. */
static inline hb_records **hb_spool_list(hb_spool *spool, uint32_t session)
{
    return &spool->records[session % HB_SPOOL_LISTS];
}

/** The records of a session; NULL when there are none. Under the lock, or of an ended one. */
hb_records *hb_spool_records(hb_spool *spool, uint32_t session);

/** The file's bytes; false when they can't be read. */
bool hb_spool_read(hb_spool *spool, uint64_t offset, void *to, size_t bytes);

/** HB_ERROR_IO when more parts than `before` have been read in vain: what was made of them lacks
 * their records, which the file may still have. */
hb_result hb_spool_was_read(const hb_spool *spool, uint64_t before);

/** Whether a thread that did not leave a recording call of that ended session, or of a later one,
 * may still write to its chunks: until then they are not used again. */
bool hb_spool_holds(hb_spool *spool, uint32_t session);

/* ---- for the writer ---- */

/** Chunks that a file has where the disk has room, 8 MiB: what all threads fill while the writer is
 * kept from running. */
#define HB_SPOOL_HOT 128u

/** Maps more hot chunks of the file, as long as they are a small part of the free disk. */
bool hb_spool_add_hot(hb_spool *spool, uint32_t count);
/** Writes a segment, whose head stands before its payload in `segment`, where there is space, or
 * behind the others; `*offset`: of its payload. */
bool hb_spool_append(hb_spool *spool, hb_segment *segment, uint64_t *offset);
/** Gives an extent, which a segment filled, to the file system, and to later segments. */
void hb_spool_punch(hb_spool *spool, hb_extent extent);
/** Cuts the file off at `bytes`. */
void hb_spool_cut(hb_spool *spool, uint64_t bytes);
/** Tells the pool how much of the limit is taken by what was written. Under the lock. */
void hb_spool_account(hb_spool *spool);

/** In a forked child: no spool is open. */
void hb_spools_after_fork(void);

/** Starts and ends the thread. */
hb_result hb_spool_writer_start(hb_spool *spool);
bool hb_spool_writer_end(hb_spool *spool); /* false at exit when it does not: the spool must stay */
/** It has something to do; or there is something to record. */
void hb_spool_writer_wake(hb_spool *spool);
/** Writes all names that are in the table now. The writer, or before it runs. */
void hb_spool_write_names(hb_spool *spool);

/** Under the lock, or of a claimed one: the records in a chunk, by sessions; NULL when there are
 * none (more). */
const hb_chunk *hb_spool_events(hb_spool *spool, uint32_t index);
const hb_chunk *hb_spool_next_events(hb_spool *spool, const hb_chunk *chunk);

/** Under the lock: gives back what holds a part that is kept nowhere any more. */
void hb_spool_forget_part(hb_spool *spool, const hb_part *part);

/** Under the lock: a part of a session's is dropped. */
void hb_spool_drop_part(hb_spool *spool, const hb_part *part);

/** Under the lock: when half of the room is taken, the oldest of a session that goes on is dropped,
 * unless a snapshot of it is read. */
void hb_spool_make_room(hb_spool *spool, hb_records *records);

/** Under the lock: whether all sessions with records in a chunk are gone, and nobody can be writing
 * to it. */
bool hb_spool_is_unneeded(hb_spool *spool, uint32_t index);

static inline hb_chunk *hb_spool_chunk(const hb_spool *spool, uint32_t index)
{
    return hb_pool_chunk(&spool->pool, index);
}

#endif
