/* SPDX-License-Identifier: MIT */
#include "profiler/rank_digests.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/helper_process.h"
#include "profiler/written.h"

#define PROGRAM "hipboard-digest"
#define SETTING "HIPBOARD_DIGESTS" /* the directory of their file; "none": none are made */

/* A helper that takes longer goes on alone. */
enum { MOST = 64, PATIENCE_MS = 60000 };

static const char *setting(void)
{
    const char *set = secure_getenv(SETTING);
    return set ? set : "";
}

void hb_rank_digests_want(hb_rank_digests *d, int64_t ranks, const char *trace)
{
    if (ranks < 2 || !trace || strchr(trace, '\n') || strcmp(setting(), "none") == 0) return;
    if (!d->traces.data) hb_buf_init(&d->traces, (size_t)1 << 20);
    hb_buf_str(&d->traces, trace);
    hb_buf_str(&d->traces, "\n");
    d->count++;
}

/* ---- asking the helper ---- */

static bool send_all(int pipe, const char *text, size_t size)
{
    while (size > 0) {
        ssize_t n = send(pipe, text, size, MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR) return false;
        if (n <= 0) continue;
        text += n;
        size -= (size_t)n;
    }
    return true;
}

/* Until it has answered or is gone. */
static bool has_made(int pipe)
{
    char answer[8] = "";
    int64_t until = hb_clock_ns(CLOCK_MONOTONIC) + (int64_t)PATIENCE_MS * 1000000;
    for (int64_t left; (left = until - hb_clock_ns(CLOCK_MONOTONIC)) > 0;) {
        struct pollfd fd = {.fd = pipe, .events = POLLIN};
        int n = poll(&fd, 1, (int)(left / 1000000) + 1);
        if (n < 0 && errno != EINTR) return false;
        if (n > 0) return recv(pipe, answer, sizeof answer - 1, 0) > 0 && *answer == 'd';
    }
    return false;
}

static bool ask(const char *helper, const hb_rank_digests *d)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return false;
    pid_t pid = hb_helper_launch(helper, PROGRAM, ends[1]);
    close(ends[1]);
    const char *place = setting();
    bool made = pid > 0 && send_all(ends[0], place, strlen(place)) && send_all(ends[0], "\n", 1) &&
                send_all(ends[0], d->traces.data, d->traces.size) &&
                shutdown(ends[0], SHUT_WR) == 0 && has_made(ends[0]);
    close(ends[0]);
    if (pid > 0) hb_helper_reap(pid);
    return made;
}

/* ---- what is wanted ---- */

static void tell_made(hb_rank_digests *d)
{
    char *next, *line = d->traces.data;
    for (char *end = d->traces.data + d->traces.size; line < end; line = next) {
        next = strchr(line, '\n') + 1;
        next[-1] = '\0';
        hb_tell_written(HB_WRITTEN_DIGEST, line);
    }
}

void hb_rank_digests_make(hb_rank_digests *d, bool is_last)
{
    char helper[PATH_MAX];
    if (!d->count || (!is_last && d->count < MOST)) return;
    bool can = !d->traces.failed && hb_helper_is_allowed() &&
               hb_part_path(PROGRAM, helper, sizeof helper) == HB_OK;
    if (can && ask(helper, d)) tell_made(d);
    hb_buf_free(&d->traces);
    d->count = 0;
}
