/* SPDX-License-Identifier: MIT */
#include "hip/synchronize.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/base.h"
#include "base/thread_start.h"
#include "hip/calls.h"
#include "hip/forked.h"

#define PATIENCE_SETTING "HIPBOARD_GPU_PATIENCE" /* in seconds */

enum { DEFAULT_PATIENCE_S = 30, MOST_PATIENCE_S = 100000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all below; no other is taken in it */
static int patience_s = DEFAULT_PATIENCE_S;
static const hb_hip *runtime;
static uint64_t devices_left; /* to be waited for, as bits */
static bool running;          /* the thread */
static bool given_up;         /* on what it waits for now */

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
    pthread_mutex_lock(&lock);
    patience_s = wrong ? DEFAULT_PATIENCE_S : (int)HB_MIN(seconds, MOST_PATIENCE_S);
    pthread_mutex_unlock(&lock);
}

/* The next device's number, or -1 at the thread's end. */
static int next_device(const hb_hip **hip)
{
    pthread_mutex_lock(&lock);
    int id = devices_left ? __builtin_ctzll(devices_left) : -1;
    devices_left &= devices_left - 1;
    if (id < 0) running = given_up = false;
    *hip = runtime;
    pthread_mutex_unlock(&lock);
    return id;
}

static void *wait_for_devices(void *arg)
{
    (void)arg;
    const hb_hip *hip;
    bool was = hb_calls_enter_own();
    for (int id; (id = next_device(&hip)) >= 0;)
        if (hip->set_device(id) == 0) hip->device_synchronize();
    hb_calls_leave_own(was);
    return NULL;
}

static bool start_thread(void)
{
    pthread_t thread;
    if (hb_background_thread(&thread, "gpus", wait_for_devices, NULL) != 0) return false;
    pthread_detach(thread);
    return true;
}

/* Without a thread for it the reports get the usual time. */
void hb_synchronize_begin(const hb_hip *hip, uint64_t devices)
{
    if (devices == 0 || !hip->device_synchronize || !hip->set_device) return;
    pthread_mutex_lock(&lock);
    runtime = hip;
    devices_left |= devices;
    if (!running) running = start_thread();
    if (!running) devices_left = 0;
    pthread_mutex_unlock(&lock);
}

int hb_synchronize_patience_ms(void)
{
    pthread_mutex_lock(&lock);
    int ms = running && !given_up ? patience_s * 1000 : 0;
    pthread_mutex_unlock(&lock);
    return ms;
}

void hb_synchronize_give_up(void)
{
    pthread_mutex_lock(&lock);
    given_up = running;
    pthread_mutex_unlock(&lock);
}

static bool is_running(void)
{
    pthread_mutex_lock(&lock);
    bool is = running;
    pthread_mutex_unlock(&lock);
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
    hb_lock_after_fork(&lock);
    devices_left = 0;
    running = given_up = false;
}
