/* SPDX-License-Identifier: MIT
 *
 * Most events are written as an earlier one was, but for a few values. A layout is what stays the
 * same, from brace to brace: white space, the members' names, ph, cat and name; with holes where
 * other values stand. An event that fits one is not tokenised again: its fixed parts are compared,
 * and its values, which are numbers, or mostly those that stood there before.
 *
 * What comes out is what hb_parse_event() makes of the same text. Events with defects are never
 * learned from, and what fits no layout goes that way.
 */
#ifndef HB_READ_EVENT_LAYOUTS_H
#define HB_READ_EVENT_LAYOUTS_H

#include "read/event_repeats.h"

typedef struct hb_layouts hb_layouts;

/** Of one thread. NULL without memory: then there is nothing to fit. */
hb_layouts *hb_layouts_new(void);
void hb_layouts_free(hb_layouts *layouts);

/** What comes next goes into another trace, whose texts have other ids. */
void hb_layouts_begin_trace(hb_layouts *layouts);

/** `p` is at an opening brace. The place behind the event, with `raw` filled; NULL: it fits none.
 */
const char *hb_layouts_match(hb_layouts *layouts, hb_scan *scan, const char *p, hb_raw_event *raw);

/** The same of an event that is the last one of its layout again, of which no more than its row is
 * wanted. */
const char *hb_layouts_repeat(hb_layouts *layouts, const char *p, hb_read_row *again);

/** The event from `p` to `end`, of which hb_layouts_match() was asked last, is the last row of the
 * trace. */
void hb_layouts_note_row(hb_layouts *layouts, const char *p, const char *end,
                         const hb_trace *trace);

/** The event from `p` to `end` fitted none, and was found to have no defects. */
void hb_layouts_learn(hb_layouts *layouts, hb_scan *scan, const char *p, const char *end);

#endif
