/* SPDX-License-Identifier: MIT
 *
 * The views that are tables of what the library counts.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api_trace_file.h"
#include "base/times.h"
#include "page/page_sparks.h"
#include "page/page_views.h"

#define COLUMNS(...) static const hb_page_column __VA_ARGS__

/* ---- steps ---- */

COLUMNS(step_columns[]) = {
    {"Step", HB_CELL_TEXT},     {"Start", HB_CELL_TIME},   {"Total", HB_CELL_TIME},
    {"Kernel", HB_CELL_TIME},   {"Memcpy", HB_CELL_TIME},  {"Memset", HB_CELL_TIME},
    {"Comm", HB_CELL_TIME},     {"Runtime", HB_CELL_TIME}, {"DataLoader", HB_CELL_TIME},
    {"CPU Exec", HB_CELL_TIME}, {"Other", HB_CELL_TIME}};
static const hb_page_table steps_table = HB_PAGE_TABLE("Steps", step_columns);

COLUMNS(part_columns[]) = {{"Part", HB_CELL_TEXT},     {"Mean", HB_CELL_TIME},
                           {"Share", HB_CELL_PERCENT}, {"Median", HB_CELL_TIME},
                           {"p95", HB_CELL_TIME},      {"Min", HB_CELL_TIME},
                           {"Max", HB_CELL_TIME},      {"Std", HB_CELL_TIME}};
static const hb_page_table parts_table = HB_PAGE_TABLE("Statistics", part_columns);

static void put_group(hb_emitter *out, const hb_step_group *g)
{
    double whole = g->of[HB_STEP_TIME].sum;
    for (int q = 0; q < HB_STEP_QUANTITIES; q++) {
        const hb_statistics *s = &g->of[q];
        if (q != HB_STEP_TIME && s->max == 0) continue;
        hb_table_row(out, &parts_table, hb_step_quantity_name((hb_step_quantity)q), s->mean,
                     hb_percent_of(s->sum, whole), s->median, s->p95, s->min, s->max, s->std);
    }
}

static hb_result put_parts(hb_page_trace *trace, hb_emitter *out)
{
    hb_step_summary *summary;
    const hb_step_group *groups;
    size_t count = 0;
    HB_TRY(hb_step_summary_create(&summary));
    hb_result result =
        hb_step_summary_add_first(summary, trace->file, trace->run, trace->worker, trace->span);
    if (result == HB_OK)
        result = hb_step_summary_groups(summary, HB_STEPS_TOGETHER, &groups, &count);
    hb_table_begin(out, "parts", &parts_table);
    if (result == HB_OK && count) put_group(out, &groups[0]);
    hb_table_end(out);
    hb_step_summary_destroy(summary);
    return result;
}

hb_result hb_page_steps(hb_page_trace *trace, hb_emitter *out)
{
    const hb_step_stat *list;
    size_t count;
    HB_TRY(hb_trace_file_first_steps(trace->file, &list, &count));
    double zero = hb_ns_to_us(hb_page_span_of(trace).start);
    hb_table_begin(out, "steps", &steps_table);
    for (size_t i = 0; i < count; i++) {
        const hb_step_stat *x = &list[i];
        hb_table_row(out, &steps_table, x->name, x->start_us - zero, x->duration_us, x->kernel_us,
                     x->memcpy_us, x->memset_us, x->communication_us, x->runtime_us, x->loader_us,
                     x->cpu_us, x->other_us);
    }
    hb_table_end(out);
    return put_parts(trace, out);
}

COLUMNS(role_columns[]) = {
    {"Average step", HB_CELL_TEXT}, {"Time", HB_CELL_TIME}, {"Share", HB_CELL_PERCENT}};
static const hb_page_table roles_table = HB_PAGE_TABLE("Average step", role_columns);

void hb_page_mean_step(const hb_step_stat *steps, size_t count, double mean[HB_STEP_QUANTITIES])
{
    memset(mean, 0, HB_STEP_QUANTITIES * sizeof *mean);
    for (size_t i = 0; i < count; i++) {
        const hb_step_stat *s = &steps[i];
        const double us[HB_STEP_QUANTITIES] = {s->duration_us, s->kernel_us,        s->memcpy_us,
                                               s->memset_us,   s->communication_us, s->runtime_us,
                                               s->loader_us,   s->cpu_us,           s->other_us};
        for (int q = 0; q < HB_STEP_QUANTITIES; q++)
            mean[q] += us[q];
    }
    for (int q = 0; count && q < HB_STEP_QUANTITIES; q++)
        mean[q] /= (double)count;
}

void hb_page_roles(hb_emitter *out, const char *key, const hb_step_stat *steps, size_t count)
{
    double mean[HB_STEP_QUANTITIES];
    hb_page_mean_step(steps, count, mean);
    hb_table_begin(out, key, &roles_table);
    for (int q = 0; count && q < HB_STEP_QUANTITIES; q++)
        hb_table_row(out, &roles_table,
                     q == HB_STEP_TIME ? "Total" : hb_step_quantity_name((hb_step_quantity)q),
                     mean[q], hb_percent_of(mean[q], mean[HB_STEP_TIME]));
    hb_table_end(out);
}

/* ---- operators ---- */

#define OPERATOR_COLUMNS                                                                     \
    {"Calls", HB_CELL_COUNT}, {"Device self", HB_CELL_TIME}, {"Device total", HB_CELL_TIME}, \
        {"Host self", HB_CELL_TIME}, {"Host total", HB_CELL_TIME},                           \
        {"Device share", HB_CELL_PERCENT},                                                   \
    {                                                                                        \
        "Host share", HB_CELL_PERCENT                                                        \
    }
COLUMNS(operator_columns[]) = {
    {"Operator", HB_CELL_TEXT}, OPERATOR_COLUMNS, {"Per step", HB_CELL_SPARK}};
COLUMNS(shape_columns[]) = {
    {"Operator", HB_CELL_TEXT}, {"Input shapes", HB_CELL_TEXT}, OPERATOR_COLUMNS};
static const hb_page_table operators_table = HB_PAGE_TABLE("Operators", operator_columns);
static const hb_page_table shapes_table = HB_PAGE_TABLE("Operators by shape", shape_columns);

static void put_operator(hb_emitter *out, const hb_operator_stat *o, const char *spark,
                         double device, double host)
{
    double calls = (double)o->calls, d = hb_percent_of(o->self_device_us, device),
           h = hb_percent_of(o->self_host_us, host);
    if (!spark)
        hb_table_row(out, &shapes_table, o->name, o->input_shapes, calls, o->self_device_us,
                     o->device_us, o->self_host_us, o->host_us, d, h);
    else
        hb_table_row(out, &operators_table, o->name, calls, o->self_device_us, o->device_us,
                     o->self_host_us, o->host_us, d, h, spark);
}

typedef struct dear {
    double device, host;
    size_t index;
} dear;

/* As the page shows them at first. */
static int by_cost(const void *x, const void *y)
{
    const dear *a = x, *b = y;
    if (a->device != b->device) return a->device > b->device ? -1 : 1;
    if (a->host != b->host) return a->host > b->host ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

/* free() it; NULL without memory. */
static dear *order_of(const hb_operator_stat *list, size_t count)
{
    dear *order = malloc((count + 1) * sizeof *order);
    for (size_t i = 0; order && i < count; i++)
        order[i] = (dear){list[i].self_device_us, list[i].self_host_us, i};
    if (order) qsort(order, count, sizeof *order, by_cost);
    return order;
}

/* The list stands as the analysis has it, whose names it has. */
static hb_result put_rows(hb_page_trace *trace, hb_emitter *out, const hb_operator_stat *list,
                          size_t count, bool by_shape)
{
    hb_analysis *a = hb_trace_file_analysis(trace->file);
    double host = 0, device = 0;
    hb_sparks sparks = {0};
    dear *order = order_of(list, count);
    hb_result result = by_shape ? HB_OK : hb_sparks_of_operators(&sparks, a);
    if (!order) result = hb_no_memory();
    for (size_t i = 0; i < count; i++) {
        host += list[i].self_host_us;
        device += list[i].self_device_us;
    }
    for (size_t k = 0; result == HB_OK && k < count; k++) {
        size_t i = order[k].index;
        const char *spark = by_shape ? NULL : hb_spark_of(&sparks, a->by_name.items[i].name);
        put_operator(out, &list[i], spark, device, host);
    }
    free(order);
    hb_sparks_free(&sparks);
    return result;
}

static hb_result put_operators(hb_page_trace *trace, hb_emitter *out, bool by_shape)
{
    const hb_operator_stat *list;
    size_t count;
    HB_TRY(hb_trace_file_operators(trace->file, by_shape, &list, &count));
    hb_table_begin(out, by_shape ? "shapes" : "operators",
                   by_shape ? &shapes_table : &operators_table);
    hb_result result = put_rows(trace, out, list, count, by_shape);
    hb_table_end(out);
    return result;
}

hb_result hb_page_operators(hb_page_trace *trace, hb_emitter *out)
{
    HB_TRY(put_operators(trace, out, false));
    return put_operators(trace, out, true);
}

/* ---- kernels ---- */

COLUMNS(kernel_columns[]) = {{"Kernel", HB_CELL_TEXT},   {"Calls", HB_CELL_COUNT},
                             {"Total", HB_CELL_TIME},    {"Mean", HB_CELL_TIME},
                             {"Max", HB_CELL_TIME},      {"Min", HB_CELL_TIME},
                             {"Share", HB_CELL_PERCENT}, {"Blocks per SM", HB_CELL_NUMBER},
                             {"Per step", HB_CELL_SPARK}};
static const hb_page_table kernels_table = HB_PAGE_TABLE("Kernels", kernel_columns);

COLUMNS(insight_columns[]) = {{"Kernel", HB_CELL_TEXT},       {"Class", HB_CELL_TEXT},
                              {"Matrix", HB_CELL_TEXT},       {"Calls", HB_CELL_COUNT},
                              {"Total", HB_CELL_TIME},        {"Share", HB_CELL_PERCENT},
                              {"Occupancy", HB_CELL_PERCENT}, {"Limited by", HB_CELL_TEXT}};
static const hb_page_table insights_table =
    HB_PAGE_TABLE("Kernels: class, matrix cores, occupancy", insight_columns);

COLUMNS(class_columns[]) = {{"Class", HB_CELL_TEXT},
                            {"Kernels", HB_CELL_COUNT},
                            {"Calls", HB_CELL_COUNT},
                            {"Total", HB_CELL_TIME},
                            {"Share", HB_CELL_PERCENT},
                            {"Matrix cores", HB_CELL_PERCENT},
                            {"No matrix cores", HB_CELL_PERCENT}};
static const hb_page_table classes_table = HB_PAGE_TABLE("Kernel classes", class_columns);

static hb_result put_kernels(hb_page_trace *trace, hb_emitter *out)
{
    const hb_kernel_stats *list;
    size_t count;
    double total = 0;
    hb_sparks sparks;
    HB_TRY(hb_trace_file_kernels(trace->file, &list, &count));
    hb_analysis *a = hb_trace_file_analysis(trace->file);
    hb_result result = hb_sparks_of_kernels(&sparks, a);
    for (size_t i = 0; i < count; i++)
        total += list[i].total_us;
    hb_table_begin(out, "kernels", &kernels_table);
    for (size_t i = 0; result == HB_OK && i < count; i++) {
        const hb_kernel_stats *k = &list[i];
        hb_table_row(out, &kernels_table, k->name, (double)k->calls, k->total_us, k->mean_us,
                     k->max_us, k->min_us, hb_percent_of(k->total_us, total), k->blocks_per_sm,
                     hb_spark_of(&sparks, a->kernel_names.items[i].name));
    }
    hb_table_end(out);
    hb_sparks_free(&sparks);
    return result;
}

static hb_result put_kernel_insights(hb_insights *insights, hb_emitter *out)
{
    static const char *const matrix[] = {"unknown", "yes", "no"};
    const hb_kernel_insight *list;
    size_t count;
    double total = 0;
    HB_TRY(hb_insights_kernels(insights, &list, &count));
    for (size_t i = 0; i < count; i++)
        total += list[i].total_us;
    hb_table_begin(out, "insights", &insights_table);
    for (size_t i = 0; i < count; i++) {
        const hb_kernel_insight *k = &list[i];
        hb_table_row(out, &insights_table, k->name, k->kernel_class, matrix[k->matrix],
                     (double)k->calls, k->total_us, hb_percent_of(k->total_us, total),
                     hb_if_known(k->occupancy_percent), k->limited_by);
    }
    hb_table_end(out);
    return HB_OK;
}

static hb_result put_classes(hb_insights *insights, hb_emitter *out)
{
    const hb_kernel_class *list;
    size_t count;
    double total = 0;
    HB_TRY(hb_insights_classes(insights, &list, &count));
    for (size_t i = 0; i < count; i++)
        total += list[i].total_us;
    hb_table_begin(out, "classes", &classes_table);
    for (size_t i = 0; i < count; i++) {
        const hb_kernel_class *c = &list[i];
        bool known = c->matrix_us + c->no_matrix_us > 0; /* nothing known is no 0 % */
        hb_table_row(out, &classes_table, c->name, (double)c->kernels, (double)c->calls,
                     c->total_us, hb_percent_of(c->total_us, total),
                     known ? hb_percent_of(c->matrix_us, c->total_us) : NAN,
                     known ? hb_percent_of(c->no_matrix_us, c->total_us) : NAN);
    }
    hb_table_end(out);
    return HB_OK;
}

hb_result hb_page_kernels(hb_page_trace *trace, hb_emitter *out)
{
    hb_insights *insights;
    HB_TRY(put_kernels(trace, out));
    HB_TRY(hb_page_insights(trace, &insights));
    HB_TRY(put_kernel_insights(insights, out));
    return put_classes(insights, out);
}

/* ---- GPUs ---- */

COLUMNS(gpu_columns[]) = {
    {"GPU", HB_CELL_TEXT},         {"Span", HB_CELL_TIME},         {"Busy", HB_CELL_PERCENT},
    {"Computation", HB_CELL_TIME}, {"Comm", HB_CELL_TIME},         {"Exposed comm", HB_CELL_TIME},
    {"Copy", HB_CELL_TIME},        {"Exposed copy", HB_CELL_TIME}, {"Idle", HB_CELL_TIME},
    {"Gaps", HB_CELL_COUNT},       {"Largest gap", HB_CELL_TIME}};
static const hb_page_table gpu_table = HB_PAGE_TABLE("GPU time", gpu_columns);

COLUMNS(stream_columns[]) = {
    {"GPU", HB_CELL_TEXT},     {"Stream", HB_CELL_TEXT}, {"Work", HB_CELL_COUNT},
    {"Busy", HB_CELL_TIME},    {"Late", HB_CELL_TIME},   {"Queued", HB_CELL_TIME},
    {"Unknown", HB_CELL_TIME}, {"Gaps", HB_CELL_COUNT},  {"Largest gap", HB_CELL_TIME}};
static const hb_page_table streams_table = HB_PAGE_TABLE("Streams", stream_columns);

COLUMNS(copy_columns[]) = {{"Copy", HB_CELL_TEXT},   {"GPU", HB_CELL_TEXT},
                           {"Calls", HB_CELL_COUNT}, {"Size", HB_CELL_BYTES},
                           {"Total", HB_CELL_TIME},  {"Longest", HB_CELL_TIME},
                           {"GB/s", HB_CELL_NUMBER}};
static const hb_page_table copies_table = HB_PAGE_TABLE("Copies", copy_columns);

COLUMNS(cause_columns[]) = {{"Operator", HB_CELL_TEXT}, {"Call", HB_CELL_TEXT},
                            {"GPU", HB_CELL_TEXT},      {"Why", HB_CELL_TEXT},
                            {"Gaps", HB_CELL_COUNT},    {"Total", HB_CELL_TIME},
                            {"Largest", HB_CELL_TIME},  {"Share", HB_CELL_PERCENT}};
static const hb_page_table causes_table = HB_PAGE_TABLE("Idle", cause_columns);

COLUMNS(gap_columns[]) = {{"Next work", HB_CELL_TEXT}, {"Operator", HB_CELL_TEXT},
                          {"Call", HB_CELL_TEXT},      {"GPU", HB_CELL_TEXT},
                          {"Why", HB_CELL_TEXT},       {"Start", HB_CELL_TIME},
                          {"Gap", HB_CELL_TIME}};
static const hb_page_table gaps_table = HB_PAGE_TABLE("Gaps", gap_columns);

enum { MOST_GAPS = 1000 }; /* the longest ones; who reads more? */

static hb_result put_gpus(hb_insights *insights, hb_emitter *out)
{
    const hb_gpu_time *list;
    size_t count;
    HB_TRY(hb_insights_gpus(insights, &list, &count));
    hb_table_begin(out, "gpus", &gpu_table);
    for (size_t i = 0; i < count; i++) {
        const hb_gpu_time *g = &list[i];
        hb_table_row(out, &gpu_table, g->gpu, g->span_us, hb_percent_of(g->busy_us, g->span_us),
                     g->computation_us, g->communication_us, g->exposed_communication_us,
                     g->copy_us, g->exposed_copy_us, g->span_us - g->busy_us, (double)g->gaps,
                     g->largest_gap_us);
    }
    hb_table_end(out);
    return HB_OK;
}

static hb_result put_streams(hb_insights *insights, hb_emitter *out)
{
    const hb_stream_time *list;
    size_t count;
    HB_TRY(hb_insights_streams(insights, &list, &count));
    hb_table_begin(out, "streams", &streams_table);
    for (size_t i = 0; i < count; i++) {
        const hb_stream_time *s = &list[i];
        hb_table_row(out, &streams_table, s->gpu, s->stream, (double)s->works, s->busy_us,
                     s->late_us, s->queued_us, s->unknown_us, (double)s->gaps, s->largest_gap_us);
    }
    hb_table_end(out);
    return HB_OK;
}

static hb_result put_copies(hb_insights *insights, hb_emitter *out)
{
    const hb_copy_stat *list;
    size_t count;
    HB_TRY(hb_insights_copies(insights, &list, &count));
    hb_table_begin(out, "copies", &copies_table);
    for (size_t i = 0; i < count; i++) {
        const hb_copy_stat *c = &list[i];
        hb_table_row(out, &copies_table, c->name, c->gpu, (double)c->calls,
                     c->bytes > 0 ? c->bytes : NAN, c->total_us, c->longest_us,
                     hb_if_known(c->gb_per_s));
    }
    hb_table_end(out);
    return HB_OK;
}

static const char *operator_text(const char *name, const char *call, bool many)
{
    if (name || call) return name ? name : "";
    return many ? "(many short calls)" : "(nothing recorded)";
}

static hb_result put_causes(hb_insights *insights, hb_emitter *out)
{
    const hb_idle_cause *list;
    size_t count;
    double total = 0;
    HB_TRY(hb_insights_idle_causes(insights, &list, &count));
    for (size_t i = 0; i < count; i++)
        total += list[i].total_us;
    hb_table_begin(out, "causes", &causes_table);
    for (size_t i = 0; i < count; i++) {
        const hb_idle_cause *c = &list[i];
        hb_table_row(out, &causes_table, operator_text(c->operator_name, c->call, c->many_calls),
                     c->call, c->gpu, c->why, (double)c->gaps, c->total_us, c->largest_us,
                     hb_percent_of(c->total_us, total));
    }
    hb_table_end(out);
    return HB_OK;
}

static hb_result put_gaps(hb_insights *insights, hb_emitter *out)
{
    const hb_idle_gap *list;
    size_t count;
    HB_TRY(hb_insights_gaps(insights, &list, &count));
    hb_emit_member(out, "gaps_in_all", (double)count);
    hb_table_begin(out, "gaps", &gaps_table);
    for (size_t i = 0; i < count && i < MOST_GAPS; i++) {
        const hb_idle_gap *g = &list[i];
        hb_table_row(out, &gaps_table, g->next,
                     operator_text(g->operator_name, g->call, g->many_calls), g->call, g->gpu,
                     g->why, g->start_us, g->duration_us);
    }
    hb_table_end(out);
    return HB_OK;
}

hb_result hb_page_gpu(hb_page_trace *trace, hb_emitter *out)
{
    hb_insights *insights;
    HB_TRY(hb_page_insights(trace, &insights));
    HB_TRY(put_gpus(insights, out));
    HB_TRY(put_streams(insights, out));
    HB_TRY(put_copies(insights, out));
    HB_TRY(put_causes(insights, out));
    return put_gaps(insights, out);
}

/* ---- modules ---- */

COLUMNS(module_columns[]) = {{"Module", HB_CELL_TEXT},       {"Depth", HB_CELL_COUNT},
                             {"Calls", HB_CELL_COUNT},       {"Operators", HB_CELL_COUNT},
                             {"Host total", HB_CELL_TIME},   {"Host self", HB_CELL_TIME},
                             {"Device total", HB_CELL_TIME}, {"Device self", HB_CELL_TIME}};
static const hb_page_table modules_table = HB_PAGE_TABLE("Modules", module_columns);

hb_result hb_page_modules(hb_page_trace *trace, hb_emitter *out)
{
    const hb_module_stats *list;
    size_t count;
    HB_TRY(hb_trace_file_modules(trace->file, &list, &count));
    hb_table_begin(out, "modules", &modules_table);
    for (size_t i = 0; i < count; i++) {
        const hb_module_stats *m = &list[i];
        hb_table_row(out, &modules_table, m->name, (double)m->depth, (double)m->occurrences,
                     (double)m->operators, m->host_us, m->self_host_us, m->device_us,
                     m->self_device_us);
    }
    hb_table_end(out);
    return HB_OK;
}

/* ---- call stacks ---- */

COLUMNS(stack_columns[]) = {{"Stack", HB_CELL_TEXT}, {"Time", HB_CELL_TIME}};
COLUMNS(byte_columns[]) = {{"Stack", HB_CELL_TEXT}, {"Bytes", HB_CELL_BYTES}};
static const hb_page_table stacks_table = HB_PAGE_TABLE("Calls", stack_columns);
static const hb_page_table bytes_table = HB_PAGE_TABLE("Calls", byte_columns);

/* Stacks are told frame by frame: those of deep recursions are as long as they are many. */
enum { MOST_STACKS = 20000, MOST_STACK_BYTES = 8 << 20 };

typedef struct stacks {
    hb_emitter *out;
    const hb_page_table *table;
    size_t count, bytes;
} stacks;

static bool is_enough(const stacks *s)
{
    return s->count >= MOST_STACKS || s->bytes >= MOST_STACK_BYTES;
}

static bool put_stack(void *context, const char *stack, double amount)
{
    stacks *s = context;
    hb_table_row(s->out, s->table, stack, amount);
    s->count++;
    s->bytes += strlen(stack);
    return !is_enough(s);
}

/* Frames of the program's code, beside the scopes and operators that every trace has. */
static bool has_frames(const hb_trace *t)
{
    if (t->functions.count > 1) return true;
    for (uint32_t i = 1; i < t->ops.items.count; i++)
        if (((const hb_op_row *)hb_column_at(&t->ops.items, i))->stack) return true;
    return false;
}

static hb_result put_stacks(hb_page_trace *trace, hb_emitter *out, const char *key,
                            const char *metric, const hb_page_table *table, bool wanted)
{
    hb_stacks_options options = HB_STACKS_OPTIONS_INIT;
    hb_result result = HB_OK;
    stacks s = {.out = out, .table = table};
    char cut[32];
    options.scopes = strcmp(key, "code") != 0;
    options.merged = true;
    options.metric = metric;
    hb_table_begin(out, key, table);
    if (wanted) result = hb_trace_file_stacks(trace->file, &options, put_stack, &s);
    hb_table_end(out);
    snprintf(cut, sizeof cut, "%s_cut", key);
    hb_emit_bool(out, cut, is_enough(&s));
    return result;
}

hb_result hb_page_stacks(hb_page_trace *trace, hb_emitter *out)
{
    const hb_gpu_time *gpus;
    hb_insights *insights;
    size_t count;
    HB_TRY(hb_page_insights(trace, &insights));
    HB_TRY(hb_insights_gpus(insights, &gpus, &count));
    bool memory = hb_trace_file_trace(trace->file)->memory.count > 0;
    bool code = has_frames(hb_trace_file_trace(trace->file));
    HB_TRY(put_stacks(trace, out, "host", "self_cpu_time_total", &stacks_table, true));
    HB_TRY(put_stacks(trace, out, "device", "self_cuda_time_total", &stacks_table, count > 0));
    HB_TRY(put_stacks(trace, out, "code", "self_cpu_time_total", &stacks_table, code));
    HB_TRY(put_stacks(trace, out, "host_bytes", "self_cpu_memory_usage", &bytes_table, memory));
    return put_stacks(trace, out, "device_bytes", "self_cuda_memory_usage", &bytes_table, memory);
}
