/* SPDX-License-Identifier: MIT */
#include "command.h"

#include <hipboard/analysis.h>
#include <hipboard/import.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "options.h"
#include "progress.h"
#include "text.h"

typedef struct request {
    hb_import_options options;
    const char *logdir;
    bool explain, json;
} request;

/* ---- values of options ---- */

static const char *take_rows(void *to, const char *text)
{
    *(hb_import_by *)to = *text == 's' ? HB_IMPORT_BY_STREAM : HB_IMPORT_BY_QUEUE;
    return NULL;
}

static const char *take_operators(void *to, const char *text)
{
    *(bool *)to = *text == 'k';
    return NULL;
}

/* As hb_import_options has it. */
static bool is_between_1970_and_2043(int64_t seconds)
{
    return seconds >= 0 && seconds < INT64_MAX / 4 / 1000000000;
}

/* "2026-11-23T07:30:00", with a fraction and "Z", which changes nothing: it is UTC. */
static bool parse_time(const char *text, int64_t *ns)
{
    struct tm tm = {0};
    char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
    double fraction = 0;
    if (!end) return false;
    if (*end == '.') fraction = strtod(end, &end);
    if (*end == 'Z') end++;
    int64_t seconds = timegm(&tm);
    if (*end || !is_between_1970_and_2043(seconds)) return false;
    *ns = seconds * 1000000000 + llround(fraction * 1e9);
    return *ns > 0;
}

static const char *take_time_of(void *to, const char *text)
{
    struct stat st;
    if (parse_time(text, to)) return NULL;
    if (stat(text, &st) != 0)
        return "neither a file nor a time from 1970 to 2043, as 2026-11-23T07:30:00";
    if (!is_between_1970_and_2043(st.st_mtim.tv_sec))
        return "the file was last changed before 1970 or after 2043";
    *(int64_t *)to = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
    return NULL;
}

/* ---- what was found ---- */

static void print_counts(const hb_imported *p)
{
    const struct {
        uint64_t count;
        const char *one, *many;
    } counts[] = {
        {p->kernels, "kernel", "kernels"},
        {p->copies, "copy or fill", "copies and fills"},
        {p->calls, "call", "calls"},
        {p->ranges, "range", "ranges"},
        {p->allocations, "allocation", "allocations"},
        {p->samples, "sample", "samples"},
        {p->counters, "with counters", "with counters"},
    };
    const char *separator = "  ";
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        if (!counts[i].count) continue;
        printf("%s%" PRIu64 " %s", separator, counts[i].count,
               counts[i].count == 1 ? counts[i].one : counts[i].many);
        separator = ", ";
    }
    putchar('\n');
    if (p->kernels + p->copies)
        printf("  kernels took %.3f ms; the call is known of %" PRIu64 " of %" PRIu64
               " kernels and copies\n",
               (double)p->kernel_ns / 1e6, p->linked, p->kernels + p->copies);
}

static void print_notes(const hb_imported *p)
{
    for (int unknown = 0; unknown < 2; unknown++)
        for (size_t i = 0; i < p->num_notes; i++)
            if (p->notes[i].unknown == unknown)
                printf("  %s%" PRIu64 " %s\n", unknown ? "unknown: " : "", p->notes[i].count,
                       p->notes[i].text);
}

/* What each view of the plugin will have. */
static void print_views(const request *r, const hb_imported *p)
{
    bool classes = r->options.kernel_operators && p->linked < p->kernels + p->copies;
    const char *operators =
        p->ranges ? "the program's ranges" : "calls, as no ranges were recorded";
    if (!p->ranges && !p->calls)
        operators = classes ? "classes of kernels"
                            : "one made up, since neither ranges nor calls were recorded";
    printf("  Overview, Trace: all\n");
    printf("  Operator: %s\n", operators);
    printf("  Kernel: %s\n", p->kernels ? "kernels" : "nothing");
    printf("  Memory: %s\n", p->allocations
                                 ? "allocations of the runtime; what an allocator reserves counts "
                                   "as allocated"
                                 : "nothing: no allocations were recorded");
    if (r->options.modules && p->ranges)
        printf("  Module: the program's ranges\n  Distributed: nothing\n");
    else
        printf("  Module, Distributed: nothing\n");
}

static void print_text(const request *r, const hb_imported *p, const char *path)
{
    char rank[40] = "";
    if (p->rank >= 0) snprintf(rank, sizeof rank, ", rank %" PRId64, p->rank);
    printf("%s: %s%s%s, %s, process %" PRId64 "%s%s%s%s%s\n", p->path, p->format,
           *p->version ? " " : "", p->version, *p->program ? p->program : "a program", p->pid,
           *p->host ? " on " : "", p->host, rank, path ? " -> " : "", path ? path : "");
    print_counts(p);
    print_notes(p);
    printf("  steps: %s\n", p->steps);
    printf("  time of day: %s\n", p->clock);
    if (r->explain) print_views(r, p);
}

static void put_text(const char *key, const char *text)
{
    printf(", \"%s\": ", key);
    print_json_string(text);
}

static void put_notes(const hb_imported *p, bool unknown)
{
    const char *separator = "";
    for (size_t i = 0; i < p->num_notes; i++) {
        if (p->notes[i].unknown != unknown) continue;
        printf("%s", separator);
        print_json_string(p->notes[i].text);
        printf(": %" PRIu64, p->notes[i].count);
        separator = ", ";
    }
}

/* One line for each process. */
static void print_json(const hb_imported *p, const char *path)
{
    printf("{\"input\": ");
    print_json_string(p->path);
    if (path) put_text("file", path);
    put_text("format", p->format);
    put_text("version", p->version);
    put_text("host", p->host);
    put_text("program", p->program);
    put_text("worker", p->worker);
    if (p->rank >= 0) printf(", \"rank\": %" PRId64, p->rank);
    printf(", \"pid\": %" PRId64 ", \"kernels\": %" PRIu64 ", \"copies\": %" PRIu64
           ", \"calls\": %" PRIu64 ", \"linked\": %" PRIu64 ", \"ranges\": %" PRIu64
           ", \"allocations\": %" PRIu64 ", \"samples\": %" PRIu64 ", \"with_counters\": %" PRIu64
           ", \"kernel_us\": %.3f, \"streams\": %" PRIu64 ", \"gpus\": %" PRIu64,
           p->pid, p->kernels, p->copies, p->calls, p->linked, p->ranges, p->allocations,
           p->samples, p->counters, (double)p->kernel_ns / 1e3, p->streams, p->gpus);
    put_text("steps", p->steps);
    put_text("clock", p->clock);
    printf(", \"changed\": {");
    put_notes(p, false);
    printf("}, \"unknown\": {");
    put_notes(p, true);
    printf("}}\n");
}

/* ---- the command ---- */

static int write_one(const request *r, hb_import *import, size_t index)
{
    char *path = NULL;
    const hb_imported *p = hb_import_get(import, index);
    hb_result result = HB_OK;
    if (!r->explain) result = hb_import_write(import, index, r->logdir, &path);
    progress_clear();
    if (result != HB_OK)
        fprintf(stderr, "hipboard import: %s: %s\n", p->path, hb_last_error());
    else if (r->json)
        print_json(p, path);
    else
        print_text(r, p, path);
    hb_free(path);
    return result == HB_OK ? EXIT_FINE : EXIT_FAILED;
}

static int import_all(const request *r, const arguments *args)
{
    hb_import *import;
    int status = EXIT_FINE;
    hb_result result =
        hb_import_open((const char *const *)args->words, (size_t)args->count, &r->options, &import);
    progress_clear();
    if (result != HB_OK) {
        fprintf(stderr, "hipboard import: %s\n", hb_last_error());
        return result == HB_ERROR_INVALID_ARGUMENT ? EXIT_USAGE : EXIT_FAILED;
    }
    for (size_t i = 0; i < hb_import_count(import) && !progress_interrupted(); i++)
        if (write_one(r, import, i) != EXIT_FINE) status = EXIT_FAILED;
    hb_import_close(import);
    return progress_interrupted() ? EXIT_FAILED : status;
}

static int run(arguments *args)
{
    request r = {.options = HB_IMPORT_OPTIONS_INIT};
    hb_open_options open = progress_options();
    r.options.progress = open.progress;
    r.options.context = open.context;
    if (!parse_options(&cmd_import, args, &r)) return args->status;
    if (!r.logdir && !r.explain)
        return usage_error("import", "where to? -o LOGDIR, or --explain to only look");
    return import_all(&r, args);
}

static const option_spec options[] = {
    {'o', "output", "LOGDIR", "the directory to write to; made if it is not there", INTO(logdir)},
    {0, "explain", NULL,
     "say what the files are, what is in them, and what each view will have; write nothing",
     INTO(explain)},
    {0, "step", "NAME", "each range of this name is a step", INTO(options.step)},
    {0, "step-launch", "CALL", "a step from each such call to the next, as hipGraphLaunch",
     INTO(options.step_launch)},
    {0, "step-gap", "TIME",
     "a step begins where the busiest stream had nothing to do for as long, as 5ms",
     INTO_BY(take_span, options.step_gap_ns)},
    {0, "operators", "range|kernel",
     "what operators are: ranges and calls, or, of kernels without a call, also these, by their "
     "classes, on rows marked as inferred (default: range)",
     INTO_BY(take_operators, options.kernel_operators)},
    {0, "modules", NULL, "make ranges modules, too: what lies in what, for the view Module",
     INTO(options.modules)},
    {0, "rows", "stream|queue",
     "what a GPU's rows are (default: streams; queues where there are more than 32 streams)",
     INTO_BY(take_rows, options.rows)},
    {0, "drop", "KINDS",
     "leave out, by commas: hip, hsa, rccl (calls), ranges, copies, memory, counters",
     INTO(options.drop)},
    {0, "time-of", "FILE|TIME",
     "when the program ended: a file's time, or as 2026-11-23T07:30:00 in UTC; for files that only "
     "have the time since boot (default: when they were last written)",
     INTO_BY(take_time_of, options.end_time_ns)},
    {0, "gzip", NULL, "compress what is written", INTO(options.gzip)},
    {0, "force", NULL, "replace files that exist", INTO(options.replace)},
    {0, "json", NULL, "a JSON object a line for each process", INTO(json)},
    {0},
};

const command cmd_import = {
    .name = "import",
    .summary = "make a log directory of other tools' traces",
    .synopsis = "-o LOGDIR [OPTIONS] PATH...",
    .about =
        "Writes traces that TensorBoard's profiler plugin shows, of what other tools have "
        "recorded, one for each process. PATH is a file, plain or gzipped, or a directory of "
        "them; their format is found by their content:\n"
        "\n"
        "  rocpd           rocprofv3 (ROCm 7) and rocprof-sys: SQLite databases\n"
        "  rocprofv3 JSON  rocprofv3 --output-format json (ROCm 6.2 and newer)\n"
        "  rocprof CSV     tables of rocprofv3, rocprofv2 and rocprof; one stands for its set\n"
        "  rocprof         results.db and results.json of rocprof (v1)\n"
        "  RPD             rocmProfileData\n"
        "  nsys            Nsight Systems, by nsys export --type sqlite\n"
        "  Tracy CSV       tracy-csvexport -u\n"
        "  Perfetto        protobuf of rocprofv3, omnitrace, rocprof-sys, PyTorch, hipboard\n"
        "  XPlane          JAX and TensorFlow (.xplane.pb)\n"
        "  ONNX Runtime    its profiles\n"
        "  Chrome JSON     of others, with categories of their own\n"
        "\n"
        "`view`, `table`, `steps`, `stacks`, `memory`, `compare` and `check` read such files "
        "directly.",
    .options = options,
    .notes = "Operators are the ranges that the program marked (roctx), else the calls that launch "
             "work. Where no range tells of steps, what is taken for them is printed, and marked "
             "in the trace by \"hipboard\": \"inferred\". What a file does not tell stays unknown "
             "and is counted; what it holds of its program's environment is not copied, but for "
             "the rank. The same files give the same bytes.",
    .least = 1,
    .most = MANY,
    .wanted = "no file is given",
    .run = run,
};
