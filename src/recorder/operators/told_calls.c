/* SPDX-License-Identifier: MIT
 *
 * hipboard.h: operators by what libraries tell of their calls in roctx ranges.
 */
#include "operators/library_calls.h"
#include "operators/operator_calls.h"
#include "ops/op_told.h"
#include "record/record.h"
#include "record/strings.h"

static uint32_t name_of(const hb_op_told *told)
{
    const char *name = told->row ? told->row->name : NULL;
    return name ? hb_strings_intern(name, strlen(name))
                : hb_strings_intern(told->function.s, told->function.len);
}

bool hb_call_range_push(const char *text)
{
    hb_op_told told;
    hb_op_description d = {0};
    hb_input inputs[HB_OP_MAX_INPUTS];
    if (!text || !HB_ENABLED() || !hb_op_told_read(hb_operators_table(), text, &told)) return false;
    if (told.row) hb_op_told_describe(&told, &d);
    hb_scope *scope = hb_operator_told_begin(told.function, &d.flops);
    if (!scope) return true;
    hb_op_info info = {
        .inputs = inputs, .num_inputs = hb_operator_inputs(&d, inputs), .flops = d.flops};
    *scope = hb_record_operator(name_of(&told), &info, HB_FRAME, __builtin_return_address(0));
    return true;
}

void hb_call_range_pop(void)
{
    hb_operator_told_end();
}
