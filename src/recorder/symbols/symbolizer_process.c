/* SPDX-License-Identifier: MIT */
#include "symbols/symbolizer_process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "symbols/own_parts.h"

#define PROGRAM      HB_PART_SYMBOLIZER
#define PATH_SETTING "HIPBOARD_SYMBOLIZER" /* its path; empty: none */

/* A program's debug information may be gigabytes. */
enum { PATIENCE_MS = 30000, STACK_SIZE = 1 << 16 };

/* ---- where it is ---- */

/* False: not there, and hb_last_error() says why. */
static bool find_program(char path[PATH_MAX])
{
    const char *set = secure_getenv(PATH_SETTING);
    if (!set) return hb_part_path(PROGRAM, path, PATH_MAX) == HB_OK && access(path, X_OK) == 0;
    bool may = snprintf(path, PATH_MAX, "%s", set) < PATH_MAX && hb_part_may_be_run(path, 0) &&
               access(path, X_OK) == 0;
    if (!may) hb_fail(HB_ERROR_UNSUPPORTED, PROGRAM " is not there; " PATH_SETTING " names it");
    return may;
}

/* ---- starting it ---- */

/* clone() by the name under which ThreadSanitizer does not know it: it takes the call for a fork()
 * and writes so into what is the program's memory, too. */
#ifdef __GLIBC__
extern int __clone(int (*fn)(void *), void *stack, int flags, void *arg, ...);
#else
#define __clone clone
#endif

typedef struct launch {
    const char *path;
    int pipe;
    char *stack; /* of the helper until it is another program; its parent's is behind it */
    /* the children write these: the memory is shared until then */
    pid_t pid;
    int error;
} launch;

/* In the helper. Only system calls: the memory is the program's. Signals stay blocked, so that no
 * handler of the program's runs here; the new program lets them in. */
static int become_symbolizer(void *arg)
{
    launch *l = arg;
    char *argv[] = {(char *)(uintptr_t)PROGRAM, (char *)(uintptr_t)hb_version(), NULL};
    char *environment[] = {NULL};
    int pipe = (int)syscall(SYS_fcntl, l->pipe, F_DUPFD, 3);
    int null = (int)syscall(SYS_openat, AT_FDCWD, "/dev/null", O_WRONLY);
    if (null >= 0 && null != STDERR_FILENO) syscall(SYS_dup3, null, STDERR_FILENO, 0);
    bool ok = pipe >= 0 && syscall(SYS_dup3, pipe, STDIN_FILENO, 0) >= 0 &&
              syscall(SYS_dup3, pipe, STDOUT_FILENO, 0) >= 0;
#ifdef SYS_close_range
    syscall(SYS_close_range, 3u, ~0u, 0);
#endif
    if (ok) syscall(SYS_execve, l->path, argv, environment);
    l->error = errno;
    syscall(SYS_exit_group, 127);
    return 127;
}

/* In the helper's parent, which ends when the helper is a program: then init has it. */
static int begin_symbolizer(void *arg)
{
    launch *l = arg;
    l->pid = __clone(become_symbolizer, l->stack + STACK_SIZE, CLONE_VM | CLONE_VFORK | SIGCHLD, l);
    if (l->pid < 0) l->error = errno;
    syscall(SYS_exit_group, 0);
    return 0;
}

/* As vfork() and exec(), but of a process that is no concern of the program's. Its parent, which is
 * our child, ends without a signal and is seen by waits with __WCLONE only; a new program's end
 * would be told by SIGCHLD, whatever it was begun with. -errno when it fails. */
static pid_t launch_program(const char *path, int pipe)
{
    launch l = {.path = path, .pipe = pipe};
    sigset_t all, before;
    l.stack =
        mmap(NULL, 2 * STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (l.stack == MAP_FAILED) return -ENOMEM;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t parent = __clone(begin_symbolizer, l.stack + 2 * STACK_SIZE, CLONE_VM | CLONE_VFORK, &l);
    if (parent < 0) l.error = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    while (parent > 0 && waitpid(parent, NULL, __WCLONE) < 0 && errno == EINTR)
        continue;
    munmap(l.stack, 2 * STACK_SIZE);
    return l.error ? -l.error : l.pid;
}

/* Where the program takes in orphans it takes in the helper. */
static void reap(pid_t pid)
{
    enum { LOOKS = 1000 };
    int takes_orphans = 0;
    prctl(PR_GET_CHILD_SUBREAPER, &takes_orphans, 0, 0, 0);
    if (getpid() != 1 && !takes_orphans) return;
    for (int i = 0; i < LOOKS && waitpid(pid, NULL, __WALL | WNOHANG) == 0; i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static bool is_secure(void)
{
    return getauxval(AT_SECURE) != 0;
}

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
    if (is_secure()) return fail(p, "this program has privileges of its own");
    if (!find_program(path)) return fail(p, "%s", hb_last_error());
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return fail(p, "no pipe to %s: %s", path, strerror(errno));
    pid_t pid = launch_program(path, ends[1]);
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
    if (p->pid > 0) reap(p->pid);
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
