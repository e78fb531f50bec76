/* SPDX-License-Identifier: MIT */
#include "command.h"

#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "progress.h"
#include "screen.h"
#include "view.h"
#include "view_sources.h"

static const char help[] =
    "usage: hipboard view [--view VIEW] [OPTIONS] PATH...\n"
    "\n"
    "Shows traces as tables: what the TensorBoard plugin shows, and what it does not. PATH is a\n"
    "trace file, plain or gzipped, a log directory, a run's directory, or - for standard input.\n"
    "\n"
    "  --view VIEW     overview (default), steps, operator, kernel, memory, module,\n"
    "                  distributed: the ranks of a run, or of all files given\n"
    "                  gpu: time by kind of work, idle gaps and what the host did meanwhile\n"
    "                  classes: kernels by class, matrix cores, occupancy\n"
    "  --name REGEX    only rows whose name matches this extended regular expression\n"
    "  --step N        only step N, as if nothing else had been recorded\n"
    "  --rank R        only traces of this rank of a distributed run\n"
    "  --sort-by TITLE by the column of that title, as host_self; numbers descending\n"
    "  --top N         at most N rows a table (default 20, 0: all)\n"
    "  --width N       fit lines into N columns (default: the terminal's; 0: never)\n"
    "  --classes FILE  rules that name kernels' classes, a class and a pattern a line:\n"
    "                    gemm     my_gemm      kernels with this text in their name, whatever "
    "case\n"
    "                    norm     ^ln_*fwd$    ^ $ the name's ends, * any text, # a number,\n"
    "                                          | the edge of a word\n"
    "                    +matrix  my_gemm_mfma kernels that use matrix cores (-matrix: do not)\n"
    "  --code FILE     a code object (.co, .hsaco), or a program or library with such inside, "
    "whose\n"
    "                  instructions tell which kernels use matrix cores; up to 16 times\n"
    "  --csv           comma-separated values with all digits\n"
    "  --json          the same tables as JSON, a line a file\n"
    "  -h, --help      this text\n"
    "\n"
    "Text leaves out columns of nothing but zeros; CSV and JSON keep them. Damage that a file can\n"
    "be read in spite of is told on stderr. \"Exposed\" is communication beside no computation.\n"
    ""
    "Exit status 1 when a file cannot be read or "
    "analysed.\n";

static const view *const views[] = {&view_overview,    &view_steps,  &view_operator,
                                    &view_kernel,      &view_memory, &view_module,
                                    &view_distributed, &view_gpu,    &view_classes};

enum { NUM_VIEWS = sizeof views / sizeof *views, PIPED_TEXT_WIDTH = 60 };

typedef struct settings {
    const view *view;
    view_run run;
    hb_open_options open;
    int status;
} settings;

static const view *find_view(const char *name)
{
    for (size_t i = 0; i < NUM_VIEWS; i++)
        if (strcmp(views[i]->name, name) == 0) return views[i];
    return NULL;
}

/* ---- files ---- */

static void print_notes(const char *path, const hb_trace_file *file)
{
    for (size_t i = 0; i < hb_trace_file_num_notes(file) && i < 3; i++) {
        hb_trace_note note = hb_trace_file_note(file, i);
        fprintf(stderr, "hipboard view: %s: byte %llu: %s\n", path, (unsigned long long)note.offset,
                note.what);
    }
    if (hb_trace_file_num_notes(file) > 3) fprintf(stderr, "hipboard view: %s: and more\n", path);
}

/* `c`: behind the opening quote of a JSON string. Returns what follows the closing one. */
static const char *print_json_text(const char *c, FILE *to)
{
    for (; *c && *c != '"'; c++) {
        if (*c == '\\' && c[1]) c++;
        fputc(*c, to);
    }
    fputc('\n', to);
    return *c ? c + 1 : c;
}

/* Why HIP's part of the trace is not whole: an array of sentences, which hipboard writes. */
static void print_hip_notes(const settings *s, const char *path, const hb_trace_file *file)
{
    const char *c = hb_trace_file_metadata(file, "hipboard_hip_notes");
    bool text = s->run.format == VIEW_TEXT;
    while (c && (c = strchr(c, '"'))) {
        if (text)
            fputs("Note: ", stdout);
        else
            fprintf(stderr, "hipboard view: %s: ", path);
        c = print_json_text(c + 1, text ? stdout : stderr);
    }
}

static bool is_wanted_rank(const settings *s, const hb_trace_file *file)
{
    int64_t rank;
    return !s->run.has_rank || (hb_trace_file_rank(file, &rank) && rank == s->run.rank);
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

static void fail(settings *s)
{
    fprintf(stderr, "hipboard view: %s\n", hb_last_error());
    s->status = EXIT_FAILED;
}

static hb_trace_file *open_source(settings *s, const view_source *source)
{
    hb_trace_file *file;
    hb_result result = hb_trace_file_open(source->file.path, &s->open, &file);
    progress_clear();
    if (result != HB_OK)
        fail(s);
    else
        print_notes(source->file.path, file);
    return file;
}

/* ---- file by file ---- */

static bool choose_step(settings *s, hb_trace_file *file)
{
    long long step;
    if (!s->run.step || s->view->has_steps) return true;
    parse_number(s->run.step, LLONG_MIN, LLONG_MAX, &step);
    if (hb_trace_file_keep_steps(file, step, step) == HB_OK) return true;
    fail(s);
    return false;
}

static void show_file(settings *s, const view_source *source)
{
    const hb_logdir_file *f = &source->file;
    char title[1024];
    hb_trace_file *file = open_source(s, source);
    if (file && is_wanted_rank(s, file) && choose_step(s, file)) {
        snprintf(title, sizeof title, "%s, worker %s, span %s", f->run, f->worker, f->span);
        s->run.path = f->path;
        print_head(&s->run, source->in_logdir ? title : f->path, "file");
        if (s->view->show(&s->run, file) != HB_OK) fail(s);
        if (s->run.format == VIEW_JSON) puts("}");
        print_hip_notes(s, f->path, file);
    }
    hb_trace_file_close(file);
}

/* ---- all of a run and span ---- */

typedef struct group {
    hb_trace_file **files;
    const char **workers;
    size_t count;
} group;

static bool same_group(const view_source *a, const view_source *b)
{
    return a->in_logdir == b->in_logdir && strcmp(a->file.run, b->file.run) == 0 &&
           strcmp(a->file.span, b->file.span) == 0;
}

/* A trace that cannot be analysed is told and left out. */
static void open_group(settings *s, view_sources *sources, const view_source *first, group *g)
{
    for (view_source *x = sources->items; x < sources->items + sources->count; x++) {
        const hb_step_stat *steps;
        size_t num_steps;
        if (x->shown || !same_group(x, first)) continue;
        x->shown = true;
        hb_trace_file *file = open_source(s, x);
        if (file && hb_trace_file_steps(file, &steps, &num_steps) != HB_OK) {
            fail(s);
            hb_trace_file_close(file);
            file = NULL;
        }
        if (!file) continue;
        g->workers[g->count] = x->file.worker;
        g->files[g->count++] = file;
    }
}

static void show_group(settings *s, const view_source *first, const group *g)
{
    char title[1024];
    hb_ranks *ranks;
    if (!g->count) return;
    if (hb_ranks_create(g->files, g->workers, g->count, &ranks) != HB_OK) {
        fail(s);
        return;
    }
    snprintf(title, sizeof title, "%s, span %s", first->file.run, first->file.span);
    s->run.path = first->file.run;
    print_head(&s->run, first->in_logdir ? title : "files", "run");
    if (s->run.format == VIEW_JSON) {
        fputs(", \"span\": ", stdout);
        print_json_string(first->file.span);
    }
    if (s->view->show_ranks(&s->run, ranks) != HB_OK) fail(s);
    if (s->run.format == VIEW_JSON) puts("}");
    hb_ranks_destroy(ranks);
}

static void show_groups(settings *s, view_sources *sources)
{
    s->run.many = false;
    for (size_t i = 0; i < sources->count; i++)
        s->run.many |= !same_group(&sources->items[0], &sources->items[i]);
    for (size_t i = 0; i < sources->count; i++) {
        if (sources->items[i].shown) continue;
        group g = {calloc(sources->count, sizeof *g.files),
                   calloc(sources->count, sizeof *g.workers), 0};
        if (g.files && g.workers) open_group(s, sources, &sources->items[i], &g);
        show_group(s, &sources->items[i], &g);
        for (size_t k = 0; k < g.count; k++)
            hb_trace_file_close(g.files[k]);
        free(g.files);
        free(g.workers);
    }
}

static void show(settings *s, char **paths, int count)
{
    view_sources sources = {0};
    for (int i = 0; i < count; i++) {
        hb_result result = view_sources_add(&sources, paths[i], &s->open);
        if (result == HB_OK) continue;
        fprintf(stderr, "hipboard view: %s: %s\n", paths[i],
                result == HB_ERROR_NOT_FOUND ? "no trace files" : hb_last_error());
        s->status = EXIT_FAILED;
    }
    s->run.many = sources.count > 1;
    if (s->view->show_ranks)
        show_groups(s, &sources);
    else
        for (size_t i = 0; i < sources.count; i++)
            show_file(s, &sources.items[i]);
    view_sources_free(&sources);
}

/* ---- the command line ---- */

static int take_name(view_run *run, const char *regex)
{
    if (run->has_name) regfree(&run->name);
    run->has_name = regcomp(&run->name, regex, REG_EXTENDED | REG_NOSUB) == 0;
    return run->has_name ? 0 : usage_error("view", "'%s' is no regular expression", regex);
}

/* Non-zero: the exit status of a wrong command line. */
static int take_option(settings *s, int option, const char *argument)
{
    long long n;
    switch (option) {
    case 'v':
        s->view = find_view(argument);
        return s->view ? 0 : usage_error("view", "there is no view '%s'", argument);
    case 'n': return take_name(&s->run, argument);
    case 't':
        if (!parse_number(argument, 0, LLONG_MAX, &n))
            return usage_error("view", "'%s' is no number of rows", argument);
        s->run.top = (size_t)n;
        return 0;
    case 'r':
        s->run.has_rank = parse_number(argument, 0, LLONG_MAX, &s->run.rank);
        return s->run.has_rank ? 0 : usage_error("view", "'%s' is no rank", argument);
    case 'w':
        if (!parse_number(argument, 0, LLONG_MAX, &n))
            return usage_error("view", "'%s' is no number of columns", argument);
        s->run.style.line_width = (size_t)n;
        s->run.style.text_width = 0;
        return 0;
    case 'b': s->run.sort_by = argument; return 0;
    case 's':
        s->run.step = argument;
        return parse_number(argument, LLONG_MIN, LLONG_MAX, &n)
                   ? 0
                   : usage_error("view", "'%s' is no step's number", argument);
    case 'k': s->run.classes = argument; return 0;
    case 'C':
        if (s->run.num_codes == sizeof s->run.codes / sizeof *s->run.codes)
            return usage_error("view", "too many --code");
        s->run.codes[s->run.num_codes++] = argument;
        return 0;
    case 'c': s->run.format = VIEW_CSV; return 0;
    default: s->run.format = VIEW_JSON; return 0;
    }
}

/* Before any file is read: the view must have the column to sort by. */
static int check_sort(const settings *s)
{
    char titles[2048] = "";
    if (!s->run.sort_by) return 0;
    for (const table_spec *const *spec = s->view->tables; *spec; spec++) {
        if (table_find((*spec)->columns, (*spec)->num_columns, s->run.sort_by) >= 0) return 0;
        for (size_t i = 0; i < (*spec)->num_columns; i++) {
            size_t n = strlen(titles);
            snprintf(titles + n, sizeof titles - n, "%s%s", n ? ", " : "",
                     (*spec)->columns[i].title);
        }
    }
    return usage_error("view", "view %s has no column '%s' but %s", s->view->name, s->run.sort_by,
                       titles);
}

static void settings_init(settings *s)
{
    size_t columns = screen_columns();
    *s = (settings){.view = &view_overview, .open = progress_options()};
    s->run.top = 20;
    s->run.style = (table_style){.line_width = columns,
                                 .text_width = columns ? 0 : PIPED_TEXT_WIDTH,
                                 .hide_empty = true,
                                 .bold = screen_is_styled()};
}

int cmd_view(int argc, char **argv)
{
    static const struct option options[] = {
        {"view", required_argument, NULL, 'v'},
        {"name", required_argument, NULL, 'n'},
        {"step", required_argument, NULL, 's'},
        {"rank", required_argument, NULL, 'r'},
        {"top", required_argument, NULL, 't'},
        {"sort-by", required_argument, NULL, 'b'},
        {"classes", required_argument, NULL, 'k'},
        {"code", required_argument, NULL, 'C'},
        {"csv", no_argument, NULL, 'c'},
        {"width", required_argument, NULL, 'w'},
        {"json", no_argument, NULL, 'j'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    settings s;
    int option, status;
    settings_init(&s);
    opterr = 0;
    optind = 1;
    while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        if (option == 'h') {
            fputs(help, stdout);
            return EXIT_FINE;
        }
        if (option == '?')
            return usage_error("view", "option '%s' is unknown or lacks its value",
                               argv[optind - 1]);
        if ((status = take_option(&s, option, optarg)) != 0) return status;
    }
    if (optind == argc) return usage_error("view", "no file or log directory is given");
    if ((status = check_sort(&s)) != 0) return status;
    show(&s, argv + optind, argc - optind);
    if (s.run.has_name) regfree(&s.run.name);
    return s.status;
}
