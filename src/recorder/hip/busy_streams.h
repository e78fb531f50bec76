/* SPDX-License-Identifier: MIT
 *
 * The streams that work was made on, so that a session's end can ask each whether it is done. A
 * wait in the runtime for a whole device holds up the program's next call on its streams, and a
 * kernel that waits for that call would never end.
 */
#ifndef HB_HIP_BUSY_STREAMS_H
#define HB_HIP_BUSY_STREAMS_H

#include "hip/hip_runtime.h"

/** Work was made there. */
void hb_busy_streams_add(uint64_t stream, int device);
/** Work was made on that device, on a stream that the call does not tell. */
void hb_busy_streams_add_unknown(int device);

/** Before the program destroys it, and before all go: returns when nobody asks about it any more.
 */
void hb_busy_streams_gone(uint64_t stream);
void hb_busy_streams_all_gone(void);

/** A session begins, and no earlier one waits for reports. */
void hb_busy_streams_forget(void);

/** All those there are now are to be asked about. False: there is none. */
bool hb_busy_streams_watch(void);

/** Asks the runtime about those which were not yet done; none is waited for. False: all are. */
bool hb_busy_streams_ask(const hb_hip *hip);

/** When all are done: has runtimes that report work only to who waits for it, HIP 7, do so. */
void hb_busy_streams_collect(const hb_hip *hip);

/** The devices with work on streams that are not known, as bits; forgets them. */
uint64_t hb_busy_streams_take_unknown(void);

/** In a forked child. */
void hb_busy_streams_after_fork(void);

#endif
