/* SPDX-License-Identifier: MIT
 *
 * How this process's clock stands to the job's, as it is told and as each session has it.
 */
#include "raw_records.h"

#include <stdio.h>

#include <hipboard/comm.h>

#include "record/clock_told.h"
#include "record/process_id.h"

enum { MOST = 1000 };

static hb_result tell(const hb_clock_point *points, size_t n)
{
    const hb_clock_told told = {.struct_size = sizeof told,
                                .reference_rank = 3,
                                .wall_ns = INT64_C(1700000000000000000),
                                .wall_bound_ns = 25,
                                .points = points,
                                .num_points = n};
    return hb_clock_tell(&told);
}

/* What a session has of it that begins now; "" when it has nothing. */
static const char *told_of(void)
{
    hb_session *session = raw_begin(0);
    hb_clock_told_record();
    raw_end(session);
    if (raw_count == 0) return "";
    assert_int_equal(raw_count, 1);
    const raw_record *r = raw_nth(HB_RECORD_METADATA, 0);
    raw_expect_text(r->head.name, "hipboard_clock");
    return hb_strings_get(r->metadata.json).s;
}

static const char *expected(const char *method, const char *always, const char *points)
{
    static char text[1000];
    hb_process_id here = hb_process_id_here();
    snprintf(text, sizeof text,
             "{\"method\": \"%s\", \"reference_rank\": 3, \"boot_id\": \"%s\", "
             "\"wall_ns\": 1700000000000000000, \"wall_bound_ns\": 25, \"always\": %s, "
             "\"points\": [%s]}",
             method, here.boot_id, always, points);
    return text;
}

static void nobody_tells_of_it_by_itself(void **state)
{
    (void)state;
    assert_string_equal(told_of(), "");
}

/* In the session that records, and in each one after it. */
static void what_was_told_is_in_each_session(void **state)
{
    const hb_clock_point points[] = {{-5, 7, 0}, {6, -8, 1}, {1, 1, -1}};
    const char *text = expected("measured", "false",
                                "{\"local_ns\": -5, \"offset_ns\": 7, \"bound_ns\": 0}, "
                                "{\"local_ns\": 6, \"offset_ns\": -8, \"bound_ns\": 1}");
    (void)state;
    hb_session *session = raw_begin(0);
    assert_int_equal(tell(points, 2), HB_OK); /* the third is none of them */
    raw_end(session);
    assert_int_equal(raw_count, 1);
    raw_expect_text(raw_nth(HB_RECORD_METADATA, 0)->metadata.json, text);
    for (int i = 0; i < 2; i++)
        assert_string_equal(told_of(), text);
}

static void how_it_is_known_and_used_is_told(void **state)
{
    const hb_clock_point point = {1, 2, 3};
    hb_clock_told told = {.struct_size = sizeof told,
                          .reference_rank = 3,
                          .wall_ns = INT64_C(1700000000000000000),
                          .wall_bound_ns = 25,
                          .points = &point,
                          .num_points = 1,
                          .shared = true};
    (void)state;
    static const char text[] = "{\"local_ns\": 1, \"offset_ns\": 2, \"bound_ns\": 3}";
    assert_int_equal(hb_clock_tell(&told), HB_OK);
    assert_string_equal(told_of(), expected("shared", "false", text));
    told.shared = false;
    told.always = true;
    assert_int_equal(hb_clock_tell(&told), HB_OK);
    assert_string_equal(told_of(), expected("measured", "true", text));
}

static void expect_refused(const hb_clock_point *points, size_t n, const char *why)
{
    assert_int_equal(tell(points, n), HB_ERROR_INVALID_ARGUMENT);
    assert_string_equal(hb_last_error(), why);
}

/* And what was told before stays. */
static void what_makes_no_sense_is_refused(void **state)
{
    static hb_clock_point many[MOST + 1];
    const hb_clock_point good = {1, 2, 3}, equal[] = {{1, 0, 0}, {2, 0, 0}, {2, 0, 0}},
                         earlier[] = {{2, 0, 0}, {1, 0, 0}}, negative[] = {{1, 0, 0}, {2, 0, -3}},
                         first[] = {{1, 0, -1}, {2, 0, 0}};
    (void)state;
    for (int i = 0; i <= MOST; i++)
        many[i] = (hb_clock_point){i, 0, 0};
    assert_int_equal(tell(&good, 1), HB_OK);
    char *before = strdup(told_of());
    expect_refused(many, MOST + 1, "clock: 1001 points; 1 to 1000 are expected");
    expect_refused(many, 0, "clock: 0 points; 1 to 1000 are expected");
    expect_refused(NULL, 2, "clock: 0 points; 1 to 1000 are expected");
    expect_refused(equal, 3, "clock: point 2 is not later than the one before it");
    expect_refused(earlier, 2, "clock: point 1 is not later than the one before it");
    expect_refused(negative, 2, "clock: point 1: bound_ns is -3");
    expect_refused(first, 2, "clock: point 0: bound_ns is -1");
    assert_int_equal(hb_clock_tell(NULL), HB_ERROR_INVALID_ARGUMENT);
    assert_string_equal(hb_last_error(), "clock: it is NULL");
    assert_string_equal(told_of(), before);
    free(before);
    assert_int_equal(tell(many, MOST), HB_OK);
    const char *last = strstr(told_of(), "{\"local_ns\": 999, ");
    assert_non_null(last);
    assert_string_equal(last, "{\"local_ns\": 999, \"offset_ns\": 0, \"bound_ns\": 0}]}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_tells_of_it_by_itself),
        cmocka_unit_test(what_was_told_is_in_each_session),
        cmocka_unit_test(how_it_is_known_and_used_is_told),
        cmocka_unit_test(what_makes_no_sense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, raw_close);
}
