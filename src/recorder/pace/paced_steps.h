/* SPDX-License-Identifier: MIT
 *
 * Steps in a window of calls, and the call that each of them makes once.
 */
#ifndef HB_PACE_PACED_STEPS_H
#define HB_PACE_PACED_STEPS_H

#include "base/vector.h"
#include "pace/launch_pace.h"

/** A call that was seen. */
typedef struct hb_pace_seen {
    uint64_t key;
    int64_t start_ns, tid;
    enum hb_pace_deed deed;
    uint32_t frames, num_frames; /* in the window's */
} hb_pace_seen;

typedef struct hb_pace_window {
    HB_VEC(hb_pace_seen) calls;
    HB_VEC(uint64_t) frames; /* innermost first */
} hb_pace_window;

/** What a call is known by. */
static inline uint64_t hb_pace_key(uint64_t what, const void *caller)
{
    return (what ^ (uint64_t)(uintptr_t)caller * 0x9e3779b97f4a7c15u) * 0xff51afd7ed558ccdu;
}

/** False without memory. */
bool hb_pace_window_add(hb_pace_window *window, const hb_pace_seen *seen, const uint64_t *pcs,
                        uint32_t count);
/** NULL without memory. */
hb_pace_window *hb_pace_window_copy(const hb_pace_window *window);
void hb_pace_window_clear(hb_pace_window *window);

enum { HB_PACE_TOLD_SIZE = 512 };

/** The call that begins steps. */
typedef struct hb_pace_anchor {
    uint64_t key;
    int64_t tid;
    int64_t steps;                /* that have begun in the window */
    uint32_t calls;               /* of the thread in a step, at most */
    char told[HB_PACE_TOLD_SIZE]; /* how they were found, as JSON */
} hb_pace_anchor;

/** False: no steps are to be seen, or no call comes once in each. */
bool hb_pace_find(const hb_pace_window *window, hb_pace_anchor *anchor);

#endif
