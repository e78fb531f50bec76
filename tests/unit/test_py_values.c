/* SPDX-License-Identifier: MIT
 *
 * JSON values as Python's str() has them: expected are the answers of CPython 3.11, to
 * str(json.loads(text)).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "plugin/py_values.h"

static void values_are_as_python_has_them(void **state)
{
    static const char *const cases[][2] = {
        {"null", "None"},
        {"true", "True"},
        {"1.0", "1.0"},
        {"-0", "0"},
        {"\"plain\"", "plain"},
        {"\"it's\"", "it's"},
        {"[]", "[]"},
        {"{}", "{}"},
        {"[true, false, null]", "[True, False, None]"},
        {"[1,-2,1.5,1e5,1e16,1e-5,0.0001,-0.0,12345678901234567890]",
         "[1, -2, 1.5, 100000.0, 1e+16, 1e-05, 0.0001, -0.0, 12345678901234567890]"},
        {"[NaN, Infinity, -Infinity]", "[nan, inf, -inf]"},
        {"{\"a\": [1, {\"b\": \"c\"}], \"d\": {}}", "{'a': [1, {'b': 'c'}], 'd': {}}"},
        {"[\"it's\"]", "[\"it's\"]"},
        {"[\"say \\\"so\\\"\"]", "['say \"so\"']"},
        {"[\"it's \\\"both\\\"\"]", "['it\\'s \"both\"']"},
        {"[\"a\\\\b\"]", "['a\\\\b']"},
        {"[\"line\\nline\\r\\ttab\"]", "['line\\nline\\r\\ttab']"},
        {"[\"\\u0001\\u001f \\u007f~\"]", "['\\x01\\x1f \\x7f~']"},
        {"{\"it's\": \"\\u00e9\"}", "{\"it's\": '\xc3\xa9'}"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hb_buf buf;
        char text[256] = ""; /* behind texts of traces are zeros, which are looked at */
        hb_buf_init(&buf, SIZE_MAX / 2);
        strcpy(text, cases[i][0]);
        hb_json_to_python(&buf, (hb_str){text, (uint32_t)strlen(text)});
        if (strcmp(hb_buf_text(&buf), cases[i][1]) != 0)
            fail_msg("%s: %s, not %s", cases[i][0], hb_buf_text(&buf), cases[i][1]);
        hb_buf_free(&buf);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(values_are_as_python_has_them)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
