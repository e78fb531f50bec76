/* SPDX-License-Identifier: MIT
 *
 * Which call made a piece of device work: an index over a session's calls, 16 bytes for each that
 * made work. Calls themselves are read again when they are asked for.
 */
#ifndef HB_REPLAY_CORRELATION_H
#define HB_REPLAY_CORRELATION_H

#include "base/base.h"
#include "record/session.h"

#define HB_CORRELATIONS_RECENT 16u /* a call's links follow it closely */

typedef struct hb_correlations {
    hb_buf by_work;   /* {work, call} */
    hb_buf completed; /* a byte for each of these: whether the work did */
    hb_buf replays;   /* {start, call} of those that run graphs */
    hb_buf captured;  /* {kernel, launch} of launches that were put into graphs */
    size_t last_captured;
    struct {
        uint64_t correlation;
        hb_record_ref call;
    } recent[HB_CORRELATIONS_RECENT];
    uint32_t num_recent;
    hb_record_reader *reader;
} hb_correlations;

/** `reader` reads the session's records. */
void hb_correlations_init(hb_correlations *correlations, hb_record_reader *reader);
void hb_correlations_free(hb_correlations *correlations);

/** A thread's calls and links follow, in the order of their records. */
void hb_correlations_begin_thread(hb_correlations *correlations);
void hb_correlations_add_call(hb_correlations *correlations, const hb_record_call *call,
                              hb_record_ref ref);
void hb_correlations_add_link(hb_correlations *correlations, const hb_record_link *link);
/** All were added. */
hb_result hb_correlations_finish(hb_correlations *correlations);

/** The call that made the work; NULL when it is not in the session. What these functions return is
 * good until 10 more pieces of work were asked for. */
const hb_record_call *hb_correlations_find(const hb_correlations *correlations, uint64_t work);

/** The work was done. */
void hb_correlations_completed(hb_correlations *correlations, uint64_t work);

/** Whether a call is a launch that names its kernel. */
static inline bool hb_call_names_kernel(const hb_record_call *call)
{
    return call->head.type == HB_RECORD_LAUNCH &&
           (size_t)call->head.units * 8 >= sizeof(hb_record_launch);
}

/** Whether some device work came of the call. After hb_correlations_completed() of all work. */
bool hb_correlations_have_work(const hb_correlations *correlations, const hb_record_call *call);

/** The call that ran a graph for which `captured` was recorded, and work that began at `unix_ns`:
 * the last one before it. NULL when no graph was run since. */
const hb_record_call *hb_correlations_replay_of(const hb_correlations *correlations,
                                                const hb_record_call *captured,
                                                const hb_clock_fit *fit, int64_t unix_ns);

/** The launch of this kernel that was put into a graph; when there are several, one after the other
 * in the order in which they will run. NULL when there is none. */
const hb_record_launch *hb_correlations_captured(hb_correlations *correlations, uint32_t kernel);

#endif
