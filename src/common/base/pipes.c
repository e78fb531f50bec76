/* SPDX-License-Identifier: MIT */
#include "base/pipes.h"

#include <errno.h>
#include <time.h>

static sigset_t only_pipe(void)
{
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    return pipe;
}

hb_pipe_guard hb_pipe_guard_begin(void)
{
    hb_pipe_guard guard;
    sigset_t pipe = only_pipe(), pending;
    sigpending(&pending);
    guard.was_pending = sigismember(&pending, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, &guard.before);
    return guard;
}

/* The signal went to this thread, and is taken back. */
void hb_pipe_guard_end(const hb_pipe_guard *guard, bool failed)
{
    int error = errno;
    sigset_t pipe = only_pipe();
    if (failed && error == EPIPE && !guard->was_pending)
        sigtimedwait(&pipe, NULL, &(struct timespec){0});
    pthread_sigmask(SIG_SETMASK, &guard->before, NULL);
    errno = error;
}
