/* SPDX-License-Identifier: MIT
 *
 * What is said of many numbers: hb_statistics of hipboard/analysis.h.
 */
#ifndef HB_INSIGHT_STATISTICS_H
#define HB_INSIGHT_STATISTICS_H

#include <hipboard/analysis.h>

#include "base/base.h"

/** Between the neighbours linearly, as numpy.quantile(). `sorted` ascends and has no NaN; 0 when it
 * is empty. */
double hb_quantile(const double *sorted, size_t count, double q);

/** Sorts `values`, which have no NaN. All zero when there are none. */
hb_statistics hb_statistics_of(double *values, size_t count);

#endif
