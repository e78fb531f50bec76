/* SPDX-License-Identifier: MIT
 *
 * Counts of values in the buckets that torch's SummaryWriter and TensorFlow use by default.
 */
#ifndef HB_TFEVENTS_HISTOGRAM_H
#define HB_TFEVENTS_HISTOGRAM_H

#include "base/base.h"

/* Limits of one sign: 1e-12 * 1.1^n below 1e20. */
#define HB_HISTOGRAM_SIDE    774
#define HB_HISTOGRAM_LIMITS  (2 * HB_HISTOGRAM_SIDE + 1)
#define HB_HISTOGRAM_BUCKETS (HB_HISTOGRAM_LIMITS - 1)

/** All zero is an empty histogram. */
typedef struct hb_bucket_counts {
    uint64_t count; /* finite values */
    double min, max, sum, sum_squares;
    uint32_t buckets[HB_HISTOGRAM_BUCKETS]; /* saturating */
} hb_bucket_counts;

/** Values beyond the limits count in the outermost buckets; NaN and infinities are left out. */
void hb_histogram_add(hb_bucket_counts *histogram, const double *values, size_t num_values);

/** The limits, ascending: bucket i holds the values from limit i up to, not including, limit i + 1,
 * the last bucket its upper limit too. */
const double *hb_histogram_limits(void);

#endif
