/* SPDX-License-Identifier: MIT
 *
 * All workers of a span together.
 */
#ifndef HB_PLUGIN_WORKERS_H
#define HB_PLUGIN_WORKERS_H

#include "plugin/analysis.h"

/** What the comparison needs to know of a collective: a tenth of what the analysis does. */
typedef struct hb_worker_comm {
    hb_string_id name, step_name; /* step_name: 0: outside all steps */
    int step;                     /* index, -1: none */
    uint32_t first, count;        /* of the ranges */
    hb_num bytes;
} hb_worker_comm;

typedef struct hb_worker_comms {
    hb_worker_comm *items;
    uint32_t count;
    bool communicates;
    hb_range *ranges;
    /* Why the plugin would lose the run: for a collective's size, for a device; or NULL. */
    const char *size_fault, *device_fault;
} hb_worker_comms;

typedef struct hb_worker {
    const char *name;
    hb_analysis *analysis;        /* may be NULL where `comms` are there */
    const hb_worker_comms *comms; /* NULL: of the analysis */
} hb_worker;

/** Takes them out of an analysis, into the arena, which may be left. Their names are the trace's,
 * or, with `names`, texts there. */
hb_worker_comms *hb_worker_comms_of(hb_arena *arena, const hb_analysis *analysis, hb_texts *names);

/** What a step's collectives took, and how much of it was waiting for other workers. */
typedef struct hb_wait_stat {
    int step; /* -1: outside all steps */
    hb_num total, real;
} hb_wait_stat;

typedef struct hb_comm_stat {
    hb_string_id name;
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
    const hb_worker_comms **comms; /* one each */
    hb_worker_stats *stats;        /* one each; NULL when they do not match */
    char mismatch[240];            /* why they do not; else "" */
} hb_distributed;

/** Compares the workers. *exists is false when they do not match, as the plugin sees it. When the
 * plugin would lose the whole run: HB_ERROR_FORMAT. */
hb_result hb_distributed_run(hb_distributed *d, const hb_worker *workers, uint32_t num_workers,
                             bool *exists);
void hb_distributed_free(hb_distributed *d);

#endif
