/* SPDX-License-Identifier: MIT */
#include "command.h"

#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inputs.h"
#include "options.h"
#include "progress.h"
#include "screen.h"
#include "step_tables.h"
#include "text.h"
#include "view.h"

static const view *const views[] = {
    &view_overview,    &view_steps, &view_operator, &view_kernel, &view_memory, &view_module,
    &view_distributed, &view_gpu,   &view_classes,  &view_loops,  &view_power,  &view_roofline};

enum {
    NUM_VIEWS = sizeof views / sizeof *views,
    PIPED_TEXT_WIDTH = 60,
    MANY_TOP = 10, /* rows of a table then */
};

typedef struct request {
    const view *view;
    view_run run;
    hb_open_options open;
    bool csv, json, as_plugin;
    int status;
} request;

static const view *find_view(const char *name)
{
    for (size_t i = 0; i < NUM_VIEWS; i++)
        if (strcmp(views[i]->name, name) == 0) return views[i];
    return NULL;
}

/* ---- files ---- */

/* Why a part of the trace is not whole: an array of sentences, which hipboard writes. */
static void print_notes(const request *r, const char *path, const hb_trace_file *file,
                        const char *key)
{
    const char *c = hb_trace_file_metadata(file, key);
    bool text = r->run.format == VIEW_TEXT;
    while (c && (c = strchr(c, '"'))) {
        if (text)
            fputs("Note: ", stdout);
        else
            fprintf(stderr, "hipboard view: %s: ", path);
        c = print_json_text(c + 1, text ? stdout : stderr);
    }
}

/* Of a cycle that was recorded on demand. */
static void print_reason(const request *r, const hb_trace_file *file)
{
    const char *c = hb_trace_file_metadata(file, "hipboard_reason");
    if (!c || *c != '"' || r->run.format != VIEW_TEXT) return;
    fputs("Recorded because: ", stdout);
    print_json_text(c + 1, stdout);
}

/* Steps that nobody marked. */
static void print_steps_rule(const request *r, const hb_trace_file *file)
{
    static const char rule[] = "\"rule\": \"";
    const char *how = hb_trace_file_metadata(file, "hipboard_steps");
    const char *c = how && r->run.format == VIEW_TEXT ? strstr(how, rule) : NULL;
    if (!c) return;
    fputs("Steps are inferred: ", stdout);
    print_json_text(c + sizeof rule - 1, stdout);
}

static void print_mended(const request *r, const hb_trace_file *file)
{
    char note[256];
    size_t n = hb_trace_file_num_mended(file);
    if (n == 0 || !r->run.tables || r->run.format != VIEW_TEXT) return;
    snprintf(
        note, sizeof note,
        "Note: %zu event%s counted as `hipboard convert` would write %s; the plugin itself shows "
        "this file otherwise (--as-plugin).",
        n, n == 1 ? " is" : "s are", n == 1 ? "it" : "them");
    print_wrapped(note, 0, view_prose_width(&r->run));
}

/* By the devices' names; beside other formats than text on stderr. */
static bool is_simulated(const hb_trace_file *file)
{
    const char *devices = hb_trace_file_metadata(file, "deviceProperties");
    return devices && strstr(devices, "(simulated)");
}

static void print_simulated(const request *r, bool simulated)
{
    static const char note[] =
        "Note: the GPU is simulated: its durations mean nothing, and neither does what follows "
        "from them.";
    if (!simulated) return;
    if (r->run.format == VIEW_TEXT)
        print_wrapped(note, 0, view_prose_width(&r->run));
    else
        fprintf(stderr, "hipboard view: %s%s%s\n", r->run.path, *r->run.path ? ": " : "",
                note + sizeof "Note: " - 1);
}

static bool is_wanted_rank(const request *r, const hb_trace_file *file)
{
    int64_t rank;
    return !r->run.has_rank || (hb_trace_file_rank(file, &rank) && rank == r->run.rank);
}

static void print_head(view_run *run, const char *title, const char *kind)
{
    if (run->format == VIEW_JSON) {
        printf("{\"%s\": ", kind);
        print_json_string(run->path);
    } else if (run->many && run->format == VIEW_TEXT) {
        printf("%s%s\n", run->shown ? "\n" : "", title);
    }
    run->tables = 0;
    run->shown++;
}

static bool is_fine(request *r, const char *path, hb_result result)
{
    if (result == HB_OK) return true;
    tell_result("view", path, result);
    r->status = EXIT_FAILED;
    return false;
}

/* Events of a category, which the plugin counts; of none it would make a step of minus 600,000
 * years. */
static bool has_events(const hb_trace_file *file)
{
    hb_file_event event;
    if (hb_trace_file_is_digest(file)) return true;
    for (size_t i = 0; hb_trace_file_event(file, i, &event) == HB_OK; i++)
        if (event.category && event.phase != 'M' && event.has_ts) return true;
    return false;
}

static hb_trace_file *open_source(request *r, const input *from)
{
    hb_trace_file *file = open_input("view", from, &r->open);
    if (file && has_events(file)) return file;
    if (file) fprintf(stderr, "hipboard view: %s: no events\n", from->file.path);
    hb_trace_file_close(file);
    r->status = EXIT_FAILED;
    return NULL;
}

/* ---- file by file ---- */

static bool has_step(request *r, const char *title, const char *who, bool found)
{
    if (found) return true;
    fprintf(stderr, "hipboard view: %s: %s no step %s\n", title, who, r->run.step);
    r->status = EXIT_FAILED;
    return false;
}

/* Where steps are rows. */
static bool has_step_row(request *r, const char *path, hb_trace_file *file)
{
    const hb_step_stat *list;
    size_t count, i = 0;
    if (!is_fine(r, path, hb_trace_file_steps(file, &list, &count))) return false;
    while (i < count && strcmp(list[i].name, r->run.step) != 0)
        i++;
    return has_step(r, path, "the trace has", i < count);
}

static bool choose_step(request *r, const char *path, hb_trace_file *file)
{
    long long step;
    if (!r->run.step) return true;
    if (r->view->has_steps) return has_step_row(r, path, file);
    parse_number(r->run.step, LLONG_MIN, LLONG_MAX, &step);
    return is_fine(r, path, hb_trace_file_keep_steps(file, step, step));
}

static void show_file(request *r, const input *from)
{
    const hb_logdir_file *f = &from->file;
    char title[1024];
    hb_trace_file *file = open_source(r, from);
    if (file && is_wanted_rank(r, file) && choose_step(r, f->path, file)) {
        snprintf(title, sizeof title, "%s, worker %s, span %s", f->run, f->worker, f->span);
        r->run.path = f->path;
        print_head(&r->run, from->in_logdir ? title : f->path, "file");
        bool fine = is_fine(r, f->path, r->view->show(&r->run, file));
        if (fine && r->run.format == VIEW_TEXT && !r->run.tables) puts("(nothing to show)");
        if (r->run.format == VIEW_JSON) puts("}");
        print_mended(r, file);
        print_reason(r, file);
        print_steps_rule(r, file);
        print_simulated(r, is_simulated(file));
        print_notes(r, f->path, file, "hipboard_hip_notes");
        print_notes(r, f->path, file, "hipboard_operator_notes");
        print_notes(r, f->path, file, "hipboard_graph_notes");
        print_notes(r, f->path, file, "hipboard_gpu_notes");
    }
    hb_trace_file_close(file);
}

/* ---- all of a run and span ---- */

typedef struct group {
    hb_ranks *ranks;
    size_t count;
    bool simulated;
} group;

static bool same_group(const input *a, const input *b)
{
    return a->in_logdir == b->in_logdir && strcmp(a->file.run, b->file.run) == 0 &&
           strcmp(a->file.span, b->file.span) == 0;
}

/* A trace that cannot be analysed is told and left out. One is open at a time. */
static void add_trace(request *r, const input *from, group *g)
{
    hb_trace_file *file = open_source(r, from);
    if (file && is_fine(r, from->file.path, hb_ranks_add(g->ranks, file, from->file.worker))) {
        g->count++;
        g->simulated |= is_simulated(file);
    }
    hb_trace_file_close(file);
}

static void add_group(request *r, inputs *in, const input *first, group *g)
{
    for (input *x = in->items; x < in->items + in->count; x++) {
        if (x->shown || !same_group(x, first)) continue;
        x->shown = true;
        add_trace(r, x, g);
    }
}

static bool has_wanted_rank(const request *r, hb_ranks *ranks)
{
    const hb_rank_step *list;
    size_t count;
    if (!r->run.has_rank || hb_ranks_averages(ranks, &list, &count) != HB_OK) return true;
    for (size_t i = 0; i < count; i++)
        if (list[i].rank == r->run.rank) return true;
    return false;
}

static bool has_wanted_step(request *r, const char *title, hb_ranks *ranks)
{
    const hb_rank_step *list;
    size_t count, i = 0;
    if (!r->run.step || hb_ranks_steps(ranks, &list, &count) != HB_OK) return true;
    while (i < count && strcmp(list[i].step, r->run.step) != 0)
        i++;
    return has_step(r, title, "its traces have", i < count);
}

static void show_group(request *r, const input *first, const group *g)
{
    char title[1024];
    if (!g->count) return;
    snprintf(title, sizeof title, "%s, span %s", first->file.run, first->file.span);
    r->run.path = first->file.run;
    if (!is_fine(r, title, hb_ranks_compare(g->ranks)) || !has_wanted_rank(r, g->ranks) ||
        !has_wanted_step(r, title, g->ranks))
        return;
    print_head(&r->run, first->in_logdir ? title : "files", "run");
    if (r->run.format == VIEW_JSON) {
        fputs(", \"span\": ", stdout);
        print_json_string(first->file.span);
    }
    is_fine(r, title, r->view->show_ranks(&r->run, g->ranks));
    if (r->run.format == VIEW_JSON) puts("}");
    print_simulated(r, g->simulated);
}

/* Of a thousand traces, one after the other, what was read of one is given back before the next. */
static void keep_little(void)
{
#if defined M_MMAP_THRESHOLD
    (void)mallopt(M_MMAP_THRESHOLD, 1024 << 10);
#endif
}

static void show_groups(request *r, inputs *in)
{
    keep_little();
    r->run.many = false;
    for (size_t i = 0; i < in->count; i++)
        r->run.many |= !same_group(&in->items[0], &in->items[i]);
    for (size_t i = 0; i < in->count; i++) {
        group g = {0};
        if (in->items[i].shown) continue;
        if (!is_fine(r, in->items[i].file.run, hb_ranks_begin(&g.ranks))) return;
        add_group(r, in, &in->items[i], &g);
        show_group(r, &in->items[i], &g);
        hb_ranks_destroy(g.ranks);
    }
}

/* ---- more traces than anybody looks at ---- */

static bool is_many(const request *r, const inputs *in)
{
    return in->count > INPUTS_FEW && r->run.format == VIEW_TEXT && r->run.top && !r->run.has_rank;
}

/* How much of a trace's time is communication, or how long its steps take where there is none;
 * whom all others wait for communicates least. */
typedef struct extremes {
    size_t least, most; /* inputs */
    double lowest, highest;
    bool communicates;
} extremes;

static void compare_trace(extremes *x, hb_trace_file *file, size_t index)
{
    const hb_step_stat *steps;
    size_t count;
    double communication = 0, time = 0;
    if (hb_trace_file_steps(file, &steps, &count) != HB_OK || !count) return;
    for (size_t i = 0; i < count; i++) {
        communication += steps[i].communication_us / (double)count;
        time += steps[i].duration_us / (double)count;
    }
    if (communication > 0 && !x->communicates) *x = (extremes){index, index, INFINITY, 0, true};
    if (x->communicates && communication <= 0) return;
    double value = x->communicates ? communication : time;
    if (value < x->lowest) x->least = index;
    if (value > x->highest) x->most = index;
    x->lowest = fmin(x->lowest, value);
    x->highest = fmax(x->highest, value);
}

static extremes sum_up(request *r, inputs *in, hb_step_summary *summary)
{
    extremes x = {.lowest = INFINITY};
    for (size_t i = 0; i < in->count && !progress_interrupted(); i++) {
        const input *from = &in->items[i];
        const hb_logdir_file *f = &from->file;
        const char *worker = from->in_logdir ? f->worker : f->path;
        hb_trace_file *file = open_source(r, from);
        if (file && choose_step(r, f->path, file) &&
            is_fine(r, f->path, hb_step_summary_add(summary, file, f->run, worker, f->span)))
            compare_trace(&x, file, i);
        hb_trace_file_close(file);
    }
    return x;
}

static void show_extremes(request *r, inputs *in, const extremes *x)
{
    const size_t shown[] = {x->least, x->most};
    r->run.top = r->run.top < MANY_TOP ? r->run.top : MANY_TOP;
    printf("\nOf the traces these two, with the %s:\n",
           x->communicates ? "least and the most communication" : "shortest and the longest steps");
    for (size_t i = 0; i < 2 && !progress_interrupted(); i++)
        if (i == 0 || x->least != x->most) show_file(r, &in->items[shown[i]]);
}

static void show_many(request *r, inputs *in)
{
    hb_step_summary *summary;
    table_style style = r->run.style;
    style.top = r->run.top < MANY_TOP ? r->run.top : MANY_TOP;
    keep_little();
    if (!is_fine(r, "view", hb_step_summary_create(&summary))) return;
    extremes x = sum_up(r, in, summary);
    is_fine(r, "view", print_step_tables(summary, &style));
    if (!r->view->of_steps) show_extremes(r, in, &x);
    hb_step_summary_destroy(summary);
    puts("\n--rank N shows one rank, --top 0 each trace.");
}

/* ---- all that is given ---- */

static bool digests_have_it(request *r, const inputs *in)
{
    if (!in->num_studies || r->view->of_steps) return true;
    fprintf(stderr,
            "hipboard view: digests have the views overview and steps; for %s give the traces%s\n",
            r->view->name, r->view->show_ranks ? ", or ask `hipboard ranks`" : "");
    r->status = EXIT_FAILED;
    return false;
}

static void show_all(request *r, inputs *in)
{
    r->run.many = in->count > 1;
    if (r->view->show_ranks)
        show_groups(r, in);
    else if (is_many(r, in))
        show_many(r, in);
    else
        for (size_t i = 0; i < in->count; i++)
            show_file(r, &in->items[i]);
    if (r->run.has_rank && !r->run.shown && r->status == EXIT_FINE) {
        fprintf(stderr, "hipboard view: there is no trace of rank %lld\n", r->run.rank);
        r->status = EXIT_FAILED;
    }
    tell_digests("view", in);
}

static void show(request *r, const arguments *args)
{
    inputs in = {.take_digests = true};
    r->status = inputs_find(&in, "view", args, &r->open);
    if (digests_have_it(r, &in)) show_all(r, &in);
    inputs_free(&in);
}

/* ---- the command line ---- */

static const char *take_view(void *to, const char *name)
{
    const view *v = find_view(name);
    if (!v) return "there is no such view";
    *(const view **)to = v;
    return NULL;
}

/* As traces write it. */
static const char *take_step(void *to, const char *text)
{
    static char step[24];
    long long n;
    if (!parse_number(text, LLONG_MIN, LLONG_MAX, &n)) return "expected a step's number";
    snprintf(step, sizeof step, "%lld", n);
    *(const char **)to = step;
    return NULL;
}

static const char *take_rank(void *to, const char *text)
{
    view_run *run = to;
    run->has_rank = parse_number(text, 0, LLONG_MAX, &run->rank);
    return run->has_rank ? NULL : "expected a rank";
}

static const char *take_width(void *to, const char *text)
{
    table_style *style = to;
    style->text_width = 0;
    return take_count(&style->line_width, text);
}

static const char *take_code(void *to, const char *path)
{
    view_run *run = to;
    if (run->num_codes == sizeof run->codes / sizeof *run->codes) return "there are too many";
    run->codes[run->num_codes++] = path;
    return NULL;
}

/* Before any file is read: the view must have the column to sort by. */
static int check_sort(const request *r)
{
    char titles[2048] = "";
    if (!r->run.sort_by) return 0;
    for (const table_spec *const *spec = r->view->tables; *spec; spec++) {
        if (table_find((*spec)->columns, (*spec)->num_columns, r->run.sort_by) >= 0) return 0;
        for (size_t i = 0; i < (*spec)->num_columns; i++) {
            size_t n = strlen(titles);
            snprintf(titles + n, sizeof titles - n, "%s%s", n ? ", " : "",
                     (*spec)->columns[i].title);
        }
    }
    return usage_error("view", "view %s has no column '%s' but %s", r->view->name, r->run.sort_by,
                       titles);
}

static request default_request(void)
{
    size_t columns = screen_columns();
    request r = {.view = &view_overview, .open = progress_options()};
    r.run.top = 20;
    r.run.style = (table_style){.line_width = columns,
                                .text_width = columns ? 0 : PIPED_TEXT_WIDTH,
                                .hide_empty = true,
                                .bold = screen_is_styled()};
    return r;
}

static int run(arguments *args)
{
    request r = default_request();
    if (!parse_options(&cmd_view, args, &r)) return args->status;
    r.open.unify = !r.as_plugin;
    r.run.format = r.json ? VIEW_JSON : r.csv ? VIEW_CSV : VIEW_TEXT;
    int status = check_sort(&r);
    if (status != EXIT_FINE) return status;
    show(&r, args);
    pattern_free(&r.run.name);
    return r.status;
}

static const option_spec options[] = {
    {0, "view", "VIEW",
     "overview (default), steps, operator, kernel, memory, module,\n"
     "distributed: the ranks of a run, or of all files given\n"
     "gpu: time by kind of work, copies, idle gaps and what the host did then\n"
     "classes: kernels by class, matrix cores, occupancy\n"
     "loops: the program's loops, where it was recorded with call stacks\n"
     "power: what each GPU took in each step, by its sensors\n"
     "roofline: operations and bytes a second by FLOPs and inputs of operators, beside what the "
     "GPU can do",
     INTO_BY(take_view, view)},
    {0, "name", "REGEX", "only rows whose name matches this extended regular expression",
     INTO(run.name)},
    {0, "step", "N", "only step N, as if nothing else had been recorded",
     INTO_BY(take_step, run.step)},
    {0, "rank", "R", "only traces of this rank of a distributed run", INTO_BY(take_rank, run)},
    {0, "sort-by", "TITLE", "by the column of that title, as host_self; numbers descending",
     INTO(run.sort_by)},
    {0, "top", "N", "at most N rows a table (default 20, 0: all, and all traces)", INTO(run.top)},
    {0, "width", "N", "fit lines into N columns (default: the terminal's; 0: never)",
     INTO_BY(take_width, run.style)},
    {0, "classes", "FILE",
     "rules that name kernels' classes, a class and a pattern a line:\n"
     "  gemm     my_gemm      kernels with this text in their name,\n"
     "                        whatever case\n"
     "  norm     ^ln_*fwd$    ^ $ the name's ends, * any text,\n"
     "                        # a number, | the edge of a word,\n"
     "                        ~x that no x stands before\n"
     "  +matrix  my_gemm_mfma kernels that use matrix cores\n"
     "                        (-matrix: do not)",
     INTO(run.classes)},
    {0, "code", "FILE",
     "a code object (.co, .hsaco), or a program or library with such inside, whose instructions "
     "tell which kernels use matrix cores; up to 16 times",
     INTO_BY(take_code, run)},
    {0, "as-plugin", NULL,
     "only what the plugin makes of the file as it is: no device times of operators in traces of "
     "PyTorch since 2022, and a single odd event may lose the file",
     INTO(as_plugin)},
    {0, "csv", NULL, "comma-separated values with all digits", INTO(csv)},
    {0, "json", NULL, "the same tables as JSON, a line a file", INTO(json)},
    {0},
};

const command cmd_view = {
    .name = "view",
    .summary = "show what traces tell: steps, operators, kernels, memory, modules, ranks",
    .synopsis = "[--view VIEW] [OPTIONS] PATH...",
    .about =
        "Shows traces as tables: what the TensorBoard plugin shows, and what it does not. "
        "PATH is a trace file, plain or gzipped, a log directory, a run's directory, - for "
        "standard input, or digests of ranks (.hbranks), which have overview and steps. Of more "
        "than 32 traces: what `hipboard steps` says of all, and, of other views, those of the "
        "two traces that differ most.",
    .options = options,
    .notes =
        "Numbers are those that the plugin shows of a trace that `hipboard convert` has mended: "
        "runtime calls, data loading and optimizers count in traces of any age, odd events "
        "lose no file; where that makes a difference, a note says so. Text leaves out columns of "
        "nothing but zeros; CSV and JSON keep them. Damage that a file can be read in spite of "
        "is told on stderr. \"Exposed\" is communication beside no computation. Exit status 1 when "
        "a file cannot be read or analysed.",
    .least = 1,
    .most = MANY,
    .wanted = "no file or log directory is given",
    .run = run,
};
