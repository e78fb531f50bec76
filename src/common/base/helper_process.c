/* SPDX-License-Identifier: MIT */
#include "base/helper_process.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { STACK_SIZE = 1 << 16 };

/* clone() by the name under which ThreadSanitizer does not know it: it takes the call for a fork()
 * and writes so into what is the program's memory, too. */
#ifdef __GLIBC__
extern int __clone(int (*fn)(void *), void *stack, int flags, void *arg, ...);
#else
#define __clone clone
#endif

/* These are never left: what AddressSanitizer marks around their variables would stay where the
 * stack was, and be found in whatever is mapped there next. */
#define NEVER_LEFT __attribute__((no_sanitize("address")))

typedef struct launch {
    const char *path, *name;
    int pipe;
    char *stack; /* of the helper until it is another program; its parent's is behind it */
    /* the children write these: the memory is shared until then */
    pid_t pid;
    int error;
} launch;

/* In the helper. Only system calls: the memory is the program's. Signals stay blocked, so that no
 * handler of the program's runs here; the new program lets them in. */
NEVER_LEFT static int become_helper(void *arg)
{
    launch *l = arg;
    char *argv[] = {(char *)(uintptr_t)l->name, (char *)(uintptr_t)hb_version(), NULL};
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
NEVER_LEFT static int begin_helper(void *arg)
{
    launch *l = arg;
    l->pid = __clone(become_helper, l->stack + STACK_SIZE, CLONE_VM | CLONE_VFORK | SIGCHLD, l);
    if (l->pid < 0) l->error = errno;
    syscall(SYS_exit_group, 0);
    return 0;
}

/* As vfork() and exec(), but of a process that is no concern of the program's. Its parent, which is
 * our child, ends without a signal and is seen by waits with __WCLONE only; a new program's end
 * would be told by SIGCHLD, whatever it was begun with. -errno when it fails. */
pid_t hb_helper_launch(const char *path, const char *name, int pipe)
{
    launch l = {.path = path, .name = name, .pipe = pipe};
    sigset_t all, before;
    l.stack =
        mmap(NULL, 2 * STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (l.stack == MAP_FAILED) return -ENOMEM;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t parent = __clone(begin_helper, l.stack + 2 * STACK_SIZE, CLONE_VM | CLONE_VFORK, &l);
    if (parent < 0) l.error = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    while (parent > 0 && waitpid(parent, NULL, __WCLONE) < 0 && errno == EINTR)
        continue;
    munmap(l.stack, 2 * STACK_SIZE);
    return l.error ? -l.error : l.pid;
}

/* Where the program takes in orphans it takes in the helper. */
void hb_helper_reap(pid_t pid)
{
    enum { LOOKS = 1000 };
    int takes_orphans = 0;
    prctl(PR_GET_CHILD_SUBREAPER, &takes_orphans, 0, 0, 0);
    if (getpid() != 1 && !takes_orphans) return;
    for (int i = 0; i < LOOKS && waitpid(pid, NULL, __WALL | WNOHANG) == 0; i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

bool hb_helper_is_allowed(void)
{
    return getauxval(AT_SECURE) == 0;
}
