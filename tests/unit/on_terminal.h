/* SPDX-License-Identifier: MIT
 *
 * What a process of its own prints, output and errors together, on a terminal or into a pipe.
 */
#ifndef HB_TEST_ON_TERMINAL_H
#define HB_TEST_ON_TERMINAL_H

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <cmocka.h>

static inline int open_terminal(int ends[2], unsigned short columns)
{
    struct termios raw;
    struct winsize size = {.ws_row = 24, .ws_col = columns};
    ends[0] = posix_openpt(O_RDWR | O_NOCTTY);
    if (ends[0] < 0 || grantpt(ends[0]) != 0 || unlockpt(ends[0]) != 0) return -1;
    ends[1] = open(ptsname(ends[0]), O_RDWR | O_NOCTTY);
    if (ends[1] < 0 || tcgetattr(ends[1], &raw) != 0) return -1;
    cfmakeraw(&raw);
    return tcsetattr(ends[1], TCSANOW, &raw) | ioctl(ends[1], TIOCSWINSZ, &size);
}

/* All that fn() prints; returns its process's status. `columns` of the terminal, -1: a pipe. */
static inline int printed_by(void (*fn)(const void *), const void *context, int columns, char *text,
                             size_t size)
{
    int ends[2] = {-1, -1}, status;
    size_t n = 0;
    assert_int_equal(columns < 0 ? pipe(ends) : open_terminal(ends, (unsigned short)columns), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        fn(context);
        fflush(stdout);
        _exit(0);
    }
    close(ends[1]);
    for (ssize_t got; (got = read(ends[0], text + n, size - 1 - n)) > 0;)
        n += (size_t)got;
    text[n] = 0;
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

#endif
