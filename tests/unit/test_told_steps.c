/* SPDX-License-Identifier: MIT
 *
 * Steps that a program's ranges tell of, or that were asked for; and a source with its steps.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "array_source.h"
#include "base/base.h"
#include "steps/find_steps.h"

enum { MOST = 300010 };

static hb_trace_event events[MOST];
static size_t count;
static array_source source;
static char found_text[4096]; /* what was found, as start-end#number */
static hb_found_steps found;

static int begin(void **state)
{
    (void)state;
    count = 0;
    return 0;
}

static int end(void **state)
{
    (void)state;
    hb_found_steps_free(&found);
    return 0;
}

static hb_trace_event *add(hb_event_kind kind, const char *name, int64_t tid, int64_t from,
                           int64_t to)
{
    hb_trace_event *e = &events[count++];
    *e = (hb_trace_event){.kind = kind,
                          .name = {name, (uint32_t)strlen(name)},
                          .tid = tid,
                          .device = -1,
                          .start_ns = from,
                          .end_ns = to};
    return e;
}

static void range(const char *name, int64_t tid, int64_t from, int64_t to)
{
    add(HB_EVENT_USER_ANNOTATION, name, tid, from, to);
}

/* A kernel of so many nanoseconds, launched at that time. */
static void launch(int64_t tid, int64_t at, int64_t ns)
{
    hb_trace_event *call = add(HB_EVENT_RUNTIME, "hipLaunchKernel", tid, at, at + 1);
    call->runtime.launches = true;
    call->correlation = 1000000 - count; /* later calls have lower ones */
    hb_trace_event *work = add(HB_EVENT_KERNEL, "k", 7, at + 5, at + 5 + ns);
    work->device = 0;
    work->correlation = call->correlation;
}

static hb_result look(hb_step_wish wish)
{
    hb_found_steps_free(&found);
    array_source_init(&source, events, count);
    source.info.start_ns = 0;
    source.info.stop_ns = 10000;
    hb_result result = hb_find_steps(&source.source, &wish, &found);
    size_t n = 0;
    found_text[0] = '\0';
    for (size_t i = 0; result == HB_OK && i < found.count && i < 50; i++)
        n += (size_t)snprintf(found_text + n, sizeof found_text - n, "%s%lld-%lld#%lld",
                              i ? " " : "", (long long)found.items[i].start_ns,
                              (long long)found.items[i].end_ns, (long long)found.items[i].number);
    return result;
}

static void check(hb_step_wish wish, const char *steps, int64_t tid, hb_step_method method,
                  const char *rule)
{
    assert_int_equal(look(wish), HB_OK);
    assert_string_equal(found_text, steps);
    assert_int_equal(found.tid, tid);
    assert_string_equal(found.rule, rule);
    assert_int_equal(found.method, method);
}

static void check_error(hb_step_wish wish, hb_result result, const char *text)
{
    assert_int_equal(look(wish), result);
    assert_string_equal(hb_last_error(), text);
    assert_null(found.items);
}

/* ---- as asked for ---- */

/* Of the thread with most of them, and none within another. */
static void ranges_of_a_name(void **state)
{
    (void)state;
    range("work", 1, 10, 20);
    range("other", 1, 30, 40);
    range("work", 1, 50, 60);
    range("work", 2, 15, 30);
    range("work", 2, 20, 25); /* within */
    range("work", 2, 30, 45);
    range("works", 2, 50, 60);
    range("work", 2, 70, 80);
    range("work", 3, 1, 2);
    range("work", 3, 3, 4);
    check((hb_step_wish){.range = "work"}, "15-30#0 30-45#1 70-80#2", 2, HB_STEPS_ASKED,
          "ranges called 'work', as asked for");
    check_error((hb_step_wish){.range = "wor"}, HB_ERROR_NOT_FOUND, "no range is called 'wor'");
}

static void calls_of_a_name(void **state)
{
    static const int64_t at[] = {300, 100, 200, 200, 9999, 10000};
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(at); i++)
        add(HB_EVENT_RUNTIME, "hipGraphLaunch", 1 + (int64_t)i % 2, at[i], at[i] + 5);
    add(HB_EVENT_RUNTIME, "hipGraphLaunches", 1, 50, 55);
    add(HB_EVENT_SYNC, "hipGraphLaunch", 1, 60, 65);
    check((hb_step_wish){.call = "hipGraphLaunch"}, "100-200#0 200-300#1 300-9999#2 9999-10000#3",
          0, HB_STEPS_ASKED, "from each call of hipGraphLaunch to the next, as asked for");
    check_error((hb_step_wish){.call = "hip"}, HB_ERROR_NOT_FOUND, "no call is named 'hip'");
}

static void work_on(int32_t device, int64_t stream, int64_t from, int64_t to)
{
    static const hb_event_kind kinds[] = {HB_EVENT_KERNEL, HB_EVENT_MEMCPY, HB_EVENT_MEMSET};
    add(kinds[count % 3], "w", stream, from, to)->device = device;
}

/* Of the stream that has most to do, where it had nothing to do for as long or longer. */
static void gaps_of_the_busiest_stream(void **state)
{
    (void)state;
    range("idle", 1, 0, 5000);
    work_on(0, 7, 100, 900);
    work_on(1, 7, 4000, 4400);
    work_on(0, 8, 1000, 1900);
    work_on(1, 8, 1, 2);
    work_on(1, 7, 1000, 1100); /* reported later than it was */
    work_on(1, 7, 1200, 1900); /* goes on beyond the next one */
    work_on(1, 7, 1300, 1400);
    work_on(0, 8, 2000, 2001);
    work_on(1, 7, 2299, 2300); /* 399 later */
    work_on(1, 7, 2700, 2710); /* 400 later */
    check((hb_step_wish){.gap_ns = 400}, "1000-2700#0 2700-4000#1 4000-10000#2", 0, HB_STEPS_ASKED,
          "where stream 7 of GPU 1 had nothing to do for 0.4 us, as asked for");
    check((hb_step_wish){.gap_ns = 5000}, "1000-10000#0", 0, HB_STEPS_ASKED,
          "where stream 7 of GPU 1 had nothing to do for 5 us, as asked for");
    count = 1;
    check_error((hb_step_wish){.gap_ns = 1}, HB_ERROR_NOT_FOUND,
                "there is no device work to have gaps");
}

static void so_many_steps_are_shown(void **state)
{
    enum { LIMIT = 100000 };
    static const hb_step_wish wishes[] = {{.range = "step"}, {.call = "call"}, {.gap_ns = 1}};
    (void)state;
    for (int i = 0; i < LIMIT; i++) {
        range("step", 1, 2 * i, 2 * i + 1);
        add(HB_EVENT_RUNTIME, "call", 1, 2 * i, 2 * i + 1);
        work_on(0, 1, 2 * i, 2 * i + 1);
    }
    for (int more = 0; more < 2; more++) {
        for (size_t i = 0; i < HB_ARRAY_LEN(wishes); i++) {
            array_source_init(&source, events, count);
            source.info.stop_ns = 1000000;
            hb_result result = hb_find_steps(&source.source, &wishes[i], &found);
            assert_int_equal(result, more ? HB_ERROR_LIMIT : HB_OK);
            if (more)
                assert_string_equal(hb_last_error(), "100001 steps: at most 100000 are shown");
            else
                assert_int_equal(found.count, LIMIT);
            hb_found_steps_free(&found);
        }
        count -= 3; /* room for one more */
        range("step", 1, 300000, 300001);
        range("step", 1, 300002, 300003);
        for (int k = 0; k < 2; k++) {
            add(HB_EVENT_RUNTIME, "call", 1, 300000 + 2 * k, 300001 + 2 * k);
            work_on(0, 1, 300000 + 2 * k, 300001 + 2 * k);
        }
    }
}

/* ---- ranges that count, and ranges that come again ---- */

static void the_thread_that_counts_most(void **state)
{
    static const char *const names[] = {"step 1", "step 2", "step 3"};
    static const int ranges_of[] = {2, 3, 2, 3};
    (void)state;
    for (int t = 0; t < 4; t++)
        for (int i = 0; i < ranges_of[t]; i++)
            range(names[i], t + 1, 100 * i + t, 100 * i + 50);
    check((hb_step_wish){0}, "1-50#1 101-150#2 201-250#3", 2, HB_STEPS_RANGES,
          "ranges whose names count steps");
}

static void model_runs_count(void **state)
{
    (void)state;
    range("model_run", 1, 10, 20);
    range("model_runs", 1, 30, 40);
    range("model_run", 1, 50, 60);
    check((hb_step_wish){0}, "10-20#0 50-60#1", 1, HB_STEPS_RANGES,
          "ranges whose names count steps");
}

static void one_for_all(hb_step_wish wish)
{
    check(wish, "0-10000#0", 0, HB_STEPS_ONE, "one for all: nothing tells of steps");
}

/* Three times "train", which has this of a device's 1000 ns; "eval" has the rest. */
static void train(int64_t ns, int times)
{
    count = 0;
    for (int i = 0; i < times; i++)
        range("train", 1, 1000 * i, 1000 * i + 500);
    for (int i = 0; i < times; i++)
        range("eval", 2, 1000 * i, 1000 * i + 500);
    for (int i = 0; i < times; i++) {
        bool last = i == times - 1; /* at a range's first and last moment */
        launch(1, 1000 * i + (last ? 499 : 0), last ? ns - (times - 1) : 1);
        launch(2, 1000 * i + (last ? 499 : 0), last ? 1000 - ns - (times - 1) : 1);
    }
}

static void a_range_with_most_of_the_devices_time(void **state)
{
    (void)state;
    train(600, 3);
    one_for_all((hb_step_wish){0});
    train(601, 3);
    check((hb_step_wish){0}, "0-500#0 1000-1500#1 2000-2500#2", 1, HB_STEPS_RANGES,
          "ranges called 'train', which have 60 % of the device's time");
    train(970, 3);
    check((hb_step_wish){.no_guess = true}, "0-500#0 1000-1500#1 2000-2500#2", 1, HB_STEPS_RANGES,
          "ranges called 'train', which have 97 % of the device's time");
    train(200, 4);
    check((hb_step_wish){0}, "0-500#0 1000-1500#1 2000-2500#2 3000-3500#3", 2, HB_STEPS_RANGES,
          "ranges called 'eval', which have 80 % of the device's time");
    launch(2, 500, 300); /* behind the first one's end */
    launch(3, 100, 80);  /* of a thread without ranges */
    check((hb_step_wish){0}, "0-500#0 1000-1500#1 2000-2500#2 3000-3500#3", 2, HB_STEPS_RANGES,
          "ranges called 'eval', which have 57 % of the device's time");
}

static void twice_is_not_often(void **state)
{
    (void)state;
    train(900, 2);
    one_for_all((hb_step_wish){0});
    range("train", 1, 5000, 6000);
    check((hb_step_wish){0}, "0-500#0 1000-1500#1 5000-6000#2", 1, HB_STEPS_RANGES,
          "ranges called 'train', which have 90 % of the device's time");
}

/* Many names are no steps' names. */
static void hundreds_of_names_are_too_many(void **state)
{
    static char names[500][8];
    (void)state;
    for (int more = 0; more < 2; more++) {
        train(900, 3);
        for (int i = 0; i < 498 + more; i++) {
            snprintf(names[i], sizeof names[i], "n%d", i);
            range(names[i], 3, 10 * i, 10 * i + 5);
        }
        assert_int_equal(look((hb_step_wish){0}), HB_OK);
        assert_int_equal(found.method, more ? HB_STEPS_ONE : HB_STEPS_RANGES);
    }
}

/* What lies in another range is no step, whatever another thread's ranges end at. */
static void only_outermost_ranges_are_steps(void **state)
{
    (void)state;
    range("all", 1, 0, 9000);
    for (int i = 0; i < 3; i++)
        range("inner", 1, 1000 * i, 1000 * i + 100);
    for (int i = 0; i < 3; i++)
        launch(1, 1000 * i + 10, 50);
    one_for_all((hb_step_wish){0});
    for (int i = 0; i < 3; i++)
        range("inner", 2, 1000 * i, 1000 * i + 100);
    for (int i = 0; i < 3; i++)
        launch(2, 1000 * i + 10, 150);
    check((hb_step_wish){0}, "0-100#0 1000-1100#1 2000-2100#2", 2, HB_STEPS_RANGES,
          "ranges called 'inner', which have 75 % of the device's time");
}

/* A library's functions say nothing of steps by their names; annotations do. */
static void operators_may_be_calls(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        add(HB_EVENT_OP, "iter 5", 1, 1000 * i, 1000 * i + 100);
    one_for_all((hb_step_wish){.operators_are_calls = true});
    check((hb_step_wish){0}, "0-100#0 1000-1100#1 2000-2100#2", 1, HB_STEPS_RANGES,
          "ranges whose names count steps");
    range("iter 6", 1, 5000, 5001);
    check((hb_step_wish){.operators_are_calls = true}, "5000-5001#6", 1, HB_STEPS_RANGES,
          "ranges whose names count steps");
}

static void a_program_without_time_has_a_step(void **state)
{
    (void)state;
    array_source_init(&source, events, 0);
    source.info.start_ns = source.info.stop_ns = 500;
    assert_int_equal(hb_find_steps(&source.source, &(hb_step_wish){0}, &found), HB_OK);
    assert_int_equal(found.count, 1);
    assert_int_equal(found.items[0].start_ns, 500);
    assert_int_equal(found.items[0].end_ns, 501);
    assert_int_equal(found.items[0].number, 0);
}

/* ---- a source with its steps ---- */

static char given[8192];

static void read_pass(hb_source *from, hb_pass pass)
{
    hb_trace_event e;
    size_t n = 0;
    given[0] = '\0';
    assert_int_equal(from->begin(from, pass), HB_OK);
    while (from->next(from, &e))
        n += (size_t)snprintf(given + n, sizeof given - n, "%s%.*s@%lld-%lld/%lld", n ? " " : "",
                              (int)e.name.len, e.name.s, (long long)e.start_ns, (long long)e.end_ns,
                              (long long)e.tid);
}

static hb_source *with_steps(hb_step_wish wish)
{
    static const hb_metadata known = {"known", "1"};
    assert_int_equal(look(wish), HB_OK);
    source.info.metadata = &known;
    source.info.num_metadata = 1;
    hb_source *all = &source.source;
    assert_int_equal(hb_put_steps(&all, &found), HB_OK);
    assert_int_equal(found.count, 0);
    assert_null(found.items);
    return all;
}

static void check_metadata(hb_source *of, const char *json)
{
    assert_int_equal(of->info->num_metadata, 2);
    assert_string_equal(of->info->metadata[0].key, "known");
    assert_string_equal(of->info->metadata[1].key, "hipboard_steps");
    assert_string_equal(of->info->metadata[1].json, json);
}

static void steps_stand_before_what_they_begin_with(void **state)
{
    (void)state;
    range("other", 1, 50, 60);
    add(HB_EVENT_MEMORY, "[memory]", 1, 55, 55);
    range("step 7", 2, 100, 200);
    add(HB_EVENT_OP, "op", 2, 100, 150);
    range("step 9", 2, 300, 400);
    add(HB_EVENT_MEMORY, "[memory]", 2, 110, 110);
    range("late", 3, 90, 500);
    launch(2, 120, 10);
    hb_source *all = with_steps((hb_step_wish){0});
    check_metadata(all, "{\"method\": \"ranges\", \"inferred\": true, \"steps\": 2, \"rule\": "
                        "\"ranges whose names count steps\"}");
    assert_int_equal(all->info->num_threads, 1);
    for (int again = 0; again < 2; again++) {
        read_pass(all, HB_PASS_HOST);
        assert_string_equal(
            given, "other@50-60/1 [memory]@55-55/1 ProfilerStep#7@100-200/2 step 7@100-200/2 "
                   "op@100-150/2 ProfilerStep#9@300-400/2 step 9@300-400/2 [memory]@110-110/2 "
                   "late@90-500/3");
    }
    read_pass(all, HB_PASS_DEVICE);
    assert_string_equal(given, "hipLaunchKernel@120-121/2 k@125-135/7");
    hb_trace_event e;
    uint64_t first = 0;
    assert_int_equal(all->begin(all, HB_PASS_HOST), HB_OK);
    for (int i = 0, steps = 0; all->next(all, &e); i++) {
        if (strncmp(e.name.s, "ProfilerStep", 12) != 0) continue;
        assert_int_equal(e.kind, HB_EVENT_USER_ANNOTATION);
        assert_int_equal(e.device, -1);
        assert_int_equal(e.op.num_args, 1);
        assert_string_equal(e.op.args[0].key, "hipboard");
        if (!steps) first = e.external_id;
        assert_true(first > (uint64_t)1 << 52 && e.external_id == first + (uint64_t)steps);
        steps++;
    }
    all->close(all);
    assert_int_equal(source.closed, 1);
}

/* Before memory of their thread; at its end; of a thread without events at the very end. */
static void steps_of_other_times_and_threads(void **state)
{
    (void)state;
    add(HB_EVENT_OP, "op", 1, 100, 150);
    add(HB_EVENT_MEMORY, "[memory]", 1, 110, 110);
    add(HB_EVENT_OP, "op", 2, 100, 150);
    add(HB_EVENT_RUNTIME, "call", 1, 120, 125);
    add(HB_EVENT_RUNTIME, "call", 1, 4000, 4005);
    hb_source *all = with_steps((hb_step_wish){.call = "call"});
    check_metadata(all, "{\"method\": \"asked for\", \"inferred\": true, \"steps\": 2, \"rule\": "
                        "\"from each call of call to the next, as asked for\"}");
    assert_int_equal(all->info->num_threads, 2); /* a row of their own */
    assert_int_equal(all->info->threads[0].tid, 100);
    assert_int_equal(all->info->threads[1].tid, 0);
    assert_string_equal(all->info->threads[1].name, "inferred steps");
    read_pass(all, HB_PASS_HOST);
    assert_string_equal(given, "op@100-150/1 [memory]@110-110/1 op@100-150/2 "
                               "ProfilerStep#0@120-4000/0 ProfilerStep#1@4000-10000/0");
    all->close(all);
    count = 0;
    range("step 1", 1, 100, 200);
    range("step 2", 1, 300, 400);
    hb_source *two = with_steps((hb_step_wish){0});
    source.events = events;
    events[0] = (hb_trace_event){.kind = HB_EVENT_OP,
                                 .name = {"op", 2},
                                 .start_ns = 90,
                                 .end_ns = 95,
                                 .tid = 1,
                                 .device = -1};
    events[1] = events[0];
    events[1].kind = HB_EVENT_MEMORY;
    read_pass(two, HB_PASS_HOST);
    assert_string_equal(given, "op@90-95/1 ProfilerStep#1@100-200/1 ProfilerStep#2@300-400/1 "
                               "op@90-95/1");
    events[1].kind = HB_EVENT_OP;
    events[1].tid = 2;
    read_pass(two, HB_PASS_HOST);
    assert_string_equal(given, "op@90-95/1 ProfilerStep#1@100-200/1 ProfilerStep#2@300-400/1 "
                               "op@90-95/2");
    events[1].start_ns = 300;
    events[1].end_ns = 301;
    read_pass(two, HB_PASS_TIMELINE);
    assert_string_equal(given, "op@90-95/1 ProfilerStep#1@100-200/1 ProfilerStep#2@300-400/1 "
                               "op@300-301/2");
    two->close(two);
}

static void a_source_with_steps_of_its_own_stays_as_it_is(void **state)
{
    (void)state;
    range("ProfilerStep#3", 1, 100, 200);
    assert_int_equal(look((hb_step_wish){0}), HB_OK);
    assert_int_equal(found.method, HB_STEPS_OWN);
    assert_string_equal(found.rule, "the program's own");
    hb_source *same = &source.source;
    assert_int_equal(hb_put_steps(&same, &found), HB_OK);
    assert_ptr_equal(same, &source.source);
}

/* ---- what comes again and again ---- */

/* Operators that a program calls, four a step, the first one within a range that is longer than
 * the step. */
static void a_range_around_the_last_step_belongs_to_it(void **state)
{
    static const char *const names[] = {"load", "forward", "backward", "update"};
    (void)state;
    for (int i = 0; i < 5; i++) {
        range("phase", 1, 1000 * i, 1000 * i + 600);
        for (int k = 0; k < 4; k++)
            add(HB_EVENT_OP, names[k], 1, 1000 * i + 100 * k, 1000 * i + 100 * k + 90);
    }
    check((hb_step_wish){0}, "0-1000#0 1000-2000#1 2000-3000#2 3000-4000#3 4000-5000#4", 1,
          HB_STEPS_SEQUENCE,
          "what is called comes again and again, from 'load' on (agreement 1.00, 100 % of all)");
    hb_buf json;
    hb_buf_init(&json, 4096);
    hb_found_steps_tell(&found, &json);
    assert_string_equal(hb_buf_text(&json),
                        "{\"method\": \"sequence\", \"inferred\": true, \"steps\": 5, "
                        "\"agreement\": 1.000, \"coverage\": 1.000, \"rule\": \"what is called "
                        "comes again and again, from 'load' on (agreement 1.00, 100 % of all)\"}");
    hb_buf_free(&json);
}

/* Launches whose stacks are texts, as other tools have them; the outer frame is the loop's. */
static void loops_are_told_by_their_frames(void **state)
{
    static const char *const stacks[] = {"kernel(9): k;f.c(12): forward;main.c(3): main;",
                                         "f.c(20): backward;main.c(3): main",
                                         "f.c(30): update;main.c(3): main;"};
    static const char *const names[] = {"a", "b", "c"};
    (void)state;
    for (int i = 0; i < 12; i++) {
        launch(1, 100 * i, 5);
        events[count - 2].runtime.stack = (hb_str){stacks[i % 3], (uint32_t)strlen(stacks[i % 3])};
        events[count - 1].name = (hb_str){names[i % 3], 1};
    }
    check((hb_step_wish){0}, "0-300#0 300-600#1 600-900#2 900-1200#3", 1, HB_STEPS_STACKS,
          "4 rounds of a loop, by the call stacks of 100 % of all launches");
    assert_string_equal(found.loops,
                        "[{\"loop\": 1, \"level\": 0, \"rounds\": 4, \"launches\": 12, "
                        "\"coverage\": 1.0000, \"round_us\": 0.201, \"steps\": true, "
                        "\"from\": \"f.c(12): forward\", \"launch\": \"a\"}]");
    check_error((hb_step_wish){.loop = 2}, HB_ERROR_NOT_FOUND, "there is no loop 2: there are 1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(ranges_of_a_name, begin, end),
        cmocka_unit_test_setup_teardown(calls_of_a_name, begin, end),
        cmocka_unit_test_setup_teardown(gaps_of_the_busiest_stream, begin, end),
        cmocka_unit_test_setup_teardown(so_many_steps_are_shown, begin, end),
        cmocka_unit_test_setup_teardown(the_thread_that_counts_most, begin, end),
        cmocka_unit_test_setup_teardown(model_runs_count, begin, end),
        cmocka_unit_test_setup_teardown(a_range_with_most_of_the_devices_time, begin, end),
        cmocka_unit_test_setup_teardown(twice_is_not_often, begin, end),
        cmocka_unit_test_setup_teardown(hundreds_of_names_are_too_many, begin, end),
        cmocka_unit_test_setup_teardown(only_outermost_ranges_are_steps, begin, end),
        cmocka_unit_test_setup_teardown(operators_may_be_calls, begin, end),
        cmocka_unit_test_setup_teardown(a_program_without_time_has_a_step, begin, end),
        cmocka_unit_test_setup_teardown(steps_stand_before_what_they_begin_with, begin, end),
        cmocka_unit_test_setup_teardown(steps_of_other_times_and_threads, begin, end),
        cmocka_unit_test_setup_teardown(a_source_with_steps_of_its_own_stays_as_it_is, begin, end),
        cmocka_unit_test_setup_teardown(a_range_around_the_last_step_belongs_to_it, begin, end),
        cmocka_unit_test_setup_teardown(loops_are_told_by_their_frames, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
