/* SPDX-License-Identifier: MIT
 *
 * Formats to write: each takes one process after the other.
 */
#ifndef HB_EXPORT_EXPORTER_H
#define HB_EXPORT_EXPORTER_H

#include <hipboard/export.h>

#include "trace/source.h"

/* What formats have no place for: X(key, what it says of a count). */
#define HB_EXPORT_NOTES(X)                                                             \
    X(INPUTS, "operators whose inputs, stack, FLOPs or sequence number are left out")  \
    X(MODULES, "module frames left out")                                               \
    X(FLOWS, "arrows of the program left out")                                         \
    X(ANNOTATIONS, "annotations written as ranges, which are read as operators")       \
    X(TOTALS, "allocations whose total is left out, as it began before the first one") \
    X(FAILED, "allocations that failed left out")                                      \
    X(SAMPLES, "values of counters over time left out")                                \
    X(FILLS, "fills of memory left out")                                               \
    X(COPY_SIZES, "copies whose size is left out")                                     \
    X(CALL_ARGS, "calls whose arguments are left out")                                 \
    X(CROSSING, "ranges and calls that last beyond the file they begin in, which alone has them")

typedef enum hb_export_note_kind {
#define HB_EXPORT_NOTE_ENUM(key, text) HB_EXPORT_##key,
    HB_EXPORT_NOTES(HB_EXPORT_NOTE_ENUM)
#undef HB_EXPORT_NOTE_ENUM
        HB_EXPORT_NOTE_COUNT
} hb_export_note_kind;

typedef struct hb_export_counts {
    uint64_t events, notes[HB_EXPORT_NOTE_COUNT];
} hb_export_counts;

typedef struct hb_exporter hb_exporter;

struct hb_exporter {
    /** Writes a process, of which `source` stays open. */
    hb_result (*add)(hb_exporter *exporter, hb_source *source, hb_export_counts *counts);
    /** Bytes that were written so far. */
    uint64_t (*size)(hb_exporter *exporter);
    /** The file, or files, appear. */
    hb_result (*finish)(hb_exporter *exporter);
    /** Removes what is not finished. */
    void (*close)(hb_exporter *exporter);
};

/* One for each format. `output` must stay valid. */
hb_result hb_export_to_pftrace(const char *output, bool replace, hb_exporter **exporter);
hb_result hb_export_to_rocpd(const char *output, bool replace, hb_exporter **exporter);
hb_result hb_export_to_csv(const char *output, bool replace, hb_exporter **exporter);

#endif
