/* SPDX-License-Identifier: MIT
 *
 * JSON tokens: what Python's json takes is taken, each fault of other writers is noted where it is,
 * and all else is refused where it begins.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json_members.h"
#include "base/json_scan.h"

static char text[4096], noted[512];

static void note(void *context, hb_json_defect defect, const char *at)
{
    static const char *const names[] = {
#define NAME(name, meaning) #name,
        HB_JSON_DEFECT_MAP(NAME)
#undef NAME
    };
    size_t n = strlen(noted);
    (void)context;
    snprintf(noted + n, sizeof noted - n, "%s%s@%d", n ? " " : "", names[defect], (int)(at - text));
}

/* Behind the token, or NULL. */
static const char *scan(const char *json, hb_scan *s, hb_value *value)
{
    memset(text, 0, sizeof text);
    assert_true(strlen(json) < sizeof text - HB_SCAN_PADDING);
    strcpy(text, json);
    noted[0] = '\0';
    *s = (hb_scan){.end = text + strlen(json), .defect = note, .check_na = true};
    return hb_scan_value(s, text, value);
}

static void check_value(const char *json, hb_json type, const char *rest, const char *defects)
{
    hb_scan s;
    hb_value v = {0};
    const char *behind = scan(json, &s, &v);
    if (!behind) fail_msg("%s: %s at %d", json, s.why, (int)(s.at - text));
    if (v.type != type || strcmp(behind, rest) != 0 || strcmp(noted, defects) != 0)
        fail_msg("%s: type %d, then '%s', %s", json, v.type, behind, noted);
    bool string = type == HB_JSON_STRING && *json == '"';
    assert_int_equal(v.size, strlen(json) - strlen(rest) - (string ? 2 : 0));
    assert_ptr_equal(v.s, text + string);
}

static void check_refused(const char *json, int at, const char *why, bool cut)
{
    hb_scan s;
    hb_value v;
    if (scan(json, &s, &v)) fail_msg("%s is taken", json);
    if (strcmp(s.why, why) != 0 || s.at - text != at || hb_scan_cut(&s) != cut)
        fail_msg("%s: %s at %d", json, s.why, (int)(s.at - text));
}

static void numbers_and_words(void **state)
{
    (void)state;
    check_value("0 ", HB_JSON_INT, " ", "");
    check_value("-120]", HB_JSON_INT, "]", "");
    check_value("9.50,", HB_JSON_FLOAT, ",", "");
    check_value("1e5", HB_JSON_FLOAT, "", "");
    check_value("-0.25E-07}", HB_JSON_FLOAT, "}", "");
    check_value("2E+3", HB_JSON_FLOAT, "", "");
    check_value("null", HB_JSON_NULL, "", "");
    check_value("true,", HB_JSON_TRUE, ",", "");
    check_value("false", HB_JSON_FALSE, "", "");
    check_value("NaN", HB_JSON_FLOAT, "", "");
    check_value("Infinity", HB_JSON_FLOAT, "", "");
    check_value("-Infinity ", HB_JSON_FLOAT, " ", "");
    check_value("N/A}", HB_JSON_STRING, "}", "BARE_NA@0");
}

#define LATER "                 " /* so that more text would not help */

static void what_is_no_value(void **state)
{
    (void)state;
    check_refused("01" LATER, 1, "a number begins with 0", false);
    check_refused("-09" LATER, 2, "a number begins with 0", false);
    check_refused("1." LATER, 2, "expected a digit after the point", false);
    check_refused("1.e5" LATER, 2, "expected a digit after the point", false);
    check_refused("1e" LATER, 2, "expected a digit in the exponent", false);
    check_refused("1e+" LATER, 3, "expected a digit in the exponent", false);
    check_refused("-" LATER, 0, "expected a value", false);
    check_refused("+1" LATER, 0, "expected a value", false);
    check_refused("nul,              ", 0, "expected a value", false);
    check_refused("TRUE              ", 0, "expected a value", false);
    check_refused("", 0, "the text ends in a word", true);
    check_refused("nul", 3, "the text ends in a word", true);
    check_refused("-Infinit", 8, "the text ends in a word", true);
    check_refused("-", 1, "the text ends in a word", true);
    check_refused("\"abc", 4, "the text ends in a string", true);
    check_refused("\"abc\\", 5, "the text ends in an escape", true);
    check_refused("\"abc\\u12", 8, "the text ends in an escape", true);
    check_refused("x              ", 0, "expected a value", true); /* 15 bytes from the end */
}

static void strings_and_their_faults(void **state)
{
    (void)state;
    check_value("\"\"", HB_JSON_STRING, "", "");
    check_value("\"fifteen bytes..\",", HB_JSON_STRING, ",", "");
    check_value("\"sixteen bytes...\",", HB_JSON_STRING, ",", "");
    check_value("\"seventeen bytes..\",", HB_JSON_STRING, ",", "");
    check_value("\"a\\\"b\\\\\" \"", HB_JSON_STRING, " \"", "");
    check_value("\"\\/\\b\\f\\n\\r\\t\\u00e9\\uABCD\"", HB_JSON_STRING, "", "");
    check_value("\"a\tb\x1f\" ", HB_JSON_STRING, " ", "CONTROL@2 CONTROL@4");
    check_value("\"a\\qb  .\" ", HB_JSON_STRING, " ", "BAD_ESCAPE@2");
    check_value("\"\\u12g4 .\" ", HB_JSON_STRING, " ", "BAD_ESCAPE@1");
    check_value("\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"", HB_JSON_STRING, "", "");
    check_value("\"a\xff.\xc3\" ", HB_JSON_STRING, " ", "BAD_UTF8@2 BAD_UTF8@4");
    check_value("\"\xed\xa0\x80\xed\xbf\xbf\xed\x9f\xbf\"", HB_JSON_STRING, "",
                "SURROGATE@1 SURROGATE@4");
    check_value("\"\xed\xa0\"", HB_JSON_STRING, "", "BAD_UTF8@1 BAD_UTF8@2");
    check_value("\"more than sixteen bytes, then \xff and so on\"", HB_JSON_STRING, "",
                "BAD_UTF8@31");
    check_value("\"is N/A, N/A\"", HB_JSON_STRING, "", "INNER_NA@4");
    check_value("\"N/A is N/A here\"", HB_JSON_STRING, "", "INNER_NA@8");
    check_value("\"N/A\"", HB_JSON_STRING, "", "");
}

static void containers(void **state)
{
    (void)state;
    check_value("[]", HB_JSON_ARRAY, "", "");
    check_value("{ } ", HB_JSON_OBJECT, " ", "");
    check_value("[1 , [ ] ,{\"a\" : [{}, 2.5 ]}\n, \"x\"]]", HB_JSON_ARRAY, "]", "");
    check_value("{\"a\":{\"b\":[1,2]},\t\"c\":null},", HB_JSON_OBJECT, ",", "");
    check_value("[N/A, \"\x01\"]", HB_JSON_ARRAY, "", "BARE_NA@1 CONTROL@7");
    check_value("[                                   1]", HB_JSON_ARRAY, "", "");
    check_refused("[1 2]" LATER, 3, "expected ',' or a closing bracket", false);
    check_refused("[1}" LATER, 2, "expected ',' or a closing bracket", false);
    check_refused("{\"a\":1]" LATER, 6, "expected ',' or a closing bracket", false);
    check_refused("[1,]" LATER, 3, "expected a value", false);
    check_refused("{\"a\":1,}" LATER, 7, "expected a member's name", false);
    check_refused("{1:2}" LATER, 1, "expected a member's name", false);
    check_refused("{\"a\" 1}" LATER, 5, "expected ':'", false);
    check_refused("[[1, 2]", 7, "expected ',' or a closing bracket", true);
}

static void so_deep_and_no_deeper(void **state)
{
    (void)state;
    for (int more = 0; more < 2; more++) {
        char deep[2 * (HB_SCAN_MAX_DEPTH + 1) + 32] = "";
        int depth = HB_SCAN_MAX_DEPTH + more;
        memset(deep, '[', (size_t)depth);
        memset(deep + depth, ']', (size_t)depth);
        if (more)
            check_refused(deep, HB_SCAN_MAX_DEPTH, "nested too deeply", false);
        else
            check_value(deep, HB_JSON_ARRAY, "", "");
    }
}

static hb_value value_of(const char *json)
{
    hb_scan s;
    hb_value v;
    assert_non_null(scan(json, &s, &v));
    return v;
}

static void numbers_have_their_values(void **state)
{
    static const char *const exact[] = {"0",
                                        "-0",
                                        "7",
                                        "-120",
                                        "0.1",
                                        "1795256296153421.318",
                                        "-2.5",
                                        "1e5",
                                        "1E-7",
                                        "123456789012345678",
                                        "9007199254740993",
                                        "0.0000000000000001",
                                        "99999999999999999999",
                                        "1.7976931348623157e308",
                                        "-0.125e2"};
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(exact); i++) {
        hb_value v = value_of(exact[i]);
        double value = hb_value_double(&v), right = strtod(exact[i], NULL);
        if (memcmp(&value, &right, sizeof value) != 0) fail_msg("%s: %.17g", exact[i], value);
    }
    int64_t n = 5;
    hb_value v = value_of("999999999999999999");
    assert_true(hb_value_int(&v, &n) && n == INT64_C(999999999999999999));
    v = value_of("-999999999999999999");
    assert_true(hb_value_int(&v, &n) && n == -INT64_C(999999999999999999));
    v = value_of("1000000000000000000");
    assert_false(hb_value_int(&v, &n));
    v = value_of("-12.0");
    assert_false(hb_value_int(&v, &n));
}

static void check_decoded(const char *json, const char *bytes)
{
    hb_value v = value_of(json);
    hb_buf buf;
    hb_buf_init(&buf, 4096);
    hb_buf_str(&buf, "<");
    hb_value_decode(&v, &buf);
    assert_string_equal(hb_buf_text(&buf) + 1, bytes);
    assert_int_equal(buf.size, strlen(bytes) + 1);
    hb_buf_free(&buf);
}

static void escapes_are_resolved(void **state)
{
    (void)state;
    check_decoded("\"plain\"", "plain");
    check_decoded("\"\\\"\\\\\\/\\b\\f\\n\\r\\t.\"", "\"\\/\b\f\n\r\t.");
    check_decoded("\"a\\u0041\\u007f\\u0080\\u07FF\\u0800\\uffff!\"",
                  "aA\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf!");
    check_decoded("\"\\ud83d\\ude00\\uD800\\uDC00\\udbff\\udfff\"",
                  "\xf0\x9f\x98\x80\xf0\x90\x80\x80\xf4\x8f\xbf\xbf");
    check_decoded("\"\\ud83dx\\ude00\"", "\xed\xa0\xbdx\xed\xb8\x80"); /* halves alone */
    check_decoded("\"\\ud83d\\u0041\"", "\xed\xa0\xbd"
                                        "A");
    check_decoded("\"\\ud83d\\ud83d\\ude00\"", "\xed\xa0\xbd\xf0\x9f\x98\x80");
    check_decoded("\"\\q \\u12g4 .\"", "\\q \\u12g4 .");
    assert_int_equal(hb_scan_unit("\\u0aF9"), 0xaf9);
    assert_int_equal(hb_scan_unit("\\u0aG9"), -1);
    assert_int_equal(hb_scan_unit("xu0aF9"), -1);
    assert_int_equal(hb_scan_unit("\\x0aF9"), -1);
}

static void lists_are_counted(void **state)
{
    static const struct {
        const char *json;
        int count;
        bool nested;
    } cases[] = {{"[]", 0, false},
                 {"[ 1 ]", 1, false},
                 {"[1, 2,3 , \"a,b\"]", 4, false},
                 {"[[1], [2, 3]]", 2, false},
                 {"[[1], [[2], 3]]", 2, true},
                 {"[{\"a\": [[1]]}]", 1, false},
                 {"[[[1]], 2]", 2, true},
                 {"{}", -1, false},
                 {"7", -1, false}};
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(cases); i++) {
        bool nested;
        hb_value v = value_of(cases[i].json);
        assert_int_equal(hb_list_count(&v, &nested), cases[i].count);
        assert_int_equal(nested, cases[i].nested);
    }
}

static void texts_are_compared(void **state)
{
    (void)state;
    hb_value v = value_of("\"name\"");
    assert_true(hb_value_is(&v, "name"));
    assert_false(hb_value_is(&v, "nam") || hb_value_is(&v, "names") || hb_value_is(&v, "nams"));
    v = value_of("\"n\\\\\"");
    assert_false(hb_value_is(&v, "n\\\\"));
    v = value_of("null");
    assert_false(hb_value_is(&v, "null"));
    assert_true(hb_value_is_null(&v));
}

/* ---- what lies in a text ---- */

/* As it lies in a table of texts: the scanner looks at several bytes at once. */
static hb_str kept(const char *json)
{
    static char copy[512];
    assert_true(strlen(json) + HB_SCAN_PADDING < sizeof copy);
    memset(copy, 0, sizeof copy);
    memcpy(copy, json, strlen(json));
    return (hb_str){copy, (uint32_t)strlen(json)};
}

typedef struct visit {
    char seen[200];
    int most;
} visit;

static bool note_element(void *context, const hb_value *v)
{
    visit *seen = context;
    size_t n = strlen(seen->seen);
    snprintf(seen->seen + n, sizeof seen->seen - n, "%.*s;", (int)v->size, v->s);
    return --seen->most > 0;
}

static bool note_member(void *context, const hb_value *key, const hb_value *value)
{
    (void)note_element(context, key);
    return note_element(context, value);
}

static void check_seen(bool members, const char *json, int most, const char *expected)
{
    visit seen = {"", most};
    hb_str given = kept(json);
    if (members)
        hb_json_each_member(given, note_member, &seen);
    else
        hb_json_each(given, note_element, &seen);
    assert_string_equal(seen.seen, expected);
}

static void elements_and_members_in_turn(void **state)
{
    (void)state;
    check_seen(false, "[]", 9, "");
    check_seen(false, "[ ]", 9, "");
    check_seen(false, "[1]", 9, "1;");
    check_seen(false, "[1 , \"a,]\",[2,3],\n{\"b\":4} ] ", 9, "1;a,];[2,3];{\"b\":4};");
    check_seen(false, "[1,2,3]", 2, "1;2;");
    check_seen(true, "{}", 9, "");
    check_seen(true, "{ }", 9, "");
    check_seen(true, "{\"a\":1}", 9, "a;1;");
    check_seen(true, "{ \"a\" : [1,2] ,\n\"b}\" : \"c\" }", 9, "a;[1,2];b};c;");
    check_seen(true, "{\"a\":1,\"b\":2,\"c\":3}", 3, "a;1;b;2;");
}

static void the_last_member_of_a_name(void **state)
{
    (void)state;
    hb_str json = kept("{\"a\": 1, \"b\": \"x\", \"ab\": 2, \"a\": 3.5}");
    hb_value v = hb_json_member(json, "a");
    assert_int_equal(v.type, HB_JSON_FLOAT);
    assert_int_equal(v.size, 3);
    assert_int_equal(hb_json_member(json, "b").type, HB_JSON_STRING);
    assert_int_equal(hb_json_member(json, "c").type, HB_JSON_NONE);
    assert_true(hb_json_number(json, "a", 7) == 3.5 && hb_json_number(json, "ab", 7) == 2);
    assert_true(hb_json_number(json, "b", 7) == 7 && hb_json_number(json, "c", 7) == 7);
    assert_int_equal(hb_json_member(kept("[1]"), "a").type, HB_JSON_NONE);
    assert_int_equal(hb_json_member(kept(""), "a").type, HB_JSON_NONE);
}

static void times_in_whole_nanoseconds(void **state)
{
    static const struct {
        const char *json;
        int64_t ns;
        bool is;
    } cases[] = {{"0", 0, true},
                 {"-1", -1, true},
                 {"1795256296196340123", 1795256296196340123, true},
                 {"2999999999999999999", 2999999999999999999, true},
                 {"-2999999999999999999", -2999999999999999999, true},
                 {"3000000000000000000", 0, false},
                 {"-3000000000000000000", 0, false},
                 {"9223372036854775808", 0, false},
                 {"18446744073709551617", 0, false}, /* 1, where 64 bits are counted only */
                 {"10000000000000000000000", 0, false},
                 {"100000000000000000000000", 0, false},
                 {"1.5", 0, false},
                 {"\"7\"", 0, false},
                 {"true", 0, false}};
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(cases); i++) {
        int64_t ns = 0;
        hb_value v = value_of(cases[i].json);
        assert_int_equal(hb_value_time(&v, &ns), cases[i].is);
        if (cases[i].is) assert_int_equal(ns, cases[i].ns);
    }
}

/* A character of two bytes goes in whole or not at all. */
static void texts_are_cut_behind_a_character(void **state)
{
    static const char *const cut[] = {
        "", "", "\xc3\xa9", "\xc3\xa9\"", "\xc3\xa9\"", "\xc3\xa9\"\xc3\xa9", "\xc3\xa9\"\xc3\xa9"};
    char to[9];
    (void)state;
    for (size_t room = 1; room <= HB_ARRAY_LEN(cut); room++) {
        hb_value v = value_of("\"\\u00e9\\\"\xc3\xa9\"");
        memset(to, 'x', sizeof to);
        assert_int_equal(hb_value_put_text(&v, to, room), strlen(cut[room - 1]));
        assert_string_equal(to, cut[room - 1]);
        assert_int_equal(to[room], 'x');
    }
    hb_value number = value_of("12");
    assert_int_equal(hb_value_put_text(&number, to, sizeof to), 0);
    assert_string_equal(to, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_and_words),
        cmocka_unit_test(what_is_no_value),
        cmocka_unit_test(strings_and_their_faults),
        cmocka_unit_test(containers),
        cmocka_unit_test(so_deep_and_no_deeper),
        cmocka_unit_test(numbers_have_their_values),
        cmocka_unit_test(escapes_are_resolved),
        cmocka_unit_test(lists_are_counted),
        cmocka_unit_test(texts_are_compared),
        cmocka_unit_test(elements_and_members_in_turn),
        cmocka_unit_test(the_last_member_of_a_name),
        cmocka_unit_test(times_in_whole_nanoseconds),
        cmocka_unit_test(texts_are_cut_behind_a_character),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
