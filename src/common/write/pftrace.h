/* SPDX-License-Identifier: MIT
 *
 * A source as Perfetto's protobuf, which its UI, trace_processor and TraceLens read. Rows are
 * sequences of their own, so that times are differences and names are numbers.
 */
#ifndef HB_WRITE_PFTRACE_H
#define HB_WRITE_PFTRACE_H

#include "io/sink.h"
#include "trace/source.h"

/** What was written, and what the format has no place for. */
typedef struct hb_pftrace_stats {
    uint64_t events;
    uint64_t inputs; /* operators whose inputs, stack, FLOPs or sequence number are left out */
    uint64_t modules, flows; /* left out */
    uint64_t bytes;
} hb_pftrace_stats;

/** Writes the source. `stats` may be NULL. The source stays open. Memory: 56 bytes an event of the
 * host, and the distinct names. */
hb_result hb_write_pftrace(hb_source *source, hb_sink *sink, hb_pftrace_stats *stats);

#endif
