/* SPDX-License-Identifier: MIT */
#include "command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hipboard/ranks.h>

#include "options.h"
#include "parallel.h"
#include "progress.h"
#include "spools.h"

enum { MOST_LIMITS = 32 };

typedef struct limits {
    const char *items[MOST_LIMITS];
    size_t count;
} limits;

typedef struct part {
    uint32_t part, parts;
} part;

typedef struct request {
    bool json, markdown, hang;
    const char *output, *by, *groups;
    int64_t rank;
    part part;
    limits limits;
} request;

/* ---- options ---- */

static const char *take_limit(void *to, const char *value)
{
    limits *l = to;
    if (l->count == MOST_LIMITS) return "too many";
    l->items[l->count++] = value;
    return NULL;
}

static const char *take_part(void *to, const char *value)
{
    part *p = to;
    char *end;
    unsigned long first = strtoul(value, &end, 10);
    unsigned long parts = *end == '/' ? strtoul(end + 1, &end, 10) : 0;
    if (*end || first < 1 || parts < 1 || first > parts || parts > 1000000)
        return "expected I/N, I from 1 to N";
    *p = (part){(uint32_t)first, (uint32_t)parts};
    return NULL;
}

static const char *take_rank(void *to, const char *value)
{
    long long rank;
    if (!parse_number(value, 0, INT64_MAX, &rank)) return "expected a rank";
    *(int64_t *)to = rank;
    return NULL;
}

static hb_rank_options options_of(const request *r)
{
    hb_rank_options o = HB_RANK_OPTIONS_INIT;
    hb_open_options watched = progress_options();
    o.part = r->part.part;
    o.parts = r->part.parts;
    o.rank = r->rank;
    o.hang = r->hang;
    o.groups = r->groups;
    o.progress = watched.progress;
    o.context = watched.context;
    o.by = strcmp(r->by, "switch") == 0   ? HB_RANKS_BY_SWITCH
           : strcmp(r->by, "modulo") == 0 ? HB_RANKS_BY_MODULO
                                          : HB_RANKS_BY_NODE;
    return o;
}

/* ---- work ---- */

static int tell(hb_result result)
{
    fprintf(stderr, "hipboard ranks: %s\n", hb_last_error());
    return result == HB_ERROR_INVALID_ARGUMENT ? EXIT_USAGE : EXIT_FAILED;
}

static int add_all(hb_rank_study *study, const arguments *args)
{
    int status = EXIT_FINE;
    for (int i = 0; i < args->count; i++) {
        tell_spools("ranks", args->words[i]);
        hb_result result = hb_rank_study_add(study, args->words[i]);
        progress_clear();
        if (result == HB_OK) continue;
        status = tell(result);
        if (result == HB_ERROR_STATE || result == HB_ERROR_NO_MEMORY) break;
    }
    return status;
}

/* What was read counts, also where something else could not be. */
static int tell_notes(hb_rank_study *study)
{
    const char *const *notes;
    size_t count;
    int status = EXIT_FINE;
    if (hb_rank_study_notes(study, &notes, &count) != HB_OK) return EXIT_FAILED;
    for (size_t i = 0; i < count; i++) {
        fprintf(stderr, "hipboard ranks: %s\n", notes[i]);
        if (strncmp(notes[i], "left out:", 9) == 0) status = EXIT_FAILED;
    }
    return status;
}

static int check_limits(hb_rank_study *study, const request *r)
{
    int status = EXIT_FINE;
    for (size_t i = 0; i < r->limits.count; i++) {
        bool holds;
        const char *text;
        hb_result result = hb_rank_study_limit(study, r->limits.items[i], &holds, &text);
        if (result != HB_OK) return tell(result);
        if (!holds) continue;
        fprintf(stderr, "hipboard ranks: %s: %s\n", r->limits.items[i], text);
        status = EXIT_FAILED;
    }
    return status;
}

static int report(hb_rank_study *study, const request *r)
{
    char *text;
    hb_ranks_form form = r->json ? HB_RANKS_JSON : r->markdown ? HB_RANKS_MARKDOWN : HB_RANKS_TEXT;
    hb_result result = hb_rank_study_report(study, form, &text, NULL);
    if (result != HB_OK) return tell(result);
    fputs(text, stdout);
    hb_free(text);
    return EXIT_FINE;
}

static int keep(hb_rank_study *study, const request *r)
{
    hb_result result = hb_rank_study_write(study, r->output);
    return result == HB_OK ? EXIT_FINE : tell(result);
}

static int answer(hb_rank_study *study, const request *r)
{
    int status = r->output ? keep(study, r) : report(study, r);
    return status == EXIT_FINE ? check_limits(study, r) : status;
}

static int worse(int a, int b)
{
    return a > b ? a : b;
}

/* ---- by several processes ---- */

static int send_digests(hb_rank_study *study)
{
    char *bytes;
    size_t size;
    if (hb_rank_study_digests(study, &bytes, &size) != HB_OK) {
        fprintf(stderr, "hipboard ranks: %s\n", hb_last_error());
        parallel_send("", 0); /* rank 0 waits for something */
        return EXIT_FAILED;
    }
    bool sent = parallel_send(bytes, size);
    hb_free(bytes);
    return sent ? EXIT_FINE : EXIT_FAILED;
}

static int gather(hb_rank_study *study, const parallel *p)
{
    int status = EXIT_FINE;
    for (int from = 1; from < p->size; from++) {
        char name[40];
        size_t size = 0;
        snprintf(name, sizeof name, "process %d", from);
        char *bytes = parallel_receive(from, &size);
        if (!bytes || hb_rank_study_add_digests(study, name, bytes, size) != HB_OK) {
            fprintf(stderr, "hipboard ranks: %s: its part is missing\n", name);
            status = EXIT_FAILED;
        }
        free(bytes);
    }
    return status;
}

/* Each process reads its part, and rank 0 answers. */
static int work(hb_rank_study *study, const request *r, const arguments *args, const parallel *p)
{
    int status = add_all(study, args);
    if (p->rank > 0) {
        int sent = send_digests(study);
        return worse(sent, tell_notes(study));
    }
    status = worse(status, gather(study, p));
    if (status == EXIT_USAGE || progress_interrupted()) return status;
    status = worse(status, answer(study, r));
    return worse(status, tell_notes(study));
}

static int run(arguments *args)
{
    request r = {.by = "node", .rank = -1};
    hb_rank_study *study;
    if (!parse_options(&cmd_ranks, args, &r)) return args->status;
    if (r.part.parts && !r.output)
        return usage_error("ranks", "--part: -o FILE says where its digests go");
    if (r.part.parts && r.limits.count)
        return usage_error("ranks", "--fail-if: a part of the ranks tells nothing of all of them");
    parallel p = r.part.parts ? (parallel){.size = 1} : parallel_begin("ranks");
    if (p.idle) return EXIT_FINE;
    if (p.size > 1) r.part = (part){(uint32_t)p.rank + 1, (uint32_t)p.size};
    hb_rank_options options = options_of(&r);
    hb_result result = hb_rank_study_create(&options, &study);
    if (result != HB_OK) return tell(result);
    int status = work(study, &r, args, &p);
    hb_rank_study_destroy(study);
    parallel_end(&p);
    return status;
}

static const option_spec options[] = {
    {0, "json", NULL, "all numbers, of every rank, node, step and kind of collective", INTO(json)},
    {0, "markdown", NULL, "for a pull request or an issue", INTO(markdown)},
    {0, "rank", "N", "where this rank's time went, in place of the table of ranks",
     INTO_BY(take_rank, rank)},
    {0, "hang", NULL,
     "of a job that hung or was killed: which collective ranks are in, who did not come to it, "
     "and what these do instead",
     INTO(hang)},
    {0, "by", "node|switch|modulo",
     "what ranks are put together by: their node, its switch (--groups), or their place on it",
     INTO(by)},
    {0, "groups", "FILE", "lines 'HOST SWITCH', for --by switch", INTO(groups)},
    {0, "fail-if", "LIMIT",
     "exit status 1 when it holds: 'parallel_efficiency < 80%', 'late_ranks > 0'; also "
     "load_balance, communication_efficiency, missing_ranks, waiting. May be given several times",
     INTO_BY(take_limit, limits)},
    {0, "part", "I/N", "only digests of the I-th of N parts of the traces, into -o",
     INTO_BY(take_part, part)},
    {'o', "output", "FILE.hbranks", "keep the digests in a file, and print nothing", INTO(output)},
    {0},
};

const command cmd_ranks = {
    .name = "ranks",
    .summary = "say of a parallel job who makes the others wait, why, and what it costs",
    .synopsis = "[OPTIONS] PATH...",
    .about =
        "Who makes the others wait, of any number of ranks on one screen: efficiencies, wait "
        "states, collectives by size, nodes unlike the others, missing ranks. PATHs are traces "
        "of any writer, log directories, packs, and files of digests (.hbranks), which are "
        "some kilobytes a rank; where they lie beside the traces, the traces are not read.",
    .options = options,
    .notes = "A rank is named only where more than chance is against it: it comes last to more "
             "collectives than one of so many would (p < 0.0001 for all ranks together), and not "
             "in one or two bad moments only, and costs a hundredth at least of what the "
             "most costly one does. Without three steps, and where clocks do not tell, "
             "the answer is 'inconclusive'.\n"
             "Parallel efficiency is load balance (mean over greatest useful time) times "
             "communication efficiency (greatest useful time over all), as POP has it.\n"
             "On a cluster each job takes a part: hipboard ranks --part 3/16 -o p3.hbranks LOGDIR, "
             "and then: hipboard ranks p*.hbranks. "
             "`mpirun -n 16 hipboard ranks LOGDIR` does both, with the MPI that is there.",
    .least = 1,
    .most = MANY,
    .wanted = "no file or log directory is given",
    .run = run,
};
