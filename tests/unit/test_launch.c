/* SPDX-License-Identifier: MIT
 *
 * How `hipboard record` runs a program in its own place: signals, ends, what stops and goes on, the
 * environment that the program's loader and runtimes get, and the pack of a node's ranks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <hipboard/hipboard.h>
#include <hipboard/pack.h>

#include "launch.h"
#include "mpi_program.h"
#include "program_environment.h"
#include "rank_pack.h"
#include "said.h"
#include "test_dir.h"

static const char *path_of(const char *name)
{
    static char path[700];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static void put_file(const char *name, const char *text, mode_t mode)
{
    FILE *file = fopen(path_of(name), "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0 && fclose(file) == 0);
    assert_int_equal(chmod(path_of(name), mode), 0);
}

/* ---- how a program ends ---- */

static void name_it(void *context)
{
    setenv("TOLD", context, 1);
}

static launch_end run_script(const char *script)
{
    char sh[] = "sh", c[] = "-c", text[200], told[] = "seven";
    char *program[] = {sh, c, text, NULL};
    snprintf(text, sizeof text, "%s", script);
    return launch(program, name_it, told);
}

static void assert_end(launch_end end, bool started, bool by_signal, int code)
{
    assert_int_equal(end.started, started);
    assert_int_equal(end.by_signal, by_signal);
    assert_int_equal(end.code, code);
}

static void a_program_s_end_is_told(void **state)
{
    char odd[PATH_MAX], *program[] = {odd, NULL};
    char nothing[] = "x";
    (void)state;
    assert_end(run_script("exit 0"), true, false, 0);
    assert_end(run_script("exit 3"), true, false, 3);
    assert_end(run_script("exit 255"), true, false, 255);
    assert_end(run_script("test \"$TOLD\" = seven && exit 7"), true, false, 7);
    assert_end(run_script("kill -TERM $$"), true, true, SIGTERM);
    assert_end(run_script("kill -KILL $$"), true, true, SIGKILL);
    assert_null(getenv("TOLD")); /* it was told in the program's process alone */
    snprintf(odd, sizeof odd, "%s", path_of("none"));
    assert_end(launch(program, name_it, nothing), false, false, ENOENT);
    put_file("plain", "#!/bin/sh\n", 0600);
    snprintf(odd, sizeof odd, "%s", path_of("plain"));
    assert_end(launch(program, name_it, nothing), false, false, EACCES);
    snprintf(odd, sizeof odd, "%s", dir);
    assert_end(launch(program, name_it, nothing), false, false, EACCES);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no process is left */
    assert_int_equal(errno, ECHILD);
}

static pid_t start_script(const char *script)
{
    pid_t launcher = fork();
    if (launcher != 0) return launcher;
    launch_end end = run_script(script);
    _exit(end.by_signal ? 100 : end.code);
}

static void who_started_it_sees_that_it_stops(void **state)
{
    int status;
    (void)state;
    pid_t launcher = start_script("kill -STOP $$; exit 5");
    assert_int_equal(waitpid(launcher, &status, WUNTRACED), launcher);
    assert_true(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
    assert_int_equal(kill(launcher, SIGCONT), 0);
    assert_int_equal(waitpid(launcher, &status, 0), launcher);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 5);
}

static void who_lets_the_program_alone_go_on_lets_both(void **state)
{
    int status;
    (void)state;
    pid_t launcher = start_script("p=$$; (until grep -q ') T ' /proc/$p/stat && grep -q ') T ' "
                                  "/proc/$PPID/stat; do sleep 0.01; done; kill -CONT $p) & "
                                  "kill -STOP $p; exit 6");
    assert_int_equal(waitpid(launcher, &status, 0), launcher);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 6);
}

/* ---- signals ---- */

static const int passed_on[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM,  SIGUSR1,
                                SIGUSR2, SIGALRM, SIGCONT, SIGWINCH, SIGURG};

/* A process that runs a program which exits with 9 when it gets the signal, once it is ready. */
static pid_t start_launcher(int signal_number, bool ignored)
{
    char script[300], ready;
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    snprintf(script, sizeof script,
             "trap 'exit 9' %d; echo ready; i=0; while [ $i -lt 3000 ]; do sleep 0.01; "
             "i=$((i + 1)); done",
             signal_number);
    pid_t launcher = fork();
    if (launcher == 0) {
        char sh[] = "sh", c[] = "-c", told[] = "x";
        char *program[] = {sh, c, script, NULL};
        dup2(ends[1], STDOUT_FILENO);
        signal(signal_number, ignored ? SIG_IGN : SIG_DFL);
        launch_end end = launch(program, name_it, told);
        _exit(end.by_signal ? 100 : end.code);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &ready, 1), 1);
    close(ends[0]);
    return launcher;
}

/* They hand signals on only when the call that waits is over. */
static void skip_with_thread_checks(void)
{
#ifdef __SANITIZE_THREAD__
    skip();
#endif
}

static void signals_of_other_processes_reach_the_program(void **state)
{
    int status;
    (void)state;
    skip_with_thread_checks();
    for (size_t i = 0; i < sizeof passed_on / sizeof *passed_on; i++) {
        pid_t launcher = start_launcher(passed_on[i], false);
        assert_int_equal(kill(launcher, passed_on[i]), 0);
        assert_int_equal(waitpid(launcher, &status, 0), launcher);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 9)
            fail_msg("signal %d: %x", passed_on[i], (unsigned)status);
    }
}

static void what_the_caller_ignores_is_ignored(void **state)
{
    int status;
    (void)state;
    skip_with_thread_checks();
    pid_t launcher = start_launcher(SIGUSR1, true);
    assert_int_equal(kill(launcher, SIGUSR1), 0);
    assert_int_equal(kill(launcher, SIGTERM), 0); /* which the program does not expect */
    assert_int_equal(waitpid(launcher, &status, 0), launcher);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 100);
}

/* As some launchers do, which do not wait for what they start: exec() leaves it so. */
static void an_end_is_told_where_the_caller_ignores_ends(void **state)
{
    static const struct {
        const char *script;
        int code;
    } cases[] = {{"exit 3", 3}, {"kill -KILL $$", 100}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int status;
        pid_t launcher = fork();
        if (launcher == 0) {
            signal(SIGCHLD, SIG_IGN);
            launch_end end = run_script(cases[i].script);
            _exit(!end.started ? 101 : end.by_signal ? 100 : end.code);
        }
        assert_int_equal(waitpid(launcher, &status, 0), launcher);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), cases[i].code);
    }
}

static void a_killed_launcher_takes_the_program_with_it(void **state)
{
    char pid[20] = "";
    int ends[2], status;
    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t launcher = fork();
    if (launcher == 0) {
        dup2(ends[1], STDOUT_FILENO);
        (void)run_script("echo $$; exec sleep 600");
        _exit(0);
    }
    close(ends[1]);
    assert_true(read(ends[0], pid, sizeof pid - 1) > 1);
    assert_int_equal(kill(launcher, SIGKILL), 0);
    assert_int_equal(waitpid(launcher, &status, 0), launcher);
    assert_int_equal(read(ends[0], pid, 1), 0); /* nobody has the other end any more */
    close(ends[0]);
}

/* ---- the same end ---- */

static int status_of_end(launch_end end, bool hindered)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        sigset_t all;
        sigfillset(&all);
        if (hindered) {
            signal(SIGTERM, SIG_IGN);
            sigprocmask(SIG_SETMASK, &all, NULL);
        }
        struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
        (void)setrlimit(RLIMIT_CORE, &limit);
        launch_end_alike(&end);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void this_process_ends_as_the_program_did(void **state)
{
    (void)state;
    static const int codes[] = {0, 1, 3, 255};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        int status = status_of_end((launch_end){true, false, codes[i]}, false);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == codes[i]);
    }
    static const int signals[] = {SIGTERM, SIGKILL, SIGSEGV};
    for (size_t i = 0; i < 2 * sizeof signals / sizeof *signals; i++) {
        int status = status_of_end((launch_end){true, true, signals[i / 2]}, i % 2);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == signals[i / 2]);
        assert_false(WCOREDUMP(status)); /* the program has left its own */
    }
    int status = status_of_end((launch_end){true, true, SIGWINCH}, false); /* which ends nobody */
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 128 + SIGWINCH);
}

/* ---- the environment ---- */

static void libraries_stand_where_they_are_found(void **state)
{
    static const struct {
        void (*add)(const char *);
        const char *variable, *before, *after;
    } cases[] = {
        {preload, "LD_PRELOAD", NULL, "/x.so"},
        {preload, "LD_PRELOAD", "", "/x.so"},
        {preload, "LD_PRELOAD", "/a.so /b.so", "/x.so:/a.so /b.so"},
        {name_to_kokkos, "KOKKOS_TOOLS_LIBS", NULL, "/x.so"},
        {name_to_kokkos, "KOKKOS_TOOLS_LIBS", "", "/x.so"},
        {name_to_kokkos, "KOKKOS_TOOLS_LIBS", "/a.so;/b.so", "/a.so;/b.so;/x.so"},
        {name_to_openmp, "OMP_TOOL_LIBRARIES", NULL, "/x.so"},
        {name_to_openmp, "OMP_TOOL_LIBRARIES", "", "/x.so"},
        {name_to_openmp, "OMP_TOOL_LIBRARIES", "/a.so", "/a.so:/x.so"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsetenv(cases[i].variable);
        if (cases[i].before) setenv(cases[i].variable, cases[i].before, 1);
        cases[i].add("/x.so");
        assert_string_equal(getenv(cases[i].variable), cases[i].after);
        unsetenv(cases[i].variable);
    }
    static const char *const checks[][2] = {
        {NULL, "verify_asan_link_order=0"},
        {"", "verify_asan_link_order=0"},
        {"detect_leaks=0", "detect_leaks=0:verify_asan_link_order=0"},
        {"verify_asan_link_order=1:x=1", "verify_asan_link_order=1:x=1"}};
    char *own = getenv("ASAN_OPTIONS") ? strdup(getenv("ASAN_OPTIONS")) : NULL;
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        unsetenv("ASAN_OPTIONS");
        if (checks[i][0]) setenv("ASAN_OPTIONS", checks[i][0], 1);
        allow_address_checks();
        assert_string_equal(getenv("ASAN_OPTIONS"), checks[i][1]);
    }
    unsetenv("ASAN_OPTIONS");
    if (own) setenv("ASAN_OPTIONS", own, 1);
    free(own);
}

/* ---- which program it is ---- */

static void a_name_is_found_as_shells_find_it(void **state)
{
    char path[PATH_MAX], all[PATH_MAX], here[PATH_MAX];
    (void)state;
    char *before = strdup(getenv("PATH"));
    assert_int_equal(mkdir(path_of("a"), 0700) | mkdir(path_of("b"), 0700), 0);
    put_file("a/plain", "", 0600);
    put_file("b/plain", "", 0700);
    put_file("a/both", "", 0700);
    put_file("b/both", "", 0700);
    snprintf(all, sizeof all, "%s/none::%s/a:%s/b", dir, dir, dir);
    setenv("PATH", all, 1);
    static const char *const cases[][2] = {{"plain", "/b/plain"}, {"both", "/a/both"}};
    for (size_t i = 0; i < 2; i++) {
        find_program(cases[i][0], path);
        assert_string_equal(path, path_of(&cases[i][1][1]));
    }
    find_program("neither", path);
    assert_string_equal(path, "neither");
    snprintf(here, sizeof here, "%s", path_of("b/none"));
    find_program(here, path); /* with a directory it is looked for nowhere else */
    assert_string_equal(path, here);
    find_program("./both", path);
    assert_string_equal(path, "./both");
    setenv("PATH", "", 1);
    find_program("both", path);
    assert_string_equal(path, "both");
    unsetenv("PATH");
    find_program("both", path);
    assert_string_equal(path, "both");
    setenv("PATH", before, 1);
    free(before);
}

static void calls_of_mpi_are_taken_where_they_may_be_made(void **state)
{
    static const struct {
        const char *name, *text;
        bool may;
    } cases[] = {{"script", "#!/bin/sh\n", true},
                 {"script2", "#!", true},
                 {"short", "#", false},
                 {"none", "", false},
                 {"comment", "#?/bin/sh", false},
                 {"mark", "!#/bin/sh", false},
                 {"python3.11", "x", true},
                 {"python", "x", true},
                 {"pythonx", "x", false},
                 {"xpython", "x", false},
                 {"pytho", "x", false},
                 {"sh", "x", true},
                 {"bash5", "x", true},
                 {"dash", "x", true},
                 {"env", "x", true},
                 {"numactl", "x", true},
                 {"perl5.36", "x", true},
                 {"julia", "x", true},
                 {"lua5.4", "x", true},
                 {"Rscript", "x", true},
                 {"taskset", "x", true},
                 {"time", "x", true},
                 {"timer", "x", false},
                 {"3python", "x", false}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put_file(cases[i].name, cases[i].text, 0700);
        const char *path = path_of(cases[i].name);
        if (wants_mpi("auto", path, true) != cases[i].may) fail_msg("%s", cases[i].name);
        assert_false(wants_mpi("auto", path, false)); /* nobody started it as a rank */
        assert_true(wants_mpi("mpi", path, false));
        assert_false(wants_mpi("rccl", path, true));
        assert_false(wants_mpi("none", path, true));
    }
    assert_true(wants_mpi("auto", path_of("absent/bash"), true)); /* by its name alone */
    assert_false(wants_mpi("auto", path_of("absent"), true));
}

/* ---- packs ---- */

static rank_pack begin_pack(void)
{
    rank_pack p;
    assert_true(rank_pack_begin(&p, path_of("log"), true));
    return p;
}

static void put_member(const rank_pack *p, const char *name)
{
    char path[2 * PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", p->staging, name);
    FILE *file = fopen(path, "w");
    assert_true(file && fputs("{\"traceEvents\": []}", file) >= 0 && fclose(file) == 0);
}

static bool is_gathered(const rank_pack *p, const char *name)
{
    char path[2 * PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", p->staging, name);
    return access(path, F_OK) == 0;
}

static bool has_pack(void)
{
    char host[200] = "", name[300];
    gethostname(host, sizeof host - 1);
    snprintf(name, sizeof name, "log/%s.hbpack", host);
    return access(path_of(name), F_OK) == 0;
}

/* What is said on stderr of it. */
static const char *end_pack(const rank_pack *p, bool done)
{
    static said_text s;
    said_begin(&s);
    bool ended = rank_pack_end(p);
    const char *said = said_end(&s);
    assert_int_equal(ended, done);
    return said;
}

static const char *commands_of(const rank_pack *p)
{
    static char text[4 * PATH_MAX];
    snprintf(text, sizeof text, ": hipboard recover %s; hipboard pack %s -o %s/NODE.hbpack\n",
             p->staging, p->staging, p->log_dir);
    return text;
}

static int make_log_dir(void **state)
{
    int failed = make_dir(state);
    unsetenv("HIPBOARD_SPOOL");
    setenv("TMPDIR_BEFORE", getenv("TMPDIR") ? getenv("TMPDIR") : "", 1);
    setenv("TMPDIR", dir, 1);
    return failed | mkdir(path_of("log"), 0700);
}

static int remove_log_dir(void **state)
{
    const char *before = getenv("TMPDIR_BEFORE");
    if (*before)
        setenv("TMPDIR", before, 1);
    else
        unsetenv("TMPDIR");
    return remove_dir(state);
}

static const rank_pack *published_into; /* as soon as a pack is made, by a process that goes on */

hb_result __real_hb_pack(const char *const *paths, size_t num_paths, const char *output,
                         const hb_pack_options *options, hb_pack_report **report);
hb_result __wrap_hb_pack(const char *const *paths, size_t num_paths, const char *output,
                         const hb_pack_options *options, hb_pack_report **report);
hb_result __wrap_hb_pack(const char *const *paths, size_t num_paths, const char *output,
                         const hb_pack_options *options, hb_pack_report **report)
{
    hb_result result = __real_hb_pack(paths, num_paths, output, options, report);
    if (published_into) put_member(published_into, "late.1.pt.trace.json");
    published_into = NULL;
    return result;
}

static void what_is_published_meanwhile_stays(void **state)
{
    (void)state;
    rank_pack p = begin_pack();
    put_member(&p, "a.1.pt.trace.json");
    published_into = &p;
    assert_non_null(strstr(end_pack(&p, true), commands_of(&p)));
    assert_true(has_pack());
    assert_true(is_gathered(&p, "late.1.pt.trace.json"));
    assert_false(is_gathered(&p, "a.1.pt.trace.json"));
}

static void the_last_rank_of_a_node_packs(void **state)
{
    (void)state;
    rank_pack p = begin_pack();
    assert_null(getenv("HIPBOARD_SPOOL")); /* what is recorded stays beside the traces */
    rank_pack other = begin_pack(), third = begin_pack();
    assert_string_equal(p.staging, other.staging);
    assert_int_equal(strncmp(p.staging, dir, strlen(dir)), 0);
    assert_string_equal(&p.staging[strlen(p.staging) - 5], "-pack");
    put_member(&p, "a.1.pt.trace.json");
    put_member(&p, "b.1.pt.trace.json.gz");
    put_member(&p, "a.1.pftrace");
    put_member(&p, "events.out.tfevents.1.h");
    assert_true(rank_pack_end(&p) && rank_pack_end(&third));
    assert_false(has_pack());
    assert_string_equal(end_pack(&other, true), "");
    assert_true(has_pack());
    assert_int_equal(access(p.staging, F_OK), -1); /* it is gone, */
    assert_int_equal(access(path_of("log/events.out.tfevents.1.h"), F_OK), 0);
    assert_int_equal(list_dir(path_of("log"), NULL, NULL, 0), 2); /* and this not in the pack */
    /* of a second job, which has another name beside it */
    p = begin_pack();
    put_member(&p, "a.1.pt.trace.json");
    assert_true(rank_pack_end(&p));
    assert_int_equal(list_dir(path_of("log"), NULL, NULL, 0), 3);
    /* of nothing there is none */
    p = begin_pack();
    assert_string_equal(end_pack(&p, true), "");
    assert_int_equal(list_dir(path_of("log"), NULL, NULL, 0), 3);
    assert_int_equal(access(p.staging, F_OK), -1);
}

static void who_is_killed_is_waited_for_by_nobody(void **state)
{
    int fds[2];
    char byte;
    (void)state;
    assert_int_equal(pipe(fds), 0);
    rank_pack p = begin_pack();
    pid_t killed = fork();
    if (killed == 0) {
        close(p.dir);
        p = begin_pack();
        put_member(&p, "b.1.pt.trace.json");
        if (write(fds[1], "", 1) == 1) pause();
        _exit(1);
    }
    assert_int_equal(read(fds[0], &byte, 1), 1);
    kill(killed, SIGKILL);
    assert_int_equal(waitpid(killed, NULL, 0), killed);
    close(fds[0]), close(fds[1]);
    put_member(&p, "a.1.pt.trace.json");
    assert_true(rank_pack_end(&p));
    assert_true(has_pack());
    assert_int_equal(access(p.staging, F_OK), -1);
}

/* It waits, and makes the directory anew when that is gone. */
static void who_begins_while_others_pack_has_a_directory(void **state)
{
    char said[2 * PATH_MAX] = "";
    int ends[2];
    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    rank_pack p = begin_pack();
    assert_int_equal(flock(p.dir, LOCK_EX), 0); /* as who packs */
    pid_t next = fork();
    if (next == 0) {
        close(p.dir);
        dup2(ends[1], STDERR_FILENO);
        rank_pack own = begin_pack();
        put_member(&own, "b.1.pt.trace.json");
        _exit(!rank_pack_end(&own));
    }
    close(ends[1]);
    assert_true(read(ends[0], said, sizeof said - 1) > 0);
    assert_non_null(strstr(said, "waits until the traces in "));
    put_member(&p, "a.1.pt.trace.json");
    assert_true(rank_pack_end(&p));
    wait_for_success(next);
    close(ends[0]);
    assert_int_equal(list_dir(path_of("log"), NULL, NULL, 0), 2);
    assert_int_equal(access(p.staging, F_OK), -1);
}

static void where_no_pack_can_be_traces_stay(void **state)
{
    (void)state;
    rank_pack p = begin_pack();
    put_member(&p, "a.1.pt.trace.json");
    put_file("plain", "", 0600);
    snprintf(p.log_dir, sizeof p.log_dir, "%s", path_of("plain"));
    const char *said = end_pack(&p, false);
    assert_int_equal(strncmp(said, "hipboard record: --pack: ", 25), 0);
    assert_non_null(strstr(said, commands_of(&p)));
    assert_true(is_gathered(&p, "a.1.pt.trace.json"));
}

static void where_records_are_kept_packs_are_made(void **state)
{
    (void)state;
    char *own = strdup(path_of("own")), wanted[700];
    said_text s;
    setenv("HIPBOARD_SPOOL", own, 1);
    rank_pack p = begin_pack();
    assert_int_equal(strncmp(p.staging, own, strlen(own)), 0);
    assert_string_equal(getenv("HIPBOARD_SPOOL"), own);
    said_begin(&s);
    rank_pack_tell(&p);
    snprintf(wanted, sizeof wanted, ": hipboard recover --spool %s /", own);
    assert_non_null(strstr(said_end(&s), wanted));
    unsetenv("HIPBOARD_SPOOL");
    setenv("TMPDIR", "not/absolute", 1);
    rank_pack other = begin_pack();
    assert_int_equal(strncmp(other.staging, "/tmp/hipboard-", 14), 0);
    assert_true(rank_pack_end(&p) && rank_pack_end(&other));
    assert_int_equal(access(other.staging, F_OK), -1);
    free(own);
}

static void what_is_another_s_is_not_written_into(void **state)
{
    rank_pack again;
    struct stat st;
    (void)state;
    rank_pack p = begin_pack();
    assert_int_equal(chmod(p.staging, 0770), 0);
    assert_false(rank_pack_begin(&again, path_of("log"), true));
    assert_int_equal(chmod(p.staging, 0702), 0);
    assert_false(rank_pack_begin(&again, path_of("log"), true));
    assert_int_equal(chmod(p.staging, 0755), 0); /* as it is made by who goes on */
    assert_true(rank_pack_begin(&again, path_of("log"), true));
    assert_int_equal(stat(p.staging, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    assert_int_equal(rmdir(p.staging), 0);
    assert_int_equal(symlink(path_of("log"), p.staging), 0);
    assert_false(rank_pack_begin(&again, path_of("log"), true));
    assert_int_equal(unlink(p.staging), 0);
    put_file("node", "", 0600);
    setenv("HIPBOARD_SPOOL", path_of("node"), 1);
    assert_false(rank_pack_begin(&again, path_of("log"), true));
    unsetenv("HIPBOARD_SPOOL");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(a_program_s_end_is_told),
        IN_DIR(who_started_it_sees_that_it_stops),
        IN_DIR(who_lets_the_program_alone_go_on_lets_both),
        IN_DIR(signals_of_other_processes_reach_the_program),
        IN_DIR(what_the_caller_ignores_is_ignored),
        IN_DIR(an_end_is_told_where_the_caller_ignores_ends),
        IN_DIR(a_killed_launcher_takes_the_program_with_it),
        IN_DIR(this_process_ends_as_the_program_did),
        IN_DIR(libraries_stand_where_they_are_found),
        IN_DIR(a_name_is_found_as_shells_find_it),
        IN_DIR(calls_of_mpi_are_taken_where_they_may_be_made),
        cmocka_unit_test_setup_teardown(the_last_rank_of_a_node_packs, make_log_dir,
                                        remove_log_dir),
        cmocka_unit_test_setup_teardown(what_is_published_meanwhile_stays, make_log_dir,
                                        remove_log_dir),
        cmocka_unit_test_setup_teardown(who_is_killed_is_waited_for_by_nobody, make_log_dir,
                                        remove_log_dir),
        cmocka_unit_test_setup_teardown(who_begins_while_others_pack_has_a_directory, make_log_dir,
                                        remove_log_dir),
        cmocka_unit_test_setup_teardown(where_no_pack_can_be_traces_stay, make_log_dir,
                                        remove_log_dir),
        cmocka_unit_test_setup_teardown(where_records_are_kept_packs_are_made, make_log_dir,
                                        remove_log_dir),
        cmocka_unit_test_setup_teardown(what_is_another_s_is_not_written_into, make_log_dir,
                                        remove_log_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
