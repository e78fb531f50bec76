/* SPDX-License-Identifier: MIT
 *
 * Numbers and texts as they are printed: quantities for people, Python's numbers, JSON, tables.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "doc/doc_writer.h"
#include "doc/json_writer.h"
#include "doc/phrases.h"

static hb_buf buf;

static int set_up(void **state)
{
    (void)state;
    hb_buf_init(&buf, 1 << 20);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    hb_buf_free(&buf);
    return 0;
}

/* What stands in the buffer, which is emptied. */
static const char *written(void)
{
    static char text[4000];
    snprintf(text, sizeof text, "%s", hb_buf_text(&buf));
    buf.size = 0;
    return text;
}

/* ---- quantities ---- */

static void quantities_have_four_digits_in_the_unit_that_fits(void **state)
{
    (void)state;
    const struct {
        double value;
        hb_unit unit;
        const char *text, *change;
    } cases[] = {
        {0, HB_UNIT_US, "0 us", "0 us"},
        {-0.0, HB_UNIT_US, "0 us", "0 us"},
        {0.0004, HB_UNIT_US, "0 us", "0 us"},
        {0.0005, HB_UNIT_US, "0.001 us", "+0.001 us"},
        {1.2344, HB_UNIT_US, "1.234 us", "+1.234 us"},
        {-1.2344, HB_UNIT_US, "-1.234 us", "-1.234 us"},
        {9.9994, HB_UNIT_US, "9.999 us", "+9.999 us"},
        {9.9996, HB_UNIT_US, "10.00 us", "+10.00 us"},
        {99.994, HB_UNIT_US, "99.99 us", "+99.99 us"},
        {99.996, HB_UNIT_US, "100.0 us", "+100.0 us"},
        {999.94, HB_UNIT_US, "999.9 us", "+999.9 us"},
        {999.96, HB_UNIT_US, "1.000 ms", "+1.000 ms"},
        {1000, HB_UNIT_US, "1 ms", "+1 ms"},
        {2531, HB_UNIT_US, "2.531 ms", "+2.531 ms"},
        {-2531, HB_UNIT_US, "-2.531 ms", "-2.531 ms"},
        {999940, HB_UNIT_US, "999.9 ms", "+999.9 ms"},
        {1e6, HB_UNIT_US, "1 s", "+1 s"},
        {7.25e9, HB_UNIT_US, "7250 s", "+7250 s"},
        {12345.6e6, HB_UNIT_US, "12346 s", "+12346 s"},
        {1, HB_UNIT_BYTES, "1 B", "+1 B"},
        {1000, HB_UNIT_BYTES, "1000 B", "+1000 B"},
        {1024, HB_UNIT_BYTES, "1 KiB", "+1 KiB"},
        {1536, HB_UNIT_BYTES, "1.500 KiB", "+1.500 KiB"},
        {1048576, HB_UNIT_BYTES, "1 MiB", "+1 MiB"},
        {-1572864, HB_UNIT_BYTES, "-1.500 MiB", "-1.500 MiB"},
        {1073741824, HB_UNIT_BYTES, "1 GiB", "+1 GiB"},
        {82.1 * 1073741824, HB_UNIT_BYTES, "82.10 GiB", "+82.10 GiB"},
        {5000.0 * 1073741824, HB_UNIT_BYTES, "5000 GiB", "+5000 GiB"},
        {6, HB_UNIT_COUNT, "6", "+6"},
        {6.5, HB_UNIT_COUNT, "6.500", "+6.500"},
        {1234567, HB_UNIT_COUNT, "1234567", "+1234567"},
        {0.821, HB_UNIT_RATIO, "82.10 %", "+82.10 pp"},
        {1, HB_UNIT_RATIO, "100 %", "+100 pp"},
        {-0.005, HB_UNIT_RATIO, "-0.500 %", "-0.500 pp"},
    };
    for (size_t i = 0; i < HB_ARRAY_LEN(cases); i++) {
        hb_put_quantity(&buf, cases[i].value, cases[i].unit);
        assert_string_equal(written(), cases[i].text);
        hb_put_change(&buf, cases[i].value, cases[i].unit);
        assert_string_equal(written(), cases[i].change);
    }
}

static void changes_are_percent_of_what_was_before(void **state)
{
    (void)state;
    const struct {
        double before, change;
        const char *text;
    } cases[] = {
        {100, 48.2, "+48.2 %"},
        {100, -48.2, "-48.2 %"},
        {-100, 48.2, "+48.2 %"},
        {50, 50, "+100.0 %"},
        {0, 5, ""},
        {100, 0, "+0.0 %"},
        {1, 9.99, "+999.0 %"},
        {1, 10, "+1000 %"},
        {1, -12.344, "-1234 %"},
        {3, 1, "+33.3 %"},
    };
    for (size_t i = 0; i < HB_ARRAY_LEN(cases); i++) {
        hb_put_percent(&buf, cases[i].before, cases[i].change);
        assert_string_equal(written(), cases[i].text);
    }
}

static void verdicts_and_units_have_words(void **state)
{
    (void)state;
    const struct {
        hb_verdict verdict;
        const char *words, *key;
    } verdicts[] = {
        {HB_VERDICT_NOISE, "within noise", "within_noise"},
        {HB_VERDICT_BEYOND_NOISE, "beyond noise", "beyond_noise"},
        {HB_VERDICT_TOO_FEW, "too few steps to tell", "too_few_steps"},
        {HB_VERDICT_COUNTED, "counted", "counted"},
        {HB_VERDICT_ONLY_BASELINE, "gone", "only_baseline"},
        {HB_VERDICT_ONLY_RUN, "new", "only_run"},
    };
    for (size_t i = 0; i < HB_ARRAY_LEN(verdicts); i++) {
        assert_string_equal(hb_verdict_words(verdicts[i].verdict), verdicts[i].words);
        assert_string_equal(hb_verdict_key(verdicts[i].verdict), verdicts[i].key);
    }
    assert_string_equal(hb_unit_key(HB_UNIT_US), "us");
    assert_string_equal(hb_unit_key(HB_UNIT_BYTES), "bytes");
    assert_string_equal(hb_unit_key(HB_UNIT_COUNT), "count");
    assert_string_equal(hb_unit_key(HB_UNIT_RATIO), "ratio");
}

/* ---- Python's numbers ---- */

static void floats_are_pythons(void **state)
{
    (void)state;
    const struct {
        double value;
        const char *text; /* repr() */
    } cases[] = {
        {0.0, "0.0"},
        {-0.0, "-0.0"},
        {1.0, "1.0"},
        {-1.5, "-1.5"},
        {0.1, "0.1"},
        {0.1 + 0.2, "0.30000000000000004"},
        {1.0 / 3, "0.3333333333333333"},
        {40.0, "40.0"},
        {100.0, "100.0"},
        {1234567.125, "1234567.125"},
        {1e15, "1000000000000000.0"},
        {9999999999999998.0, "9999999999999998.0"},
        {1e16, "1e+16"},
        {123456789012345680.0, "1.2345678901234568e+17"},
        {1e22, "1e+22"},
        {1e23, "1e+23"},
        {1e100, "1e+100"},
        {0.0001, "0.0001"},
        {0.00012345, "0.00012345"},
        {0.00001, "1e-05"},
        {2.0 / 3 * 1e-5, "6.666666666666667e-06"},
        {2.5e-310, "2.5e-310"},
        {5e-324, "5e-324"},
        {1.7976931348623157e308, "1.7976931348623157e+308"},
        {NAN, "nan"},
        {INFINITY, "inf"},
        {-INFINITY, "-inf"},
    };
    for (size_t i = 0; i < HB_ARRAY_LEN(cases); i++) {
        hb_buf_py_float(&buf, cases[i].value);
        assert_string_equal(written(), cases[i].text);
    }
}

static void numbers_of_json_remember_what_they_were(void **state)
{
    (void)state;
    const struct {
        hb_num number;
        const char *text, *json;
    } cases[] = {
        {hb_int(40), "40", "40"},
        {hb_float(40), "40.0", "40.0"},
        {hb_int(-9007199254740992.0), "-9007199254740992", "-9007199254740992"},
        {hb_int(1e18), "1000000000000000000", "1000000000000000000"},
        {hb_int(NAN), "nan", "NaN"},
        {hb_float(NAN), "nan", "NaN"},
        {hb_float(INFINITY), "inf", "Infinity"},
        {hb_float(-INFINITY), "-inf", "-Infinity"},
        {hb_num_add(hb_int(1), hb_int(2)), "3", "3"},
        {hb_num_add(hb_int(1), hb_float(2)), "3.0", "3.0"},
        {hb_num_sub(hb_int(1), hb_int(2)), "-1", "-1"},
        {hb_num_sub(hb_float(1), hb_int(2)), "-1.0", "-1.0"},
    };
    for (size_t i = 0; i < HB_ARRAY_LEN(cases); i++) {
        hb_buf_py_num(&buf, cases[i].number);
        assert_string_equal(written(), cases[i].text);
        hb_buf_json_num(&buf, cases[i].number);
        assert_string_equal(written(), cases[i].json);
    }
}

static void numbers_are_rounded_as_python_does(void **state)
{
    (void)state;
    const struct {
        double value;
        int digits;
        double rounded;
    } cases[] = {
        {2.675, 2, 2.67},
        {-2.675, 2, -2.67},
        {1.005, 2, 1.0},
        {123.456, 1, 123.5},
        {0.125, 2, 0.12},
        {0.375, 2, 0.38},
        {0.5, 0, 0},
        {1.5, 0, 2},
        {2.5, 0, 2},
        {-1.5, 0, -2},
        {1e17, 2, 1e17},
        {1.23456789, 6, 1.234568},
        {INFINITY, 2, INFINITY},
    };
    for (size_t i = 0; i < HB_ARRAY_LEN(cases); i++)
        assert_true(hb_py_round(cases[i].value, cases[i].digits) == cases[i].rounded);
    assert_true(isnan(hb_py_round(NAN, 2)));
}

/* ---- JSON ---- */

static void strings_are_json_in_ascii(void **state)
{
    (void)state;
    const struct {
        const char *text;
        size_t size;
        const char *json; /* json.dumps() */
    } cases[] = {
        {"", 0, "\"\""},
        {" !#[]~", 6, "\" !#[]~\""},
        {"a\"\\/", 4, "\"a\\\"\\\\/\""},
        {"\b\f\n\r\t", 5, "\"\\b\\f\\n\\r\\t\""},
        {"\0\x01\x1f\x7f", 4, "\"\\u0000\\u0001\\u001f\\u007f\""},
        {"\xc2\x80\xc3\xa9\xdf\xbf", 6, "\"\\u0080\\u00e9\\u07ff\""},
        {"\xe0\xa0\x80\xe2\x82\xac\xef\xbf\xbf", 9, "\"\\u0800\\u20ac\\uffff\""},
        {"\xf0\x90\x80\x80\xf0\x9d\x84\x9e\xf4\x8f\xbf\xbf", 12,
         "\"\\ud800\\udc00\\ud834\\udd1e\\udbff\\udfff\""},
        {"\xed\xa0\x80z\xed\xbf\xbf", 7, "\"\\ud800z\\udfff\""},
        {"a\xff\xc3", 3, "\"a\\ufffd\\ufffd\""},
    };
    for (size_t i = 0; i < HB_ARRAY_LEN(cases); i++) {
        hb_buf_json_ascii(&buf, cases[i].text, cases[i].size);
        assert_string_equal(written(), cases[i].json);
    }
}

static void values_are_separated_as_python_does(void **state)
{
    (void)state;
    hb_emitter out = {&buf, false};
    hb_emit_open(&out, '{');
    hb_emit_open_key(&out, "list", '[');
    hb_emit_int(&out, 1);
    hb_emit_float(&out, 2);
    hb_emit_null(&out);
    hb_emit_raw(&out, HB_STR("{}"));
    hb_emit_open(&out, '[');
    hb_emit_close(&out, ']');
    hb_emit_close(&out, ']');
    hb_emit_pair(&out, "k", "v");
    hb_emit_key(&out, "columns");
    hb_emit_open(&out, '[');
    hb_emit_column(&out, "number", "N", NULL);
    hb_emit_column(&out, "string", "S", "what it is");
    hb_emit_close(&out, ']');
    hb_emit_close(&out, '}');
    assert_string_equal(
        written(),
        "{\"list\": [1, 2.0, null, {}, []], \"k\": \"v\", \"columns\": [{\"type\": \"number\", "
        "\"name\": \"N\"}, {\"type\": \"string\", \"name\": \"S\", \"tooltip\": \"what it "
        "is\"}]}");
}

/* ---- reports ---- */

static void lines_stay_lines(void **state)
{
    (void)state;
    hb_doc plain = {&buf, false, false}, colored = {&buf, false, true}, marked = {&buf, true, true};
    const struct {
        const hb_doc *paper;
        hb_tone tone;
        const char *text, *line, *item;
    } cases[] = {
        {&plain, HB_TONE_WORSE, "slow", "slow\n", "  slow\n"},
        {&colored, HB_TONE_PLAIN, "same", "same\n", "  same\n"},
        {&colored, HB_TONE_WORSE, "slow", "\033[31mslow\033[0m\n", "  \033[31mslow\033[0m\n"},
        {&colored, HB_TONE_BETTER, "fast", "\033[32mfast\033[0m\n", "  \033[32mfast\033[0m\n"},
        {&marked, HB_TONE_WORSE, "a*b", "a&#42;b\n\n", "- a&#42;b\n"},
        {&plain, HB_TONE_PLAIN, "a\nb\033[1m\x7f\xc2\x9b z\xc2\xa0", "a b [1m   z\xc2\xa0\n",
         "  a b [1m   z\xc2\xa0\n"},
        {&plain, HB_TONE_PLAIN, "\xc2\x80\xc2\x9f\xc3\x80 ~", "  \xc3\x80 ~\n", "    \xc3\x80 ~\n"},
        {&marked, HB_TONE_PLAIN, "a\nb", "a b\n\n", "- a b\n"},
    };
    for (size_t i = 0; i < HB_ARRAY_LEN(cases); i++) {
        hb_doc paper = *cases[i].paper;
        hb_doc_line(&paper, cases[i].tone, cases[i].text);
        assert_string_equal(written(), cases[i].line);
        hb_doc_item(&paper, cases[i].tone, cases[i].text);
        assert_string_equal(written(), cases[i].item);
    }
}

static void headings_stand_apart(void **state)
{
    (void)state;
    hb_doc plain = {&buf, false, false}, colored = {&buf, false, true},
           marked = {&buf, true, false};
    hb_doc_heading(&plain, "one\x1b");
    hb_doc_heading(&plain, "two");
    assert_string_equal(written(), "one \n\ntwo\n");
    hb_doc_heading(&colored, "one");
    hb_doc_heading(&colored, "two");
    assert_string_equal(written(), "\033[1mone\033[0m\n\n\033[1mtwo\033[0m\n");
    hb_doc_heading(&marked, "one_1");
    hb_doc_heading(&marked, "two");
    assert_string_equal(written(), "### one&#95;1\n\n\n### two\n\n");
}

static void tables_are_aligned(void **state)
{
    (void)state;
    hb_arena arena = {0};
    hb_grid_cell cells[] = {{"1"},     {"x", HB_TONE_WORSE}, {"5.25"},
                            {"first"}, {"1000 \xc3\xa9"},    {"longer"},
                            {"7"},     {"second | one"}};
    hb_grid grid = {.heads = (const char *const[]){"n", "word", "us", "name"},
                    .columns = 4,
                    .left = 1u << 1,
                    .terminal_only = 1u << 2,
                    .cells = {cells, HB_ARRAY_LEN(cells), HB_ARRAY_LEN(cells)}};
    hb_doc plain = {&buf, false, false}, colored = {&buf, false, true},
           marked = {&buf, true, false};
    if (hb_arena_try(&arena)) {
        hb_doc_grid(&plain, &arena, &grid);
        assert_string_equal(written(), "     n  word      us  name\n"
                                       "     1  x       5.25  first\n"
                                       "1000 \xc3\xa9  longer     7  second | one\n");
        hb_doc_grid(&colored, &arena, &grid);
        assert_non_null(strstr(written(), "  \033[31mx\033[0m       5.25  first\n"));
        hb_doc_grid(&marked, &arena, &grid);
        assert_string_equal(written(), "| name | n | word |\n|---|---:|---:|\n"
                                       "| first | 1 | x |\n"
                                       "| second &#124; one | 1000 \xc3\xa9 | longer |\n\n");
    }
    assert_int_equal(hb_arena_outcome(&arena), HB_OK);
    hb_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantities_have_four_digits_in_the_unit_that_fits),
        cmocka_unit_test(changes_are_percent_of_what_was_before),
        cmocka_unit_test(verdicts_and_units_have_words),
        cmocka_unit_test(floats_are_pythons),
        cmocka_unit_test(numbers_of_json_remember_what_they_were),
        cmocka_unit_test(numbers_are_rounded_as_python_does),
        cmocka_unit_test(strings_are_json_in_ascii),
        cmocka_unit_test(values_are_separated_as_python_does),
        cmocka_unit_test(lines_stay_lines),
        cmocka_unit_test(headings_stand_apart),
        cmocka_unit_test(tables_are_aligned),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
