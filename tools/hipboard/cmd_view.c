/* SPDX-License-Identifier: MIT */
#include "command.h"

#include <getopt.h>
#include <math.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "progress.h"
#include "table.h"

static const char help[] =
    "usage: hipboard view [--view VIEW] [OPTIONS] PATH...\n"
    "\n"
    "Shows what the TensorBoard plugin would show of a trace, as tables. PATH is a trace file, "
    "plain\n"
    "or gzipped, a log directory, or - for standard input.\n"
    "\n"
    "  --view VIEW    overview (default), steps, operator, kernel, memory or module\n"
    "  --name REGEX   only rows whose name matches this extended regular expression\n"
    "  --step N       only this step (view steps)\n"
    "  --top N        at most N rows a table (default 20, 0: all)\n"
    "  --csv          comma-separated values with all digits\n"
    "  --json         the plugin's JSON of the view, a line a file\n"
    "  -h, --help     this text\n"
    "\n"
    "Damage that a file can be read in spite of is told on stderr. Exit status 1 when a file "
    "cannot be\n"
    "read or analysed.\n";

typedef struct settings {
    const char *view, *step;
    regex_t name;
    bool has_name, csv, json;
    size_t top;
    hb_open_options open;
    int status;
    unsigned shown;
} settings;

enum { NAME_WIDTH = 60 };

static bool wanted(const settings *s, const char *name)
{
    return !s->has_name || regexec(&s->name, name, 0, NULL, 0) == 0;
}

static void finish(const settings *s, table *t)
{
    if (s->csv)
        table_print_csv(t, s->top);
    else
        table_print(t, s->top, NAME_WIDTH);
    table_free(t);
}

static double share(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : NAN;
}

/* ---- the views ---- */

static hb_result steps(const settings *s, hb_trace_file *file)
{
    static const column columns[] = {{"Step", COLUMN_TEXT},     {"Total", COLUMN_TIME},
                                     {"Kernel", COLUMN_TIME},   {"Memcpy", COLUMN_TIME},
                                     {"Memset", COLUMN_TIME},   {"Communication", COLUMN_TIME},
                                     {"Runtime", COLUMN_TIME},  {"DataLoader", COLUMN_TIME},
                                     {"CPU Exec", COLUMN_TIME}, {"Other", COLUMN_TIME}};
    const hb_step_stat *list;
    size_t count;
    table t;
    hb_result result = hb_trace_file_steps(file, &list, &count);
    if (result != HB_OK) return result;
    table_init(&t, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < count; i++) {
        const hb_step_stat *x = &list[i];
        if ((s->step && strcmp(s->step, x->name) != 0) || !wanted(s, x->name)) continue;
        table_add(&t, x->name, x->duration_us, x->kernel_us, x->memcpy_us, x->memset_us,
                  x->communication_us, x->runtime_us, x->loader_us, x->cpu_us, x->other_us);
    }
    finish(s, &t);
    return HB_OK;
}

/* Mean times of a step by role, and what the plugin recommends. */
static void add_role(table *t, const char *name, double sum, double total, size_t count)
{
    table_add(t, name, sum / (double)count, share(sum, total));
}

static void print_roles(const settings *s, const hb_step_stat *list, size_t count)
{
    static const column columns[] = {
        {"Average step", COLUMN_TEXT}, {"Time", COLUMN_TIME}, {"Share", COLUMN_PERCENT}};
    hb_step_stat sum = {0};
    table t;
    for (size_t i = 0; i < count; i++) {
        sum.duration_us += list[i].duration_us;
        sum.kernel_us += list[i].kernel_us;
        sum.memcpy_us += list[i].memcpy_us;
        sum.memset_us += list[i].memset_us;
        sum.communication_us += list[i].communication_us;
        sum.runtime_us += list[i].runtime_us;
        sum.loader_us += list[i].loader_us;
        sum.cpu_us += list[i].cpu_us;
        sum.other_us += list[i].other_us;
    }
    table_init(&t, columns, sizeof columns / sizeof *columns);
    add_role(&t, "Total", sum.duration_us, sum.duration_us, count);
    add_role(&t, "Kernel", sum.kernel_us, sum.duration_us, count);
    add_role(&t, "Memcpy", sum.memcpy_us, sum.duration_us, count);
    add_role(&t, "Memset", sum.memset_us, sum.duration_us, count);
    add_role(&t, "Communication", sum.communication_us, sum.duration_us, count);
    add_role(&t, "Runtime", sum.runtime_us, sum.duration_us, count);
    add_role(&t, "DataLoader", sum.loader_us, sum.duration_us, count);
    add_role(&t, "CPU Exec", sum.cpu_us, sum.duration_us, count);
    add_role(&t, "Other", sum.other_us, sum.duration_us, count);
    finish(s, &t);
}

static void print_gpus(const settings *s, const hb_gpu_stat *gpus, size_t count)
{
    static const column columns[] = {{"GPU", COLUMN_TEXT},
                                     {"Utilization", COLUMN_PERCENT},
                                     {"SM efficiency", COLUMN_PERCENT},
                                     {"Occupancy", COLUMN_PERCENT},
                                     {"Tensor cores", COLUMN_PERCENT}};
    table t;
    char id[16];
    if (!count) return;
    table_init(&t, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < count; i++) {
        const hb_gpu_stat *g = &gpus[i];
        snprintf(id, sizeof id, "%d", g->id);
        table_add(&t, id, 100 * g->utilization, g->sm_efficiency < 0 ? NAN : 100 * g->sm_efficiency,
                  g->occupancy_percent < 0 ? NAN : g->occupancy_percent,
                  g->tensor_core_ratio < 0 ? NAN : 100 * g->tensor_core_ratio);
    }
    putchar('\n');
    finish(s, &t);
}

/* The advice is HTML; its links are of no use here. */
static void print_plain(const char *html)
{
    for (bool tag = false; *html; html++) {
        if (*html == '<') tag = true;
        if (!tag) putchar(*html);
        if (*html == '>') tag = false;
    }
    putchar('\n');
}

static hb_result overview(const settings *s, hb_trace_file *file)
{
    const hb_step_stat *list;
    const hb_gpu_stat *gpus;
    size_t count, num_gpus;
    hb_result result = hb_trace_file_steps(file, &list, &count);
    if (result == HB_OK) result = hb_trace_file_gpus(file, &gpus, &num_gpus);
    if (result != HB_OK) return result;
    print_roles(s, list, count);
    print_gpus(s, gpus, num_gpus);
    const char *advice;
    for (size_t i = 0; !s->csv && (advice = hb_trace_file_advice(file, i)) != NULL; i++) {
        fputs(i ? "- " : "\n- ", stdout);
        print_plain(advice);
    }
    return HB_OK;
}

static hb_result operators(const settings *s, hb_trace_file *file)
{
    static const column columns[] = {
        {"Operator", COLUMN_TEXT},          {"Calls", COLUMN_COUNT},
        {"Device self", COLUMN_TIME},       {"Device total", COLUMN_TIME},
        {"Host self", COLUMN_TIME},         {"Host total", COLUMN_TIME},
        {"Host self share", COLUMN_PERCENT}};
    const hb_operator_stat *list;
    size_t count;
    double host = 0, device = 0;
    table t;
    hb_result result = hb_trace_file_operators(file, false, &list, &count);
    if (result != HB_OK) return result;
    for (size_t i = 0; i < count; i++) {
        host += list[i].self_host_us;
        device += list[i].self_device_us;
    }
    table_init(&t, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < count; i++) {
        const hb_operator_stat *o = &list[i];
        if (!wanted(s, o->name)) continue;
        table_add(&t, o->name, (double)o->calls, o->self_device_us, o->device_us, o->self_host_us,
                  o->host_us, share(o->self_host_us, host));
    }
    table_sort(&t, device > 0 ? 2 : 4);
    finish(s, &t);
    return HB_OK;
}

static hb_result kernels(const settings *s, hb_trace_file *file)
{
    static const column columns[] = {{"Kernel", COLUMN_TEXT},  {"Calls", COLUMN_COUNT},
                                     {"Total", COLUMN_TIME},   {"Mean", COLUMN_TIME},
                                     {"Max", COLUMN_TIME},     {"Min", COLUMN_TIME},
                                     {"Share", COLUMN_PERCENT}};
    const hb_kernel_stats *list;
    size_t count;
    double total = 0;
    table t;
    hb_result result = hb_trace_file_kernels(file, &list, &count);
    if (result != HB_OK) return result;
    for (size_t i = 0; i < count; i++)
        total += list[i].total_us;
    table_init(&t, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < count; i++) {
        const hb_kernel_stats *k = &list[i];
        if (!wanted(s, k->name)) continue;
        table_add(&t, k->name, (double)k->calls, k->total_us, k->mean_us, k->max_us, k->min_us,
                  share(k->total_us, total));
    }
    finish(s, &t);
    return HB_OK;
}

static hb_result memory(const settings *s, hb_trace_file *file)
{
    static const column columns[] = {
        {"Operator", COLUMN_TEXT},   {"Device", COLUMN_TEXT},
        {"Calls", COLUMN_COUNT},     {"Self increase", COLUMN_BYTES},
        {"Increase", COLUMN_BYTES},  {"Self allocated", COLUMN_BYTES},
        {"Allocated", COLUMN_BYTES}, {"Self allocations", COLUMN_COUNT}};
    const hb_memory_stats_row *list;
    size_t count;
    table t;
    hb_result result = hb_trace_file_memory(file, &list, &count);
    if (result != HB_OK) return result;
    table_init(&t, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < count; i++) {
        const hb_memory_stats_row *m = &list[i];
        if (!wanted(s, m->name)) continue;
        table_add(&t, m->name, m->device, (double)m->calls, m->self_increase_bytes,
                  m->increase_bytes, m->self_allocated_bytes, m->allocated_bytes,
                  m->self_allocations);
    }
    table_sort(&t, 5);
    finish(s, &t);
    return HB_OK;
}

static hb_result modules(const settings *s, hb_trace_file *file)
{
    static const column columns[] = {{"Module", COLUMN_TEXT},     {"Calls", COLUMN_COUNT},
                                     {"Operators", COLUMN_COUNT}, {"Host total", COLUMN_TIME},
                                     {"Host self", COLUMN_TIME},  {"Device total", COLUMN_TIME},
                                     {"Device self", COLUMN_TIME}};
    const hb_module_stats *list;
    size_t count;
    table t;
    char name[1024];
    hb_result result = hb_trace_file_modules(file, &list, &count);
    if (result != HB_OK) return result;
    table_init(&t, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < count; i++) {
        const hb_module_stats *m = &list[i];
        if (!wanted(s, m->name)) continue;
        snprintf(name, sizeof name, "%*s%s", s->csv ? 0 : 2 * m->depth, "", m->name);
        table_add(&t, name, (double)m->occurrences, (double)m->operators, m->host_us,
                  m->self_host_us, m->device_us, m->self_device_us);
    }
    finish(s, &t);
    return HB_OK;
}

static const struct {
    const char *name, *route; /* route: of the plugin's JSON */
    hb_result (*show)(const settings *s, hb_trace_file *file);
} views[] = {
    {"overview", "overview", overview},
    {"steps", "overview", steps},
    {"operator", "operation/table", operators},
    {"kernel", "kernel/table?group_by=Kernel", kernels},
    {"memory", "memory", memory},
    {"module", "module", modules},
};

static int find_view(const char *name)
{
    for (size_t i = 0; i < sizeof views / sizeof *views; i++)
        if (strcmp(views[i].name, name) == 0) return (int)i;
    return -1;
}

/* ---- the files ---- */

static hb_result print_json(hb_trace_file *file, const char *route)
{
    char *json;
    hb_result result = hb_trace_file_query(file, route, &json, NULL);
    if (result == HB_OK) puts(json);
    hb_free(json);
    return result;
}

static void print_notes(const char *path, const hb_trace_file *file)
{
    for (size_t i = 0; i < hb_trace_file_num_notes(file) && i < 3; i++) {
        hb_trace_note note = hb_trace_file_note(file, i);
        fprintf(stderr, "hipboard view: %s: byte %llu: %s\n", path, (unsigned long long)note.offset,
                note.what);
    }
    if (hb_trace_file_num_notes(file) > 3) fprintf(stderr, "hipboard view: %s: and more\n", path);
}

static void show_file(settings *s, const char *path, const char *title)
{
    hb_trace_file *file;
    hb_result result = hb_trace_file_open(path, &s->open, &file);
    progress_clear();
    if (result == HB_OK) {
        print_notes(path, file);
        if (title && !s->csv && !s->json) printf("%s%s\n", s->shown ? "\n" : "", title);
        s->shown++;
        int view = find_view(s->view);
        result = s->json ? print_json(file, views[view].route) : views[view].show(s, file);
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

static void show_path(settings *s, const char *path, bool alone)
{
    struct stat st;
    if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode)) {
        show_file(s, path, alone ? NULL : path);
        return;
    }
    hb_logdir *logdir;
    unsigned before = s->shown;
    int status = s->status;
    if (hb_logdir_open(path, &s->open, &logdir) == HB_OK)
        hb_logdir_files(logdir, show_logdir_file, s);
    hb_logdir_close(logdir);
    if (s->shown == before && s->status == status) {
        fprintf(stderr, "hipboard view: %s: no trace files\n", path);
        s->status = EXIT_FAILED;
    }
}

/* Non-zero: the exit status of a wrong command line. */
static int take_option(settings *s, int option, const char *argument)
{
    char *end;
    switch (option) {
    case 'v':
        s->view = argument;
        if (find_view(argument) < 0) return usage_error("view", "there is no view '%s'", argument);
        return 0;
    case 'n':
        if (s->has_name) regfree(&s->name);
        s->has_name = regcomp(&s->name, argument, REG_EXTENDED | REG_NOSUB) == 0;
        return s->has_name ? 0 : usage_error("view", "'%s' is no regular expression", argument);
    case 't':
        s->top = strtoul(argument, &end, 10);
        if (*end || end == argument || *argument == '-')
            return usage_error("view", "'%s' is no number of rows", argument);
        return 0;
    case 's': s->step = argument; return 0;
    case 'c': s->csv = true; return 0;
    default: s->json = true; return 0;
    }
}

int cmd_view(int argc, char **argv)
{
    static const struct option options[] = {
        {"view", required_argument, NULL, 'v'}, {"name", required_argument, NULL, 'n'},
        {"step", required_argument, NULL, 's'}, {"top", required_argument, NULL, 't'},
        {"csv", no_argument, NULL, 'c'},        {"json", no_argument, NULL, 'j'},
        {"help", no_argument, NULL, 'h'},       {NULL, 0, NULL, 0},
    };
    settings s = {.view = "overview", .top = 20, .open = progress_options()};
    int option;
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
        int status = take_option(&s, option, optarg);
        if (status) return status;
    }
    if (optind == argc) return usage_error("view", "no file or log directory is given");
    for (int i = optind; i < argc; i++)
        show_path(&s, argv[i], argc - optind == 1);
    if (s.has_name) regfree(&s.name);
    return s.status;
}
