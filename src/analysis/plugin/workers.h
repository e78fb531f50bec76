/* SPDX-License-Identifier: MIT
 *
 * All workers of a span together.
 */
#ifndef HB_PLUGIN_WORKERS_H
#define HB_PLUGIN_WORKERS_H

#include "plugin/analysis.h"

typedef struct hb_worker {
    const char *name;
    hb_analysis *analysis;
} hb_worker;

/** What a step's collectives took, and how much of it was waiting for other workers. */
typedef struct hb_wait_stat {
    int step; /* -1: outside all steps */
    hb_num total, real;
} hb_wait_stat;

typedef struct hb_comm_stat {
    hb_sid name;
    uint32_t calls;
    hb_num bytes, total, real;
} hb_comm_stat;

typedef struct hb_worker_stats {
    HB_VEC(hb_wait_stat) waits; /* by step, in order of first appearance */
    HB_VEC(hb_comm_stat) ops;
} hb_worker_stats;

typedef struct hb_distributed {
    hb_arena arena;
    const hb_worker *workers; /* sorted by name */
    uint32_t num_workers;
    hb_worker_stats *stats; /* one each; NULL when they do not match */
    char mismatch[240];     /* why they do not; else "" */
} hb_distributed;

/** Compares the workers. *exists is false when they do not match, as the plugin sees it. When the
 * plugin would lose the whole run: HB_ERROR_FORMAT. */
hb_result hb_distributed_run(hb_distributed *d, const hb_worker *workers, uint32_t num_workers,
                             bool *exists);
void hb_distributed_free(hb_distributed *d);

#endif
