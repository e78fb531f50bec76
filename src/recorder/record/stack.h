/* SPDX-License-Identifier: MIT
 *
 * Native call stacks: program counters while recording, text afterwards.
 */
#ifndef HB_RECORD_STACK_H
#define HB_RECORD_STACK_H

#include <stddef.h>
#include <stdint.h>

#include "trace/event.h"

#define HB_STACK_MAX 64u

/** The calling thread's frames from the one that `caller` returns into outwards, innermost first;
 * their number. */
uint32_t hb_stack_capture(uint64_t pcs[HB_STACK_MAX], const void *caller);

/** Turns program counters of this process into text, each distinct one once. */
typedef struct hb_symbolizer hb_symbolizer;

/** NULL without memory. */
hb_symbolizer *hb_symbolizer_new(void);
void hb_symbolizer_free(hb_symbolizer *symbolizer);

/** "file(line): function;" for each frame, those inlined into it first. Frames without debug
 * information give "module(0): function;" or "module(0): 0x...;". Valid until the next call. */
hb_str hb_symbolizer_stack(hb_symbolizer *symbolizer, const uint64_t *pcs, uint32_t count);

#endif
