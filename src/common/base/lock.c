/* SPDX-License-Identifier: MIT */
#include "base/lock.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* ---- what a thread holds ----
 *
 * initial-exec: a recording call inside of malloc() must not allocate thread-local memory. */

#define MOST_HELD 64u

typedef struct held {
    unsigned depth;
    bool forking;
    int cancel;    /* to go back to */
    uint64_t mask; /* the kernel's signal set, likewise */
#ifdef HB_LOCK_CHECKS
    uint8_t levels[MOST_HELD];
    /* The same of bare locks, which a signal handler may take amid this. */
    volatile uint8_t bare[MOST_HELD];
    const hb_bare_lock *volatile bare_locks[MOST_HELD];
    volatile unsigned num_bare;
#endif
} held;

static __thread held mine __attribute__((tls_model("initial-exec")));

/* All signals: what the C library keeps for itself would be let through by pthread_sigmask(). */
static uint64_t set_mask(uint64_t mask)
{
    uint64_t before = 0;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, &before, sizeof mask);
    return before;
}

/* Signals first: a handler that leaves by siglongjmp() must not leave cancellation disabled. */
static void shield(void)
{
    int error = errno;
    uint64_t before = set_mask(~UINT64_C(0));
    mine.mask = before;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &mine.cancel);
    errno = error;
}

static void unshield(void)
{
    int error = errno;
    uint64_t before = mine.mask;
    pthread_setcancelstate(mine.cancel, NULL);
    set_mask(before);
    errno = error;
}

/* As if the thread held a lock below all others. */
void hb_locks_shielded(bool always)
{
#ifdef HB_LOCK_CHECKS
    mine.levels[0] = 0;
#endif
    mine.depth = always;
}

/* ---- the order ---- */

#ifdef HB_LOCK_CHECKS
static const char *name_of(unsigned level)
{
    switch (level) {
#define NAME(name, level_, why) \
    case level_: return #name;
        HB_LOCK_LEVELS(NAME)
#undef NAME
    }
    return "?";
}

static void broken(const char *what, unsigned level, unsigned other)
{
    char line[160];
    int n = snprintf(line, sizeof line, "hipboard: lock order: %s %s (%u) with %s (%u)\n", what,
                     name_of(level), level, name_of(other), other);
    if (write(STDERR_FILENO, line, (size_t)n) < 0) abort();
    abort();
}

static void note_taken(const hb_lock *lock)
{
    unsigned depth = mine.depth;
    if (depth >= MOST_HELD) broken("too many locks with", lock->level, 0);
    mine.levels[depth] = (uint8_t)lock->level;
}

/* A forking thread may be anywhere in other libraries' handlers, and holds many of a level. */
static void check_level(unsigned level)
{
    for (unsigned i = 0; !mine.forking && i < mine.depth; i++)
        if (mine.levels[i] >= level) broken("taking", level, mine.levels[i]);
    for (unsigned i = 0; !mine.forking && i < mine.num_bare; i++)
        if (mine.bare[i] >= level) broken("taking", level, mine.bare[i]);
}

static void check_order(const hb_lock *lock)
{
    check_level(lock->level);
}

/* Of those that the thread has already only a recursive one comes back. */
void hb_bare_lock_check(const hb_bare_lock *lock)
{
    for (unsigned i = 0; i < mine.num_bare; i++)
        if (mine.bare_locks[i] == lock) return;
    check_level(lock->level);
}

/* The place is empty until it counts. */
void hb_bare_lock_note(const hb_bare_lock *lock)
{
    unsigned i = mine.num_bare;
    if (i >= MOST_HELD) broken("too many locks with", lock->level, 0);
    mine.num_bare = i + 1;
    mine.bare_locks[i] = lock;
    mine.bare[i] = (uint8_t)lock->level;
}

/* In a forked child what the thread held at the fork is free already. */
void hb_bare_lock_unnote(const hb_bare_lock *lock)
{
    unsigned i = mine.num_bare;
    while (i > 0 && mine.bare_locks[i - 1] != lock)
        i--;
    if (i == 0) return;
    for (; i < mine.num_bare; i++) {
        mine.bare_locks[i - 1] = mine.bare_locks[i];
        mine.bare[i - 1] = mine.bare[i];
    }
    mine.bare[i - 1] = 0;
    mine.bare_locks[i - 1] = NULL;
    mine.num_bare = i - 1;
}

static void note_given(const hb_lock *lock)
{
    unsigned i = mine.depth;
    while (i > 0 && mine.levels[i - 1] != lock->level)
        i--;
    if (i == 0) broken("giving back what is not held:", lock->level, 0);
    for (; i < mine.depth; i++)
        mine.levels[i - 1] = mine.levels[i];
}
#else
static void note_taken(const hb_lock *lock)
{
    (void)lock;
}
#define check_order(lock) ((void)(lock))
#define note_given(lock)  ((void)(lock))
#endif

/* ---- locks ---- */

/* The forking thread has it already. */
static bool is_open(const hb_lock *lock)
{
    return mine.forking && lock->for_fork;
}

/* The child's thread gives back what it held when it forked: thread checks would go on thinking so.
 * What other threads of the parent held, nobody gives back. */
void hb_lock_init(hb_lock *lock, enum hb_lock_level level)
{
    if (is_open(lock)) pthread_mutex_unlock(&lock->mutex);
    *lock = (hb_lock){.mutex = PTHREAD_MUTEX_INITIALIZER, .level = level};
}

static void took(hb_lock *lock)
{
    note_taken(lock);
    mine.depth++;
}

void hb_lock_take(hb_lock *lock)
{
    if (is_open(lock)) return;
    if (mine.depth == 0) shield();
    check_order(lock);
    if (pthread_mutex_trylock(&lock->mutex) != 0) hb_patience_lock(&lock->mutex);
    took(lock);
}

void hb_lock_give(hb_lock *lock)
{
    if (is_open(lock)) return;
    note_given(lock);
    pthread_mutex_unlock(&lock->mutex);
    if (--mine.depth == 0) unshield();
}

void hb_locks_leave(void)
{
#ifdef HB_LOCK_CHECKS
    mine.num_bare = 0;
#endif
    if (mine.depth) unshield();
    mine.depth = 0;
}

bool hb_bare_lock_take_within(hb_bare_lock *lock, int64_t timeout_ms)
{
    enum { LOOK_EACH_US = 200 };
    for (int64_t left_us = timeout_ms * 1000; !hb_bare_lock_try(lock); left_us -= LOOK_EACH_US) {
        if (left_us <= 0) return false;
        hb_sleep_us(LOOK_EACH_US);
    }
    return true;
}

/* The mutex's kind stays: one that is recursive is so in the child, too. */
bool hb_bare_lock_after_fork(hb_bare_lock *lock)
{
    static const pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER;
    static const pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    bool was_free = pthread_mutex_trylock(&lock->mutex) == 0;
    if (was_free)
        pthread_mutex_unlock(&lock->mutex);
    else
        lock->mutex = lock->level == HB_LOCK_ARBITRATION ? recursive : plain;
    hb_bare_lock_unnote(lock);
    return was_free;
}

/* ---- fork() ---- */

void hb_locks_fork_begins(void)
{
    if (mine.depth == 0) shield();
#ifdef HB_LOCK_CHECKS
    mine.levels[mine.depth] = 0;
#endif
    mine.depth++; /* so that they stay blocked */
    mine.forking = true;
}

void hb_lock_hold_for_fork(hb_lock *lock)
{
    pthread_mutex_lock(&lock->mutex);
    lock->for_fork = true;
}

void hb_lock_give_after_fork(hb_lock *lock)
{
    lock->for_fork = false;
    pthread_mutex_unlock(&lock->mutex);
}

void hb_locks_fork_ends(void)
{
    mine.forking = false;
    if (--mine.depth == 0) unshield();
}

/* ---- waiting ---- */

#define US_PER_S 1000000

static struct timespec timespec_of_us(int64_t us)
{
    return (struct timespec){us / US_PER_S, us % US_PER_S * 1000};
}

/* Relative: a program may show itself another time than the kernel's. */
static bool futex_wait(hb_news *change, uint32_t seen, const struct timespec *timeout)
{
    long result = syscall(SYS_futex, &change->count, FUTEX_WAIT_PRIVATE, seen, timeout, NULL, 0);
    return result == 0 || errno != ETIMEDOUT;
}

bool hb_news_wait_us(hb_news *change, hb_lock *lock, int64_t timeout_us)
{
    struct timespec timeout = timespec_of_us(timeout_us);
    int error = errno;
    /* Acquire, release: with hb_news_tell(), beside the lock's own order. */
    uint32_t seen = atomic_load(&change->count);
    hb_lock_give(lock);
    bool in_time = futex_wait(change, seen, timeout_us < 0 ? NULL : &timeout);
    hb_lock_take(lock);
    errno = error;
    return in_time;
}

bool hb_news_wait(hb_news *change, hb_lock *lock, int64_t timeout_ms)
{
    return hb_news_wait_us(change, lock, timeout_ms < 0 ? HB_FOR_EVER : timeout_ms * 1000);
}

void hb_news_tell(hb_news *change)
{
    int error = errno;
    atomic_fetch_add(&change->count, 1);
    syscall(SYS_futex, &change->count, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
    errno = error;
}

void hb_sleep_us(int64_t us)
{
    int error = errno;
    struct timespec left = timespec_of_us(us);
    while (syscall(SYS_nanosleep, &left, &left) != 0 && errno == EINTR)
        continue;
    errno = error;
}
