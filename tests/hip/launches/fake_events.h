/* SPDX-License-Identifier: MIT
 *
 * Events that fail when a test says so.
 */
#ifndef FAKE_EVENTS_H
#define FAKE_EVENTS_H

#include "../rocprofiler/fake.h"

typedef enum fake_event_call {
    FAKE_EVENT_RECORD,
    FAKE_EVENT_QUERY,
    FAKE_EVENT_ELAPSED,
    FAKE_EVENT_CALLS,
} fake_event_call;

/** Behind `after` more calls of it, so many fail with that error of HIP. */
FAKE_API void fake_event_fails(fake_event_call call, int after, int times, int error);

/** From now on the device's clock gains so much: 0.1 is 6 seconds in a minute. */
FAKE_API void fake_events_gain(double share);

#endif
