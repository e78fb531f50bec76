/* SPDX-License-Identifier: MIT
 *
 * Equal slices of the time, as steps of a program that has none.
 */
#include "replay/time_slices.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "array_source.h"
#include "base/base.h"

enum { WINDOW = 1000 };

static array_source array;

/* A window from 5,000 on. */
static hb_source *open(const hb_trace_event *events, size_t count, int64_t window_ns)
{
    array_source_init(&array, events, count);
    array.info.start_ns = 5000;
    array.info.stop_ns = 5000 + window_ns;
    return &array.source;
}

/* "name start end tid, " of each. */
static const char *all_of(hb_source *source, hb_pass pass)
{
    static char text[4000];
    hb_trace_event e;
    size_t n = 0;
    *text = '\0';
    assert_int_equal(source->begin(source, pass), HB_OK);
    while (source->next(source, &e))
        n += (size_t)snprintf(text + n, sizeof text - n, "%.*s %lld %lld %lld, ", (int)e.name.len,
                              e.name.s, (long long)e.start_ns, (long long)e.end_ns,
                              (long long)e.tid);
    assert_false(source->next(source, &e));
    return text;
}

static void slices_stand_behind_the_others_or_in_time(void **state)
{
    (void)state;
    const hb_trace_event events[] = {
        array_source_scope("a", 5000, 5100),
        array_source_scope("b", 5300, 5900),
        array_source_scope("c", 5301, 5302),
        array_source_scope("d", 5950, 6000),
    };
    hb_source *source = open(events, 4, WINDOW);
    assert_int_equal(hb_time_slices_add(&source, 300), HB_OK);
    assert_ptr_not_equal(source, &array.source);
    for (int again = 0; again < 2; again++) {
        assert_string_equal(all_of(source, HB_PASS_HOST),
                            "a 5000 5100 7, b 5300 5900 7, c 5301 5302 7, d 5950 6000 7, "
                            "ProfilerStep#0 5000 5300 0, ProfilerStep#1 5300 5600 0, "
                            "ProfilerStep#2 5600 5900 0, ProfilerStep#3 5900 6000 0, ");
        assert_string_equal(
            all_of(source, HB_PASS_TIMELINE),
            "ProfilerStep#0 5000 5300 0, a 5000 5100 7, ProfilerStep#1 5300 5600 0, "
            "b 5300 5900 7, c 5301 5302 7, ProfilerStep#2 5600 5900 0, "
            "ProfilerStep#3 5900 6000 0, d 5950 6000 7, ");
        assert_string_equal(all_of(source, HB_PASS_DEVICE), "");
    }
    source->close(source);
    assert_int_equal(array.closed, 1);
}

/* Also those behind the last event, and where there is none. */
static void all_of_the_time_is_in_slices(void **state)
{
    (void)state;
    hb_source *source = open(NULL, 0, WINDOW);
    assert_int_equal(hb_time_slices_add(&source, 500), HB_OK);
    const char *two = "ProfilerStep#0 5000 5500 0, ProfilerStep#1 5500 6000 0, ";
    assert_string_equal(all_of(source, HB_PASS_HOST), two);
    assert_string_equal(all_of(source, HB_PASS_TIMELINE), two);
    source->close(source);
    source = open(NULL, 0, WINDOW);
    assert_int_equal(hb_time_slices_add(&source, 5000), HB_OK); /* longer than the window */
    assert_string_equal(all_of(source, HB_PASS_HOST), "ProfilerStep#0 5000 6000 0, ");
    source->close(source);
}

static void they_have_a_row_and_numbers_of_their_own(void **state)
{
    (void)state;
    const hb_trace_event events[] = {array_source_scope("a", 5000, 5100)};
    hb_trace_event e;
    hb_source *source = open(events, 1, WINDOW);
    assert_int_equal(hb_time_slices_add(&source, 500), HB_OK);
    assert_true(source->info->has_time_slices);
    assert_false(array.info.has_time_slices);
    assert_int_equal(source->info->num_threads, 2);
    assert_int_equal(source->info->threads[0].tid, 100);
    assert_string_equal(source->info->threads[0].name, "main");
    assert_int_equal(source->info->threads[1].tid, 0);
    assert_string_equal(source->info->threads[1].name, "time slices");
    assert_int_equal(source->info->start_ns, 5000);
    assert_int_equal(source->begin(source, HB_PASS_HOST), HB_OK);
    for (uint64_t i = 0; source->next(source, &e); i++)
        if (i) assert_true(e.external_id == (UINT64_C(1) << 52) + i - 1);
    source->close(source);
}

static void a_trace_with_steps_stays_as_it_is(void **state)
{
    (void)state;
    const hb_trace_event events[] = {array_source_scope("a", 5000, 5100),
                                     array_source_scope("ProfilerStep#3", 5200, 5300)};
    hb_source *source = open(events, 2, WINDOW);
    assert_int_equal(hb_time_slices_add(&source, 300), HB_OK);
    assert_ptr_equal(source, &array.source);
    source = open(events, 1, WINDOW);
    assert_int_equal(hb_time_slices_add(&source, 0), HB_OK); /* not asked for */
    assert_ptr_equal(source, &array.source);
    for (int64_t window = -1; window <= 0; window++) { /* nothing to slice */
        source = open(events, 1, window);
        assert_int_equal(hb_time_slices_add(&source, 300), HB_OK);
        assert_ptr_equal(source, &array.source);
    }
    assert_int_equal(array.closed, 0);
}

static int count_slices(int64_t window, int64_t slice, int64_t *length)
{
    hb_trace_event e;
    hb_source *source = open(NULL, 0, window);
    assert_int_equal(hb_time_slices_add(&source, slice), HB_OK);
    assert_int_equal(source->begin(source, HB_PASS_HOST), HB_OK);
    int count = 0;
    int64_t end = 5000;
    for (; source->next(source, &e); count++) {
        if (!count) *length = e.end_ns - e.start_ns;
        assert_true(e.start_ns == end);
        end = e.end_ns;
    }
    assert_true(end == 5000 + window);
    source->close(source);
    return count;
}

/* Twenty, or more, of 1, 2 or 5 times a power of ten. */
static void round_lengths_give_about_twenty(void **state)
{
    static const struct {
        int64_t window, length;
        int count;
    } rows[] = {
        {1, 1, 1},
        {19, 1, 19},
        {20, 1, 20},
        {39, 1, 39},
        {40, 2, 20},
        {99, 2, 50},
        {100, 5, 20},
        {199, 5, 40},
        {200, 10, 20},
        {399, 10, 40},
        {400, 20, 20},
        {1000, 50, 20},
        {1999, 50, 40},
        {2000, 100, 20},
        {3999, 100, 40},
        {60000000000, 2000000000, 30},
        {1000001, 50000, 21},
    };
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(rows); i++) {
        int64_t length = 0;
        assert_int_equal(count_slices(rows[i].window, HB_TIME_SLICES_AUTO, &length), rows[i].count);
        assert_true(length == rows[i].length);
    }
}

/* The plugin draws a bar for each. */
static void there_are_no_more_than_can_be_shown(void **state)
{
    int64_t length = 0;
    (void)state;
    assert_int_equal(count_slices(99999, 1, &length), 99999);
    assert_int_equal(length, 1);
    assert_in_range(count_slices(100000, 1, &length), 50000, 100000);
    assert_int_equal(length, 2);
    assert_in_range(count_slices(INT64_C(1) << 50, 1, &length), 99990, 100000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slices_stand_behind_the_others_or_in_time),
        cmocka_unit_test(all_of_the_time_is_in_slices),
        cmocka_unit_test(they_have_a_row_and_numbers_of_their_own),
        cmocka_unit_test(a_trace_with_steps_stays_as_it_is),
        cmocka_unit_test(round_lengths_give_about_twenty),
        cmocka_unit_test(there_are_no_more_than_can_be_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
