/* SPDX-License-Identifier: MIT
 *
 * Events as the reader takes them beside what tokenising each of them gives. For tests and fuzzing.
 */
#ifndef HB_TEST_RAW_EVENTS_H
#define HB_TEST_RAW_EVENTS_H

#include "read/json_reader.h"

typedef struct raw_events {
    bool strict;
    uint32_t count;
    uint32_t wrong; /* 1 + the index of the first that differs; 0: none */
} raw_events;

static inline void note_defect(void *context, hb_json_defect defect, const char *at)
{
    (void)defect;
    (void)at;
    *(bool *)context = true;
}

static inline bool values_are_equal(const hb_value *a, const hb_value *b)
{
    return a->s == b->s && a->size == b->size && a->type == b->type && a->escaped == b->escaped;
}

static inline bool raw_events_are_equal(const hb_raw_event *a, const hb_raw_event *b)
{
    if (a->present != b->present || a->num_repaired != b->num_repaired ||
        ((a->strings ^ b->strings) & a->present))
        return false;
    for (int slot = 0; slot < HB_SLOT_COUNT; slot++)
        if (a->present >> slot & 1 && !values_are_equal(&a->slots[slot], &b->slots[slot]))
            return false;
    return true;
}

/* Whether tokenising it gives the same when the whole text ends at `end`. */
static inline bool is_as_tokenised(const raw_events *r, const hb_raw_event *raw, hb_str text,
                                   bool defective, const char *end)
{
    bool defect = false;
    hb_raw_event tokenised;
    hb_scan scan = {.end = end, .check_na = r->strict, .defect = note_defect, .context = &defect};
    return hb_parse_event(&scan, text.s + 1, !r->strict, &tokenised) == text.s + text.len &&
           defect == defective && raw_events_are_equal(raw, &tokenised);
}

/* hb_read_options.event, with a raw_events as the context. Where the whole text ends matters a
 * little before it: at the first of the zeros behind it, or behind some that are its own. */
static inline bool compare_raw_event(void *context, const hb_raw_event *raw, hb_str text,
                                     bool defective)
{
    raw_events *r = context;
    const char *stop = text.s + text.len;
    r->count++;
    if (!r->wrong &&
        !is_as_tokenised(r, raw, text, defective, stop + strnlen(stop, HB_SCAN_PADDING)) &&
        !is_as_tokenised(r, raw, text, defective, stop + HB_SCAN_PADDING))
        r->wrong = r->count;
    return true;
}

#endif
