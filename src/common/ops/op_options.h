/* SPDX-License-Identifier: MIT
 *
 * The ends of a line: a function's parameters, and its options.
 */
#ifndef HB_OPS_OP_OPTIONS_H
#define HB_OPS_OP_OPTIONS_H

#include "ops/op_line.h"

/** Up to the line's next '|' or end. */
bool hb_op_take_params(hb_op_line *l);
bool hb_op_take_options(hb_op_line *l);

/** Whether they go together, when all are known. */
bool hb_op_check_options(hb_op_line *l);

/** A copy in the table's memory. */
char *hb_op_copy(hb_op_table *table, hb_str text);

#endif
