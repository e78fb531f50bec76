/* SPDX-License-Identifier: MIT */
#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "signals.h"

static volatile pid_t child;

/* The terminal sends its signals to the program as well: only what another process sent is passed
 * on. */
static void pass_on(int signal_number, siginfo_t *info, void *context)
{
    int error = errno; /* of what it interrupts */
    (void)context;
    if (child > 0 && info->si_code <= 0) kill(child, signal_number);
    errno = error;
}

static const int passed_on[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM,  SIGUSR1,
                                SIGUSR2, SIGALRM, SIGCONT, SIGWINCH, SIGURG};
enum { NUM_PASSED_ON = sizeof passed_on / sizeof *passed_on };

typedef struct dispositions {
    struct sigaction passed_on[NUM_PASSED_ON], end_of_child;
} dispositions;

/* Where ends of children are ignored, as some launchers do and exec() leaves it, the kernel keeps
 * the program's end to itself. */
static void catch_signals(dispositions *before)
{
    struct sigaction action = {.sa_sigaction = pass_on, .sa_flags = SA_SIGINFO | SA_RESTART};
    for (int i = 0; i < NUM_PASSED_ON; i++)
        catch_signal(passed_on[i], &action, &before->passed_on[i]);
    sigaction(SIGCHLD, &(struct sigaction){.sa_handler = SIG_DFL}, &before->end_of_child);
}

/* The program's dispositions are those that this process was started with. */
static void release_signals(const dispositions *before)
{
    for (int i = 0; i < NUM_PASSED_ON; i++)
        sigaction(passed_on[i], &before->passed_on[i], NULL);
    sigaction(SIGCHLD, &before->end_of_child, NULL);
}

static void become(char **program, int error_pipe)
{
    execvp(program[0], program);
    int error = errno;
    ssize_t written = write(error_pipe, &error, sizeof error);
    _exit(written == sizeof error ? 126 : 127);
}

static bool is_stopped(pid_t pid)
{
    char path[40], text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
    if (fd >= 0) close(fd);
    text[n > 0 ? n : 0] = '\0';
    const char *name_end = strrchr(text, ')');
    return name_end && name_end[1] == ' ' && name_end[2] == 'T';
}

/* Lets this process go on as soon as the program does, or has ended: who stopped only that may
 * know of no other. */
static pid_t start_waker(void)
{
    pid_t sleeper = getpid(), waker = fork();
    if (waker != 0) return waker;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (getppid() == sleeper && (!is_stopped(sleeper) || is_stopped(child)))
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    if (getppid() == sleeper) kill(sleeper, SIGCONT);
    _exit(0);
}

/* Until somebody lets it go on. */
static void stop(void)
{
    sigset_t all, mask;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &mask); /* the waker passes nothing on */
    pid_t waker = start_waker();
    kill(getpid(), SIGSTOP);
    if (waker > 0) kill(waker, SIGKILL);
    sigprocmask(SIG_SETMASK, &mask, NULL);
    while (waker > 0 && waitpid(waker, NULL, 0) < 0 && errno == EINTR)
        continue;
}

/* A program that stops takes this process with it, so that the shell sees it; unless the terminal
 * stopped both and they go on already. True with another change of the program in *status. */
static bool stop_alike(int *status)
{
    pid_t pid = waitpid(child, status, WNOHANG | WUNTRACED | WCONTINUED);
    if (pid == child) return !WIFCONTINUED(*status);
    stop();
    kill(child, SIGCONT);
    return false;
}

static launch_end wait_for(void)
{
    int status;
    for (;;) {
        pid_t pid = waitpid(child, &status, WUNTRACED);
        if (pid < 0 && errno != EINTR) return (launch_end){false, false, errno};
        if (pid < 0) continue;
        if (WIFSTOPPED(status) && !stop_alike(&status)) continue;
        if (!WIFSTOPPED(status)) break;
    }
    bool by_signal = WIFSIGNALED(status);
    return (launch_end){true, by_signal, by_signal ? WTERMSIG(status) : WEXITSTATUS(status)};
}

launch_end launch(char **program, void (*before)(void *), void *context)
{
    dispositions own;
    sigset_t all, mask;
    int fds[2], error;
    pid_t parent = getpid();
    if (pipe2(fds, O_CLOEXEC) != 0) return (launch_end){false, false, errno};
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &mask); /* until `child` is known */
    catch_signals(&own);
    child = fork();
    if (child == 0) {
        release_signals(&own);
        sigprocmask(SIG_SETMASK, &mask, NULL);
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* as if it had been killed in this one's place */
        if (getppid() != parent) _exit(127);
        before(context);
        become(program, fds[1]);
    }
    error = child < 0 ? errno : 0;
    sigprocmask(SIG_SETMASK, &mask, NULL);
    close(fds[1]);
    if (error == 0 && read(fds[0], &error, sizeof error) != sizeof error) error = 0;
    close(fds[0]);
    if (child < 0) return (launch_end){false, false, error};
    launch_end end = wait_for();
    return error ? (launch_end){false, false, error} : end;
}

void launch_end_alike(const launch_end *end)
{
    if (end->by_signal) {
        struct rlimit none = {0, 0}; /* the program has left its core already */
        sigset_t only;
        setrlimit(RLIMIT_CORE, &none);
        signal(end->code, SIG_DFL);
        sigemptyset(&only);
        sigaddset(&only, end->code);
        sigprocmask(SIG_UNBLOCK, &only, NULL);
        raise(end->code);
    }
    _exit(end->by_signal ? 128 + end->code : end->code);
}
