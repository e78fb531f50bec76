/* SPDX-License-Identifier: MIT
 *
 * Device work timed from outside: a HIP event in its stream before it and one behind it, read later
 * by a thread of hipboard's own. Works with any HIP runtime. The times include what the runtime
 * does between the events and the work; where they lie on the host's clock is known to within some
 * microseconds, by events whose moment the host has seen as well.
 */
#ifndef HB_HIP_TIMING_EVENTS_H
#define HB_HIP_TIMING_EVENTS_H

#include "hip/calls.h"

/** A pair of events around a piece of work. */
typedef struct hb_timing_event {
    struct hb_timing_event *next;
    void *start, *stop; /* hipEvent_t */
    uint64_t stream;
    uint32_t generation; /* of the events; see hb_timing_events_forget() */
    hb_record_work work; /* all but its times */
} hb_timing_event;

/** Whether the runtime has the functions for it; `why` gets the one that is missing. */
bool hb_timing_events_possible(const hb_hip *hip, hb_buf *why);

/** Once, before all below. */
void hb_timing_events_init(const hb_hip *hip);

/** From now on timings are read, or no more: then returns when all that are over have been. False:
 * there is no thread for it. */
bool hb_timing_events_enable(bool on);

/** A timing whose first event is now in the stream, of that device; NULL when there can't be one:
 * the stream is being captured into a graph, or, then its work is `lost`, too many timings are
 * still to be read, or HIP refuses the event. */
hb_timing_event *hb_timing_event_begin(uint64_t stream, int device, bool *lost);
/** The work was put into the stream: it will be reported with its times, or is lost. */
void hb_timing_event_end(hb_timing_event *timing);
/** The work whose timing is `lost` was put into the stream. */
void hb_timing_event_missed(void);
/** It was not. */
void hb_timing_event_cancel(hb_timing_event *timing);

/** While a thread captures streams into graphs no event may be asked for. */
void hb_timing_events_pause(bool on);

/** The events are about to become invalid: they are dropped, and what they timing is lost. */
void hb_timing_events_forget(void);

/** Pieces of work, in all sessions, that were not timed. */
uint64_t hb_timing_events_lost(void);

/** How far times may be off, in nanoseconds, as far as was seen in this session. */
int64_t hb_timing_events_uncertainty(void);

/** In a forked child. */
void hb_timing_events_after_fork(void);

#endif
