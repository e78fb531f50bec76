/* SPDX-License-Identifier: MIT
 *
 * A digest as a trace of which only the steps are known.
 */
#ifndef HB_RANKS_RANK_STEPS_H
#define HB_RANKS_RANK_STEPS_H

#include "plugin/analysis.h"
#include "ranks/study.h"

/** Fills in a trace without events, and its steps, from malloc: for hb_analysis_of_steps(). Where
 * no steps are marked the whole recording is one, as the plugin has it. Both are to be freed also
 * when it fails. */
hb_result hb_rank_tell(const hb_rank_digest *digest, hb_trace *trace, hb_told_step **steps,
                       uint32_t *count);

#endif
