/* SPDX-License-Identifier: MIT
 *
 * Which stretches of a source are its steps, where the program did not say so. The one place that
 * decides it, for recorded cycles and for other tools' traces alike.
 */
#ifndef HB_STEPS_FIND_STEPS_H
#define HB_STEPS_FIND_STEPS_H

#include "base/base.h"
#include "trace/source.h"

/** How the steps are to be found; all zero: by the rules, in their order. */
typedef struct hb_step_wish {
    const char *range; /* each range of this name is one */
    const char *call;  /* each call of this name begins one */
    int64_t gap_ns;    /* the busiest stream's work after a gap as long begins one; 0: not so */
    uint32_t loop;     /* the rounds of this loop are steps, as hb_list_loops() counts them; 0: the
                          one that is found */
    bool no_guess;     /* only what the program says itself, by names and ranges */
    bool operators_are_calls; /* operators are a library's functions, whose names say nothing of
                                 steps: only annotations do */
} hb_step_wish;

/** What made them steps. */
typedef enum hb_step_method {
    HB_STEPS_OWN,      /* the program's own */
    HB_STEPS_ASKED,    /* as asked for */
    HB_STEPS_RANGES,   /* the program's ranges */
    HB_STEPS_STACKS,   /* a loop in the call stacks of what it launched */
    HB_STEPS_SEQUENCE, /* what it launched comes again and again */
    HB_STEPS_ONE,      /* one for all, as nothing tells of steps */
} hb_step_method;

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
    hb_step_method method;
    double agreement; /* SEQUENCE: how much of a step comes in the next one, too; 1: all */
    double coverage;  /* STACKS, SEQUENCE: the share of all launches that lie in steps */
    char *loops;      /* what launches' call stacks tell of loops, as JSON; or NULL */
} hb_found_steps;

void hb_found_steps_free(hb_found_steps *found);

/** Finds the steps of a source: there is always one. HB_ERROR_NOT_FOUND when there is nothing of
 * what was wished for, HB_ERROR_LIMIT when there is too much, HB_ERROR_NO_MEMORY. */
hb_result hb_find_steps(hb_source *source, const hb_step_wish *wish, hb_found_steps *found);

/** Metadata: how they were found. */
#define HB_METADATA_STEPS "hipboard_steps"

/** Puts the steps that were found into the source: annotations ProfilerStep#N with an argument
 * "hipboard": "inferred", and how they were found as the metadata entries "hipboard_steps"
 * and "hipboard_loops". The source then owns `found` and what was *source; when this fails, they
 * stay the caller's. */
hb_result hb_put_steps(hb_source **source, hb_found_steps *found);

/** How they were found, as JSON: what "hipboard_steps" holds. Appends. */
void hb_found_steps_tell(const hb_found_steps *found, hb_buf *json);

#endif
