/* SPDX-License-Identifier: MIT
 *
 * An event that is another one again, but for when it began, how long it took and by which numbers
 * it is linked: its row is that one's, with these. No more is read of it than they are.
 *
 * What differs in anything else, or is no plain number, is no repeat and goes the way of all
 * events.
 */
#ifndef HB_READ_EVENT_REPEATS_H
#define HB_READ_EVENT_REPEATS_H

#include "read/json_event.h"

typedef struct hb_repeat hb_repeat;

/** What one of an event's values is: a number that may change, or text. */
typedef struct hb_event_part {
    const char *start, *end;
    uint8_t slot;   /* hb_slot; HB_SLOT_COUNT: of no meaning */
    bool is_number; /* without an exponent */
} hb_event_part;

/** An event from brace to brace, and those of its values that may differ in events like it. */
typedef struct hb_event_text {
    const char *start, *end;
    const hb_event_part *parts;
    unsigned num_parts;
} hb_event_text;

enum { HB_MAX_EVENT_PARTS = 48 };

/** Whether it is of no use for events of that trace. */
bool hb_repeat_is_stale(const hb_repeat *repeat, uint32_t trace_number);

/** A row that was read already, to be added by hb_event_sink_add_again(). */
typedef struct hb_read_row {
    hb_row row;
    hb_device_row device;
} hb_read_row;

/** Which numbers without a meaning differ among events of one layout; the others are text, as a
 * device or a version. Zeros at first. */
typedef struct hb_varying {
    uint64_t varies; /* by part */
    uint32_t seen[HB_MAX_EVENT_PARTS];
} hb_varying;

/** The trace's last row was made of the event; the trace has that number. *repeat: NULL at first;
 * stays so without memory, or where no event can be another one again. */
void hb_repeat_learn(hb_repeat **repeat, hb_varying *varying, const hb_event_text *event,
                     const hb_trace *trace, uint32_t trace_number);
void hb_repeat_free(hb_repeat *repeat);

/** The place behind the event at `p`, with `again` filled; NULL: it is no repeat. */
const char *hb_repeat_match(hb_repeat *repeat, const char *p, uint32_t trace_number,
                            hb_read_row *again);

/** False without memory. */
bool hb_event_sink_add_again(hb_event_sink *sink, const hb_read_row *again);

#endif
