/* SPDX-License-Identifier: MIT
 *
 * How others wait for threads that are just recording, or do so no longer.
 */
#include <sys/syscall.h>

#include "forks_with_threads.h"
#include "program.h"
#include "still_session.h"
#include "thread_states.h"

/* ---- in place of the kernel ---- */

static struct {
    uint64_t slept_us, sleeps; /* by the library's threads that have to wait: none is slept */
    void (*at_sleep)(void);
    long barriers;
    bool no_barriers;
} kernel;

static long note_sleep(const struct timespec *t)
{
    kernel.sleeps++;
    kernel.slept_us += (uint64_t)t->tv_sec * 1000000 + (uint64_t)t->tv_nsec / 1000;
    if (kernel.at_sleep) kernel.at_sleep();
    return 0;
}

static long barrier(int command)
{
    if (kernel.no_barriers) return -1;
    kernel.barriers += command == 1 << 3; /* MEMBARRIER_CMD_PRIVATE_EXPEDITED */
    return 0;
}

static bool counts_sleeps; /* in this thread's tests only: others sleep as they like */
static pthread_t who_counts;

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
__attribute__((no_sanitize("address"))) long __wrap_syscall(long number, ...)
{
    long a[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(list, long);
    va_end(list);
    bool own = counts_sleeps && pthread_equal(who_counts, pthread_self());
    if (number == SYS_nanosleep && own) return note_sleep((const struct timespec *)a[0]);
    if (number == SYS_membarrier && (own || kernel.no_barriers)) return barrier((int)a[0]);
    return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static void count_sleeps(void (*at_sleep)(void))
{
    memset(&kernel, 0, sizeof kernel);
    kernel.at_sleep = at_sleep;
    who_counts = pthread_self();
    counts_sleeps = true;
}

/* ---- helpers ---- */

static int begin(void **state)
{
    (void)state;
    return begin_session(16 << 20, HB_SESSION_SHAPES);
}

static int end(void **state)
{
    (void)state;
    counts_sleeps = false;
    return end_session();
}

static void enter_no_session(worker *w)
{
    hb_thread *t = hb_thread_begin_at(at(FRAME));
    hb_thread_set_epoch(t, 0);
    (void)w;
}

static void leave_and_enter(worker *w)
{
    hb_thread_leave(w->state);
    hb_thread_begin_at(at(FRAME));
}

/* ---- threads that stand still ---- */

static void begin_below(worker *w)
{
    hb_thread *t = hb_thread_begin_at(at(BELOW));
    (void)w;
    CHECK(t && t == hb_thread_tls);
    hb_thread_leave(t);
}

/* For a tenth of a second, once: what it has lost is counted once. */
static void who_does_not_leave_is_not_waited_for_any_more(void **state)
{
    (void)state;
    worker w;
    start_worker(&w);
    do_on(&w, enter);
    count_sleeps(NULL);
    assert_false(hb_threads_settle(session->number));
    assert_int_equal(kernel.sleeps, 8 + 19); /* of 20, 40 ... 2560 us, and then of 5 ms */
    assert_int_equal(kernel.slept_us, 100100);
    assert_false(hb_threads_settle(session->number));
    assert_int_equal(kernel.sleeps, 8 + 19);
    assert_int_equal(hb_threads_take_lost(HB_LOST_INTERRUPTED), 1);
    hb_thread *old = w.state;
    const hb_chunk *chunk = old->chunk;
    do_on(&w, begin_below);
    assert_ptr_not_equal(w.state, old);
    assert_int_equal(w.state->number, old->number);
    assert_int_equal(state_of(old), HB_THREAD_LEFT);
    assert_in_range(state_of_chunk(spool, chunk), HB_CHUNK_TAKEN, UINT32_MAX);
    assert_int_equal(lost(HB_LOST_INTERRUPTED), 0);
    assert_true(hb_threads_hold(spool));
    assert_false(is_taken_by_new_threads(old));
    hb_thread_leave(old);
    assert_false(hb_threads_hold(spool));
    assert_true(is_taken_by_new_threads(old));
    end_worker(&w);
    assert_int_equal(state_of(w.state), HB_THREAD_DEAD); /* the thread's end is told of this one */
}

static void all_together_are_waited_for_no_longer(void **state)
{
    (void)state;
    worker w[2];
    for (int i = 0; i < 2; i++) {
        start_worker(&w[i]);
        do_on(&w[i], enter);
    }
    count_sleeps(NULL);
    assert_false(hb_threads_settle(session->number));
    assert_int_equal(kernel.slept_us, 100100);
    assert_int_equal(hb_threads_take_lost(HB_LOST_INTERRUPTED), 2);
    for (int i = 0; i < 2; i++) {
        do_on(&w[i], leave);
        end_worker(&w[i]);
    }
}

static void look_whether_it_holds(worker *w)
{
    (void)w;
    CHECK(!hb_threads_hold(spool));
}

static void a_spool_is_held_by_others_that_live_and_are_silent(void **state)
{
    (void)state;
    hb_spool *other = still_spool(NULL, 1 << 20);
    worker w;
    start_worker(&w);
    do_on(&w, enter);
    assert_false(hb_threads_hold(spool)); /* it is waited for */
    atomic_store(&w.state->silent, atomic_load(&w.state->busy));
    assert_true(hb_threads_hold(spool));
    assert_false(hb_threads_hold(other));
    do_on(&w, look_whether_it_holds);
    int64_t tid = w.state->tid;
    w.state->tid = INT32_MAX; /* no thread has that */
    assert_false(hb_threads_hold(spool));
    w.state->tid = tid;
    assert_true(hb_spool_close(other, false));
    for (int i = 0; i < 4; i++) { /* between calls */
        do_on(&w, leave);
        atomic_store(&w.state->silent, atomic_load(&w.state->busy));
        assert_false(hb_threads_hold(spool));
        do_on(&w, enter);
    }
    do_on(&w, leave);
    end_worker(&w);
    free(other);
}

static worker sleeper;

static void let_it_leave(void)
{
    if (kernel.sleeps == 3) do_on(&sleeper, leave);
}

static void let_it_leave_and_enter(void)
{
    if (kernel.sleeps == 3) do_on(&sleeper, leave_and_enter);
}

static void a_thread_that_leaves_in_time_has_lost_nothing(void **state)
{
    (void)state;
    start_worker(&sleeper);
    for (int i = 0; i < 4; i++) {
        if (!is_in_call(sleeper.state)) do_on(&sleeper, enter);
        count_sleeps(i % 2 ? let_it_leave_and_enter : let_it_leave);
        if (i < 2)
            assert_true(hb_threads_settle(session->number));
        else
            hb_threads_pass(1000000);
        assert_int_equal(kernel.sleeps, 3);
        assert_int_equal(is_in_call(sleeper.state), i % 2);
    }
    do_on(&sleeper, leave);
    end_worker(&sleeper);
    assert_int_equal(hb_threads_take_lost(HB_LOST_INTERRUPTED), 0);
}

/* What another session lacks is counted, too. */
static void only_calls_of_the_session_or_of_none_hold_it(void **state)
{
    (void)state;
    worker w;
    start_worker(&w);
    count_sleeps(NULL);
    assert_true(hb_threads_settle(session->number));
    assert_int_equal(kernel.sleeps, 0);
    do_on(&w, enter);
    assert_true(hb_threads_settle(session->number + 1));
    assert_int_equal(hb_threads_take_lost(HB_LOST_INTERRUPTED), 1);
    assert_false(hb_threads_settle(session->number));
    do_on(&w, leave);
    do_on(&w, enter_no_session);
    assert_false(hb_threads_settle(session->number));
    do_on(&w, leave);
    end_worker(&w);
}

static void neither_the_own_call_nor_one_that_is_gone_is_waited_for(void **state)
{
    (void)state;
    hb_thread *old = enter_and_record(), *t = hb_thread_begin_at(at(ABOVE));
    atomic_store(&old->silent, 0);
    count_sleeps(NULL);
    assert_true(hb_threads_settle(session->number));
    hb_threads_pass(1000);
    assert_int_equal(kernel.sleeps, 0);
    hb_thread_leave(t);
}

static void passing_takes_no_longer_than_its_patience(void **state)
{
    (void)state;
    worker w[2];
    for (int i = 0; i < 2; i++) {
        start_worker(&w[i]);
        do_on(&w[i], enter);
    }
    count_sleeps(NULL);
    hb_threads_pass(1); /* some of it */
    assert_int_equal(kernel.sleeps, 1);
    count_sleeps(NULL);
    hb_threads_pass(1000); /* in all */
    assert_int_equal(kernel.sleeps, 50);
    assert_int_equal(kernel.slept_us, 1000);
    for (int i = 0; i < 2; i++) {
        assert_int_not_equal(atomic_load(&w[i].state->silent), atomic_load(&w[i].state->busy));
        atomic_store(&w[i].state->silent, atomic_load(&w[i].state->busy));
    }
    hb_threads_pass(1000);
    assert_int_equal(kernel.sleeps, 50);
    for (int i = 0; i < 2; i++) {
        do_on(&w[i], leave);
        end_worker(&w[i]);
    }
    hb_threads_pass(1000);
    assert_int_equal(kernel.sleeps, 50);
}

/* ---- barriers ---- */

/* Where the kernel can do that; but for thread checks, which know nothing of barriers. */
static void who_waits_puts_a_barrier_into_all_threads(void **state)
{
    (void)state;
    int each = syscall(SYS_membarrier, 0, 0, 0) >> 3 & 1;
    assert_int_equal(hb_heavy_fence, !each);
#ifdef __SANITIZE_THREAD__
    each = 0;
#endif
    count_sleeps(NULL);
    hb_threads_pass(1000);
    assert_int_equal(kernel.barriers, each);
    assert_true(hb_threads_settle(session->number));
    assert_int_equal(kernel.barriers, 2 * each);
}

/* Then each recording call has one, and all of them go the long way. */
static int record_without_barriers(void)
{
    const hb_input input = {.kind = HB_INPUT_INT};
    const hb_op_info info = {.inputs = &input, .num_inputs = 1};
    count_sleeps(NULL);
    kernel.no_barriers = true;
    spool = still_spool(dir, 16 << 20);
    session = begin_in(spool, 0);
    CHECK(hb_heavy_fence && !hb_enters_quickly());
    hb_scope scope = hb_record_function("scope"), op = hb_op("op", &info);
    const hb_record *records[] = {scope.record, op.record};
    CHECK(records[0]->end == 0 && records[1]->end == 0);
    hb_scope_end(&op);
    hb_scope_end(&scope);
    CHECK(records[0]->end >= records[1]->end && records[1]->end > 0);
    kernel.no_barriers = false;
    CHECK(hb_threads_settle(session->number));
    CHECK(kernel.barriers == 0);
    end_in_spool(spool, session);
    close_test_spool(spool);
    return 0;
}

static void kernels_without_barriers_are_recorded_on(void **state)
{
    (void)state;
    assert_int_equal(run_program(record_without_barriers), 0);
}

/* ---- fork ---- */

static int look_in_child(const worker *w, const hb_thread *t)
{
    if (hb_thread_tls != t || !is_in_call(t) || state_of(t) != HB_THREAD_LIVES) return 1;
    if (t->tid != gettid() || t->epoch != 0) return 2;
    if (state_of(w[0].state) != HB_THREAD_DEAD || is_in_call(w[0].state)) return 3;
    if (state_of(w[1].state) != HB_THREAD_DEAD || is_in_call(w[1].state)) return 4;
    return w[0].state->epoch || w[1].state->epoch ? 5 : 0;
}

/* One of them in a call, the other between calls, and the one that forks in one, which goes on. */
static void in_a_child_only_the_thread_that_forked_lives(void **state)
{
    (void)state;
    worker w[2];
    start_worker(&w[0]);
    start_worker(&w[1]);
    do_on(&w[0], enter);
    do_on(&w[1], enter);
    do_on(&w[1], leave);
    uint32_t busy[2] = {atomic_load(&w[0].state->busy), atomic_load(&w[1].state->busy)};
    hb_thread *t = enter_and_record();
    pid_t pid = fork();
    if (pid == 0) {
        bool same = atomic_load(&w[0].state->busy) == busy[0] + 1 &&
                    atomic_load(&w[1].state->busy) == busy[1];
        _exit(same ? look_in_child(w, t) : 6);
    }
    wait_for_success(pid);
    hb_thread_leave(t);
    do_on(&w[0], leave);
    end_worker(&w[0]);
    end_worker(&w[1]);
}

int main(int argc, char **argv)
{
    static const program programs[] = {PROGRAM(record_without_barriers)};
    int status;
    if (argc > 1 && is_program(argv, programs, sizeof programs / sizeof *programs, &status))
        return status;
    const struct CMUnitTest tests[] = {
        IN_SESSION(who_does_not_leave_is_not_waited_for_any_more),
        IN_SESSION(all_together_are_waited_for_no_longer),
        IN_SESSION(a_spool_is_held_by_others_that_live_and_are_silent),
        IN_SESSION(a_thread_that_leaves_in_time_has_lost_nothing),
        IN_SESSION(only_calls_of_the_session_or_of_none_hold_it),
        IN_SESSION(neither_the_own_call_nor_one_that_is_gone_is_waited_for),
        IN_SESSION(passing_takes_no_longer_than_its_patience),
        IN_SESSION(who_waits_puts_a_barrier_into_all_threads),
        IN_DIR(kernels_without_barriers_are_recorded_on),
        IN_SESSION(in_a_child_only_the_thread_that_forked_lives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
