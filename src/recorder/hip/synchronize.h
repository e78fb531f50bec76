/* SPDX-License-Identifier: MIT
 *
 * Waiting for devices without being held up by them, and without holding up the program: a kernel
 * may wait for something that the program does only after its step. A thread of hipboard's own asks
 * the runtime again and again; who needs the reports waits for those, while they come.
 */
#ifndef HB_HIP_SYNCHRONIZE_H
#define HB_HIP_SYNCHRONIZE_H

#include "hip/hip_runtime.h"

/** Reads the setting of how long; when a profiler is made. */
void hb_synchronize_prepare(void);

/** Begins to wait until the streams that work was made on have nothing to do. `hip` must stay. */
void hb_synchronize_begin(const hb_hip *hip);

/** How long, in ms since the last one came, reports may yet come because devices have work to do:
 * 0 once they have none, and when they were given up. */
int hb_synchronize_patience_ms(void);

/** How long at most, in ms, is waited for devices without any progress. */
int hb_synchronize_setting_ms(void);

/** Nothing came for so long, or all did: the thread ends. */
void hb_synchronize_give_up(void);

/** Lets the thread, which calls the runtime, come to its end if it does so within that time. */
void hb_synchronize_part(int most_ms);

/** In a forked child. */
void hb_synchronize_after_fork(void);

#endif
