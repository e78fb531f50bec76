/* SPDX-License-Identifier: MIT */
#include "sim.h"

#include <sched.h>
#include <time.h>

/* Below this a sleep overshoots by more than it saves. */
#define SHORTEST_SLEEP_NS 20000

uint64_t sim_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void sim_sleep_until(uint64_t time_ns)
{
    struct timespec t = {(time_t)(time_ns / 1000000000u), (long)(time_ns % 1000000000u)};
    for (;;) {
        uint64_t now = sim_now();
        if (now >= time_ns) return;
        if (time_ns - now < SHORTEST_SLEEP_NS)
            sched_yield();
        else
            clock_nanosleep(CLOCK_BOOTTIME, TIMER_ABSTIME, &t, NULL);
    }
}

uint64_t sim_copy_duration(uint64_t bytes, double gbps)
{
    return sim_config.copy_ns + (uint64_t)((double)bytes / gbps); /* bytes per ns = 10^9 a second */
}
