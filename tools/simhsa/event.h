/* SPDX-License-Identifier: MIT
 *
 * An event count: lets a thread sleep until some other state changes, without a lock around it.
 *
 *     waiter                                       notifier
 *     sim_event_enter(&e);                         change the state (sequentially consistent);
 *     while (seen = sim_event_seen(&e), !ready())  sim_event_notify(&e);
 *         sim_event_sleep(&e, seen, timeout);
 *     sim_event_leave(&e);
 *
 * No wake-up is lost: either the notifier sees the waiter and moves the sequence, so that a sleep
 * on the old number returns at once, or the waiter, having entered later, sees the changed state.
 * With nobody waiting a notification costs one load.
 */
#ifndef SIM_EVENT_H
#define SIM_EVENT_H

#include <stdint.h>

typedef struct sim_event {
    uint32_t sequence;
    uint32_t waiters;
} sim_event;

static inline void sim_event_enter(sim_event *event)
{
    __atomic_add_fetch(&event->waiters, 1, __ATOMIC_SEQ_CST);
}

static inline void sim_event_leave(sim_event *event)
{
    __atomic_sub_fetch(&event->waiters, 1, __ATOMIC_SEQ_CST);
}

static inline uint32_t sim_event_seen(sim_event *event)
{
    return __atomic_load_n(&event->sequence, __ATOMIC_SEQ_CST);
}

/** Sleeps until the sequence is no longer `seen`, `timeout_ns` passed (SIM_FOREVER: no limit), or
 * for no reason. */
void sim_event_sleep(sim_event *event, uint32_t seen, uint64_t timeout_ns);

void sim_event_wake_all(sim_event *event);

static inline void sim_event_notify(sim_event *event)
{
    if (__atomic_load_n(&event->waiters, __ATOMIC_SEQ_CST) != 0) sim_event_wake_all(event);
}

#endif
