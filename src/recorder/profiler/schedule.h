/* SPDX-License-Identifier: MIT
 *
 * Which steps are recorded, by torch.profiler.schedule()'s rules.
 */
#ifndef HB_PROFILER_SCHEDULE_H
#define HB_PROFILER_SCHEDULE_H

#include "base/base.h"

/** HB_ERROR_INVALID_ARGUMENT in torch's words when the arguments are wrong. */
hb_result hb_schedule_check(const hb_schedule *schedule);

/** False for the all-zero schedule: one cycle, no step annotations. */
bool hb_schedule_given(const hb_schedule *schedule);

#endif
