/* SPDX-License-Identifier: MIT
 *
 * Of a thread, the system calls that it should not make: the first is noted, none is made.
 */
#ifndef HB_TEST_TRAPPED_H
#define HB_TEST_TRAPPED_H

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static _Atomic long first_call; /* of a trapped thread; 0: none */

static inline void note_call(int sig, siginfo_t *info, void *context)
{
    long none = 0;
    (void)sig;
    (void)context;
    atomic_compare_exchange_strong(&first_call, &none, info->si_syscall ? info->si_syscall : -1);
}

#define ALLOW(call)                                         \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##call, 0, 1), \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define NUMBER_OF_CALL BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))
#define TRAP_OTHERS    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP)
/* They tell the time, return from a handler, ask for the thread's name at its first record in a
 * cycle, and go on with a call in which the process was stopped. */
#define ALWAYS_ALLOWED \
    ALLOW(rt_sigreturn), ALLOW(prctl), ALLOW(clock_gettime), ALLOW(restart_syscall)

/* Of this thread every system call is noted, and not made, but those that the rules allow. */
static inline bool trap_others(struct sock_filter *rules, unsigned short num_rules)
{
    struct sock_fprog program = {num_rules, rules};
    struct sigaction action = {.sa_sigaction = note_call, .sa_flags = SA_SIGINFO | SA_NODEFER};
    return sigaction(SIGSYS, &action, NULL) == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* Allowed is what locks, wakes threads, takes memory and gives a cycle its number; no file. */
static inline bool trap_file_calls(void)
{
    struct sock_filter rules[] = {
        NUMBER_OF_CALL, ALWAYS_ALLOWED,         ALLOW(rt_sigprocmask), ALLOW(futex),
        ALLOW(getpid),  ALLOW(gettid),          ALLOW(getrandom),      ALLOW(nanosleep),
        ALLOW(mmap),    ALLOW(munmap),          ALLOW(mprotect),       ALLOW(brk),
        ALLOW(madvise), ALLOW(clock_nanosleep), ALLOW(exit),           TRAP_OTHERS,
    };
    return trap_others(rules, sizeof rules / sizeof *rules);
}

#define TRAP(call) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##call, 0, 1), TRAP_OTHERS

/* For a thread that also runs what others have written. */
static inline bool trap_calls_of_files(void)
{
    struct sock_filter rules[] = {
        NUMBER_OF_CALL,   TRAP(read),      TRAP(write),
        TRAP(open),       TRAP(openat),    TRAP(close),
        TRAP(stat),       TRAP(fstat),     TRAP(lstat),
        TRAP(newfstatat), TRAP(statx),     TRAP(lseek),
        TRAP(pread64),    TRAP(pwrite64),  TRAP(readv),
        TRAP(writev),     TRAP(access),    TRAP(faccessat),
        TRAP(fcntl),      TRAP(flock),     TRAP(fsync),
        TRAP(fdatasync),  TRAP(ftruncate), TRAP(fallocate),
        TRAP(getdents64), TRAP(rename),    TRAP(renameat2),
        TRAP(link),       TRAP(linkat),    TRAP(unlink),
        TRAP(unlinkat),   TRAP(mkdir),     TRAP(readlinkat),
        TRAP(statfs),     TRAP(msync),     BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    return trap_others(rules, sizeof rules / sizeof *rules);
}

#endif
