/* SPDX-License-Identifier: MIT */
#include "command.h"

#include <fts.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <hipboard/convert.h>

#include "progress.h"

static const char help[] =
    "usage: hipboard convert IN... -o LOGDIR [OPTIONS]\n"
    "\n"
    "IN is a file, - for standard input, or a directory, of which every .json and .json.gz is "
    "taken and\n"
    "keeps its place. Writes traces of any writer into a log directory that TensorBoard's "
    "PyTorch\n"
    "Profiler plugin shows in full, and says what was changed and what a trace does not tell. An "
    "event\n"
    "keeps its texts and numbers as they stand; a trace that needs no change is copied byte by "
    "byte.\n"
    "\n"
    "  -o, --output LOGDIR  where to write; made if need be\n"
    "  --dialect DIALECT    tensorboard (default), or kineto: PyTorch's own categories, for\n"
    "                       Perfetto and HolisticTraceAnalysis\n"
    "  --gzip               write .pt.trace.json.gz\n"
    "  --steps A:B          only steps A to B, both included; either may be left out\n"
    "  --time A:B           only what began from A to B seconds after the first event; either may "
    "be\n"
    "                       left out\n"
    "  --max-size SIZE      cut into files of at most SIZE bytes before compression (K, M, G: "
    "times\n"
    "                       1024), where a step begins or, without steps, where nothing runs; a\n"
    "                       single step that is larger stays whole\n"
    "  --force              overwrite files that exist\n"
    "  --json               say it in JSON\n"
    "  -h, --help           this text\n"
    "\n"
    "Exit status 1 when a trace could not be converted; the others are.\n";

typedef struct request {
    hb_convert_options options;
    const char *logdir;
    bool json;
} request;

/* ---- the command line ---- */

static bool parse_size(const char *text, uint64_t *size)
{
    static const char units[] = "KMG";
    char *end;
    double value = strtod(text, &end);
    const char *unit = *end ? strchr(units, *end) : NULL;
    if (end == text || !(value > 0) || value > 1e15 || (*end && (!unit || end[1]))) return false;
    for (const char *u = units; unit && u <= unit; u++)
        value *= 1024;
    *size = (uint64_t)value;
    return true;
}

static bool parse_steps(const char *text, hb_convert_options *options)
{
    const char *colon = strchr(text, ':');
    char *end;
    if (!colon) return false;
    if (colon != text) {
        options->first_step = strtoll(text, &end, 10);
        if (end != colon) return false;
    }
    if (colon[1]) {
        options->last_step = strtoll(colon + 1, &end, 10);
        if (*end) return false;
    }
    return options->first_step <= options->last_step;
}

/* Seconds before `*text`'s next `stop`, and moves there; nothing there leaves `*us`. */
static bool parse_seconds(char **text, char stop, double *us)
{
    if (**text != stop) *us = strtod(*text, text) * 1e6;
    return **text == stop && *us >= 0 && *us < 1e18;
}

static bool parse_time(char *text, hb_convert_options *options)
{
    return parse_seconds(&text, ':', &options->start_us) && *text++ == ':' &&
           parse_seconds(&text, 0, &options->end_us) &&
           (options->end_us == 0 || options->start_us < options->end_us);
}

static int parse_option(request *r, int option)
{
    switch (option) {
    case 'o': r->logdir = optarg; return EXIT_FINE;
    case 'z': r->options.gzip = true; return EXIT_FINE;
    case 'f': r->options.replace = true; return EXIT_FINE;
    case 'j': r->json = true; return EXIT_FINE;
    case 'd':
        r->options.kineto = strcmp(optarg, "kineto") == 0;
        if (r->options.kineto || strcmp(optarg, "tensorboard") == 0) return EXIT_FINE;
        return usage_error("convert", "dialect '%s': tensorboard or kineto", optarg);
    case 's':
        if (parse_steps(optarg, &r->options)) return EXIT_FINE;
        return usage_error("convert", "steps '%s': expected A:B, A no larger than B", optarg);
    case 't':
        if (parse_time(optarg, &r->options)) return EXIT_FINE;
        return usage_error("convert", "time '%s': expected A:B in seconds, A less than B", optarg);
    default:
        if (parse_size(optarg, &r->options.max_size)) return EXIT_FINE;
        return usage_error("convert", "size '%s': expected as in 100M", optarg);
    }
}

/* ---- one trace ---- */

static bool ends(const char *text, size_t len, const char *suffix)
{
    size_t n = strlen(suffix);
    return len > n && memcmp(text + len - n, suffix, n) == 0;
}

/* The file's name without directory and suffixes. */
static char *name_of(const char *input)
{
    static const char *const suffixes[] = {".gz", ".json", ".trace", ".pt"};
    const char *slash = strrchr(input, '/');
    const char *name = slash ? slash + 1 : input;
    size_t len = strlen(name);
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (ends(name, len, suffixes[i])) len -= strlen(suffixes[i]);
    return strndup(name, len);
}

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

static void print_string(const char *text)
{
    putchar('"');
    for (; *text; text++) {
        if ((unsigned char)*text < ' ')
            printf("\\u%04x", (unsigned)*text);
        else
            printf(*text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    }
    putchar('"');
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
    print_string(input);
    printf(", \"files\": [");
    for (size_t i = 0; i < c->num_paths; i++) {
        if (i) printf(", ");
        print_string(c->paths[i]);
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
    char *name = strcmp(input, "-") == 0 ? strdup("trace") : name_of(input);
    hb_result result = hb_convert(path, directory, name ? name : "trace", &r->options, &conversion);
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
    size_t len = strlen(entry->fts_name);
    return (entry->fts_info == FTS_F || entry->fts_info == FTS_SL) &&
           (ends(entry->fts_name, len, ".json") || ends(entry->fts_name, len, ".json.gz"));
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
    size_t len = strlen(below) - strlen(entry->fts_name);
    char *directory;
    if (asprintf(&directory, "%s/%.*s", r->logdir, (int)len, below) < 0) return EXIT_FAILED;
    int status = convert(r, entry->fts_path, entry->fts_path, directory);
    free(directory);
    return status;
}

static int convert_directory(request *r, char *root)
{
    char *roots[] = {root, NULL};
    int status = EXIT_FINE, files = 0;
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
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

static int convert_input(request *r, char *input)
{
    struct stat st;
    if (strcmp(input, "-") == 0) return convert_standard_input(r);
    if (stat(input, &st) == 0 && S_ISDIR(st.st_mode)) return convert_directory(r, input);
    return convert(r, input, input, r->logdir);
}

int cmd_convert(int argc, char **argv)
{
    static const struct option options[] = {
        {"output", required_argument, NULL, 'o'}, {"dialect", required_argument, NULL, 'd'},
        {"gzip", no_argument, NULL, 'z'},         {"steps", required_argument, NULL, 's'},
        {"time", required_argument, NULL, 't'},   {"max-size", required_argument, NULL, 'm'},
        {"force", no_argument, NULL, 'f'},        {"json", no_argument, NULL, 'j'},
        {"help", no_argument, NULL, 'h'},         {NULL, 0, NULL, 0},
    };
    request r = {.options = HB_CONVERT_OPTIONS_INIT};
    int option, status = EXIT_FINE;
    opterr = 0;
    optind = 1;
    while ((option = getopt_long(argc, argv, "ho:", options, NULL)) != -1) {
        if (option == 'h') {
            fputs(help, stdout);
            return EXIT_FINE;
        }
        if (option == '?')
            return usage_error("convert", "option '%s' is unknown or lacks its value",
                               argv[optind - 1]);
        status = parse_option(&r, option);
        if (status != EXIT_FINE) return status;
    }
    if (!r.logdir) return usage_error("convert", "no log directory is given with -o");
    if (optind == argc) return usage_error("convert", "no trace is given");
    r.options.progress = progress_options().progress;
    for (int i = optind; i < argc && !progress_interrupted(); i++)
        if (convert_input(&r, argv[i]) != EXIT_FINE) status = EXIT_FAILED;
    return status;
}
