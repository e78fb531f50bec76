/* SPDX-License-Identifier: MIT
 *
 * A flight recorder: one session that goes on for as long as the profiler runs, of which only the
 * last seconds, steps or bytes are kept, and which is written when there is reason to, while it
 * goes on. hipboard's control thread drops what is too old and looks at what there is; the
 * background thread writes it, and until it has, nothing is dropped.
 */
#ifndef HB_PROFILER_RING_H
#define HB_PROFILER_RING_H

#include <hipboard/hipboard.h>

#include "record/session.h"
#include "record/thread.h"
#include "trace/source.h"

#define HB_RING_MARKS 32u

/** What was known at some moment. */
typedef struct hb_ring_mark {
    hb_clock_pair time;
    uint64_t lost[HB_LOST_CAUSES]; /* by then */
} hb_ring_mark;

typedef struct hb_ring {
    /* under hb_arbitration_lock() */
    uint64_t *step_began; /* ticks, of the last ring_steps and one more; or NULL */
    uint64_t steps;       /* that began */
    /* the control thread's, under hb_arbitration_lock() */
    hb_ring_mark marks[HB_RING_MARKS]; /* of the time that is kept; the first is from before */
    uint32_t num_marks;
    int64_t drop_at;    /* CLOCK_MONOTONIC, ns */
    bool holds;         /* it is to be written, and what was kept when that was asked for stays: */
    uint64_t held_from; /* ticks */
    /* under hb_profiler.lock */
    bool is_read; /* a look at the session is being written, and what it saw must stay */
} hb_ring;

/** A look at what is kept, to be written. */
typedef struct hb_ring_dump hb_ring_dump;

/** Whether it is one. */
bool hb_ring_wanted(const hb_profiler_options *options);
hb_result hb_ring_check(const hb_profiler_options *options);
hb_result hb_ring_init(hb_profiler *prof);
void hb_ring_free(hb_profiler *prof);

/** A session begins. */
void hb_ring_begin(hb_profiler *prof);
/** The next step is about to begin. */
void hb_ring_step(hb_profiler *prof);

/** Drops what is too old, and hands what is kept to the background thread when that was asked for
 * and is due; when to come again, by CLOCK_MONOTONIC in ns. `at_once`: nothing more is waited for.
 * The control thread, not under hb_arbitration_lock(). */
int64_t hb_ring_mind(hb_profiler *prof, bool at_once);

/** Whether a look at what is kept is still being written. */
bool hb_ring_is_read(hb_profiler *prof);
/** Whether it is a ring that will be written in any case, when that is over. */
bool hb_ring_is_about_to_be_written(hb_profiler *prof);

/* for the background thread */
struct hb_job;
hb_result hb_ring_dump_write(hb_profiler *prof, struct hb_job *job);
bool hb_ring_dump_is_empty(const hb_ring_dump *dump);
/** A source of it. */
hb_result hb_ring_dump_open(const hb_ring_dump *dump, hb_source **source);
const hb_session *hb_ring_dump_session(const hb_ring_dump *dump);
void hb_ring_dump_free(hb_profiler *prof, hb_ring_dump *dump);

#endif
