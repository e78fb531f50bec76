/* SPDX-License-Identifier: MIT
 *
 * A call of an interposed function, from enter to leave.
 */
#ifndef HB_OPERATORS_OPERATOR_CALLS_H
#define HB_OPERATORS_OPERATOR_CALLS_H

#include <stdatomic.h>

#include "base/str.h"
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

/** What is shown of a description; how many there are. They point into it. */
size_t hb_operator_inputs(const hb_op_description *d, hb_input inputs[HB_OP_MAX_INPUTS]);

/** Of a call that communicates and is reported, at its beginning and its end. */
hb_scope hb_operator_reported_begin(hb_operator *o, hb_call *call);
void hb_operator_reported_end(hb_operator *o, const hb_call *call, hb_scope *scope);
/** Whether the thread is in one that is interposed. */
bool hb_operator_is_inside(void);

/** A call that something else tells of begins: where its scope is to be kept, NULL where it is not
 * to be shown, because it is shown already, or because it is hipboard's own. `*flops` becomes 0
 * where a call around it counts them. */
hb_scope *hb_operator_told_begin(hb_str function, double *flops);
/** Ends the thread's innermost one, in any case. */
void hb_operator_told_end(void);

#endif
