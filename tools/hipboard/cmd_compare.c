/* SPDX-License-Identifier: MIT */
#include "command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hipboard/compare.h>

#include "options.h"
#include "progress.h"
#include "terminal.h"
#include "text.h"

enum { MAX_CONDITIONS = 64, MAX_MEASURES = 16 };

typedef struct request {
    hb_compare_options options;
    hb_compare_report report;
    const char *conditions[MAX_CONDITIONS];
    size_t num_conditions;
    const char *measures[MAX_MEASURES];
    char *measure_text; /* what `measures` point into */
    bool beyond_noise, has_group, has_top, json, markdown;
    pattern name;
} request;

/* ---- values of options ---- */

static const char *const kinds[] = {"step", "operator", "kernel", "memory", "module"};
static const char *const groups[] = {"name", "shape", "module"};

static int find_word(const char *const *words, int count, const char *word)
{
    for (int i = 0; i < count; i++)
        if (strcmp(words[i], word) == 0) return i;
    return -1;
}

static const char *take_kind(void *to, const char *word)
{
    request *r = to;
    int kind = find_word(kinds, 5, word);
    if (kind < 0) return "expected step, operator, kernel, memory or module";
    r->report.by = (hb_compare_by)kind;
    r->report.summary = false;
    return NULL;
}

static const char *take_group(void *to, const char *word)
{
    request *r = to;
    r->report.group = (hb_compare_group)find_word(groups, 3, word);
    r->has_group = true;
    return NULL;
}

static const char *take_measures(void *to, const char *list)
{
    request *r = to;
    free(r->measure_text);
    r->measure_text = must(strdup(list));
    r->report.num_measures = 0;
    r->report.measures = r->measures;
    for (char *rest, *word = strtok_r(r->measure_text, ",", &rest); word;
         word = strtok_r(NULL, ",", &rest)) {
        if (r->report.num_measures == MAX_MEASURES) return "too many metrics";
        r->measures[r->report.num_measures++] = word;
    }
    return r->report.num_measures ? NULL : "no metric";
}

static const char *take_condition(void *to, const char *condition)
{
    request *r = to;
    if (hb_compare_condition_valid(condition) != HB_OK) return hb_last_error();
    if (r->num_conditions == MAX_CONDITIONS) return "too many limits";
    r->conditions[r->num_conditions++] = condition;
    return NULL;
}

static const char *take_top(void *to, const char *text)
{
    request *r = to;
    r->has_top = true;
    return take_count(&r->report.top, text);
}

static const char *take_confidence(void *to, const char *text)
{
    char *end;
    double *confidence = to;
    *confidence = strtod(text, &end);
    if (*end == '%') end++;
    return end != text && !*end && *confidence > 50 && *confidence < 100
               ? NULL
               : "expected more than 50 and less than 100 percent";
}

/* ---- comparing ---- */

static bool is_wanted(void *name_pattern, const char *name)
{
    return pattern_matches(name_pattern, name);
}

static int complain(void)
{
    progress_clear();
    fprintf(stderr, "hipboard compare: %s\n", hb_last_error());
    return EXIT_TROUBLE;
}

/* All limits of all runs; the worst exit status of them. */
static int check_limits(request *r, hb_comparison *c, hb_compare_finding *findings)
{
    int status = EXIT_FINE;
    for (size_t run = 0; run < hb_comparison_num_runs(c); run++)
        for (size_t i = 0; run != hb_comparison_baseline(c) && i < r->num_conditions; i++) {
            hb_compare_finding *f = &findings[r->report.num_findings];
            if (hb_comparison_check(c, run, r->conditions[i], r->beyond_noise, f) != HB_OK) {
                status = complain();
                continue;
            }
            r->report.num_findings++;
            if (!f->met) continue;
            fprintf(stderr, "hipboard compare: limit passed: %s\n", f->reason);
            if (status == EXIT_FINE) status = EXIT_FAILED;
        }
    return status;
}

static int report(request *r, hb_comparison *c)
{
    char *text;
    size_t size, most = hb_comparison_num_runs(c) * r->num_conditions;
    hb_compare_finding *findings = must(calloc(most + 1, sizeof *findings));
    int status = check_limits(r, c, findings);
    r->report.findings = findings;
    if (hb_comparison_text(c, &r->report, &text, &size) != HB_OK) {
        status = complain();
    } else {
        fwrite(text, 1, size, stdout);
        hb_free(text);
    }
    for (size_t i = 0; hb_comparison_note(c, i); i++)
        fprintf(stderr, "hipboard compare: %s\n", hb_comparison_note(c, i));
    for (size_t i = 0; hb_comparison_problem(c, i); i++) {
        fprintf(stderr, "hipboard compare: left out: %s\n", hb_comparison_problem(c, i));
        status = EXIT_TROUBLE;
    }
    if (hb_comparison_problem(c, 0))
        fputs("hipboard compare: `hipboard convert` mends much of what makes a trace useless\n",
              stderr);
    free(findings);
    return status;
}

static int compare(request *r, const char *const *paths, size_t num_paths)
{
    hb_comparison *c;
    hb_open_options open = progress_options();
    r->options.open = &open;
    if (hb_compare(paths, num_paths, &r->options, &c) != HB_OK) return complain();
    progress_clear();
    int status = EXIT_TROUBLE;
    if (hb_comparison_num_runs(c) < 2)
        fprintf(stderr,
                "hipboard compare: %s is the only run; there is nothing to compare it with\n",
                paths[0]);
    else
        status = report(r, c);
    hb_comparison_free(c);
    return status;
}

/* ---- the command line ---- */

/* A metric that there is can be limited. */
static bool is_metric_of_steps(const char *name)
{
    char *limit = NULL;
    if (strchr("<>", *name) || asprintf(&limit, "%s > +1%%", name) < 0) return false;
    bool valid = strchr(name, ':') == NULL || strncmp(name, "peak_memory:", 12) == 0;
    valid = valid && hb_compare_condition_valid(limit) == HB_OK;
    free(limit);
    return valid;
}

/* Measures belong to a kind. */
static int check_request(request *r)
{
    if (r->report.measures && r->report.summary)
        return usage_error("compare", "--metric needs --by");
    for (size_t i = 0; r->report.by == HB_COMPARE_STEP && i < r->report.num_measures; i++)
        if (!is_metric_of_steps(r->measures[i]))
            return usage_error("compare", "--by step has no metric '%s'", r->measures[i]);
    for (size_t i = 0; r->report.by != HB_COMPARE_STEP && i < r->report.num_measures; i++) {
        bool found = false;
        const char *name;
        for (size_t m = 0; (name = hb_compare_measure(r->report.by, m)) != NULL; m++)
            found |= strcmp(name, r->measures[i]) == 0;
        if (!found)
            return usage_error("compare", "--by %s has no metric '%s'", kinds[r->report.by],
                               r->measures[i]);
    }
    return EXIT_FINE;
}

/* What follows from the options together. */
static void complete(hb_compare_report *report, request *r)
{
    bool several = report->summary && !r->options.tree;
    report->tree = r->options.tree;
    report->format = r->json       ? HB_COMPARE_JSON
                     : r->markdown ? HB_COMPARE_MARKDOWN
                                   : HB_COMPARE_TEXT;
    report->color = isatty(STDOUT_FILENO) && !getenv("NO_COLOR");
    if (report->color) terminal_allow_styles();
    if (!r->has_group) report->group = HB_GROUP_MODULE;
    if (!r->has_top) report->top = r->json ? 0 : several ? 10 : 20;
    if (!r->name.given) return;
    report->wanted = is_wanted;
    report->context = &r->name;
}

static int check_and_compare(request *r, const arguments *args)
{
    int status = check_request(r);
    if (status != EXIT_FINE) return status;
    complete(&r->report, r);
    return compare(r, (const char *const *)args->words, (size_t)args->count);
}

static int run(arguments *args)
{
    request r = {.options = HB_COMPARE_OPTIONS_INIT, .report = HB_COMPARE_REPORT_INIT};
    if (parse_options(&cmd_compare, args, &r)) args->status = check_and_compare(&r, args);
    pattern_free(&r.name);
    free(r.measure_text);
    return args->status;
}

static const option_spec options[] = {
    {0, "baseline", "RUN", "what the others are compared with: a path, or the name of a run",
     INTO(options.baseline)},
    {0, "by", "KIND", "one table: step, operator, kernel, memory or module", take_kind, 0},
    {0, "group", "name|shape|module",
     "tell rows apart by name, by name and shapes, or by module as well (the default of --by; "
     "without it: name). What has no partner is paired by less",
     take_group, 0},
    {0, "metric", "LIST",
     "with --by step: metrics, as step_time,cpu; else measures: calls, self_host, self_device, "
     "host, device; of kernels time; of memory allocations, allocated, increase",
     take_measures, 0},
    {0, "tree", NULL, "the call trees of two runs laid over each other", INTO(options.tree)},
    {0, "top", "N",
     "at most N rows a table, calls of a tree (default 20, of several tables 10, in JSON all; 0: "
     "all)",
     take_top, 0},
    {0, "name", "REGEX", "only rows whose name matches this extended regular expression",
     INTO(name)},
    {0, "fail-if", "LIMIT", "exit status 1 where a run is past a limit; may be given several times",
     take_condition, 0},
    {0, "beyond-noise", NULL, "limits of changes count only what is beyond noise",
     INTO(beyond_noise)},
    {0, "confidence", "P", "in percent, of what is called beyond noise (default 99)",
     INTO_BY(take_confidence, options.confidence)},
    {0, "json", NULL, "everything as one JSON object", INTO(json)},
    {0, "markdown", NULL, "tables for a pull request", INTO(markdown)},
    {0},
};

const command cmd_compare = {
    .name = "compare",
    .summary = "say what got slower or faster between runs, and fail past a limit",
    .synopsis = "[OPTIONS] RUN...",
    .about =
        "Says what got slower or faster between runs, by how much a step, and whether that is "
        "more than noise. RUN is a log directory, which stands for all of its runs, one run's "
        "directory, a trace file of any writer, or digests of ranks (.hbranks), of which the steps "
        "are compared; the first one is the baseline.",
    .options = options,
    .notes = "LIMIT is METRIC > NUMBER or METRIC < NUMBER. With a sign the number is a change from "
             "the baseline, without one the run's own value:\n"
             "  'step_time > +5%'      'kernel:gemm > +200us'\n"
             "  'peak_memory > 1.5GiB' 'gpu_utilization < 80%'\n"
             "METRIC is step_time, kernel, memcpy, memset, communication, runtime, data_loader, "
             "cpu, other, gpu_utilization, peak_memory, peak_memory:DEVICE, operator:NAME, "
             "kernel:NAME, module:NAME or memory:NAME (operator.self_host:NAME for one measure).\n"
             "\n"
             "A value is the median over the profiler steps; of what runs in some steps only, "
             "times their share. Noise is how steps differ within the two runs "
             "(Wilcoxon-Mann-Whitney rank-sum test); how much two launches differ shows when the "
             "baseline is run twice.\n"
             "\n"
             "Exit status: 0 compared, no limit passed; 1 a limit passed; 2 wrong usage; 3 a file "
             "or metric that was asked for is missing or cannot be read.",
    .least = 1,
    .most = MANY,
    .wanted = "no run is given",
    .run = run,
};
