/* SPDX-License-Identifier: MIT */
#include "base/background.h"

#include <signal.h>

int hb_background_thread(pthread_t *thread, const char *name, void *(*main)(void *), void *arg)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(thread, NULL, main, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error == 0) pthread_setname_np(*thread, name);
    return error;
}
