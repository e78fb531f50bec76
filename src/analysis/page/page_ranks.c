/* SPDX-License-Identifier: MIT
 *
 * The ranks of a run, and runs side by side.
 */
#include <hipboard/compare.h>
#include <math.h>
#include <stdlib.h>

#include "page/page_views.h"

#define RANK_COLUMNS                                                                         \
    {"Worker", HB_CELL_TEXT}, {"Rank", HB_CELL_COUNT}, {"Computation", HB_CELL_TIME},        \
        {"Overlap", HB_CELL_TIME}, {"Communication", HB_CELL_TIME}, {"Other", HB_CELL_TIME}, \
        {"Transfer", HB_CELL_TIME}, {"Wait", HB_CELL_TIME},                                  \
    {                                                                                        \
        "Exposed", HB_CELL_PERCENT                                                           \
    }
static const hb_page_column average_columns[] = {RANK_COLUMNS};
static const hb_page_column step_columns[] = {{"Step", HB_CELL_TEXT}, RANK_COLUMNS};
static const hb_page_table averages_table = HB_PAGE_TABLE("Average step", average_columns);
static const hb_page_table steps_table = HB_PAGE_TABLE("Steps", step_columns);

static const hb_page_column operation_columns[] = {
    {"Collective", HB_CELL_TEXT},   {"Worker", HB_CELL_TEXT},      {"Rank", HB_CELL_COUNT},
    {"Calls", HB_CELL_COUNT},       {"Total size", HB_CELL_BYTES}, {"Mean size", HB_CELL_BYTES},
    {"Total time", HB_CELL_TIME},   {"Mean time", HB_CELL_TIME},   {"Transfer", HB_CELL_TIME},
    {"Mean transfer", HB_CELL_TIME}};
static const hb_page_table operations_table = HB_PAGE_TABLE("Collectives", operation_columns);

typedef struct group {
    hb_trace_file **files;
    const char **workers;
    size_t count;
} group;

static double rank_of(int64_t rank)
{
    return rank < 0 ? NAN : (double)rank;
}

static double exposed(const hb_rank_step *s)
{
    return hb_percent_of(s->communication_us,
                         s->computation_us + s->overlap_us + s->communication_us + s->other_us);
}

static void put_steps(hb_emitter *out, const char *key, const hb_page_table *table,
                      const hb_rank_step *list, size_t count)
{
    hb_table_begin(out, key, table);
    for (size_t i = 0; i < count; i++) {
        const hb_rank_step *s = &list[i];
        double transfer = hb_if_known(s->transfer_us), wait = hb_if_known(s->wait_us);
        if (table == &averages_table)
            hb_table_row(out, table, s->worker, rank_of(s->rank), s->computation_us, s->overlap_us,
                         s->communication_us, s->other_us, transfer, wait, exposed(s));
        else
            hb_table_row(out, table, *s->step ? s->step : "outside", s->worker, rank_of(s->rank),
                         s->computation_us, s->overlap_us, s->communication_us, s->other_us,
                         transfer, wait, exposed(s));
    }
    hb_table_end(out);
}

static void put_operations(hb_emitter *out, const hb_rank_operation *list, size_t count)
{
    hb_table_begin(out, "operations", &operations_table);
    for (size_t i = 0; i < count; i++) {
        const hb_rank_operation *o = &list[i];
        double calls = (double)o->calls;
        hb_table_row(out, &operations_table, o->name, o->worker, rank_of(o->rank), calls, o->bytes,
                     o->bytes / calls, o->total_us, o->total_us / calls, o->transfer_us,
                     o->transfer_us / calls);
    }
    hb_table_end(out);
}

static hb_result put_ranks(hb_ranks *ranks, hb_emitter *out)
{
    const hb_rank_step *averages, *steps;
    const hb_rank_operation *operations;
    size_t num_averages, num_steps, num_operations;
    HB_TRY(hb_ranks_averages(ranks, &averages, &num_averages));
    HB_TRY(hb_ranks_steps(ranks, &steps, &num_steps));
    HB_TRY(hb_ranks_operations(ranks, &operations, &num_operations));
    put_steps(out, "averages", &averages_table, averages, num_averages);
    put_steps(out, "steps", &steps_table, steps, num_steps);
    put_operations(out, operations, num_operations);
    if (hb_ranks_mismatch(ranks)) hb_emit_pair(out, "mismatch", hb_ranks_mismatch(ranks));
    return HB_OK;
}

/* The plugin's analysis must digest a trace; others are named and left out. */
static void collect(hb_page_group *traces, group *g, hb_emitter *out)
{
    hb_emit_open_key(out, "left_out", '[');
    while (traces->entered < traces->count) {
        hb_page_trace *t;
        const hb_step_stat *steps;
        size_t count;
        if (hb_page_enter(traces, &t) != HB_OK ||
            hb_trace_file_steps(t->file, &steps, &count) != HB_OK) {
            hb_emit_open(out, '[');
            hb_emit_text(out, t->id);
            hb_emit_text(out, hb_last_error());
            hb_emit_close(out, ']');
            continue;
        }
        g->workers[g->count] = t->worker;
        g->files[g->count++] = t->file;
    }
    hb_emit_close(out, ']');
}

static hb_result put_group(hb_page_group *traces, group *g, hb_emitter *out)
{
    hb_ranks *ranks;
    collect(traces, g, out);
    hb_emit_member(out, "workers", (double)g->count);
    if (!g->count) return HB_OK;
    HB_TRY(hb_ranks_create(g->files, g->workers, g->count, &ranks));
    hb_result result = put_ranks(ranks, out);
    hb_ranks_destroy(ranks);
    return result;
}

/* More than what is read together: digests are made of one trace after the other. */
static bool are_many(const hb_page_group *traces)
{
    enum { MOST_TOGETHER = 64, MOST_BYTES = 256 << 20 };
    uint64_t bytes = 0;
    for (size_t i = 0; i < traces->count; i++)
        bytes += traces->items[i]->stamp.size;
    return traces->count > MOST_TOGETHER || bytes > MOST_BYTES;
}

static hb_result put_all(hb_page_group *traces, group *g, hb_emitter *out)
{
    bool many = are_many(traces);
    hb_emit_bool(out, "many", many);
    HB_TRY(hb_page_put_study(traces, out));
    return many ? HB_OK : put_group(traces, g, out);
}

hb_result hb_page_ranks(hb_page *page, const char *trace, hb_emitter *out)
{
    hb_page_group traces;
    HB_TRY(hb_page_begin_group(page, trace, &traces));
    group g = {calloc(traces.count, sizeof *g.files), calloc(traces.count, sizeof *g.workers), 0};
    hb_result result = g.files && g.workers ? put_all(&traces, &g, out) : hb_no_memory();
    hb_page_end_group(&traces);
    free(g.files);
    free(g.workers);
    return result;
}

/* ---- runs ---- */

/* Of two runs with their call trees. */
static hb_result compare_paths(hb_page *page, hb_comparison **comparison)
{
    hb_compare_options options = HB_COMPARE_OPTIONS_INIT;
    const char *const *paths = (const char *const *)page->paths;
    options.open = &page->open;
    options.tree = true;
    hb_result result = hb_compare(paths, page->num_paths, &options, comparison);
    if (result != HB_ERROR_INVALID_ARGUMENT) return result;
    options.tree = false;
    return hb_compare(paths, page->num_paths, &options, comparison);
}

static const hb_page_column tree_columns[] = {{"Call", HB_CELL_TEXT},
                                              {"Depth", HB_CELL_COUNT},
                                              {"In", HB_CELL_TEXT},
                                              {"Calls before", HB_CELL_NUMBER},
                                              {"Calls after", HB_CELL_NUMBER},
                                              {"Host before", HB_CELL_TIME},
                                              {"Host after", HB_CELL_TIME},
                                              {"Host change", HB_CELL_TIME},
                                              {"By itself", HB_CELL_TIME},
                                              {"Device before", HB_CELL_TIME},
                                              {"Device after", HB_CELL_TIME},
                                              {"Device change", HB_CELL_TIME}};
static const hb_page_table tree_table = HB_PAGE_TABLE("Call tree", tree_columns);

static bool counts(const hb_tree_difference *n, const hb_tree_difference *whole)
{
    double host = HB_MAX(whole->host_us[0], whole->host_us[1]);
    double device = HB_MAX(whole->device_us[0], whole->device_us[1]);
    return HB_MAX(n->host_us[0], n->host_us[1]) >= host / 1000 ||
           (device > 0 && HB_MAX(n->device_us[0], n->device_us[1]) >= device / 1000);
}

static void put_node(const hb_tree_difference *n, hb_emitter *out)
{
    const char *in = !n->calls[0] ? "after only" : !n->calls[1] ? "before only" : "";
    hb_table_row(out, &tree_table, n->name, (double)n->depth, in, n->calls[0], n->calls[1],
                 n->host_us[0], n->host_us[1], n->host_us[1] - n->host_us[0],
                 n->self_host_us[1] - n->self_host_us[0], n->device_us[0], n->device_us[1],
                 n->device_us[1] - n->device_us[0]);
}

/* Calls of a thousandth of a step or more: those around them take no less. */
static void put_tree(hb_comparison *comparison, hb_emitter *out)
{
    enum { MOST_NODES = 5000 };
    const hb_tree_difference *nodes;
    size_t count, shown = 0;
    if (hb_comparison_tree(comparison, &nodes, &count) != HB_OK || !count) return;
    hb_table_begin(out, "tree", &tree_table);
    for (size_t i = 0; i < count && shown < MOST_NODES; i++) {
        if (!counts(&nodes[i], &nodes[0])) continue;
        put_node(&nodes[i], out);
        shown++;
    }
    hb_table_end(out);
    hb_emit_member(out, "tree_nodes", (double)count);
}

hb_result hb_page_compare(hb_page *page, hb_emitter *out)
{
    hb_comparison *comparison;
    char *json = NULL;
    size_t size;
    hb_compare_report report = HB_COMPARE_REPORT_INIT;
    report.format = HB_COMPARE_JSON;
    report.top = 200;
    HB_TRY(compare_paths(page, &comparison));
    hb_result result = hb_comparison_text(comparison, &report, &json, &size);
    if (result == HB_OK) put_tree(comparison, out);
    hb_comparison_free(comparison);
    if (result != HB_OK) return result;
    while (size && json[size - 1] == '\n')
        size--;
    hb_emit_key(out, "comparison");
    hb_emit_raw(out, (hb_str){json, (uint32_t)size});
    hb_free(json);
    return HB_OK;
}
