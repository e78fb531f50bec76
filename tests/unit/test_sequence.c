/* SPDX-License-Identifier: MIT
 *
 * Lists laid over each other, and loops folded.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "compare/sequence.h"

static uint32_t longest_common(const uint32_t *a, uint32_t n, const uint32_t *b, uint32_t m)
{
    uint32_t best[40][40] = {{0}};
    for (uint32_t i = 1; i <= n; i++)
        for (uint32_t k = 1; k <= m; k++)
            best[i][k] = a[i - 1] == b[k - 1] ? best[i - 1][k - 1] + 1
                                              : HB_MAX(best[i - 1][k], best[i][k - 1]);
    return best[n][m];
}

static uint32_t check_match(const uint32_t *a, const uint32_t *b, uint32_t m, const uint32_t *match)
{
    uint32_t count = 0, next = 0;
    for (uint32_t i = 0; i < m; i++) {
        if (match[i] == HB_UNMATCHED) continue;
        assert_int_equal(a[match[i]], b[i]);
        assert_true(match[i] >= next);
        next = match[i] + 1;
        count++;
    }
    return count;
}

static void test_alignment_is_the_longest(void **state)
{
    hb_arena arena = {0};
    (void)state;
    srand48(11);
    if (!hb_arena_try(&arena)) fail();
    for (int round = 0; round < 5000; round++) {
        uint32_t a[32], b[32], match[32], letters = 1 + (uint32_t)(drand48() * 5);
        uint32_t n = (uint32_t)(drand48() * 32), m = (uint32_t)(drand48() * 32);
        for (uint32_t i = 0; i < n; i++)
            a[i] = (uint32_t)(drand48() * letters);
        for (uint32_t i = 0; i < m; i++)
            b[i] = (uint32_t)(drand48() * letters);
        hb_sequence_align(&arena, a, n, b, m, match);
        assert_int_equal(check_match(a, b, m, match), longest_common(a, n, b, m));
    }
    hb_arena_free(&arena);
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* 300,000 calls a side, alike but for a few, and then nothing alike: quadratic would take minutes.
 */
static void test_long_lists_take_no_time(void **state)
{
    enum { LONG = 300000 };
    static uint32_t a[LONG], b[LONG], match[LONG];
    hb_arena arena = {0};
    (void)state;
    srand48(3);
    if (!hb_arena_try(&arena)) fail();
    for (uint32_t i = 0; i < LONG; i++)
        a[i] = b[i] = (uint32_t)(drand48() * 50);
    for (uint32_t i = 0; i < 40; i++)
        b[(uint32_t)(drand48() * LONG)] = 77;
    double start = seconds();
    hb_sequence_align(&arena, a, LONG, b, LONG, match);
    assert_true(check_match(a, b, LONG, match) >= LONG - 40);
    for (uint32_t i = 0; i < LONG; i++)
        b[i] = (uint32_t)(drand48() * 50);
    hb_sequence_align(&arena, a, LONG, b, LONG, match);
    assert_true(check_match(a, b, LONG, match) > 500);
    assert_true(seconds() - start < 20); /* a second; more under a sanitizer */
    hb_arena_free(&arena);
}

static const char *folded(const char *text)
{
    static char result[64];
    hb_arena arena = {0};
    uint32_t names[64], group[64], n = (uint32_t)strlen(text);
    if (!hb_arena_try(&arena)) fail();
    for (uint32_t i = 0; i < n; i++)
        names[i] = (uint32_t)text[i];
    uint32_t count = hb_sequence_fold(&arena, names, n, group);
    for (uint32_t i = 0; i < n; i++) {
        assert_true(group[i] < count);
        result[group[i]] = text[i];
    }
    result[count] = 0;
    hb_arena_free(&arena);
    return result;
}

static void test_loops_are_folded(void **state)
{
    (void)state;
    assert_string_equal(folded(""), "");
    assert_string_equal(folded("abc"), "abc");
    assert_string_equal(folded("aaaa"), "a");
    assert_string_equal(folded("xabababy"), "xaby");
    assert_string_equal(folded("aabaabaab"), "ab");
    assert_string_equal(folded("abcababcab"), "abcab");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alignment_is_the_longest),
        cmocka_unit_test(test_long_lists_take_no_time),
        cmocka_unit_test(test_loops_are_folded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
