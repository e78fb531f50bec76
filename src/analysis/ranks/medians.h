/* SPDX-License-Identifier: MIT
 *
 * Medians, and how far from them values lie, which a few odd ones do not change.
 */
#ifndef HB_RANKS_MEDIANS_H
#define HB_RANKS_MEDIANS_H

#include <stddef.h>

/** Changes the values' order. Of an even number the mean of the two in the middle; 0 of none. */
double hb_median(double *values, size_t count);

/** A normal distribution's standard deviation by the median distance from `median`; changes the
 * values. */
double hb_deviation_about(double *values, size_t count, double median);

#endif
