/* SPDX-License-Identifier: MIT
 *
 * Collectives of all who took part in them, one after the other in the order of time: the digests'
 * lists are walked side by side. Up to some millions are kept as they were found, for whoever walks
 * again.
 */
#ifndef HB_RANKS_MEETINGS_H
#define HB_RANKS_MEETINGS_H

#include "ranks/study.h"
#include "rules/collective_names.h"

typedef struct hb_comer {
    uint32_t rank; /* index of the study's ranks */
    int64_t start, end;
} hb_comer;

typedef struct hb_meeting {
    hb_str group, description, operation;
    uint64_t size; /* of the communicator; 0: not told */
    int64_t bytes; /* the most that one tells; -1: none does */
    hb_collective_waits waits;
    bool async;
    uint32_t count;
    hb_comer *who; /* in the order of ranks */
    int64_t last;  /* when the last one came */
} hb_meeting;

typedef struct hb_meetings hb_meetings;

/** In the arena study->results, which it may leave. */
hb_meetings *hb_meetings_open(hb_rank_study *study);
/** NULL behind the last one; lasts until the next is asked for. */
const hb_meeting *hb_meetings_next(hb_meetings *meetings);
/** The same of those that several ranks told and in which each waits for all others. */
const hb_meeting *hb_meetings_next_for_all(hb_meetings *meetings);
/** What the first walk kept for the next ones; when digests were added. */
void hb_meetings_forget(hb_rank_study *study);
uint32_t hb_meetings_groups(const hb_meetings *meetings);

/** Nobody leaves before the last one came. */
static inline bool hb_waits_for_all(hb_collective_waits waits)
{
    return waits == HB_COLLECTIVE_WAITS_ALL || waits == HB_COLLECTIVE_WAITS_BARRIER;
}

/** Where times of nodes cannot be compared: all leave at 0, so that who stayed shortest came last.
 */
void hb_meeting_align(hb_meeting *meeting);

#endif
