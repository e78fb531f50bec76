/* SPDX-License-Identifier: MIT
 *
 * Programs that a test runs to their end, each in a process of its own which has nothing of the
 * test's: what checks memory and threads cannot look into forked children. One that hangs is ended.
 */
#ifndef HB_TEST_PROGRAM_H
#define HB_TEST_PROGRAM_H

#include <poll.h>
#include <signal.h>

#include <hipboard/hipboard.h>

#include "test_dir.h"

#define ENOUGH_S 100

/* In a program: what is not so ends it. */
#define CHECK(what)                                                        \
    do {                                                                   \
        if (!(what)) {                                                     \
            fprintf(stderr, "%s:%d: not %s\n", __FILE__, __LINE__, #what); \
            _exit(1);                                                      \
        }                                                                  \
    } while (0)

typedef struct program {
    const char *name;
    int (*run)(void);
} program;

#define PROGRAM(name) \
    {                 \
#name, name   \
    }

/* What `argv` asks for, when it asks for a program; `dir` is then its test's. A program that is
 * none must not be taken for the test, which would start it again, and so on. */
static inline bool is_program(char **argv, const program *programs, size_t n, int *status)
{
    const char *in = getenv("TEST_DIR");
    if (!argv[1] || !in) return false;
    snprintf(dir, sizeof dir, "%s", in);
    for (size_t i = 0; i < n; i++)
        if (strcmp(argv[1], programs[i].name) == 0) {
            *status = programs[i].run();
            return true;
        }
    fprintf(stderr, "there is no program %s\n", argv[1]);
    *status = 127;
    return true;
}

static inline pid_t start_program(const char *name)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        setenv("TEST_DIR", dir, 1);
        execl("/proc/self/exe", "program", name, NULL);
        _exit(127);
    }
    return pid;
}

/* How many times as much is done as by default; tests/long.sh */
static inline int rounds(int n)
{
    const char *times = getenv("TEST_ROUNDS");
    return n * (times ? atoi(times) : 1);
}

/* The exit status; 1000 and the signal that ended it. */
static inline int end_of_program(pid_t pid)
{
    int status;
    for (int i = 0; waitpid(pid, &status, WNOHANG) == 0; i++) {
        if (i == rounds(ENOUGH_S * 100)) kill(pid, SIGKILL);
        poll(NULL, 0, 10);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

#define run_program(name) ((void)sizeof(name()), end_of_program(start_program(#name)))

#endif
