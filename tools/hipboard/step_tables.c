/* SPDX-License-Identifier: MIT */
#include "step_tables.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "text.h"

static const struct {
    hb_step_grouping by;
    const char *title;
} groupings[] = {
    {HB_STEPS_TOGETHER, NULL},
    {HB_STEPS_BY_RUN, "Runs"},
    {HB_STEPS_BY_RANK, "Ranks"},
    {HB_STEPS_BY_CYCLE, "Cycles"},
};
enum { NUM_GROUPINGS = sizeof groupings / sizeof *groupings };

/* The step and its parts; a bar shows each part's share of the time. */
static void print_parts(const table_style *given, const hb_step_group *g)
{
    static const column columns[] = {{"", COLUMN_TEXT},         {"Mean", COLUMN_TIME},
                                     {"Share", COLUMN_PERCENT}, {"Median", COLUMN_TIME},
                                     {"p95", COLUMN_TIME},      {"Min", COLUMN_TIME},
                                     {"Max", COLUMN_TIME},      {"Std", COLUMN_TIME}};
    table t;
    table_style style = *given;
    style.top = 0;
    table_init(&t, columns, sizeof columns / sizeof *columns);
    for (int q = 0; q < HB_STEP_QUANTITIES; q++) {
        const hb_statistics *s = &g->of[q];
        double whole = g->of[HB_STEP_TIME].sum;
        if (q != HB_STEP_TIME && s->max == 0) continue;
        table_add(&t, hb_step_quantity_name((hb_step_quantity)q), s->mean,
                  whole > 0 ? 100 * s->sum / whole : NAN, s->median, s->p95, s->min, s->max,
                  s->std);
    }
    table_print(&t, &style);
    table_free(&t);
}

/* "run worker span" of what is given. */
static const char *name_of(const char *run, const char *worker, const char *span, long long rank)
{
    static char name[1024];
    const char *parts[] = {run, worker, span};
    size_t n = 0;
    name[0] = 0;
    if (rank >= 0) n = (size_t)snprintf(name, sizeof name, "rank %lld", rank);
    for (size_t i = 0; i < 3 && n < sizeof name; i++)
        if (*parts[i])
            n += (size_t)snprintf(name + n, sizeof name - n, "%s%s%s", n ? ", " : "",
                                  i == 2 ? "span " : "", parts[i]);
    return name;
}

enum { BY_MEAN = 3 };

static int by_communication(const void *x, const void *y)
{
    const hb_step_group *a = *(const hb_step_group *const *)x;
    const hb_step_group *b = *(const hb_step_group *const *)y;
    double left = a->of[HB_STEP_COMMUNICATION].mean, right = b->of[HB_STEP_COMMUNICATION].mean;
    if (left != right) return left < right ? -1 : 1;
    return (a > b) - (a < b);
}

/* Ranks that wait for each other all take as long as the last one. Of more than are shown those
 * come first that communicate least, which is whom the others wait for. */
static bool is_by_communication(const table_style *given, const hb_step_group *groups, size_t count)
{
    double most = 0;
    for (size_t i = 0; i < count; i++)
        most = fmax(most, groups[i].rank < 0 ? 0 : groups[i].of[HB_STEP_COMMUNICATION].mean);
    return most > 0 && given->top && count > given->top;
}

/* A line a group; a bar shows its mean beside the slowest group's. */
static void print_groups(const table_style *given, const char *title, const hb_step_group *groups,
                         size_t count, hb_step_grouping by)
{
    static const column columns[] = {{"", COLUMN_TEXT},
                                     {"Steps", COLUMN_COUNT},
                                     {"Total", COLUMN_TIME},
                                     {"Mean", COLUMN_TIME},
                                     {"Of the slowest", COLUMN_PERCENT},
                                     {"Comm", COLUMN_TIME},
                                     {"Median", COLUMN_TIME},
                                     {"p95", COLUMN_TIME},
                                     {"Min", COLUMN_TIME},
                                     {"Max", COLUMN_TIME},
                                     {"Std", COLUMN_TIME}};
    table t;
    double slowest = 0;
    bool least_first = by == HB_STEPS_BY_RANK && is_by_communication(given, groups, count);
    const hb_step_group **order = must(calloc(count + 1, sizeof *order));
    for (size_t i = 0; i < count; i++)
        order[i] = &groups[i];
    if (least_first) qsort(order, count, sizeof *order, by_communication);
    for (size_t i = 0; i < count; i++)
        slowest = fmax(slowest, groups[i].of[HB_STEP_TIME].mean);
    table_init(&t, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < count; i++) {
        const hb_step_group *g = order[i];
        const hb_statistics *s = &g->of[HB_STEP_TIME];
        table_add(&t, name_of(g->run, g->worker, g->span, g->rank), (double)s->count, g->wall_us,
                  s->mean, slowest > 0 ? 100 * s->mean / slowest : NAN,
                  g->of[HB_STEP_COMMUNICATION].mean, s->median, s->p95, s->min, s->max, s->std);
    }
    if (by != HB_STEPS_BY_CYCLE && !least_first) table_sort(&t, BY_MEAN);
    printf("\n%s%s\n", title,
           least_first
               ? " that communicate least, whom the others may wait for: see `hipboard ranks`"
               : "");
    table_print(&t, given);
    table_free(&t);
    free(order);
}

static void print_slowest(const table_style *given, const hb_single_step *steps, size_t count)
{
    static const column columns[] = {
        {"Step", COLUMN_TEXT},     {"Time", COLUMN_TIME},    {"Of the slowest", COLUMN_PERCENT},
        {"Kernel", COLUMN_TIME},   {"Memcpy", COLUMN_TIME},  {"Memset", COLUMN_TIME},
        {"Comm", COLUMN_TIME},     {"Runtime", COLUMN_TIME}, {"DataLoader", COLUMN_TIME},
        {"CPU Exec", COLUMN_TIME}, {"Other", COLUMN_TIME},   {"Where", COLUMN_TEXT}};
    table t;
    table_init(&t, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < count && (!given->top || i < given->top); i++) {
        const hb_single_step *s = &steps[i];
        const double *us = s->us, slowest = steps[0].us[HB_STEP_TIME];
        table_add(&t, s->name, us[HB_STEP_TIME],
                  slowest > 0 ? 100 * us[HB_STEP_TIME] / slowest : NAN, us[HB_STEP_KERNEL],
                  us[HB_STEP_MEMCPY], us[HB_STEP_MEMSET], us[HB_STEP_COMMUNICATION],
                  us[HB_STEP_RUNTIME], us[HB_STEP_LOADER], us[HB_STEP_CPU], us[HB_STEP_OTHER],
                  name_of(s->run, s->worker, s->span, s->rank));
    }
    printf("\nSlowest steps\n");
    table_print(&t, given);
    table_free(&t);
}

hb_result print_step_tables(hb_step_summary *summary, const table_style *given)
{
    const hb_step_group *groups;
    const hb_single_step *steps;
    size_t count, before = 1;
    hb_result result = hb_step_summary_slowest(summary, &steps, &count);
    if (result != HB_OK || count == 0) return result;
    for (int i = 0; i < NUM_GROUPINGS && result == HB_OK; i++) {
        size_t n;
        result = hb_step_summary_groups(summary, groupings[i].by, &groups, &n);
        if (result != HB_OK) return result;
        if (i == 0) {
            printf("%llu steps in %llu trace%s\n", (unsigned long long)count,
                   (unsigned long long)groups->cycles, plural(groups->cycles));
            print_parts(given, groups);
        } else if (n > before) { /* else the table above says the same */
            print_groups(given, groupings[i].title, groups, n, groupings[i].by);
            before = n;
        }
    }
    print_slowest(given, steps, count);
    return HB_OK;
}
