/* SPDX-License-Identifier: MIT
 *
 * How this process's clock stands to the job's: told once or twice in a process's life, and a
 * metadata entry of each session, so that it is there when a session is read, by whomever.
 */
#ifndef HB_RECORD_CLOCK_TOLD_H
#define HB_RECORD_CLOCK_TOLD_H

#define HB_METADATA_CLOCK "hipboard_clock"

/** Puts what was told into the session that just began. */
void hb_clock_told_record(void);

#endif
