/* SPDX-License-Identifier: MIT
 *
 * fork() at any moment of recording, with and without fork handlers: parent and child both finish,
 * and the parent's records stay whole.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>

#include "hip/capture.h"
#include "forks_with_threads.h"
#include "program.h"
#include "recorded.h"

enum { THREADS = 8, FORKS = 100 };

static atomic_bool enough;

/* gcc's thread checks stop a child that starts a thread. */
static bool children_start_threads(void)
{
#ifdef __SANITIZE_THREAD__
    return false;
#else
    return true;
#endif
}

static hb_profiler *into_dir(void)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.schedule = hb_schedule_make(.active = 1);
    o.activities = HB_ACTIVITY_CPU;
    o.max_cycles = 50; /* the disk of a long run */
    o.on_trace_ready = hb_tensorboard_trace_handler(dir, "w", 0);
    hb_profiler *prof = hb_profiler_create(&o);
    CHECK(prof && hb_profiler_start(prof) == HB_OK);
    return prof;
}

static void *record_and_log(void *arg)
{
    char name[64];
    for (int i = 0; !atomic_load(&enough); i++) {
        snprintf(name, sizeof name, "%d of thread %ld", i, (long)arg);
        hb_scope s = hb_record_function(name); /* a new name each time */
        hb_scalar("value", i);
        hb_scope_end(&s);
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    }
    return NULL;
}

static void *take_cycles(void *prof)
{
    while (!atomic_load(&enough)) {
        CHECK(hb_profiler_step(prof) == HB_OK);
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
    return NULL;
}

/* Records on, by a profiler of its own. */
static void be_a_child(void)
{
    alarm(ENOUGH_S / 2);
    hb_scope s = hb_record_function("nobody's");
    hb_scalar("value", 0);
    hb_scope_end(&s);
    if (!children_start_threads()) _exit(0);
    hb_profiler *prof = record_all();
    s = hb_record_function("child's");
    hb_scope_end(&s);
    CHECK(hb_profiler_stop(prof) == HB_OK);
    recorded r = recorded_of(prof);
    CHECK(recorded_count(&r, "child's") == 1);
    _exit(0);
}

static void fork_once(void)
{
    int status;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) be_a_child();
    CHECK(waitpid(child, &status, 0) == child);
    if (status != 0) fprintf(stderr, "a child's status: 0x%x\n", (unsigned)status);
    CHECK(status == 0);
}

static int fork_while_all_record(void)
{
    pthread_t threads[THREADS], taker;
    hb_profiler *prof = into_dir();
    for (long i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, record_and_log, (void *)i) == 0);
    CHECK(pthread_create(&taker, NULL, take_cycles, prof) == 0);
    for (int i = 1; i <= rounds(FORKS); i++) {
        fork_once();
        if (i % 1000 == 0) fprintf(stderr, "%d forks: parent and child went on\n", i);
    }
    atomic_store(&enough, true);
    pthread_join(taker, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    CHECK(hb_profiler_stop(prof) == HB_OK);
    hb_profiler_destroy(prof);
    return 0;
}

/* gcc 12's address checks take no lock of their allocator at a fork: a child of a process whose
 * other threads allocate may wait for one for ever. */
static void skip_where_checks_stop_children(void)
{
#ifdef __SANITIZE_ADDRESS__
    skip();
#endif
}

static void parent_and_child_finish_whenever_a_fork_comes(void **state)
{
    (void)state;
    skip_where_checks_stop_children();
    assert_int_equal(run_program(fork_while_all_record), 0);
}

static void *settle_on_and_on(void *arg)
{
    while (!atomic_load(&enough))
        hb_device_settle(NULL);
    return arg;
}

/* Cycles without HIP also ask whether devices have still to report. */
static int fork_while_cycles_settle(void)
{
    pthread_t thread;
    hb_profiler *prof = into_dir();
    CHECK(pthread_create(&thread, NULL, settle_on_and_on, NULL) == 0);
    for (int i = 0; i < FORKS; i++) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            alarm(ENOUGH_S / 2);
            hb_device_settle(NULL);
            _exit(0);
        }
        int status;
        CHECK(waitpid(child, &status, 0) == child && status == 0);
    }
    atomic_store(&enough, true);
    pthread_join(thread, NULL);
    CHECK(hb_profiler_stop(prof) == HB_OK);
    hb_profiler_destroy(prof);
    return 0;
}

static void a_child_can_end_cycles_whatever_its_parent_did(void **state)
{
    (void)state;
    assert_int_equal(run_program(fork_while_cycles_settle), 0);
}

/* ---- children that no fork handler prepared ---- */

enum { OWN = 2000, CHILDS = 20000 };

static void record(const char *prefix, int n)
{
    char name[64];
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof name, "%s %d", prefix, i);
        hb_scope s = hb_record_function(name);
        hb_scope_end(&s);
    }
}

static hb_profiler *with_spool(void)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.activities = HB_ACTIVITY_CPU;
    o.spool_dir = dir;
    hb_profiler *prof = hb_profiler_create(&o);
    CHECK(prof && hb_profiler_start(prof) == HB_OK);
    return prof;
}

/* The parent's records are there, by their names, and nobody else's. */
static void check_whole(hb_profiler *prof, int own)
{
    char name[64];
    CHECK(hb_profiler_stop(prof) == HB_OK);
    recorded r = recorded_of(prof);
    int found = 0;
    for (size_t i = 0; i < r.n; i++) {
        CHECK(strncmp(r.events[i].name, "child", 5) != 0);
        snprintf(name, sizeof name, "parent %d", found);
        found += strcmp(r.events[i].name, name) == 0;
    }
    CHECK(found == own);
    recorded_free(&r);
    hb_profiler_destroy(prof);
}

/* Both record at the same time. */
static int split_by(pid_t (*make_child)(void))
{
    int status;
    hb_profiler *prof = with_spool();
    record("parent", 10);
    pid_t child = make_child();
    CHECK(child >= 0);
    if (child == 0) {
        alarm(ENOUGH_S / 2);
        record("child", CHILDS);
        _exit(0);
    }
    char name[64];
    for (int i = 10; i < OWN; i++) {
        snprintf(name, sizeof name, "parent %d", i);
        hb_scope s = hb_record_function(name);
        hb_scope_end(&s);
        if (i % 100 == 0) nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    check_whole(prof, OWN);
    return 0;
}

static pid_t clone_raw(void)
{
    return (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
}

static int split_by_clone(void)
{
    return split_by(clone_raw);
}

static int split_by_fork_without_handlers(void)
{
    return split_by(_Fork);
}

static void record_in_child(void)
{
    record("child", CHILDS);
}

/* Registered before hipboard's, so called before them in the child. */
static int split_with_an_earlier_handler(void)
{
    CHECK(pthread_atfork(NULL, NULL, record_in_child) == 0);
    return split_by(fork);
}

static void a_child_without_fork_handlers_leaves_its_parents_records_alone(void **state)
{
    (void)state;
    assert_int_equal(run_program(split_by_clone), 0);
    assert_int_equal(run_program(split_by_fork_without_handlers), 0);
}

static void an_earlier_fork_handler_may_record(void **state)
{
    (void)state;
    assert_int_equal(run_program(split_with_an_earlier_handler), 0);
}

static const program programs[] = {
    PROGRAM(fork_while_all_record),
    PROGRAM(fork_while_cycles_settle),
    PROGRAM(split_by_clone),
    PROGRAM(split_by_fork_without_handlers),
    PROGRAM(split_with_an_earlier_handler),
};

int main(int argc, char **argv)
{
    int status;
    if (argc > 1 && is_program(argv, programs, sizeof programs / sizeof *programs, &status))
        return status;
    const struct CMUnitTest tests[] = {
        IN_DIR(parent_and_child_finish_whenever_a_fork_comes),
        IN_DIR(a_child_can_end_cycles_whatever_its_parent_did),
        IN_DIR(a_child_without_fork_handlers_leaves_its_parents_records_alone),
        IN_DIR(an_earlier_fork_handler_may_record),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
