/* SPDX-License-Identifier: MIT
 *
 * One element of traceEvents: from text to the values that matter, and from them into the trace.
 */
#ifndef HB_READ_JSON_EVENT_H
#define HB_READ_JSON_EVENT_H

#include "base/json_scan.h"
#include "trace/builder.h"

typedef enum hb_slot {
    HB_SLOT_PH,
    HB_SLOT_CAT,
    HB_SLOT_NAME,
    HB_SLOT_PID,
    HB_SLOT_TID,
    HB_SLOT_TS,
    HB_SLOT_DUR,
    HB_SLOT_ID,
    HB_SLOT_ARGS,
    HB_SLOT_FIRST_ARG,
    HB_SLOT_EXTERNAL_LOWER = HB_SLOT_FIRST_ARG,
    HB_SLOT_EXTERNAL,
    HB_SLOT_CORRELATION,
    HB_SLOT_DIMS,
    HB_SLOT_DIMS_LOWER,
    HB_SLOT_TYPES,
    HB_SLOT_STACK,
    HB_SLOT_DEVICE,
    HB_SLOT_GRID,
    HB_SLOT_BLOCK,
    HB_SLOT_BLOCKS_PER_SM,
    HB_SLOT_OCCUPANCY,
    HB_SLOT_REGISTERS,
    HB_SLOT_SHARED,
    HB_SLOT_LIMIT,
    HB_SLOT_PYTHON_ID,
    HB_SLOT_PYTHON_PARENT,
    HB_SLOT_PYTHON_MODULE,
    HB_SLOT_DEVICE_TYPE,
    HB_SLOT_DEVICE_ID,
    HB_SLOT_ADDR,
    HB_SLOT_BYTES,
    HB_SLOT_COPIED,
    HB_SLOT_ALLOCATED,
    HB_SLOT_RESERVED,
    HB_SLOT_OWNER,
    HB_SLOT_CONCRETE,
    HB_SLOT_SEQUENCE,
    HB_SLOT_FWD_THREAD,
    HB_SLOT_FLOPS,
    HB_SLOT_COUNT
} hb_slot;

enum { HB_MAX_REPAIRED = 8 };

/** The id of a text in a trace, once it was added to that. */
typedef struct hb_seen_text {
    hb_string_id id;
    uint32_t trace;
} hb_seen_text;

/** What the fixed parts of events make of their rows in a trace, once one was added to that. */
typedef struct hb_seen_row {
    uint32_t trace;
    hb_string_id name, category;
    uint16_t flags;
    uint8_t kind;
    char ph;
} hb_seen_row;

typedef struct hb_raw_event {
    uint64_t present; /* bits of the slots that are filled */
    uint64_t strings; /* ... by a string, now or before it was replaced */
    hb_value slots[HB_SLOT_COUNT];
    uint64_t offset; /* for hb_read_options.event: of the opening brace in the text, */
    uint32_t index;  /* ... and the element's place in traceEvents */
    /* The first strings with unescaped quotes, whose true ends no JSON parser would find. */
    uint32_t num_repaired;
    hb_value repaired[HB_MAX_REPAIRED];
    /* By slot, where not NULL: what is known of its text. Numbers the trace; 0: nothing is known.
     */
    uint32_t trace;
    hb_seen_row *row; /* NULL: ph, cat, name or the type of args may change */
    hb_seen_text *known[HB_SLOT_COUNT];
} hb_raw_event;

_Static_assert(HB_SLOT_COUNT <= 64, "one bit a slot");

static inline hb_value hb_raw_get(const hb_raw_event *raw, hb_slot slot)
{
    return raw->present >> slot & 1 ? raw->slots[slot] : (hb_value){"", 0, HB_JSON_NONE, false};
}

/** The slot of a member of an event, or of its arguments; -1: none. */
int hb_event_slot(const hb_value *key, bool args);

/** `p` is behind the opening brace. With `repair`, unescaped quotes in strings are lived with. */
const char *hb_parse_event(hb_scan *scan, const char *p, bool repair, hb_raw_event *raw);

/** The text of an integer; size 0: none. */
typedef struct hb_known_number {
    char text[24];
    uint32_t size;
} hb_known_number;

/** Remembers what the last event looked like, as the next one mostly looks the same. */
typedef struct hb_event_sink {
    hb_builder builder;
    bool lenient; /* a number in quotes is a number */
    hb_buf scratch;
    hb_known_number pid, tid;
    uint32_t track; /* of these two */
} hb_event_sink;

void hb_event_sink_init(hb_event_sink *sink, hb_trace *trace, bool lenient);
void hb_event_sink_free(hb_event_sink *sink);

/** Appends a row. False without memory. May change what `raw` says of numbers in quotes. */
bool hb_event_sink_add(hb_event_sink *sink, hb_raw_event *raw);

#endif
