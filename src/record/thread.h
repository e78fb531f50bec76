/* SPDX-License-Identifier: MIT
 *
 * A thread's recording state, and how a session's end waits for threads that are just recording.
 *
 * Each recording call runs between hb_thread_enter() and hb_thread_leave(). The stopper publishes
 * epoch 0 and then waits until no thread is inside: from then on nobody writes to the session. The
 * usual price of that, a full memory barrier in every call, is paid by the stopper instead, with
 * membarrier(2), which puts a barrier into every running thread.
 */
#ifndef HB_RECORD_THREAD_H
#define HB_RECORD_THREAD_H

#include <stdatomic.h>

#include "base/base.h"
#include "record/format.h"

#define HB_OPEN_MAX 512u

/** Causes of loss, in hb_lost's order. */
enum hb_lost_cause {
    HB_LOST_BUFFER_FULL,
    HB_LOST_STRINGS_FULL,
    HB_LOST_REENTRANT,
    HB_LOST_TOO_BIG,
    HB_LOST_UNBALANCED,
    HB_LOST_MEMORY,
    HB_LOST_CAUSES
};

typedef struct hb_open {
    hb_record *record;
    uint64_t id; /* External id; an enclosing scope's for modules */
    bool range;  /* hb_range_pop() may end it */
} hb_open;

typedef struct hb_thread {
    /* The first page is zeroed in a forked child by the system, whatever made it: there the epoch
     * is 0, so that nothing is written to what is its parent's. */
    _Atomic uint32_t busy;
    uint32_t epoch;  /* the session that the fields below belong to */
    char *pos, *end; /* free part of the present chunk */
    hb_chunk *chunk;
    uint64_t next_id;
    uint32_t depth;
    uint32_t use;      /* of the present chunk: HB_SCOPE_USE */
    uint32_t sequence; /* of the thread's next chunk in this session */
    uint64_t lost[HB_LOST_CAUSES];
    hb_open open[HB_OPEN_MAX];
    /* from here on behind the first page */
    uint32_t number; /* hb_thread_number() */
    int64_t tid;
    struct hb_thread *next; /* in the list of all threads; never removed, used again when dead */
    _Atomic bool dead;
    char name[32];        /* given by hb_thread_name() */
    char system_name[32]; /* at its first record of the session */
    void *calls; /* src/device's state, kept when the thread dies and its successor's then */
} hb_thread;

/** A scope's depth has above its bits those that tell the chunk's uses apart: a handle that is
 * ended twice, or too late, must not write into other records. */
#define HB_SCOPE_DEPTH 0xffffu
#define HB_SCOPE_USE   (~HB_SCOPE_DEPTH)

extern bool hb_heavy_fence; /* no membarrier(2) here: the barrier is in the calls */

/** Once per process, before any recording. */
void hb_threads_init(void);

/** The calling thread's state, made at its first call; NULL without memory (counted). */
hb_thread *hb_thread_create(void);
extern __thread hb_thread *hb_thread_tls __attribute__((tls_model("initial-exec")));
static inline hb_thread *hb_thread_self(void)
{
    return HB_LIKELY(hb_thread_tls != NULL) ? hb_thread_tls : hb_thread_create();
}

/** False when a signal handler interrupted a recording call of this thread: then nothing may be
 * recorded. */
static inline bool hb_thread_enter(hb_thread *t)
{
    if (HB_UNLIKELY(atomic_load_explicit(&t->busy, memory_order_relaxed))) {
        t->lost[HB_LOST_REENTRANT]++;
        return false;
    }
#ifdef HB_TSAN
    atomic_exchange(&t->busy, 1);
#else
    atomic_store_explicit(&t->busy, 1, memory_order_relaxed);
    if (HB_UNLIKELY(hb_heavy_fence)) atomic_thread_fence(memory_order_seq_cst);
    atomic_signal_fence(memory_order_seq_cst);
#endif
    return true;
}

static inline void hb_thread_leave(hb_thread *t)
{
    atomic_store_explicit(&t->busy, 0, memory_order_release);
}

/** Waits until every thread that was inside a recording call has left it. To be called after the
 * epoch was changed. */
void hb_threads_quiesce(void);

/** Adds what all threads lost in session `epoch` to `lost`. After hb_threads_quiesce(). */
void hb_threads_add_lost(uint32_t epoch, uint64_t lost[HB_LOST_CAUSES]);

/** Whether what is recorded belongs to this process: not in a child that was made without fork()'s
 * handlers. */
bool hb_process_records(void);
/** From now on it does. */
void hb_process_record(void);

/** In a forked child: only the calling thread lives on. */
void hb_threads_after_fork(void);

#endif
