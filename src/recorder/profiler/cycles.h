/* SPDX-License-Identifier: MIT
 *
 * The schedule's actions become prepared, started and stopped sessions, and on_trace_ready is
 * called at the moments at which torch calls it.
 */
#ifndef HB_PROFILER_CYCLES_H
#define HB_PROFILER_CYCLES_H

#include "profiler/profiler.h"

/** What a step's action asks for after the one before it. A handler's failure does not keep the
 * next cycle from starting. */
hb_result hb_cycles_transit(hb_profiler *prof, hb_profiler_action from, hb_profiler_action to);

/** Puts in place what recording needs, so that its beginning does not wait for it. */
hb_result hb_cycles_prepare(hb_profiler *prof);

/** Calls the handler with a cycle that hipboard's own thread has ended. */
hb_result hb_cycles_deliver(hb_profiler *prof);

/** The end of the last step: torch delivers a partial cycle when it was recording, and drops one
 * that was warming up. */
hb_result hb_cycles_finish(hb_profiler *prof);

/** Gives up the finished cycles that the profiler holds. */
void hb_cycles_drop(hb_profiler *prof);

/** Whether one of these activities is to be recorded: it is named, or none is. */
bool hb_wants_activity(const hb_profiler *prof, unsigned any);

#endif
