/* SPDX-License-Identifier: MIT */
#include "ranks/medians.h"

#include <math.h>

/* The k-th smallest comes to its place, smaller ones before it, greater ones behind. */
static double select_kth(double *v, size_t count, size_t k)
{
    size_t low = 0, high = count - 1;
    while (low < high) {
        double pivot = v[low + (high - low) / 2];
        size_t i = low, j = high;
        while (i <= j) {
            while (v[i] < pivot)
                i++;
            while (v[j] > pivot)
                j--;
            if (i <= j) {
                double t = v[i];
                v[i++] = v[j];
                v[j] = t;
                if (j-- == 0) break;
            }
        }
        if (j != (size_t)-1 && k <= j)
            high = j;
        else if (k >= i)
            low = i;
        else
            break;
    }
    return v[k];
}

double hb_median(double *v, size_t count)
{
    if (count == 0) return 0;
    double upper = select_kth(v, count, count / 2);
    if (count % 2) return upper;
    double lower = v[0];
    for (size_t i = 1; i < count / 2; i++)
        lower = v[i] > lower ? v[i] : lower;
    return (lower + upper) / 2;
}

double hb_deviation_about(double *v, size_t count, double median)
{
    for (size_t i = 0; i < count; i++)
        v[i] = fabs(v[i] - median);
    return 1.4826 * hb_median(v, count);
}
