/* SPDX-License-Identifier: MIT
 *
 * What is written to standard error meanwhile.
 */
#ifndef HB_TEST_SAID_H
#define HB_TEST_SAID_H

#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct said_text {
    int file, before;
    char text[16384];
} said_text;

static inline void said_begin(said_text *s)
{
    fflush(stderr);
    s->file = memfd_create("said", MFD_CLOEXEC);
    s->before = dup(STDERR_FILENO);
    if (dup2(s->file, STDERR_FILENO) < 0) _exit(99);
}

/* Until there is something, or a test has waited long enough. */
static inline void said_wait(const said_text *s)
{
    struct stat st;
    for (int ms = 0; ms < 20000 && fstat(s->file, &st) == 0 && st.st_size == 0; ms++)
        usleep(1000);
}

static inline const char *said_end(said_text *s)
{
    fflush(stderr);
    dup2(s->before, STDERR_FILENO);
    ssize_t n = pread(s->file, s->text, sizeof s->text - 1, 0);
    s->text[n > 0 ? n : 0] = '\0';
    close(s->before);
    close(s->file);
    return s->text;
}

#endif
