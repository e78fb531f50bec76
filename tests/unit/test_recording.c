/* SPDX-License-Identifier: MIT
 *
 * What recording does to a program beside recording: it makes no system call, it takes little disk
 * and memory, and what it says of a file it says before.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <hipboard/hipboard.h>

#include "record/session.h"
#include "forks_with_threads.h"
#include "test_dir.h"
#include "trapped.h"

static hb_profiler *profiler(const char *worker)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.activities = HB_ACTIVITY_CPU;
    o.schedule = hb_schedule_make(.active = 1);
    o.on_trace_ready = hb_tensorboard_trace_handler(dir, worker, 0);
    hb_profiler *prof = hb_profiler_create(&o);
    assert_non_null(prof);
    return prof;
}

/* In a child, whose exit status is that of `program`. */
static int run_in_child(int (*program)(void))
{
    int status;
    pid_t pid = fork();
    if (pid == 0) _exit(program());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/* ---- no system call ---- */

static _Atomic bool record_more, recorder_ready, recorder_done;

static bool trap_system_calls(void)
{
    struct sock_filter rules[] = {NUMBER_OF_CALL, ALWAYS_ALLOWED, TRAP_OTHERS};
    return trap_others(rules, sizeof rules / sizeof *rules);
}

static void record_each_kind(int64_t n)
{
    HB_RECORD_FUNCTION("a scope") {
        HB_OP("an operator", .sequence_number = (uint64_t)n) {
        }
    }
    hb_range_push("a range");
    hb_memory_alloc(HB_DEVICE_CPU, 0, &n, 64);
    hb_memory_free(HB_DEVICE_CPU, 0, &n, 64);
    hb_range_pop();
}

static void *record_trapped(void *arg)
{
    (void)arg;
    record_each_kind(1);
    if (!trap_system_calls()) atomic_store(&first_call, -2);
    atomic_store(&recorder_ready, true);
    for (int64_t n = 1; atomic_load(&record_more); n++)
        record_each_kind(n);
    atomic_store(&recorder_done, true);
    for (;;) { /* it can't end */
    }
    return NULL;
}

/* Many chunks, and many cycles, of which each is written meanwhile. */
static int record_without_calls(void)
{
    enum { CYCLES = 40 };
    pthread_t thread;
    hb_profiler *prof = profiler("trapped");
    atomic_store(&record_more, true);
    if (hb_profiler_start(prof) != HB_OK) return 2;
    if (pthread_create(&thread, NULL, record_trapped, NULL) != 0) return 2;
    while (!atomic_load(&recorder_ready))
        sched_yield();
    for (int i = 0; i < CYCLES; i++) {
        struct timespec a_moment = {0, 5000000};
        nanosleep(&a_moment, NULL);
        if (hb_profiler_step(prof) != HB_OK) return 3;
    }
    atomic_store(&record_more, false);
    while (!atomic_load(&recorder_done))
        sched_yield();
    if (hb_profiler_stop(prof) != HB_OK) return 3;
    hb_lost lost = {.struct_size = sizeof lost};
    if (hb_profiler_lost(prof, &lost) != HB_OK || lost.reentrant) return 4;
    long call = atomic_load(&first_call);
    if (call == -2) return 77; /* no seccomp here */
    if (call) fprintf(stderr, "system call %ld in a recording call\n", call);
    return call ? 5 : 0;
}

static void recording_makes_no_system_call(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* they make some themselves */
#endif
    int status = run_in_child(record_without_calls);
    if (status == 77) skip();
    assert_int_equal(status, 0);
}

/* ---- no file call in steps and scalars ---- */

static hb_profiler *stepped;
static atomic_bool steps_taken;

static void *step_trapped(void *arg)
{
    enum { STEPS = 60, SCALARS = 50 };
    struct timespec a_moment = {0, 2000000};
    (void)arg;
    hb_scalar("loss", 0); /* the run's first opens the event file */
    if (!trap_file_calls()) atomic_store(&first_call, -2);
    for (int i = 0; i < STEPS; i++) {
        record_each_kind(i);
        for (int k = 0; k < SCALARS; k++)
            hb_scalar("loss", k);
        if (hb_profiler_step(stepped) != HB_OK) atomic_store(&first_call, -3);
        nanosleep(&a_moment, NULL); /* traces are written meanwhile */
    }
    atomic_store(&steps_taken, true);
    for (;;) { /* it can't end */
    }
    return NULL;
}

static int step_without_file_calls(hb_profiler_options *o)
{
    pthread_t thread;
    o->activities = HB_ACTIVITY_CPU;
    o->on_trace_ready = hb_tensorboard_trace_handler(dir, "stepped", 0);
    stepped = hb_profiler_create(o);
    if (!stepped || hb_profiler_start(stepped) != HB_OK) return 2;
    if (pthread_create(&thread, NULL, step_trapped, NULL)) return 2;
    while (!atomic_load(&steps_taken)) {
        if (o->on_demand || o->ring_steps) hb_profiler_dump(stepped, "it is time");
        usleep(20000);
    }
    if (hb_profiler_stop(stepped) != HB_OK) return 3;
    long call = atomic_load(&first_call);
    if (call == -2) return 77; /* no seccomp here */
    if (call) fprintf(stderr, "system call %ld of a thread that steps\n", call);
    if (call) return 5;
    return list_dir(dir, NULL, NULL, 0) > 1 ? 0 : 6; /* traces beside the event file */
}

static int step_by_cycles(void)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.schedule = hb_schedule_make(.active = 1);
    return step_without_file_calls(&o);
}

/* The first cycle begins in a step, too. */
static int step_by_a_schedule(void)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.schedule = hb_schedule_make(.wait = 2, .warmup = 1, .active = 2);
    return step_without_file_calls(&o);
}

static int step_on_demand(void)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.on_demand = true;
    return step_without_file_calls(&o);
}

static int step_with_a_ring(void)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.ring_steps = 5;
    return step_without_file_calls(&o);
}

static void steps_and_scalars_make_no_file_call(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* they make some themselves */
#endif
    int (*const programs[])(void) = {step_by_cycles, step_by_a_schedule, step_on_demand,
                                     step_with_a_ring};
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        int status = run_in_child(programs[i]);
        if (status == 77) skip();
        assert_int_equal(status, 0);
    }
}

/* ---- threads that come and go ---- */

enum { THREADS = 20000, ALIVE = 64 };

static void *record_once(void *arg)
{
    (void)arg;
    HB_RECORD_FUNCTION("once") {
    }
    return NULL;
}

static uint64_t resident(void)
{
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (!f || fscanf(f, "%*u %lu", &pages) != 1) abort();
    fclose(f);
    return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t disk_in(const char *path)
{
    uint64_t bytes = 0;
    DIR *list = opendir(path);
    for (struct dirent *e; list && (e = readdir(list));) {
        struct stat st;
        if (fstatat(dirfd(list), e->d_name, &st, 0) == 0 && S_ISREG(st.st_mode))
            bytes += (uint64_t)st.st_blocks * 512;
    }
    if (list) closedir(list);
    return bytes;
}

static void run_threads(void)
{
    static pthread_t threads[ALIVE];
    for (int i = 0; i < THREADS + ALIVE; i++) {
        if (i >= ALIVE) pthread_join(threads[i % ALIVE], NULL);
        if (i < THREADS && pthread_create(&threads[i % ALIVE], NULL, record_once, NULL) != 0)
            abort();
    }
}

static uint64_t space_of_threads;

static int record_by_short_threads(void)
{
    run_threads(); /* what they themselves leave */
    uint64_t before = resident() + disk_in(dir);
    hb_profiler *prof = profiler("short");
    if (hb_profiler_start(prof) != HB_OK) return 2;
    run_threads();
    space_of_threads = resident() + disk_in(dir) - before;
    fprintf(stderr, "%d threads, %d at a time: %.1f MB of disk and memory, of which %.1f disk\n",
            THREADS, ALIVE, (double)space_of_threads / 1e6, (double)disk_in(dir) / 1e6);
    if (space_of_threads > 32000000) return 3;
    if (hb_profiler_stop(prof) != HB_OK) return 4;
    hb_lost lost = {.struct_size = sizeof lost};
    if (hb_profiler_lost(prof, &lost) != HB_OK) return 4;
    return lost.buffer_full || lost.memory || lost.interrupted ? 5 : 0;
}

static void short_lived_threads_leave_little(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* they keep memory of threads that have ended */
#endif
    assert_int_equal(run_in_child(record_by_short_threads), 0);
}

/* ---- what a scope takes on the disk ---- */

/* When it has not grown for a while: hipboard's thread makes the area of hot chunks, and writes. */
static uint64_t settled_disk(void)
{
    uint64_t bytes = disk_in(dir), last;
    int same = 0;
    do {
        last = bytes;
        usleep(20000);
        bytes = disk_in(dir);
        same = bytes == last && bytes >= (uint64_t)HB_SPOOL_HOT * HB_CHUNK_BYTES ? same + 1 : 0;
    } while (same < 3);
    return bytes;
}

static int record_a_million(void)
{
    enum { SCOPES = 1000000, AT_ONCE = 100000 };
    static const char *const names[] = {"aten::add", "aten::mul", "aten::mm", "aten::relu"};
    hb_profiler *prof = profiler("disk");
    if (hb_profiler_start(prof) != HB_OK) return 2;
    uint64_t before = settled_disk();
    for (int i = 0; i < SCOPES; i++) {
        /* A thread that has to wait for a processor does not keep up; then that area is doubled. */
        if (i % AT_ONCE == 0) (void)settled_disk();
        hb_scope scope = hb_op(names[i % 4], NULL);
        hb_scope_end(&scope);
    }
    double each = (double)(settled_disk() - before) / SCOPES;
    fprintf(stderr, "%.2f bytes of disk a scope\n", each);
    return each <= 8 ? 0 : 3;
}

static void a_scope_takes_at_most_8_bytes_of_disk(void **state)
{
    (void)state;
    assert_int_equal(run_in_child(record_a_million), 0);
}

/* ---- killed when a trace has its name ---- */

static bool kill_at_name;

/* In place of the C library's. */
int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
    long result = syscall(SYS_renameat2, from_dir, from, to_dir, to, flags);
    if (result == 0 && kill_at_name && strstr(to, ".pt.trace.json")) kill(getpid(), SIGKILL);
    return (int)result;
}

static int stop_and_be_killed(void)
{
    hb_profiler *prof = profiler("named");
    kill_at_name = true;
    if (hb_profiler_start(prof) != HB_OK) return 2;
    HB_RECORD_FUNCTION("once and for all") {
    }
    hb_profiler_stop(prof);
    return 3;
}

static void a_trace_that_has_its_name_is_not_recovered_again(void **state)
{
    (void)state;
    assert_int_equal(run_in_child(stop_and_be_killed), 1000 + SIGKILL);
    assert_int_equal(list_dir(dir, NULL, NULL, 0), 1);
    assert_int_equal(hb_recover(dir, 0, NULL, NULL), HB_ERROR_NOT_FOUND);
    assert_int_equal(list_dir(dir, NULL, NULL, 0), 1);
    DIR *list = opendir(dir);
    for (struct dirent *e; (e = readdir(list));)
        assert_null(strstr(e->d_name, HB_SPOOL_SUFFIX));
    closedir(list);
}

/* ---- short cycles ---- */

/* Each session takes 200 bytes, not a chunk. */
static void a_thread_fills_its_chunk_over_many_sessions(void **state)
{
    (void)state;
    enum { SESSIONS = 300 };
    hb_spool spool;
    hb_session *sessions[SESSIONS];
    hb_spool_options options = {dir, "short", 64 << 20};
    hb_record_init();
    assert_int_equal(hb_spool_open(&spool, &options), HB_OK);
    for (int i = 0; i < SESSIONS; i++) {
        assert_int_equal(hb_session_begin(&spool, 0, i, &sessions[i]), HB_OK);
        for (int k = 0; k <= i % 3; k++)
            HB_RECORD_FUNCTION("short") {
            }
        hb_session_stop(sessions[i]); /* and is settled later, as behind a slow disk */
        assert_int_equal(sessions[i]->in_memory, 0);
    }
    hb_spool_view view = hb_spool_view_own(&spool);
    for (int i = SESSIONS; i-- > 0;) {
        int n = 0;
        uint64_t id;
        hb_session_settle(&spool, sessions[i]);
        const hb_records *records = view.records(&view, sessions[i]);
        assert_int_equal(records->threads.count, 1);
        hb_cursor c = hb_cursor_open(&view, records, hb_records_nth(records, 0), HB_TYPES_ALL);
        while (hb_cursor_next(&c, &id))
            n++;
        hb_cursor_close(&c);
        assert_int_equal(n, i % 3 + 1);
    }
    for (int i = 0; i < SESSIONS; i++)
        hb_session_release(&spool, sessions[i]);
    assert_false(hb_spool_has_unsaved(&spool));
    hb_spool_close(&spool, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(recording_makes_no_system_call),
        IN_DIR(steps_and_scalars_make_no_file_call),
        IN_DIR(short_lived_threads_leave_little),
        IN_DIR(a_scope_takes_at_most_8_bytes_of_disk),
        IN_DIR(a_trace_that_has_its_name_is_not_recovered_again),
        IN_DIR(a_thread_fills_its_chunk_over_many_sessions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
