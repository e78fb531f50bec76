/* SPDX-License-Identifier: MIT
 *
 * Which operators calls and device work belong to in torch's tables.
 */
#ifndef HB_TORCH_FUNCTION_LINKS_H
#define HB_TORCH_FUNCTION_LINKS_H

#include "torch/function_events.h"

/** Whether External ids of device work are operators'. Writers of 2023 put a record's own
 * correlation there, ROCm's newest write none. */
bool hb_fn_has_links(const hb_trace *trace);

/** Links calls to the operators that they ran in, and device work to its call's. What torch had in
 * memory when it wrote such a file. To be called inside hb_arena_try(). */
void hb_fn_link_by_time(hb_arena *arena, const hb_trace *trace, hb_fn *fns, uint32_t count);

#endif
