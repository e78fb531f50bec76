/* SPDX-License-Identifier: MIT
 *
 * Each call for memory, mappings, threads and files fails once, and with all that follow it: the
 * program that uses the whole interface goes on to its end, and is told.
 *
 *   test_faults [EVERY [FIRST [stacks]]]      each EVERYth call, from FIRST on
 *   test_faults one NTH [all [stacks]]        in this process, for a debugger
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "failing_calls.h"
#include "whole_api.h"

/* Of the child that has ended; in memory that both see. */
static struct report {
    long count;
    char failed[32];
} * report;

static char scratch[] = "/tmp/hipboard-faults-XXXXXX";

static void remove_scratch(void)
{
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", scratch);
    if (system(command) != 0) exit(2);
}

/* What is said on stderr counts as told. */
static int run_child(long nth, bool all, bool stacks)
{
    struct stat said;
    int to = open("/tmp", O_RDWR | O_TMPFILE | O_APPEND, 0600);
    dup2(to, STDERR_FILENO);
    alarm(100);
    failing_calls_tell(report->failed);
    failing_calls_begin(nth, all);
    int status = whole_api(scratch, stacks);
    failing_calls_end();
    report->count = failing_calls_count();
    if (status == WHOLE_LOST_SILENTLY && fstat(to, &said) == 0 && said.st_size > 0)
        status = WHOLE_TOLD;
    return status;
}

static int run_once(long nth, bool all, bool stacks)
{
    int status;
    memset(report, 0, sizeof *report);
    if (mkdir(scratch, 0700) != 0) exit(2);
    pid_t pid = fork();
    if (pid == 0) exit(run_child(nth, all, stacks));
    if (waitpid(pid, &status, 0) != pid) exit(2);
    remove_scratch();
    return status;
}

static int run_here(long nth, bool all, bool stacks)
{
    if (!mkdtemp(scratch)) return 2;
    failing_calls_begin(nth, all);
    int status = whole_api(scratch, stacks);
    failing_calls_end();
    printf("call %ld: %s; status %d; see %s\n", nth, failing_calls_failed(), status, scratch);
    return status;
}

static bool tell(long nth, bool all, int status)
{
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (code == WHOLE_FINE || code == WHOLE_TOLD) return true;
    printf("call %ld%s (%s): ", nth, all ? " and all that follow" : "", report->failed);
    if (WIFSIGNALED(status)) printf("signal %d\n", WTERMSIG(status));
    if (code == WHOLE_NO_TEXT) puts("a failure without a text");
    if (code == WHOLE_LOST_SILENTLY) puts("lost, and nobody was told");
    if (code > 0 && code < WHOLE_NO_TEXT) printf("exit status %d\n", code);
    return false;
}

int main(int argc, char **argv)
{
    long every = argc > 1 ? atol(argv[1]) : 1, first = argc > 2 ? atol(argv[2]) : 1, last = 0;
    if (argc > 2 && strcmp(argv[1], "one") == 0) return run_here(atol(argv[2]), argc > 3, argc > 4);
    int wrong = 0, tried = 0, told = 0;
    bool stacks = argc > 3 && strcmp(argv[3], "stacks") == 0;
    report = mmap(NULL, sizeof *report, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!mkdtemp(scratch)) return 2;
    remove_scratch();
    int status = run_once(0, false, stacks);
    if (status != 0 || report->count == 0) {
        printf("without a failure: status %#x, %ld calls\n", (unsigned)status, report->count);
        return 1;
    }
    for (int all = 0; all < 2; all++) {
        bool failed = true;
        for (long nth = first; failed; nth += every) {
            status = run_once(nth, all, stacks);
            failed = report->failed[0] || !WIFEXITED(status);
            if (!tell(nth, all, status)) wrong++;
            told += WIFEXITED(status) && WEXITSTATUS(status) == WHOLE_TOLD;
            tried++;
            last = nth;
            if (wrong > 40) failed = false;
        }
    }
    printf("%d failures tried, up to call %ld; %d told, %d wrong\n", tried, last, told, wrong);
    return wrong || told == 0;
}
