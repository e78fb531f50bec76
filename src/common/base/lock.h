/* SPDX-License-Identifier: MIT
 *
 * The library's locks, their order, and how threads wait for one another.
 *
 * A thread takes locks upwards only: with one of a level it may take those of higher levels. Builds
 * with HB_LOCK_CHECKS (debug builds, sanitizers) end the process with both names where that is
 * broken. While a thread holds any of them its signals are blocked and it is not cancelled: a
 * handler that leaves by siglongjmp() or exit(), and a cancelled thread, never leave one locked.
 *
 * fork() needs them in a state that the child can go on with: each room registers with
 * base/process.h which of its locks the forking thread holds meanwhile, and makes them anew in the
 * child. For the forking thread itself they are open: other libraries' fork handlers may record.
 */
#ifndef HB_BASE_LOCK_H
#define HB_BASE_LOCK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Every lock of the process, lowest first: name, level, what may happen while it is held. Objects
 * of one call (a file being read, runs being compared) have theirs to themselves, and take none of
 * these under them. ARBITRATION and those of recorder/hip, recorder/operators and recorder/pace,
 * from HIP_SETTLE to PACE, are bare.
 */
#define HB_LOCK_LEVELS(X)                                                          \
    X(ARBITRATION, 10, "which profiler records; recursive, handlers run under it") \
    X(HANDED_OVER, 16, "profilers that nobody waits for; waits at exit")           \
    X(PROFILER, 20, "a profiler's jobs and cycles; no handler, I/O or HIP")        \
    X(CONTROL, 24, "what a control thread is told; its pipe is written")           \
    X(ALARMS, 26, "taking, giving and watching alarms")                            \
    X(LIVE_MEMORY, 28, "whether what is allocated is kept in mind")                \
    X(HIP_SETTLE, 29, "waits for late reports of HIP; HIP is called")              \
    X(DEVICE, 30, "HIP's capture; HIP is called to begin and to end")              \
    X(SETTINGS, 40, "hb_hparams(); no queueing")                                   \
    X(SETTLE, 48, "waits for silent threads, at most 100 ms")                      \
    X(LOG_DIR, 49, "a log directory's descriptor; I/O")                            \
    X(EVENT_LOGS, 50, "the list of event logs")                                    \
    X(EVENT_LOG, 52, "an event log's state")                                       \
    X(EVENT_FILE, 54, "an event file's memory; I/O")                               \
    X(SYNCHRONIZE, 56, "the thread that waits for devices; it is started")         \
    X(ASKING, 58, "a stream is asked whether it is done; HIP is called")           \
    X(TIMING_READER, 60, "the reader of timing events; HIP is called")             \
    X(TIMING, 62, "lists of timing events")                                        \
    X(POOLS, 64, "memory pools; HIP is called")                                    \
    X(LATE_REPORTS, 66, "sessions that reports still come for")                    \
    X(GRAPHS, 67, "how many kernels graphs hold")                                  \
    X(BUSY_STREAMS, 68, "streams that may have work to do")                        \
    X(KERNELS, 70, "what is known of kernels")                                     \
    X(SAMPLES, 71, "samples of the program, and rings of them")                    \
    X(CODE_OBJECTS, 72, "what is known of code objects; the loader is asked")      \
    X(OPERATORS, 73, "tables, and who stands in; the loader is asked")             \
    X(INTERPOSED, 74, "patched functions")                                         \
    X(PACE, 75, "launches that are watched; a thread is started")                  \
    X(SPOOLS, 76, "the list of open spools")                                       \
    X(SPOOL, 77, "where a spool's records are; no I/O")                            \
    X(SPOOL_FILE, 78, "its file's descriptor; I/O")                                \
    X(MODULES, 80, "hb_module_create()")                                           \
    X(STRINGS, 82, "new names; spools take them in, without locks")                \
    X(LARGE_MEMORY, 84, "memory that lies in files; pages are dropped")            \
    X(FILE_BLOCKS, 86, "a file's blocks under way; no I/O")

enum hb_lock_level {
#define HB_LOCK_LEVEL(name, level, why) HB_LOCK_##name = level,
    HB_LOCK_LEVELS(HB_LOCK_LEVEL)
#undef HB_LOCK_LEVEL
};

typedef struct hb_lock {
    pthread_mutex_t mutex;
    enum hb_lock_level level;
    bool for_fork; /* the holder's, which forks */
} hb_lock;

#define HB_LOCK_INIT(level_)                                          \
    {                                                                 \
        .mutex = PTHREAD_MUTEX_INITIALIZER, .level = HB_LOCK_##level_ \
    }

/** pthread_mutex_lock() of a lock that another thread has; base/guard.h says what else it does at
 * exit. */
void hb_patience_lock(pthread_mutex_t *mutex);

/** Makes a lock in zeroed memory, or anew in a forked child, whatever state it is in. Nothing
 * destroys it. */
void hb_lock_init(hb_lock *lock, enum hb_lock_level level);

void hb_lock_take(hb_lock *lock);
void hb_lock_give(hb_lock *lock);

/** On a thread that takes no signals and is not cancelled anyway, one of the library's own: its
 * locks need no system call for that, until it says `false`. Holds none meanwhile. */
void hb_locks_shielded(bool always);

/** The thread leaves what it does for good: those that it holds stay so, and its signals and its
 * cancellation are again as they were before it took the first. */
void hb_locks_leave(void);

/* ---- bare locks ----
 *
 * The same order, but the thread's signals stay as they are, and it may be cancelled: for locks
 * under which handlers of the program or its HIP runtime run, which need its signals, and for those
 * of HIP's calls, whose cost two system calls would show in. So nothing of the program's may leave
 * by siglongjmp() out of what runs under them.
 *
 * Nobody holds them for fork(): HIP's can take for ever. In the child each room frees its own by
 * hb_bare_lock_after_fork(), and begins anew what it guards. */

typedef struct hb_bare_lock {
    pthread_mutex_t mutex;
    enum hb_lock_level level;
} hb_bare_lock;

#define HB_BARE_LOCK_INIT(level_)                                     \
    {                                                                 \
        .mutex = PTHREAD_MUTEX_INITIALIZER, .level = HB_LOCK_##level_ \
    }
/** The thread that has it may take it again. */
#define HB_BARE_LOCK_INIT_RECURSIVE(level_)                                        \
    {                                                                              \
        .mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP, .level = HB_LOCK_##level_ \
    }

#ifdef HB_LOCK_CHECKS
void hb_bare_lock_check(const hb_bare_lock *lock);
void hb_bare_lock_note(const hb_bare_lock *lock);
void hb_bare_lock_unnote(const hb_bare_lock *lock);
#else
#define hb_bare_lock_check(lock)  ((void)(lock))
#define hb_bare_lock_note(lock)   ((void)(lock))
#define hb_bare_lock_unnote(lock) ((void)(lock))
#endif

static inline void hb_bare_lock_take(hb_bare_lock *lock)
{
    hb_bare_lock_check(lock);
    if (pthread_mutex_trylock(&lock->mutex) != 0) hb_patience_lock(&lock->mutex);
    hb_bare_lock_note(lock);
}

/** Who does not wait need not keep the order. */
static inline bool hb_bare_lock_try(hb_bare_lock *lock)
{
    if (pthread_mutex_trylock(&lock->mutex) != 0) return false;
    hb_bare_lock_note(lock);
    return true;
}

/** For so long at most, for who may hold what its holder waits for. Need not keep the order either. */
bool hb_bare_lock_take_within(hb_bare_lock *lock, int64_t timeout_ms);

static inline void hb_bare_lock_give(hb_bare_lock *lock)
{
    hb_bare_lock_unnote(lock);
    pthread_mutex_unlock(&lock->mutex);
}

/** In a forked child: frees it. False: it was held, so what it guards may be half changed. */
bool hb_bare_lock_after_fork(hb_bare_lock *lock);

/* ---- around fork(), by base/process.c and those who register there ---- */

/** Between these the thread's signals are blocked; those locks that it takes by
 * hb_lock_hold_for_fork() are open to itself, and to no other thread. */
void hb_locks_fork_begins(void);
void hb_locks_fork_ends(void);
void hb_lock_hold_for_fork(hb_lock *lock);
/** In the parent. The child makes them anew, by hb_lock_init(). */
void hb_lock_give_after_fork(hb_lock *lock);

/* ---- waiting ---- */

/** Something under a lock has changed: what pthread_cond_t is for, but its times are the kernel's
 * whatever a clock shows, it needs nothing in a forked child, no thread that dies or leaves while
 * it waits harms it, waiting takes signals and never is a cancellation point. Zero is ready. */
typedef struct hb_news {
    _Atomic uint32_t count;
} hb_news;

#define HB_FOR_EVER (-1)

/** Under `lock`, which is not held meanwhile: until the next hb_news_tell(), or for about
 * `timeout_ms`. False when the time is over. May return early; so look again. */
bool hb_news_wait(hb_news *change, hb_lock *lock, int64_t timeout_ms);
/** The same in microseconds. */
bool hb_news_wait_us(hb_news *change, hb_lock *lock, int64_t timeout_us);

/** Wakes all who wait. After the change; under the lock or not. */
void hb_news_tell(hb_news *change);

/** Sleeps. By the kernel's time; neither a signal nor a clock that stands still prolongs it. */
void hb_sleep_us(int64_t us);

#endif
