/* SPDX-License-Identifier: MIT
 *
 * A source's times by the clock of the job's reference rank, as far as the session knows it.
 */
#ifndef HB_REPLAY_ALIGNED_CLOCK_H
#define HB_REPLAY_ALIGNED_CLOCK_H

#include "base/base.h"
#include "record/clock.h"
#include "trace/source.h"

/** Puts a source around *source whose times are corrected, where its metadata have a measured
 * clock, and whose metadata say what was done. `start`: of the session. Without one, or where
 * nothing can be made of it, *source stays. On failure it is closed. */
hb_result hb_clock_align(hb_source **source, const hb_clock_pair *start, double ns_per_tick);

#endif
