/* SPDX-License-Identifier: MIT
 *
 * The edges of a trace: which call started a piece of device work, and in which scope that was.
 * They are resolved once, by what the file's ids turn out to mean, and lie in hb_device_row. The
 * plugin's numbers take no part in this: it joins by raw ids, and its mistakes are its answers.
 */
#ifndef HB_TRACE_EDGES_H
#define HB_TRACE_EDGES_H

#include "trace/trace.h"

/** A row that is none. */
#define HB_NO_EVENT UINT32_MAX

/** Resolves the edges, unless that was done since rows were last changed. HB_ERROR_NO_MEMORY. */
hb_result hb_trace_link(hb_trace *trace);

/** The rows have changed: another call of hb_trace_link() is needed. */
static inline void hb_trace_unlink(hb_trace *trace)
{
    trace->linked = false;
}

/** Of device work: the row of the call that started it, the last one of its correlation. */
static inline uint32_t hb_work_call(const hb_trace *trace, const hb_row *work)
{
    return hb_trace_device(trace, work)->call - 1;
}

/** Of device work and of calls: the row of the operator that it belongs to, by its External id; or,
 * where those tell nothing, the innermost one at the time of the call. */
static inline uint32_t hb_event_scope(const hb_trace *trace, const hb_row *row)
{
    return hb_trace_device(trace, row)->scope - 1;
}

#endif
