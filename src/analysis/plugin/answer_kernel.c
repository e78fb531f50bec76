/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "plugin/answer_bodies.h"
#include "plugin/answers.h"

static const char *const durations[] = {"Calls", "Total Duration (us)", "Mean Duration (us)",
                                        "Max Duration (us)", "Min Duration (us)"};

static bool has_kernels(hb_emitter *out, const hb_analysis *a)
{
    if (!a->has_role[HB_ROLE_KERNEL]) hb_emit_null(out);
    return a->has_role[HB_ROLE_KERNEL];
}

static void open_pie(hb_emitter *out)
{
    hb_emit_open(out, '{');
    hb_emit_open_key(out, "total", '{');
    hb_emit_open_key(out, "columns", '[');
    hb_emit_column(out, "string", "name", NULL);
    hb_emit_column(out, "number", "value", NULL);
    hb_emit_close(out, ']');
    hb_emit_open_key(out, "rows", '[');
}

static void close_pie(hb_emitter *out)
{
    hb_emit_close(out, ']');
    hb_emit_close(out, '}');
    hb_emit_close(out, '}');
}

static void slice(hb_emitter *out, hb_str name, hb_num value)
{
    hb_emit_open(out, '[');
    hb_emit_str(out, name);
    hb_emit_num(out, value);
    hb_emit_close(out, ']');
}

void hb_answer_kernel_pie(hb_emitter *out, hb_analysis *a)
{
    if (!has_kernels(out, a)) return;
    open_pie(out);
    for (uint32_t i = 0; i < a->kernel_names.count; i++)
        slice(out, hb_trace_text(a->trace, a->kernel_names.items[i].name),
              (hb_num){a->kernel_names.items[i].total, a->kernel_names_float});
    close_pie(out);
}

void hb_answer_kernel_tc_pie(hb_emitter *out, hb_analysis *a)
{
    if (!has_kernels(out, a)) return;
    open_pie(out);
    slice(out, HB_STR("Using Tensor Cores"), hb_float(a->tc_used_ratio));
    slice(out, HB_STR("Not Using Tensor Cores"), hb_float(1 - a->tc_used_ratio));
    close_pie(out);
}

/* ---- tables ---- */

static void open_table(hb_emitter *out)
{
    hb_emit_open(out, '{');
    hb_emit_open_key(out, "metadata", '{');
    hb_emit_pair(out, "sort", "Total Duration (us)");
    hb_emit_close(out, '}');
    hb_emit_open_key(out, "data", '{');
    hb_emit_open_key(out, "columns", '[');
}

static void open_rows(hb_emitter *out, const hb_analysis *a)
{
    for (size_t i = 0; i < HB_ARRAY_LEN(durations); i++)
        hb_emit_column(out, "number", durations[i], NULL);
    if (a->has_blocks_per_sm) hb_emit_column(out, "number", "Mean Blocks Per SM", hb_tip_blocks);
    if (a->has_occupancy)
        hb_emit_column(out, "number", "Mean Est. Achieved Occupancy (%)", hb_tip_occupancy_table);
    hb_emit_close(out, ']');
    hb_emit_open_key(out, "rows", '[');
}

static void close_table(hb_emitter *out)
{
    hb_emit_close(out, ']');
    hb_emit_close(out, '}');
    hb_emit_close(out, '}');
}

void hb_answer_kernel_table(hb_emitter *out, hb_analysis *a)
{
    if (!has_kernels(out, a)) return;
    open_table(out);
    hb_emit_column(out, "string", "Name", NULL);
    hb_emit_column(out, "string", "Tensor Cores Used", hb_tip_kernel_tc);
    open_rows(out, a);
    for (uint32_t i = 0; i < a->kernel_names.count; i++) {
        const hb_kernel_stat *k = &a->kernel_names.items[i];
        hb_emit_open(out, '[');
        hb_emit_str(out, hb_trace_text(a->trace, k->name));
        hb_emit_text(out, k->tc_used ? "Yes" : "No");
        hb_emit_int(out, k->calls);
        hb_emit_int(out, hb_py_round(k->total, 0));
        hb_emit_int(out, hb_py_round(k->mean, 0));
        hb_emit_int(out, hb_py_round(k->max, 0));
        hb_emit_int(out, hb_py_round(k->min, 0));
        hb_num blocks = {hb_py_round(k->blocks_per_sm, 2), !a->kernel_means_int};
        hb_num occupancy = {hb_py_round(k->occupancy, 2), !a->kernel_means_int};
        if (a->has_blocks_per_sm) hb_emit_num(out, blocks);
        if (a->has_occupancy) hb_emit_num(out, occupancy);
        hb_emit_close(out, ']');
    }
    close_table(out);
}

/* The int 0 where no time was taken. */
static hb_num mean_of(double weighted, double total)
{
    return total > 0 ? hb_float(hb_py_round(weighted / total, 2)) : hb_int(0);
}

static void op_row(hb_emitter *out, hb_analysis *a, const hb_kernel_op_stat *k)
{
    hb_emit_open(out, '[');
    hb_emit_str(out, hb_trace_text(a->trace, k->name));
    hb_emit_str(out, k->op_name ? hb_trace_text(a->trace, k->op_name) : HB_STR("N/A"));
    hb_emit_str(out, hb_trace_text(a->trace, k->grid));
    hb_emit_str(out, hb_trace_text(a->trace, k->block));
    hb_emit_str(out, hb_trace_text(a->trace, k->registers));
    hb_emit_str(out, hb_trace_text(a->trace, k->shared));
    hb_emit_text(out, k->tc_used ? "Yes" : "No");
    hb_emit_text(out, k->op_tc_eligible ? "Yes" : "No");
    hb_emit_int(out, k->calls);
    hb_emit_num(out, k->total);
    hb_emit_int(out, hb_py_round(k->total.v / k->calls, 0));
    hb_emit_num(out, k->max);
    hb_emit_num(out, k->min);
    if (a->has_blocks_per_sm) hb_emit_num(out, mean_of(k->blocks_per_sm, k->total.v));
    if (a->has_occupancy) hb_emit_num(out, mean_of(k->occupancy, k->total.v));
    hb_emit_close(out, ']');
}

void hb_answer_kernel_op_table(hb_emitter *out, hb_analysis *a)
{
    if (!has_kernels(out, a)) return;
    hb_ranked *list = malloc((a->kernel_ops.count + 1) * sizeof *list);
    for (uint32_t i = 0; list && i < a->kernel_ops.count; i++)
        list[i] = (hb_ranked){a->kernel_ops.items[i].total.v, i};
    if (list) hb_rank(list, a->kernel_ops.count);
    open_table(out);
    hb_emit_column(out, "string", "Name", NULL);
    hb_emit_column(out, "string", "Operator", NULL);
    hb_emit_column(out, "string", "Grid", NULL);
    hb_emit_column(out, "string", "Block", NULL);
    hb_emit_column(out, "number", "Register Per Thread", NULL);
    hb_emit_column(out, "number", "Shared Memory", NULL);
    hb_emit_column(out, "string", "Kernel Uses Tensor Cores", hb_tip_kernel_tc);
    hb_emit_column(out, "string", "Op is Tensor Cores eligible", hb_tip_kernel_op_tc);
    open_rows(out, a);
    for (uint32_t i = 0; list && i < a->kernel_ops.count; i++)
        op_row(out, a, &a->kernel_ops.items[list[i].index]);
    close_table(out);
    free(list);
}
