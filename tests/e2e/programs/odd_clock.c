/* SPDX-License-Identifier: MIT
 *
 * Preloaded, it is a node whose clocks are its own: the wall clock ODD_WALL_NS ahead, and the
 * monotonic one ODD_DRIFT_PPM too fast.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long long number(const char *name)
{
    const char *text = getenv(name);
    return text ? atoll(text) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *t)
{
    int result = (int)syscall(SYS_clock_gettime, clock, t);
    long long ns = t->tv_sec * 1000000000LL + t->tv_nsec;
    if (result != 0) return result;
    if (clock == CLOCK_REALTIME) ns += number("ODD_WALL_NS");
    if (clock == CLOCK_MONOTONIC)
        ns += (long long)((double)ns * 1e-6 * (double)number("ODD_DRIFT_PPM"));
    t->tv_sec = ns / 1000000000LL;
    t->tv_nsec = ns % 1000000000LL;
    return 0;
}
