/* SPDX-License-Identifier: MIT
 *
 * Steps by the sequence of what a program asked for: a stretch of words that comes again and again,
 * or a word that each step has once. A network's layers come again as well, and a solver's inner
 * iterations: so a step begins where the host waited or copied, has more than one word, nearly all
 * words are in steps, nothing that is rarer than steps comes regularly, and answers that differ are
 * no answer.
 */
#ifndef HB_STEPS_PERIODS_H
#define HB_STEPS_PERIODS_H

#include "steps/step_words.h"

typedef struct hb_period {
    HB_VEC(hb_word_range) rounds; /* none: there are no steps to be seen */
    double agreement;             /* of each round with the next: 1 is all */
    hb_string_id name;            /* of the words that rounds begin with */
} hb_period;

void hb_periods_find(const hb_step_words *words, hb_word_range thread, hb_period *period);

#endif
