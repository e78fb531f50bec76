/* SPDX-License-Identifier: MIT
 *
 * Which ProfilerStep#N the plugin may see. It moves every step's end to the end of the device work
 * launched in it and the next step's start with it; a step without device work that is over by then
 * becomes empty, and an empty step is a division by zero that costs the whole file.
 */
#ifndef HB_WRITE_SHOWN_STEPS_H
#define HB_WRITE_SHOWN_STEPS_H

#include "base/vector.h"
#include "trace/source.h"

enum { HB_MAX_STEPS = 65536 }; /* beyond these, none is checked */

typedef struct hb_noted_step {
    int64_t start, end;
    uint64_t external_id;
    int64_t device_end;
    uint32_t order; /* of appearance in the host pass */
    bool hidden;
} hb_noted_step;

/** Launches of one thread in one step, by their correlations. */
typedef struct hb_launch_run {
    uint64_t first, last;
    uint64_t reach; /* the largest last one so far, by first */
    uint32_t step;  /* an index of the list, by start */
} hb_launch_run;

/** All zero is empty. */
typedef struct hb_steps {
    HB_VEC(hb_noted_step) list;
    HB_VEC(hb_launch_run) runs;
    uint32_t recent[256]; /* the number of the run that some blocks of correlations had last */
    size_t hidden;
    size_t at; /* next to be asked for */
} hb_steps;

/** Notes a step. HB_ERROR_NO_MEMORY. */
hb_result hb_steps_add(hb_steps *steps, int64_t start, int64_t end, uint64_t external_id);

/** Follows the device work of `source` to find the steps to hide. */
hb_result hb_steps_check(hb_steps *steps, hb_source *source);

/** Whether the next step, in the order of hb_steps_add(), must be hidden. */
bool hb_steps_next_hidden(hb_steps *steps);

void hb_steps_free(hb_steps *steps);

#endif
