/* SPDX-License-Identifier: MIT */
#include "command.h"

#include <stdio.h>

#include "inputs.h"
#include "options.h"
#include "screen.h"
#include "step_tables.h"
#include "table.h"
#include "text.h"

static const struct {
    hb_step_grouping by;
    const char *name;
} groupings[] = {
    {HB_STEPS_TOGETHER, "all"},
    {HB_STEPS_BY_RUN, "run"},
    {HB_STEPS_BY_RANK, "rank"},
    {HB_STEPS_BY_CYCLE, "cycle"},
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
    int status = each_input("steps", args, INPUTS_UNIFY | INPUTS_DIGESTS, add, r);
    const hb_single_step *steps;
    size_t num_steps = 0;
    hb_result result = hb_step_summary_slowest(r->summary, &steps, &num_steps);
    if (result == HB_OK)
        result = r->json  ? print_json(r)
                 : r->csv ? each_group(r, put_csv)
                          : print_step_tables(r->summary, &r->style);
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
        "may wait for) and of cycles. PATHs are trace files of any writer (- reads standard "
        "input), "
        "log directories, and digests of ranks (.hbranks), in which steps last as they were marked "
        "and MPI's calls are communication.",
    .options = options,
    .notes = "A step's time is divided as the TensorBoard plugin does: at any moment the first of "
             "Kernel, Memcpy, Memset, Communication, Runtime, DataLoader, CPU Exec that is active "
             "has it. p95: a twentieth of the steps took longer. std: the standard deviation.",
    .least = 1,
    .most = MANY,
    .wanted = "no file or log directory is given",
    .run = run,
};
