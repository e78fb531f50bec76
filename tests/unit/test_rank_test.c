/* SPDX-License-Identifier: MIT
 *
 * The test for noise, against values computed elsewhere.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "compare/rank_test.h"

#define assert_near(a, b) assert_true(fabs((double)(a) - (b)) <= 1e-9 * fmax(1, fabs((double)(b))))

static hb_rank_test test_state;

typedef struct ranked {
    double p, shift, low, high;
    bool too_few;
} ranked;

static ranked ranks(double alpha, const double *x, size_t n, const double *y, size_t m)
{
    double a[64], b[64];
    memcpy(a, x, n * sizeof *a);
    memcpy(b, y, m * sizeof *b);
    if (test_state.alpha != alpha) test_state = (hb_rank_test){.alpha = alpha};
    hb_rank_result r =
        hb_rank_compare(&test_state, (hb_rank_sample){a, n, 0}, (hb_rank_sample){b, m, 0});
    hb_sample_shift s = hb_sample_shift_of(&test_state, a, n, b, m);
    return (ranked){r.p, s.shift, s.low, s.high, r.too_few};
}

/* The example of R's wilcox.test(), of Hollander and Wolfe (1973), page 69: permeability constants.
 * R: p-value 0.2544 (two-sided), difference 0.305, 95 percent interval -0.15 to 0.76. */
static void test_ranks_as_r(void **state)
{
    static const double x[] = {0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46};
    static const double y[] = {1.15, 0.88, 0.90, 0.74, 1.21};
    (void)state;
    ranked r = ranks(0.05, x, 10, y, 5);
    assert_near(r.p, 0.2544122544122544);
    assert_near(r.shift, -0.305);
    assert_near(r.low, -0.76);
    assert_near(r.high, 0.15);
    r = ranks(0.05, y, 5, x, 10);
    assert_near(r.p, 0.2544122544122544);
    assert_near(r.low, -0.15);
    assert_near(r.high, 0.76);
}

/* By listing all 70 ways to choose; and scipy.stats.mannwhitneyu(method="asymptotic"). */
static void test_ranks_with_ties(void **state)
{
    static const double x[] = {1, 2, 2, 3}, y[] = {2, 3, 4, 5}, same[] = {7, 7, 7, 7, 7, 7};
    double a[25], b[30];
    (void)state;
    assert_near(ranks(0.01, x, 4, y, 4).p, 0.2);
    assert_near(ranks(0.01, same, 6, same, 6).p, 1);
    for (int i = 0; i < 25; i++)
        a[i] = i * 37 % 101 / 10.0;
    for (int i = 0; i < 30; i++)
        b[i] = i * 53 % 97 / 10.0 + 2;
    ranked r = ranks(0.01, a, 25, b, 30);
    assert_near(r.p, 0.07047298746087628);
    assert_near(r.shift, 1.6);
}

/* Zeros beside the values are values as others: before, between and behind these, and equal to
 * some.
 */
static void test_zeros_that_are_counted(void **state)
{
    enum { ROUNDS = 3000, MOST = 32 };
    (void)state;
    srand48(11);
    test_state = (hb_rank_test){.alpha = 0.01};
    for (int round = 0; round < ROUNDS; round++) {
        double all[2][2 * MOST], some[2][MOST];
        hb_rank_sample whole[2], told[2];
        for (int side = 0; side < 2; side++) {
            size_t count = 1 + (size_t)(drand48() * (round % 2 ? 9 : MOST - 1));
            size_t zeros = (size_t)(drand48() * (round % 2 ? 9 : MOST));
            memset(all[side], 0, sizeof all[side]);
            for (size_t i = 0; i < count; i++)
                all[side][i] = some[side][i] = floor(drand48() * 9) - round % 3 * 4;
            whole[side] = (hb_rank_sample){all[side], count + zeros, 0};
            told[side] = (hb_rank_sample){some[side], count, zeros};
        }
        hb_rank_result expected = hb_rank_compare(&test_state, whole[0], whole[1]);
        hb_rank_result found = hb_rank_compare(&test_state, told[0], told[1]);
        assert_true(found.p == expected.p);
        assert_int_equal(found.too_few, expected.too_few);
    }
}

static void test_too_few_to_tell(void **state)
{
    static const double low[] = {1, 2, 3, 4, 5}, high[] = {11, 12, 13, 14, 15};
    (void)state;
    assert_true(ranks(0.01, low, 4, high, 4).too_few);
    assert_true(ranks(0.01, low, 1, high, 5).too_few);
    ranked r = ranks(0.01, low, 5, high, 5);
    assert_false(r.too_few);
    assert_near(r.p, 2.0 / 252);
    assert_false(ranks(0.05, low, 4, high, 4).too_few);
}

/* Samples of one distribution are told apart as seldom as promised, and an interval covers the
 * true shift as often. */
static void test_promise_is_kept(void **state)
{
    enum { ROUNDS = 4000 };
    int wrong = 0, covered = 0;
    (void)state;
    srand48(7);
    for (int round = 0; round < ROUNDS; round++) {
        double x[8], y[12];
        for (int i = 0; i < 8; i++)
            x[i] = -log(1 - drand48());
        for (int i = 0; i < 12; i++)
            y[i] = -log(1 - drand48());
        ranked r = ranks(0.05, x, 8, y, 12);
        wrong += r.p < 0.05;
        covered += r.low <= 0 && r.high >= 0;
    }
    assert_in_range(wrong, ROUNDS * 0.03, ROUNDS * 0.055);
    assert_in_range(covered, ROUNDS * 0.945, ROUNDS * 0.97);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranks_as_r),
        cmocka_unit_test(test_ranks_with_ties),
        cmocka_unit_test(test_zeros_that_are_counted),
        cmocka_unit_test(test_too_few_to_tell),
        cmocka_unit_test(test_promise_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
