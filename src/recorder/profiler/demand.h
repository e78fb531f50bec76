/* SPDX-License-Identifier: MIT
 *
 * Recording on demand: what a profiler was asked to record, and how far it is. By steps, the
 * program begins and ends the cycle in hb_profiler_step(); by time, hipboard's own thread does, so
 * that a program that hangs in a step can be looked at.
 */
#ifndef HB_PROFILER_DEMAND_H
#define HB_PROFILER_DEMAND_H

#include "profiler/request.h"

typedef enum hb_demand_phase {
    HB_DEMAND_NONE,
    HB_DEMAND_ASKED, /* not begun yet */
    HB_DEMAND_RECORDING,
} hb_demand_phase;

/** Under hb_arbitration_lock(). */
typedef struct hb_demand {
    hb_demand_phase phase;
    hb_request request;
    uint64_t number;               /* of the request, from 1; 0: there was none */
    int64_t first_step, last_step; /* by steps; first_step -1: not determined yet */
    int64_t at_ns;                 /* by time: of CLOCK_MONOTONIC, when it begins or ends */
    int64_t asked_ns;              /* CLOCK_MONOTONIC */
    bool late;                     /* asked for when its start time was over */
    bool stepless;                 /* it waits for a step, and the program had marked none */
    bool told_waits;               /* hb_demand_warn_waits() */
} hb_demand;

/** Whether it can be asked: it records nothing until then, or is a ring. */
bool hb_demand_wanted(const hb_profiler_options *options);

/** Takes a request on, in the place of one that has not begun. HB_ERROR_BUSY while one is recorded,
 * and while a handler of the program's has not got the cycle of one, HB_ERROR_STATE when the
 * profiler does not run or makes room for another. `*number` tells which it is from now on. */
hb_result hb_demand_ask(hb_profiler *prof, const hb_request *request, uint64_t *number);

/** Whether what was asked for begins soon: an alarm must not come in between, since other ranks may
 * record the same steps. Where it waits for a step of a program that has marked none, or for longer
 * than a minute, it may. A ring is written for both. Not under hb_arbitration_lock(). */
bool hb_demand_is_awaited(hb_profiler *prof);

/** What the step of that number is to do. */
hb_profiler_action hb_demand_action(hb_profiler *prof, int64_t step_number);

/** When hb_demand_mind() has something to do, by CLOCK_MONOTONIC in ns; INT64_MAX: not at all. */
int64_t hb_demand_due(const hb_profiler *prof);
/** Begins or ends what is to be recorded by time, when it is time; when to come again. Own thread,
 * not under hb_arbitration_lock(). */
int64_t hb_demand_mind(hb_profiler *prof);

/** Whether a ring is to be written. `at_once`: what is asked for is not waited for any more. */
bool hb_demand_is_due(const hb_profiler *prof, bool at_once);

/** What was asked for is written. */
void hb_demand_over(hb_profiler *prof);
/** The profiler stops or pauses: what was not begun is not recorded any more, which is said. */
void hb_demand_drop(hb_profiler *prof);
/** Says it of what came too late to be asked for. */
void hb_demand_warn_dropped(const char *reason);
/** Says, once a cycle, that an alarm was refused since a handler of the program's has not got the
 * cycle before. Not under hb_arbitration_lock(). */
void hb_demand_warn_waits(hb_profiler *prof, const char *reason);

/** Of the cycle that is being recorded or was recorded last: the number of its request, 0: none. */
uint64_t hb_demand_number(const hb_profiler *prof);
/** Where its trace goes, from malloc; NULL: where the handler puts it. */
char *hb_demand_path(const hb_profiler *prof);
/** What the session keeps besides what the options say: enum hb_session_flags. */
uint32_t hb_demand_session_flags(const hb_profiler *prof);

#endif
