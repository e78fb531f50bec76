/* SPDX-License-Identifier: MIT */
#include "record/clock.h"

#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "base/lock.h"

/* Two samples so far apart tell the length of a tick to a thousandth. */
#define APART_NS 100000

bool hb_clock_uses_counter;

static hb_clock_pair at_init; /* zeros where ticks are nanoseconds */

/* The kernel has checked that the counter is invariant and agrees between cores exactly when it
 * uses it itself. */
static bool kernel_trusts_counter(void)
{
    char name[32];
    FILE *f = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");
    if (!f) return false;
    bool told = fgets(name, sizeof name, f) != NULL;
    fclose(f);
    return told && (strncmp(name, "tsc", 3) == 0 || strncmp(name, "arch_sys_counter", 16) == 0);
}

void hb_clock_init(void)
{
#if defined(__x86_64__) || defined(__aarch64__)
    hb_clock_uses_counter = kernel_trusts_counter();
#endif
    at_init = hb_clock_uses_counter ? hb_clock_sample() : (hb_clock_pair){0};
}

hb_clock_pair hb_clock_first(void)
{
    if (hb_clock_ns(CLOCK_MONOTONIC) - at_init.monotonic_ns < APART_NS)
        hb_sleep_us(APART_NS / 1000);
    return at_init;
}

hb_clock_pair hb_clock_sample(void)
{
    hb_clock_pair best = {.width_ticks = UINT64_MAX};
    for (int i = 0; i < 8; i++) {
        uint64_t before = hb_ticks();
        int64_t monotonic = hb_clock_ns(CLOCK_MONOTONIC);
        int64_t real = hb_clock_ns(CLOCK_REALTIME);
        int64_t boottime = hb_clock_ns(CLOCK_BOOTTIME);
        uint64_t width = hb_ticks() - before;
        if (width >= best.width_ticks) continue;
        best = (hb_clock_pair){before + width / 2, monotonic, real, boottime, width};
    }
    return best;
}

hb_clock_fit hb_clock_fit_pairs(const hb_clock_pair *first, const hb_clock_pair *last)
{
    double ticks = (double)(int64_t)(last->ticks - first->ticks);
    double ns = (double)(int64_t)((uint64_t)last->monotonic_ns - (uint64_t)first->monotonic_ns);
    return (hb_clock_fit){
        .ticks0 = first->ticks,
        .unix0 = first->unix_ns > 0 && (double)first->unix_ns < 4 * HB_CLOCK_MOST_NS
                     ? first->unix_ns
                     : 0,
        .ns_per_tick = ticks > 0 && ns > 0 ? ns / ticks : 1.0,
    };
}

/* Boot time runs with the monotonic clock but for suspends, which this spreads over the session. */
hb_boottime_fit hb_clock_fit_boottime(const hb_clock_pair *first, const hb_clock_pair *last)
{
    double boottime = (double)(int64_t)((uint64_t)last->boottime_ns - (uint64_t)first->boottime_ns);
    double monotonic =
        (double)(int64_t)((uint64_t)last->monotonic_ns - (uint64_t)first->monotonic_ns);
    hb_clock_fit ticks = hb_clock_fit_pairs(first, last);
    uint64_t width = HB_MAX(first->width_ticks, last->width_ticks);
    double uncertainty = (double)width * ticks.ns_per_tick;
    return (hb_boottime_fit){
        .boottime0 = first->boottime_ns,
        .unix0 = ticks.unix0,
        .rate = boottime > 0 && monotonic > 0 ? monotonic / boottime : 1.0,
        .uncertainty_ns = (int64_t)HB_MIN(uncertainty, HB_CLOCK_MOST_NS) + 1,
    };
}
