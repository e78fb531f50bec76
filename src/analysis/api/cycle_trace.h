/* SPDX-License-Identifier: MIT
 *
 * A recorded cycle as a trace in memory, for the same analysis as a file's.
 */
#ifndef HB_API_CYCLE_TRACE_H
#define HB_API_CYCLE_TRACE_H

#include "trace/source.h"
#include "trace/trace.h"
#include "write/write.h"

/** Fills `trace`, which the caller frees also after an error, with what a reader of the file in
 * that dialect finds: its events in the file's order and its members. Left out are the names of
 * rows, arrows and the markers of the window, which no analysis looks at. */
hb_result hb_cycle_trace(hb_source *source, hb_write_dialect dialect, hb_trace *trace);

#endif
