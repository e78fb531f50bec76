/* SPDX-License-Identifier: MIT
 *
 * Where the program's threads are, at regular times of their own: call stacks that the kernel takes
 * (perf_event_open), without a signal, so that no call of the program's is interrupted. Frames are
 * found by frame pointers.
 */
#ifndef HB_SAMPLING_HOST_SAMPLES_H
#define HB_SAMPLING_HOST_SAMPLES_H

#include "base/base.h"

/** Metadata: {"hz": 100, "taken": 1234, "lost": 0}, or {"hz": 100, "refused": "why"}. */
#define HB_METADATA_SAMPLES "hipboard_samples"

/** From now on the calling thread, and all that it starts, may be sampled so many times a second of
 * their processor's time. Once a process; again it does nothing. Where that is not to be had it is
 * said, once, on stderr and in the metadata of each trace. */
void hb_samples_open(unsigned hz);

/** A session begins or is about to end: samples are taken meanwhile. At its end the metadata are
 * put into it. */
void hb_samples_start(void);
void hb_samples_stop(void);

/** Makes records of what was taken; from time to time, by a thread of the library's own. */
void hb_samples_drain(void);

/** In a forked child: they are its parent's. */
void hb_samples_after_fork(void);

#endif
