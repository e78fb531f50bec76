/* SPDX-License-Identifier: MIT
 *
 * What the name of a call of a GPU's runtime tells.
 */
#ifndef HB_RULES_CALL_CLASS_H
#define HB_RULES_CALL_CLASS_H

#include "base/str.h"

enum hb_call_class {
    HB_CALL_ALLOCATES = 1u << 0, /* or frees */
    HB_CALL_COPIES = 1u << 1,
    HB_CALL_SYNCHRONIZES = 1u << 2,
    HB_CALL_RETURNS_EARLY = 1u << 3, /* the work goes into a stream, or is none */
};

/** A set of enum hb_call_class; 0 for what is neither HIP's nor CUDA's. */
unsigned hb_call_class_of(hb_str name);

bool hb_is_hip_call(hb_str name);

/* Of a call's bits. */

/** The host stands in it until the work is done. */
static inline bool hb_call_allocates(unsigned bits)
{
    return (bits & (HB_CALL_ALLOCATES | HB_CALL_RETURNS_EARLY)) == HB_CALL_ALLOCATES;
}

static inline bool hb_call_copies_and_waits(unsigned bits)
{
    return (bits & (HB_CALL_COPIES | HB_CALL_RETURNS_EARLY)) == HB_CALL_COPIES;
}

/** In whatever it waits for. */
static inline bool hb_call_waits(unsigned bits)
{
    return bits & HB_CALL_SYNCHRONIZES || hb_call_copies_and_waits(bits);
}

#endif
