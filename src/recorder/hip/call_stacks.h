/* SPDX-License-Identifier: MIT
 *
 * Where the program made a HIP call: a record of its own, so that calls without stacks cost
 * nothing.
 */
#ifndef HB_HIP_CALL_STACKS_H
#define HB_HIP_CALL_STACKS_H

#include "hip/calls.h"

/** Whether the running session wants them. */
static inline bool hb_calls_want_stacks(void)
{
    return __atomic_load_n(&hb_recording_now.flags, __ATOMIC_RELAXED) & HB_SESSION_STACK;
}

/** Records the calling thread's stack as that of `frame`, whose own record is there. */
HB_COLD void hb_call_put_stack(const hb_frame *frame);

#endif
