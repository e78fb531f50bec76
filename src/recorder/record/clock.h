/* SPDX-License-Identifier: MIT
 *
 * The recording clock: the processor's counter where it is constant and the same on all cores, else
 * CLOCK_MONOTONIC. A tick costs one instruction or one vDSO call; its meaning in Unix time is found
 * afterwards, from pairs taken at both ends of a session.
 */
#ifndef HB_RECORD_CLOCK_H
#define HB_RECORD_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/base.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

extern HB_OWN bool hb_clock_uses_counter;

/** Decides which clock to use, and looks at it; called once, before the first tick. */
void hb_clock_init(void);

/** hb_ticks() where hb_clock_uses_counter: without a call. */
static inline uint64_t hb_ticks_of_counter(void)
{
#if defined(__x86_64__)
    return __rdtsc();
#elif defined(__aarch64__)
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return 0;
#endif
}

static inline uint64_t hb_ticks(void)
{
    if (__builtin_expect(hb_clock_uses_counter, 1)) return hb_ticks_of_counter();
    return (uint64_t)hb_clock_ns(CLOCK_MONOTONIC);
}

/** The same moment on four clocks. */
typedef struct hb_clock_pair {
    uint64_t ticks;
    int64_t monotonic_ns, unix_ns;
    int64_t boottime_ns;  /* the clock of HIP devices */
    uint64_t width_ticks; /* the readings lie within this */
} hb_clock_pair;

/** A pair whose parts lie closest together out of several tries. */
hb_clock_pair hb_clock_sample(void);

/** The one of hb_clock_init(), long enough ago to tell with a new one how long a tick is: in the
 * process's first 100 us it waits. Zeros where that is known. */
hb_clock_pair hb_clock_first(void);

/** A line from ticks to Unix nanoseconds. Its slope comes from CLOCK_MONOTONIC and its offset from
 * one reading of the wall clock, so that a wall clock set during the session moves nothing. */
typedef struct hb_clock_fit {
    uint64_t ticks0;
    int64_t unix0;
    double ns_per_tick;
} hb_clock_fit;

hb_clock_fit hb_clock_fit_pairs(const hb_clock_pair *first, const hb_clock_pair *last);

/* Only a damaged record is decades away from its session; bounded, times can be subtracted. */
#define HB_CLOCK_MOST_NS 1e18

static inline int64_t hb_clock_unix(const hb_clock_fit *fit, uint64_t ticks)
{
    double ns = (double)(int64_t)(ticks - fit->ticks0) * fit->ns_per_tick;
    if (HB_UNLIKELY(!(ns < HB_CLOCK_MOST_NS && ns > -HB_CLOCK_MOST_NS))) return fit->unix0;
    return fit->unix0 + (int64_t)ns;
}

/** A line from CLOCK_BOOTTIME to the same Unix nanoseconds, by the same two pairs. */
typedef struct hb_boottime_fit {
    int64_t boottime0, unix0;
    double rate;
    int64_t uncertainty_ns; /* of a time made by it against one made from ticks */
} hb_boottime_fit;

hb_boottime_fit hb_clock_fit_boottime(const hb_clock_pair *first, const hb_clock_pair *last);

static inline int64_t hb_clock_unix_of_boottime(const hb_boottime_fit *fit, int64_t boottime_ns)
{
    double ns = (double)(int64_t)((uint64_t)boottime_ns - (uint64_t)fit->boottime0) * fit->rate;
    if (HB_UNLIKELY(!(ns < HB_CLOCK_MOST_NS && ns > -HB_CLOCK_MOST_NS))) return fit->unix0;
    return fit->unix0 + (int64_t)ns;
}

#endif
