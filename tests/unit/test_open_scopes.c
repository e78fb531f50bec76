/* SPDX-License-Identifier: MIT
 *
 * A thread's open scopes, and the records that they are: who ends them, in which order, and what
 * each way to begin one puts into its record.
 */
#include <hipboard/comm.h>

#include "forks_with_threads.h"
#include "program.h"
#include "still_spool.h"

static hb_spool *spool;
static hb_session *session;

static const uint32_t all_flags =
    HB_SESSION_SHAPES | HB_SESSION_FLOPS | HB_SESSION_MODULES | HB_SESSION_MEMORY;

/* Where each call has a barrier of its own, none goes the quick way. */
static bool the_long_way;

static int begin(void **state)
{
    (void)state;
    spool = still_spool(NULL, 16 << 20);
    if (the_long_way) hb_heavy_fence = true;
    session = begin_in(spool, all_flags);
    for (int i = 0; i < HB_LOST_CAUSES; i++)
        (void)hb_threads_take_lost((enum hb_lost_cause)i);
    return 0;
}

static int end(void **state)
{
    (void)state;
    end_in_spool(spool, session);
    close_test_spool(spool);
    return 0;
}

#define IN_SESSION(name) cmocka_unit_test_setup_teardown(name, begin, end)

static uint64_t lost(enum hb_lost_cause cause)
{
    return hb_session_lost_of(session, cause);
}

static uint32_t depth_of(const hb_scope *scope)
{
    return scope->depth & HB_SCOPE_DEPTH;
}

static bool is_open(const hb_record *r)
{
    return r->end == 0;
}

static bool ended_here(const hb_record *r)
{
    return r->end >= r->start && r->end <= HB_END_TICKS;
}

/* By another thread; whether its own knows. */
static bool ended_elsewhere(const hb_record *r, bool seen)
{
    uint64_t flags = HB_END_ELSEWHERE | (seen ? HB_END_SEEN : 0);
    return (r->end & ~HB_END_TICKS) == flags && (r->end & HB_END_TICKS) >= r->start;
}

static hb_scope handed_over;

static void end_it(worker *w)
{
    (void)w;
    hb_scope_end(&handed_over);
}

static void end_on(worker *w, hb_scope scope)
{
    handed_over = scope;
    do_on(w, end_it);
}

static void end_on_another_thread(hb_scope scope)
{
    worker w;
    start_worker(&w);
    end_on(&w, scope);
    end_worker(&w);
}

/* ---- ends ---- */

static void a_thread_sees_that_another_ended_its_scope(void **state)
{
    (void)state;
    hb_scope a = hb_record_function("a"), copy = a;
    const hb_record *r = a.record;
    end_on_another_thread(a);
    assert_true(ended_elsewhere(r, false));
    uint64_t ticks = r->end & HB_END_TICKS;
    hb_scope_end(&copy);
    assert_true(ended_elsewhere(r, true));
    assert_true((r->end & HB_END_TICKS) == ticks);
    assert_int_equal(hb_thread_tls->depth, 0);
}

static void an_outer_end_sees_it_as_well(void **state)
{
    (void)state;
    hb_scope outer = hb_record_function("outer"), inner = hb_record_function("inner"),
             left = hb_record_function("left");
    const hb_record *r = inner.record, *open = left.record;
    end_on_another_thread(inner);
    hb_scope_end(&outer);
    assert_true(ended_elsewhere(r, true));
    assert_true(ended_here(open));
    assert_int_equal(lost(HB_LOST_UNBALANCED), 1);
    assert_int_equal(hb_thread_tls->depth, 0);
}

static void a_pop_passes_over_what_another_ended(void **state)
{
    (void)state;
    hb_range_push("range");
    const hb_record *range = hb_thread_tls->open[0].record;
    hb_scope inner = hb_record_function("inner"), innermost = hb_record_function("innermost");
    const hb_record *r = inner.record;
    hb_scope_end(&innermost);
    end_on_another_thread(inner);
    hb_range_pop();
    assert_true(ended_elsewhere(r, true));
    assert_true(ended_here(range));
    assert_int_equal(hb_thread_tls->depth, 0);
    hb_range_pop(); /* nothing is open */
    assert_int_equal(hb_thread_tls->depth, 0);
}

static void end_and_go_on(worker *w)
{
    hb_scope own = hb_record_function("own");
    const hb_record *r = own.record;
    (void)w;
    hb_scope_end(&handed_over);
    CHECK(hb_thread_tls->depth == 1 && is_open(r));
    hb_scope_end(&own);
    CHECK(ended_here(r) && hb_thread_tls->depth == 0);
}

/* Of its own nothing changes. */
static void a_thread_goes_on_after_ending_anothers_scope(void **state)
{
    (void)state;
    worker w;
    hb_scope other = hb_record_function("other");
    const hb_record *r = other.record;
    handed_over = other;
    start_worker(&w);
    do_on(&w, end_and_go_on);
    end_worker(&w);
    assert_true(ended_elsewhere(r, false));
}

static void a_late_end_ends_no_other_scope(void **state)
{
    (void)state;
    hb_scope a = hb_record_function("a"), late = a;
    const hb_record *first = a.record;
    hb_scope_end(&a);
    uint64_t then = first->end;
    hb_scope b = hb_record_function("b");
    assert_int_equal(depth_of(&b), depth_of(&late));
    hb_scope_end(&late);
    assert_true(is_open(b.record));
    assert_true(first->end == then);
    assert_null(late.record);
    hb_scope_end(&b);
}

/* The chunk has been given back and taken anew. */
static void an_end_of_an_earlier_use_of_a_chunk_writes_nothing(void **state)
{
    (void)state;
    hb_scope scope = hb_record_function("scope"), early = scope;
    early.depth -= HB_SCOPE_DEPTH + 1;
    end_on_another_thread(early);
    assert_true(is_open(scope.record));
    end_on_another_thread(scope);
    assert_true(ended_elsewhere(scope.record, false));
}

static void an_end_after_the_sessions_end_writes_nothing(void **state)
{
    (void)state;
    hb_scope early = hb_record_function("early");
    const hb_record *r = early.record;
    hb_session_stop(session);
    hb_scope copy = early;
    hb_scope_end(&copy);
    assert_null(copy.record);
    assert_true(is_open(r));
    hb_session *next = begin_in(spool, 0);
    hb_scope_end(&early);
    assert_true(is_open(r));
    hb_range_pop();
    assert_true(is_open(r));
    assert_int_equal(hb_thread_tls->depth, 0); /* the next one's */
    end_in_spool(spool, next);
}

static hb_record *left_open[2];

static void leave_two_open(worker *w)
{
    (void)w;
    left_open[0] = hb_record_function("left open").record;
    left_open[1] = hb_record_function("left open").record;
}

enum moment { IN_ITS_SESSION, AFTER_IT, IN_ANOTHER };

/* They are no fault of the program's. What belongs to a session that has ended is not touched. */
static void a_threads_end_ends_its_scopes_of_this_session(void **state)
{
    (void)state;
    for (enum moment moment = IN_ITS_SESSION; moment <= IN_ANOTHER; moment++) {
        worker w;
        hb_session *of_scopes = begin_in(spool, 0), *another = NULL;
        start_worker(&w);
        do_on(&w, leave_two_open);
        if (moment >= AFTER_IT) hb_session_stop(of_scopes);
        if (moment == IN_ANOTHER) another = begin_in(spool, 0);
        end_worker(&w);
        for (int i = 0; i < 2; i++) {
            if (moment == IN_ITS_SESSION)
                assert_true(ended_here(left_open[i]));
            else
                assert_true(is_open(left_open[i]));
        }
        assert_int_equal(hb_session_lost_of(of_scopes, HB_LOST_UNBALANCED), 0);
        end_in_spool(spool, of_scopes);
        if (another) end_in_spool(spool, another);
    }
}

/* ---- deeper than is kept in mind ---- */

enum { DEEP = HB_OPEN_MAX };

static hb_scope deep[DEEP];

static void open_all(void)
{
    for (uint32_t i = 0; i < DEEP; i++) {
        deep[i] = hb_record_function("deep");
        assert_int_equal(depth_of(&deep[i]), i);
    }
    assert_int_equal(hb_thread_tls->depth, DEEP);
}

static void a_scope_too_deep_has_its_end_and_no_place(void **state)
{
    (void)state;
    open_all();
    for (int other = 0; other < 2; other++) {
        hb_scope deeper = hb_record_function("deeper");
        const hb_record *r = deeper.record;
        assert_int_equal(depth_of(&deeper), HB_SCOPE_DEPTH);
        assert_int_equal(hb_thread_tls->depth, DEEP);
        if (other)
            end_on_another_thread(deeper);
        else
            hb_scope_end(&deeper);
        assert_true(ended_here(r)); /* nobody has it in mind who would have to see it */
    }
    hb_scope_end(&deep[0]);
    assert_int_equal(lost(HB_LOST_UNBALANCED), DEEP - 1);
}

static void what_others_ended_makes_room_for_deeper_ones(void **state)
{
    (void)state;
    static const int ended[] = {5, 100, DEEP - 1};
    hb_record *records[3];
    open_all();
    worker w;
    start_worker(&w);
    for (int i = 0; i < 3; i++) {
        records[i] = deep[ended[i]].record;
        end_on(&w, deep[ended[i]]);
    }
    end_worker(&w);
    hb_scope deeper = hb_record_function("deeper");
    assert_int_equal(depth_of(&deeper), DEEP - 3);
    assert_int_equal(hb_thread_tls->depth, DEEP - 2);
    for (int i = 0; i < 3; i++)
        assert_true(ended_elsewhere(records[i], true));
    assert_ptr_equal(hb_thread_tls->open[4].record, deep[4].record);
    assert_ptr_equal(hb_thread_tls->open[5].record, deep[6].record);
    assert_ptr_equal(hb_thread_tls->open[DEEP - 4].record, deep[DEEP - 2].record);
    const hb_record *r = deeper.record;
    hb_scope_end(&deeper);
    assert_true(ended_here(r));
    assert_int_equal(hb_thread_tls->depth, DEEP - 3);
    hb_scope_end(&deep[0]);
    assert_int_equal(hb_thread_tls->depth, 0);
    assert_int_equal(lost(HB_LOST_UNBALANCED), DEEP - 4);
}

/* ---- numbers ---- */

static void modules_have_the_number_of_the_scope_around_them(void **state)
{
    (void)state;
    hb_module module = hb_module_create("Numbered");
    const hb_open *open = hb_thread_self()->open;
    hb_scope bare = hb_module_call(module);
    assert_int_equal(open[0].id, 0);
    assert_int_equal(bare.record ? ((hb_record *)bare.record)->type : 0, HB_RECORD_MODULE);
    hb_scope_end(&bare);
    uint64_t next = hb_thread_tls->next_id;
    hb_scope a = hb_record_function("a"), within = hb_module_call(module), b = hb_op("b", NULL);
    assert_true(open[0].id == next && open[1].id == next && open[2].id == next + 1);
    assert_int_equal(hb_thread_tls->next_id, next + 2);
    hb_scope_end(&b);
    hb_scope_end(&within);
    hb_scope_end(&a);
    hb_scope call = hb_comm_begin("call", NULL); /* it has its annotation's as well */
    assert_true(open[0].id == next + 3 && hb_thread_tls->next_id == next + 4);
    hb_scope_end(&call);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_SESSION(a_thread_sees_that_another_ended_its_scope),
        IN_SESSION(an_outer_end_sees_it_as_well),
        IN_SESSION(a_pop_passes_over_what_another_ended),
        IN_SESSION(a_thread_goes_on_after_ending_anothers_scope),
        IN_SESSION(a_late_end_ends_no_other_scope),
        IN_SESSION(an_end_of_an_earlier_use_of_a_chunk_writes_nothing),
        IN_SESSION(an_end_after_the_sessions_end_writes_nothing),
        IN_SESSION(a_threads_end_ends_its_scopes_of_this_session),
        IN_SESSION(a_scope_too_deep_has_its_end_and_no_place),
        IN_SESSION(what_others_ended_makes_room_for_deeper_ones),
        IN_SESSION(modules_have_the_number_of_the_scope_around_them),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    the_long_way = true;
    return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
