/* SPDX-License-Identifier: MIT */
#include "hip/synchronize.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/base.h"
#include "base/lock.h"
#include "base/thread_start.h"
#include "hip/busy_streams.h"
#include "hip/calls.h"

#define PATIENCE_SETTING "HIPBOARD_GPU_PATIENCE" /* in seconds */

enum { DEFAULT_PATIENCE_S = 30, MOST_PATIENCE_S = 100000 };

static hb_bare_lock lock =
    HB_BARE_LOCK_INIT(SYNCHRONIZE); /* of all below; no other is taken in it */
static int patience_s = DEFAULT_PATIENCE_S;
static bool running;  /* the thread */
static bool given_up; /* it is to end */

void hb_synchronize_prepare(void)
{
    const char *text = secure_getenv(PATIENCE_SETTING);
    if (!text || !*text) return;
    char *end;
    long seconds = strtol(text, &end, 10);
    bool wrong = *end || seconds < 0;
    if (wrong)
        hb_warn("%s is '%s', not a number of seconds: %d is taken", PATIENCE_SETTING, text,
                DEFAULT_PATIENCE_S);
    hb_bare_lock_take(&lock);
    patience_s = wrong ? DEFAULT_PATIENCE_S : (int)HB_MIN(seconds, MOST_PATIENCE_S);
    hb_bare_lock_give(&lock);
}

static bool is_given_up(void)
{
    hb_bare_lock_take(&lock);
    bool is = given_up;
    hb_bare_lock_give(&lock);
    return is;
}

static bool is_capturing(void)
{
    return hb_calls_count().capturing != 0;
}

/* Each stream is asked, which also makes the runtime report what is done, until all are. While one
 * is captured into a graph, as far as that was heard, some releases would not answer. */
static bool await_streams(const hb_hip *hip)
{
    enum { FIRST_WAIT_US = 20, LONGEST_WAIT_US = 1000 };
    int wait_us = FIRST_WAIT_US;
    while (!is_given_up()) {
        if (!is_capturing() && !hb_busy_streams_ask(hip)) {
            hb_busy_streams_collect(hip);
            return true;
        }
        nanosleep(&(struct timespec){.tv_nsec = wait_us * 1000}, NULL);
        wait_us = HB_MIN(2 * wait_us, LONGEST_WAIT_US);
    }
    return false;
}

/* False: given up. */
static bool await_captures(void)
{
    enum { WAIT_US = 100 };
    while (is_capturing() && !is_given_up())
        nanosleep(&(struct timespec){.tv_nsec = WAIT_US * 1000}, NULL);
    return !is_given_up();
}

/* Of streams that nobody knows: a wait in the runtime, which can't be given up, and holds up the
 * program's calls on such a stream for as long as it has work to do. Hence only when there is
 * nothing else left that could be waited for. Since HIP 6.2 it breaks all captures, whatever the
 * thread's mode; the one before it may have lasted. */
static void await_unknown(const hb_hip *hip)
{
    uint64_t devices = hb_busy_streams_take_unknown();
    for (; devices && await_captures(); devices &= devices - 1)
        if (hip->set_device(__builtin_ctzll(devices)) == 0) hip->device_synchronize();
}

static void *wait_for_work(void *arg)
{
    const hb_hip *hip = arg;
    bool was = hb_calls_enter_own();
    hb_hip_spare_captures(hip);
    if (await_streams(hip)) await_unknown(hip);
    hb_calls_leave_own(was);
    hb_bare_lock_take(&lock);
    running = given_up = false;
    hb_bare_lock_give(&lock);
    return NULL;
}

static bool start_thread(const hb_hip *hip)
{
    pthread_t thread;
    if (hb_background_thread(&thread, "gpus", wait_for_work, (void *)(uintptr_t)hip) != 0)
        return false;
    pthread_detach(thread);
    return true;
}

/* Without a thread for it the reports get the usual time. */
void hb_synchronize_begin(const hb_hip *hip)
{
    enum { PART_MS = 20 };
    if (!hip->stream_query || !hip->device_synchronize || !hip->set_device) return;
    if (is_given_up()) hb_synchronize_part(PART_MS); /* one that has not noticed yet */
    if (!hb_busy_streams_watch()) return;
    hb_bare_lock_take(&lock);
    if (!running) running = start_thread(hip);
    hb_bare_lock_give(&lock);
}

int hb_synchronize_patience_ms(void)
{
    hb_bare_lock_take(&lock);
    int ms = running && !given_up ? patience_s * 1000 : 0;
    hb_bare_lock_give(&lock);
    return ms;
}

int hb_synchronize_setting_ms(void)
{
    hb_bare_lock_take(&lock);
    int ms = patience_s * 1000;
    hb_bare_lock_give(&lock);
    return ms;
}

void hb_synchronize_give_up(void)
{
    hb_bare_lock_take(&lock);
    given_up = running;
    hb_bare_lock_give(&lock);
}

static bool is_running(void)
{
    hb_bare_lock_take(&lock);
    bool is = running;
    hb_bare_lock_give(&lock);
    return is;
}

void hb_synchronize_part(int most_ms)
{
    enum { STEPS_PER_MS = 10 };
    for (int i = 0; i < most_ms * STEPS_PER_MS && is_running(); i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000 / STEPS_PER_MS}, NULL);
}

void hb_synchronize_after_fork(void)
{
    hb_bare_lock_after_fork(&lock);
    running = given_up = false;
}
