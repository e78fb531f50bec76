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

/** Remembers the distribution of the last sizes, which mostly are those of the next call. */
typedef struct hb_rank_test {
    double alpha; /* 0.01: called different by chance in one of a hundred */
    double counts[HB_RANK_EXACT / 2 + 1][HB_RANK_EXACT * (HB_RANK_EXACT + 1) + 1];
    size_t few, all, top; /* what `counts` is of; 0: nothing */
} hb_rank_test;

typedef struct hb_rank_result {
    double p;                /* two-sided */
    double shift, low, high; /* of y against x, with its interval at 1 - alpha */
    bool too_few;            /* not even the clearest difference could have p < alpha */
} hb_rank_result;

/** Sorts both samples, which have no NaN and at least one value each. */
hb_rank_result hb_rank_compare(hb_rank_test *test, double *x, size_t n, double *y, size_t m);

#endif
