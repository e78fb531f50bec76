/* SPDX-License-Identifier: MIT
 *
 * Recording calls that nobody will leave, as the program jumped out of them: what the thread's next
 * call makes of them, and which calls are taken for such.
 */
#include <signal.h>

#include "forks_with_threads.h"
#include "program.h"
#include "still_session.h"
#include "thread_states.h"

static int begin(void **state)
{
    (void)state;
    return begin_session(16 << 20, HB_SESSION_SHAPES);
}

static int end(void **state)
{
    (void)state;
    return end_session();
}

static void a_call_below_another_is_a_signal_handlers(void **state)
{
    (void)state;
    hb_thread *t = enter_and_record();
    assert_null(hb_thread_begin_at(at(BELOW)));
    assert_int_equal(lost(HB_LOST_REENTRANT), 1);
    assert_int_equal(lost(HB_LOST_INTERRUPTED), 0);
    assert_ptr_equal(hb_thread_tls, t);
    hb_thread_leave(t);
    assert_true(t->frame == HB_NO_FRAME);
}

static void assert_goes_on(const hb_thread *old, const hb_thread *t)
{
    assert_int_equal(t->number, old->number);
    assert_int_equal(t->tid, old->tid);
    assert_string_equal(t->name, "its own name");
    assert_memory_equal(t->system_name, old->system_name, sizeof t->system_name);
    assert_int_equal(t->epoch, session->number);
    assert_ptr_equal(t->session, session);
    assert_ptr_equal(t->spool, spool);
    assert_int_equal(t->spool_serial, spool->serial);
    assert_int_equal(t->flags, HB_SESSION_SHAPES);
    assert_int_equal(t->sequence, old->sequence + 1);
    assert_null(t->chunk);
    assert_true(t->pos == t->end);
}

/* After a longjmp() out of it, from the same function or one that called it. */
static void go_on_from(uintptr_t frame)
{
    char calls[2];
    hb_thread_name("its own name");
    hb_scope scope = hb_record_function("open all along");
    hb_thread *old = enter_and_record();
    const hb_chunk *chunk = old->chunk;
    uint64_t before = lost(HB_LOST_INTERRUPTED);
    old->calls = &calls[0];
    old->call = &calls[1];
    hb_thread *t = hb_thread_begin_at(at(frame));
    assert_non_null(t);
    assert_ptr_not_equal(t, old);
    assert_ptr_equal(hb_thread_tls, t);
    assert_true(is_in_call(t) && state_of(t) == HB_THREAD_LIVES);
    assert_true(t->frame == frame);
    assert_goes_on(old, t);
    assert_true(t->calls == &calls[0] && !old->calls);
    assert_true(t->call == &calls[1] && !old->call);
    assert_int_equal(t->depth, 1);
    assert_ptr_equal(t->open[0].record, scope.record);
    assert_int_equal(lost(HB_LOST_INTERRUPTED), before + 1);
    assert_int_equal(state_of(old), HB_THREAD_GONE);
    assert_int_equal(atomic_load(&old->silent), atomic_load(&old->busy));
    assert_int_equal(state_of_chunk(spool, chunk), HB_CHUNK_FULL);
    t->calls = t->call = NULL;
    hb_thread_leave(t);
    const hb_record *record = scope.record;
    hb_scope_end(&scope);
    assert_in_range(record->end, record->start, HB_END_TICKS);
    assert_false(hb_threads_hold(spool));
    assert_false(is_taken_by_new_threads(old));
    hb_thread_leave(old); /* it was on another stack */
    assert_true(is_taken_by_new_threads(old));
}

static void a_call_at_the_frame_of_another_or_above_finds_it_gone(void **state)
{
    (void)state;
    go_on_from(FRAME);
    go_on_from(ABOVE);
}

static void record_there(worker *w)
{
    (void)w;
    record_one();
}

/* Of the only thread that has ended, whose state the one that goes on is given. */
static void go_on_with_its_state(hb_spool *in, const hb_thread *dead, const hb_chunk *former)
{
    hb_session *next = begin_in(in, 0);
    spool = in;
    CHECK(hb_thread_number()); /* this thread has one of its own */
    hb_thread *old = enter_and_record(), *t = hb_thread_begin_at(at(ABOVE));
    CHECK(t == dead && !t->chunk && t->former == former);
    hb_thread_leave(t);
    record_one();
    bool same = former && hb_pool_index(&in->pool, t->chunk) == hb_pool_index(&in->pool, former);
    CHECK(same == (former != NULL));
    hb_thread_leave(old);
    end_in_spool(in, next);
}

static int go_on_in_a_dead_threads_chunk(void)
{
    worker w;
    spool = still_spool(dir, 16 << 20);
    CHECK(hb_thread_number());
    session = begin_in(spool, 0);
    start_worker(&w);
    do_on(&w, record_there);
    end_worker(&w);
    hb_session_stop(session);
    CHECK(w.state->chunk);
    go_on_with_its_state(spool, w.state, w.state->chunk);
    return 0;
}

static int leave_a_dead_threads_chunk_of_another_spool(void)
{
    worker w;
    spool = still_spool(dir, 16 << 20);
    CHECK(hb_thread_number());
    session = begin_in(spool, 0);
    start_worker(&w);
    do_on(&w, record_there);
    end_worker(&w);
    hb_session_stop(session);
    go_on_with_its_state(still_spool(dir, 16 << 20), w.state, NULL);
    return 0;
}

static void a_chunk_comes_with_the_state_of_a_dead_thread(void **state)
{
    (void)state;
    assert_int_equal(run_program(go_on_in_a_dead_threads_chunk), 0);
    assert_int_equal(run_program(leave_a_dead_threads_chunk_of_another_spool), 0);
}

static hb_thread *begun_by_handler;

static void begin_above(int number)
{
    (void)number;
    begun_by_handler = hb_thread_begin_at(at(ABOVE));
}

/* Frames there lie anywhere. */
static void a_call_on_an_alternate_stack_is_a_signal_handlers(void **state)
{
    (void)state;
    enum { ROOM = 1 << 18 };
    stack_t stack = {.ss_sp = malloc(ROOM), .ss_size = ROOM}, none = {.ss_flags = SS_DISABLE};
    assert_int_equal(sigaltstack(&stack, NULL), 0);
    hb_thread *t = enter_and_record();
    for (int own = 0; own < 2; own++) {
        const struct sigaction action = {.sa_handler = begin_above,
                                         .sa_flags = own ? 0 : SA_ONSTACK};
        assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
        raise(SIGUSR1);
        assert_int_equal(begun_by_handler != NULL, own);
        assert_int_equal(lost(HB_LOST_REENTRANT), 1);
        assert_int_equal(lost(HB_LOST_INTERRUPTED), own);
    }
    assert_int_equal(state_of(t), HB_THREAD_GONE);
    hb_thread_leave(begun_by_handler);
    assert_int_equal(sigaltstack(&none, NULL), 0);
    free(stack.ss_sp);
}

int main(int argc, char **argv)
{
    static const program programs[] = {PROGRAM(go_on_in_a_dead_threads_chunk),
                                       PROGRAM(leave_a_dead_threads_chunk_of_another_spool)};
    int status;
    if (argc > 1 && is_program(argv, programs, sizeof programs / sizeof *programs, &status))
        return status;
    const struct CMUnitTest tests[] = {
        IN_SESSION(a_call_below_another_is_a_signal_handlers),
        IN_SESSION(a_call_at_the_frame_of_another_or_above_finds_it_gone),
        IN_DIR(a_chunk_comes_with_the_state_of_a_dead_thread),
        IN_SESSION(a_call_on_an_alternate_stack_is_a_signal_handlers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
