/* SPDX-License-Identifier: MIT
 *
 * Several processes in one file. Each counts its External ids, its correlations and sometimes its
 * threads on its own, so that one number may mean another thing in each of them; whoever joins
 * events by such numbers must know which process they are of. Host events say it by their pid.
 * Device work has its device for a pid: it is of the process that launched it.
 */
#ifndef HB_TRACE_PROCESSES_H
#define HB_TRACE_PROCESSES_H

#include "base/base.h"

/** An id that is not there. */
#define HB_ID_ABSENT INT64_MIN

typedef enum hb_id_role {
    HB_ID_OTHER, /* on the host when its pid is a process's, else without ids */
    HB_ID_SCOPE,
    HB_ID_CALL,
    HB_ID_WORK,
} hb_id_role;

/** What an event is known by. */
typedef struct hb_ids {
    int64_t ext, corr, tid; /* or HB_ID_ABSENT; 0 is no External id */
    uint64_t pid;           /* equal for equal ones; a process's, or a device's */
    double ts;              /* of calls and work */
    uint8_t role;           /* hb_id_role */
} hb_ids;

/** The events of a trace: `get` tells, and `set` takes over what has changed. */
typedef struct hb_id_events {
    uint32_t count;
    void (*get)(void *context, uint32_t event, hb_ids *ids);
    void (*set)(void *context, uint32_t event, const hb_ids *ids);
    void *context;
} hb_id_events;

/** Gives the events of all processes but the first ids, correlations and threads of their own,
 * where two processes have the same one; nothing is changed where none have. *changed: how many
 * events were. HB_ERROR_NO_MEMORY. */
hb_result hb_separate_processes(const hb_id_events *events, uint64_t *changed);

#endif
