/* SPDX-License-Identifier: MIT
 *
 * What a short call takes on a machine whose speed changes with what else it does, up to twofold:
 * the best of many short rounds, of which only those count that lie between two turns of a fixed
 * loop that were as fast as any of the series.
 */
#ifndef ROUNDS_H
#define ROUNDS_H

#include <time.h>

enum { SESSIONS = 20, ROUNDS = 10, CALLS = 250 };

typedef struct series {
    struct {
        double each, spin;
    } rounds[SESSIONS * ROUNDS];
    int count;
} series;

static inline double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static inline double spin_ns(void)
{
    volatile unsigned x = 1;
    double start = now_ns();
    for (int i = 0; i < 4000; i++)
        x = x * 2654435761u + 1;
    return now_ns() - start;
}

/* ROUNDS of CALLS, as far as there is room; `between` after each. */
static inline void measure(series *s, void (*call)(void), void (*between)(void))
{
    for (int round = 0; round < ROUNDS && s->count < SESSIONS * ROUNDS; round++) {
        double before = spin_ns(), start = now_ns();
        for (int i = 0; i < CALLS; i++)
            call();
        double each = (now_ns() - start) / CALLS, after = spin_ns();
        double slower = before > after ? before : after;
        s->rounds[s->count].each = each;
        s->rounds[s->count++].spin = slower;
        between();
    }
}

/** Nanoseconds a call. Rounds count by the quickest turn beside any of the same series: beside the
 * quickest of all, which may fall into a moment of another, there may be none. */
static inline double best(const series *s)
{
    double least = 1e18, fastest = 1e18;
    for (int i = 0; i < s->count; i++)
        if (s->rounds[i].spin < fastest) fastest = s->rounds[i].spin;
    for (int i = 0; i < s->count; i++)
        if (s->rounds[i].spin < 1.1 * fastest && s->rounds[i].each < least)
            least = s->rounds[i].each;
    return least;
}

#endif
