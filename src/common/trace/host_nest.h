/* SPDX-License-Identifier: MIT
 *
 * The parent of a host event: the innermost one that had begun on its thread before it, and not yet
 * ended. It is an edge that few ask for, and follows from the times; so it is found when asked for,
 * among the rows that it is asked of, and takes no memory of a trace that nobody asks. The plugin
 * and torch find parents by rules of their own, which differ where events cross.
 */
#ifndef HB_TRACE_HOST_NEST_H
#define HB_TRACE_HOST_NEST_H

#include "trace/trace.h"

/** No parent; no place. */
#define HB_NO_PLACE UINT32_MAX

/** Rows in the order of their threads and starts, what is around before what is in it. A place is
 * an index of both. */
typedef struct hb_host_nest {
    const hb_trace *trace;
    hb_u32s rows;
    uint32_t *parents; /* places; the parent's parents may have ended before */
} hb_host_nest;

/** Of timed rows on the host, in any order, which are sorted. Leaves by the arena without memory.
 */
void hb_host_nest_make(hb_arena *arena, const hb_trace *trace, hb_u32s rows, hb_host_nest *nest);

static inline const hb_row *hb_host_nest_row(const hb_host_nest *nest, uint32_t place)
{
    return hb_trace_row(nest->trace, nest->rows.items[place]);
}

#endif
