/* SPDX-License-Identifier: MIT
 *
 * Times by the clock of the job's reference rank: what follows from what was measured, how sure it
 * is, and when nothing is corrected.
 */
#include "replay/aligned_clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "array_source.h"
#include "record/clock_told.h"

#define SECOND  INT64_C(1000000000)
#define WALL    (1700000000 * SECOND) /* the wall clock when the monotonic one was 0 */
#define STEADY  "\"wall_ns\": 1700000000000000000, \"wall_bound_ns\": 0"
#define FURTHER "\"wall_ns\": 1700000000000000500, \"wall_bound_ns\": 3"
#define POINT(local, offset, bound) \
    "{\"local_ns\": " local "000000000, \"offset_ns\": " offset ", \"bound_ns\": " bound "}"
#define TOLD(wall, points) "{" wall ", \"points\": [" points "]}"

/* A session of 10 s, from the clock's 10th second on, and an event amid it. */
static hb_trace_event event;
static array_source array;
static hb_metadata metadata[3];
static hb_clock_pair start;

static hb_source *session(const char *clock)
{
    event = (hb_trace_event){
        .kind = HB_EVENT_OP, .start_ns = WALL + 15 * SECOND, .end_ns = WALL + 16 * SECOND};
    array_source_init(&array, &event, 1);
    array.info.start_ns = WALL + 10 * SECOND;
    array.info.stop_ns = WALL + 20 * SECOND;
    metadata[0] = (hb_metadata){.key = "before", .json = "1"};
    metadata[1] = (hb_metadata){.key = HB_METADATA_CLOCK, .json = clock};
    metadata[2] = (hb_metadata){.key = "behind", .json = "2"};
    array.info.metadata = metadata;
    array.info.num_metadata = clock ? 3 : 1;
    start = (hb_clock_pair){.monotonic_ns = 9 * SECOND, .unix_ns = WALL + 9 * SECOND};
    return &array.source;
}

/* By how much the session's begin and the event's two times are moved, and what is told of it. */
static void check(const char *clock, uint64_t width_ticks, int64_t begin, int64_t from, int64_t to,
                  const char *told)
{
    char expected[1000];
    hb_trace_event e;
    hb_source *source = session(clock), *inner = source;
    start.width_ticks = width_ticks;
    assert_int_equal(hb_clock_align(&source, &start, 2.5), HB_OK);
    assert_ptr_not_equal(source, inner);
    const hb_trace_info *info = source->info;
    assert_int_equal(info->start_ns - (WALL + 10 * SECOND), begin);
    assert_int_equal(source->begin(source, HB_PASS_HOST), HB_OK);
    assert_true(source->next(source, &e));
    assert_int_equal(e.start_ns - event.start_ns, from);
    assert_int_equal(e.end_ns - event.end_ns, to);
    assert_false(source->next(source, &e));
    snprintf(expected, sizeof expected, "%.*s, %s}", (int)strlen(clock) - 1, clock, told);
    assert_int_equal(info->num_metadata, 3);
    assert_string_equal(info->metadata[0].json, "1");
    assert_string_equal(info->metadata[1].json, expected);
    assert_string_equal(info->metadata[2].json, "2");
    source->close(source);
    assert_int_equal(array.closed, 1);
}

#define APPLIED(offset, drift, bound)                                           \
    "\"applied\": true, \"at_ns\": 1700000010000000000, \"offset_ns\": " offset \
    ", \"drift_ps_per_s\": " drift ", \"bound_ns\": " bound
#define LEFT(found, bound) \
    "\"applied\": false, \"offset_ns\": 0, \"found_ns\": " found ", \"bound_ns\": " bound

/* It may have drifted since by 100 us a second, unless both have one clock. */
static void one_measurement_is_less_sure_the_longer_ago_it_is(void **state)
{
    (void)state;
    check("{\"method\": \"shared\", " FURTHER ", \"points\": [" POINT("10", "7", "2") "]}", 0, 507,
          507, 507, APPLIED("507", "0", "6"));
    check("{\"method\": \"other\", " FURTHER ", \"points\": [" POINT("10", "7", "2") "]}", 0, 0, 0,
          0, LEFT("507", "1000513"));
    check(TOLD(FURTHER, POINT("17", "7", "2")), 0, 0, 0, 0, LEFT("507", "700513"));
    check("{\"always\": true, " FURTHER ", \"points\": [" POINT("10", "-7", "2") "]}", 0, 493, 493,
          493, APPLIED("493", "0", "1000006"));
    check(TOLD(STEADY, POINT("10", "-2000000", "2")), 0, -2000000, -2000000, -2000000,
          APPLIED("-2000000", "0", "1000003"));
}

/* Of which the first counts. */
static void two_measurements_at_once_are_one(void **state)
{
    (void)state;
    check(TOLD(FURTHER, POINT("17", "7", "2") ", " POINT("17", "9000", "2")), 0, 0, 0, 0,
          LEFT("507", "700513"));
    check(TOLD(FURTHER, POINT("17", "7", "2") ", " POINT("11", "9000", "2")), 0, 0, 0, 0,
          LEFT("507", "700513"));
}

static void what_one_offset_explains_is_no_drift(void **state)
{
    (void)state;
    check(TOLD(STEADY, POINT("10", "100", "10") ", " POINT("20", "104", "10")), 0, 102, 102, 102,
          APPLIED("102", "0", "13"));
    check(TOLD(STEADY, POINT("10", "104", "12") ", " POINT("20", "100", "4")), 0, 100, 100, 100,
          APPLIED("100", "0", "17"));
    check(TOLD(STEADY, POINT("10", "100", "2") ", " POINT("20", "104", "2")), 0, 102, 102, 102,
          APPLIED("102", "0", "5")); /* just */
}

/* The first and the last count; what lies between says no more. */
static void what_none_explains_is_a_drift(void **state)
{
    (void)state;
    check(TOLD(STEADY, POINT("10", "0", "1") ", " POINT("20", "10000", "1")), 0, 0, 5000, 6000,
          APPLIED("0", "1000000", "2"));
    check(TOLD(STEADY, POINT("10", "0", "1") ", " POINT("20", "-10000", "1")), 0, 0, -5000, -6000,
          APPLIED("0", "-1000000", "2"));
    check(TOLD(STEADY,
               POINT("8", "0", "1") ", " POINT("9", "77", "1") ", " POINT("28", "20000", "3")),
          0, 2000, 7000, 8000, APPLIED("2000", "1000000", "4"));
}

static void outside_of_two_measurements_less_is_known(void **state)
{
    (void)state;
    check(TOLD(FURTHER, POINT("12", "0", "100") ", " POINT("16", "0", "100")), 0, 500, 500, 500,
          APPLIED("500", "0", "304"));
    check(TOLD(FURTHER, POINT("15", "0", "100") ", " POINT("19", "0", "100")), 0, 500, 500, 500,
          APPLIED("500", "0", "354")); /* the longer way is that before them */
    check(TOLD(FURTHER, POINT("12", "0", "1000000") ", " POINT("16", "0", "1000000")), 0, 0, 0, 0,
          LEFT("500", "1400504")); /* by no more than clocks drift */
}

static void how_exactly_the_session_knows_its_own_clock_counts(void **state)
{
    (void)state;
    check(TOLD(FURTHER, POINT("10", "0", "2") ", " POINT("20", "0", "2")), 40, 500, 500, 500,
          APPLIED("500", "0", "106"));
    check(TOLD(STEADY, POINT("10", "107", "2") ", " POINT("20", "107", "2")), 40, 107, 107, 107,
          APPLIED("107", "0", "103"));
    check(TOLD(STEADY, POINT("10", "103", "2") ", " POINT("20", "103", "2")), 40, 0, 0, 0,
          LEFT("103", "206"));
}

static void without_sense_nothing_is_changed(void **state)
{
    (void)state;
    const char *const clocks[] = {
        NULL,
        "",
        "7",
        "{}",
        TOLD(STEADY, ""),
        TOLD(STEADY, POINT("10", "0", "-1")),
        TOLD(STEADY, POINT("10", "0", "\"x\"")),
        TOLD(STEADY, POINT("1000000000", "0", "1")),
        TOLD(STEADY, "{\"offset_ns\": 0, \"bound_ns\": 1}"),
        TOLD(STEADY, "{\"local_ns\": 0, \"bound_ns\": 1}"),
        TOLD(STEADY, "{\"local_ns\": 0, \"offset_ns\": 1}"),
        "{" STEADY ", \"points\": 7}",
        "{" STEADY "}",
        "{\"wall_ns\": 1, \"points\": [" POINT("10", "0", "1") "]}",
        "{\"wall_bound_ns\": 1, \"points\": [" POINT("10", "0", "1") "]}",
        TOLD(STEADY, POINT("10", "0", "1")) "}",
    };
    for (size_t i = 0; i < sizeof clocks / sizeof *clocks; i++) {
        hb_source *source = session(clocks[i]), *inner = source;
        assert_int_equal(hb_clock_align(&source, &start, 1), HB_OK);
        assert_ptr_equal(source, inner);
        assert_int_equal(array.closed, 0);
    }
    /* and of a session whose own clocks are damaged */
    const double odd_rates[] = {-1, 1e18};
    for (size_t i = 0; i < sizeof odd_rates / sizeof *odd_rates; i++) {
        hb_source *source = session(TOLD(STEADY, POINT("10", "0", "1"))), *inner = source;
        start.width_ticks = 40;
        assert_int_equal(hb_clock_align(&source, &start, odd_rates[i]), HB_OK);
        assert_ptr_equal(source, inner);
    }
    hb_source *source = session(TOLD(STEADY, POINT("10", "0", "1"))), *inner = source;
    start.monotonic_ns = INT64_MIN;
    assert_int_equal(hb_clock_align(&source, &start, 1), HB_OK);
    assert_ptr_equal(source, inner);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_measurement_is_less_sure_the_longer_ago_it_is),
        cmocka_unit_test(two_measurements_at_once_are_one),
        cmocka_unit_test(what_one_offset_explains_is_no_drift),
        cmocka_unit_test(what_none_explains_is_a_drift),
        cmocka_unit_test(outside_of_two_measurements_less_is_known),
        cmocka_unit_test(how_exactly_the_session_knows_its_own_clock_counts),
        cmocka_unit_test(without_sense_nothing_is_changed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
