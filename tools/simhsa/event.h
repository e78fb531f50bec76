/* SPDX-License-Identifier: MIT
 *
 * An event count: lets a thread sleep until some other state changes, without a lock around it.
 *
 *     waiter                                       notifier
 *     while (seen = sim_event_prepare(&e),         change the state (sequentially consistent);
 *            !ready())                             sim_event_notify(&e);
 *         sim_event_sleep(&e, seen, timeout);
 *
 * No wake-up is lost: either the notifier sees that somebody prepares to sleep and moves the
 * sequence, so that a sleep on the old number returns at once, or the waiter, having prepared
 * later, sees the changed state. The first notifier wakes all; the next ones, and all when nobody
 * waits, pay one load: a doorbell that is rung many times until the queue's thread gets a processor
 * costs its ringer one system call.
 */
#ifndef SIM_EVENT_H
#define SIM_EVENT_H

#include <stdint.h>

typedef struct sim_event {
    uint32_t sequence;
    uint32_t awaited; /* somebody sleeps, or may be about to */
} sim_event;

static inline uint32_t sim_event_prepare(sim_event *event)
{
    uint32_t seen = __atomic_load_n(&event->sequence, __ATOMIC_SEQ_CST);
    __atomic_store_n(&event->awaited, 1, __ATOMIC_SEQ_CST);
    return seen;
}

/** Sleeps until the sequence is no longer `seen`, `timeout_ns` passed (SIM_FOREVER: no limit), or
 * for no reason. */
void sim_event_sleep(sim_event *event, uint32_t seen, uint64_t timeout_ns);

void sim_event_wake_all(sim_event *event);

static inline void sim_event_notify(sim_event *event)
{
    if (__atomic_load_n(&event->awaited, __ATOMIC_SEQ_CST) == 0) return;
    if (__atomic_exchange_n(&event->awaited, 0, __ATOMIC_SEQ_CST)) sim_event_wake_all(event);
}

#endif
