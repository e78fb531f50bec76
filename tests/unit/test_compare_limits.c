/* SPDX-License-Identifier: MIT
 *
 * Limits of a comparison in each unit, just met and just not.
 */
#include "compare_traces.h"

/* 104.5 us before, 156.75 after. */
static void test_each_unit_of_a_limit_on_time(void **state)
{
    static const struct {
        const char *met, *not_met;
    } cases[] = {
        {"operator:mm > 156700ns", "operator:mm > 156800ns"},
        {"operator:mm > 156.7us", "operator:mm > 156.8us"},
        {"operator:mm > 0.1567ms", "operator:mm > 0.1568ms"},
        {"operator:mm > .0001567 s", "operator:mm > .0001568 s"},
        {"operator:mm < 156.8us", "operator:mm < 156.7us"},
        {"operator:mm<=0.1568ms", "operator:mm<=0.1567ms"},
        {"operator:mm >= 156.7us", "operator:mm >= 156.8us"},
        {"operator:mm > +52200ns", "operator:mm > +52300ns"},
        {"operator:mm > +52.2us", "operator:mm > +52.3us"},
        {"operator:mm > +0.0522ms", "operator:mm > +0.0523ms"},
        {"operator:mm > +49.9%", "operator:mm > +50.1%"},
        {"operator:mm < +50.1%", "operator:mm < +49.9%"},
        {"operator:mm > -1%", "operator:mm < -1%"},
    };
    (void)state;
    hb_comparison *c = compare(write_trace("u1.json", 10, plain, ""),
                               write_trace("u2.json", 10, slower, ""), false);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        check_limit(c, cases[i].met, false, true);
        check_limit(c, cases[i].not_met, false, false);
    }
    hb_compare_finding finding;
    assert_int_equal(hb_comparison_check(c, 1, "operator:mm > +5%", false, &finding), HB_OK);
    assert_ptr_equal(strstr(finding.reason, "u2.json: operator:mm 104.5 us -> 156.8 us, +50.0 % "
                                            "(beyond noise, p = "),
                     finding.reason);
    assert_non_null(strstr(finding.reason, ", 10 and 10 steps); limit: operator:mm > +5%"));
    assert_int_equal(hb_comparison_check(c, 2, "step_time > +5%", false, &finding),
                     HB_ERROR_NOT_FOUND);
    assert_int_equal(hb_comparison_check(c, 1, NULL, false, &finding), HB_ERROR_INVALID_ARGUMENT);
    assert_int_equal(hb_comparison_check(c, 1, "step_time > +5%", false, NULL),
                     HB_ERROR_INVALID_ARGUMENT);
    hb_comparison_free(c);
}

static const char *write_memory_trace(const char *name, const char *peak)
{
    FILE *f = begin_trace(name, "");
    put_event(f, "user_annotation", "ProfilerStep#1", 1000, 500, "");
    put_event(f, "cpu_op", "mm", 1010, 100, "");
    for (int i = 0; i < 2; i++)
        fprintf(
            f,
            "{\"ph\": \"i\", \"cat\": \"cpu_instant_event\", \"name\": \"[memory]\", \"pid\": 1, "
            "\"tid\": 1, \"ts\": %d, \"args\": {\"Device Type\": 1, \"Device Id\": 0, \"Bytes\": "
            "64, \"Addr\": 1, \"Total Allocated\": %s, \"Total Reserved\": 0}},\n",
            1020 + i, i ? "5" : peak);
    end_trace(f);
    return path_of(name);
}

static void test_each_unit_of_a_limit_on_memory(void **state)
{
    static const char *const after[] = {"1610612736B",   "1610612.736KB", "1610.612736MB",
                                        "1.610612736GB", "1572864KiB",    "1536MiB",
                                        "1.5GiB"};
    char limit[80];
    (void)state;
    hb_comparison *c = compare(write_memory_trace("m1.json", "1073741824"),
                               write_memory_trace("m2.json", "1610612736"), false);
    for (size_t i = 0; i < sizeof after / sizeof *after; i++) {
        snprintf(limit, sizeof limit, "peak_memory >= %s", after[i]);
        check_limit(c, limit, false, true);
        snprintf(limit, sizeof limit, "peak_memory > %s", after[i]);
        check_limit(c, limit, false, false);
    }
    check_limit(c, "peak_memory >= +512MiB", true, true);
    check_limit(c, "peak_memory > +512MiB", true, false);
    check_limit(c, "peak_memory >= +50%", true, true);
    hb_compare_finding finding;
    assert_int_equal(hb_comparison_check(c, 1, "peak_memory > +5%", false, &finding), HB_OK);
    assert_ptr_equal(
        strstr(finding.reason, "m2.json: peak_memory 1 GiB -> 1.500 GiB, +50.0 % (counted, "),
        finding.reason);
    hb_comparison_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_unit_of_a_limit_on_time),
        cmocka_unit_test(test_each_unit_of_a_limit_on_memory),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
