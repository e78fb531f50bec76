/* SPDX-License-Identifier: MIT
 *
 * HIP capture, as the profiler sees it. What can't be captured is no error: it is said, once on
 * stderr and in the metadata of each trace.
 */
#ifndef HB_HIP_CAPTURE_H
#define HB_HIP_CAPTURE_H

#include "record/session.h"

/** Before a profiler starts, whether it wants HIP or not: the end of each cycle asks here, so
 * forked children have to make this room's locks anew. */
void hb_device_init(void);

/** A profiler was made that will want HIP: what has to be in place before the runtime's first call
 * is put there. Records nothing. */
void hb_device_prepare(void);

/** The session has begun: from now on HIP calls and device work are recorded. `asked_for`: HIP was
 * named as an activity, so its absence is worth a line on stderr. `kernel_sampling`: times are
 * taken of one in so many launches; 0: of all. */
void hb_device_start(bool asked_for, uint32_t kernel_sampling);

/** Looks for a HIP runtime that was loaded since; cheap, for each step, recorded or not. */
void hb_device_look_again(void);

/** A session that goes on is about to be looked at: what is known of devices is left in it, once
 * more, and finished work is asked for. Waits a moment for its reports; not a program's thread. */
void hb_device_tell(void);

/** The session is about to end: leaves in it what is known of devices and of what is missing. Work
 * that the devices have still to do is waited for by who opens the session, or here where the
 * back-end can't do it later. */
void hb_device_stop(void);

/** Waits until all work of an ended session was reported, as far as it will be. */
void hb_device_settle(const hb_session *session);

/** The session's records are about to be given back. */
void hb_device_forget(const hb_session *session);

/* metadata that a session keeps for its trace's header */
#define HB_METADATA_HIP_RUNTIME       "hip_runtime_version"
#define HB_METADATA_HIP_DRIVER        "hip_driver_version"
/* pieces of device work that were not reported, found out after the session's end */
#define HB_METADATA_NOT_REPORTED      "hipboard_work_not_reported"
/* texts: graphs whose operators are not known */
#define HB_METADATA_GRAPH_NOTES       "hipboard_graph_notes"
/* kernels were timed in one of so many launches; left out when in all */
#define HB_METADATA_KERNEL_SAMPLING   "hipboard_kernel_sampling"
/* how far times may be off, of back-ends that know, besides the clocks' own disagreement */
#define HB_METADATA_TIMES_UNCERTAINTY "hipboard_device_times_uncertainty_ns"

#endif
