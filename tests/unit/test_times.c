/* SPDX-License-Identifier: MIT
 *
 * Times are kept in nanoseconds, and the plugin's microseconds are made of them: they must be what
 * Python's float() makes of the file's text, whatever that looks like.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/times.h"
#include "io/number_text.h"
#include "read/json_reader.h"

static uint64_t seed = 88172645463325252u;

static uint64_t draw(uint64_t below)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed % below;
}

/* Of any size: as many have 5 digits as 15. */
static uint64_t draw_size(unsigned max_digits)
{
    uint64_t limit = 1;
    for (uint64_t digits = 1 + draw(max_digits); digits; digits--)
        limit *= 10;
    return draw(limit);
}

static void test_three_decimals(void **state)
{
    (void)state;
    for (int i = 0; i < 2000000; i++) {
        char text[64];
        int64_t ns = (int64_t)draw_size(18) * (draw(4) ? 1 : -1);
        snprintf(text, sizeof text, "%s%" PRIu64 ".%03d", ns < 0 ? "-" : "",
                 (uint64_t)llabs(ns) / 1000, (int)(llabs(ns) % 1000));
        if (ns) assert_true(hb_ns_to_us(ns) == strtod(text, NULL));
    }
}

static void test_nesting_durations(void **state)
{
    (void)state;
    unsigned longer = 0;
    for (int i = 0; i < 2000000; i++) {
        char text[HB_MAX_NUMBER + 1] = "";
        uint64_t start = draw_size(16), end = start + 1 + draw_size(12);
        *hb_put_nesting_us(text, start, end) = 0;
        double us = strtod(text, NULL);
        assert_true(us == hb_nesting_us(start, end));
        if (end - start <= start) assert_true((double)start / 1e3 + us == (double)end / 1e3);
        longer += strcspn(text, ".") + 4 < strlen(text);
    }
    assert_true(longer > 1000);
}

/* ---- through the reader ---- */

static size_t put_time(char *text)
{
    static const char *const odd[] = {"-0.0",
                                      "-0",
                                      "0",
                                      "1e3",
                                      "1E-3",
                                      "NaN",
                                      "Infinity",
                                      "4e15",
                                      "3000000000000000",
                                      "2999999999999998.5",
                                      "9007199254740993",
                                      "1e300",
                                      "99999999999999999999"};
    uint64_t whole = draw_size(16), fraction = draw_size(9);
    const char *sign = draw(8) ? "" : "-";
    switch (draw(6)) {
    case 0: return (size_t)sprintf(text, "%s", odd[draw(HB_ARRAY_LEN(odd))]);
    case 1: return (size_t)sprintf(text, "%s%" PRIu64, sign, whole);
    case 2: return (size_t)sprintf(text, "%s%" PRIu64 ".%" PRIu64, sign, whole, fraction);
    case 3: return (size_t)sprintf(text, "%s%" PRIu64 ".%" PRIu64 "e-2", sign, whole, fraction);
    default: return (size_t)sprintf(text, "%s%" PRIu64 ".%03d", sign, whole, (int)draw(1000));
    }
}

static double python(const char *text)
{
    double value = strtod(text, NULL);
    return strcmp(text, "-0") == 0 ? 0 : value; /* an int */
}

static void assert_same_bits(double a, double b)
{
    if (!(a != a && b != b)) assert_memory_equal(&a, &b, sizeof a);
}

enum { EVENTS = 100000 };

static void test_any_text(void **state)
{
    (void)state;
    static char texts[EVENTS][2][64];
    char *json = malloc((size_t)EVENTS * 160);
    size_t size = (size_t)sprintf(json, "[");
    for (int i = 0; i < EVENTS; i++) {
        put_time(texts[i][0]);
        put_time(texts[i][1]);
        size += (size_t)sprintf(json + size, "%s{\"ph\":\"X\",\"ts\":%s,\"dur\":%s}", i ? "," : "",
                                texts[i][0], texts[i][1]);
    }
    size += (size_t)sprintf(json + size, "]");
    hb_trace trace;
    static hb_read_report report;
    hb_read_options options = {0};
    assert_int_equal(hb_read_trace_memory(json, size, &options, &trace, &report), HB_OK);
    assert_int_equal(trace.rows.count, EVENTS);
    for (uint32_t i = 0; i < EVENTS; i++) {
        const hb_row *row = hb_trace_row(&trace, i);
        double ts = python(texts[i][0]), dur = python(texts[i][1]);
        assert_same_bits(hb_plugin_ts(&trace, row), ts);
        assert_same_bits(hb_plugin_dur(&trace, row), dur);
        bool fits = hb_us_fits_ns(ts) && hb_us_fits_ns(dur) && dur >= 0;
        assert_int_equal(hb_row_is_timed(&trace, row), fits);
        if (fits) assert_true(fabs((double)row->start - ts * 1e3) <= fabs(ts) * 1e-12 + 1);
    }
    hb_trace_free(&trace);
    free(json);
}

/* A double has quarters of a microsecond there. */
static void test_times_since_1970_keep_their_nanoseconds(void **state)
{
    (void)state;
    static const char text[] = "[{\"ph\":\"X\",\"ts\":1700000000000123.457,\"dur\":0.043}]";
    hb_trace trace;
    static hb_read_report report;
    hb_read_options options = {0};
    assert_int_equal(hb_read_trace_memory(text, strlen(text), &options, &trace, &report), HB_OK);
    assert_int_equal(hb_trace_row(&trace, 0)->start, INT64_C(1700000000000123457));
    assert_int_equal(hb_row_end(hb_trace_row(&trace, 0)), INT64_C(1700000000000123500));
    assert_true(hb_plugin_ts(&trace, hb_trace_row(&trace, 0)) == 1700000000000123.457);
    hb_trace_free(&trace);
}

static void test_sums_stay_within_what_there_is(void **state)
{
    int64_t sum = 0;
    (void)state;
    hb_add_ns(&sum, 5);
    hb_add_ns(&sum, -7);
    assert_int_equal(sum, -2);
    sum = INT64_MAX - 1;
    hb_add_ns(&sum, 1);
    assert_true(sum == INT64_MAX);
    hb_add_ns(&sum, 1);
    assert_true(sum == INT64_MAX);
    hb_add_ns(&sum, INT64_MIN);
    assert_true(sum == -1);
    hb_add_ns(&sum, INT64_MIN);
    assert_true(sum == INT64_MIN);
}

static void test_an_event_is_small(void **state)
{
    (void)state;
    assert_true(sizeof(hb_row) + sizeof(hb_op_row) <= 64);
    assert_true(sizeof(hb_row) + sizeof(hb_device_row) <= 64);
    assert_true(sizeof(hb_row) + sizeof(hb_function_row) <= 64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_three_decimals),
        cmocka_unit_test(test_nesting_durations),
        cmocka_unit_test(test_any_text),
        cmocka_unit_test(test_times_since_1970_keep_their_nanoseconds),
        cmocka_unit_test(test_sums_stay_within_what_there_is),
        cmocka_unit_test(test_an_event_is_small),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
