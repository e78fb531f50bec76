/* SPDX-License-Identifier: MIT
 *
 * Which profiler of the process records: one at a time. One with the option `yields` makes room for
 * any other, in the other's thread, and goes on when that one stops.
 */
#ifndef HB_PROFILER_ARBITRATION_H
#define HB_PROFILER_ARBITRATION_H

#include "profiler/profiler.h"

/** prof is to record from now on. A profiler that yields is paused; one that yields itself starts
 * paused while another records. HB_ERROR_BUSY when the other does not yield. */
hb_result hb_arbitration_take(hb_profiler *prof);

/** prof has stopped: a profiler that it paused goes on. */
void hb_arbitration_give(hb_profiler *prof);

/** The profiler that records, or NULL. */
hb_profiler *hb_arbitration_holder(void);

/** What a profiler that yields does must not meet with its pause, nor what one does that can be
 * triggered with hipboard's own thread: held around their calls. Does nothing for other profilers.
 */
void hb_arbitration_lock(const hb_profiler *prof);
void hb_arbitration_unlock(const hb_profiler *prof);

/** Hands prof's finished cycle also to the handler of the profiler that it paused. */
hb_result hb_arbitration_deliver(hb_profiler *prof);

/** In a forked child, which may run a profiler of its own. */
void hb_arbitration_after_fork(void);

#endif
