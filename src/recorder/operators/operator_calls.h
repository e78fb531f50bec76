/* SPDX-License-Identifier: MIT
 *
 * A call of an interposed function, from enter to leave.
 */
#ifndef HB_OPERATORS_OPERATOR_CALLS_H
#define HB_OPERATORS_OPERATOR_CALLS_H

#include <stdatomic.h>

#include "interpose/trampolines.h"
#include "operators/describers.h"

/** A function of one library. Never freed. */
typedef struct hb_operator {
    const hb_op_entry *row;
    void *real;
    uint32_t trampoline;
    uint32_t name;    /* string id */
    hb_module module; /* kind module */
    hb_describers describers;
    bool communicates;
    uint32_t kind_names[HB_DNNL_KINDS]; /* of oneDNN's primitives; 0: not asked yet */
    /* calls that are only counted, in this session: */
    _Atomic uint64_t small_calls, small_flops, small_ns;
    _Atomic bool holds; /* something is recorded within its calls: they are not judged by time */
    struct hb_operator *next;
} hb_operator;

/** Gives a row's function of one library a trampoline; NULL: there are none left, or no memory.
 * `real` is what it calls. The loader is asked. */
hb_operator *hb_operator_new(const hb_op_entry *row, void *real);

#endif
