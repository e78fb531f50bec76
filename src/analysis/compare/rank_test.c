/* SPDX-License-Identifier: MIT */
#include "compare/rank_test.h"

#include <math.h>
#include <stdlib.h>

#include "base/string_table.h"

static int by_value(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

/* ---- ranks ---- */

typedef struct ranks {
    unsigned
        doubled[HB_RANK_EXACT]; /* twice the mean rank of each value, ascending; small samples */
    double x_sum;               /* of the ranks of x */
    double tied;                /* sum of t^3 - t over runs of t equal values */
} ranks;

static size_t size_of(const hb_rank_sample *s)
{
    return s->count + s->zeros;
}

/* The smallest value that is left; infinity: none. */
static double smallest(const hb_rank_sample *s)
{
    double value = s->count ? s->values[0] : INFINITY;
    return s->zeros ? fmin(value, 0) : value;
}

/* Takes what is equal to the value off the sample's beginning; how many. */
static size_t take(hb_rank_sample *s, double value)
{
    size_t n = 0, zeros = value == 0 ? s->zeros : 0;
    while (n < s->count && s->values[n] == value)
        n++;
    s->values += n;
    s->count -= n;
    s->zeros -= zeros;
    return n + zeros;
}

/* Both samples are sorted; equal values share the mean of their ranks. */
static ranks rank_all(hb_rank_sample x, hb_rank_sample y)
{
    ranks r = {.x_sum = 0};
    bool few = size_of(&x) + size_of(&y) <= HB_RANK_EXACT;
    for (size_t before = 0, t; size_of(&x) + size_of(&y) > 0; before += t) {
        double value = fmin(smallest(&x), smallest(&y));
        size_t of_x = take(&x, value);
        t = of_x + take(&y, value);
        r.x_sum += (double)of_x * ((double)before + ((double)t + 1) / 2);
        r.tied += (double)t * (double)t * (double)t - (double)t;
        for (size_t k = 0; k < t && few; k++)
            r.doubled[before + k] = (unsigned)(2 * before + t + 1);
    }
    return r;
}

/* ---- the exact distribution ---- */

/* counts[k][s]: ways to choose k of the ranks with doubled sum s. */
static void count_sums(hb_rank_table *t)
{
    t->top = t->all * (t->all + 1);
    for (size_t k = 0; k <= t->few; k++)
        memset(t->counts[k], 0, (t->top + 1) * sizeof t->counts[k][0]);
    t->counts[0][0] = 1;
    for (size_t i = 0; i < t->all; i++)
        for (size_t k = HB_MIN(t->few, i + 1); k >= 1; k--)
            for (size_t s = t->doubled[i]; s <= t->top; s++)
                t->counts[k][s] += t->counts[k - 1][s - t->doubled[i]];
}

static const hb_rank_table *table_of(hb_rank_test *test, const unsigned *doubled, size_t all,
                                     size_t few)
{
    size_t size = all * sizeof *doubled;
    uint32_t hash = hb_hash_bytes(doubled, size) + (uint32_t)few * 7;
    hb_rank_table *t = &test->tables[hash % HB_ARRAY_LEN(test->tables)];
    if (t->few == few && t->all == all && memcmp(t->doubled, doubled, size) == 0) return t;
    memcpy(t->doubled, doubled, size);
    t->few = few;
    t->all = all;
    count_sums(t);
    return t;
}

static const hb_rank_table *untied_table(hb_rank_test *test, size_t all, size_t few)
{
    unsigned doubled[HB_RANK_EXACT];
    for (size_t i = 0; i < all; i++)
        doubled[i] = 2 * (unsigned)(i + 1);
    return table_of(test, doubled, all, few);
}

static double share_up_to(const hb_rank_table *t, size_t doubled_sum)
{
    const double *counts = t->counts[t->few];
    double below = 0, total = 0;
    for (size_t s = 0; s <= t->top; s++) {
        total += counts[s];
        if (s <= doubled_sum) below += counts[s];
    }
    return below / total;
}

/* The smaller sample's sum decides as well as the other's. */
static double exact_p(hb_rank_test *test, const ranks *r, size_t n, size_t m)
{
    size_t all = n + m, few = HB_MIN(n, m);
    double sum = n <= m ? r->x_sum : (double)all * ((double)all + 1) / 2 - r->x_sum;
    size_t doubled = (size_t)(2 * sum + 0.5);
    const hb_rank_table *t = table_of(test, r->doubled, all, few);
    double below = share_up_to(t, doubled);
    double above = doubled ? 1 - share_up_to(t, doubled - 1) : 1;
    return fmin(1, 2 * fmin(below, above));
}

static double normal_p(const ranks *r, size_t n, size_t m)
{
    double x = (double)n, y = (double)m, all = x + y;
    double u = r->x_sum - x * (x + 1) / 2;
    double variance = x * y / 12 * (all + 1 - r->tied / (all * (all - 1)));
    double distance = fabs(u - x * y / 2) - 0.5; /* the correction for continuity */
    if (!(variance > 0) || distance <= 0) return 1;
    return erfc(distance / sqrt(2 * variance));
}

/* ---- the shift ---- */

static uint64_t ordered_bits(double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

static double from_ordered(uint64_t bits)
{
    double v;
    bits = bits >> 63 ? bits & ~((uint64_t)1 << 63) : ~bits;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static double count_up_to(const double *x, size_t n, const double *y, size_t m, double difference)
{
    double count = 0;
    for (size_t i = 0, j = 0; i < n; i++) {
        while (j < m && y[j] - x[i] <= difference)
            j++;
        count += (double)j;
    }
    return count;
}

/* The k-th smallest of all differences y - x, from 1; by halving the doubles between the ends, as
 * there may be too many differences to list. */
static double nth_difference(const double *x, size_t n, const double *y, size_t m, double k)
{
    uint64_t low = ordered_bits(y[0] - x[n - 1]), high = ordered_bits(y[m - 1] - x[0]);
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (count_up_to(x, n, y, m, from_ordered(middle)) >= k)
            high = middle;
        else
            low = middle + 1;
    }
    return from_ordered(low) + 0.0; /* no -0 */
}

static double median_difference(const double *x, size_t n, const double *y, size_t m)
{
    double pairs = (double)n * (double)m, half = floor((pairs + 1) / 2);
    double lower = nth_difference(x, n, y, m, half);
    if (half * 2 > pairs) return lower;
    return (lower + nth_difference(x, n, y, m, half + 1)) / 2;
}

/* z with erfc(z / sqrt(2)) = alpha. */
static double normal_limit(double alpha)
{
    double low = 0, high = 40;
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        *(erfc(middle / sqrt(2)) > alpha ? &low : &high) = middle;
    }
    return high;
}

/* How many differences to leave out at each end, and one: the quantile of the test's statistic. */
static double interval_rank(hb_rank_test *test, size_t n, size_t m)
{
    double x = (double)n, y = (double)m;
    size_t few = HB_MIN(n, m), rank = 0;
    if (n + m > HB_RANK_EXACT)
        return fmax(1,
                    floor(x * y / 2 - normal_limit(test->alpha) * sqrt(x * y * (x + y + 1) / 12)));
    if (test->interval_few == few && test->interval_all == n + m) return test->interval_rank;
    const hb_rank_table *t = untied_table(test, n + m, few);
    while (share_up_to(t, few * (few + 1) + 2 * rank) < test->alpha / 2)
        rank++;
    test->interval_few = few;
    test->interval_all = n + m;
    return test->interval_rank = fmax(1, (double)rank);
}

/* The smallest p there is: one sample wholly below the other. */
static bool too_few(size_t n, size_t m, double alpha)
{
    double ways = 1;
    for (size_t i = 1; i <= HB_MIN(n, m) && ways * alpha < 2; i++)
        ways *= (double)(n + m + 1 - i) / (double)i;
    return ways * alpha < 2;
}

hb_rank_result hb_rank_compare(hb_rank_test *test, hb_rank_sample x, hb_rank_sample y)
{
    size_t n = size_of(&x), m = size_of(&y);
    qsort(x.values, x.count, sizeof *x.values, by_value);
    qsort(y.values, y.count, sizeof *y.values, by_value);
    ranks r = rank_all(x, y);
    bool exact = n + m <= (r.tied > 0 ? HB_RANK_EXACT / 2 : HB_RANK_EXACT);
    return (hb_rank_result){.p = exact ? exact_p(test, &r, n, m) : normal_p(&r, n, m),
                            .too_few = too_few(n, m, test->alpha)};
}

hb_sample_shift hb_sample_shift_of(hb_rank_test *test, const double *x, size_t n, const double *y,
                                   size_t m)
{
    double k = interval_rank(test, n, m);
    return (hb_sample_shift){
        .shift = median_difference(x, n, y, m),
        .low = nth_difference(x, n, y, m, k),
        .high = nth_difference(x, n, y, m, (double)n * (double)m + 1 - k),
    };
}
