/* SPDX-License-Identifier: MIT
 *
 * An event log's two sides: the callers' (event_log.c), who put records into the queue, and the
 * background thread's (event_log_writer.c), which makes them a file.
 */
#ifndef HB_TFEVENTS_EVENT_LOG_INTERNAL_H
#define HB_TFEVENTS_EVENT_LOG_INTERNAL_H

#include <hipboard/event_log.h>

#include <pthread.h>

#include "base/base.h"
#include "base/lock.h"
#include "tfevents/event_file.h"
#include "tfevents/event_queue.h"
#include "tfevents/event_records.h"

struct hb_event_log {
    hb_event_queue queue;

    /* Callers'; atomic. */
    int running; /* enum hb_log_running */
    bool made;   /* the file is there, and its path stays */
    bool awake;  /* the thread is at work or about to be */
    int session; /* enum hb_log_session */
    int64_t step;
    uint64_t heap_bytes; /* in framed records on their way */
    uint64_t dropped_queue;

    /* Set by open. */
    char *dir;       /* absolute: a forked child may be elsewhere by then */
    hb_kept_file in; /* the same, open, or none; see hb_event_log_keep_dir() */
    char *suffix;
    uint64_t max_bytes, wake_bytes;
    uint32_t flush_interval_ms;

    /* Under the mutex. */
    hb_lock mutex;
    hb_news work, done;
    uint64_t flushes_asked, flushes_done;
    bool stopping, stopped;
    bool ends;         /* with the program: nobody flushes it any more */
    bool tried;        /* to make the file; the thread tries on */
    int64_t no_thread; /* CLOCK_MONOTONIC, when it could not be started; 0: it could */
    hb_result error;   /* the first since the last flush */
    char error_text[512];
    pthread_t thread;

    /* The thread's. Its lock is there for fork(), which waits until the file's memory is in
     * order. */
    hb_lock file_mutex;
    hb_event_file file;
    uint64_t written, dropped_file; /* atomic, for hb_event_log_count() */
    uint64_t dropped_told;          /* of both kinds, in the log itself */
    bool dropped_warned;            /* on stderr */
    bool warned, lost_warned;

    hb_event_log *next; /* of all open logs; under the registry's mutex */
};

/** For a log that nobody uses yet: its files go into this directory, wherever it is by then. Taken
 * over. */
void hb_event_log_keep_dir(hb_event_log *log, hb_kept_file dir);

/** Without a thread; with one that writes the file, and makes it where that failed; likewise, but
 * the program ends, and only its exit handlers and the library's threads still log. */
enum hb_log_running { HB_LOG_NOT_YET, HB_LOG_RUNS, HB_LOG_ENDS };

enum hb_log_session { HB_LOG_SESSION_NONE, HB_LOG_SESSION_OPEN, HB_LOG_SESSION_ENDED };

/** What is in the queue. */
enum { HB_EVENT_RECORD_SCALAR = 1, HB_EVENT_RECORD_FRAMED };

typedef struct hb_scalar_record {
    int64_t unix_ns, step;
    double value;
    char tag[]; /* with its NUL */
} hb_scalar_record;

/** Records made by the caller, ready for the file. */
typedef struct hb_framed_record {
    char *data; /* malloc()ed, the queue's */
    size_t size;
    uint64_t count;
} hb_framed_record;

/** As hb_event_log_open(), but the first record makes the file. Where that fails the log's thread
 * tries again with each flush, and records wait for it. */
hb_event_log *hb_event_log_new(const char *dir, const hb_event_log_options *options);

/** hb_event_log_hparams() with all that columns can have. */
hb_result hb_event_log_columns(hb_event_log *log, const hb_columns *columns);

/** Refuses what hb_event_log_hparams() refuses. */
hb_result hb_event_log_check_hparams(const hb_hparam *hparams, size_t num_hparams,
                                     const char *const *metrics, size_t num_metrics);

/** Makes the locks, also anew in a forked child. */
void hb_event_log_init_locks(hb_event_log *log);

/** Makes the file and starts the thread unless that is done; `needs_file`: not without the file.
 * Any thread. */
hb_result hb_event_log_start(hb_event_log *log, bool needs_file);

/** Stops the thread when it has written what is queued; false when it does not come to that, at
 * exit: then the log must stay. */
bool hb_event_log_stop(hb_event_log *log);

/** The thread need not wait for its time. */
void hb_event_log_wake(hb_event_log *log);

/** Waits until what is queued is in the file. */
void hb_event_log_wait(hb_event_log *log);

/** Says, once, how many records will not come into the file: those that were dropped, if it does
 * not tell of them itself, and `unsent`. When nothing more is written. */
void hb_event_log_tell_lost(hb_event_log *log, uint64_t unsent);

/** The first error since the last flush, as this call's; it is forgotten. */
hb_result hb_event_log_take_error(hb_event_log *log);

/** Logs that fork() and exit() have to know of. */
void hb_event_log_register(hb_event_log *log);
void hb_event_log_unregister(hb_event_log *log);

#endif
