/* SPDX-License-Identifier: MIT */
#include "command.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hipboard/pack.h>

#include "options.h"
#include "progress.h"
#include "text.h"

typedef struct request {
    const char *output;
    bool list, force, json;
} request;

static void print_text(const request *r, const char *pack, const char *to,
                       const hb_pack_report *report)
{
    for (size_t i = 0; r->list && i < report->num_members; i++)
        printf("%12" PRIu64 "  %s\n", report->members[i].size, report->members[i].name);
    if (!r->list) printf("%s: %zu files -> %s\n", pack, report->num_members, to);
}

static void print_json(const request *r, const char *pack, const char *to,
                       const hb_pack_report *report)
{
    printf("{\"pack\": ");
    print_json_string(pack);
    printf(", \"directory\": ");
    if (r->list)
        printf("null");
    else
        print_json_string(to);
    printf(", \"files\": [");
    for (size_t i = 0; i < report->num_members; i++) {
        printf("%s{\"name\": ", i ? ", " : "");
        print_json_string(report->members[i].name);
        printf(", \"size\": %" PRIu64 ", \"stored\": %" PRIu64 "}", report->members[i].size,
               report->members[i].stored);
    }
    printf("]}\n");
}

/* "mail/runs.hbpack" goes to "runs". */
static char *default_directory(const char *pack)
{
    const char *slash = strrchr(pack, '/'), *name = slash ? slash + 1 : pack;
    const char *dot = strrchr(name, '.');
    char *directory = dot && dot > name ? strndup(name, (size_t)(dot - name)) : NULL;
    if (!directory && asprintf(&directory, "%s.unpacked", name) < 0) directory = NULL;
    return must(directory);
}

static int unpack(const request *r, const char *pack)
{
    hb_pack_options options = HB_PACK_OPTIONS_INIT;
    hb_pack_report *report = NULL;
    hb_open_options watched = progress_options();
    char *by_default = r->output ? NULL : default_directory(pack);
    const char *to = r->output ? r->output : by_default;
    options.replace = r->force;
    options.dry_run = r->list;
    options.progress = watched.progress;
    options.context = watched.context;
    hb_result result = hb_unpack(pack, to, &options, &report);
    progress_clear();
    if (result != HB_OK)
        fprintf(stderr, "hipboard unpack: %s\n", hb_last_error());
    else if (r->json)
        print_json(r, pack, to, report);
    else
        print_text(r, pack, to, report);
    hb_pack_report_free(report);
    free(by_default);
    return result == HB_OK ? EXIT_FINE : EXIT_FAILED;
}

static int run(arguments *args)
{
    request r = {0};
    int status = EXIT_FINE;
    if (!parse_options(&cmd_unpack, args, &r)) return args->status;
    for (int i = 0; i < args->count && !progress_interrupted(); i++)
        if (unpack(&r, args->words[i]) != EXIT_FINE) status = EXIT_FAILED;
    return status;
}

static const option_spec options[] = {
    {'o', "output", "DIR", "where to write; by default the pack's name, here", INTO(output)},
    {0, "list", NULL, "only check the pack and list what is in it", INTO(list)},
    {0, "force", NULL, "overwrite files that exist", INTO(force)},
    {0, "json", NULL, "say it in JSON", INTO(json)},
    {0},
};

const command cmd_unpack = {
    .name = "unpack",
    .summary = "make a log directory of a pack again",
    .synopsis = "[OPTIONS] PACK...",
    .about = "Writes the files of packs, or of any ZIP file of traces, for TensorBoard and others; "
             "the commands here read packs as they are. Checks every byte, and writes nothing "
             "outside the directory.",
    .options = options,
    .least = 1,
    .most = MANY,
    .wanted = "no pack is given",
    .run = run,
};
