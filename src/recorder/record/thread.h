/* SPDX-License-Identifier: MIT
 *
 * A thread's recording state, and how a session's end waits for threads that are just recording.
 *
 * Each recording call runs between hb_thread_begin() and hb_thread_leave(). Who stops publishes
 * epoch 0; who wants to read the session waits until every thread has left the call that it may
 * have been in: from then on nobody writes to it. The usual price of that, a full memory barrier in
 * every call, is paid by the reader instead, with membarrier(2), which puts a barrier into every
 * running thread.
 *
 * A thread may never leave: it was cancelled, a signal handler left the call by siglongjmp(), or it
 * stands still. It is waited for 100 ms; then it is silent: what it wrote up to its last whole
 * record is taken, and counted as interrupted. If it lives, it goes on with a new state, so that
 * whatever the old call may still do is done to the old one; and until it has left the call, no
 * chunk of that session is used again, see hb_threads_hold().
 */
#ifndef HB_RECORD_THREAD_H
#define HB_RECORD_THREAD_H

#include <stdatomic.h>

#include "base/base.h"
#include "record/format.h"
#include "rules/losses.h"

#define HB_OPEN_MAX     512u
#define HB_LIVE_DEVICES 72u
#define HB_KNOWN_INPUTS 256u

typedef struct hb_open {
    hb_record *record;
    uint64_t id; /* External id; an enclosing scope's for modules */
    bool range;  /* hb_range_pop() may end it */
} hb_open;

/** Bytes that a thread allocated less those that it freed; see live_memory.c. */
typedef struct hb_live_sum {
    _Atomic uint32_t epoch;      /* the session of the last event; 0: none */
    _Atomic int64_t before, now; /* up to that session, and with it */
} hb_live_sum;

#define HB_NO_FRAME UINTPTR_MAX /* above all */

/** Whose it is: a thread's; nobody's any more; of a thread that was given another while it was in a
 * recording call, which it may come back to (LEFT), or which its stack no longer has (GONE). */
enum hb_thread_state { HB_THREAD_LIVES, HB_THREAD_DEAD, HB_THREAD_LEFT, HB_THREAD_GONE };

typedef struct hb_thread {
    /* First what every record needs: one line of the cache.
     *
     * How often a recording call began or ended: odd within one. Release at its end, for
     * hb_threads_settle(). */
    _Atomic uint32_t busy;
    uint32_t epoch;  /* the session that the fields below belong to */
    uintptr_t frame; /* the stack frame of the present recording call, or HB_NO_FRAME */
    char *pos, *end; /* free part of the present chunk */
    hb_chunk *chunk; /* the part of it that is the present session's */
    uint32_t depth;
    uint32_t flags;  /* the session's enum hb_session_flags */
    void *calls;     /* src/device's state, kept when the thread dies and its successor's then */
    void *call;      /* its innermost call that is being recorded, or NULL */
    void *operators; /* recorder/operators' state, kept likewise */
    void *reported;  /* its call that a profiling library reports, kept likewise */
    uint64_t next_id;
    uint32_t use;            /* of the present chunk: HB_SCOPE_USE */
    _Atomic uint32_t silent; /* `busy` of a call that is not waited for any more */
    struct hb_spool *spool;
    hb_session *session;
    hb_chunk *former; /* what is behind it may be filled: of the session or the thread before, in
                         the same spool; or NULL */
    uint32_t spool_serial;
    uint32_t taken;    /* the chunk's enum hb_chunk_state */
    uint32_t sequence; /* of the thread's next chunk in this session */
    uint32_t number;   /* hb_thread_number() */
    int64_t tid;
    struct hb_thread *next; /* in the list of all threads; never removed, used again when dead */
    _Atomic int state;      /* enum hb_thread_state */
    unsigned ends;          /* rounds of thread-specific destructors */
    char name[32];          /* given by hb_thread_name() */
    char system_name[32];   /* at its first record of the session */
    uint16_t known[HB_KNOWN_INPUTS]; /* inputs in the present chunk; see known_inputs.h */
    hb_open open[HB_OPEN_MAX];
    hb_live_sum live[HB_LIVE_DEVICES]; /* kept when the thread dies, and gone on with */
} hb_thread;

/* Others look at it while the thread is in a call that they wait for. */
static inline void hb_thread_set_epoch(hb_thread *t, uint32_t epoch)
{
    __atomic_store_n(&t->epoch, epoch, __ATOMIC_RELAXED);
}

/** A scope's depth has above its bits those that tell the chunk's uses apart: a handle that is
 * ended twice, or too late, must not write into other records. */
#define HB_SCOPE_DEPTH 0xffffu
#define HB_SCOPE_USE   (~HB_SCOPE_DEPTH)

extern HB_OWN bool hb_heavy_fence; /* no membarrier(2) here: the barrier is in the calls */

/** What is recorded, as hb_enabled_epoch; 0 also in children that no fork handler prepared. */
extern HB_OWN uint32_t *hb_live_epoch;

/** Once per process, before any recording. Fails when the process has no thread-specific data left:
 * then nothing can be recorded. */
hb_result hb_threads_init(void);

/** The calling thread's state, made at its first call; NULL without memory (counted), and when the
 * thread has almost ended. */
hb_thread *hb_thread_create(void);
extern HB_OWN __thread hb_thread *hb_thread_tls __attribute__((tls_model("initial-exec")));
static inline hb_thread *hb_thread_self(void)
{
    return HB_LIKELY(hb_thread_tls != NULL) ? hb_thread_tls : hb_thread_create();
}

/** One more loss of the running session. Any thread, any time. */
HB_COLD void hb_lost_add(enum hb_lost_cause cause);

/** Entering and the time need no call and no barrier. */
static inline bool hb_enters_quickly(void)
{
    return hb_clock_uses_counter && !hb_heavy_fence;
}

static inline void hb_thread_enter_at(hb_thread *t, uint32_t busy)
{
#ifdef HB_TSAN
    atomic_exchange(&t->busy, busy + 1);
#else
    atomic_store_explicit(&t->busy, busy + 1, memory_order_relaxed);
    if (HB_UNLIKELY(hb_heavy_fence)) atomic_thread_fence(memory_order_seq_cst);
    atomic_signal_fence(memory_order_seq_cst);
#endif
}

/** False when a signal handler interrupted a recording call of this thread: then nothing may be
 * recorded. hb_thread_begin() is for recording; this for what needs a given state. */
static inline bool hb_thread_enter(hb_thread *t)
{
    uint32_t busy = atomic_load_explicit(&t->busy, memory_order_relaxed);
    if (HB_UNLIKELY(busy & 1)) {
        hb_lost_add(HB_LOST_REENTRANT);
        return false;
    }
    hb_thread_enter_at(t, busy);
    return true;
}

/* for hb_thread_begin(): the calling thread seems to be in another call; a new state, begun, or
 * NULL
 */
HB_COLD hb_thread *hb_thread_begin_again(hb_thread *t, uint32_t busy, const void *frame);

/** The stack frame of the function that this stands in. Of functions that one function calls it is
 * the same for all, so those that a program calls pass theirs on. */
#define HB_FRAME __builtin_dwarf_cfa() /* of which the address is known without a register */

/* The frame is there when `busy` is odd; but for the call that a signal handler makes between these
 * two, and which leaves NO_FRAME: then nobody can tell that this call is gone. */
static inline void hb_thread_enter_from(hb_thread *t, uint32_t busy, const void *frame)
{
    __atomic_store_n(&t->frame, (uintptr_t)frame, __ATOMIC_RELAXED);
    atomic_signal_fence(memory_order_seq_cst);
    hb_thread_enter_at(t, busy);
}

/** The same where hb_enters_quickly(). */
static inline void hb_thread_enter_quickly(hb_thread *t, uint32_t busy, const void *frame)
{
#ifdef HB_TSAN
    hb_thread_enter_from(t, busy, frame);
#else
    __atomic_store_n(&t->frame, (uintptr_t)frame, __ATOMIC_RELAXED);
    atomic_signal_fence(memory_order_seq_cst);
    atomic_store_explicit(&t->busy, busy + 1, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
#endif
}

/** Begins a recording call on the calling thread, to be ended with hb_thread_leave() of what it
 * returns; NULL when a signal handler interrupted another (counted), or without memory. `frame`
 * tells whether another call, which seems to be under way, is gone: see is_gone(). */
static inline hb_thread *hb_thread_begin_at(const void *frame)
{
    hb_thread *t = hb_thread_self();
    if (HB_UNLIKELY(!t)) return NULL;
    uint32_t busy = atomic_load_explicit(&t->busy, memory_order_relaxed);
    if (HB_UNLIKELY(busy & 1)) return hb_thread_begin_again(t, busy, frame);
    hb_thread_enter_from(t, busy, frame);
    return t;
}

static inline __attribute__((always_inline)) hb_thread *hb_thread_begin(void)
{
    return hb_thread_begin_at(HB_FRAME);
}

/* Should the call be one that a signal handler makes while another is just beginning, that other
 * one must not be measured by this one's frame. Atomic: the state may be another thread's by now,
 * of which nothing worse comes than a record left out. */
static inline void hb_thread_leave(hb_thread *t)
{
    uint32_t busy = atomic_load_explicit(&t->busy, memory_order_relaxed);
    atomic_store_explicit(&t->busy, busy + 1, memory_order_release);
    atomic_signal_fence(memory_order_seq_cst);
    __atomic_store_n(&t->frame, HB_NO_FRAME, __ATOMIC_RELAXED);
}

/** Waits until every thread has left the recording call that it was in, but no longer than 100 ms,
 * in which it sleeps; false when one did not leave that records session `epoch`: it may still do
 * so, but what it does then is nobody's business. To be called after the epoch was changed. Not
 * from a recording call; one thread at a time. */
bool hb_threads_settle(uint32_t epoch);

/** Whether a thread that lives is in a recording call whose session lies in `spool`, and silent. */
bool hb_threads_hold(const struct hb_spool *spool);

/** Waits until each thread has left the recording call that it was in, if that takes no longer than
 * so long in all. Any thread that is in none. */
void hb_threads_pass(int64_t patience_us);

/** All that there ever were, dead or alive, by `next`. */
hb_thread *hb_threads_first(void);

/** What no session was told of so far. */
uint64_t hb_threads_take_lost(enum hb_lost_cause cause);

/** In a forked child: only the calling thread lives on. */
void hb_threads_after_fork(void);

#endif
