/* SPDX-License-Identifier: MIT
 *
 * A part of a source, by its steps or times, or one part after the other.
 */
#ifndef HB_EXPORT_SELECT_EVENTS_H
#define HB_EXPORT_SELECT_EVENTS_H

#include "trace/source.h"

typedef struct hb_event_choice {
    int64_t first_step, last_step; /* INT64_MIN and INT64_MAX: all */
    double start_us, end_us;       /* since the source's first event; 0: no limit */
} hb_event_choice;

/** Puts a source around *source that gives what began on the host within the choice, and the
 * device work that this launched; work without a call by its own time. It closes the one inside.
 * *source stays as it was when all is chosen and it need not be `movable`, or after an error.
 * HB_ERROR_NOT_FOUND when there is no such step. */
hb_result hb_select_events(hb_source **source, const hb_event_choice *choice, bool movable);

/** Of a movable one: from now on only what began from `from` on, and before `until`. */
void hb_move_selection(hb_source *source, int64_t from, int64_t until);

/** The time by which an event is in or out: its own, or that of the call that launched it. */
int64_t hb_selection_time(hb_source *source, const hb_trace_event *event);

/** How many events of the host, as last read, reach beyond the part in which they begin. */
uint64_t hb_selection_crossing(hb_source *source);

#endif
