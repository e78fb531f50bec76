/* SPDX-License-Identifier: MIT
 *
 * What is allocated now: while a profiler with profile_memory exists, every memory event is noted
 * here, recorded or not, so that a session begins with the true totals, and with the addresses that
 * are alive.
 *
 * Noting takes no lock and makes no system call, and nobody ever waits for who was stopped in the
 * middle of it: sums are each thread's own, and addresses are in a table of a fixed size. What
 * finds no room there is in the totals all the same.
 */
#ifndef HB_RECORD_LIVE_MEMORY_H
#define HB_RECORD_LIVE_MEMORY_H

#include "record/record.h"

/* Addresses that are known one by one, and those of them that a session lists, largest first. */
#define HB_LIVE_SLOTS  (1u << 18)
#define HB_LIVE_LISTED 4096u

#define HB_METADATA_HELD "hipboard_memory_held"

/** One profiler more, or less, that wants it. From none on nothing is known to be allocated.
 * Without memory for the table only totals are kept. */
void hb_live_memory_keep(void);
void hb_live_memory_drop(void);

bool hb_live_memory_is_kept(void);

/** In a recording call: an event of session `epoch`, or of none (0). `name`: whose it is, if that
 * is known. False for a free of what was never told of as allocated. */
bool hb_live_memory_note(hb_thread *t, uint32_t epoch, const hb_memory_info *info, uint32_t name);

/** What is allocated at `info->addr`, on whichever device: fills in that device and, negative, how
 * many bytes a free of it frees. False: nothing is known of it. */
bool hb_live_memory_find(hb_memory_info *info);

/** The session that has just begun on this thread, with HB_SESSION_HELD: what is held as it begins
 * becomes its first records. */
void hb_live_memory_tell(const hb_session *session);

/** What is allocated on a device at a moment. */
typedef struct hb_live_total {
    int32_t device_type, device_id;
    int64_t allocated; /* bytes */
} hb_live_total;

/** Of all devices that were told of, now; their number. */
uint32_t hb_live_memory_totals(hb_live_total totals[HB_LIVE_DEVICES]);

/** In a forked child, which keeps nothing until it has a profiler of its own. */
void hb_live_memory_after_fork(void);

#endif
