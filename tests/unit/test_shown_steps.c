/* SPDX-License-Identifier: MIT
 *
 * Which steps a file must not have, since the plugin would take those behind them for over before
 * they begin: found as the plugin finds them, step by step.
 */
#include "write/shown_steps.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "array_source.h"
#include "base/base.h"

enum { MOST = 12 };

typedef struct one {
    int64_t start, end, device_end; /* device_end 0: it launches nothing */
} one;

static const hb_event_kind kinds[] = {HB_EVENT_KERNEL, HB_EVENT_MEMCPY, HB_EVENT_MEMSET};

/* Each step's launch is its first nanosecond's call; steps are told in the order of the array. */
static void check(const one *steps, size_t n, const char *hidden)
{
    hb_trace_event events[4 * MOST];
    size_t count = 0, expected = 0;
    array_source array;
    hb_steps list = {0};
    char found[MOST + 1] = "";
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(hb_steps_add(&list, steps[i].start, steps[i].end, i), HB_OK);
        expected += hidden[i] == 'h';
    }
    for (int64_t at = 0; at < 2000; at++) /* in the order of time, as correlations are given out */
        for (size_t i = 0; i < n; i++)
            if (steps[i].start == at && steps[i].device_end) {
                uint64_t id = (uint64_t)at * MOST + i + 1;
                events[count++] = (hb_trace_event){
                    .kind = HB_EVENT_RUNTIME, .start_ns = at, .end_ns = at + 1, .correlation = id};
                events[count++] = (hb_trace_event){.kind = kinds[i % 3],
                                                   .start_ns = at + 1,
                                                   .end_ns = steps[i].device_end,
                                                   .correlation = id};
            }
    /* of nobody: waits, work without a call, calls without work */
    events[count++] =
        (hb_trace_event){.kind = HB_EVENT_SYNC, .start_ns = 0, .end_ns = 5000, .correlation = 1};
    events[count++] = (hb_trace_event){.kind = HB_EVENT_KERNEL, .end_ns = 5000, .correlation = 0};
    events[count++] =
        (hb_trace_event){.kind = HB_EVENT_KERNEL, .end_ns = 5000, .correlation = UINT64_MAX};
    array_source_init(&array, events, count);
    assert_int_equal(hb_steps_check(&list, &array.source), HB_OK);
    assert_int_equal(list.hidden, expected);
    for (size_t i = 0; i < n; i++)
        found[i] = hb_steps_next_hidden(&list) ? 'h' : '.';
    assert_false(hb_steps_next_hidden(&list));
    assert_string_equal(found, hidden);
    hb_steps_free(&list);
}

#define CHECK(hidden, ...)                                  \
    do {                                                    \
        const one steps[] = {__VA_ARGS__};                  \
        check(steps, sizeof steps / sizeof *steps, hidden); \
    } while (0)

static void steps_that_the_device_outlasts_are_hidden(void **state)
{
    (void)state;
    CHECK("...", {0, 100, 90}, {100, 200, 190}, {200, 300, 290});
    CHECK("...", {0, 100, 150}, {100, 200, 250}, {200, 300, 350});
    CHECK(".h.", {0, 100, 200}, {100, 200, 0}, {200, 300, 290});
    CHECK("...", {0, 100, 199}, {100, 200, 0}, {200, 300, 290});
    CHECK(".hh.", {0, 100, 310}, {100, 200, 190}, {200, 300, 310}, {300, 400, 390});
    CHECK("..", {0, 100, 310}, {100, 200, 311});
    CHECK("h.", {50, 100, 0}, {0, 200, 190}); /* by when they began, told as they came */
    CHECK(".h", {0, 200, 190}, {50, 100, 0});
    CHECK(".", {0, 100, 300});
}

/* Without any work on a device the plugin looks at no step's end. */
static void without_a_device_all_are_shown(void **state)
{
    (void)state;
    CHECK("..", {0, 200, 0}, {50, 100, 0});
    CHECK("...", {0, 100, 0}, {0, 100, 0}, {0, 100, 0});
}

/* As threads' calls are reported: one thread's, and then the other's. */
static void check_threads(uint64_t first_of_one, uint64_t first_of_other, uint64_t step)
{
    enum { STEPS = 5, CALLS = 3 };
    hb_trace_event events[4 * STEPS * CALLS];
    size_t count = 0;
    array_source array;
    hb_steps list = {0};
    for (int64_t i = 0; i < STEPS; i++)
        assert_int_equal(hb_steps_add(&list, i * 100, i * 100 + 100, (uint64_t)i), HB_OK);
    for (int thread = 0; thread < 2; thread++)
        for (int64_t i = 0; i < STEPS; i++)
            for (int64_t k = 0; k < CALLS; k++) {
                int64_t at = i * 100 + k * 10 + thread;
                uint64_t id =
                    (thread ? first_of_other : first_of_one) + (uint64_t)(i * CALLS + k) * step;
                events[count++] = (hb_trace_event){
                    .kind = HB_EVENT_RUNTIME, .start_ns = at, .end_ns = at + 1, .correlation = id};
                if (thread) continue; /* which only asks something */
                events[count++] = (hb_trace_event){.kind = HB_EVENT_KERNEL,
                                                   .start_ns = at + 2,
                                                   .end_ns = at + 30,
                                                   .correlation = id};
            }
    array_source_init(&array, events, count);
    assert_int_equal(hb_steps_check(&list, &array.source), HB_OK);
    assert_int_equal(list.hidden, 0);
    for (uint32_t i = 0; i < STEPS; i++)
        assert_int_equal(list.list.items[i].device_end, i * 100 + 50);
    hb_steps_free(&list);
}

static void calls_of_other_threads_move_no_work(void **state)
{
    (void)state;
    check_threads(1025, 2049, 1); /* each has numbers of its own */
    check_threads(2049, 1025, 1);
    check_threads(1020, 262145, 1); /* over two blocks, and such as share a memory of the last */
    check_threads(100, 262300, 1000);
    check_threads(1, 2, 2); /* of one count */
    check_threads(2, 1, 2);
    check_threads(1, 513, 600);
}

/* The plugin's walk, of steps that follow each other or cross. */
static void it_is_the_plugins_walk(void **state)
{
    (void)state;
    srand(5);
    for (int turn = 0; turn < 500; turn++) {
        one steps[MOST] = {0};
        char hidden[MOST + 1] = "";
        size_t n = 2 + (size_t)(rand() % (MOST - 2));
        int64_t at = 1, previous = 1;
        bool any = false;
        for (size_t i = 0; i < n; i++) {
            steps[i] = (one){at, at + 2 + rand() % 80, 0};
            if (rand() % 3) steps[i].device_end = at + 2 + rand() % 300;
            any |= steps[i].device_end != 0;
            at = steps[i].end + rand() % 3;
        }
        for (size_t i = 0; i < n; i++) {
            int64_t begin = steps[i].start > previous ? steps[i].start : previous;
            int64_t end = steps[i].device_end > steps[i].end ? steps[i].device_end : steps[i].end;
            hidden[i] = any && end <= begin ? 'h' : '.';
            if (hidden[i] == '.') previous = end;
        }
        check(steps, n, hidden);
    }
}

/* Of two steps that touch, with a call's work that outlasts both: the second is hidden if the first
 * has the call in it, up to its end. */
static void calls_are_of_the_step_that_they_lie_in(void **state)
{
    static const struct {
        int64_t start, end;
        uint64_t correlation;
        bool in_first;
    } calls[] = {{0, 1, 5, true},    {90, 100, 5, true},   {90, 101, 5, false},
                 {99, 100, 5, true}, {-5, 1, 5, false},    {-5, -4, 5, false},
                 {50, 60, 0, false}, {100, 101, 5, false}, {201, 202, 5, false}};
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(calls); i++) {
        hb_trace_event events[] = {
            {.kind = HB_EVENT_RUNTIME,
             .start_ns = calls[i].start,
             .end_ns = calls[i].end,
             .correlation = calls[i].correlation},
            {.kind = HB_EVENT_KERNEL, .end_ns = 250, .correlation = calls[i].correlation},
            {.kind = HB_EVENT_RUNTIME, .start_ns = 110, .end_ns = 111, .correlation = 9},
            {.kind = HB_EVENT_KERNEL, .end_ns = 190, .correlation = 9},
        };
        array_source array;
        hb_steps list = {0};
        array_source_init(&array, events, HB_ARRAY_LEN(events));
        for (int k = 0; k < 2; k++)
            assert_int_equal(hb_steps_add(&list, 100 * k, 100 + 100 * k, (uint64_t)k), HB_OK);
        assert_int_equal(hb_steps_check(&list, &array.source), HB_OK);
        assert_false(hb_steps_next_hidden(&list));
        assert_int_equal(hb_steps_next_hidden(&list), calls[i].in_first);
        hb_steps_free(&list);
    }
}

/* Who has too many is not looked at. */
static void only_so_many_are_noted(void **state)
{
    hb_steps list = {0};
    (void)state;
    for (int64_t i = 0; i < HB_MAX_STEPS + 10; i++)
        assert_int_equal(hb_steps_add(&list, i, i + 1, 0), HB_OK);
    assert_int_equal(list.list.count, HB_MAX_STEPS);
    hb_steps_free(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_that_the_device_outlasts_are_hidden),
        cmocka_unit_test(without_a_device_all_are_shown),
        cmocka_unit_test(calls_of_other_threads_move_no_work),
        cmocka_unit_test(it_is_the_plugins_walk),
        cmocka_unit_test(calls_are_of_the_step_that_they_lie_in),
        cmocka_unit_test(only_so_many_are_noted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
