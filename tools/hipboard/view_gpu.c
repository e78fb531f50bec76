/* SPDX-License-Identifier: MIT
 *
 * How each GPU's time divides, what was copied, and what the host did while it was idle.
 */
#include <string.h>

#include "view.h"

static const column gpu_columns[] = {
    {"GPU", COLUMN_TEXT},         {"Span", COLUMN_TIME},         {"Busy", COLUMN_PERCENT},
    {"Computation", COLUMN_TIME}, {"Comm", COLUMN_TIME},         {"Exposed comm", COLUMN_TIME},
    {"Copy", COLUMN_TIME},        {"Exposed copy", COLUMN_TIME}, {"Idle", COLUMN_TIME},
    {"Gaps", COLUMN_COUNT},       {"Largest gap", COLUMN_TIME}};
const table_spec view_gpu_time_spec =
    TABLE_SPEC_NOTED("GPU time", "from each GPU's first work to its last", gpu_columns);

static const column stream_columns[] = {
    {"GPU", COLUMN_TEXT},     {"Stream", COLUMN_TEXT}, {"Work", COLUMN_COUNT},
    {"Busy", COLUMN_TIME},    {"Late", COLUMN_TIME},   {"Queued", COLUMN_TIME},
    {"Unknown", COLUMN_TIME}, {"Gaps", COLUMN_COUNT},  {"Largest gap", COLUMN_TIME}};
static const table_spec stream_spec = TABLE_SPEC_NOTED(
    "Streams", "idle because the next work was launched late, or waited in the queue",
    stream_columns);

static const column copy_columns[] = {{"Copy", COLUMN_TEXT},   {"GPU", COLUMN_TEXT},
                                      {"Calls", COLUMN_COUNT}, {"Size", COLUMN_BYTES},
                                      {"Total", COLUMN_TIME},  {"Longest", COLUMN_TIME},
                                      {"GB/s", COLUMN_NUMBER}};
static const table_spec copy_spec = TABLE_SPEC("Copies", copy_columns);

static const column cause_columns[] = {{"Operator", COLUMN_TEXT}, {"Call", COLUMN_TEXT},
                                       {"GPU", COLUMN_TEXT},      {"Why", COLUMN_TEXT},
                                       {"Gaps", COLUMN_COUNT},    {"Total", COLUMN_TIME},
                                       {"Largest", COLUMN_TIME},  {"Share", COLUMN_PERCENT}};
static const table_spec cause_spec =
    TABLE_SPEC_NOTED("Idle", "what the host did most of each gap", cause_columns);

static const column gap_columns[] = {{"Next work", COLUMN_TEXT}, {"Operator", COLUMN_TEXT},
                                     {"Call", COLUMN_TEXT},      {"GPU", COLUMN_TEXT},
                                     {"Why", COLUMN_TEXT},       {"Start", COLUMN_TIME},
                                     {"Gap", COLUMN_TIME}};
static const table_spec gap_spec = TABLE_SPEC("Gaps", gap_columns);

enum { CAUSE_TOTAL = 5, GAP_LENGTH = 6 };

hb_result view_print_gpu_times(view_run *run, hb_insights *insights)
{
    const hb_gpu_time *list;
    size_t count;
    table t;
    hb_result result = hb_insights_gpus(insights, &list, &count);
    if (result != HB_OK) return result;
    view_table_init(&t, &view_gpu_time_spec);
    for (size_t i = 0; i < count; i++) {
        const hb_gpu_time *g = &list[i];
        table_add(&t, g->gpu, g->span_us, view_share(g->busy_us, g->span_us), g->computation_us,
                  g->communication_us, g->exposed_communication_us, g->copy_us, g->exposed_copy_us,
                  g->span_us - g->busy_us, (double)g->gaps, g->largest_gap_us);
    }
    view_table_finish(run, &t, &view_gpu_time_spec, -1);
    return HB_OK;
}

static hb_result print_streams(view_run *run, hb_insights *insights)
{
    const hb_stream_time *list;
    size_t count;
    table t;
    hb_result result = hb_insights_streams(insights, &list, &count);
    if (result != HB_OK) return result;
    view_table_init(&t, &stream_spec);
    for (size_t i = 0; i < count; i++)
        table_add(&t, list[i].gpu, list[i].stream, (double)list[i].works, list[i].busy_us,
                  list[i].late_us, list[i].queued_us, list[i].unknown_us, (double)list[i].gaps,
                  list[i].largest_gap_us);
    view_table_finish(run, &t, &stream_spec, -1);
    return HB_OK;
}

static hb_result print_copies(view_run *run, hb_insights *insights)
{
    const hb_copy_stat *list;
    size_t count;
    table t;
    hb_result result = hb_insights_copies(insights, &list, &count);
    if (result != HB_OK) return result;
    view_table_init(&t, &copy_spec);
    for (size_t i = 0; i < count; i++) {
        const hb_copy_stat *c = &list[i];
        if (!view_wants(run, c->name)) continue;
        table_add(&t, c->name, c->gpu, (double)c->calls, c->bytes > 0 ? c->bytes : NAN, c->total_us,
                  c->longest_us, view_known(c->gb_per_s));
    }
    view_table_finish(run, &t, &copy_spec, -1);
    return HB_OK;
}

static const char *operator_text(const char *name, const char *call, bool many)
{
    if (name || call) return name ? name : "";
    return many ? "(many short calls)" : "(nothing recorded)";
}

static hb_result print_causes(view_run *run, hb_insights *insights)
{
    const hb_idle_cause *list;
    size_t count;
    double total = 0;
    table t;
    hb_result result = hb_insights_idle_causes(insights, &list, &count);
    if (result != HB_OK) return result;
    for (size_t i = 0; i < count; i++)
        total += list[i].total_us;
    view_table_init(&t, &cause_spec);
    for (size_t i = 0; i < count; i++) {
        const hb_idle_cause *c = &list[i];
        const char *op = operator_text(c->operator_name, c->call, c->many_calls),
                   *call = c->call ? c->call : "";
        if (view_wants(run, op) || view_wants(run, call))
            table_add(&t, op, call, c->gpu, c->why, (double)c->gaps, c->total_us, c->largest_us,
                      view_share(c->total_us, total));
    }
    view_table_finish(run, &t, &cause_spec, CAUSE_TOTAL);
    return HB_OK;
}

static hb_result print_gaps(view_run *run, hb_insights *insights)
{
    const hb_idle_gap *list;
    size_t count;
    table t;
    hb_result result = hb_insights_gaps(insights, &list, &count);
    if (result != HB_OK) return result;
    view_table_init(&t, &gap_spec);
    for (size_t i = 0; i < count; i++) {
        const hb_idle_gap *g = &list[i];
        const char *op = operator_text(g->operator_name, g->call, g->many_calls),
                   *call = g->call ? g->call : "";
        if (view_wants(run, g->next) || view_wants(run, op) || view_wants(run, call))
            table_add(&t, g->next, op, call, g->gpu, g->why, g->start_us, g->duration_us);
    }
    view_table_finish(run, &t, &gap_spec, GAP_LENGTH);
    return HB_OK;
}

static hb_result show(view_run *run, hb_trace_file *file)
{
    hb_insights *insights;
    hb_result result = view_insights(run, file, &insights);
    if (result == HB_OK) result = view_print_gpu_times(run, insights);
    if (result == HB_OK) result = print_streams(run, insights);
    if (result == HB_OK) result = print_copies(run, insights);
    if (result == HB_OK) result = print_causes(run, insights);
    if (result == HB_OK) result = print_gaps(run, insights);
    hb_insights_destroy(insights);
    return result;
}

static const table_spec *const tables[] = {&view_gpu_time_spec, &stream_spec, &copy_spec,
                                           &cause_spec,         &gap_spec,    NULL};
const view view_gpu = {"gpu", tables, false, false, show, NULL};
