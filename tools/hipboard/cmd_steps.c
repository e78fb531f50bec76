/* SPDX-License-Identifier: MIT */
#include "command.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inputs.h"
#include "options.h"
#include "screen.h"
#include "table.h"
#include "text.h"

static const struct {
    hb_step_grouping by;
    const char *name, *title;
} groupings[] = {
    {HB_STEPS_TOGETHER, "all", NULL},
    {HB_STEPS_BY_RUN, "run", "Runs"},
    {HB_STEPS_BY_RANK, "rank", "Ranks"},
    {HB_STEPS_BY_CYCLE, "cycle", "Cycles"},
};
enum { NUM_GROUPINGS = sizeof groupings / sizeof *groupings };

typedef struct request {
    hb_step_summary *summary;
    bool csv, json;
    table_style style; /* whose top steps are JSON's, too */
} request;

static hb_result add(void *context, hb_trace_file *file, const input *from)
{
    request *r = context;
    const hb_logdir_file *f = &from->file;
    return hb_step_summary_add(r->summary, file, f->run, from->in_logdir ? f->worker : f->path,
                               f->span);
}

/* ---- text ---- */

/* The step and its parts; a bar shows each part's share of the time. */
static void print_parts(const request *r, const hb_step_group *g)
{
    static const column columns[] = {{"", COLUMN_TEXT},         {"Mean", COLUMN_TIME},
                                     {"Share", COLUMN_PERCENT}, {"Median", COLUMN_TIME},
                                     {"p95", COLUMN_TIME},      {"Min", COLUMN_TIME},
                                     {"Max", COLUMN_TIME},      {"Std", COLUMN_TIME}};
    table t;
    table_style style = r->style;
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
static bool is_by_communication(const request *r, const hb_step_group *groups, size_t count)
{
    double most = 0;
    for (size_t i = 0; i < count; i++)
        most = fmax(most, groups[i].rank < 0 ? 0 : groups[i].of[HB_STEP_COMMUNICATION].mean);
    return most > 0 && r->style.top && count > r->style.top;
}

/* A line a group; a bar shows its mean beside the slowest group's. */
static void print_groups(const request *r, const char *title, const hb_step_group *groups,
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
    bool least_first = by == HB_STEPS_BY_RANK && is_by_communication(r, groups, count);
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
    table_print(&t, &r->style);
    table_free(&t);
    free(order);
}

static void print_slowest(const request *r, const hb_single_step *steps, size_t count)
{
    static const column columns[] = {
        {"Step", COLUMN_TEXT},     {"Time", COLUMN_TIME},    {"Of the slowest", COLUMN_PERCENT},
        {"Kernel", COLUMN_TIME},   {"Memcpy", COLUMN_TIME},  {"Memset", COLUMN_TIME},
        {"Comm", COLUMN_TIME},     {"Runtime", COLUMN_TIME}, {"DataLoader", COLUMN_TIME},
        {"CPU Exec", COLUMN_TIME}, {"Other", COLUMN_TIME},   {"Where", COLUMN_TEXT}};
    table t;
    table_init(&t, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < count && (!r->style.top || i < r->style.top); i++) {
        const hb_single_step *s = &steps[i];
        const double *us = s->us, slowest = steps[0].us[HB_STEP_TIME];
        table_add(&t, s->name, us[HB_STEP_TIME],
                  slowest > 0 ? 100 * us[HB_STEP_TIME] / slowest : NAN, us[HB_STEP_KERNEL],
                  us[HB_STEP_MEMCPY], us[HB_STEP_MEMSET], us[HB_STEP_COMMUNICATION],
                  us[HB_STEP_RUNTIME], us[HB_STEP_LOADER], us[HB_STEP_CPU], us[HB_STEP_OTHER],
                  name_of(s->run, s->worker, s->span, s->rank));
    }
    printf("\nSlowest steps\n");
    table_print(&t, &r->style);
    table_free(&t);
}

static hb_result print_text(const request *r)
{
    const hb_step_group *groups;
    const hb_single_step *steps;
    size_t count, before = 1;
    hb_result result = hb_step_summary_slowest(r->summary, &steps, &count);
    if (result != HB_OK || count == 0) return result;
    for (int i = 0; i < NUM_GROUPINGS && result == HB_OK; i++) {
        size_t n;
        result = hb_step_summary_groups(r->summary, groupings[i].by, &groups, &n);
        if (result != HB_OK) return result;
        if (i == 0) {
            printf("%llu steps in %llu trace%s\n", (unsigned long long)count,
                   (unsigned long long)groups->cycles, plural(groups->cycles));
            print_parts(r, groups);
        } else if (n > before) { /* else the table above says the same */
            print_groups(r, groupings[i].title, groups, n, groupings[i].by);
            before = n;
        }
    }
    print_slowest(r, steps, count);
    return HB_OK;
}

/* ---- CSV and JSON ---- */

typedef void (*put_group_fn)(const char *grouping, const hb_step_group *group, bool first);

static hb_result each_group(const request *r, put_group_fn put)
{
    bool first = true;
    for (int i = 0; i < NUM_GROUPINGS; i++) {
        const hb_step_group *groups;
        size_t count;
        hb_result result = hb_step_summary_groups(r->summary, groupings[i].by, &groups, &count);
        if (result != HB_OK) return result;
        for (size_t k = 0; k < count; k++, first = false)
            put(groupings[i].name, &groups[k], first);
    }
    return HB_OK;
}

static void put_field(const char *text)
{
    print_csv_field(text);
    putchar(',');
}

static void put_csv(const char *grouping, const hb_step_group *g, bool first)
{
    if (first)
        puts("group,run,worker,span,rank,part,steps,sum_us,mean_us,median_us,p95_us,min_us,max_us,"
             "std_us");
    for (int q = 0; q < HB_STEP_QUANTITIES; q++) {
        const hb_statistics *s = &g->of[q];
        printf("%s,", grouping);
        put_field(g->run);
        put_field(g->worker);
        put_field(g->span);
        if (g->rank >= 0) printf("%lld", (long long)g->rank);
        printf(",%s,%llu,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g\n",
               hb_step_quantity_name((hb_step_quantity)q), (unsigned long long)s->count, s->sum,
               s->mean, s->median, s->p95, s->min, s->max, s->std);
    }
}

static void put_origin(const char *run, const char *worker, const char *span, long long rank)
{
    printf("\"run\": ");
    print_json_string(run);
    printf(", \"worker\": ");
    print_json_string(worker);
    printf(", \"span\": ");
    print_json_string(span);
    if (rank >= 0) printf(", \"rank\": %lld", rank);
}

static void put_json_group(const char *grouping, const hb_step_group *g, bool first)
{
    printf("%s\n  {\"group\": \"%s\", ", first ? "" : ",", grouping);
    put_origin(g->run, g->worker, g->span, g->rank);
    printf(", \"cycles\": %llu, \"wall_us\": %.17g, \"parts\": {", (unsigned long long)g->cycles,
           g->wall_us);
    for (int q = 0; q < HB_STEP_QUANTITIES; q++) {
        const hb_statistics *s = &g->of[q];
        printf("%s\n    \"%s\": {\"steps\": %llu, \"sum_us\": %.17g, \"mean_us\": %.17g, "
               "\"median_us\": %.17g, ",
               q ? "," : "", hb_step_quantity_name((hb_step_quantity)q),
               (unsigned long long)s->count, s->sum, s->mean, s->median);
        printf("\"p95_us\": %.17g, \"min_us\": %.17g, \"max_us\": %.17g, \"std_us\": %.17g}",
               s->p95, s->min, s->max, s->std);
    }
    printf("}}");
}

static void put_json_step(const hb_single_step *s, bool first)
{
    printf("%s\n  {\"step\": ", first ? "" : ",");
    print_json_string(s->name);
    printf(", ");
    put_origin(s->run, s->worker, s->span, s->rank);
    printf(", \"start_us\": %.17g, \"us\": {", s->start_us);
    for (int q = 0; q < HB_STEP_QUANTITIES; q++)
        printf("%s\"%s\": %.17g", q ? ", " : "", hb_step_quantity_name((hb_step_quantity)q),
               s->us[q]);
    printf("}}");
}

static hb_result print_json(const request *r)
{
    const hb_single_step *steps;
    size_t count;
    hb_result result = hb_step_summary_slowest(r->summary, &steps, &count);
    if (result != HB_OK) return result;
    printf("{\"groups\": [");
    result = each_group(r, put_json_group);
    printf("],\n\"slowest\": [");
    for (size_t i = 0; i < count && (!r->style.top || i < r->style.top); i++)
        put_json_step(&steps[i], i == 0);
    printf("]}\n");
    return result;
}

/* ---- the command line ---- */

static int show(request *r, const arguments *args)
{
    int status = each_input("steps", args, true, add, r);
    const hb_single_step *steps;
    size_t num_steps = 0;
    hb_result result = hb_step_summary_slowest(r->summary, &steps, &num_steps);
    if (result == HB_OK)
        result = r->json ? print_json(r) : r->csv ? each_group(r, put_csv) : print_text(r);
    if (result != HB_OK) fprintf(stderr, "hipboard steps: %s\n", hb_last_error());
    if (result == HB_OK && num_steps == 0 && status == EXIT_FINE)
        fputs("hipboard steps: no steps\n", stderr);
    return result == HB_OK ? status : EXIT_FAILED;
}

static int run(arguments *args)
{
    request r = {.style = {.top = 10,
                           .line_width = screen_columns(),
                           .hide_empty = true,
                           .bold = screen_is_styled()}};
    if (!parse_options(&cmd_steps, args, &r)) return args->status;
    if (hb_step_summary_create(&r.summary) != HB_OK) {
        fprintf(stderr, "hipboard steps: %s\n", hb_last_error());
        return EXIT_FAILED;
    }
    int status = show(&r, args);
    hb_step_summary_destroy(r.summary);
    return status;
}

static const option_spec options[] = {
    {0, "top", "N", "rows of the longer tables (10); 0: all", INTO(style.top)},
    {0, "csv", NULL, "all groups, a line for each part of the step's time; us", INTO(csv)},
    {0, "json", NULL, "the same, and all steps, the slowest first (--top N of them)", INTO(json)},
    {0},
};

const command cmd_steps = {
    .name = "steps",
    .summary = "print statistics of steps: how long they take, what of, which were slow",
    .synopsis = "[OPTIONS] PATH...",
    .about =
        "Statistics of the steps of traces: how long they take, what of, how much that "
        "varies, which were the slowest; of all together, of runs and ranks (the slowest "
        "first; of more ranks than are shown those that communicate least, whom the others "
        "may wait for) and of cycles. PATHs are trace files of any writer (- reads standard input) "
        "and log directories.",
    .options = options,
    .notes = "A step's time is divided as the TensorBoard plugin does: at any moment the first of "
             "Kernel, Memcpy, Memset, Communication, Runtime, DataLoader, CPU Exec that is active "
             "has it. p95: a twentieth of the steps took longer. std: the standard deviation.",
    .least = 1,
    .most = MANY,
    .wanted = "no file or log directory is given",
    .run = run,
};
