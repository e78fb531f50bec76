/* SPDX-License-Identifier: MIT
 *
 * Lists of time ranges, as roles are summed up by step.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "plugin/py_ranges.h"

static uint64_t seed = 88172645463325252u;

static uint64_t draw(uint64_t below)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed % below;
}

static hb_num draw_time(bool odd)
{
    if (odd && draw(40) == 0) return hb_float(NAN);
    if (odd && draw(40) == 0) return hb_float(draw(2) ? INFINITY : -INFINITY);
    double v = (double)draw(400) / 4;
    return draw(2) && v == floor(v) ? hb_int((int64_t)v) : hb_float(v);
}

/* As the plugin sums: every range is looked at for every window. */
static hb_num sum_of_all(const hb_ranges *list, hb_range window)
{
    hb_num sum = hb_int(0);
    for (uint32_t i = 0; i < list->count; i++) {
        hb_range r = list->items[i];
        if (r.end.v <= window.start.v) continue;
        if (r.start.v >= window.end.v) break;
        if (r.start.v <= window.start.v) r.start = window.start;
        if (r.end.v >= window.end.v) r.end = window.end;
        sum = hb_num_add(sum, hb_num_sub(r.end, r.start));
    }
    return sum;
}

static void assert_same(hb_num a, hb_num b)
{
    assert_true(a.v == b.v || (a.v != a.v && b.v != b.v));
    assert_int_equal(a.is_float, b.is_float);
}

/* odd: reversed ranges, none in order, NaN and infinity. */
static void try_lists(bool odd)
{
    hb_arena arena = {0};
    if (!hb_arena_try(&arena)) fail();
    for (int round = 0; round < 3000; round++) {
        hb_ranges list = {0};
        uint64_t count = draw(12);
        double at = 0;
        for (uint64_t i = 0; i < count; i++) {
            hb_range r = {draw_time(odd), draw_time(odd)};
            if (!odd) {
                r.start = hb_float(at += (double)draw(9));
                r.end = hb_float(at += (double)draw(9));
            }
            *HB_PUSH(&arena, &list) = r;
        }
        hb_range_sums sums = hb_range_sums_of(&list);
        double start = -5;
        for (int i = 0; i < 8; i++) {
            hb_range window = {draw_time(odd), draw_time(odd)};
            if (!odd) { /* mostly ascending, sometimes from an earlier time again */
                start = draw(6) ? start + (double)draw(20) : (double)draw(50);
                window = (hb_range){hb_float(start), hb_float(start + (double)draw(20))};
            }
            hb_num expected = sum_of_all(&list, window);
            assert_same(hb_ranges_sum_next(&sums, window), expected);
            assert_same(hb_ranges_sum_in(&list, window), expected);
        }
    }
    hb_arena_free(&arena);
}

static void windows_in_order(void **state)
{
    (void)state;
    try_lists(false);
}

static void any_ranges_and_windows(void **state)
{
    (void)state;
    try_lists(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_in_order),
        cmocka_unit_test(any_ranges_and_windows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
