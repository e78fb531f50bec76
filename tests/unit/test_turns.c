/* SPDX-License-Identifier: MIT
 *
 * What a tool needs that profiles programs which it does not know: making room for their own
 * profiler, steps where they mark none, and silence where nothing happens.
 */
#include <dirent.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "recorded.h"

static hb_profiler *profiler(handler_notes *s, bool yields, hb_schedule schedule)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.activities = HB_ACTIVITY_CPU;
    o.on_trace_ready = (hb_trace_handler){seen_note, s, NULL};
    o.schedule = schedule;
    o.yields = yields;
    o.spool_dir = "";
    hb_profiler *prof = hb_profiler_create(&o);
    assert_non_null(prof);
    return prof;
}

static void mark(const char *name)
{
    hb_scope scope = hb_record_function(name);
    hb_scope_end(&scope);
}

static void a_yielding_profiler_pauses_for_another_and_gets_its_cycles(void **state)
{
    (void)state;
    handler_notes tool = {0}, own = {0};
    hb_profiler *a = profiler(&tool, true, (hb_schedule){0});
    hb_profiler *b = profiler(&own, false, (hb_schedule){0});
    assert_int_equal(hb_profiler_start(a), HB_OK);
    mark("before");
    assert_int_equal(hb_profiler_start(b), HB_OK);
    mark("inside");
    assert_int_equal(hb_profiler_step(a), HB_OK); /* does nothing meanwhile */
    assert_int_equal(hb_profiler_stop(b), HB_OK);
    mark("after");
    assert_int_equal(hb_profiler_stop(a), HB_OK);
    assert_string_equal(own.names, "inside ");
    assert_string_equal(tool.names, "before inside after ");
    hb_profiler_destroy(a);
    hb_profiler_destroy(b);
}

static void it_starts_paused_while_another_records(void **state)
{
    (void)state;
    handler_notes tool = {0}, own = {0};
    hb_profiler *a = profiler(&tool, true, (hb_schedule){0});
    hb_profiler *b = profiler(&own, false, (hb_schedule){0});
    assert_int_equal(hb_profiler_start(b), HB_OK);
    assert_int_equal(hb_profiler_start(a), HB_OK);
    mark("inside");
    assert_int_equal(hb_profiler_stop(a), HB_OK); /* and may end so */
    mark("inside too");
    assert_int_equal(hb_profiler_stop(b), HB_OK);
    assert_string_equal(own.names, "inside inside too ");
    assert_string_equal(tool.names, "");
    hb_profiler_destroy(a);
    hb_profiler_destroy(b);
}

static void one_that_does_not_yield_is_busy_for_one_that_does_not(void **state)
{
    (void)state;
    handler_notes s = {0};
    hb_profiler *a = profiler(&s, true, (hb_schedule){0});
    hb_profiler *b = profiler(&s, false, (hb_schedule){0});
    hb_profiler *c = profiler(&s, false, (hb_schedule){0});
    hb_profiler *d = profiler(&s, true, (hb_schedule){0});
    assert_int_equal(hb_profiler_start(a), HB_OK);
    assert_int_equal(hb_profiler_start(d), HB_ERROR_BUSY); /* two that yield */
    assert_int_equal(hb_profiler_start(b), HB_OK);
    assert_int_equal(hb_profiler_start(c), HB_ERROR_BUSY);
    hb_profiler_destroy(b);
    hb_profiler_destroy(a);
    hb_profiler_destroy(c);
    hb_profiler_destroy(d);
}

/* A tool steps and stops in a thread of its own. */
static void *step_a_lot(void *prof)
{
    for (int i = 0; i < 2000; i++)
        hb_profiler_step(prof);
    return NULL;
}

static void yielding_and_stepping_may_happen_at_once(void **state)
{
    (void)state;
    handler_notes tool = {0}, own = {0};
    pthread_t thread;
    hb_profiler *a = profiler(&tool, true, hb_schedule_make(.wait = 1, .active = 1));
    assert_int_equal(hb_profiler_start(a), HB_OK);
    assert_int_equal(pthread_create(&thread, NULL, step_a_lot, a), 0);
    for (int i = 0; i < 50; i++) {
        hb_profiler *b = profiler(&own, false, (hb_schedule){0});
        assert_int_equal(hb_profiler_start(b), HB_OK);
        mark("own");
        assert_int_equal(hb_profiler_stop(b), HB_OK);
        hb_profiler_destroy(b);
    }
    pthread_join(thread, NULL);
    assert_int_equal(own.calls, 50);
    assert_true(tool.calls >= 50);
    hb_profiler_destroy(a);
}

/* ---- steps ---- */

static void wait_ms(unsigned ms)
{
    usleep(ms * 1000);
}

static hb_profiler *sliced(int64_t slice_ns)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.activities = HB_ACTIVITY_CPU;
    o.time_slice_ns = slice_ns;
    o.spool_dir = "";
    hb_profiler *prof = hb_profiler_create(&o);
    assert_non_null(prof);
    assert_int_equal(hb_profiler_start(prof), HB_OK);
    return prof;
}

static void without_steps_there_are_slices_that_cover_the_time(void **state)
{
    (void)state;
    const int64_t slice = 10000000;
    hb_profiler *prof = sliced(slice);
    mark("work");
    wait_ms(95);
    mark("work");
    hb_profiler_stop(prof);
    recorded r = recorded_of(prof);
    assert_int_equal(recorded_count(&r, "work"), 2);
    assert_true(r.n >= 2 + 10);
    for (size_t i = 2; i < r.n; i++) { /* behind all other threads */
        char name[40];
        snprintf(name, sizeof name, "ProfilerStep#%zu", i - 2);
        assert_string_equal(r.events[i].name, name);
        int64_t length = r.events[i].e.end_ns - r.events[i].e.start_ns;
        assert_true(i + 1 < r.n ? length == slice : length > 0 && length <= slice);
        if (i > 2) assert_int_equal(r.events[i].e.start_ns, r.events[i - 1].e.end_ns);
    }
    assert_true(r.events[2].e.start_ns <= r.events[0].e.start_ns);
    assert_true(r.events[r.n - 1].e.end_ns >= r.events[1].e.end_ns);
    recorded_free(&r);
    hb_profiler_destroy(prof);
}

static void slices_have_a_round_length_by_themselves(void **state)
{
    (void)state;
    hb_profiler *prof = sliced(HB_TIME_SLICES_AUTO);
    wait_ms(50);
    hb_profiler_stop(prof);
    recorded r = recorded_of(prof);
    assert_true(r.n >= 15 && r.n <= 52);
    int64_t length = r.events[0].e.end_ns - r.events[0].e.start_ns;
    while (length % 10 == 0)
        length /= 10;
    assert_true(length == 1 || length == 2 || length == 5);
    recorded_free(&r);
    hb_profiler_destroy(prof);
}

static void a_step_of_the_programs_own_is_enough(void **state)
{
    (void)state;
    hb_profiler *prof = sliced(1000000);
    mark("ProfilerStep#7");
    wait_ms(5);
    hb_profiler_stop(prof);
    recorded r = recorded_of(prof);
    assert_int_equal(r.n, 1);
    recorded_free(&r);
    hb_profiler_destroy(prof);
}

static void steps_can_be_numbered_as_the_program_numbers_them(void **state)
{
    (void)state;
    handler_notes s = {0};
    hb_profiler *prof = profiler(&s, false, hb_schedule_make(.wait = 1, .active = 2, .repeat = 2));
    hb_profiler_number_next_step(prof, 1000);
    hb_profiler_start(prof);
    for (int i = 0; i < 4; i++)
        hb_profiler_step(prof);
    hb_profiler_number_next_step(prof, 2000);
    hb_profiler_step(prof);
    hb_profiler_stop(prof);
    assert_string_equal(s.names, "ProfilerStep#1001 ProfilerStep#1002 "
                                 "ProfilerStep#1004 ProfilerStep#2000 ");
    assert_int_equal(hb_profiler_step_num(prof), 5);
    assert_int_equal(hb_profiler_number_next_step(NULL, 0), HB_ERROR_INVALID_ARGUMENT);
    hb_profiler_destroy(prof);
}

/* ---- nothing ---- */

static char dir[64];

static unsigned files(void)
{
    unsigned n = 0;
    DIR *list = opendir(dir);
    while (list && readdir(list))
        n++;
    if (list) closedir(list);
    return n - 2;
}

static void empty_cycles_give_no_files_when_they_are_to_be_skipped(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/hipboard-test-XXXXXX");
    assert_non_null(mkdtemp(dir));
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.time_slice_ns = 1000;
    o.on_trace_ready = hb_tensorboard_trace_handler(dir, "w", HB_SKIP_EMPTY | HB_NO_EVENT_FILE);
    hb_profiler *prof = hb_profiler_create(&o);
    for (int i = 0; i < 2; i++) {
        hb_profiler_start(prof);
        if (i) mark("work");
        hb_profiler_stop(prof);
    }
    hb_profiler_destroy(prof);
    assert_int_equal(files(), 1);
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_yielding_profiler_pauses_for_another_and_gets_its_cycles),
        cmocka_unit_test(it_starts_paused_while_another_records),
        cmocka_unit_test(one_that_does_not_yield_is_busy_for_one_that_does_not),
        cmocka_unit_test(yielding_and_stepping_may_happen_at_once),
        cmocka_unit_test(without_steps_there_are_slices_that_cover_the_time),
        cmocka_unit_test(slices_have_a_round_length_by_themselves),
        cmocka_unit_test(a_step_of_the_programs_own_is_enough),
        cmocka_unit_test(steps_can_be_numbered_as_the_program_numbers_them),
        cmocka_unit_test(empty_cycles_give_no_files_when_they_are_to_be_skipped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
