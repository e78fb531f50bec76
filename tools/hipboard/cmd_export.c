/* SPDX-License-Identifier: MIT */
#include "command.h"

#include <hipboard/export.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "options.h"
#include "progress.h"
#include "selection.h"
#include "text.h"

typedef struct request {
    hb_export_options options;
    selection selection;
    const char *output;
    bool has_format, json;
} request;

static const char *take_format(void *to, const char *text)
{
    static const char *const names[] = {
        [HB_EXPORT_PFTRACE] = "pftrace", [HB_EXPORT_ROCPD] = "rocpd", [HB_EXPORT_CSV] = "csv"};
    request *r = to;
    for (int i = 0; i < 3; i++)
        if (strcmp(text, names[i]) == 0) r->options.format = (hb_export_format)i;
    r->has_format = true;
    return NULL;
}

/* What its ending says, where --format does not. */
static bool format_by_name(request *r)
{
    bool perfetto = ends_with(r->output, ".pftrace") || ends_with(r->output, ".perfetto-trace");
    bool database = ends_with(r->output, ".db") || ends_with(r->output, ".rocpd");
    if (r->has_format) return true;
    if (database) r->options.format = HB_EXPORT_ROCPD;
    return perfetto || database;
}

static void print_text(const request *r, const char *input, const hb_exported *e)
{
    printf("%s -> %s", input, e->num_paths ? e->paths[0] : r->output);
    if (e->num_paths > 1) printf(" and %zu more", e->num_paths - 1);
    printf(": %" PRIu64 " events", e->events);
    if (e->processes > 1) printf(" of %" PRIu64 " processes", e->processes);
    putchar('\n');
    for (size_t i = 0; i < e->num_notes; i++)
        printf("  %" PRIu64 " %s\n", e->notes[i].count, e->notes[i].text);
}

static void print_json(const request *r, const char *input, const hb_exported *e)
{
    printf("{\"input\": ");
    print_json_string(input);
    printf(", \"output\": ");
    print_json_string(r->output);
    printf(", \"files\": [");
    for (size_t i = 0; i < e->num_paths; i++) {
        if (i) printf(", ");
        print_json_string(e->paths[i]);
    }
    printf("], \"events\": %" PRIu64 ", \"processes\": %" PRIu64 ", \"left_out\": {", e->events,
           e->processes);
    for (size_t i = 0; i < e->num_notes; i++) {
        printf("%s", i ? ", " : "");
        print_json_string(e->notes[i].text);
        printf(": %" PRIu64, e->notes[i].count);
    }
    printf("}}\n");
}

static int export_one(const request *r, const char *input)
{
    hb_exported *exported = NULL;
    hb_result result = hb_export(input, r->output, &r->options, &exported);
    progress_clear();
    if (result != HB_OK)
        fprintf(stderr, "hipboard export: %s\n", hb_last_error());
    else if (r->json)
        print_json(r, input, exported);
    else
        print_text(r, input, exported);
    hb_exported_free(exported);
    return result == HB_OK ? EXIT_FINE : EXIT_FAILED;
}

static int run(arguments *args)
{
    request r = {.options = HB_EXPORT_OPTIONS_INIT, .selection = SELECT_ALL};
    hb_open_options open = progress_options();
    r.options.progress = open.progress;
    r.options.context = open.context;
    if (!parse_options(&cmd_export, args, &r)) return args->status;
    if (!r.output) return usage_error("export", "where to? -o OUT");
    if (!format_by_name(&r))
        return usage_error("export", "which format? --format pftrace, rocpd or csv");
    SELECT(&r.options, r.selection);
    return export_one(&r, args->words[0]);
}

static const option_spec options[] = {
    {'f', "format", "pftrace|rocpd|csv", "the format (default: by OUT's ending, .pftrace or .db)",
     take_format, 0},
    {'o', "output", "OUT", "the file to write; of csv the directory", INTO(output)},
    CHOICE_OPTIONS,
    SPLIT_OPTION,
    {0, "force", NULL, "replace files that exist", INTO(options.replace)},
    {0, "json", NULL, "say it in JSON", INTO(json)},
    {0},
};

const command cmd_export = {
    .name = "export",
    .summary = "write a trace in another tool's format",
    .synopsis = "[OPTIONS] -o OUT IN",
    .about = "Writes a trace of any writer - PyTorch's kind, or of a tool that `hipboard import` "
             "knows - for other tools:\n"
             "\n"
             "  pftrace  Perfetto's protobuf: ui.perfetto.dev, trace_processor, TraceLens\n"
             "  rocpd    SQLite of rocprofv3 (schema 3.0.0): AMD's rocpd, Optiq, any SQL\n"
             "  csv      rocprofv3's tables\n"
             "\n"
             "Every command of hipboard reads what is written.",
    .options = options,
    .notes = "Of files that are split, as trace.0001.pftrace and so on, each opens alone; device "
             "work stays with its call. What a format has no place for is counted. `hipboard "
             "convert` writes the two "
             "dialects of PyTorch's own format.",
    .least = 1,
    .most = 1,
    .wanted = "one trace is to be given",
    .run = run,
};
