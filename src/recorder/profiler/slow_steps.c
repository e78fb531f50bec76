/* SPDX-License-Identifier: MIT */
#include "profiler/slow_steps.h"

/* Of few numbers: what lies in the middle when they are put in order one by one. */
static int64_t median_of(const int64_t *ns, size_t count)
{
    int64_t sorted[HB_SLOW_STEPS_KEPT];
    for (size_t i = 0; i < count; i++) {
        size_t at = i;
        for (; at && sorted[at - 1] > ns[i]; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = ns[i];
    }
    return sorted[count / 2];
}

bool hb_slow_steps_next(hb_slow_steps *s, int64_t now_ns, unsigned percent, int64_t *took,
                        int64_t *median)
{
    int64_t began = s->began_ns;
    s->began_ns = now_ns;
    if (began == 0) return false;
    size_t known = HB_MIN(s->count, HB_SLOW_STEPS_KEPT);
    *took = HB_MAX(now_ns - began, 0);
    *median = known ? median_of(s->ns, known) : 0;
    s->ns[s->count++ % HB_SLOW_STEPS_KEPT] = *took;
    return known >= HB_SLOW_STEPS_LEAST && (__int128)*took * 100 > (__int128)*median * percent;
}
