/* SPDX-License-Identifier: MIT */
#include "base/thread_start.h"

#include <errno.h>
#include <fenv.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/c_locale.h"
#include "base/lock.h"

typedef struct start {
    void *(*main)(void *);
    void *arg;
    char name[16];
    sigset_t signals;
} start;

/* On its stack. NULL: not a thread of ours. */
static __thread const start *own;

/* A new thread inherits its starter's floating-point traps and rounding. */
static void *begin(void *arg)
{
    start s = *(start *)arg;
    free(arg);
    own = &s;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    hb_locks_shielded(true);
    fesetenv(FE_DFL_ENV);
    pthread_setname_np(pthread_self(), s.name);
    hb_enter_c_locale();
    return s.main(s.arg);
}

int hb_background_thread(pthread_t *thread, const char *name, void *(*main)(void *), void *arg)
{
    sigset_t all;
    start *s = malloc(sizeof *s);
    if (!s) return ENOMEM;
    *s = (start){.main = main, .arg = arg};
    snprintf(s->name, sizeof s->name, HB_THREAD_PREFIX "%.*s",
             (int)(sizeof s->name - sizeof HB_THREAD_PREFIX), name);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &s->signals);
    sigset_t before = s->signals; /* the thread frees it */
    if (own) s->signals = own->signals;
    int error = pthread_create(thread, NULL, begin, s);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error) free(s);
    return error;
}

bool hb_background_is_this(void)
{
    return own != NULL;
}

void hb_background_takes_signals(void)
{
    hb_locks_shielded(false);
    pthread_sigmask(SIG_SETMASK, &own->signals, NULL);
}
