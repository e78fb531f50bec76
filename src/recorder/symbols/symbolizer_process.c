/* SPDX-License-Identifier: MIT */
#include "symbols/symbolizer_process.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/helper_process.h"
#include "symbols/own_parts.h"

#define PROGRAM      HB_PART_SYMBOLIZER
#define PATH_SETTING "HIPBOARD_SYMBOLIZER" /* its path; empty: none */

/* A program's debug information may be gigabytes. */
enum { PATIENCE_MS = 30000 };

/* ---- where it is ---- */

static hb_result find_program(char path[PATH_MAX])
{
    const char *set = secure_getenv(PATH_SETTING);
    if (!set)
        HB_TRY(hb_part_path(PROGRAM, path, PATH_MAX));
    else if (snprintf(path, PATH_MAX, "%s", set) >= PATH_MAX || access(path, F_OK) != 0)
        return hb_fail(HB_ERROR_UNSUPPORTED, PROGRAM " is not there; " PATH_SETTING " names it");
    else
        HB_TRY(hb_part_check(path, 0));
    if (access(path, X_OK) == 0) return HB_OK;
    return hb_fail_errno(HB_ERROR_UNSUPPORTED, errno, "%s cannot be run", path);
}

/* ---- starting it ---- */

HB_PRINTF(2, 3) static bool fail(hb_symbolizer_process *p, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(p->reason, sizeof p->reason, format, args);
    va_end(args);
    hb_symbolizer_end(p);
    return false;
}

static bool introduce(hb_symbolizer_process *p, const char *path, hb_str loaded_code)
{
    bool sent =
        hb_symbolizer_send(p, loaded_code.s, loaded_code.len) && hb_symbolizer_send(p, "\n", 1);
    hb_str word = hb_symbolizer_answer(p);
    if (word.s && hb_str_is(word, "ready")) return true;
    if (word.s) return fail(p, "%s: %.*s", path, (int)word.len, word.s);
    return fail(p, "%s does not %s", path, sent ? "answer" : "read");
}

bool hb_symbolizer_start(hb_symbolizer_process *p, hb_str loaded_code)
{
    char path[PATH_MAX];
    int ends[2];
    *p = (hb_symbolizer_process){.pipe = HB_NO_KEPT_FILE, .patience_ms = PATIENCE_MS};
    hb_buf_init(&p->answers, (size_t)64 << 20);
    if (!hb_helper_is_allowed()) return fail(p, "this program has privileges of its own");
    if (find_program(path) != HB_OK) return fail(p, "%s", hb_last_error());
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return fail(p, "no pipe to %s: %s", path, strerror(errno));
    pid_t pid = hb_helper_launch(path, PROGRAM, ends[1]);
    close(ends[1]);
    p->pipe = hb_kept_file_of(ends[0]);
    if (pid < 0) return fail(p, "cannot start %s: %s", path, strerror(-pid));
    p->pid = pid;
    return introduce(p, path, loaded_code);
}

bool hb_symbolizer_is_running(const hb_symbolizer_process *p)
{
    return p->pipe.fd >= 0;
}

/* It ends when nobody is at the other end, also where a child of the program's has the descriptor,
 * too. */
void hb_symbolizer_end(hb_symbolizer_process *p)
{
    if (hb_kept_file_is_there(&p->pipe)) shutdown(p->pipe.fd, SHUT_RDWR);
    hb_kept_file_close(&p->pipe);
    if (p->pid > 0) hb_helper_reap(p->pid);
    p->pid = 0;
    hb_buf_free(&p->answers);
    p->taken = 0;
}

/* ---- talking to it ---- */

/* False when the time is up. */
static bool wait_for(const hb_symbolizer_process *p, short events, int64_t deadline_ns)
{
    for (;;) {
        int64_t left_ms = (deadline_ns - hb_clock_ns(CLOCK_MONOTONIC)) / 1000000;
        struct pollfd fd = {.fd = p->pipe.fd, .events = events};
        if (left_ms <= 0 || !hb_kept_file_is_there(&p->pipe)) return false;
        int n = poll(&fd, 1, (int)left_ms);
        if (n > 0) return true;
        if (n < 0 && errno != EINTR) return false;
    }
}

static int64_t deadline(const hb_symbolizer_process *p)
{
    return hb_clock_ns(CLOCK_MONOTONIC) + (int64_t)p->patience_ms * 1000000;
}

bool hb_symbolizer_send(hb_symbolizer_process *p, const char *text, size_t size)
{
    for (int64_t until = deadline(p); size > 0;) {
        if (!wait_for(p, POLLOUT, until)) return false;
        ssize_t n = send(p->pipe.fd, text, size, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno != EAGAIN && errno != EINTR) return false;
        if (n <= 0) continue;
        text += n;
        size -= (size_t)n;
    }
    return true;
}

/* Whether more came. */
static bool receive(hb_symbolizer_process *p, int64_t until)
{
    enum { PART = 1 << 14 };
    char *at = hb_buf_reserve(&p->answers, PART);
    while (at && wait_for(p, POLLIN, until)) {
        ssize_t n = recv(p->pipe.fd, at, PART, MSG_DONTWAIT);
        if (n > 0) p->answers.size += (size_t)n;
        if (n >= 0) return n > 0;
        if (errno != EAGAIN && errno != EINTR) return false;
    }
    return false;
}

static void drop_taken(hb_symbolizer_process *p)
{
    hb_buf *a = &p->answers;
    if (p->taken) memmove(a->data, a->data + p->taken, a->size - p->taken);
    a->size -= p->taken;
    p->taken = 0;
}

hb_str hb_symbolizer_answer(hb_symbolizer_process *p)
{
    size_t searched = 0;
    int64_t until = deadline(p);
    drop_taken(p);
    for (;;) {
        const hb_buf *a = &p->answers;
        const char *end =
            a->size > searched ? memchr(a->data + searched, '\n', a->size - searched) : NULL;
        if (end) {
            p->taken = (size_t)(end - a->data) + 1;
            return (hb_str){a->data, (uint32_t)(p->taken - 1)};
        }
        searched = a->size;
        if (!receive(p, until)) return (hb_str){0};
    }
}
