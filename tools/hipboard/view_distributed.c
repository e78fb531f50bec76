/* SPDX-License-Identifier: MIT
 *
 * How the ranks of a run spend a step, and what their collectives cost.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"
#include "view.h"

#define RANK_COLUMNS                                                                      \
    {"Worker", COLUMN_TEXT}, {"Rank", COLUMN_COUNT}, {"Computation", COLUMN_TIME},        \
        {"Overlap", COLUMN_TIME}, {"Communication", COLUMN_TIME}, {"Other", COLUMN_TIME}, \
        {"Transfer", COLUMN_TIME},                                                        \
    {                                                                                     \
        "Wait", COLUMN_TIME                                                               \
    }

static const column average_columns[] = {RANK_COLUMNS, {"Exposed", COLUMN_PERCENT}};
static const table_spec average_spec = TABLE_SPEC("Average step", average_columns);

static const column step_columns[] = {
    {"Step", COLUMN_TEXT}, RANK_COLUMNS, {"Exposed", COLUMN_PERCENT}};
static const table_spec step_spec = TABLE_SPEC("Steps", step_columns);

static const column operation_columns[] = {
    {"Collective", COLUMN_TEXT},   {"Worker", COLUMN_TEXT},      {"Rank", COLUMN_COUNT},
    {"Calls", COLUMN_COUNT},       {"Total size", COLUMN_BYTES}, {"Mean size", COLUMN_BYTES},
    {"Total time", COLUMN_TIME},   {"Mean time", COLUMN_TIME},   {"Transfer", COLUMN_TIME},
    {"Mean transfer", COLUMN_TIME}};
static const table_spec operation_spec = TABLE_SPEC("Collectives", operation_columns);

enum { BY_TOTAL_TIME = 6 };

static bool is_wanted(const view_run *run, int64_t rank)
{
    return !run->has_rank || rank == run->rank;
}

static double exposed(const hb_rank_step *s)
{
    return view_share(s->communication_us,
                      s->computation_us + s->overlap_us + s->communication_us + s->other_us);
}

static double rank_of(int64_t rank)
{
    return rank < 0 ? NAN : (double)rank;
}

/* Names sort as texts: rank 100 before rank 17. */
static int by_rank(const void *x, const void *y)
{
    const hb_rank_step *a = *(const hb_rank_step *const *)x, *b = *(const hb_rank_step *const *)y;
    if (a->rank != b->rank) return a->rank < b->rank ? -1 : 1;
    return (a > b) - (a < b);
}

/* Of more than are shown those that wait least, which is whom the others wait for. */
static int by_wait(const void *x, const void *y)
{
    const hb_rank_step *a = *(const hb_rank_step *const *)x, *b = *(const hb_rank_step *const *)y;
    if (a->wait_us != b->wait_us) return a->wait_us < b->wait_us ? -1 : 1;
    return by_rank(x, y);
}

/* For people; scripts get the order of workers' names, as the plugin has it. */
static const hb_rank_step **in_order(const view_run *run, const hb_rank_step *list, size_t count)
{
    const hb_rank_step **order = must(malloc((count + 1) * sizeof *order));
    for (size_t i = 0; i < count; i++)
        order[i] = &list[i];
    bool cut = run->top && count > run->top && list[0].wait_us >= 0;
    if (run->format == VIEW_TEXT) qsort(order, count, sizeof *order, cut ? by_wait : by_rank);
    return order;
}

static void show_averages(view_run *run, const hb_rank_step *list, size_t count)
{
    table t;
    const hb_rank_step **order = in_order(run, list, count);
    view_table_init(&t, &average_spec);
    for (size_t i = 0; i < count; i++) {
        const hb_rank_step *s = order[i];
        if (is_wanted(run, s->rank) && view_wants(run, s->worker))
            table_add(&t, s->worker, rank_of(s->rank), s->computation_us, s->overlap_us,
                      s->communication_us, s->other_us, view_known(s->transfer_us),
                      view_known(s->wait_us), exposed(s));
    }
    view_table_finish(run, &t, &average_spec, -1);
    free(order);
}

static void show_steps(view_run *run, const hb_rank_step *list, size_t count)
{
    table t;
    view_table_init(&t, &step_spec);
    for (size_t i = 0; i < count; i++) {
        const hb_rank_step *s = &list[i];
        if (run->step && strcmp(run->step, s->step) != 0) continue;
        if (is_wanted(run, s->rank) && view_wants(run, s->worker))
            table_add(&t, *s->step ? s->step : "outside", s->worker, rank_of(s->rank),
                      s->computation_us, s->overlap_us, s->communication_us, s->other_us,
                      view_known(s->transfer_us), view_known(s->wait_us), exposed(s));
    }
    view_table_finish(run, &t, &step_spec, -1);
}

static void show_operations(view_run *run, const hb_rank_operation *list, size_t count)
{
    table t;
    view_table_init(&t, &operation_spec);
    for (size_t i = 0; i < count; i++) {
        const hb_rank_operation *o = &list[i];
        double calls = (double)o->calls;
        if (is_wanted(run, o->rank) && (view_wants(run, o->name) || view_wants(run, o->worker)))
            table_add(&t, o->name, o->worker, rank_of(o->rank), calls, o->bytes, o->bytes / calls,
                      o->total_us, o->total_us / calls, o->transfer_us, o->transfer_us / calls);
    }
    view_table_finish(run, &t, &operation_spec, BY_TOTAL_TIME);
}

static hb_result show(view_run *run, hb_ranks *ranks)
{
    const hb_rank_step *averages, *steps;
    const hb_rank_operation *operations;
    size_t num_averages, num_steps, num_operations;
    hb_result result = hb_ranks_averages(ranks, &averages, &num_averages);
    if (result == HB_OK) result = hb_ranks_steps(ranks, &steps, &num_steps);
    if (result == HB_OK) result = hb_ranks_operations(ranks, &operations, &num_operations);
    if (result != HB_OK) return result;
    if (run->step)
        show_steps(run, steps, num_steps);
    else
        show_averages(run, averages, num_averages);
    show_operations(run, operations, num_operations);
    if (hb_ranks_mismatch(ranks))
        fprintf(stderr, "hipboard view: waiting is not known: %s\n", hb_ranks_mismatch(ranks));
    return HB_OK;
}

static const table_spec *const tables[] = {&average_spec, &step_spec, &operation_spec, NULL};
const view view_distributed = {"distributed", tables, true, false, NULL, show};
