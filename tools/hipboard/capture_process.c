/* SPDX-License-Identifier: MIT
 *
 * Where a process begins and ends: main(), fork, exec and _exit, taken in between the program and
 * the C library.
 */
#include <alloca.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture.h"

#define EXPORT __attribute__((visibility("default")))

/* The C library's function of that name. */
static void find_real(const char *name, void *function_pointer)
{
    void *address = dlsym(RTLD_NEXT, name);
    memcpy(function_pointer, &address, sizeof address);
}

/* ---- main ---- */

typedef int (*main_fn)(int argc, char **argv, char **environment);
typedef int (*start_main_fn)(main_fn main, int argc, char **argv, void (*init)(void),
                             void (*fini)(void), void (*rtld_fini)(void), void *stack_end);

static main_fn program;

static int recorded_main(int argc, char **argv, char **environment)
{
    capture_start();
    atexit(capture_finish);
    pthread_atfork(NULL, NULL, capture_start);
    return program(argc, argv, environment);
}

EXPORT int __libc_start_main(main_fn main, int argc, char **argv, void (*init)(void),
                             void (*fini)(void), void (*rtld_fini)(void), void *stack_end);

/* Not from a constructor: what is to happen at exit must be asked for after the C library has asked
 * for the libraries' ends, to come before the end of the HIP runtime. */
int __libc_start_main(main_fn main, int argc, char **argv, void (*init)(void), void (*fini)(void),
                      void (*rtld_fini)(void), void *stack_end)
{
    start_main_fn real;
    find_real("__libc_start_main", &real);
    program = main;
    return real(recorded_main, argc, argv, init, fini, rtld_fini, stack_end);
}

/* ---- _exit ---- */

EXPORT void _exit(int status) __attribute__((noreturn));
EXPORT void _Exit(int status) __attribute__((noreturn));
EXPORT void quick_exit(int status) __attribute__((noreturn));

static void leave_by(const char *name, int status) __attribute__((noreturn));

static void leave_by(const char *name, int status)
{
    void (*real)(int) __attribute__((noreturn));
    find_real(name, &real);
    (void)capture_finish_from_outside();
    real(status);
}

void _exit(int status)
{
    leave_by("_exit", status);
}

void _Exit(int status)
{
    leave_by("_Exit", status);
}

void quick_exit(int status)
{
    leave_by("quick_exit", status);
}

/* ---- exec: an end when it succeeds ---- */

typedef int (*execve_fn)(const char *path, char *const argv[], char *const envp[]);
typedef int (*execv_fn)(const char *path, char *const argv[]);

EXPORT int execve(const char *path, char *const argv[], char *const envp[]);
EXPORT int execvpe(const char *file, char *const argv[], char *const envp[]);
EXPORT int execv(const char *path, char *const argv[]);
EXPORT int execvp(const char *file, char *const argv[]);
EXPORT int fexecve(int fd, char *const argv[], char *const envp[]);
EXPORT int execl(const char *path, const char *arg, ...);
EXPORT int execlp(const char *file, const char *arg, ...);
EXPORT int execle(const char *path, const char *arg, ...);

static int failed(int result, bool was_capturing)
{
    int error = errno;
    if (was_capturing) capture_start();
    errno = error;
    return result;
}

static int with_environment(const char *name, const char *path, char *const argv[],
                            char *const envp[])
{
    execve_fn real;
    find_real(name, &real);
    bool captured = capture_finish_from_outside();
    return failed(real(path, argv, envp), captured);
}

static int without_environment(const char *name, const char *path, char *const argv[])
{
    execv_fn real;
    find_real(name, &real);
    bool captured = capture_finish_from_outside();
    return failed(real(path, argv), captured);
}

int execve(const char *path, char *const argv[], char *const envp[])
{
    return with_environment("execve", path, argv, envp);
}

int execvpe(const char *file, char *const argv[], char *const envp[])
{
    return with_environment("execvpe", file, argv, envp);
}

int execv(const char *path, char *const argv[])
{
    return without_environment("execv", path, argv);
}

int execvp(const char *file, char *const argv[])
{
    return without_environment("execvp", file, argv);
}

int fexecve(int fd, char *const argv[], char *const envp[])
{
    int (*real)(int, char *const[], char *const[]);
    find_real("fexecve", &real);
    bool captured = capture_finish_from_outside();
    return failed(real(fd, argv, envp), captured);
}

/* The list of `first` and what follows it, until NULL, becomes `argv`; `args` stands behind the
 * NULL then. On the stack, since this may be after a fork. */
#define GATHER(argv, args, first)                         \
    do {                                                  \
        size_t gathered = 1;                              \
        va_start(args, first);                            \
        while (va_arg(args, char *))                      \
            gathered++;                                   \
        va_end(args);                                     \
        (argv) = alloca(sizeof *(argv) * (gathered + 1)); \
        (argv)[0] = (char *)(uintptr_t)(first);           \
        va_start(args, first);                            \
        for (size_t i = 1; i <= gathered; i++)            \
            (argv)[i] = va_arg(args, char *);             \
    } while (0)

int execl(const char *path, const char *arg, ...)
{
    va_list args;
    char **argv;
    GATHER(argv, args, arg);
    va_end(args);
    return without_environment("execv", path, argv);
}

int execlp(const char *file, const char *arg, ...)
{
    va_list args;
    char **argv;
    GATHER(argv, args, arg);
    va_end(args);
    return without_environment("execvp", file, argv);
}

int execle(const char *path, const char *arg, ...)
{
    va_list args;
    char **argv;
    GATHER(argv, args, arg);
    char *const *envp = va_arg(args, char *const *);
    va_end(args);
    return with_environment("execve", path, argv, envp);
}
