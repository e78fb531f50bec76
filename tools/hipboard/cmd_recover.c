/* SPDX-License-Identifier: MIT */
#include "command.h"

#include <stdio.h>
#include <stdlib.h>

#include <hipboard/hipboard.h>

#include "options.h"
#include "text.h"

typedef struct request {
    bool gzip, kineto, pftrace;
    const char *spool; /* or NULL */
} request;

static void report(const hb_recovered *r, void *told)
{
    if (r->trace)
        printf("%s: %llu events -> %s\n", r->spool, (unsigned long long)r->events, r->trace);
    else
        fprintf(stderr, "hipboard recover: %s: %s\n", r->spool, text_behind(r->error, r->spool));
    *(bool *)told |= !r->trace;
}

static int run(arguments *args)
{
    request r = {0};
    int status = EXIT_FINE;
    if (!parse_options(&cmd_recover, args, &r)) return args->status;
    if (r.spool) setenv("HIPBOARD_SPOOL", r.spool, 1);
    unsigned flags = (r.gzip ? HB_GZIP : 0u) | (r.kineto ? HB_DIALECT_KINETO : 0u) |
                     (r.pftrace ? HB_PFTRACE : 0u);
    for (int i = 0; i < args->count; i++) {
        bool told = false; /* of what could not be recovered, one by one */
        hb_result result = hb_recover(args->words[i], flags, report, &told);
        if (result == HB_OK) continue;
        status = EXIT_FAILED;
        if (result == HB_ERROR_NOT_FOUND || (result == HB_ERROR_IO && !told))
            fprintf(stderr, "hipboard %s\n", hb_last_error());
    }
    return status;
}

static const option_spec options[] = {
    {0, "gzip", NULL, "write .pt.trace.json.gz", INTO(gzip)},
    {0, "dialect", DIALECTS, "tensorboard by default", INTO_BY(take_kineto, kineto)},
    {0, "pftrace", NULL, "write Perfetto's protobuf, .pftrace, beside each trace", INTO(pftrace)},
    {0, "spool", "DIR", "look also below DIR, which `hipboard record --spool DIR` kept them in",
     INTO(spool)},
    {0},
};

const command cmd_recover = {
    .name = "recover",
    .summary = "make traces of what killed processes left",
    .synopsis = "[OPTIONS] LOGDIR...",
    .about = "A process that is killed leaves what it recorded in a hidden file of its log "
             "directory (.<worker>.<time>.hbspool). This makes a trace of each such file below "
             "LOGDIR, beside it, and removes the file. Files of processes that still run are left "
             "alone. Where LOGDIR is on a network file system the files are on the node that the "
             "process ran on, below TMPDIR or /tmp: run this there. They are there for one on "
             "btrfs, bcachefs or ZFS, too.",
    .options = options,
    .notes = "Exit status 1 when there is nothing to recover, or when something could not be.",
    .least = 1,
    .most = MANY,
    .wanted = "no log directory is given",
    .run = run,
};
