/* SPDX-License-Identifier: MIT
 *
 * The Wilcoxon-Mann-Whitney test and the shift that belongs to it: are two samples from the same
 * distribution, and if not, how far apart do they lie? Step times are skewed and have outliers, so
 * ranks and medians serve where means would not.
 *
 * After H. B. Mann and D. R. Whitney, "On a test of whether one of two random variables is
 * stochastically larger than the other", Ann. Math. Statist. 18 (1947); the exact distribution with
 * ties by the recurrence of B. Streitberg and J. Roehmel, "Exact distributions for permutation and
 * rank tests", Statistical Software Newsletter 12 (1986); shift and interval after J. L. Hodges and
 * E. L. Lehmann, "Estimates of location based on rank tests", Ann. Math. Statist. 34 (1963).
 */
#ifndef HB_COMPARE_RANK_TEST_H
#define HB_COMPARE_RANK_TEST_H

#include "base/base.h"

/** Up to this many values in both samples together the distribution is exact; with ties, half. */
enum { HB_RANK_EXACT = 40 };

/** The exact distribution of the sum of ranks. */
typedef struct hb_rank_table {
    double counts[HB_RANK_EXACT / 2 + 1][HB_RANK_EXACT * (HB_RANK_EXACT + 1) + 1];
    unsigned doubled[HB_RANK_EXACT]; /* the ranks, times two */
    size_t few, all, top;            /* values in the smaller sample, in both; the largest sum */
} hb_rank_table;

/** Remembers distributions, as few patterns of ranks serve nearly all rows, and the last interval.
 * Zeroed but for `alpha`, which must not change after the first call. */
typedef struct hb_rank_test {
    double alpha;             /* 0.01: called different by chance in one of a hundred */
    hb_rank_table tables[16]; /* by hash of the ranks */
    size_t interval_few, interval_all;
    double interval_rank;
} hb_rank_test;

typedef struct hb_rank_result {
    double p;     /* two-sided */
    bool too_few; /* not even the clearest difference could have p < alpha */
} hb_rank_result;

typedef struct hb_rank_sample {
    double *values;
    size_t count, zeros; /* how many zeros there are beside the values */
} hb_rank_sample;

/** Sorts the values of both samples, which have no NaN and at least one value each. */
hb_rank_result hb_rank_compare(hb_rank_test *test, hb_rank_sample x, hb_rank_sample y);

/** How much larger y is than x, with its interval at 1 - alpha. */
typedef struct hb_sample_shift {
    double shift, low, high;
} hb_sample_shift;

/** Of values that hb_rank_compare() sorted. */
hb_sample_shift hb_sample_shift_of(hb_rank_test *test, const double *x, size_t n, const double *y,
                                   size_t m);

#endif
