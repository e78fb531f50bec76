/* SPDX-License-Identifier: MIT
 *
 * What operators and kernels achieved, beside what the GPU can do.
 */
#include <stdio.h>

#include "text.h"
#include "view.h"

static const column operator_columns[] = {
    {"Operator", COLUMN_TEXT},       {"GPU", COLUMN_TEXT},         {"Type", COLUMN_TEXT},
    {"Calls", COLUMN_COUNT},         {"Time", COLUMN_TIME},        {"FLOP/s", COLUMN_FLOPS},
    {"GB/s", COLUMN_NUMBER},         {"FLOP/byte", COLUMN_NUMBER}, {"Of peak", COLUMN_PERCENT},
    {"Of the roof", COLUMN_PERCENT}, {"Bound by", COLUMN_TEXT},    {"Far from it", COLUMN_TIME}};
static const table_spec operator_spec = TABLE_SPEC_NOTED(
    "Operators", "by their FLOPs and inputs, over the time of their kernels", operator_columns);

static const column input_columns[] = {
    {"Operator", COLUMN_TEXT},       {"Inputs", COLUMN_TEXT},     {"GPU", COLUMN_TEXT},
    {"Type", COLUMN_TEXT},           {"Calls", COLUMN_COUNT},     {"Time", COLUMN_TIME},
    {"FLOP/s", COLUMN_FLOPS},        {"GB/s", COLUMN_NUMBER},     {"FLOP/byte", COLUMN_NUMBER},
    {"Of the roof", COLUMN_PERCENT}, {"Far from it", COLUMN_TIME}};
static const table_spec input_spec = TABLE_SPEC("Operators by inputs", input_columns);

static const column kernel_columns[] = {
    {"Kernel", COLUMN_TEXT},         {"GPU", COLUMN_TEXT},
    {"Type", COLUMN_TEXT},           {"Calls", COLUMN_COUNT},
    {"Time", COLUMN_TIME},           {"FLOP/s", COLUMN_FLOPS},
    {"GB/s", COLUMN_NUMBER},         {"Of peak", COLUMN_PERCENT},
    {"Of the roof", COLUMN_PERCENT}, {"Far from it", COLUMN_TIME},
    {"Operator's work", COLUMN_TEXT}};
static const table_spec kernel_spec = TABLE_SPEC("Kernels", kernel_columns);

static const column peak_columns[] = {{"GPU", COLUMN_TEXT},
                                      {"Type", COLUMN_TEXT},
                                      {"Vector FLOP/s", COLUMN_FLOPS},
                                      {"Matrix FLOP/s", COLUMN_FLOPS},
                                      {"GB/s", COLUMN_NUMBER},
                                      {"MHz", COLUMN_NUMBER},
                                      {"Clock", COLUMN_TEXT}};
static const table_spec peak_spec = TABLE_SPEC("Peaks", peak_columns);

static void print_operators(view_run *run, const hb_roof *roof)
{
    table t;
    view_table_init(&t, &operator_spec);
    for (size_t i = 0; i < roof->num_operators; i++) {
        const hb_rate *r = &roof->operators[i];
        if (view_wants(run, r->name))
            table_add(&t, r->name, r->gpu, r->type, (double)r->calls, r->total_us,
                      view_known(r->flops_per_s), view_known(r->gb_per_s), view_known(r->intensity),
                      view_known(r->peak_percent), view_known(r->roof_percent), r->bound,
                      view_known(r->far_us));
    }
    view_table_finish(run, &t, &operator_spec, -1);
}

static void print_inputs(view_run *run, const hb_roof *roof)
{
    table t;
    view_table_init(&t, &input_spec);
    for (size_t i = 0; i < roof->num_inputs; i++) {
        const hb_rate *r = &roof->inputs[i];
        if (view_wants(run, r->name))
            table_add(&t, r->name, r->shapes, r->gpu, r->type, (double)r->calls, r->total_us,
                      view_known(r->flops_per_s), view_known(r->gb_per_s), view_known(r->intensity),
                      view_known(r->roof_percent), view_known(r->far_us));
    }
    view_table_finish(run, &t, &input_spec, -1);
}

static void print_kernels(view_run *run, const hb_roof *roof)
{
    table t;
    view_table_init(&t, &kernel_spec);
    for (size_t i = 0; i < roof->num_kernels; i++) {
        const hb_rate *r = &roof->kernels[i];
        if (view_wants(run, r->name))
            table_add(&t, r->name, r->gpu, r->type, (double)r->calls, r->total_us,
                      view_known(r->flops_per_s), view_known(r->gb_per_s),
                      view_known(r->peak_percent), view_known(r->roof_percent),
                      view_known(r->far_us), r->shared ? "divided by time" : "");
    }
    view_table_finish(run, &t, &kernel_spec, -1);
}

static double positive(double value)
{
    return value > 0 ? value : NAN;
}

static void print_peaks(view_run *run, const hb_roof *roof)
{
    table t;
    view_table_init(&t, &peak_spec);
    for (size_t i = 0; i < roof->num_peaks; i++) {
        const hb_gpu_peak *p = &roof->peaks[i];
        table_add(&t, p->gpu, p->type, positive(p->vector_flops), positive(p->matrix_flops),
                  positive(p->gb_per_s), p->mhz, p->measured ? "measured" : "the highest");
    }
    view_table_finish(run, &t, &peak_spec, -1);
}

static void print_note(const view_run *run, const char *note)
{
    if (run->format == VIEW_TEXT) print_wrapped(note, 0, view_prose_width(run));
}

static void print_notes(const view_run *run, const hb_roof *roof)
{
    char note[300];
    if (roof->num_operators)
        print_note(run, "Bytes are those of the inputs, each once, and of a matrix product's "
                        "result: the least that has to be moved, so that GB/s and the share of the "
                        "roof are lower bounds. Far from it: time below 30 % of the roof.");
    if (roof->num_kernels && !roof->num_peaks)
        print_note(run, "Peaks are not known: the trace does not tell its GPU's architecture and "
                        "clocks (gcnArchName, clockRate in deviceProperties).");
    if (roof->rated_us < roof->kernels_us) {
        snprintf(note, sizeof note,
                 "Of the kernels' time %.1f %% is in no operator that tells FLOPs or inputs.",
                 100 * (1 - roof->rated_us / roof->kernels_us));
        print_note(run, note);
    }
}

static hb_result show(view_run *run, hb_trace_file *file)
{
    hb_insights *insights;
    const hb_roof *roof;
    hb_result result = view_insights(run, file, &insights);
    if (result == HB_OK) result = hb_insights_roof(insights, &roof);
    if (result == HB_OK) {
        print_operators(run, roof);
        print_inputs(run, roof);
        print_kernels(run, roof);
        print_peaks(run, roof);
        print_notes(run, roof);
    }
    hb_insights_destroy(insights);
    return result;
}

static const table_spec *const tables[] = {&operator_spec, &input_spec, &kernel_spec, &peak_spec,
                                           NULL};
const view view_roofline = {"roofline", tables, false, false, show, NULL};
