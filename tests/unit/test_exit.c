/* SPDX-License-Identifier: MIT
 *
 * The program's end, however it comes: by its last thread, by exit() on any thread, within a signal
 * handler, while others record, step or stop.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>

#include <hipboard/event_log.h>

#include "program.h"

static void sleep_us(long us)
{
    struct timespec t = {us / 1000000, us % 1000000 * 1000};
    nanosleep(&t, NULL);
}

static void spin_in_calls(long n)
{
    for (long i = 0; i < n; i++) {
        hb_scope s = hb_record_function("scope");
        hb_scope_end(&s);
    }
}

/* For ever when negative. */
static hb_profiler *into_dir(int active)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    if (active > 0) o.schedule = hb_schedule_make(.active = active);
    o.activities = HB_ACTIVITY_CPU;
    o.on_trace_ready = hb_tensorboard_trace_handler(dir, "w", 0);
    hb_profiler *prof = hb_profiler_create(&o);
    CHECK(prof && hb_profiler_start(prof) == HB_OK);
    return prof;
}

static int count_files(const char *end)
{
    int n = 0;
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        size_t size = strlen(e->d_name);
        n += size >= strlen(end) && strcmp(e->d_name + size - strlen(end), end) == 0;
    }
    if (d) closedir(d);
    return n;
}

/* ---- the last thread ---- */

static void *outlive_main(void *arg)
{
    (void)arg;
    sleep_us(50000);
    spin_in_calls(5);
    return NULL;
}

static int end_by_pthread_exit(void)
{
    pthread_t thread;
    (void)into_dir(-1);
    hb_scalar("loss", 1);
    spin_in_calls(10);
    CHECK(pthread_create(&thread, NULL, outlive_main, NULL) == 0);
    pthread_exit(NULL);
}

static void a_main_that_leaves_by_pthread_exit_ends_the_program(void **state)
{
    (void)state;
    skip_under_thread_checks();
    assert_int_equal(run_program(end_by_pthread_exit), 0);
    assert_int_equal(count_files(".pt.trace.json"), 1);
}

/* hipboard's thread is in it, since main() has left: it must be one that takes signals. */
static void wait_for_a_signal(void)
{
    char path[320];
    snprintf(path, sizeof path, "%s/ending", dir);
    close(open(path, O_WRONLY | O_CREAT, 0600));
    for (;;)
        pause();
}

static int end_slowly_by_pthread_exit(void)
{
    atexit(wait_for_a_signal);
    (void)into_dir(-1);
    spin_in_calls(10);
    pthread_exit(NULL);
}

static void after_pthread_exit_the_program_obeys_signals(void **state)
{
    (void)state;
    skip_under_thread_checks();
    pid_t pid = start_program("end_slowly_by_pthread_exit");
    for (int i = 0; count_files("ending") == 0 && i < ENOUGH_S * 100; i++)
        sleep_us(10000);
    kill(pid, SIGTERM);
    assert_int_equal(end_of_program(pid), 1000 + SIGTERM);
}

static int end_logging_by_pthread_exit(void)
{
    hb_event_log *log = hb_event_log_open(dir, NULL);
    CHECK(log && hb_event_log_scalar(log, "loss", 1, 2.0) == HB_OK);
    pthread_exit(NULL);
}

static void an_event_log_alone_does_not_keep_the_program_either(void **state)
{
    (void)state;
    skip_under_thread_checks();
    assert_int_equal(run_program(end_logging_by_pthread_exit), 0);
}

/* ---- exit() while others are inside ---- */

/* Those of a round, thousands on a busy machine, do not add up to the next one's. */
static void forget_files(void)
{
    assert_int_equal(remove_tree(dir), 0);
    assert_int_equal(mkdir(dir, 0700), 0);
}

static void *step_for_ever(void *prof)
{
    while (hb_profiler_step(prof) == HB_OK)
        spin_in_calls(3);
    return NULL;
}

static int exit_while_another_steps(void)
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, step_for_ever, into_dir(1)) == 0);
    pthread_detach(thread);
    sleep_us(1000 + getpid() % 977);
    exit(0);
}

static void exit_while_another_thread_steps_ends_the_program(void **state)
{
    (void)state;
    for (int i = 0; i < rounds(5); i++) {
        assert_int_equal(run_program(exit_while_another_steps), 0);
        forget_files();
    }
}

static hb_profiler *open_profiler;

static void stop_and_start_for_ever(void)
{
    for (;;) {
        (void)hb_profiler_stop(open_profiler);
        (void)hb_profiler_start(open_profiler);
        spin_in_calls(3);
        sleep_us(20);
    }
}

static void *stop_and_start(void *arg)
{
    (void)arg;
    stop_and_start_for_ever();
    return NULL;
}

static int exit_while_another_stops(void)
{
    pthread_t thread;
    open_profiler = into_dir(-1);
    CHECK(pthread_create(&thread, NULL, stop_and_start, NULL) == 0);
    pthread_detach(thread);
    sleep_us(1000 + getpid() % 977);
    exit(0);
}

static void exit_while_another_thread_stops_ends_the_program(void **state)
{
    (void)state;
    for (int i = 0; i < rounds(5); i++) {
        assert_int_equal(run_program(exit_while_another_stops), 0);
        forget_files();
    }
}

/* ---- exit() while others go on at full speed ---- */

static void start_thread(void *(*main)(void *), void *arg)
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, main, arg) == 0);
    pthread_detach(thread);
}

/* Cycles that nobody waits for, faster than they can be written. */
static void *hand_over_for_ever(void *prof)
{
    for (;;) {
        (void)hb_profiler_step(prof);
        spin_in_calls(3);
    }
    return NULL;
}

static int exit_while_another_hands_over(void)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.activities = HB_ACTIVITY_CPU;
    o.schedule = hb_schedule_make(.active = 1);
    o.stop_hands_over = true;
    o.on_trace_ready = hb_tensorboard_trace_handler(dir, "w", HB_NO_EVENT_FILE);
    hb_profiler *prof = hb_profiler_create(&o);
    CHECK(prof && hb_profiler_start(prof) == HB_OK);
    CHECK(hb_profiler_stop(prof) == HB_OK && hb_profiler_start(prof) == HB_OK);
    start_thread(hand_over_for_ever, prof);
    sleep_us(20000);
    exit(0);
}

static void exit_while_another_thread_hands_cycles_over_ends_the_program(void **state)
{
    (void)state;
    assert_int_equal(run_program(exit_while_another_hands_over), 0);
}

static atomic_bool late, refused;

static void *log_late(void *log)
{
    while (!atomic_load(&late))
        sleep_us(100);
    for (int i = 0; hb_event_log_scalar(log, "late", i, 1) != HB_ERROR_STATE; i++)
        continue;
    atomic_store(&refused, true);
    return NULL;
}

static void begin_to_log(void)
{
    atomic_store(&late, true);
}

static void wait_for_refusal(void)
{
    while (!atomic_load(&refused))
        sleep_us(1000);
}

/* What comes first in the end is asked for last. */
static int exit_while_others_log(void)
{
    atexit(wait_for_refusal);
    hb_event_log *log = hb_event_log_open(dir, NULL);
    CHECK(log && hb_event_log_scalar(log, "early", 0, 1) == HB_OK);
    start_thread(log_late, log);
    atexit(begin_to_log);
    exit(0);
}

static void exit_waits_for_nothing_that_other_threads_log_meanwhile(void **state)
{
    (void)state;
    assert_int_equal(run_program(exit_while_others_log), 0);
}

/* ---- exit() while the disk does not answer ---- */

static atomic_bool hangs;

/* In place of the C library's, also for hipboard. */
ssize_t write(int fd, const void *data, size_t size)
{
    char name[16] = "";
    if (atomic_load(&hangs) && prctl(PR_GET_NAME, name) == 0 && strncmp(name, "hipboard/", 9) == 0)
        for (;;)
            pause();
    return (ssize_t)syscall(SYS_write, fd, data, size);
}

static hb_profiler *to_be_destroyed;

static void destroy_at_exit(void)
{
    hb_profiler_destroy(to_be_destroyed);
}

static int exit_with_a_disk_that_hangs(void)
{
    hb_event_log *log = hb_event_log_open(dir, NULL);
    atexit(destroy_at_exit);
    to_be_destroyed = into_dir(-1);
    CHECK(log && hb_event_log_scalar(log, "early", 0, 1) == HB_OK);
    hb_scalar("loss", 1);
    spin_in_calls(10);
    atomic_store(&hangs, true);
    exit(0);
}

static void a_disk_that_hangs_keeps_no_program_from_its_end(void **state)
{
    (void)state;
    assert_int_equal(run_program(exit_with_a_disk_that_hangs), 0);
}

/* ---- exit() in a signal handler ---- */

static void leave_by_exit(int signal)
{
    (void)signal;
    exit(0);
}

static void exit_by_a_timer(void)
{
    struct sigaction action = {.sa_handler = leave_by_exit};
    struct itimerval once = {{0, 0}, {0, 1000 + getpid() * 7919 % 20000}};
    CHECK(sigaction(SIGVTALRM, &action, NULL) == 0);
    CHECK(setitimer(ITIMER_VIRTUAL, &once, NULL) == 0);
}

static void *record_and_log(void *arg)
{
    for (;;) {
        spin_in_calls(20);
        hb_scalar("value", 1);
        sleep_us(20); /* the traces stay small */
    }
    return arg;
}

static int exit_out_of_recording_calls(void)
{
    pthread_t thread;
    (void)into_dir(-1);
    exit_by_a_timer();
    CHECK(pthread_create(&thread, NULL, record_and_log, dir) == 0);
    pthread_detach(thread);
    (void)record_and_log(dir);
    return 1;
}

static int exit_out_of_steps(void)
{
    pthread_t thread;
    hb_profiler *prof = into_dir(1);
    exit_by_a_timer();
    CHECK(pthread_create(&thread, NULL, record_and_log, dir) == 0);
    pthread_detach(thread);
    (void)step_for_ever(prof); /* until the other thread's signal has ended the program */
    for (;;)
        pause();
}

static int exit_out_of_stops(void)
{
    open_profiler = into_dir(-1);
    exit_by_a_timer();
    stop_and_start_for_ever();
    return 1;
}

static void exit_in_a_signal_handler_ends_the_program(void **state)
{
    (void)state;
    for (int i = 0; i < rounds(6); i++) {
        assert_int_equal(run_program(exit_out_of_recording_calls), 0);
        assert_int_equal(run_program(exit_out_of_steps), 0);
        assert_int_equal(run_program(exit_out_of_stops), 0);
        forget_files();
    }
}

/* ---- what could not be written ---- */

static int exit_with_cycles_unwritten(void)
{
    char logs[300], command[700], path[320];
    snprintf(logs, sizeof logs, "%s/logs", dir);
    snprintf(path, sizeof path, "%s/stderr", dir);
    snprintf(command, sizeof command, "rm -rf '%s'; touch '%s'", logs, logs);
    CHECK(freopen(path, "w", stderr) != NULL);
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.activities = HB_ACTIVITY_CPU;
    o.schedule = hb_schedule_make(.active = 1);
    o.on_trace_ready = hb_tensorboard_trace_handler(logs, "w", 0);
    hb_profiler *prof = hb_profiler_create(&o);
    CHECK(prof && hb_profiler_start(prof) == HB_OK);
    CHECK(system(command) == 0);
    for (int i = 0; i < 3; i++) {
        spin_in_calls(3);
        (void)hb_profiler_step(prof);
        (void)hb_profiler_flush(prof);
    }
    exit(0);
}

static void exit_says_how_many_cycles_were_not_written(void **state)
{
    (void)state;
    char path[300], text[8192];
    assert_int_equal(run_program(exit_with_cycles_unwritten), 0);
    snprintf(path, sizeof path, "%s/stderr", dir);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    assert_non_null(strstr(text, "4 cycles in all could not be written")); /* with the last one */
}

static const program programs[] = {
    PROGRAM(end_by_pthread_exit),        PROGRAM(end_logging_by_pthread_exit),
    PROGRAM(end_slowly_by_pthread_exit), PROGRAM(exit_while_another_hands_over),
    PROGRAM(exit_while_others_log),      PROGRAM(exit_with_a_disk_that_hangs),
    PROGRAM(exit_while_another_steps),   PROGRAM(exit_with_cycles_unwritten),
    PROGRAM(exit_while_another_stops),   PROGRAM(exit_out_of_recording_calls),
    PROGRAM(exit_out_of_steps),          PROGRAM(exit_out_of_stops),
};

int main(int argc, char **argv)
{
    int status;
    if (argc > 1 && is_program(argv, programs, sizeof programs / sizeof *programs, &status))
        return status;
    const struct CMUnitTest tests[] = {
        IN_DIR(a_main_that_leaves_by_pthread_exit_ends_the_program),
        IN_DIR(after_pthread_exit_the_program_obeys_signals),
        IN_DIR(an_event_log_alone_does_not_keep_the_program_either),
        IN_DIR(exit_while_another_thread_steps_ends_the_program),
        IN_DIR(exit_while_another_thread_stops_ends_the_program),
        IN_DIR(exit_while_another_thread_hands_cycles_over_ends_the_program),
        IN_DIR(exit_waits_for_nothing_that_other_threads_log_meanwhile),
        IN_DIR(a_disk_that_hangs_keeps_no_program_from_its_end),
        IN_DIR(exit_in_a_signal_handler_ends_the_program),
        IN_DIR(exit_says_how_many_cycles_were_not_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
