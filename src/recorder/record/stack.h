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

/** The same from the program's innermost frame on: without those of this library, and of others
 * that were named. */
uint32_t hb_stack_capture_outside(uint64_t pcs[HB_STACK_MAX]);

/** Where calls that go through a frame of this library's in the program's stack return to: no
 * frame of the program. */
void hb_stack_leave_out(const void *return_address);

/** The library that this address is in stands between the program and this one; at most eight, more
 * are frames like others. */
void hb_stack_pass_over(const void *address);

#endif
