/* SPDX-License-Identifier: MIT
 *
 * A profiler's state, shared by the files of this room.
 */
#ifndef HB_PROFILER_PROFILER_H
#define HB_PROFILER_PROFILER_H

#include <pthread.h>
#include <sys/types.h>

#include <hipboard/event_log.h>

#include "base/base.h"
#include "base/lock.h"
#include "digest/cycle_marks.h"
#include "profiler/demand.h"
#include "profiler/git_commit.h"
#include "profiler/log_dir.h"
#include "profiler/rank_digests.h"
#include "profiler/retention.h"
#include "profiler/ring.h"
#include "profiler/slow_steps.h"
#include "record/alarm.h"
#include "record/session.h"
#include "replay/host_source.h"
#include "write/write.h"

/** A finished cycle's records. They are given back to the spool when nobody holds the cycle any
 * more: the profiler (until the next cycle, or always with acc_events) and jobs that write it. */
struct hb_cycle;

/** Where a trace goes. */
typedef struct hb_trace_place {
    char *path;      /* from malloc */
    hb_log_dir *dir; /* that it is in, held; or NULL */
    unsigned flags;  /* enum hb_export_flags */
} hb_trace_place;

/** A cycle on its way into a file; without a path it is only settled, see hb_session_settle(). */
typedef struct hb_job {
    struct hb_cycle *cycle; /* NULL: what a ring has kept */
    struct hb_ring_dump *dump;
    char *path;       /* or NULL: then the job is its cycle's own */
    hb_log_dir *dir;  /* that it is in, held; or NULL */
    hb_kept_file in;  /* the same, open, while it is written; or none */
    unsigned flags;   /* enum hb_export_flags */
    int64_t step_num; /* the step's number when it was queued */
    int64_t cpu_ns;   /* the background thread's processor time when it began with it */
    uint64_t request; /* that asked for it; 0: none */
    struct hb_job *next;
} hb_job;

typedef struct hb_cycle {
    hb_session *session;
    hb_job settles;   /* queued first of its jobs */
    uint32_t holders; /* under hb_profiler.lock */
    bool failed;      /* could not be written: the records stay, for recovery */
    struct hb_cycle *next;
} hb_cycle;

typedef struct hb_kept_metadata {
    uint32_t key, json; /* string ids */
    struct hb_kept_metadata *next;
} hb_kept_metadata;

struct hb_profiler {
    hb_profiler_options options; /* with our own copies of what it points to, below */
    char *spool_dir;             /* NULL: choose */
    bool wants_operators;        /* hb_operators_attach() */
    bool keeps_memory;           /* hb_live_memory_keep() */
    bool sync;                   /* traces are on the disk before their records go */
    char *distributed_json;      /* or NULL */
    char *rccl_json;             /* the same of a cycle with RCCL, where no backend was named */
    pid_t pid;
    _Atomic pid_t inside; /* the thread that is in a call which only one may be in; 0: none */
    _Atomic pid_t ends;   /* the thread that runs the exit handlers: all others are refused */
    bool started, paused; /* paused: another profiler records in its place */
    int64_t step_num, cycle;
    int64_t numbered_from; /* a step's number less its step_num */
    hb_profiler_action action;
    hb_scope step_scope;
    hb_spool spool;                     /* base NULL: not open */
    hb_session *session;                /* being recorded, or NULL; changed under `lock` */
    hb_cycle *first_cycle, *last_cycle; /* held here: the last one; with acc_events all */
    hb_profiler *next_handed;           /* of those whose stop did not wait; see profiler.c */
    bool handed;
    bool in_handler;
    bool doomed;            /* destroyed in its handler: to be done when that has returned */
    atomic_bool destroying; /* it is being done, or the program ends */
    bool warned_lost, warned_directory;
    unsigned unwritten;                 /* cycles; the worker's, while it runs */
    bool logs_events;                   /* into an event file beside its traces */
    int64_t ranks;                      /* of the distributed run; 1: not distributed */
    hb_kept_metadata *preset, *pending; /* for every cycle to come; for the next one */

    /* what it records when it is asked to; see control.h */
    struct hb_control *control;    /* or NULL */
    char *control_file;            /* or NULL */
    hb_alarm_limit trigger_metric; /* name "": none */
    hb_demand demand;
    hb_ring ring;
    hb_slow_steps slow_steps;
    bool handler_waits;      /* for a thread of the program, with a cycle that ours has ended */
    hb_retention retention;  /* the worker's, while it runs */
    hb_rank_digests digests; /* the worker's */

    /* the background thread */
    hb_lock lock;
    hb_news work, done; /* for it; its own */
    pthread_t worker;
    bool worker_runs, worker_ends, worker_ended;
    int idle_ms;             /* of the thread, since it last stamped the session */
    hb_event_log *event_log; /* or NULL; see run_log.h */
    bool described;          /* what the run is stands in the event log */
    bool warned_event_log;
    char git_commit[HB_GIT_COMMIT_SIZE]; /* "": none */
    hb_job *jobs, **jobs_end;            /* waiting, oldest first; where the next one goes */
    hb_job *running;                     /* being written */
    uint64_t jobs_queued, jobs_done;
    hb_result job_result; /* the first failure that nobody was told of */
    char job_error[1024];
};

/** Any number may have been given to any step: beyond the last it wraps. */
static inline int64_t hb_number_of_step(const hb_profiler *prof, int64_t step)
{
    return (int64_t)((uint64_t)step + (uint64_t)prof->numbered_from);
}

/** The present step's number in traces and event files. */
static inline int64_t hb_step_number(const hb_profiler *prof)
{
    return hb_number_of_step(prof, prof->step_num);
}

/* ---- profiler.c ---- */

/** What is recorded of the present cycle goes to the handler; recording ends until
 * hb_profiler_resume(). */
void hb_profiler_pause(hb_profiler *prof);
void hb_profiler_resume(hb_profiler *prof);

/* ---- worker.c ---- */

/** Starts the background thread if it does not run. */
hb_result hb_worker_start(hb_profiler *prof);
/** Writes what is queued and ends the thread. False at exit when it does not come to its end: then
 * the profiler must stay. */
bool hb_worker_end(hb_profiler *prof);
/** Says, once, how many cycles could not be written, if that is more than the one that was told of
 * when it happened. */
void hb_worker_tell_unwritten(hb_profiler *prof);
/** Queues what settles a new cycle; the program's thread does not wait. */
void hb_worker_settle(hb_profiler *prof, hb_cycle *cycle);
/** Queues `cycle`, or what a ring has kept; takes what `place` has, and `dump`. */
hb_result hb_worker_submit(hb_profiler *prof, hb_cycle *cycle, const hb_trace_place *place);
hb_result hb_worker_submit_dump(hb_profiler *prof, struct hb_ring_dump *dump,
                                const hb_trace_place *place);
/** The first background failure that nobody was told of yet; HB_OK when there is none. */
hb_result hb_worker_result(hb_profiler *prof);
/** Until what is queued is done, whatever others queue meanwhile. */
void hb_worker_wait(hb_profiler *prof);

/** One holder less. */
void hb_cycle_drop(hb_profiler *prof, hb_cycle *cycle);
/** It is a trace now: if the process is killed while its records are still kept, recovery makes no
 * second one. */
void hb_cycle_saved(hb_profiler *prof, const hb_cycle *cycle);

/* ---- export.c ---- */

/** Whether there is a cycle to look at, and now is the time. */
hb_result hb_profiler_check_readable(const hb_profiler *prof);
/** A session as a source, as hb_device_source_open(), with time slices if it wants them. */
hb_result hb_session_source_open(const hb_spool_view *view, const hb_session *session,
                                 const hb_record_source_options *options, hb_source **source);

/** Writes a source to a new file, as hb_cycle_write() does. */
hb_result hb_write_trace_new(hb_source *source, char *path, const hb_write_options *options,
                             hb_write_stats *stats);

/** Whether nothing was recorded in it but metadata. */
bool hb_session_is_empty(const hb_spool_view *view, const hb_session *session);

/** Writes a cycle to `path`, a new file or one that may be there; `in`: a new file's directory, as
 * of hb_write_options. A new name that somebody else has taken is counted up, in `path`. `marks`
 * are gathered on the way; NULL: none. Any thread.
 */
enum hb_target { HB_NEW_FILE, HB_ANY_FILE };
hb_result hb_cycle_write(hb_profiler *prof, hb_cycle *cycle, char *path, unsigned flags,
                         enum hb_target target, const hb_kept_file *in, hb_cycle_marks *marks);

/* ---- handlers.c ---- */

/** Refuses a handler with wrong arguments. */
hb_result hb_handler_check(const hb_trace_handler *handler);
/** Of all such handlers in it: makes their directories' paths absolute; opens them. */
hb_result hb_handler_fix_dirs(const hb_trace_handler *handler);
hb_result hb_handler_open_dirs(const hb_trace_handler *handler);
hb_result hb_handler_call(const hb_trace_handler *handler, hb_profiler *prof);
/** Whether a function of hipboard's made it. */
bool hb_handler_is_ours(const hb_trace_handler *handler);
/** Where its tensorboard handler puts a trace that is asked for now. */
hb_result hb_handler_place(const hb_profiler *prof, hb_trace_place *place);
/** Whether it is hipboard's and calls nothing of the program's, so that any thread may call it. */
bool hb_handler_is_own(const hb_trace_handler *handler);
void hb_handler_destroy(const hb_trace_handler *handler);
/* Of the first one made by hb_tensorboard_trace_handler() that `handler` is or has in its chain: */
/** Its directory; NULL: there is none. */
const char *hb_handler_dir(const hb_trace_handler *handler);
/** As an open directory; see hb_log_dir_keep(). */
hb_kept_file hb_handler_keep_dir(const hb_trace_handler *handler);
/** As a path that works now; see hb_log_dir_path(). */
const char *hb_handler_dir_now(const hb_trace_handler *handler, char buf[HB_LOG_DIR_BUF]);
/** Whether it is to keep an event file. */
bool hb_handler_logs_events(const hb_trace_handler *handler);
const char *hb_handler_worker(const hb_trace_handler *handler);

#endif
