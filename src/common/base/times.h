/* SPDX-License-Identifier: MIT
 *
 * Nanoseconds, in which everything is counted, and the microseconds of trace files, in which Python
 * reads them.
 */
#ifndef HB_BASE_TIMES_H
#define HB_BASE_TIMES_H

#include "base/base.h"

/** The double that Python reads for a time written with up to three decimals: exact below 2^53 us,
 * as test_times shows. */
static inline double hb_ns_to_us(int64_t ns)
{
    if (HB_LIKELY(ns < INT64_C(1) << 53 && ns > -(INT64_C(1) << 53))) return (double)ns / 1e3;
    return (double)(ns / 1000) + (double)(ns % 1000) / 1e3;
}

/** As far from 0 as times go, so that three of them can be added: about a century, so times from
 * 1970 on until 2065. */
#define HB_MAX_TIME_NS INT64_C(3000000000000000000)

/** Adds to a sum of times, which stays within what there is: those of damaged files are each as
 * long as times go. */
static inline void hb_add_ns(int64_t *sum, int64_t ns)
{
    if (HB_UNLIKELY(__builtin_add_overflow(*sum, ns, sum))) *sum = ns < 0 ? INT64_MIN : INT64_MAX;
}

/** What is farther from 0 than times go is as far as they go. */
static inline int64_t hb_bounded_ns(int64_t ns)
{
    return HB_MIN(HB_MAX(ns, -HB_MAX_TIME_NS), HB_MAX_TIME_NS);
}

/** Whether hb_us_to_ns() takes it. */
static inline bool hb_us_fits_ns(double us)
{
    return us > -3e15 && us < 3e15;
}

/** To the nearest nanosecond. False, and 0, beyond HB_MAX_TIME_NS. */
bool hb_us_to_ns(double us, int64_t *ns);

/** The duration of [start, end] such that, as doubles, ts + dur is exactly the double of the end in
 * microseconds: then whatever nests or touches in nanoseconds does so in a reader's doubles too.
 * Usually hb_ns_to_us(); where rounding forbids that, a double near by, which still rounds to the
 * true nanosecond. Times are not before their base. */
typedef struct hb_nesting {
    double us;         /* what a reader has */
    uint64_t scaled;   /* the same as a decimal: us * 10^decimals */
    unsigned decimals; /* 0: it takes all 17 digits, and `scaled` is none */
} hb_nesting;
hb_nesting hb_nesting_of(uint64_t start_ns, uint64_t end_ns);

static inline double hb_nesting_us(uint64_t start_ns, uint64_t end_ns)
{
    return hb_nesting_of(start_ns, end_ns).us;
}

#endif
