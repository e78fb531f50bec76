/* SPDX-License-Identifier: MIT */
#include "base/background.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "base/c_locale.h"

typedef struct start {
    void *(*main)(void *);
    void *arg;
} start;

static void *begin(void *arg)
{
    start s = *(start *)arg;
    free(arg);
    hb_enter_c_locale();
    return s.main(s.arg);
}

int hb_background_thread(pthread_t *thread, const char *name, void *(*main)(void *), void *arg)
{
    sigset_t all, before;
    start *s = malloc(sizeof *s);
    if (!s) return ENOMEM;
    *s = (start){main, arg};
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(thread, NULL, begin, s);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error)
        free(s);
    else
        pthread_setname_np(*thread, name);
    return error;
}
