/* SPDX-License-Identifier: MIT */
#include "command.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hipboard/pack.h>

#include "options.h"
#include "progress.h"
#include "screen.h"
#include "selection.h"
#include "spools.h"
#include "table.h"
#include "text.h"

typedef struct request {
    const char *output;
    selection selection;
    bool redact, dry_run, force, json;
} request;

/* ---- for people ---- */

static void print_left_out(const hb_pack_report *report)
{
    for (size_t i = 0; i < report->num_members; i++) {
        const hb_pack_member *m = &report->members[i];
        if (!m->left_out) continue;
        fprintf(stderr, "hipboard pack: %s: left out: %s\n", m->path,
                text_behind(m->left_out, m->path));
    }
}

static size_t count_packed(const hb_pack_report *report)
{
    size_t count = 0;
    for (size_t i = 0; i < report->num_members; i++)
        count += report->members[i].name != NULL;
    return count;
}

static void print_redactions(const hb_pack_report *report)
{
    static const column columns[] = {{"Replaced by", COLUMN_TEXT},
                                     {"What was found", COLUMN_TEXT},
                                     {"Times", COLUMN_COUNT},
                                     {"Files", COLUMN_COUNT},
                                     {"First in", COLUMN_TEXT}};
    table t;
    table_init(&t, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < report->num_redactions; i++) {
        const hb_redaction *r = &report->redactions[i];
        table_add(&t, r->replacement, r->found, (double)r->count, (double)r->files, r->first_file);
    }
    table_print(&t, &(table_style){.line_width = screen_columns(), .bold = screen_is_styled()});
    table_free(&t);
}

static void print_text(const request *r, const hb_pack_report *report)
{
    if (r->redact && report->num_redactions) print_redactions(report);
    if (r->redact)
        printf("%s%zu found that is replaced; look at the list, and at what it does not have\n",
               report->num_redactions ? "\n" : "", report->num_redactions);
    printf("%zu files -> %s, %.1f MB%s\n", count_packed(report), r->output,
           (double)report->bytes / 1e6, r->dry_run ? " (dry run: nothing is written)" : "");
}

/* ---- for scripts ---- */

static void print_member(const char *key, const char *text)
{
    printf("\"%s\": ", key);
    if (text)
        print_json_string(text);
    else
        printf("null");
}

static void print_json(const request *r, const hb_pack_report *report)
{
    printf("{");
    print_member("output", r->output);
    printf(", \"bytes\": %" PRIu64 ", \"files\": [", report->bytes);
    for (size_t i = 0; i < report->num_members; i++) {
        const hb_pack_member *m = &report->members[i];
        printf("%s{", i ? ", " : "");
        print_member("path", m->path);
        printf(", ");
        print_member("name", m->name);
        printf(", ");
        print_member("left_out", m->left_out);
        printf(", \"size\": %" PRIu64 ", \"stored\": %" PRIu64 "}", m->size, m->stored);
    }
    printf("], \"redactions\": [");
    for (size_t i = 0; i < report->num_redactions; i++) {
        const hb_redaction *x = &report->redactions[i];
        printf("%s{", i ? ", " : "");
        print_member("kind", x->kind);
        printf(", ");
        print_member("found", x->found);
        printf(", ");
        print_member("replacement", x->replacement);
        printf(", \"count\": %" PRIu64 ", \"files\": %u, ", x->count, x->files);
        print_member("first_file", x->first_file);
        printf("}");
    }
    printf("]}\n");
}

/* ---- the command ---- */

static int pack(request *r, const arguments *args)
{
    hb_pack_options options = HB_PACK_OPTIONS_INIT;
    hb_pack_report *report = NULL;
    hb_open_options watched = progress_options();
    options.replace = r->force;
    options.dry_run = r->dry_run;
    options.redact = r->redact;
    options.progress = watched.progress;
    options.context = watched.context;
    SELECT(&options, r->selection);
    for (int i = 0; i < args->count; i++)
        tell_spools("pack", args->words[i]);
    hb_result result = hb_pack((const char *const *)args->words, (size_t)args->count, r->output,
                               &options, &report);
    progress_clear();
    if (result != HB_OK) {
        fprintf(stderr, "hipboard pack: %s\n", hb_last_error());
        return result == HB_ERROR_INVALID_ARGUMENT ? EXIT_USAGE : EXIT_FAILED;
    }
    print_left_out(report);
    if (r->json)
        print_json(r, report);
    else
        print_text(r, report);
    hb_pack_report_free(report);
    return EXIT_FINE;
}

static int run(arguments *args)
{
    request r = {.selection = SELECT_ALL};
    if (!parse_options(&cmd_pack, args, &r)) return args->status;
    char *output = r.output ? NULL : pack_name(args->words[0]);
    if (output) r.output = output;
    int status = pack(&r, args);
    free(output);
    return status;
}

static const option_spec options[] = {
    {'o', "output", "FILE", "the pack; by default the directory's name and .hbpack, here",
     INTO(output)},
    {0, "redact", NULL,
     "replace names of hosts and users, directories, addresses, secrets and the environment, "
     "everywhere by the same; files of unknown kinds are left out. Says what was found",
     INTO(redact)},
    {0, "dry-run", NULL, "write nothing, but say all", INTO(dry_run)},
    SELECTION_OPTIONS,
    {0, "force", NULL, "overwrite a file that exists", INTO(force)},
    {0, "json", NULL, "say it in JSON", INTO(json)},
    {0},
};

const command cmd_pack = {
    .name = "pack",
    .summary = "make one file of a log directory, to share it",
    .synopsis = "[OPTIONS] PATH...",
    .about =
        "Packs a log directory, or several paths under their own names, into one file. It is "
        "a ZIP file, so that any unzip opens it; every command here reads it as it reads the "
        "directory, and `hipboard unpack` makes the directory again, for TensorBoard. "
        "Without a choice of steps, time or size, files keep every byte; with one, other tools' "
        "files are imported, and what cannot be cut is left out.",
    .options = options,
    .notes = "--redact finds what looks like a secret; what does not look like one it cannot "
             "find. Relative paths, names of files and of kernels stay, as do times and numbers.",
    .least = 1,
    .most = MANY,
    .wanted = "no log directory is given",
    .run = run,
};
