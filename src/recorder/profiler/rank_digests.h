/* SPDX-License-Identifier: MIT
 *
 * Digests of the traces that a rank of a job has written: made by a helper program, which reads the
 * traces and adds to the job's one file of digests, so that `hipboard ranks` need not read them. Of
 * the background thread; where there is no helper, or it fails, the traces are read.
 */
#ifndef HB_PROFILER_RANK_DIGESTS_H
#define HB_PROFILER_RANK_DIGESTS_H

#include "base/base.h"

typedef struct hb_rank_digests {
    hb_buf traces; /* that have none yet: a line each */
    uint32_t count;
} hb_rank_digests;

/** Of the ranks of this job, of which one wrote that trace. */
void hb_rank_digests_want(hb_rank_digests *digests, int64_t ranks, const char *trace);

/** Makes those that are wanted; `is_last`: nothing else waits to be written. Else they wait, so
 * that of many short cycles a helper has several. */
void hb_rank_digests_make(hb_rank_digests *digests, bool is_last);

#endif
