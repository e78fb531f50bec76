/* SPDX-License-Identifier: MIT
 *
 * Threads that end, leave or stand still in the middle of a call, and the program's own turns:
 * floating point, errno, masks.
 */
#include <errno.h>
#include <fenv.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include <hipboard/event_log.h>

#include "program.h"
#include "recorded.h"

/* A thread is known to spin by this. */
static _Atomic unsigned yields;
int sched_yield(void)
{
    yields++;
    return (int)syscall(SYS_sched_yield);
}

static hb_lost lost_of(hb_profiler *prof)
{
    hb_lost lost = {.struct_size = sizeof lost};
    CHECK(hb_profiler_lost(prof, &lost) == HB_OK);
    return lost;
}

static hb_profiler *cycles(void)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.schedule = hb_schedule_make(.active = 1);
    o.activities = HB_ACTIVITY_CPU;
    o.spool_dir = "";
    hb_profiler *prof = hb_profiler_create(&o);
    CHECK(prof && hb_profiler_start(prof) == HB_OK);
    return prof;
}

static hb_profiler *into_dir(void)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.activities = HB_ACTIVITY_CPU;
    o.on_trace_ready = hb_tensorboard_trace_handler(dir, "w", 0);
    hb_profiler *prof = hb_profiler_create(&o);
    CHECK(prof && hb_profiler_start(prof) == HB_OK);
    return prof;
}

static bool ends_with(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);
    return n >= m && strcmp(name + n - m, end) == 0;
}

static int count_files(const char *end)
{
    int n = 0;
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));)
        n += ends_with(e->d_name, end);
    if (d) closedir(d);
    return n;
}

static void sleep_us(long us)
{
    struct timespec t = {us / 1000000, us % 1000000 * 1000};
    nanosleep(&t, NULL);
}

/* ---- threads that never leave a call ---- */

static void *record_for_ever(void *arg)
{
    (void)arg;
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    for (;;) {
        hb_scope s = hb_record_function("in a thread");
        hb_scope_end(&s);
    }
    return NULL;
}

static int cancel_threads(void)
{
    hb_profiler *prof = cycles();
    for (int i = 0; i < 100; i++) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, record_for_ever, NULL) == 0);
        sleep_us(300);
        CHECK(pthread_cancel(thread) == 0 && pthread_join(thread, NULL) == 0);
        CHECK(hb_profiler_step(prof) == HB_OK);
    }
    CHECK(hb_profiler_stop(prof) == HB_OK);
    hb_profiler_destroy(prof);
    return 0;
}

static void nobody_waits_for_a_cancelled_thread(void **state)
{
    (void)state;
    skip_under_thread_checks();
    assert_int_equal(run_program(cancel_threads), 0);
}

static sigjmp_buf back;
static atomic_int jumps;

static void leave_by_jump(int signal)
{
    (void)signal;
    siglongjmp(back, 1);
}

static void start_timer(int us, void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler};
    struct itimerval often = {{0, us}, {0, us}};
    CHECK(sigaction(SIGVTALRM, &action, NULL) == 0);
    CHECK(setitimer(ITIMER_VIRTUAL, &often, NULL) == 0);
}

static void stop_timer(void)
{
    struct itimerval never = {0};
    setitimer(ITIMER_VIRTUAL, &never, NULL);
}

/* The timer is the process's: whoever lets its signal through may get it. */
static void mask_timer(int how)
{
    sigset_t timer;
    sigemptyset(&timer);
    sigaddset(&timer, SIGVTALRM);
    pthread_sigmask(how, &timer, NULL);
}

static void spin_in_calls(long n)
{
    for (long i = 0; i < n; i++) {
        hb_scope s = hb_record_function("interrupted");
        hb_scope_end(&s);
    }
}

/* A jump back masks the signal again. */
static void spin_until_jump(void)
{
    mask_timer(SIG_UNBLOCK);
    spin_in_calls(1000000000);
}

static int leave_calls_by_jumps(void)
{
    hb_profiler *prof = record_all();
    mask_timer(SIG_BLOCK);
    start_timer(1000, leave_by_jump);
    while (jumps < 100) {
        if (sigsetjmp(back, 1) == 0) spin_until_jump();
        jumps++;
    }
    stop_timer();
    hb_scope s = hb_record_function("after all");
    hb_scope_end(&s);
    CHECK(hb_profiler_stop(prof) == HB_OK);
    hb_lost lost = lost_of(prof);
    CHECK(lost.interrupted > 0 && lost.interrupted <= 100);
    CHECK(lost.reentrant < 1000); /* a few until it is clear that the call is gone */
    recorded r = recorded_of(prof);
    CHECK(recorded_count(&r, "after all") == 1);
    CHECK(recorded_count(&r, "interrupted") > 1000);
    recorded_free(&r);
    hb_profiler_destroy(prof);
    return 0;
}

static void a_thread_that_leaves_a_call_by_siglongjmp_records_on(void **state)
{
    (void)state;
    assert_int_equal(run_program(leave_calls_by_jumps), 0);
}

static void *jump_for_ever(void *arg)
{
    (void)arg;
    start_timer(1000, leave_by_jump);
    for (;;) {
        if (sigsetjmp(back, 1) == 0) spin_until_jump();
        jumps++;
    }
    return NULL;
}

static int take_cycles_while_a_thread_jumps(void)
{
    pthread_t thread;
    hb_profiler *prof = cycles();
    mask_timer(SIG_BLOCK); /* before the other thread, which inherits it */
    CHECK(pthread_create(&thread, NULL, jump_for_ever, NULL) == 0);
    while (jumps < 100) {
        CHECK(hb_profiler_step(prof) == HB_OK);
        sleep_us(500);
    }
    CHECK(hb_profiler_stop(prof) == HB_OK);
    return 0;
}

static void cycles_end_while_a_thread_leaves_calls_by_siglongjmp(void **state)
{
    (void)state;
    assert_int_equal(run_program(take_cycles_while_a_thread_jumps), 0);
}

/* ---- nobody spins ---- */

static atomic_bool enough;

static void *record_and_log(void *arg)
{
    (void)arg;
    while (!enough) {
        spin_in_calls(20);
        hb_scalar("value", 1);
    }
    return NULL;
}

static int take_cycles_of_busy_threads(void)
{
    pthread_t threads[8];
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.schedule = hb_schedule_make(.active = 1);
    o.activities = HB_ACTIVITY_CPU;
    o.on_trace_ready = hb_tensorboard_trace_handler(dir, "w", 0);
    hb_profiler *prof = hb_profiler_create(&o);
    CHECK(prof && hb_profiler_start(prof) == HB_OK);
    for (int i = 0; i < 8; i++)
        CHECK(pthread_create(&threads[i], NULL, record_and_log, NULL) == 0);
    for (int i = 0; i < 30; i++) {
        sleep_us(2000);
        CHECK(hb_profiler_step(prof) == HB_OK);
    }
    enough = true;
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    CHECK(hb_profiler_stop(prof) == HB_OK);
    hb_profiler_destroy(prof);
    CHECK(yields == 0);
    return 0;
}

static void nobody_yields_in_a_loop(void **state)
{
    (void)state;
    assert_int_equal(run_program(take_cycles_of_busy_threads), 0);
}

/* ---- thread-specific data ---- */

static int use_up_keys(void)
{
    pthread_key_t key;
    while (pthread_key_create(&key, NULL) == 0)
        continue;
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.spool_dir = "";
    CHECK(hb_profiler_create(&o) == NULL);
    CHECK(strstr(hb_last_error(), "pthread_key_create"));
    CHECK(hb_thread_number() == 0);
    return 0;
}

static void without_keys_nothing_is_recorded_and_that_is_said(void **state)
{
    (void)state;
    assert_int_equal(run_program(use_up_keys), 0);
}

static pthread_key_t late_key;
static __thread int late_rounds;

static void record_late(void *again)
{
    late_rounds++;
#ifdef __SANITIZE_THREAD__ /* its own destructor comes in the last round: nothing may run after it \
                            */
    if (late_rounds == PTHREAD_DESTRUCTOR_ITERATIONS - 1) again = NULL;
#endif
    hb_scope s = hb_record_function("late");
    hb_scope_end(&s);
    if (again) pthread_setspecific(late_key, again);
}

static void *end_late(void *arg)
{
    spin_in_calls(1);
    pthread_setspecific(late_key, &late_key);
    return arg;
}

static long address_space_kb(void)
{
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    CHECK(f && fscanf(f, "%ld", &pages) == 1);
    fclose(f);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static int record_in_destructors(void)
{
    hb_profiler *prof = record_all();
    CHECK(pthread_key_create(&late_key, record_late) == 0);
    long before = 0;
    for (int i = 0; i < 2000; i++) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, end_late, NULL) == 0);
        pthread_join(thread, NULL);
        if (i == 100) before = address_space_kb();
    }
    CHECK(address_space_kb() - before < 4096);
    CHECK(hb_profiler_stop(prof) == HB_OK);
    recorded r = recorded_of(prof);
    CHECK(recorded_count(&r, "late") >= 2000);
    recorded_free(&r);
    hb_profiler_destroy(prof);
    return 0;
}

static void a_destructor_that_records_costs_no_memory_a_thread(void **state)
{
    (void)state;
    assert_int_equal(run_program(record_in_destructors), 0);
}

/* ---- scopes that others end ---- */

static void *end_scopes(void *arg)
{
    hb_scope *scopes = arg;
    for (int i = 0; i < 600; i++)
        hb_scope_end(&scopes[i]);
    return NULL;
}

static int hand_scopes_over(void)
{
    static hb_scope scopes[600];
    pthread_t thread;
    hb_profiler *prof = record_all();
    for (int i = 0; i < 600; i++)
        scopes[i] = hb_record_function("handed over");
    CHECK(pthread_create(&thread, NULL, end_scopes, scopes) == 0);
    pthread_join(thread, NULL);
    hb_range_push("range");
    hb_range_pop();
    hb_scope s = hb_record_function("next");
    hb_scope_end(&s);
    CHECK(hb_profiler_stop(prof) == HB_OK);
    recorded r = recorded_of(prof);
    CHECK(recorded_count(&r, "handed over") == 600);
    const hb_event *range = recorded_find(&r, "range"), *next = recorded_find(&r, "next");
    CHECK(range && next && !range->unfinished && range->end_ns <= next->start_ns);
    CHECK(lost_of(prof).unbalanced == 0);
    recorded_free(&r);
    hb_profiler_destroy(prof);
    return 0;
}

static void ranges_work_after_600_scopes_that_another_thread_ended(void **state)
{
    (void)state;
    assert_int_equal(run_program(hand_scopes_over), 0);
}

static int pop_below_handed_over(void)
{
    hb_scope scopes[600] = {0};
    pthread_t thread;
    hb_profiler *prof = record_all();
    hb_range_push("range");
    for (int i = 0; i < 3; i++)
        scopes[i] = hb_record_function("handed over");
    CHECK(pthread_create(&thread, NULL, end_scopes, scopes) == 0);
    pthread_join(thread, NULL);
    hb_range_pop();
    hb_scope s = hb_record_function("next");
    hb_scope_end(&s);
    CHECK(hb_profiler_stop(prof) == HB_OK);
    recorded r = recorded_of(prof);
    const hb_event *range = recorded_find(&r, "range"), *next = recorded_find(&r, "next");
    CHECK(range && next && !range->unfinished && range->end_ns <= next->start_ns);
    recorded_free(&r);
    hb_profiler_destroy(prof);
    return 0;
}

static void a_pop_passes_over_scopes_that_another_thread_ended(void **state)
{
    (void)state;
    assert_int_equal(run_program(pop_below_handed_over), 0);
}

/* ---- what belongs to the program ---- */

static int trap_floating_point_errors(void)
{
    feclearexcept(FE_ALL_EXCEPT);
    CHECK(feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW) != -1);
    CHECK(fesetround(FE_UPWARD) == 0);
    hb_profiler *prof = into_dir();
    hb_op_info info = {.flops = (double)NAN};
    for (int i = 0; i < 100; i++) {
        hb_scope s = hb_op("op", &info);
        hb_scalar("nan", (double)NAN);
        hb_scalar("large", 1e300);
        hb_scalar("small", 1e-300);
        hb_scope_end(&s);
    }
    const double values[] = {1e-320, (double)NAN, 3, 1e300, -1};
    CHECK(hb_histogram("values", values, 5) == HB_OK);
    CHECK(hb_profiler_step(prof) == HB_OK);
    CHECK(hb_profiler_stop(prof) == HB_OK);
    hb_profiler_destroy(prof);
    CHECK(fegetround() == FE_UPWARD);
    CHECK(fegetexcept() == (FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW));
    CHECK(fetestexcept(FE_ALL_EXCEPT) == 0);
    return 0;
}

static void floating_point_traps_rounding_and_flags_are_the_programs(void **state)
{
    (void)state;
    assert_int_equal(run_program(trap_floating_point_errors), 0);
    assert_int_equal(count_files(".pt.trace.json"), 1);
}

static void *record_with_errno(void *arg)
{
    stack_t before = {.ss_sp = arg, .ss_size = 8192}, after;
    sigset_t mask, mask_after;
    CHECK(sigaltstack(&before, NULL) == 0);
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR1);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    char name[32];
    for (int i = 0; i < 20000; i++) {
        errno = 4711;
        snprintf(name, sizeof name, "name %d", i);
        errno = 4711;
        hb_scope s = hb_record_function(name); /* each is new: chunks, strings, the file grow */
        CHECK(errno == 4711);
        hb_scalar(name, i);
        CHECK(errno == 4711);
        hb_memory_alloc(HB_DEVICE_CPU, 0, arg, 64);
        hb_range_push("range");
        hb_range_pop();
        hb_scope_end(&s);
        CHECK(errno == 4711);
    }
    CHECK(fetestexcept(FE_ALL_EXCEPT) == 0);
    CHECK(pthread_sigmask(SIG_BLOCK, NULL, &mask_after) == 0);
    CHECK(memcmp(&mask, &mask_after, 8) == 0);
    CHECK(sigaltstack(NULL, &after) == 0);
    CHECK(after.ss_sp == before.ss_sp && after.ss_size == before.ss_size && after.ss_flags == 0);
    return NULL;
}

static int look_at_errno(void)
{
    feclearexcept(FE_ALL_EXCEPT);
    /* Address checks unmap a thread's stack for signals when it ends. */
    void *stack = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_t thread;
    CHECK(stack != MAP_FAILED);
    hb_profiler *prof = into_dir();
    CHECK(pthread_create(&thread, NULL, record_with_errno, stack) == 0);
    pthread_join(thread, NULL);
    errno = 4711;
    CHECK(hb_profiler_step(prof) == HB_OK && errno == 4711);
    CHECK(hb_profiler_stop(prof) == HB_OK && errno == 4711);
    hb_profiler_destroy(prof);
    CHECK(errno == 4711);
    return 0;
}

static void recording_leaves_errno_and_masks_alone(void **state)
{
    (void)state;
    assert_int_equal(run_program(look_at_errno), 0);
}

static const program programs[] = {
    PROGRAM(cancel_threads),
    PROGRAM(leave_calls_by_jumps),
    PROGRAM(take_cycles_while_a_thread_jumps),
    PROGRAM(take_cycles_of_busy_threads),
    PROGRAM(use_up_keys),
    PROGRAM(record_in_destructors),
    PROGRAM(hand_scopes_over),
    PROGRAM(pop_below_handed_over),
    PROGRAM(trap_floating_point_errors),
    PROGRAM(look_at_errno),
};

int main(int argc, char **argv)
{
    int status;
    if (argc > 1 && is_program(argv, programs, sizeof programs / sizeof *programs, &status))
        return status;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_waits_for_a_cancelled_thread),
        cmocka_unit_test(a_thread_that_leaves_a_call_by_siglongjmp_records_on),
        cmocka_unit_test(cycles_end_while_a_thread_leaves_calls_by_siglongjmp),
        IN_DIR(nobody_yields_in_a_loop),
        cmocka_unit_test(without_keys_nothing_is_recorded_and_that_is_said),
        cmocka_unit_test(a_destructor_that_records_costs_no_memory_a_thread),
        cmocka_unit_test(ranges_work_after_600_scopes_that_another_thread_ended),
        cmocka_unit_test(a_pop_passes_over_scopes_that_another_thread_ended),
        IN_DIR(floating_point_traps_rounding_and_flags_are_the_programs),
        IN_DIR(recording_leaves_errno_and_masks_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
