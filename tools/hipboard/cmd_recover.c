/* SPDX-License-Identifier: MIT */
#include "command.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include <hipboard/hipboard.h>

static const char help[] =
    "usage: hipboard recover [--gzip] [--dialect tensorboard|kineto] LOGDIR...\n"
    "\n"
    "A process that is killed leaves what it recorded in a hidden file of its log directory\n"
    "(.<worker>.<time>.hbspool). This makes a trace of each such file below LOGDIR, beside it, "
    "and\n"
    "removes the file. Files of processes that still run are left alone.\n"
    "\n"
    "  --gzip             write .pt.trace.json.gz\n"
    "  --dialect DIALECT  tensorboard (default) or kineto\n"
    "  -h, --help         this text\n"
    "\n"
    "Exit status 1 when there is nothing to recover, or when something could not be.\n";

static void report(const hb_recovered *r, void *arg)
{
    (void)arg;
    if (r->trace)
        printf("%s: %llu events -> %s\n", r->spool, (unsigned long long)r->events, r->trace);
    else
        fprintf(stderr, "hipboard recover: %s: %s\n", r->spool, r->error);
}

int cmd_recover(int argc, char **argv)
{
    static const struct option options[] = {
        {"gzip", no_argument, NULL, 'z'},
        {"dialect", required_argument, NULL, 'd'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    unsigned flags = 0;
    int option, status = EXIT_FINE;
    opterr = 0;
    optind = 1;
    while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        if (option == 'h') {
            fputs(help, stdout);
            return EXIT_FINE;
        }
        if (option == 'z')
            flags |= HB_GZIP;
        else if (option == 'd' && strcmp(optarg, "kineto") == 0)
            flags |= HB_DIALECT_KINETO;
        else if (option == 'd' && strcmp(optarg, "tensorboard") == 0)
            flags &= ~(unsigned)HB_DIALECT_KINETO;
        else if (option == 'd')
            return usage_error("recover", "dialect '%s': tensorboard or kineto", optarg);
        else
            return usage_error("recover", "option '%s' is unknown or lacks its value",
                               argv[optind - 1]);
    }
    if (optind == argc) return usage_error("recover", "no log directory is given");
    for (int i = optind; i < argc; i++) {
        hb_result result = hb_recover(argv[i], flags, report, NULL);
        if (result == HB_OK) continue;
        status = EXIT_FAILED;
        /* Others were reported one by one. */
        if (result == HB_ERROR_NOT_FOUND || result == HB_ERROR_IO)
            fprintf(stderr, "hipboard %s\n", hb_last_error());
    }
    return status;
}
