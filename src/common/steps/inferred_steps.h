/* SPDX-License-Identifier: MIT
 *
 * Steps that no range tells of: by call stacks, where launches have some, else by their sequence.
 */
#ifndef HB_STEPS_INFERRED_STEPS_H
#define HB_STEPS_INFERRED_STEPS_H

#include "steps/find_steps.h"
#include "steps/loops.h"

/** False, and `found` as it was: there are none to be seen, or too many launches to look at.
 * `texts` takes names. Leaves by the arena, with HB_ERROR_NOT_FOUND when a loop was asked for that
 * is not there, with HB_ERROR_LIMIT when it is not looked for. */
bool hb_infer_steps(hb_arena *arena, hb_texts *texts, hb_source *source, uint32_t loop,
                    hb_found_steps *found);

#endif
