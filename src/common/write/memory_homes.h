/* SPDX-License-Identifier: MIT
 *
 * Whether some operator allocated memory of each device. The plugin's page of memory shows the
 * devices of which that is so, and is blank where there is none: then calls that allocated become
 * operators, or one is made that stands for none.
 */
#ifndef HB_WRITE_MEMORY_HOMES_H
#define HB_WRITE_MEMORY_HOMES_H

#include "base/vector.h"
#include "trace/source.h"

typedef struct hb_memory_moment {
    int64_t tid, ns;
    int32_t device; /* -1: the host's */
    bool has_home;  /* an operator's, or another one of this device is */
} hb_memory_moment;

/** All zero is empty; to be freed. */
typedef struct hb_memory_homes {
    HB_VEC(hb_memory_moment) moments;
    HB_VEC(uint64_t) calls; /* correlations of calls that become operators */
} hb_memory_homes;

/** An allocation. */
hb_result hb_memory_homes_note(hb_memory_homes *homes, const hb_trace_event *event);
/** All are noted. */
void hb_memory_homes_sort(hb_memory_homes *homes);

/** An operator from `start` on to before `end`: the devices whose memory it has are done with.
 * Returns whether others are left. */
bool hb_memory_homes_take(hb_memory_homes *homes, const hb_trace_event *op);
/** Whether memory of a device that is left lies in the call, which then becomes an operator. */
hb_result hb_memory_homes_take_call(hb_memory_homes *homes, const hb_trace_event *call);
/** The first moment of each device that is left becomes the first of `moments`. */
void hb_memory_homes_end(hb_memory_homes *homes);

/** After hb_memory_homes_end(): whether calls, and their work, of this number are an operator's. */
bool hb_memory_homes_has(const hb_memory_homes *homes, uint64_t correlation);

void hb_memory_homes_free(hb_memory_homes *homes);

#endif
