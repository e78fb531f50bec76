/* SPDX-License-Identifier: MIT */
#include "command.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "progress.h"
#include "spools.h"
#include "text.h"

enum { SHOWN = 3, MAX_KINDS = 128 };

/* What was found of one kind in one file. */
typedef struct kind {
    char *rule, *text;
    hb_effect effect;
    uint64_t count;
    char *places; /* lines, for each event one */
    size_t size, capacity;
} kind;

typedef struct request {
    bool all, strict, json;
    bool lost, wrong, failed;
    char *path; /* the kinds' */
    kind kinds[MAX_KINDS];
    size_t num_kinds;
} request;

static const char *const effects[] = {"file lost", "run lost", "wrong", "note"};

/* ---- text ---- */

static void append(kind *k, const char *place)
{
    size_t size = strlen(place);
    if (k->size + size + 2 > k->capacity) {
        k->capacity = 2 * k->capacity + size + 2;
        k->places = must(realloc(k->places, k->capacity));
    }
    memcpy(k->places + k->size, place, size);
    memcpy(k->places + k->size + size, "\n", 2);
    k->size += size + 1;
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
    append(k, place);
}

static void print_kinds(request *r)
{
    if (r->num_kinds) printf("%s\n", r->path);
    for (size_t i = 0; i < r->num_kinds; i++) {
        kind *k = &r->kinds[i];
        printf("  %s: ", effects[k->effect]);
        if (k->count > 1) printf("%" PRIu64 " times ", k->count);
        printf("%s\n%s", k->text, k->places ? k->places : "");
        if (k->places && k->count > SHOWN && !r->all)
            printf("    and %" PRIu64 " more\n", k->count - SHOWN);
        free(k->rule);
        free(k->text);
        free(k->places);
    }
    r->num_kinds = 0;
}

static kind *kind_of(request *r, const hb_violation *f)
{
    for (size_t i = 0; i < r->num_kinds; i++)
        if (strcmp(r->kinds[i].rule, f->rule) == 0 && strcmp(r->kinds[i].text, f->text) == 0)
            return &r->kinds[i];
    if (r->num_kinds == MAX_KINDS) return &r->kinds[MAX_KINDS - 1];
    kind *k = &r->kinds[r->num_kinds];
    *k = (kind){.rule = must(strdup(f->rule)), .text = must(strdup(f->text)), .effect = f->effect};
    r->num_kinds++;
    return k;
}

static void collect(request *r, const hb_violation *f)
{
    if (!r->path || strcmp(r->path, f->path) != 0) {
        print_kinds(r);
        free(r->path);
        r->path = must(strdup(f->path));
    }
    kind *k = kind_of(r, f);
    if (++k->count <= SHOWN || r->all) add_place(k, f);
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
    request *r = context;
    r->lost |= f->effect == HB_EFFECT_FILE_LOST || f->effect == HB_EFFECT_RUN_LOST;
    r->wrong |= f->effect == HB_EFFECT_WRONG;
    progress_clear();
    if (r->json)
        put_json(f);
    else
        collect(r, f);
    return !progress_interrupted();
}

static void check_path(request *r, const char *path)
{
    hb_open_options options = progress_options();
    if (!path_exists("check", path)) {
        r->failed = true;
        return;
    }
    hb_result result = hb_check(path, &options, take, r);
    progress_clear();
    print_kinds(r);
    tell_spools("check", path);
    if (result == HB_OK) return;
    fprintf(stderr, "hipboard check: %s\n", hb_last_error());
    r->failed = true;
}

static int run(arguments *args)
{
    request r = {0};
    if (!parse_options(&cmd_check, args, &r)) return args->status;
    for (int i = 0; i < args->count && !progress_interrupted(); i++)
        check_path(&r, args->words[i]);
    free(r.path);
    return r.lost || r.failed || (r.strict && r.wrong) ? EXIT_FAILED : EXIT_FINE;
}

static const option_spec options[] = {
    {0, "all", NULL, "every event, not the first three of a kind", INTO(all)},
    {0, "strict", NULL, "exit status 1 also for what is ignored or counted wrongly", INTO(strict)},
    {0, "json", NULL, "a JSON object a line for each of them", INTO(json)},
    {0},
};

const command cmd_check = {
    .name = "check",
    .summary = "say which views the TensorBoard plugin will leave blank, and why",
    .synopsis = "[OPTIONS] PATH...",
    .about = "Says what torch-tb-profiler 0.4.3 will not show of log directories or trace files, "
             "and why: files and runs that it loses, views that stay blank, events that it ignores "
             "or counts wrongly. Events are named by their place in traceEvents, from 0, and by "
             "the byte of the (inflated) text where they begin.",
    .options = options,
    .notes = "Exit status 1 when a file or a run is lost, or when there is none. `hipboard "
             "convert` mends most of it.",
    .least = 1,
    .most = MANY,
    .wanted = "no log directory or trace is given",
    .run = run,
};
