/* SPDX-License-Identifier: MIT
 *
 * Native call stacks, as program counters.
 */
#ifndef HB_RECORD_STACK_H
#define HB_RECORD_STACK_H

#include <stddef.h>
#include <stdint.h>

#include "trace/event.h"

#define HB_STACK_MAX 64u

/** Loads libunwind, once, before stacks are recorded. */
void hb_stack_prepare(void);

/** The calling thread's frames from the one that `caller` returns into outwards, innermost first;
 * their number. */
uint32_t hb_stack_capture(uint64_t pcs[HB_STACK_MAX], const void *caller);

#endif
