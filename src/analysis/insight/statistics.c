/* SPDX-License-Identifier: MIT */
#include "insight/statistics.h"

#include <math.h>
#include <stdlib.h>

double hb_quantile(const double *sorted, size_t count, double q)
{
    if (count == 0) return 0;
    double at = q * (double)(count - 1), below = floor(at);
    size_t i = (size_t)below;
    if (i + 1 >= count) return sorted[count - 1];
    return sorted[i] + (sorted[i + 1] - sorted[i]) * (at - below);
}

static int by_value(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

/* Two passes: differences from the mean lose nothing where squares of large numbers would. */
static double deviation(const double *values, size_t count, double mean)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (values[i] - mean) * (values[i] - mean);
    return sqrt(sum / (double)count);
}

hb_statistics hb_statistics_of(double *values, size_t count)
{
    hb_statistics s = {.count = count};
    if (count == 0) return s;
    qsort(values, count, sizeof *values, by_value);
    for (size_t i = 0; i < count; i++)
        s.sum += values[i];
    s.mean = s.sum / (double)count;
    s.std = deviation(values, count, s.mean);
    s.min = values[0];
    s.max = values[count - 1];
    s.median = hb_quantile(values, count, 0.5);
    s.p95 = hb_quantile(values, count, 0.95);
    return s;
}
