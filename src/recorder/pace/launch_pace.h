/* SPDX-License-Identifier: MIT
 *
 * The steps of a program that marks none, as they come: its launches are watched, with their call
 * stacks, until steps are seen in them by the rules for whole traces, and one call is found that
 * each step makes once; from then on each such call begins a step. Where it fails to come, all is
 * watched anew.
 */
#ifndef HB_PACE_LAUNCH_PACE_H
#define HB_PACE_LAUNCH_PACE_H

#include "base/base.h"

enum hb_pace_deed {
    HB_PACE_LAUNCH, /* of a kernel or a graph */
    HB_PACE_COPY,   /* between memories, perhaps the host's */
    HB_PACE_WAIT,   /* for a device */
};

/** Who is told of steps, numbered from how many were seen before, and says whether it took one for
 * a step; -1: the calls that began them fail to come. NULL: nobody, and nothing is watched. */
void hb_pace_watch(bool (*tell)(int64_t number));

/** Not 0 while it is; read without any order. */
extern uint32_t hb_pace_is_on;

/** The calling thread is about to do it: `what` is the kernel's, graph's or other address,
 * `caller` where it was called. */
void hb_pace_call(enum hb_pace_deed deed, uint64_t what, const void *caller);

static inline void hb_pace_note(enum hb_pace_deed deed, uint64_t what, const void *caller)
{
    if (HB_UNLIKELY(__atomic_load_n(&hb_pace_is_on, __ATOMIC_RELAXED)))
        hb_pace_call(deed, what, caller);
}

/** A function that stands in for one of HIP's and tells of its calls here, and nothing else: who
 * records HIP's calls may take its place, and tell of them. */
void hb_pace_stands_in(const void *function);
bool hb_pace_is_stand_in(const void *function);

/** A session is about to end: leaves in it how its steps were found, if they are those told of. */
void hb_pace_put(void);

/** In a forked child. */
void hb_pace_after_fork(void);

#endif
