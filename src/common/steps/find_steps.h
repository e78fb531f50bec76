/* SPDX-License-Identifier: MIT
 *
 * Which stretches of a source are its steps, where the program did not say so. The one place that
 * decides it, for recorded cycles and for other tools' traces alike.
 */
#ifndef HB_STEPS_FIND_STEPS_H
#define HB_STEPS_FIND_STEPS_H

#include "trace/source.h"

/** How the steps are to be found; all zero: by the rules, in their order. */
typedef struct hb_step_wish {
    const char *range; /* each range of this name is one */
    const char *call;  /* each call of this name begins one */
    int64_t gap_ns;    /* the busiest stream's work after a gap as long begins one; 0: not so */
} hb_step_wish;

typedef struct hb_found_step {
    int64_t start_ns, end_ns;
    int64_t number; /* ProfilerStep#N */
} hb_found_step;

enum { HB_STEP_RULE_SIZE = 200, HB_FOUND_STEPS_MAX = 100000 /* the plugin draws a bar for each */ };

typedef struct hb_found_steps {
    hb_found_step *items;         /* by start; none touches another; free() */
    size_t count;                 /* 0: the source has steps of its own */
    int64_t tid;                  /* of the thread whose ranges they are; 0: of none */
    char rule[HB_STEP_RULE_SIZE]; /* for people: what made them steps */
} hb_found_steps;

/** Finds the steps of a source: there is always one. HB_ERROR_NOT_FOUND when there is nothing of
 * what was wished for, HB_ERROR_LIMIT when there is too much, HB_ERROR_NO_MEMORY. */
hb_result hb_find_steps(hb_source *source, const hb_step_wish *wish, hb_found_steps *found);

/** Puts the steps that are found into the source: annotations ProfilerStep#N with an argument
 * "hipboard": "inferred". It then owns what was *source. */
hb_result hb_add_found_steps(hb_source **source, const hb_step_wish *wish,
                             char rule[HB_STEP_RULE_SIZE]);

#endif
