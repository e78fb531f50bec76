/* SPDX-License-Identifier: MIT
 *
 * Handlers: functions called, on one thread of their own as in ROCr, when a signal meets a
 * condition.
 */
#ifndef SIM_HANDLER_H
#define SIM_HANDLER_H

#include "signals.h"

/** Moves the handlers of `signal` whose condition now holds to the thread that calls them. To be
 * called after every change of the value. */
void sim_handlers_fire_slowly(sim_signal *signal);

static inline void sim_handlers_fire(sim_signal *signal)
{
    if (__atomic_load_n(&signal->handlers, __ATOMIC_SEQ_CST)) sim_handlers_fire_slowly(signal);
}

/** Forgets the handlers that still wait for `signal`. */
void sim_handlers_drop(sim_signal *signal);

/** Ends the thread. Handlers that are due are not called any more, as in ROCr. */
void sim_handlers_stop(void);

#endif
