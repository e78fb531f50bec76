/* SPDX-License-Identifier: MIT
 *
 * What `hipboard record` finds and says when its program has ended: which traces are the run's, of
 * which it makes digests, what killed processes left, and who still runs.
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
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <hipboard/hipboard.h>

#include "capture.h"
#include "on_terminal.h"
#include "record_outcome.h"
#include "spools.h"
#include "test_dir.h"

#define START 1000

static const char trace[] =
    "{\"distributedInfo\": {\"backend\": \"mpi\", \"rank\": 3, \"world_size\": 9}, "
    "\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": "
    "\"ProfilerStep#1\", \"pid\": 1, \"tid\": 1, \"ts\": 0, \"dur\": 90}, {\"ph\": \"X\", "
    "\"cat\": \"cpu_op\", \"name\": \"op\", \"pid\": 1, \"tid\": 1, \"ts\": 1, \"dur\": 50}]}";

static const char *path_of(const char *name)
{
    static char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static void put_file(const char *name, const char *text)
{
    FILE *file = fopen(path_of(name), "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0 && fclose(file) == 0);
}

static bool has_file(const char *name)
{
    return access(path_of(name), F_OK) == 0;
}

/* A run without ranks that ended by itself. */
/* Nobody else's: also not that of a test which failed and left its processes. */
static char run_id[40];

static recorded_run plain_run(void)
{
    return (recorded_run){.dir = "runs",
                          .full_dir = dir,
                          .digest_dir = dir,
                          .run = run_id,
                          .start_ns = START,
                          .speaks = true,
                          .rank = -1,
                          .written = -1};
}

static void tell(const void *run)
{
    tell_outcome(run, "/bin/true");
}

/* What is said on a terminal and, where `piped`, into a pipe. */
static const char *said(const recorded_run *run, bool piped)
{
    static char text[2000];
    assert_int_equal(printed_by(tell, run, piped ? -1 : 80, text, sizeof text), 0);
    return text;
}

#define ONE_TRACE "hipboard: 1 trace in runs; look at it with: tensorboard --logdir runs\n"
#define NOTHING   "hipboard: nothing was recorded of /bin/true: while it was recorded it made no HIP"

static void traces_of_the_run_are_those_since_it_began(void **state)
{
    static const struct {
        const char *name;
        bool counts;
    } cases[] = {{"w.1000.pt.trace.json", true},   {"w.999.pt.trace.json", false},
                 {"1000.pt.trace.json", true},     {"w.1001.pt.trace.json.gz", true},
                 {"a.b.1000.pt.trace.json", true}, {"w.2000.5.pt.trace.json", false},
                 {"w.10000.json", false},          {"w.then.pt.trace.json", false},
                 {"w.2000.pt.trace", false},       {"pt.trace.json", false},
                 {".h_5.2000.pt.trace.json", true}};
    recorded_run run = plain_run();
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put_file(cases[i].name, trace);
        const char *text = said(&run, false);
        bool right = cases[i].counts ? strcmp(text, ONE_TRACE) == 0
                                     : strncmp(text, NOTHING, strlen(NOTHING)) == 0;
        if (!right) fail_msg("%s: %s", cases[i].name, text);
        unlink(path_of(cases[i].name));
    }
}

static void what_is_said_and_when(void **state)
{
    recorded_run run = plain_run();
    (void)state;
    assert_int_equal(strncmp(said(&run, true), NOTHING, strlen(NOTHING)), 0);
    run.quiet = true; /* all is not well */
    assert_int_equal(strncmp(said(&run, true), NOTHING, strlen(NOTHING)), 0);
    run.waits_to_be_asked = true;
    assert_string_equal(said(&run, true),
                        "hipboard: nothing was recorded of /bin/true: see `hipboard trigger`\n");
    run.speaks = false;
    assert_string_equal(said(&run, true), "");
    put_file("a.2000.pt.trace.json", trace);
    put_file("b.2000.pt.trace.json", trace);
    assert_string_equal(said(&run, false), "");
    run.speaks = true;
    assert_string_equal(said(&run, false), "");
    run.quiet = false;
    assert_string_equal(said(&run, true), "");
    assert_string_equal(
        said(&run, false),
        "hipboard: 2 traces in runs; look at them with: tensorboard --logdir runs\n");
    assert_false(has_file("ranks.hbranks")); /* it is of no rank */
}

/* ---- ranks ---- */

/* What processes have told of the traces that they wrote. */
static int told(const char *format, ...) __attribute__((format(printf, 1, 2)));

static int told(const char *format, ...)
{
    char name[64], text[4000];
    va_list args;
    int fd = open_written(name);
    assert_true(fd >= 0 && strncmp(name, "/proc/", 6) == 0);
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    assert_int_equal(write(fd, text, (size_t)n), n);
    return fd;
}

static void a_rank_counts_what_it_was_told_of(void **state)
{
    recorded_run run = plain_run();
    (void)state;
    run.rank = 3;
    put_file("a.5.pt.trace.json", trace);
    run.written = told("%s/a.5.pt.trace.json\n%s/b.6.pt.trace.json\n", dir, dir);
    assert_string_equal(
        said(&run, false),
        "hipboard: 2 traces in runs; look at them with: tensorboard --logdir runs\n");
    close(run.written);
    /* elsewhere, below, of another directory whose name begins like it, and without an end */
    run.written = told("/x/a.5.pt.trace.json\n%s/y/a.5.pt.trace.json\n%sz/a.5.pt.trace.json\n"
                       "a.5.pt.trace.json\n%s/a.5.pt.trace.json",
                       dir, dir, dir);
    assert_int_equal(strncmp(said(&run, false), NOTHING, strlen(NOTHING)), 0);
    close(run.written);
    /* of one that was killed its directory is looked through */
    run.killed = true;
    run.written = told("%s/a.5.pt.trace.json\n", dir);
    assert_int_equal(strncmp(said(&run, false), NOTHING, strlen(NOTHING)), 0);
    put_file("a.1000.pt.trace.json", trace);
    assert_string_equal(said(&run, false), ONE_TRACE);
    close(run.written);
}

static void digests_are_made_of_the_rank_s_own_traces_that_have_none(void **state)
{
    static const struct {
        const char *name;
        bool is_its, has_digest;
    } cases[] = {
        {"h_3.2000.pt.trace.json", true, false},    {"h_03.2000.pt.trace.json", true, false},
        {"h_3.2000.pt.trace.json", true, true},     {"h_4.2000.pt.trace.json", false, false},
        {"h_33.2000.pt.trace.json", false, false},  {"h_3-77.2000.pt.trace.json", false, false},
        {"h_2-3.2000.pt.trace.json", false, false}, {"h3.2000.pt.trace.json", false, false},
        {"h_.2000.pt.trace.json", false, false},    {"3.2000.pt.trace.json", false, false},
        {"2000.pt.trace.json", false, false},       {"_3.2000.pt.trace.json", true, false}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int killed = 0; killed < 2;
             killed++) { /* by names that were told, or that are there */
            recorded_run run = plain_run();
            run.rank = 3;
            run.killed = killed;
            put_file(cases[i].name, trace);
            run.written = told("%s/%s\n%s%s/%s\n", dir, cases[i].name,
                               cases[i].has_digest ? "digest of " : "", dir,
                               cases[i].has_digest ? cases[i].name : "other");
            (void)said(&run, true);
            bool wanted = cases[i].is_its && !cases[i].has_digest;
            if (has_file("ranks.hbranks") != wanted)
                fail_msg("%s, killed %d: digests %d", cases[i].name, killed, !wanted);
            unlink(path_of("ranks.hbranks"));
            unlink(path_of(cases[i].name));
            close(run.written);
        }
}

static void digests_go_where_the_job_has_them(void **state)
{
    recorded_run run = plain_run();
    char digests[PATH_MAX];
    (void)state;
    snprintf(digests, sizeof digests, "%s/digests", dir);
    assert_int_equal(mkdir(digests, 0700), 0);
    put_file("h_0.2000.pt.trace.json", trace);
    run.rank = 0;
    run.digest_dir = NULL;
    (void)said(&run, true);
    assert_false(has_file("ranks.hbranks"));
    run.digest_dir = digests;
    (void)said(&run, true);
    assert_true(has_file("digests/ranks.hbranks"));
    assert_false(has_file("ranks.hbranks"));
}

/* ---- what killed processes left ---- */

static void what_was_left_is_tried_and_its_failure_told(void **state)
{
    char expected[600];
    recorded_run run = plain_run();
    (void)state;
    put_file("h_5.2000.hbspool", "nothing of ours"); /* hidden it would be a spool */
    put_file(".h_5.2000.hbspools", "nothing of ours");
    assert_int_equal(strncmp(said(&run, true), NOTHING, strlen(NOTHING)), 0);
    put_file(".h_5.2000.hbspool", "nothing of ours");
    const char *text = said(&run, true);
    snprintf(expected, sizeof expected,
             "hipboard: %s/.h_5.2000.hbspool: not a spool of hipboard\n" NOTHING, dir);
    assert_int_equal(strncmp(text, expected, strlen(expected)), 0);
}

/* In a directory of the node's other ranks still record. */
static void elsewhere_only_what_no_process_has_is_recovered(void **state)
{
    char place[PATH_MAX], name[PATH_MAX + 40];
    recorded_run run = plain_run();
    (void)state;
    assert_int_equal(mkdir(path_of("spool"), 0700) | mkdir(path_of("log"), 0700), 0);
    setenv("HIPBOARD_SPOOL", path_of("spool"), 1);
    char *log = strdup(path_of("log"));
    run.full_dir = run.digest_dir = log;
    assert_int_equal(hb_spool_directory(log, place, sizeof place), HB_OK);
    static const struct {
        bool alive, killed, tried;
    } cases[] = {{true, false, false}, {true, true, true}, {false, false, true}};
    pid_t dead = fork();
    if (dead == 0) _exit(0);
    waitpid(dead, NULL, 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(mkdir(place, 0700), 0);
        snprintf(name, sizeof name, "%s/.a_host_%d.2000.hbspool", place,
                 cases[i].alive ? (int)getpid() : (int)dead);
        FILE *file = fopen(name, "w");
        fputs("nothing of ours", file);
        fclose(file);
        run.killed = cases[i].killed;
        bool tried = strstr(said(&run, true), ".hbspool: ") != NULL;
        if (tried != cases[i].tried) fail_msg("case %zu: %d", i, tried);
        assert_int_equal(unlink(name) | rmdir(place), 0);
    }
    /* an empty one goes; another rank's stays */
    for (int rank = -1; rank < 2; rank++) {
        assert_int_equal(mkdir(place, 0700), 0);
        run.rank = rank;
        (void)said(&run, true);
        assert_int_equal(rmdir(place) == 0, rank == 1);
    }
    unsetenv("HIPBOARD_SPOOL");
    free(log);
}

static void tell_place(const void *run)
{
    tell_spool_place(run);
}

static void where_records_are_kept_is_said_where_it_is_elsewhere(void **state)
{
    char text[4000], expected[3 * PATH_MAX], place[PATH_MAX];
    recorded_run run = plain_run();
    (void)state;
    assert_int_equal(printed_by(tell_place, &run, -1, text, sizeof text), 0);
    assert_string_equal(text, "");
    setenv("HIPBOARD_SPOOL", path_of("spool"), 1);
    assert_int_equal(hb_spool_directory(dir, place, sizeof place), HB_OK);
    snprintf(expected, sizeof expected,
             "hipboard: what is recorded is kept in %s of each node until it is a trace; what a "
             "killed job leaves there is lost with the node's files: hipboard recover --spool "
             "%s/spool runs, on that node\n",
             place, dir);
    assert_int_equal(printed_by(tell_place, &run, -1, text, sizeof text), 0);
    assert_string_equal(text, expected);
    run.quiet = true;
    assert_int_equal(printed_by(tell_place, &run, -1, text, sizeof text), 0);
    assert_string_equal(text, "");
    run.quiet = run.speaks = false;
    assert_int_equal(printed_by(tell_place, &run, -1, text, sizeof text), 0);
    assert_string_equal(text, "");
    unsetenv("HIPBOARD_SPOOL");
}

/* ---- processes that are still there ---- */

/* One that was told `run`, behind so many bytes of other variables. */
static pid_t start_process(const char *run, size_t before)
{
    char *filler = malloc(before + 1), mine[100], done;
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    memset(filler, 'x', before);
    filler[before] = '\0';
    snprintf(mine, sizeof mine, CAPTURE_RUN "=%s", run);
    pid_t child = fork();
    if (child == 0) {
        char *const environment[] = {filler, mine, NULL};
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execle("/bin/sleep", "sleep", "600", (char *)NULL, environment);
        _exit(1);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &done, 1), 0); /* it runs now */
    close(ends[0]);
    free(filler);
    return child;
}

static void end_process(pid_t process)
{
    kill(process, SIGKILL);
    waitpid(process, NULL, 0);
}

static void processes_of_the_run_are_seen(void **state)
{
    recorded_run run = plain_run();
    (void)state;
    assert_false(run_has_processes(run_id));
    setenv(CAPTURE_RUN, run_id, 1); /* which is not seen of this process itself */
    assert_false(run_has_processes(run_id));
    unsetenv(CAPTURE_RUN);
    static const size_t before[] = {0, 10, 60000, 65500, 65510, 65520, 65530, 65540, 100000};
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        pid_t process = start_process(run_id, before[i]);
        assert_true(run_has_processes(run_id));
        char less[sizeof run_id];
        snprintf(less, sizeof less, "%.*s", (int)strlen(run_id) - 1, run_id);
        assert_false(run_has_processes(less));
        assert_false(run_has_processes(run_id + 1));
        end_process(process);
    }
    assert_false(run_has_processes(run_id));
    pid_t process = start_process(run_id, 10);
    assert_string_equal(said(&run, true), "hipboard: /bin/true has ended, and left processes; "
                                          "their traces come at their ends\n");
    put_file("a.2000.pt.trace.json", trace);
    assert_string_equal(said(&run, false), ONE_TRACE);
    end_process(process);
}

/* ---- spools that are told of ---- */

static time_t later;

time_t __real_time(time_t *t);
time_t __wrap_time(time_t *t);

time_t __wrap_time(time_t *t)
{
    return __real_time(t) + later;
}

static void tell_of_spools(const void *context)
{
    (void)context;
    tell_spools("view", dir);
}

static void assert_spools(unsigned count)
{
    char text[1000], expected[1000];
    assert_int_equal(printed_by(tell_of_spools, NULL, -1, text, sizeof text), 0);
    snprintf(expected, sizeof expected,
             "hipboard view: %s: %u killed process%s left records there; for traces of them: "
             "hipboard recover %s\n",
             dir, count, count == 1 ? "" : "es", dir);
    assert_string_equal(text, count ? expected : "");
}

static void records_of_killed_processes_are_told_of(void **state)
{
    (void)state;
    later = 3600;
    assert_spools(0);
    put_file(".h_1.5.hbspool", "");
    put_file("h_1.5.hbspool", "x");
    put_file(".h_1.5.hbspool.part", "x");
    put_file(".h_1.5.spool", "x");
    assert_int_equal(mkdir(path_of(".d.hbspool"), 0700), 0);
    assert_int_equal(symlink("h_1.5.hbspool", path_of(".l.hbspool")), 0);
    assert_spools(0);
    put_file(".h_2.5.hbspool", "x");
    assert_spools(1);
    assert_int_equal(mkdir(path_of("below"), 0700), 0);
    put_file("below/.h_3.5.hbspool", "x");
    assert_spools(2);
    int fd = open(path_of("below/.h_3.5.hbspool"), O_RDONLY | O_CLOEXEC);
    assert_int_equal(flock(fd, LOCK_EX), 0); /* as its process has it */
    assert_spools(1);
    assert_int_equal(flock(fd, LOCK_SH), 0); /* as another reader may */
    assert_spools(2);
    close(fd);
    later = 0; /* just made: its process is about to lock it */
    assert_spools(0);
}

static void a_process_has_two_seconds_to_take_what_it_made(void **state)
{
    struct stat st;
    (void)state;
    put_file(".h_2.5.hbspool", "x");
    assert_int_equal(stat(path_of(".h_2.5.hbspool"), &st), 0);
    for (int age = 0; age < 4; age++) {
        do /* whole seconds: not while one ends */
            later = st.st_ctime + age - __real_time(NULL);
        while (later != st.st_ctime + age - __real_time(NULL));
        assert_spools(age >= 2);
    }
    later = 0;
}

/* A place with no room for its name is none, and nobody takes a part of it. */
static void a_spool_directory_is_told_whole_or_not(void **state)
{
    char place[PATH_MAX];
    (void)state;
    assert_int_equal(hb_spool_directory(NULL, place, 9), HB_ERROR_INVALID_ARGUMENT);
    assert_int_equal(hb_spool_directory("", place, 9), HB_ERROR_INVALID_ARGUMENT);
    assert_int_equal(hb_spool_directory(dir, NULL, 9), HB_ERROR_INVALID_ARGUMENT);
    assert_int_equal(hb_spool_directory(dir, place, 0), HB_ERROR_INVALID_ARGUMENT);
    for (int elsewhere = 0; elsewhere < 2; elsewhere++) {
        if (elsewhere) setenv("HIPBOARD_SPOOL", path_of("spool"), 1);
        assert_int_equal(hb_spool_directory(dir, place, sizeof place), HB_OK);
        size_t size = strlen(place) + 1;
        assert_int_equal(hb_spool_directory(dir, place, size), HB_OK);
        assert_int_equal(hb_spool_directory(dir, place, size - 1), HB_ERROR_NOT_FOUND);
        assert_string_equal(place, "");
        assert_non_null(strstr(hb_last_error(), "HIPBOARD_SPOOL names one"));
    }
    unsetenv("HIPBOARD_SPOOL");
}

static void spools_of_a_directory_may_lie_elsewhere(void **state)
{
    char place[PATH_MAX], name[PATH_MAX + 40], all[sizeof dir + 8];
    (void)state;
    snprintf(all, sizeof all, "%s-spool", dir);
    assert_int_equal(mkdir(all, 0700), 0);
    setenv("HIPBOARD_SPOOL", all, 1);
    later = 3600;
    assert_spools(0);
    assert_int_equal(hb_spool_directory(dir, place, sizeof place), HB_OK);
    assert_int_equal(mkdir(place, 0700), 0);
    for (int i = 1; i < 3; i++) {
        snprintf(name, sizeof name, "%s/.h_%d.5.hbspool", place, i);
        FILE *file = fopen(name, "w");
        assert_true(fputs("x", file) >= 0 && fclose(file) == 0);
        assert_spools((unsigned)i);
    }
    unsetenv("HIPBOARD_SPOOL");
    assert_spools(0);
    later = 0;
    assert_int_equal(remove_tree(all), 0);
}

int main(void)
{
    snprintf(run_id, sizeof run_id, "%d.345", (int)getpid());
    const struct CMUnitTest tests[] = {
        IN_DIR(traces_of_the_run_are_those_since_it_began),
        IN_DIR(what_is_said_and_when),
        IN_DIR(a_rank_counts_what_it_was_told_of),
        IN_DIR(digests_are_made_of_the_rank_s_own_traces_that_have_none),
        IN_DIR(digests_go_where_the_job_has_them),
        IN_DIR(what_was_left_is_tried_and_its_failure_told),
        IN_DIR(elsewhere_only_what_no_process_has_is_recovered),
        IN_DIR(where_records_are_kept_is_said_where_it_is_elsewhere),
        IN_DIR(processes_of_the_run_are_seen),
        IN_DIR(records_of_killed_processes_are_told_of),
        IN_DIR(a_process_has_two_seconds_to_take_what_it_made),
        IN_DIR(a_spool_directory_is_told_whole_or_not),
        IN_DIR(spools_of_a_directory_may_lie_elsewhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
