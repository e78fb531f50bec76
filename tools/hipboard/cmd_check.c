/* SPDX-License-Identifier: MIT */
#include "command.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "progress.h"
#include "table.h"

static const char help[] =
    "usage: hipboard check [OPTIONS] PATH...\n"
    "\n"
    "Says what torch-tb-profiler 0.4.3 will not show of log directories or trace files, and why: "
    "files\n"
    "and runs that it loses, views that stay blank, events that it ignores or counts wrongly. "
    "Events are\n"
    "named by their place in traceEvents, from 0, and by the byte of the (inflated) text where "
    "they begin.\n"
    "\n"
    "  --all        every event, not the first three of a kind\n"
    "  --strict     exit status 1 also for what is ignored or counted wrongly\n"
    "  --json       a JSON object a line for each of them\n"
    "  -h, --help   this text\n"
    "\n"
    "Exit status 1 when a file or a run is lost, or when there is none. `hipboard convert` mends "
    "most of it.\n";

enum { SHOWN = 3, MAX_KINDS = 128 };

/* What was found of one kind in one file. */
typedef struct kind {
    char *rule, *text;
    hb_effect effect;
    uint64_t count;
    char *places;
} kind;

typedef struct check {
    bool all, strict, json;
    bool lost, wrong, failed;
    char *path; /* the kinds' */
    kind kinds[MAX_KINDS];
    size_t num_kinds;
} check;

static const char *const effects[] = {"file lost", "run lost", "wrong", "note"};

/* ---- text ---- */

static void append(char **text, const char *more)
{
    char *longer;
    if (asprintf(&longer, "%s%s", *text ? *text : "", more) < 0) return;
    free(*text);
    *text = longer;
}

static void add_place(kind *k, const hb_violation *f)
{
    char place[256] = "    ";
    size_t n = 4;
    if (!f->has_event && !f->has_offset && !*f->name) return;
    if (f->has_event)
        n += (size_t)snprintf(place + n, sizeof place - n, "event %" PRIu64, f->event);
    if (f->has_offset)
        n += (size_t)snprintf(place + n, sizeof place - n, "%sbyte %" PRIu64,
                              f->has_event ? " at " : "", f->offset);
    if (*f->name && f->has_event) snprintf(place + n, sizeof place - n, ": %.128s", f->name);
    if (*f->name && !f->has_event) snprintf(place + n, sizeof place - n, "%.128s", f->name);
    append(&k->places, place);
    append(&k->places, "\n");
}

static void print_kinds(check *c)
{
    if (c->num_kinds) printf("%s\n", c->path);
    for (size_t i = 0; i < c->num_kinds; i++) {
        kind *k = &c->kinds[i];
        printf("  %s: ", effects[k->effect]);
        if (k->count > 1) printf("%" PRIu64 " times ", k->count);
        printf("%s\n%s", k->text, k->places ? k->places : "");
        if (k->places && k->count > SHOWN && !c->all)
            printf("    and %" PRIu64 " more\n", k->count - SHOWN);
        free(k->rule);
        free(k->text);
        free(k->places);
    }
    c->num_kinds = 0;
}

static kind *kind_of(check *c, const hb_violation *f)
{
    for (size_t i = 0; i < c->num_kinds; i++)
        if (strcmp(c->kinds[i].rule, f->rule) == 0 && strcmp(c->kinds[i].text, f->text) == 0)
            return &c->kinds[i];
    if (c->num_kinds == MAX_KINDS) return &c->kinds[MAX_KINDS - 1];
    kind *k = &c->kinds[c->num_kinds];
    *k = (kind){.rule = strdup(f->rule), .text = strdup(f->text), .effect = f->effect};
    if (!k->rule || !k->text) abort();
    c->num_kinds++;
    return k;
}

static void collect(check *c, const hb_violation *f)
{
    if (!c->path || strcmp(c->path, f->path) != 0) {
        print_kinds(c);
        free(c->path);
        c->path = strdup(f->path);
        if (!c->path) abort();
    }
    kind *k = kind_of(c, f);
    if (++k->count <= SHOWN || c->all) add_place(k, f);
}

/* ---- JSON ---- */

static void put_string(const char *key, const char *text)
{
    printf(", \"%s\": ", key);
    print_json_string(text);
}

static void put_json(const hb_violation *f)
{
    printf("{\"path\": ");
    print_json_string(f->path);
    put_string("effect", effects[f->effect]);
    put_string("rule", f->rule);
    put_string("text", f->text);
    if (f->has_event) printf(", \"event\": %" PRIu64, f->event);
    if (f->has_offset) printf(", \"offset\": %" PRIu64, f->offset);
    if (*f->name) put_string("name", f->name);
    puts("}");
}

/* ---- the command ---- */

static bool take(void *context, const hb_violation *f)
{
    check *c = context;
    c->lost |= f->effect == HB_EFFECT_FILE_LOST || f->effect == HB_EFFECT_RUN_LOST;
    c->wrong |= f->effect == HB_EFFECT_WRONG;
    progress_clear();
    if (c->json)
        put_json(f);
    else
        collect(c, f);
    return !progress_interrupted();
}

static void check_path(check *c, const char *path)
{
    hb_open_options options = progress_options();
    hb_result result = hb_check(path, &options, take, c);
    progress_clear();
    print_kinds(c);
    if (result == HB_OK) return;
    fprintf(stderr, "hipboard check: %s\n", hb_last_error());
    c->failed = true;
}

int cmd_check(int argc, char **argv)
{
    static const struct option options[] = {
        {"all", no_argument, NULL, 'a'},
        {"strict", no_argument, NULL, 's'},
        {"json", no_argument, NULL, 'j'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    check c = {0};
    int option;
    opterr = 0;
    optind = 1;
    while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        switch (option) {
        case 'h': fputs(help, stdout); return EXIT_FINE;
        case 'a': c.all = true; break;
        case 's': c.strict = true; break;
        case 'j': c.json = true; break;
        default: return usage_error("check", "option '%s' is unknown", argv[optind - 1]);
        }
    }
    if (optind == argc) return usage_error("check", "no log directory or trace is given");
    for (int i = optind; i < argc && !progress_interrupted(); i++)
        check_path(&c, argv[i]);
    free(c.path);
    return c.lost || c.failed || (c.strict && c.wrong) ? EXIT_FAILED : EXIT_FINE;
}
