/* SPDX-License-Identifier: MIT
 *
 * What makes a profiler record besides requests from outside: the options that say so, slow steps,
 * and the program itself.
 */
#ifndef HB_PROFILER_TRIGGER_H
#define HB_PROFILER_TRIGGER_H

#include "profiler/profiler.h"

/** Refuses options that do not go together. */
hb_result hb_trigger_check(const hb_profiler_options *options);

/** Takes over what the options point to, and how many cycles stay. */
hb_result hb_trigger_take_options(hb_profiler *prof, const hb_profiler_options *options);

/** A step ends: whether it took long enough to be looked at. */
void hb_trigger_step(hb_profiler *prof);

#endif
