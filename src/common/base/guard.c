/* SPDX-License-Identifier: MIT */
#include "base/guard.h"

#include <errno.h>
#include <locale.h>
#include <setjmp.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"

#define PATIENCE_MS 2000

static __thread hb_guard *innermost;
static __thread bool exiting, has_left;
static __thread jmp_buf *way_out; /* of what runs at exit */

void hb_guard_begin(hb_guard *guard)
{
    guard->error = errno;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &guard->cancel);
    fegetenv(&guard->environment);
    fesetenv(FE_DFL_ENV);
    guard->outer = innermost;
    innermost = guard;
}

void hb_guard_end(hb_guard *guard)
{
    innermost = guard->outer;
    fesetenv(&guard->environment);
    errno = guard->error;
    pthread_setcancelstate(guard->cancel, NULL);
}

void hb_callback_begin(hb_callback *callback)
{
    callback->guard = innermost;
    if (!innermost) return;
    fegetenv(&callback->environment);
    fesetenv(&innermost->environment);
    innermost = NULL;
}

/* What flags the function raised are its caller's. */
void hb_callback_end(hb_callback *callback)
{
    if (!callback->guard) return;
    innermost = callback->guard;
    fegetenv(&innermost->environment);
    fesetenv(&callback->environment);
}

bool hb_guard_is_inside(void)
{
    return innermost != NULL;
}

void hb_guard_exits(bool exits)
{
    exiting = exits;
}

bool hb_guard_is_exiting(void)
{
    return exiting;
}

/* Who waits for whose work. A look in vain uses the processor too: so whoever is waited for at
 * exit, and waits itself, is judged by the thread that it waits for. Threads are told by the clocks
 * of their processor times, which are never 0. Where there is no slot left the waiter's looks count
 * as its work. */
static struct {
    _Atomic clockid_t waiter; /* 0: free. Released when `awaited` is there, read with acquire */
    _Atomic clockid_t awaited;
} waits[32];

#define TAKEN 1 /* no thread's */

static int begin_wait(clockid_t awaited)
{
    for (int i = 0; i < (int)HB_ARRAY_LEN(waits); i++) {
        clockid_t none = 0, self;
        if (!atomic_compare_exchange_strong_explicit(&waits[i].waiter, &none, TAKEN,
                                                     memory_order_relaxed, memory_order_relaxed))
            continue;
        pthread_getcpuclockid(pthread_self(), &self);
        atomic_store_explicit(&waits[i].awaited, awaited, memory_order_relaxed);
        atomic_store_explicit(&waits[i].waiter, self, memory_order_release);
        return i;
    }
    return -1;
}

static void end_wait(int slot)
{
    if (slot >= 0) atomic_store_explicit(&waits[slot].waiter, 0, memory_order_relaxed);
}

void hb_guard_in_child(void)
{
    exiting = has_left = false;
    for (size_t i = 0; i < HB_ARRAY_LEN(waits); i++)
        atomic_store_explicit(&waits[i].waiter, 0, memory_order_relaxed);
}

static clockid_t awaited_by(clockid_t waiter)
{
    for (size_t i = 0; i < HB_ARRAY_LEN(waits); i++)
        if (atomic_load_explicit(&waits[i].waiter, memory_order_acquire) == waiter)
            return atomic_load_explicit(&waits[i].awaited, memory_order_relaxed);
    return 0;
}

/* Whose work that thread's depends on in the end. */
static clockid_t works_for(clockid_t clock)
{
    clockid_t awaited;
    for (size_t i = 0; i < HB_ARRAY_LEN(waits) && (awaited = awaited_by(clock)) != 0; i++)
        clock = awaited;
    return clock;
}

/* Threads that were given up, and what they had done by then: who is waited for once more, and has
 * done nothing since, has had its time. */
static __thread struct {
    clockid_t clock;
    int64_t cpu_ns;
} given_up[8];
static __thread unsigned num_given_up;

static void give_up(clockid_t clock, int64_t cpu_ns)
{
    unsigned i = num_given_up++ % HB_ARRAY_LEN(given_up);
    given_up[i].clock = clock;
    given_up[i].cpu_ns = cpu_ns;
}

/* Whoever does anything uses the processor; 0 when the thread has ended. */
static int64_t done_by(clockid_t clock)
{
    return hb_clock_ns(clock);
}

static bool was_given_up(clockid_t clock)
{
    for (unsigned i = 0; i < HB_MIN(num_given_up, HB_ARRAY_LEN(given_up)); i++)
        if (given_up[i].clock == clock && given_up[i].cpu_ns == done_by(clock)) return true;
    return false;
}

static bool goes_on(hb_patience *patience, clockid_t clock, int waited_ms)
{
    clock = works_for(clock);
    int64_t now = done_by(clock);
    patience->idle_ms = now == patience->cpu_ns ? patience->idle_ms + waited_ms : 0;
    patience->cpu_ns = now;
    if (patience->idle_ms < PATIENCE_MS) return true;
    give_up(clock, now);
    return false;
}

bool hb_patience_wait(hb_patience *patience, hb_news *change, hb_lock *lock, pthread_t thread,
                      bool *in_vain)
{
    clockid_t clock = 0;
    bool known = pthread_getcpuclockid(thread, &clock) == 0;
    *in_vain = true;
    if (exiting && known && was_given_up(works_for(clock))) return false;
    int slot = known ? begin_wait(clock) : -1;
    *in_vain = !hb_news_wait(change, lock, HB_PATIENCE_LOOK_MS);
    end_wait(slot);
    if (!*in_vain) patience->idle_ms = 0;
    if (!exiting || !*in_vain) return true;
    return known && goes_on(patience, clock, HB_PATIENCE_LOOK_MS);
}

bool hb_patience_join(pthread_t thread, const bool *ended, hb_news *done, hb_lock *lock)
{
    hb_patience patience = {0};
    bool in_vain, goes = true;
    hb_lock_take(lock);
    while (exiting && !*ended && goes)
        goes = hb_patience_wait(&patience, done, lock, thread, &in_vain);
    hb_lock_give(lock);
    if (goes) pthread_join(thread, NULL);
    return goes;
}

bool hb_patience_sleep(hb_patience *patience, pthread_t thread)
{
    clockid_t clock;
    hb_sleep_us(1000);
    return pthread_getcpuclockid(thread, &clock) != 0 || goes_on(patience, clock, 1);
}

static clockid_t clock_of(pid_t tid)
{
    enum { PER_THREAD = 4, SCHEDULED = 2 }; /* the kernel's clock ids, which need no pthread_t */
    return (clockid_t)(~(unsigned)tid << 3 | PER_THREAD | SCHEDULED);
}

bool hb_patience_sleep_of(hb_patience *patience, pid_t tid)
{
    hb_sleep_us(1000);
    return goes_on(patience, clock_of(tid), 1);
}

/* ---- locks at exit ---- */

/* A thread that has a mutex is in it as its owner some instructions later: 0 meanwhile. */
static bool holder_goes_on(hb_patience *patience, pid_t holder)
{
    if (holder == gettid()) return false;
    if (holder)
        return !was_given_up(works_for(clock_of(holder))) && hb_patience_sleep_of(patience, holder);
    hb_sleep_us(1000);
    return ++patience->idle_ms < PATIENCE_MS;
}

/* glibc notes who has a mutex; of another C library's nobody is known, who is given 2 s in all. */
static pid_t holder_of(pthread_mutex_t *mutex)
{
#ifdef __GLIBC__
    return __atomic_load_n(&mutex->__data.__owner, __ATOMIC_RELAXED);
#else
    (void)mutex;
    return 0;
#endif
}

void hb_patience_lock(pthread_mutex_t *mutex)
{
    hb_patience patience = {0};
    if (!way_out) {
        pthread_mutex_lock(mutex);
        return;
    }
    while (pthread_mutex_trylock(mutex) != 0)
        if (!holder_goes_on(&patience, holder_of(mutex))) longjmp(*way_out, 1);
}

static bool call_or_leave(void (*fn)(void *context), void *context)
{
    jmp_buf out;
    hb_guard guard;
    locale_t locale = uselocale((locale_t)0);
    hb_guard_begin(&guard);
    way_out = &out;
    volatile bool done = false;
    if (setjmp(out) == 0) {
        fn(context);
        done = true;
    }
    way_out = NULL;
    if (!done) {
        has_left = true;
        hb_locks_leave();
        uselocale(locale);
        innermost = &guard;
    }
    hb_guard_end(&guard);
    return done;
}

bool hb_guard_call(void (*fn)(void *context), void *context)
{
    if (!exiting || way_out) {
        fn(context);
        return true;
    }
    if (call_or_leave(fn, context)) return true;
    hb_warn("a thread stands still amid its work: the program ends without what was not written "
            "yet");
    return false;
}

bool hb_guard_has_left(void)
{
    return has_left;
}
