/* SPDX-License-Identifier: MIT */
#include "command.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "progress.h"
#include "screen.h"
#include "view.h"

static const char help[] =
    "usage: hipboard view [--view VIEW] [OPTIONS] PATH...\n"
    "\n"
    "Shows what the TensorBoard plugin would show of a trace, as tables. PATH is a trace file,\n"
    "plain or gzipped, a log directory, a run's directory, or - for standard input.\n"
    "\n"
    "  --view VIEW     overview (default), steps, operator, kernel, memory or module\n"
    "  --name REGEX    only rows whose name matches this extended regular expression\n"
    "  --step N        only step N (--view steps)\n"
    "  --rank R        only traces of this rank of a distributed run\n"
    "  --sort-by TITLE by the column of that title, as host_self; numbers descending\n"
    "  --top N         at most N rows a table (default 20, 0: all)\n"
    "  --width N       fit lines into N columns (default: the terminal's; 0: never)\n"
    "  --csv           comma-separated values with all digits\n"
    "  --json          the same tables as JSON, a line a file\n"
    "  -h, --help      this text\n"
    "\n"
    "Text leaves out columns of nothing but zeros; CSV and JSON keep them. Damage that a file can\n"
    "be read in spite of is told on stderr. Exit status 1 when a file cannot be read or "
    "analysed.\n";

static const view *const views[] = {&view_overview, &view_steps,  &view_operator,
                                    &view_kernel,   &view_memory, &view_module};

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

/* A number that follows "rank" in a file's distributedInfo. */
static bool is_wanted_rank(const settings *s, const hb_trace_file *file)
{
    const char *info = hb_trace_file_metadata(file, "distributedInfo");
    const char *rank = info ? strstr(info, "\"rank\"") : NULL;
    if (!s->run.has_rank) return true;
    if (!rank) return false;
    rank += strlen("\"rank\"");
    rank += strspn(rank, " \t\r\n:");
    char *end;
    long long value = strtoll(rank, &end, 10);
    return end != rank && value == s->run.rank;
}

static void print_head(view_run *run, const char *title)
{
    if (run->format == VIEW_JSON) {
        fputs("{\"file\": ", stdout);
        print_json_string(run->path);
    } else if (title && run->format == VIEW_TEXT) {
        printf("%s%s\n", run->shown ? "\n" : "", title);
    }
    run->tables = 0;
    run->shown++;
}

static hb_result show_trace(settings *s, hb_trace_file *file, const char *title)
{
    print_head(&s->run, title);
    hb_result result = s->view->show(&s->run, file);
    if (s->run.format == VIEW_JSON) puts("}");
    return result;
}

static void show_file(settings *s, const char *path, const char *title)
{
    hb_trace_file *file;
    hb_result result = hb_trace_file_open(path, &s->open, &file);
    progress_clear();
    s->run.path = path;
    if (result == HB_OK && is_wanted_rank(s, file)) {
        print_notes(path, file);
        result = show_trace(s, file, title);
    }
    if (result != HB_OK) {
        fprintf(stderr, "hipboard view: %s\n", hb_last_error());
        s->status = EXIT_FAILED;
    }
    hb_trace_file_close(file);
}

static bool show_logdir_file(void *context, const hb_logdir_file *file)
{
    char title[1024];
    snprintf(title, sizeof title, "%s, worker %s, span %s", file->run, file->worker, file->span);
    show_file(context, file->path, title);
    return true;
}

static bool count_file(void *context, const hb_logdir_file *file)
{
    (void)file;
    ++*(size_t *)context;
    return true;
}

static void show_logdir(settings *s, const char *path)
{
    hb_logdir *logdir;
    size_t files = 0;
    hb_result result = hb_logdir_open(path, &s->open, &logdir);
    if (result == HB_OK) {
        hb_logdir_files(logdir, count_file, &files);
        s->run.many |= files > 1;
        hb_logdir_files(logdir, show_logdir_file, s);
    }
    hb_logdir_close(logdir);
    if (result == HB_OK && files) return;
    fprintf(stderr, "hipboard view: %s: %s\n", path,
            result == HB_OK ? "no trace files" : hb_last_error());
    s->status = EXIT_FAILED;
}

static void show_path(settings *s, const char *path)
{
    struct stat st;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        show_logdir(s, path);
    else
        show_file(s, path, s->run.many ? path : NULL);
}

/* ---- the command line ---- */

static bool take_number(const char *text, long long least, long long *number)
{
    char *end;
    errno = 0;
    *number = strtoll(text, &end, 10);
    return end != text && !*end && !errno && *number >= least;
}

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
        if (!take_number(argument, 0, &n))
            return usage_error("view", "'%s' is no number of rows", argument);
        s->run.top = (size_t)n;
        return 0;
    case 'r':
        s->run.has_rank = take_number(argument, 0, &s->run.rank);
        return s->run.has_rank ? 0 : usage_error("view", "'%s' is no rank", argument);
    case 'w':
        if (!take_number(argument, 0, &n))
            return usage_error("view", "'%s' is no number of columns", argument);
        s->run.style.line_width = (size_t)n;
        s->run.style.text_width = 0;
        return 0;
    case 'b': s->run.sort_by = argument; return 0;
    case 's': s->run.step = argument; return 0;
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
    s.run.many = argc - optind > 1;
    for (int i = optind; i < argc; i++)
        show_path(&s, argv[i]);
    if (s.run.has_name) regfree(&s.run.name);
    return s.status;
}
