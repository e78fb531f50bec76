/* SPDX-License-Identifier: MIT
 *
 * Functions to stand in for functions of the HIP runtime, whatever their parameters. A thunk takes
 * as many words as the longest of HIP's has and passes them on as they came: integers, pointers and
 * structures of them travel in the same registers and stack words whether they are parameters of
 * their own type or such words. Words beyond the real function's parameters are the caller's own
 * stack, which nobody looks at. Functions with floating-point parameters can't be called so.
 */
#ifndef HB_INTERPOSE_TRAMPOLINES_H
#define HB_INTERPOSE_TRAMPOLINES_H

#include "base/base.h"

enum { HB_THUNKS = 512, HB_THUNK_WORDS = 14 };

#define HB_THUNK_PARAMETERS                                                                    \
    uint64_t a0, uint64_t a1, uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6, \
        uint64_t a7, uint64_t a8, uint64_t a9, uint64_t a10, uint64_t a11, uint64_t a12,       \
        uint64_t a13
#define HB_THUNK_ARGUMENTS a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13

typedef uint64_t (*hb_thunk_fn)(HB_THUNK_PARAMETERS);

/** Number i stands in for hb_thunk_real[i]. */
extern const hb_thunk_fn hb_thunks[HB_THUNKS];
extern hb_thunk_fn hb_thunk_real[HB_THUNKS];

/** While 0, thunks do nothing but call the real function. */
extern _Atomic uint32_t hb_thunks_on;

/** What a thunk does while they are on. */
uint64_t hb_thunk_call(uint32_t index, const uint64_t words[HB_THUNK_WORDS]);

static inline uint64_t hb_thunk_call_real(uint32_t index, const uint64_t w[HB_THUNK_WORDS])
{
    return hb_thunk_real[index](w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10],
                                w[11], w[12], w[13]);
}

#endif
