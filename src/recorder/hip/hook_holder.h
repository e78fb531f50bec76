/* SPDX-License-Identifier: MIT
 *
 * Who holds the runtime's hooks. They have one holder at a time, the last that registered, and the
 * runtime does not tell who that is: but the function that registers says where it stores it.
 */
#ifndef HB_HIP_HOOK_HOLDER_H
#define HB_HIP_HOOK_HOLDER_H

#include "hip/hip_runtime.h"

/** Whether somebody else than `ours` is registered by the runtime's function `registers`, or may be
 * where that can't be found out, with the reason in `why`. */
bool hb_hook_is_taken(const hb_hip *hip, const char *registers, const void *ours, hb_buf *why);

#endif
