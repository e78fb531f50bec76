/* SPDX-License-Identifier: MIT */
#include "command.h"

#include <fts.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <hipboard/analysis.h>
#include <hipboard/convert.h>
#include <hipboard/ranks.h>

#include "options.h"
#include "progress.h"
#include "selection.h"
#include "text.h"

/* A directory's ranks, whose clocks were compared: only when its first trace is come to. */
typedef struct aligned {
    char *directory; /* or NULL */
    hb_rank_study *study;
    const hb_rank_shift *shifts;
    size_t num_shifts;
} aligned;

typedef struct request {
    hb_convert_options options;
    selection selection;
    char *logdir;
    bool json;
    const char *align; /* "collectives", "force", "none" or NULL */
    aligned aligned;
} request;

/* ---- values of options ---- */

/* "runs/", as shells complete it, is "runs". */
static const char *take_directory(void *to, const char *path)
{
    char **directory = to;
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    free(*directory);
    *directory = must(strndup(path, n));
    return NULL;
}

/* ---- clocks ---- */

static void forget_ranks(aligned *a)
{
    hb_rank_study_destroy(a->study);
    free(a->directory);
    *a = (aligned){0};
}

static hb_result compare_clocks(request *r, const char *directory)
{
    aligned *a = &r->aligned;
    hb_rank_options options = HB_RANK_OPTIONS_INIT;
    options.progress = r->options.progress;
    forget_ranks(a);
    a->directory = must(strdup(directory));
    hb_result result = hb_rank_study_create(&options, &a->study);
    if (result == HB_OK) result = hb_rank_study_add(a->study, directory);
    if (result == HB_OK)
        result = hb_rank_study_shifts(a->study, strcmp(r->align, "force") == 0, &a->shifts,
                                      &a->num_shifts);
    progress_clear();
    return result;
}

static int by_file(const void *name, const void *shift)
{
    return strcmp(name, ((const hb_rank_shift *)shift)->file);
}

static const hb_time_shift *shift_of(const aligned *a, const char *name)
{
    if (!a->num_shifts) return NULL;
    const hb_rank_shift *s = bsearch(name, a->shifts, a->num_shifts, sizeof *s, by_file);
    return s ? &s->shift : NULL;
}

/* Of a trace that is no rank's nothing is known: it stays as it is, and that is said. False, and
 * why, where the ranks' clocks cannot be told. */
static bool find_shift(request *r, const char *input)
{
    const char *slash = strrchr(input, '/'), *name = slash ? slash + 1 : input;
    r->options.shift = NULL;
    r->options.undo_shift = r->align && strcmp(r->align, "none") == 0;
    if (!r->align || r->options.undo_shift || access(input, R_OK) != 0) return true;
    char *directory = must(slash ? strndup(input, (size_t)(slash - input)) : strdup("."));
    bool known = r->aligned.directory && strcmp(r->aligned.directory, directory) == 0;
    hb_result result = known ? HB_OK : compare_clocks(r, directory);
    free(directory);
    if (result != HB_OK) {
        fprintf(stderr, "hipboard convert: %s: %s\n", input, hb_last_error());
        return false;
    }
    const hb_time_shift *shift = shift_of(&r->aligned, name);
    if (shift) {
        bool stays = !shift->offset_ns && !shift->drift_ps_per_s; /* on the reference's node */
        r->options.shift = stays ? NULL : shift;
        return true;
    }
    if (r->aligned.num_shifts)
        fprintf(stderr, "hipboard convert: %s: of no rank of the job: its times stay\n", input);
    else
        fprintf(stderr, "hipboard convert: %s: its job's clocks could not be compared\n", input);
    return r->aligned.num_shifts > 0;
}

/* ---- one trace ---- */

static void print_text(const char *input, const hb_conversion *c)
{
    printf("%s: %" PRIu64 " events -> %s", input, c->events, c->paths[0]);
    if (c->num_paths > 1) printf(" and %zu more", c->num_paths - 1);
    printf("%s\n", c->identical ? " (nothing to change: copied)" : "");
    for (int unknown = 0; unknown < 2; unknown++)
        for (size_t i = 0; i < c->num_notes; i++)
            if (c->notes[i].unknown == unknown)
                printf("  %s%" PRIu64 " %s\n", unknown ? "unknown: " : "", c->notes[i].count,
                       c->notes[i].text);
}

static void print_notes(const hb_conversion *c, bool unknown)
{
    const char *separator = "";
    for (size_t i = 0; i < c->num_notes; i++) {
        if (c->notes[i].unknown != unknown) continue;
        printf("%s\"%s\": %" PRIu64, separator, c->notes[i].key, c->notes[i].count);
        separator = ", ";
    }
}

/* One line for each trace. */
static void print_json(const char *input, const hb_conversion *c)
{
    printf("{\"input\": ");
    print_json_string(input);
    printf(", \"files\": [");
    for (size_t i = 0; i < c->num_paths; i++) {
        if (i) printf(", ");
        print_json_string(c->paths[i]);
    }
    printf("], \"events\": %" PRIu64 ", \"identical\": %s, \"changed\": {", c->events,
           c->identical ? "true" : "false");
    print_notes(c, false);
    printf("}, \"unknown\": {");
    print_notes(c, true);
    printf("}}\n");
}

static int convert(request *r, const char *input, const char *path, const char *directory)
{
    hb_conversion *conversion = NULL;
    if (!find_shift(r, input)) return EXIT_FAILED;
    char *name = trace_stem(strcmp(input, "-") == 0 ? "trace" : input);
    hb_result result = hb_convert(path, directory, name, &r->options, &conversion);
    progress_clear();
    if (result != HB_OK)
        fprintf(stderr, "hipboard convert: %s\n", hb_last_error());
    else if (r->json)
        print_json(input, conversion);
    else
        print_text(input, conversion);
    hb_conversion_free(conversion);
    free(name);
    return result == HB_OK ? EXIT_FINE : EXIT_FAILED;
}

/* ---- what is named on the command line ---- */

/* A file that has no name, as the input is read more than once. */
static FILE *keep_standard_input(void)
{
    static char buffer[1 << 16];
    FILE *file = tmpfile();
    size_t n = 0;
    while (file && (n = fread(buffer, 1, sizeof buffer, stdin)) > 0 && !progress_interrupted())
        if (fwrite(buffer, 1, n, file) != n) break;
    if (file && !ferror(stdin) && n == 0 && fflush(file) == 0) return file;
    perror("hipboard convert: cannot keep standard input");
    if (file) fclose(file);
    return NULL;
}

static int convert_standard_input(request *r)
{
    char path[64];
    FILE *file = keep_standard_input();
    if (!file) return EXIT_FAILED;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fileno(file));
    int status = convert(r, "-", path, r->logdir);
    fclose(file);
    return status;
}

static bool is_trace(const FTSENT *entry)
{
    return entry->fts_info == FTS_F &&
           (ends_with(entry->fts_name, ".json") || ends_with(entry->fts_name, ".json.gz"));
}

/* What was written must not be found, when the one directory is in the other. */
static bool is_output(const request *r, const FTSENT *entry)
{
    struct stat st;
    return entry->fts_info == FTS_D && entry->fts_level > 0 && stat(r->logdir, &st) == 0 &&
           st.st_dev == entry->fts_statp->st_dev && st.st_ino == entry->fts_statp->st_ino;
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* The file's directory below the input becomes one below the output. */
static int convert_member(request *r, const char *root, const FTSENT *entry)
{
    const char *below = entry->fts_path + strlen(root);
    while (*below == '/')
        below++;
    size_t len = strlen(below) - strlen(entry->fts_name);
    char *directory;
    if (asprintf(&directory, "%s%s%.*s", r->logdir, len ? "/" : "", len ? (int)len - 1 : 0, below) <
        0)
        return EXIT_FAILED;
    int status = convert(r, entry->fts_path, entry->fts_path, directory);
    free(directory);
    return status;
}

static int convert_directory(request *r, char *root)
{
    char *roots[] = {root, NULL};
    int status = EXIT_FINE, files = 0;
    FTS *walk = fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, by_name);
    for (FTSENT *e; walk && !progress_interrupted() && (e = fts_read(walk)) != NULL;) {
        if (is_output(r, e)) fts_set(walk, e, FTS_SKIP);
        if (!is_trace(e)) continue;
        files++;
        if (convert_member(r, root, e) != EXIT_FINE) status = EXIT_FAILED;
    }
    if (walk) fts_close(walk);
    if (files) return status;
    fprintf(stderr, "hipboard convert: %s: no .json and no .json.gz\n", root);
    return EXIT_FAILED;
}

typedef struct packed_request {
    request *r;
    size_t num_runs;
    int status;
} packed_request;

/* A pack, or a directory in one, whose directories become those below the output. */
static bool convert_packed(void *context, const hb_logdir_file *file)
{
    packed_request *p = context;
    char *directory;
    bool alone = strchr(file->run, '/') == NULL && p->num_runs == 1;
    if (asprintf(&directory, "%s%s%s", p->r->logdir, alone ? "" : "/", alone ? "" : file->run) < 0)
        return false;
    if (convert(p->r, file->path, file->path, directory) != EXIT_FINE) p->status = EXIT_FAILED;
    free(directory);
    return !progress_interrupted();
}

static int convert_pack(request *r, const char *input)
{
    hb_logdir *logdir;
    if (hb_logdir_open(input, NULL, &logdir) != HB_OK) {
        fprintf(stderr, "hipboard convert: %s\n", hb_last_error());
        return EXIT_FAILED;
    }
    packed_request p = {r, hb_logdir_num_runs(logdir), EXIT_FINE};
    hb_logdir_files(logdir, convert_packed, &p);
    if (!p.num_runs) {
        fprintf(stderr, "hipboard convert: %s: no trace in it\n", input);
        p.status = EXIT_FAILED;
    }
    hb_logdir_close(logdir);
    return p.status;
}

static int convert_input(request *r, char *input)
{
    struct stat st;
    if (strcmp(input, "-") == 0) return convert_standard_input(r);
    if (stat(input, &st) == 0 && S_ISDIR(st.st_mode)) return convert_directory(r, input);
    if (hb_is_logdir(input)) return convert_pack(r, input);
    return convert(r, input, input, r->logdir);
}

static int convert_all(request *r, const arguments *args)
{
    int status = EXIT_FINE;
    if (!r->logdir) return usage_error("convert", "no log directory is given with -o");
    r->options.progress = progress_options().progress;
    SELECT(&r->options, r->selection);
    for (int i = 0; i < args->count && !progress_interrupted(); i++)
        if (convert_input(r, args->words[i]) != EXIT_FINE) status = EXIT_FAILED;
    return status;
}

static int run(arguments *args)
{
    request r = {.options = HB_CONVERT_OPTIONS_INIT, .selection = SELECT_ALL};
    int status = parse_options(&cmd_convert, args, &r) ? convert_all(&r, args) : args->status;
    forget_ranks(&r.aligned);
    free(r.logdir);
    return status;
}

static const option_spec options[] = {
    {'o', "output", "LOGDIR", "where to write; made if need be", INTO_BY(take_directory, logdir)},
    {0, "dialect", DIALECTS,
     "kineto: PyTorch's own categories, for Perfetto and HolisticTraceAnalysis; tensorboard by "
     "default",
     INTO_BY(take_kineto, options.kineto)},
    {0, "gzip", NULL, "write .pt.trace.json.gz", INTO(options.gzip)},
    {0, "find-steps", NULL,
     "of a trace without steps: those that its ranges count, or that come again and again in what "
     "it "
     "launched; one for all where nothing tells of any",
     INTO(options.find_steps)},
    {0, "counters", "FILE",
     "hardware counters of another run of the program, as rocprofv3 --pmc writes them: they are "
     "joined to the kernels by name and order",
     INTO(options.counters)},
    {0, "align", "collectives|force|none",
     "correct the times of a directory's ranks to the clock of the lowest one's node, by what "
     "cannot be otherwise: nobody leaves a collective of all before all have come; refused where "
     "collectives contradict each other, but with force. none: take back what was added, here or "
     "while it was recorded",
     INTO(align)},
    SELECTION_OPTIONS,
    {0, "force", NULL, "overwrite files that exist", INTO(options.replace)},
    {0, "json", NULL, "say it in JSON", INTO(json)},
    {0},
};

const command cmd_convert = {
    .name = "convert",
    .summary = "make traces of any writer fit for the plugin",
    .synopsis = "-o LOGDIR [OPTIONS] IN...",
    .about = "IN is a file, - for standard input, or a directory or pack, of which every .json "
             "and .json.gz is taken and keeps its place. Writes traces of any writer into a log "
             "directory that TensorBoard's PyTorch Profiler plugin shows in full, and says what "
             "was changed and what a trace does not tell. An event keeps its texts and numbers as "
             "they stand; a trace that needs no change is copied byte by byte.",
    .options = options,
    .notes = "Exit status 1 when a trace could not be converted; the others are.",
    .least = 1,
    .most = MANY,
    .wanted = "no trace is given",
    .run = run,
};
