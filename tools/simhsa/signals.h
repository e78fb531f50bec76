/* SPDX-License-Identifier: MIT
 *
 * Signals: a 64-bit value that threads wait on and that handlers are called for.
 */
#ifndef SIM_SIGNALS_H
#define SIM_SIGNALS_H

#include "event.h"
#include "sim.h"

/* A handle is the address of one. The HIP runtime looks into the part that AMD's headers lay out.
 *
 * Memory of signals is recycled but never given back: who changes a value wakes waiters and
 * handlers after the change, when the waiter may already have destroyed the signal. */
typedef struct sim_signal {
    amd_signal_t amd;
    sim_event changed;
    struct sim_handler *handlers; /* atomic; see handler.h */
    struct sim_signal *next_free;
} sim_signal;

static inline sim_signal *sim_signal_of(hsa_signal_t handle)
{
    return (sim_signal *)(uintptr_t)handle.handle;
}

bool sim_condition_holds(hsa_signal_value_t value, hsa_signal_condition_t condition,
                         hsa_signal_value_t compare);

/** NULL when out of memory. */
sim_signal *sim_signal_create(hsa_signal_value_t value, int64_t kind);
void sim_signal_destroy(sim_signal *signal);

hsa_signal_value_t sim_signal_load(const sim_signal *signal);
/** A doorbell keeps its greatest value. */
void sim_signal_store(sim_signal *signal, hsa_signal_value_t value);
void sim_signal_add(sim_signal *signal, hsa_signal_value_t value);

/** Waits until the masked value meets the condition, `timeout_ns` passed or `*stop` is true (NULL:
 * never; who sets it calls sim_event_wake_all). The last value seen. */
hsa_signal_value_t sim_signal_wait(sim_signal *signal, hsa_signal_condition_t condition,
                                   hsa_signal_value_t compare, hsa_signal_value_t mask,
                                   uint64_t timeout_ns, const bool *stop);

/** Waits without a limit; when, in simulated time, the condition came to hold. That is the end of
 * the operation that the signal stands for, or now when the host set the signal while we waited. */
uint64_t sim_signal_await(hsa_signal_t handle, hsa_signal_condition_t condition,
                          hsa_signal_value_t compare, hsa_signal_value_t mask, const bool *stop);

/** Ends the operation that `handle` (0: none) stands for: the times first, then the value. */
void sim_signal_complete(hsa_signal_t handle, uint64_t begin_ns, uint64_t end_ns);

#endif
