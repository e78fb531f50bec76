/* SPDX-License-Identifier: MIT
 *
 * Calls that libraries themselves tell of, by the names of their roctx ranges: rocBLAS where
 * ROCBLAS_LAYER=1 is set, "rocblas_sgemm,N,T,256,...", and MIOpen where
 * MIOPEN_ENABLE_LOGGING_ROCTX=1 is, "s_api = miopenSoftmaxForward | xDesc = {8, 16}, {16, 1},
 * packed | ...". What the table says of the function's parameters holds for these texts as well.
 */
#ifndef HB_OPS_OP_TOLD_H
#define HB_OPS_OP_TOLD_H

#include "base/str.h"
#include "ops/op_call.h"

typedef struct hb_op_told {
    hb_str function;        /* of the text */
    const hb_op_entry *row; /* NULL: the table does not know it, or its text is another call's */
    uint64_t words[HB_OP_REGISTERS + HB_OP_STACK_WORDS];
} hb_op_told;

/** False: the text is no such name. `table` may be NULL. */
bool hb_op_told_read(const hb_op_table *table, const char *text, hb_op_told *told);

/** Inputs and FLOPs, as hb_op_describe(), while the text is there. MIOpen's texts do not tell
 * types: those of its inputs are beyond all others. */
void hb_op_told_describe(const hb_op_told *told, hb_op_description *d);

#endif
