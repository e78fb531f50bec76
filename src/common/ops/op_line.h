/* SPDX-License-Identifier: MIT
 *
 * A line of a table on its way to be rows.
 */
#ifndef HB_OPS_OP_LINE_H
#define HB_OPS_OP_LINE_H

#include "base/str.h"
#include "ops/op_table.h"

/** What is read of a line: from `at` to `end`. `begin` is its first byte. */
typedef struct hb_op_line {
    hb_op_table *table;
    const char *begin, *at, *end;
    /* what is known by now */
    hb_op_entry row;
    hb_op_param params[HB_OP_MAX_PARAMS];
    hb_op_input inputs[HB_OP_MAX_INPUTS];
    /* when it is wrong */
    bool failed;
    const char *wrong; /* where */
    char why[160];
} hb_op_line;

/** Says what is wrong at `where`, once a line. Returns false. */
HB_PRINTF(3, 4) bool hb_op_wrong(hb_op_line *l, const char *where, const char *format, ...);

/** A name ([A-Za-z_][A-Za-z0-9_]*) from `l->at` on; an empty one: there is none. */
hb_str hb_op_take_name(hb_op_line *l);
void hb_op_skip_blanks(hb_op_line *l);
bool hb_op_take(hb_op_line *l, char c);

/** The parameter of that name, or -1. */
int hb_op_param_named(const hb_op_line *l, hb_str name);

/** A formula from `l->at` on, up to what can't belong to it. */
bool hb_op_take_formula(hb_op_line *l, hb_op_formula *formula);

/** The inputs, up to the line's next '|' or end; those before are what a formula may name. */
bool hb_op_take_inputs(hb_op_line *l);

/** "f32", "bf16", ...; false: there is none of that name. */
bool hb_op_type_named(hb_str name, hb_dtype *type);

#endif
