/* SPDX-License-Identifier: MIT */
#include "base/times.h"

#include <math.h>

bool hb_us_to_ns(double us, int64_t *ns)
{
    *ns = 0;
    if (!hb_us_fits_ns(us)) return false;
    double whole = floor(us);
    *ns = (int64_t)whole * 1000 + llround((us - whole) * 1000);
    return true;
}

/* Three months of microseconds take 43 bits, so a double's steps are up to 0.98 ns there and the
 * rounded sum ts + dur misses the rounded end in one event of four. What is taken then lies
 * half-way between the true duration and the difference of the rounded times: less than half a
 * nanosecond from the first, and as near to the second as the sum's own rounding forgives.
 *
 * Both operands are below 2^53 and 1000 is exact, so each quotient is what a reader's strtod()
 * makes of the text. */
static hb_nesting adjusted(double ts, double end, uint64_t dur_ns)
{
    static const struct {
        double scale;
        unsigned decimals;
    } tries[] = {{1e5, 5}, {1e7, 7}, {1e9, 9}};
    double half_way = ((double)dur_ns / 1e3 + (end - ts)) / 2;
    for (size_t i = 0; i < HB_ARRAY_LEN(tries); i++) {
        double scaled = nearbyint(half_way * tries[i].scale), us = scaled / tries[i].scale;
        if (scaled >= 0 && scaled < 0x1p53 && ts + us == end)
            return (hb_nesting){us, (uint64_t)scaled, tries[i].decimals};
    }
    /* Exact by Sterbenz's lemma, unless this is longer than the quarter is old. */
    return (hb_nesting){end - ts, 0, 0};
}

hb_nesting hb_nesting_of(uint64_t start_ns, uint64_t end_ns)
{
    double ts = (double)start_ns / 1e3, end = (double)end_ns / 1e3;
    uint64_t dur_ns = end_ns - start_ns;
    double us = (double)dur_ns / 1e3;
    return HB_LIKELY(ts + us == end) ? (hb_nesting){us, dur_ns, 3} : adjusted(ts, end, dur_ns);
}
