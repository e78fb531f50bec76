/* SPDX-License-Identifier: MIT
 *
 * What operators had to do, by their inputs: floating-point operations and bytes.
 */
#ifndef HB_TRACE_OP_WORK_H
#define HB_TRACE_OP_WORK_H

#include "trace/trace.h"

enum { HB_SHAPE_DIMS = 8 };

typedef struct hb_shape {
    int64_t dims[HB_SHAPE_DIMS];
    int count;
} hb_shape;

/** Behind the bracket that closes the one at `p`; strings have no brackets here. */
const char *hb_behind_list(const char *p);

/** The dimensions of a tensor, whose brackets begin at `p`. What comes after it; NULL when it is
 * no tensor, or has too many. */
const char *hb_shape_read(const char *p, hb_shape *shape);

/** As the writer counted them, or else torch's estimate of an operator of that name; 0 for all but
 * a few operators. */
double hb_op_flops(const hb_trace *trace, const hb_row *row, hb_string_id name);

/** Bytes that have to be moved at least: of the inputs, each once, and of the result of a matrix
 * product, which these are when the FLOPs say so (4 times as many of complex numbers). `sizes`: of
 * an element, 0 of what is no tensor. */
double hb_least_bytes(const hb_shape *shapes, const uint32_t *sizes, int count, double flops);

#endif
