/* SPDX-License-Identifier: MIT
 *
 * New handwriting from old: each training image is turned, scaled, slanted, moved and bent a little
 * each time it is loaded. This is the work a data loader does.
 */
#ifndef DIGITS_AUGMENT_H
#define DIGITS_AUGMENT_H

#include "data.h"
#include "rng.h"

/** A random variation of `in` (DIGIT_PIXELS of 0 to 1) into `out`. */
void augment(float *out, const float *in, struct rng *rng);

#endif
