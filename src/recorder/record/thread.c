/* SPDX-License-Identifier: MIT */
#include "record/thread.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/lock.h"
#include "base/process.h"
#include "record/record.h"

#define PATIENCE_US 100000

bool hb_heavy_fence = true;
uint32_t *hb_live_epoch = &hb_enabled_epoch;
__thread hb_thread *hb_thread_tls __attribute__((tls_model("initial-exec")));
/* The thread's state was given up in the last round of thread-specific destructors. */
static __thread bool is_over __attribute__((tls_model("initial-exec")));

/* Of threads that have no state, and of sessions that nobody was told of. */
static _Atomic uint64_t lost_early[HB_LOST_CAUSES];

static _Atomic(hb_thread *) all_threads;
static _Atomic uint32_t last_number;
static pthread_key_t exit_key;
static bool has_key;

/* ---- losses ---- */

/* Into the session itself, where a crash leaves them; its memory is there while its epoch is, and
 * its end waits for recording calls. */
void hb_lost_add(enum hb_lost_cause cause)
{
    hb_thread *t = hb_thread_tls;
    bool in_call = t && (atomic_load_explicit(&t->busy, memory_order_relaxed) & 1);
    if (in_call && t->epoch && t->epoch == __atomic_load_n(hb_live_epoch, __ATOMIC_ACQUIRE))
        hb_session_count_lost(t->session, cause, 1);
    else
        atomic_fetch_add_explicit(&lost_early[cause], 1, memory_order_relaxed);
}

uint64_t hb_threads_take_lost(enum hb_lost_cause cause)
{
    return atomic_exchange(&lost_early[cause], 0);
}

/* ---- life ---- */

/* Destructors of other libraries may record after this one, in four rounds at least: the state
 * stays for all but the last, so that they find it. Nobody returns into a call that the thread's
 * end interrupted. */
static void thread_exits(void *arg)
{
    enum { LAST_ROUND = 3 };
    hb_thread *t = arg;
    uint32_t busy = atomic_load(&t->busy);
    if (busy & 1) {
        if (busy != atomic_load(&t->silent)) hb_lost_add(HB_LOST_INTERRUPTED);
        hb_thread_leave(t);
    }
    hb_record_close_all(t);
    if (++t->ends < LAST_ROUND && pthread_setspecific(exit_key, t) == 0) return;
    is_over = true;
    hb_thread_tls = NULL;
    atomic_store_explicit(&t->state, HB_THREAD_DEAD, memory_order_release);
}

/* Then something interrupted a recording call. */
static bool is_inside(void)
{
    return hb_thread_tls && (atomic_load(&hb_thread_tls->busy) & 1);
}

hb_result hb_threads_init(void)
{
    int error = pthread_key_create(&exit_key, thread_exits);
    if (error)
        return hb_fail_errno(HB_ERROR_LIMIT, error,
                             "nothing can be recorded: the process has used up its keys for "
                             "thread-specific data (pthread_key_create)");
    has_key = true;
    hb_process_interrupted_when(is_inside);
    uint32_t *word = hb_process_word();
    if (word) hb_live_epoch = word;
    hb_heavy_fence = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) != 0;
    return HB_OK;
}

static hb_thread *reuse_dead(void)
{
    for (hb_thread *t = atomic_load(&all_threads); t; t = t->next) {
        int state = atomic_load(&t->state);
        bool left = state == HB_THREAD_LEFT || state == HB_THREAD_GONE;
        bool free = state == HB_THREAD_DEAD || (left && !(atomic_load(&t->busy) & 1));
        if (free && atomic_compare_exchange_strong(&t->state, &state, HB_THREAD_LIVES)) return t;
    }
    return NULL;
}

/* Perhaps for a signal handler that interrupted malloc(). */
static hb_thread *allocate(void)
{
    void *p =
        mmap(NULL, sizeof(hb_thread), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

static void set_tid(hb_thread *t, int64_t tid)
{
    __atomic_store_n(&t->tid, tid, __ATOMIC_RELAXED);
}

static void put_into_list(hb_thread *t)
{
    hb_thread *head = atomic_load(&all_threads);
    do
        t->next = head;
    while (!atomic_compare_exchange_weak(&all_threads, &head, t));
}

/* Of a dead thread or new; in the list, and in a recording call. */
static hb_thread *take_state(void)
{
    hb_thread *t = reuse_dead();
    bool is_new = t == NULL;
    if (is_new) t = allocate();
    if (!t) return NULL;
    /* A call within this one, of a malloc() that records, must not take it for gone. */
    __atomic_store_n(&t->frame, HB_NO_FRAME, __ATOMIC_RELAXED);
    hb_thread_enter_at(t, atomic_load(&t->busy));
    hb_thread_set_epoch(t, 0);
    t->pos = t->end = NULL;
    t->former = NULL; /* `chunk` is a dead thread's, to go on in; see attach() */
    t->depth = t->sequence = 0;
    t->call = NULL;
    t->ends = 0;
    t->name[0] = '\0';
    if (is_new) put_into_list(t);
    return t;
}

/* pthread_setspecific() may call malloc(), which may record: the thread has its state then, and is
 * in a recording call. */
HB_COLD hb_thread *hb_thread_create(void)
{
    hb_thread *t = has_key && !is_over ? take_state() : NULL;
    if (!t) {
        atomic_fetch_add(&lost_early[HB_LOST_MEMORY], 1);
        return NULL;
    }
    t->number = atomic_fetch_add(&last_number, 1) + 1;
    set_tid(t, (int64_t)syscall(SYS_gettid));
    hb_thread_tls = t;
    if (pthread_setspecific(exit_key, t) != 0) { /* no memory: nobody would tell of its end */
        hb_thread_tls = NULL;
        hb_thread_leave(t);
        atomic_store_explicit(&t->state, HB_THREAD_DEAD, memory_order_release);
        atomic_fetch_add(&lost_early[HB_LOST_MEMORY], 1);
        return NULL;
    }
    hb_thread_leave(t);
    return t;
}

/* ---- calls that never end ---- */

static bool on_alternate_stack(void)
{
    stack_t stack;
    return sigaltstack(NULL, &stack) == 0 && (stack.ss_flags & SS_ONSTACK);
}

/* A frame at or above that of the call which seems to be under way: that one is gone, unless this
 * is another stack. And even then nothing is harmed but the order of a few records. */
static bool is_gone(const hb_thread *t, uint32_t busy, const void *frame)
{
    if (atomic_load(&t->silent) == busy) return true;
    return (uintptr_t)frame >= __atomic_load_n(&t->frame, __ATOMIC_RELAXED) &&
           !on_alternate_stack();
}

/* The thread's new state: its records follow those of the old one. */
static hb_thread *go_on_with(hb_thread *t, const void *frame)
{
    hb_thread *new = take_state();
    if (!new) return NULL;
    new->number = t->number;
    set_tid(new, t->tid);
    memcpy(new->name, t->name, sizeof new->name);
    memcpy(new->system_name, t->system_name, sizeof new->system_name);
    void *calls = new->calls;
    new->calls = t->calls; /* which the call that is under way goes on with */
    t->calls = calls;
    new->call = t->call;
    t->call = NULL;
    __atomic_store_n(&new->frame, (uintptr_t)frame, __ATOMIC_RELAXED);
    new->flags = t->flags;
    __atomic_store_n(&new->spool, t->spool, __ATOMIC_RELAXED);
    new->former = new->spool_serial == t->spool_serial ? new->chunk : NULL;
    new->chunk = NULL;
    new->spool_serial = t->spool_serial;
    new->session = t->session;
    new->sequence = t->sequence + 1; /* the call may have used it, and not said so */
    new->depth = t->depth;
    memcpy(new->open, t->open, t->depth * sizeof *t->open);
    hb_thread_set_epoch(new, t->epoch);
    hb_thread_tls = new;
    pthread_setspecific(exit_key, new);
    return new;
}

hb_thread *hb_thread_begin_again(hb_thread *t, uint32_t busy, const void *frame)
{
    if (!is_gone(t, busy, frame)) {
        hb_lost_add(HB_LOST_REENTRANT);
        return NULL;
    }
    hb_thread *new = go_on_with(t, frame);
    if (!new) {
        hb_lost_add(HB_LOST_MEMORY);
        return NULL;
    }
    /* A silent call was counted already, and may be below this one on the stack. */
    bool silent = atomic_load(&t->silent) == busy;
    if (!silent) {
        hb_lost_add(HB_LOST_INTERRUPTED);
        hb_record_finish_chunk(t);
    }
    atomic_store(&t->silent, busy);
    atomic_store_explicit(&t->state, silent ? HB_THREAD_LEFT : HB_THREAD_GONE,
                          memory_order_release);
    return new;
}

/* ---- waiting for threads ---- */

static void barrier_in_all_threads(void)
{
#ifndef HB_TSAN /* which sees no fences; `busy` is changed by exchanges there */
    if (!hb_heavy_fence) syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
    atomic_thread_fence(memory_order_seq_cst);
#endif
}

/* Until it has left the call that it is in; false when patience is over. Acquire: with the release
 * in hb_thread_leave(). */
static bool await(hb_thread *t, int64_t *patience_us)
{
    uint32_t busy = atomic_load(&t->busy);
    for (int64_t us = 20; (busy & 1) && atomic_load(&t->busy) == busy; us = HB_MIN(2 * us, 5000)) {
        if (atomic_load(&t->silent) == busy) return false;
        if (*patience_us <= 0) {
            atomic_store(&t->silent, busy);
            atomic_fetch_add(&lost_early[HB_LOST_INTERRUPTED], 1);
            return false;
        }
        hb_sleep_us(us);
        *patience_us -= us;
    }
    return true;
}

hb_thread *hb_threads_first(void)
{
    return atomic_load(&all_threads);
}

void hb_threads_pass(int64_t patience_us)
{
    barrier_in_all_threads();
    for (hb_thread *t = atomic_load(&all_threads); t; t = t->next) {
        uint32_t busy = atomic_load(&t->busy);
        bool waits = t != hb_thread_tls && atomic_load(&t->silent) != busy &&
                     atomic_load(&t->state) != HB_THREAD_GONE;
        for (; waits && (busy & 1) && patience_us > 0 && atomic_load(&t->busy) == busy;
             patience_us -= 20)
            hb_sleep_us(20);
    }
}

bool hb_threads_settle(uint32_t epoch)
{
    int64_t patience_us = PATIENCE_US;
    bool all = true;
    barrier_in_all_threads();
    for (hb_thread *t = atomic_load(&all_threads); t; t = t->next)
        if (t != hb_thread_tls && atomic_load(&t->state) != HB_THREAD_GONE &&
            !await(t, &patience_us)) {
            uint32_t in = __atomic_load_n(&t->epoch, __ATOMIC_RELAXED);
            if (in == epoch || in == 0) all = false;
        }
    return all;
}

static bool is_alive(const hb_thread *t)
{
    return syscall(SYS_tgkill, getpid(), __atomic_load_n(&t->tid, __ATOMIC_RELAXED), 0) == 0;
}

bool hb_threads_hold(const struct hb_spool *spool)
{
    for (hb_thread *t = atomic_load(&all_threads); t; t = t->next) {
        uint32_t busy = atomic_load(&t->busy);
        if ((busy & 1) && busy == atomic_load(&t->silent) && t != hb_thread_tls &&
            __atomic_load_n(&t->spool, __ATOMIC_RELAXED) == spool &&
            atomic_load(&t->state) <= HB_THREAD_LEFT && is_alive(t))
            return true;
    }
    return false;
}

/* Calls of other threads ended with the fork; one that this thread's fork interrupted goes on. */
void hb_threads_after_fork(void)
{
    for (hb_thread *t = atomic_load(&all_threads); t; t = t->next) {
        hb_thread_set_epoch(t, 0);
        if (t == hb_thread_tls) continue;
        uint32_t busy = atomic_load(&t->busy);
        atomic_store(&t->busy, busy + (busy & 1));
        atomic_store(&t->state, HB_THREAD_DEAD);
    }
    if (hb_thread_tls) set_tid(hb_thread_tls, (int64_t)syscall(SYS_gettid));
}

uint64_t hb_thread_number(void)
{
    hb_record_init();
    hb_thread *t = hb_thread_self();
    return t ? t->number : 0;
}

void hb_thread_name(const char *name)
{
    hb_record_init();
    hb_thread *t = hb_thread_self();
    if (!t || !name || !hb_thread_enter(t)) return;
    __atomic_store_n(&t->frame, (uintptr_t)HB_FRAME, __ATOMIC_RELAXED);
    strncpy(t->name, name, sizeof t->name - 1);
    hb_record_rename_thread(t);
    hb_thread_leave(t);
}
