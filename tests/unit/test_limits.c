/* SPDX-License-Identifier: MIT
 *
 * A program that is short of something - files, memory, space, someone to read its messages -
 * goes on to its end as if nobody looked. Each is a child, since it is the process that is limited.
 */
#include "forks_with_threads.h"
#include "test_dir.h"
#include "written_trace.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>

#include <hipboard/hipboard.h>

enum { OPERATORS = 40000, TOO_MANY = 400000, SKIPPED = 77 };

static const char *run(void)
{
    static char path[300];
    snprintf(path, sizeof path, "%s/run", dir);
    return path;
}

static const char *exported(void)
{
    static char path[300];
    snprintf(path, sizeof path, "%s/export.json", dir);
    return path;
}

static hb_profiler *profiler(uint64_t max_bytes)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.activities = HB_ACTIVITY_CPU;
    o.max_record_bytes = max_bytes;
    o.on_trace_ready = hb_tensorboard_trace_handler(run(), NULL, 0);
    return hb_profiler_create(&o);
}

static void operators(int count)
{
    for (int i = 0; i < count; i++)
        HB_OP("aten::mm", .sequence_number = (uint64_t)i + 1) {
        }
}

/* What stop() returned. */
static hb_result record(uint64_t max_bytes)
{
    hb_profiler *prof = profiler(max_bytes);
    if (!prof || hb_profiler_start(prof) != HB_OK) _exit(50);
    operators(max_bytes == 1 << 20 ? TOO_MANY : OPERATORS);
    hb_result result = hb_profiler_stop(prof);
    hb_profiler_destroy(prof);
    return result;
}

/* Runs `program` in a child; its exit status, or minus the signal that ended it. */
static int in_child(int (*program)(void))
{
    int status;
    pid_t pid = fork();
    if (pid == 0) _exit(program());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* The trace in the run; false: there is none. */
static bool find_trace(char path[PATH_MAX])
{
    bool found = false;
    DIR *list = opendir(run());
    for (struct dirent *entry; list && !found && (entry = readdir(list));) {
        found = entry->d_name[0] != '.' && strstr(entry->d_name, ".pt.trace.json");
        if (found) snprintf(path, PATH_MAX, "%s/%s", run(), entry->d_name);
    }
    if (list) closedir(list);
    return found;
}

/* The operators in it; -1 when there is none. */
static int traced_operators(void)
{
    char path[PATH_MAX];
    int n = 0;
    if (!find_trace(path)) return -1;
    cJSON *trace = load_trace(path), *event;
    cJSON_ArrayForEach(event, cJSON_GetObjectItem(trace, "traceEvents"))
    {
        const char *name = cJSON_GetStringValue(cJSON_GetObjectItem(event, "name"));
        n += name && strcmp(name, "aten::mm") == 0;
    }
    cJSON_Delete(trace);
    return n;
}

/* ---- numbers of files ---- */

static int without_standard_files(void)
{
    for (int fd = 0; fd < 3; fd++)
        close(fd);
    hb_profiler *prof = profiler(1 << 20);
    hb_profiler_start(prof);
    operators(TOO_MANY);
    hb_result stopped = hb_profiler_stop(prof); /* says that records were dropped */
    hb_export_chrome_trace(prof, exported(), 0);
    ssize_t said = write(1, "said\n", 5) + write(2, "said\n", 5);
    hb_profiler_destroy(prof);
    return stopped == HB_OK && said == -2 ? 0 : 1;
}

static void what_is_printed_to_closed_files_is_not_in_a_trace(void **state)
{
    (void)state;
    assert_int_equal(in_child(without_standard_files), 0);
    assert_in_range(traced_operators(), 1, TOO_MANY - 1);
}

static int with_all_files_open(void)
{
    struct rlimit few = {32, 32};
    setrlimit(RLIMIT_NOFILE, &few);
    hb_profiler *prof = profiler(0);
    hb_profiler_start(prof);
    while (open("/dev/null", O_RDONLY) >= 0)
        ;
    operators(OPERATORS);
    hb_result stopped = hb_profiler_stop(prof);
    hb_profiler_destroy(prof);
    return stopped == HB_ERROR_IO ? 0 : 1;
}

static void no_file_left_is_an_error_and_the_records_stay(void **state)
{
    (void)state;
    assert_int_equal(in_child(with_all_files_open), 0);
    assert_int_equal(traced_operators(), -1);
    assert_int_equal(hb_recover(run(), 0, NULL, NULL), HB_OK);
    assert_int_equal(traced_operators(), OPERATORS);
}

/* ---- sizes ---- */

static int with_small_files(void)
{
    struct rlimit small = {100000, 100000};
    setrlimit(RLIMIT_FSIZE, &small);
    return record(0) == HB_ERROR_IO && strstr(hb_last_error(), "ulimit -f") ? 0 : 1;
}

static void a_limit_on_the_size_of_files_is_an_error(void **state)
{
    (void)state;
    assert_int_equal(in_child(with_small_files), 0);
    assert_int_equal(traced_operators(), -1);
}

/* One message of cycles however many there are, and how many there were. */
static int with_small_files_again_and_again(void)
{
    struct rlimit small = {100, 100};
    setrlimit(RLIMIT_FSIZE, &small);
    int said[2];
    char text[4096] = "";
    if (pipe(said) != 0) return 2;
    dup2(said[1], STDERR_FILENO);
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.schedule = hb_schedule_make(.active = 1);
    o.max_record_bytes = 4 << 20; /* less than all of it takes */
    o.on_trace_ready = hb_tensorboard_trace_handler(run(), NULL, HB_NO_EVENT_FILE);
    hb_profiler *prof = hb_profiler_create(&o);
    hb_result result = hb_profiler_start(prof);
    for (int i = 0; i < 100 && result != HB_ERROR_LIMIT; i++) {
        operators(1000);
        hb_profiler_flush(prof);
        result = hb_profiler_step(prof);
    }
    hb_profiler_destroy(prof);
    if (result == HB_ERROR_LIMIT || read(said[0], text, sizeof text - 1) < 0) return 3;
    /* the first is that there is no file for what is recorded, either */
    const char *first = strchr(text, '\n') + 1, *second = strchr(first, '\n') + 1;
    return strncmp(text, "hipboard: no file for what is recorded", 38) == 0 &&
                   strstr(first, "ulimit -f") < second &&
                   strcmp(second, "hipboard: 101 cycles in all could not be written\n") == 0
               ? 0
               : 4;
}

static void what_can_not_be_written_is_said_once_and_given_up(void **state)
{
    (void)state;
    assert_int_equal(in_child(with_small_files_again_and_again), 0);
    assert_int_equal(traced_operators(), -1);
}

/* Most of it is the program's. */
static int with_little_memory(void)
{
    struct rlimit little = {800 << 20, 800 << 20};
    setrlimit(RLIMIT_AS, &little);
    hb_profiler *prof = profiler(0);
    hb_profiler_start(prof);
    operators(OPERATORS);
    void *of_the_program = NULL;
    /* For a moment the C library takes 128 MiB for a thread that allocates for the first time. */
    for (int ms = 0; ms < 10000 && !of_the_program; ms++, usleep(1000))
        of_the_program = malloc(400 << 20);
    hb_result result = hb_profiler_stop(prof);
    hb_profiler_destroy(prof);
    free(of_the_program);
    return result != HB_OK ? 1 : of_the_program ? 0 : 2;
}

static void little_address_space_will_do(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* they need terabytes */
#endif
    assert_int_equal(in_child(with_little_memory), 0);
    assert_int_equal(traced_operators(), OPERATORS);
}

/* Names have a sixteenth of it, as a power of two: 16 MiB. One that is known stays. */
static int with_more_names_than_room(void)
{
    enum { NAMES = 40, LENGTH = 512 << 10, ROOM = 16 << 20 };
    struct rlimit little = {400 << 20, 400 << 20};
    char *name = malloc(LENGTH + 1);
    hb_lost lost = {.struct_size = sizeof lost};
    if (!name) return 2;
    memset(name, 'x', LENGTH);
    name[LENGTH] = '\0';
    setrlimit(RLIMIT_AS, &little);
    hb_profiler *prof = profiler(0);
    if (hb_profiler_start(prof) != HB_OK) return 3;
    operators(1);
    for (int i = 0; i < NAMES; i++) {
        name[0] = (char)('0' + i);
        HB_RECORD_FUNCTION_NAMED(name) {
        }
    }
    operators(OPERATORS - 1);
    hb_result result = hb_profiler_stop(prof);
    hb_profiler_lost(prof, &lost);
    hb_profiler_destroy(prof);
    free(name);
    fprintf(stderr, "%d names were dropped\n", (int)lost.strings_full);
    return result == HB_OK && lost.strings_full == NAMES - (ROOM / LENGTH - 1) ? 0 : 1;
}

static void names_beyond_their_room_are_dropped_and_counted(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* they need terabytes */
#endif
    assert_int_equal(in_child(with_more_names_than_room), 0);
    assert_int_equal(traced_operators(), OPERATORS);
}

/* ---- messages and signals ---- */

static int unheard(void)
{
    int pipe_ends[2];
    if (pipe(pipe_ends) != 0) return 2;
    dup2(pipe_ends[1], 2);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    signal(SIGPIPE, SIG_DFL);
    return record(1 << 20) == HB_OK ? 0 : 1; /* says that records were dropped */
}

static void nobody_reading_the_messages_is_no_end(void **state)
{
    (void)state;
    assert_int_equal(in_child(unheard), 0);
    assert_in_range(traced_operators(), 1, TOO_MANY - 1);
}

static void ignore(int signal)
{
    (void)signal;
}

/* System calls are not started again. */
static int interrupted(void)
{
    sigaction(SIGALRM, &(struct sigaction){.sa_handler = ignore}, NULL);
    struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &often, NULL);
    hb_profiler *prof = profiler(0);
    hb_profiler_start(prof);
    operators(OPERATORS);
    hb_result result = hb_profiler_stop(prof);
    if (result == HB_OK) result = hb_export_chrome_trace(prof, exported(), 0);
    hb_profiler_destroy(prof);
    setitimer(ITIMER_REAL, &never, NULL);
    return result == HB_OK ? 0 : 1;
}

static void a_storm_of_signals_loses_nothing(void **state)
{
    (void)state;
    assert_int_equal(in_child(interrupted), 0);
    assert_int_equal(traced_operators(), OPERATORS);
}

/* ---- places ---- */

static int without_its_directory(void)
{
    hb_profiler *prof = profiler(0);
    hb_profiler_start(prof);
    operators(OPERATORS);
    remove_tree(run());
    hb_result result = hb_profiler_stop(prof);
    hb_profiler_destroy(prof);
    return result == HB_OK ? 0 : 1;
}

static void a_removed_log_directory_is_made_again(void **state)
{
    (void)state;
    assert_int_equal(in_child(without_its_directory), 0);
    assert_int_equal(traced_operators(), OPERATORS);
}

static int on_an_odd_machine(void)
{
    static const char name[] = "rack/7\n\"a\\b\"";
    if (unshare(CLONE_NEWUTS) != 0 || sethostname(name, sizeof name - 1) != 0) return SKIPPED;
    return record(0) == HB_OK ? 0 : 1;
}

static void a_machine_may_have_any_name(void **state)
{
    (void)state;
    char path[PATH_MAX];
    int status = in_child(on_an_odd_machine);
    if (status == SKIPPED) skip();
    assert_int_equal(status, 0);
    assert_int_equal(traced_operators(), OPERATORS);
    assert_true(find_trace(path));
    assert_non_null(strstr(path, "/rack_7_\"a\\b\"_"));
}

/* ---- threads ---- */

static void *one_operator(void *arg)
{
    operators(1);
    return arg;
}

static int many_threads(void)
{
    enum { AT_ONCE = 50 };
    pthread_t threads[AT_ONCE];
    hb_profiler *prof = profiler(0);
    hb_profiler_start(prof);
    for (int i = 0; i < 3000; i += AT_ONCE) {
        for (int j = 0; j < AT_ONCE; j++)
            if (pthread_create(&threads[j], NULL, one_operator, NULL) != 0) return 2;
        for (int j = 0; j < AT_ONCE; j++)
            pthread_join(threads[j], NULL);
    }
    hb_result result = hb_profiler_stop(prof);
    hb_profiler_destroy(prof);
    return result == HB_OK ? 0 : 1;
}

static void thousands_of_threads_may_come_and_go(void **state)
{
    (void)state;
    assert_int_equal(in_child(many_threads), 0);
    assert_int_equal(traced_operators(), 3000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(what_is_printed_to_closed_files_is_not_in_a_trace),
        IN_DIR(no_file_left_is_an_error_and_the_records_stay),
        IN_DIR(a_limit_on_the_size_of_files_is_an_error),
        IN_DIR(what_can_not_be_written_is_said_once_and_given_up),
        IN_DIR(little_address_space_will_do),
        IN_DIR(names_beyond_their_room_are_dropped_and_counted),
        IN_DIR(nobody_reading_the_messages_is_no_end),
        IN_DIR(a_storm_of_signals_loses_nothing),
        IN_DIR(a_removed_log_directory_is_made_again),
        IN_DIR(a_machine_may_have_any_name),
        IN_DIR(thousands_of_threads_may_come_and_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
