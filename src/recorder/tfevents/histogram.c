/* SPDX-License-Identifier: MIT */
#include "tfevents/histogram.h"

#include <math.h>
#include <pthread.h>

static double limits[HB_HISTOGRAM_LIMITS];

/* Multiplied step by step as torch does, so that the limits are its to the last bit. */
static void make_limits(void)
{
    double limit = 1e-12;
    for (int n = 0; n < HB_HISTOGRAM_SIDE; n++, limit *= 1.1) {
        limits[HB_HISTOGRAM_SIDE + 1 + n] = limit;
        limits[HB_HISTOGRAM_SIDE - 1 - n] = -limit;
    }
}

const double *hb_histogram_limits(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_limits);
    return limits;
}

/* The logarithm lands at most one bucket off, by rounding; the limits decide. */
static int bucket_of(const double *limit, double value)
{
    const double per_bucket = 0.09531017980432493; /* ln 1.1 */
    const double ln_first = -27.631021115928547;   /* ln 1e-12 */
    int bucket = HB_HISTOGRAM_SIDE;
    double size = fabs(value);
    if (size >= 1e-12) {
        double steps = fmin((log(size) - ln_first) / per_bucket, HB_HISTOGRAM_SIDE);
        bucket += value > 0 ? 1 + (int)steps : -2 - (int)steps;
    }
    bucket = HB_MAX(0, HB_MIN(bucket, HB_HISTOGRAM_BUCKETS - 1));
    while (bucket > 0 && value < limit[bucket])
        bucket--;
    while (bucket < HB_HISTOGRAM_BUCKETS - 1 && value >= limit[bucket + 1])
        bucket++;
    return bucket;
}

static void add(hb_bucket_counts *histogram, const double *limit, double value)
{
    if (histogram->count == 0) histogram->min = histogram->max = value;
    histogram->count++;
    histogram->min = fmin(histogram->min, value);
    histogram->max = fmax(histogram->max, value);
    histogram->sum += value;
    histogram->sum_squares += value * value;
    uint32_t *bucket = &histogram->buckets[bucket_of(limit, value)];
    *bucket += *bucket < UINT32_MAX;
}

void hb_histogram_add(hb_bucket_counts *histogram, const double *values, size_t num_values)
{
    const double *limit = hb_histogram_limits();
    for (size_t i = 0; i < num_values; i++)
        if (isfinite(values[i])) add(histogram, limit, values[i]);
}
