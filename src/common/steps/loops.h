/* SPDX-License-Identifier: MIT
 *
 * Loops of a program, by the return addresses on its stack when it launched something. Below what
 * is common to all, launches differ by the place that they were called from. A place that is
 * visited again after others is in a loop, and the rounds of that loop reach from visit to visit of
 * its most regular place. How often inner loops run, branches and changing shapes lie deeper, and
 * do not matter.
 */
#ifndef HB_STEPS_LOOPS_H
#define HB_STEPS_LOOPS_H

#include "steps/step_words.h"

typedef struct hb_loop {
    uint32_t parent; /* index + 1 in the list; 0: none */
    uint32_t depth;  /* frames that its launches have in common */
    uint64_t place;  /* the address that rounds begin with */
    uint32_t places; /* that are visited again and again */
    bool is_finer;   /* fills the parent's rounds, or one place of them: then both are answers to
                        the question what a step is */
    HB_VEC(hb_word_range) rounds;
} hb_loop;

typedef HB_VEC(hb_loop) hb_loops;

/** The loops of one thread's words, parents before children. */
void hb_loops_find(const hb_step_words *words, hb_word_range thread, hb_loops *loops);

#endif
