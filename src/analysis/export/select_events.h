/* SPDX-License-Identifier: MIT
 *
 * A part of a source, by its steps or times.
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
 * *source stays as it was when all is chosen, or after an error. HB_ERROR_NOT_FOUND when there is
 * no such step. */
hb_result hb_select_events(hb_source **source, const hb_event_choice *choice);

#endif
