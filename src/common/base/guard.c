/* SPDX-License-Identifier: MIT */
#include "base/guard.h"

#include <errno.h>
#include <stdint.h>
#include <time.h>

#include "base/base.h"

#define PATIENCE_MS 2000

static __thread hb_guard *innermost;
static __thread bool exiting;

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

static bool was_given_up(pthread_t thread)
{
    clockid_t clock;
    if (!exiting || pthread_getcpuclockid(thread, &clock) != 0) return false;
    for (unsigned i = 0; i < HB_MIN(num_given_up, HB_ARRAY_LEN(given_up)); i++)
        if (given_up[i].clock == clock && given_up[i].cpu_ns == done_by(clock)) return true;
    return false;
}

static bool goes_on(hb_patience *patience, clockid_t clock, int waited_ms)
{
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
    clockid_t clock;
    *in_vain = true;
    if (was_given_up(thread)) return false;
    *in_vain = !hb_news_wait(change, lock, HB_PATIENCE_LOOK_MS);
    if (!*in_vain) patience->idle_ms = 0;
    if (!exiting || !*in_vain) return true;
    return pthread_getcpuclockid(thread, &clock) == 0 &&
           goes_on(patience, clock, HB_PATIENCE_LOOK_MS);
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

bool hb_patience_sleep(hb_patience *patience, pid_t tid)
{
    enum { PER_THREAD = 4, SCHEDULED = 2 }; /* the kernel's clock ids, which need no pthread_t */
    clockid_t clock = (clockid_t)(~(unsigned)tid << 3 | PER_THREAD | SCHEDULED);
    hb_sleep_us(1000);
    return goes_on(patience, clock, 1);
}
