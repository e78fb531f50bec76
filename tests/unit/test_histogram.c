/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tfevents/histogram.h"

static int only_bucket(double value)
{
    hb_bucket_counts histogram = {0};
    hb_histogram_add(&histogram, &value, 1);
    assert_int_equal(histogram.count, 1);
    int found = -1;
    for (int i = 0; i < HB_HISTOGRAM_BUCKETS; i++) {
        if (histogram.buckets[i] == 0) continue;
        assert_int_equal(found, -1);
        assert_int_equal(histogram.buckets[i], 1);
        found = i;
    }
    return found;
}

static void assert_in_its_bucket(double value)
{
    const double *limits = hb_histogram_limits();
    int bucket = only_bucket(value);
    assert_true(limits[bucket] <= value);
    assert_true(value < limits[bucket + 1] || bucket == HB_HISTOGRAM_BUCKETS - 1);
}

static void limits_grow_by_a_tenth_from_both_sides_of_zero(void **state)
{
    (void)state;
    const double *limits = hb_histogram_limits();
    assert_true(limits[HB_HISTOGRAM_SIDE] == 0);
    double limit = 1e-12;
    for (int i = 1; i <= HB_HISTOGRAM_SIDE; i++, limit *= 1.1) {
        assert_true(limits[HB_HISTOGRAM_SIDE + i] == limit);
        assert_true(limits[HB_HISTOGRAM_SIDE - i] == -limit);
    }
    assert_true(limit >= 1e20);
    assert_true(limits[HB_HISTOGRAM_LIMITS - 1] < 1e20);
}

static void a_limit_belongs_to_the_bucket_above_it(void **state)
{
    (void)state;
    const double *limits = hb_histogram_limits();
    for (int i = 0; i < HB_HISTOGRAM_BUCKETS; i++) {
        assert_int_equal(only_bucket(limits[i]), i);
        assert_int_equal(only_bucket(nextafter(limits[i + 1], -INFINITY)), i);
    }
    assert_int_equal(only_bucket(limits[HB_HISTOGRAM_BUCKETS]), HB_HISTOGRAM_BUCKETS - 1);
}

static void values_of_all_sizes_find_their_bucket(void **state)
{
    (void)state;
    srand(2);
    for (int i = 0; i < 20000; i++) {
        double size = pow(10, rand() % 36 - 14) * rand() / RAND_MAX;
        assert_in_its_bucket(size < 9e19 ? size : 1);
        assert_in_its_bucket(size < 9e19 ? -size : -1);
    }
    assert_in_its_bucket(0.0);
    assert_in_its_bucket(-0.0);
    assert_in_its_bucket(5e-324);
    assert_in_its_bucket(-5e-324);
}

static void values_beyond_the_limits_count_in_the_outermost_buckets(void **state)
{
    (void)state;
    assert_int_equal(only_bucket(1e300), HB_HISTOGRAM_BUCKETS - 1);
    assert_int_equal(only_bucket(-1e300), 0);
}

static void values_that_are_not_finite_are_left_out(void **state)
{
    (void)state;
    const double values[] = {NAN, 2, INFINITY, -3, -INFINITY};
    hb_bucket_counts histogram = {0};
    hb_histogram_add(&histogram, values, 5);
    assert_int_equal(histogram.count, 2);
    assert_true(histogram.min == -3 && histogram.max == 2);
    assert_true(histogram.sum == -1 && histogram.sum_squares == 13);
}

static void nothing_added_leaves_it_empty(void **state)
{
    (void)state;
    hb_bucket_counts histogram = {0};
    hb_histogram_add(&histogram, NULL, 0);
    assert_int_equal(histogram.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_grow_by_a_tenth_from_both_sides_of_zero),
        cmocka_unit_test(a_limit_belongs_to_the_bucket_above_it),
        cmocka_unit_test(values_of_all_sizes_find_their_bucket),
        cmocka_unit_test(values_beyond_the_limits_count_in_the_outermost_buckets),
        cmocka_unit_test(values_that_are_not_finite_are_left_out),
        cmocka_unit_test(nothing_added_leaves_it_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
