/* SPDX-License-Identifier: MIT
 *
 * The traces that a page is about, and what was read of them.
 *
 * Many threads may ask a page at once. Its own lock is held briefly, and covers the list of traces
 * and who uses them; a trace's lock covers what was read of it, and is held while somebody asks
 * about it. Only who asks about all ranks of a run holds several of these, one such at a time
 * (hb_page.several), so that nobody waits in a circle. A trace's lock is taken first, then the
 * page's.
 */
#ifndef HB_PAGE_PAGE_TRACES_H
#define HB_PAGE_PAGE_TRACES_H

#include <hipboard/page.h>
#include <pthread.h>
#include <stdatomic.h>

#include "page/page_table.h"
#include "timeline/curves.h"

/** Which content a path has: another one, as far as anybody can tell without reading it. */
typedef struct hb_file_stamp {
    int64_t seconds, ns;
    uint64_t size, inode;
} hb_file_stamp;

/** When what was recorded begins and ends, on the file's clock. */
typedef struct hb_page_span {
    bool known;
    int64_t start, end;
} hb_page_span;

typedef struct hb_page_trace {
    hb_page *page;
    char *id; /* what addresses call it: "run/worker/span" as far as it has them */
    char *run, *worker, *span, *path;
    hb_file_stamp stamp;
    size_t place; /* in the list */
    /* How far reading is, in bytes; told and asked without a lock: a number on a screen. */
    _Atomic uint64_t done, size;

    /* under the page's lock */
    unsigned users;
    bool listed;    /* else it goes with its last user */
    char *error;    /* why it cannot be read; set once */
    uint64_t bytes; /* of memory, when its last user left */
    uint64_t use;   /* when that was: a number of hb_page.uses */

    pthread_mutex_t lock;  /* of the rest; see hb_page_lock_init() */
    hb_trace_file *file;   /* NULL: not read */
    hb_page_span when;     /* not known: not looked at yet */
    hb_insights *insights; /* NULL: not made */
    hb_timeline *timeline; /* likewise */
    hb_curves *counters;   /* likewise */
} hb_page_trace;

struct hb_page {
    hb_open_options open;
    bool live;
    bool one_run;        /* of several that are there */
    uint64_t max_memory; /* of all traces that nobody uses; 0: no bound */
    char **paths;        /* as they were given */
    size_t num_paths;

    pthread_mutex_t several; /* who uses more than one trace at a time has it */
    pthread_mutex_t finding; /* who looks what is there */
    int64_t found_at;        /* ms; under `finding` */

    pthread_mutex_t lock; /* of the rest */
    hb_page_trace **traces;
    size_t num_traces;
    uint64_t generation; /* of the list */
    uint64_t uses;
};

/** Looks what is there. What was read of files that are the same is kept. HB_ERROR_NOT_FOUND: a
 * path is not there, or holds no trace; not so of a live page. */
hb_result hb_page_find(hb_page *page);
/** The same, of a live page, unless somebody has just looked. */
hb_result hb_page_refresh(hb_page *page);
/** Leaves out all other runs; before anybody asks. */
void hb_page_keep_run(hb_page *page, const char *run);
/** Nobody asks any more. */
void hb_page_forget(hb_page *page);
/** Of one that is not listed and has no users. */
void hb_page_free_trace(hb_page_trace *trace);

/** A trace's lock: who has it may take it again, as a report does that asks about what it uses. */
void hb_page_lock_init(pthread_mutex_t *lock);

/** The trace of that name, read, until hb_page_leave(); waits for others who use it. The error is
 * the reader's, or that there is none. */
hb_result hb_page_use(hb_page *page, const char *id, hb_page_trace **trace);
void hb_page_leave(hb_page_trace *trace);

/** Those of the run and the cycle of `id`, in the list's order, kept from going, but neither locked
 * nor read: hb_page_enter() does that, hb_page_leave() ends it for each, and hb_page_end_group()
 * for all. */
typedef struct hb_page_group {
    hb_page *page;
    hb_page_trace **items;
    size_t count, entered;
} hb_page_group;
hb_result hb_page_begin_group(hb_page *page, const char *id, hb_page_group *group);
/** The next one. */
hb_result hb_page_enter(hb_page_group *group, hb_page_trace **trace);
void hb_page_end_group(hb_page_group *group);

/** Of a trace that one uses: gives the memory back; it may be read again. */
void hb_page_unread(hb_page_trace *trace);

/** Made at the first call, of a trace that one uses. */
hb_result hb_page_insights(hb_page_trace *trace, hb_insights **insights);
hb_page_span hb_page_span_of(hb_page_trace *trace);
hb_result hb_page_timeline(hb_page_trace *trace, hb_timeline **timeline);
hb_result hb_page_curves(hb_page_trace *trace, hb_curves **counters);

#endif
