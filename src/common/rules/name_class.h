/* SPDX-License-Identifier: MIT
 *
 * What the plugin tells from a name alone.
 */
#ifndef HB_RULES_NAME_CLASS_H
#define HB_RULES_NAME_CLASS_H

#include "base/str.h"

enum hb_name_bits {
    HB_NAME_SEEN = 1u << 0,
    HB_NAME_STEP = 1u << 1, /* ProfilerStep#... */
    HB_NAME_NCCL = 1u << 2, /* one of the five nccl: names that the plugin knows */
    HB_NAME_GLOO = 1u << 3,
    HB_NAME_LOADER = 1u << 4,
    HB_NAME_OPTIMIZER = 1u << 5,   /* Optimizer.step... */
    HB_NAME_NO_OPERATOR = 1u << 6, /* wrappers and Optimizer.*: not in operator tables */
    HB_NAME_TC_KERNEL = 1u << 7,   /* as a kernel's name: uses tensor cores */
    HB_NAME_TC_OP = 1u << 8,       /* as an operator's name: could use them */
    HB_NAME_BACKWARD = 1u << 9,    /* autograd::engine::evaluate_function: */
};
#define HB_NAME_COLLECTIVE (HB_NAME_NCCL | HB_NAME_GLOO)

/** A set of enum hb_name_bits, HB_NAME_SEEN among them. */
unsigned hb_name_bits_of(hb_str name);

#endif
