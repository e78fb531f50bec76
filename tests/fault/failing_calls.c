/* SPDX-License-Identifier: MIT */
#include "failing_calls.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <locale.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* result, name, parameters, arguments, what a failure returns, errno */
#define CALLS(X)                                                                                   \
    X(void *, malloc, (size_t n), (n), NULL, ENOMEM)                                               \
    X(void *, calloc, (size_t n, size_t m), (n, m), NULL, ENOMEM)                                  \
    X(void *, realloc, (void *p, size_t n), (p, n), NULL, ENOMEM)                                  \
    X(void *, aligned_alloc, (size_t a, size_t n), (a, n), NULL, ENOMEM)                           \
    X(char *, strdup, (const char *s), (s), NULL, ENOMEM)                                          \
    X(char *, strndup, (const char *s, size_t n), (s, n), NULL, ENOMEM)                            \
    X(char *, realpath, (const char *p, char *to), (p, to), NULL, ENOMEM)                          \
    X(char *, getcwd, (char *to, size_t n), (to, n), NULL, ENOENT)                                 \
    X(void *, mmap64, (void *p, size_t n, int a, int b, int c, off64_t d), (p, n, a, b, c, d),     \
      MAP_FAILED, ENOMEM)                                                                          \
    X(int, mprotect, (void *p, size_t n, int a), (p, n, a), -1, ENOMEM)                            \
    X(int, madvise, (void *p, size_t n, int a), (p, n, a), -1, ENOMEM)                             \
    X(int, ftruncate64, (int fd, off64_t n), (fd, n), -1, ENOSPC)                                  \
    X(int, fallocate64, (int fd, int a, off64_t b, off64_t c), (fd, a, b, c), -1, ENOSPC)          \
    X(int, fsync, (int fd), (fd), -1, EIO)                                                         \
    X(ssize_t, write, (int fd, const void *p, size_t n), (fd, p, n), -1, ENOSPC)                   \
    X(ssize_t, pwrite64, (int fd, const void *p, size_t n, off64_t o), (fd, p, n, o), -1, ENOSPC)  \
    X(ssize_t, read, (int fd, void *p, size_t n), (fd, p, n), -1, EIO)                             \
    X(ssize_t, pread64, (int fd, void *p, size_t n, off64_t o), (fd, p, n, o), -1, EIO)            \
    X(int, rename, (const char *a, const char *b), (a, b), -1, EACCES)                             \
    X(int, renameat, (int a, const char *b, int c, const char *d), (a, b, c, d), -1, EACCES)       \
    X(int, renameat2, (int a, const char *b, int c, const char *d, unsigned e), (a, b, c, d, e),   \
      -1, EINVAL)                                                                                  \
    X(int, linkat, (int a, const char *b, int c, const char *d, int e), (a, b, c, d, e), -1,       \
      EPERM)                                                                                       \
    X(int, unlink, (const char *p), (p), -1, EACCES)                                               \
    X(int, unlinkat, (int a, const char *p, int b), (a, p, b), -1, EACCES)                         \
    X(int, mkdir, (const char *p, mode_t m), (p, m), -1, EACCES)                                   \
    X(int, fstat64, (int fd, struct stat64 *st), (fd, st), -1, EIO)                                \
    X(int, stat64, (const char *p, struct stat64 *st), (p, st), -1, EACCES)                        \
    X(int, lstat64, (const char *p, struct stat64 *st), (p, st), -1, EACCES)                       \
    X(int, fstatat64, (int a, const char *p, struct stat64 *st, int b), (a, p, st, b), -1, EACCES) \
    X(int, flock, (int fd, int a), (fd, a), -1, ENOLCK)                                            \
    X(int, gethostname, (char *to, size_t n), (to, n), -1, EFAULT)                                 \
    X(ssize_t, getrandom, (void *p, size_t n, unsigned a), (p, n, a), -1, EAGAIN)                  \
    X(FILE *, fopen64, (const char *p, const char *m), (p, m), NULL, EMFILE)                       \
    X(FILE *, fdopen, (int fd, const char *m), (fd, m), NULL, ENOMEM)                              \
    X(DIR *, opendir, (const char *p), (p), NULL, EMFILE)                                          \
    X(DIR *, fdopendir, (int fd), (fd), NULL, ENOMEM)                                              \
    X(locale_t, newlocale, (int a, const char *b, locale_t c), (a, b, c), (locale_t)0, ENOMEM)     \
    X(int, pthread_key_create, (pthread_key_t * k, void (*f)(void *)), (k, f), EAGAIN, 0)          \
    X(int, pthread_create,                                                                         \
      (pthread_t * t, const pthread_attr_t *a, void *(*f)(void *), void *arg), (t, a, f, arg),     \
      EAGAIN, 0)                                                                                   \
    X(int, open64, (const char *p, int f, mode_t m), (p, f, m), -1, EMFILE)                        \
    X(int, openat64, (int d, const char *p, int f, mode_t m), (d, p, f, m), -1, EMFILE)

static struct {
    _Atomic long nth, count;
    atomic_bool counting, all;
    _Atomic(const char *) failed;
    char *tell;
} state;

void failing_calls_tell(char *name)
{
    state.tell = name;
}

void failing_calls_begin(long nth, bool all)
{
    atomic_store(&state.nth, nth);
    atomic_store(&state.all, all);
    atomic_store(&state.count, 0);
    atomic_store(&state.failed, NULL);
    atomic_store(&state.counting, true);
}

void failing_calls_end(void)
{
    atomic_store(&state.counting, false);
}

long failing_calls_count(void)
{
    return atomic_load(&state.count);
}

const char *failing_calls_failed(void)
{
    return atomic_load(&state.failed);
}

#ifdef PRELOADED
#include "failing_calls_preload.h"
#else
#define OURS          true
#define NAME(name)    __wrap_##name
#define REAL(name)    __real_##name
#define DECLARE(name) __typeof__(__wrap_##name) __real_##name;
#define LABEL(name)
#endif

static bool fails(const char *name)
{
    const char *none = NULL;
    long nth = atomic_load(&state.nth), n = atomic_fetch_add(&state.count, 1) + 1;
    if (nth == 0 || (atomic_load(&state.all) ? n < nth : n != nth)) return false;
    if (atomic_compare_exchange_strong(&state.failed, &none, name) && state.tell)
        strncpy(state.tell, name, 31);
    return true;
}

/* The file functions with a mode take it always: who does not pass one does not create. */
#define DEFINE(result, name, parameters, arguments, failure, error) \
    result NAME(name)                                               \
    parameters LABEL(name);                                         \
    DECLARE(name)                                                   \
    result NAME(name) parameters                                    \
    {                                                               \
        if (atomic_load(&state.counting) && OURS && fails(#name)) { \
            if (error) errno = error;                               \
            return failure;                                         \
        }                                                           \
        return REAL(name) arguments;                                \
    }
CALLS(DEFINE)

/* ---- with arguments that vary ---- */

int NAME(asprintf)(char **to, const char *format, ...) LABEL(asprintf)
    __attribute__((format(printf, 2, 3)));

int NAME(asprintf)(char **to, const char *format, ...)
{
    va_list args;
    if (atomic_load(&state.counting) && OURS && fails("asprintf")) {
        errno = ENOMEM;
        return -1;
    }
    va_start(args, format);
    int n = vasprintf(to, format, args);
    va_end(args);
    return n;
}
