/* SPDX-License-Identifier: MIT
 *
 * Which scope a runtime call belongs to. The plugin only knows what External ids tell, but many
 * traces have none, or one that means something else: PyTorch 2.0 to 2.4 wrote a call's own
 * correlation there. Time tells it as well: a call belongs to the innermost scope that was open on
 * its thread, which is what the id says in traces that have one.
 */
#ifndef HB_TRACE_LINK_H
#define HB_TRACE_LINK_H

#include "base/arena.h"

/** A scope, or a call that looks for one, on a host thread. */
typedef struct hb_host_span {
    int64_t start, end; /* ns */
    int64_t thread;
    uint32_t item; /* whatever the caller knows it by */
    uint32_t outer;
    bool is_call;
} hb_host_span;

/** Calls `own` for each call that ran in a scope. Sorts the spans. */
void hb_find_owners(hb_arena *arena, hb_host_span *spans, size_t count,
                    void (*own)(void *context, uint32_t call, uint32_t scope), void *context);

#endif
