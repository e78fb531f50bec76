/* SPDX-License-Identifier: MIT
 *
 * What operators and kernels achieved, beside what the GPU can do.
 */
#include <math.h>

#include "page/page_views.h"

static const hb_page_column operator_columns[] = {
    {"Operator", HB_CELL_TEXT},       {"GPU", HB_CELL_TEXT},         {"Type", HB_CELL_TEXT},
    {"Calls", HB_CELL_COUNT},         {"Time", HB_CELL_TIME},        {"GFLOP/s", HB_CELL_NUMBER},
    {"GB/s", HB_CELL_NUMBER},         {"FLOP/byte", HB_CELL_NUMBER}, {"Of peak", HB_CELL_PERCENT},
    {"Of the roof", HB_CELL_PERCENT}, {"Bound by", HB_CELL_TEXT},    {"Far from it", HB_CELL_TIME}};
static const hb_page_table operators_table = HB_PAGE_TABLE("Operators", operator_columns);

static const hb_page_column input_columns[] = {
    {"Operator", HB_CELL_TEXT},       {"Inputs", HB_CELL_TEXT},     {"GPU", HB_CELL_TEXT},
    {"Type", HB_CELL_TEXT},           {"Calls", HB_CELL_COUNT},     {"Time", HB_CELL_TIME},
    {"GFLOP/s", HB_CELL_NUMBER},      {"GB/s", HB_CELL_NUMBER},     {"FLOP/byte", HB_CELL_NUMBER},
    {"Of the roof", HB_CELL_PERCENT}, {"Far from it", HB_CELL_TIME}};
static const hb_page_table inputs_table = HB_PAGE_TABLE("Operators by inputs", input_columns);

static const hb_page_column kernel_columns[] = {
    {"Kernel", HB_CELL_TEXT},      {"GPU", HB_CELL_TEXT},
    {"Type", HB_CELL_TEXT},        {"Calls", HB_CELL_COUNT},
    {"Time", HB_CELL_TIME},        {"GFLOP/s", HB_CELL_NUMBER},
    {"GB/s", HB_CELL_NUMBER},      {"FLOP/byte", HB_CELL_NUMBER},
    {"Of peak", HB_CELL_PERCENT},  {"Of the roof", HB_CELL_PERCENT},
    {"Far from it", HB_CELL_TIME}, {"Operator's work", HB_CELL_TEXT}};
static const hb_page_table kernels_table = HB_PAGE_TABLE("Kernels", kernel_columns);

static const hb_page_column peak_columns[] = {{"GPU", HB_CELL_TEXT},
                                              {"Type", HB_CELL_TEXT},
                                              {"Vector GFLOP/s", HB_CELL_NUMBER},
                                              {"Matrix GFLOP/s", HB_CELL_NUMBER},
                                              {"GB/s", HB_CELL_NUMBER},
                                              {"MHz", HB_CELL_NUMBER},
                                              {"Clock", HB_CELL_TEXT}};
static const hb_page_table peaks_table = HB_PAGE_TABLE("Peaks", peak_columns);

static double giga(double per_second)
{
    return per_second > 0 ? per_second / 1e9 : NAN;
}

static double positive(double value)
{
    return value > 0 ? value : NAN;
}

static void put_operators(hb_emitter *out, const hb_roof *roof)
{
    hb_table_begin(out, "operators", &operators_table);
    for (size_t i = 0; i < roof->num_operators; i++) {
        const hb_rate *r = &roof->operators[i];
        hb_table_row(out, &operators_table, r->name, r->gpu, r->type, (double)r->calls, r->total_us,
                     giga(r->flops_per_s), hb_if_known(r->gb_per_s), hb_if_known(r->intensity),
                     hb_if_known(r->peak_percent), hb_if_known(r->roof_percent), r->bound,
                     hb_if_known(r->far_us));
    }
    hb_table_end(out);
}

static void put_inputs(hb_emitter *out, const hb_roof *roof)
{
    hb_table_begin(out, "inputs", &inputs_table);
    for (size_t i = 0; i < roof->num_inputs; i++) {
        const hb_rate *r = &roof->inputs[i];
        hb_table_row(out, &inputs_table, r->name, r->shapes, r->gpu, r->type, (double)r->calls,
                     r->total_us, giga(r->flops_per_s), hb_if_known(r->gb_per_s),
                     hb_if_known(r->intensity), hb_if_known(r->roof_percent),
                     hb_if_known(r->far_us));
    }
    hb_table_end(out);
}

static void put_kernels(hb_emitter *out, const hb_roof *roof)
{
    hb_table_begin(out, "kernels", &kernels_table);
    for (size_t i = 0; i < roof->num_kernels; i++) {
        const hb_rate *r = &roof->kernels[i];
        hb_table_row(out, &kernels_table, r->name, r->gpu, r->type, (double)r->calls, r->total_us,
                     giga(r->flops_per_s), hb_if_known(r->gb_per_s), hb_if_known(r->intensity),
                     hb_if_known(r->peak_percent), hb_if_known(r->roof_percent),
                     hb_if_known(r->far_us), r->shared ? "divided by time" : "");
    }
    hb_table_end(out);
}

static void put_peaks(hb_emitter *out, const hb_roof *roof)
{
    hb_table_begin(out, "peaks", &peaks_table);
    for (size_t i = 0; i < roof->num_peaks; i++) {
        const hb_gpu_peak *p = &roof->peaks[i];
        hb_table_row(out, &peaks_table, p->gpu, p->type, giga(p->vector_flops),
                     giga(p->matrix_flops), positive(p->gb_per_s), p->mhz,
                     p->measured ? "measured" : "the highest");
    }
    hb_table_end(out);
}

hb_result hb_page_roofline(hb_page_trace *trace, hb_emitter *out)
{
    hb_insights *insights;
    const hb_roof *roof;
    HB_TRY(hb_page_insights(trace, &insights));
    HB_TRY(hb_insights_roof(insights, &roof));
    put_operators(out, roof);
    put_inputs(out, roof);
    put_kernels(out, roof);
    put_peaks(out, roof);
    hb_emit_member(out, "kernels_us", roof->kernels_us);
    hb_emit_member(out, "rated_us", roof->rated_us);
    return HB_OK;
}
