/* SPDX-License-Identifier: MIT
 *
 * Reads a .pt.trace.json[.gz] of any writer and age into a trace.
 */
#ifndef HB_READ_JSON_READER_H
#define HB_READ_JSON_READER_H

#include "base/json_scan.h"
#include "read/json_event.h"
#include "read/text_window.h"
#include "trace/trace.h"

enum { HB_READ_MAX_NOTES = 100 };

typedef struct hb_read_note {
    hb_json_defect defect;
    uint64_t offset; /* in the (inflated) text */
} hb_read_note;

/** What was odd about a file that could be read all the same. */
typedef struct hb_read_report {
    uint64_t counts[HB_JSON_DEFECT_COUNT];
    hb_read_note notes[HB_READ_MAX_NOTES]; /* the first ones */
    uint32_t num_notes;
    uint64_t bytes; /* of text read */
    bool encoded;   /* the text began with a byte order mark, or was not UTF-8 */
    char cut_reason[160];
} hb_read_report;

typedef struct hb_read_options {
    hb_text_form form;
    bool strict;      /* nothing but what Python's json.loads(strict=False) takes, and a bare N/A */
    bool check_na;    /* note N/A inside strings */
    size_t max_bytes; /* memory for the trace; 0: half of the machine's */
    /* Of plain files: threads that read, 0: a few of the processors there are; and how much of the
     * text each reads at a time, 0: 1 MiB. The trace is the same whatever they are. */
    unsigned num_readers;
    uint32_t chunk_size;
    /** Called about every 8 MiB with the bytes read so far, of `total` if known; stops at false. */
    bool (*progress)(void *context, uint64_t bytes, uint64_t total);
    /** When set, gets each event that is an object, instead of the trace: the text from brace to
     * brace, and whether something was odd about it. Stops with HB_ERROR_LIMIT at false. */
    bool (*event)(void *context, const hb_raw_event *raw, hb_str text, bool defective);
    void *context;
} hb_read_options;

/** Fills `trace`, which the caller frees also after an error. */
hb_result hb_read_trace(const char *path, const hb_read_options *options, hb_trace *trace,
                        hb_read_report *report);
hb_result hb_read_trace_memory(const char *data, size_t size, const hb_read_options *options,
                               hb_trace *trace, hb_read_report *report);

const char *hb_json_defect_text(hb_json_defect defect);

#endif
