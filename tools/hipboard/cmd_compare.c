/* SPDX-License-Identifier: MIT */
#include "command.h"

#include <getopt.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hipboard/compare.h>

#include "progress.h"

static const char help[] =
    "usage: hipboard compare RUN... [OPTIONS]\n"
    "\n"
    "Says what got slower or faster between runs, by how much a step, and whether that is more "
    "than\n"
    "noise. RUN is a log directory, which stands for all of its runs, one run's directory, or a "
    "trace\n"
    "file of any writer; the first one is the baseline.\n"
    "\n"
    "  --baseline RUN     what the others are compared with: a path, or the name of a run\n"
    "  --by KIND          one table: step, operator, kernel, memory or module\n"
    "  --group HOW        tell rows apart by name, shape (name and shapes) or module (all three, "
    "the\n"
    "                     default of --by; without it: name). What has no partner is paired by "
    "less\n"
    "  --metric LIST      with --by step: metrics, as step_time,cpu; else measures: calls, "
    "self_host,\n"
    "                     self_device, host, device; of kernels time; of memory allocations,\n"
    "                     allocated, increase\n"
    "  --tree             the call trees of two runs laid over each other\n"
    "  --top N            at most N rows a table, calls of a tree (default 20, of several tables "
    "10,\n"
    "                     in JSON all; 0: all)\n"
    "  --name REGEX       only rows whose name matches this extended regular expression\n"
    "  --fail-if LIMIT    exit status 1 where a run is past a limit; may be given several times\n"
    "  --beyond-noise     limits of changes count only what is beyond noise\n"
    "  --confidence P     in percent, of what is called beyond noise (default 99)\n"
    "  --json             everything as one JSON object\n"
    "  --markdown         tables for a pull request\n"
    "  -h, --help         this text\n"
    "\n"
    "LIMIT is METRIC > NUMBER or METRIC < NUMBER. With a sign the number is a change from the "
    "baseline,\n"
    "without one the run's own value:\n"
    "  'step_time > +5%'   'kernel:gemm > +200us'   'peak_memory > 1.5GiB'   'gpu_utilization < "
    "80%'\n"
    "METRIC is step_time, kernel, memcpy, memset, communication, runtime, data_loader, cpu, "
    "other,\n"
    "gpu_utilization, peak_memory, peak_memory:DEVICE, operator:NAME, kernel:NAME, module:NAME or\n"
    "memory:NAME (operator.self_host:NAME for one measure).\n"
    "\n"
    "A value is the median over the profiler steps; of what runs in some steps only, times their "
    "share.\n"
    "Noise is how steps differ within the two runs (Wilcoxon-Mann-Whitney rank-sum test); how much "
    "two\n"
    "launches differ shows when the baseline is run twice.\n"
    "\n"
    "Exit status: 0 compared, no limit passed; 1 a limit passed; 2 wrong usage; 3 a file or metric "
    "that\n"
    "was asked for is missing or cannot be read.\n";

enum { MAX_CONDITIONS = 64, MAX_MEASURES = 16 };

typedef struct request {
    hb_compare_options options;
    hb_compare_report report;
    const char *conditions[MAX_CONDITIONS];
    size_t num_conditions;
    const char *measures[MAX_MEASURES];
    char *measure_text; /* what `measures` point into */
    bool beyond_noise, has_name, has_group, has_top;
    regex_t name;
} request;

/* ---- the command line ---- */

static const char *const kinds[] = {"step", "operator", "kernel", "memory", "module"};
static const char *const groups[] = {"name", "shape", "module"};

static int find_word(const char *const *words, int count, const char *word)
{
    for (int i = 0; i < count; i++)
        if (strcmp(words[i], word) == 0) return i;
    return -1;
}

static int take_kind(request *r, const char *word)
{
    int kind = find_word(kinds, 5, word);
    if (kind < 0)
        return usage_error("compare", "'%s' is not step, operator, kernel, memory or module", word);
    r->report.by = (hb_compare_by)kind;
    r->report.summary = false;
    return 0;
}

static int take_group(request *r, const char *word)
{
    int group = find_word(groups, 3, word);
    if (group < 0) return usage_error("compare", "'%s' is not name, shape or module", word);
    r->report.group = (hb_compare_group)group;
    r->has_group = true;
    return 0;
}

static int take_measures(request *r, const char *list)
{
    free(r->measure_text);
    r->measure_text = strdup(list);
    r->report.num_measures = 0;
    r->report.measures = r->measures;
    for (char *save, *word = r->measure_text ? strtok_r(r->measure_text, ",", &save) : NULL; word;
         word = strtok_r(NULL, ",", &save)) {
        if (r->report.num_measures == MAX_MEASURES)
            return usage_error("compare", "more than %d metrics", MAX_MEASURES);
        r->measures[r->report.num_measures++] = word;
    }
    return r->report.num_measures ? 0 : usage_error("compare", "no metric in '%s'", list);
}

static int take_condition(request *r, const char *condition)
{
    if (hb_compare_condition_valid(condition) != HB_OK)
        return usage_error("compare", "%s", hb_last_error());
    if (r->num_conditions == MAX_CONDITIONS)
        return usage_error("compare", "more than %d limits", MAX_CONDITIONS);
    r->conditions[r->num_conditions++] = condition;
    return 0;
}

static int take_name(request *r, const char *pattern)
{
    if (r->has_name) regfree(&r->name);
    r->has_name = regcomp(&r->name, pattern, REG_EXTENDED | REG_NOSUB) == 0;
    return r->has_name ? 0 : usage_error("compare", "'%s' is no regular expression", pattern);
}

static int take_number(request *r, int option, const char *text)
{
    char *end;
    if (option == 't') {
        r->report.top = strtoul(text, &end, 10);
        r->has_top = true;
        if (*end || end == text || *text == '-')
            return usage_error("compare", "'%s' is no number of rows", text);
        return 0;
    }
    r->options.confidence = strtod(text, &end);
    if (*end == '%') end++;
    if (*end || end == text || !(r->options.confidence > 50 && r->options.confidence < 100))
        return usage_error("compare", "the confidence '%s' is not between 50 and 100", text);
    return 0;
}

/* Non-zero: the exit status of a wrong command line. */
static int take_option(request *r, int option, const char *argument)
{
    switch (option) {
    case 'b': r->options.baseline = argument; return 0;
    case 'k': return take_kind(r, argument);
    case 'g': return take_group(r, argument);
    case 'm': return take_measures(r, argument);
    case 'n': return take_name(r, argument);
    case 'f': return take_condition(r, argument);
    case 't':
    case 'c': return take_number(r, option, argument);
    case 'T': r->options.tree = r->report.tree = true; return 0;
    case 'N': r->beyond_noise = true; return 0;
    case 'j': r->report.format = HB_COMPARE_JSON; return 0;
    default: r->report.format = HB_COMPARE_MARKDOWN; return 0;
    }
}

/* Measures belong to a kind; metrics of steps are known only when the traces are. */
static int check_request(request *r)
{
    if (r->report.measures && r->report.summary)
        return usage_error("compare", "--metric needs --by");
    for (size_t i = 0; r->report.by != HB_COMPARE_STEP && i < r->report.num_measures; i++) {
        bool found = false;
        const char *name;
        for (size_t m = 0; (name = hb_compare_measure(r->report.by, m)) != NULL; m++)
            found |= strcmp(name, r->measures[i]) == 0;
        if (!found)
            return usage_error("compare", "--by %s has no metric '%s'", kinds[r->report.by],
                               r->measures[i]);
    }
    if (!r->has_group) r->report.group = HB_GROUP_MODULE;
    bool several = r->report.summary && !r->report.tree;
    if (!r->has_top) r->report.top = r->report.format == HB_COMPARE_JSON ? 0 : several ? 10 : 20;
    return 0;
}

/* ---- comparing ---- */

static bool is_wanted(void *context, const char *name)
{
    return regexec(context, name, 0, NULL, 0) == 0;
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
    hb_compare_finding *findings = calloc(most + 1, sizeof *findings);
    if (!findings) abort();
    int status = check_limits(r, c, findings);
    r->report.findings = findings;
    if (hb_comparison_text(c, &r->report, &text, &size) != HB_OK) {
        status = complain();
    } else {
        fwrite(text, 1, size, stdout);
        hb_free(text);
    }
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

static int parse(request *r, int argc, char **argv, bool *helped)
{
    static const struct option options[] = {
        {"baseline", required_argument, NULL, 'b'}, {"by", required_argument, NULL, 'k'},
        {"group", required_argument, NULL, 'g'},    {"metric", required_argument, NULL, 'm'},
        {"name", required_argument, NULL, 'n'},     {"fail-if", required_argument, NULL, 'f'},
        {"top", required_argument, NULL, 't'},      {"confidence", required_argument, NULL, 'c'},
        {"tree", no_argument, NULL, 'T'},           {"beyond-noise", no_argument, NULL, 'N'},
        {"json", no_argument, NULL, 'j'},           {"markdown", no_argument, NULL, 'M'},
        {"help", no_argument, NULL, 'h'},           {NULL, 0, NULL, 0},
    };
    int option;
    opterr = 0;
    optind = 1;
    while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        *helped = option == 'h';
        if (*helped) return 0;
        if (option == '?')
            return usage_error("compare", "option '%s' is unknown or lacks its value",
                               argv[optind - 1]);
        int status = take_option(r, option, optarg);
        if (status) return status;
    }
    if (optind == argc) return usage_error("compare", "no run is given");
    return check_request(r);
}

int cmd_compare(int argc, char **argv)
{
    request r = {.options = HB_COMPARE_OPTIONS_INIT, .report = HB_COMPARE_REPORT_INIT};
    bool helped = false;
    int status = parse(&r, argc, argv, &helped);
    r.report.color = isatty(STDOUT_FILENO) && !getenv("NO_COLOR");
    if (r.has_name) {
        r.report.wanted = is_wanted;
        r.report.context = &r.name;
    }
    if (helped)
        fputs(help, stdout);
    else if (status == 0)
        status = compare(&r, (const char *const *)argv + optind, (size_t)(argc - optind));
    if (r.has_name) regfree(&r.name);
    free(r.measure_text);
    return status;
}
