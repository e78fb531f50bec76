/* SPDX-License-Identifier: MIT */
#include "command.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hipboard/hipboard.h>

#include "options.h"

typedef struct request {
    size_t steps, roundup;
    int64_t seconds_ns, delay_ns;
    const char *reason, *output, *all, *logdir;
    bool wait;
} request;

/* Every 4 s a process looks for the file; so all have seen it. */
enum { DELAY_OF_ALL_MS = 10000, ROUNDUP_OF_ALL = 10 };

static int complain(void)
{
    fprintf(stderr, "hipboard trigger: %s\n", hb_last_error());
    return EXIT_FAILED;
}

static int trigger_all(const request *r, hb_trigger_options *o)
{
    if (!r->delay_ns) o->delay_ms = DELAY_OF_ALL_MS;
    if (!r->roundup) o->roundup = ROUNDUP_OF_ALL;
    if (hb_trigger_all(r->all, o) != HB_OK) return complain();
    printf("asked by %s/hipboard.request; in %.3g s, ", r->all, (double)o->delay_ms / 1e3);
    if (o->time_ms)
        printf("all that record on demand there begin\n");
    else
        printf("with the next step whose number is a multiple of %lld, all that record on demand "
               "there begin\n",
               (long long)o->roundup);
    return EXIT_FINE;
}

static int trigger_one(const request *r, const char *word, const hb_trigger_options *o)
{
    long long pid;
    char answer[4096];
    if (!parse_number(word, 1, INT32_MAX, &pid))
        return usage_error("trigger", "\"%s\" is no process number", word);
    if (hb_trigger_process(pid, r->logdir, o, r->wait, answer, sizeof answer) != HB_OK)
        return complain();
    if (r->wait)
        puts(answer);
    else if (*answer)
        fprintf(stderr, "hipboard trigger: process %lld: %s\n", pid, answer);
    return EXIT_FINE;
}

static int check(const request *r, const arguments *args)
{
    if (r->steps && r->seconds_ns)
        return usage_error("trigger", "--steps and --seconds: one of them");
    if (r->all && args->count) return usage_error("trigger", "--all is instead of process numbers");
    if (r->all && (r->wait || r->logdir))
        return usage_error("trigger", "--wait and --logdir are for process numbers");
    if (!r->all && !args->count) return usage_error("trigger", "no process is given");
    return EXIT_FINE;
}

static int run(arguments *args)
{
    request r = {0};
    if (!parse_options(&cmd_trigger, args, &r)) return args->status;
    int status = check(&r, args);
    if (status != EXIT_FINE) return status;
    hb_trigger_options o = HB_TRIGGER_OPTIONS_INIT;
    o.steps = (int64_t)r.steps;
    o.roundup = (int64_t)r.roundup;
    o.time_ms = (r.seconds_ns + 999999) / 1000000;
    o.delay_ms = (r.delay_ns + 999999) / 1000000;
    o.reason = r.reason;
    o.log_file = r.output;
    if (r.all) return trigger_all(&r, &o);
    for (int i = 0; i < args->count; i++) {
        int one = trigger_one(&r, args->words[i], &o);
        if (one != EXIT_FINE) status = one;
    }
    return status;
}

static const option_spec options[] = {
    {'n', "steps", "N", "record N steps; default: 3, or 1 s of a program that marks none",
     INTO(steps)},
    {'s', "seconds", "TIME", "record for a time: 2, 500ms, 1m", INTO_BY(take_span, seconds_ns)},
    {0, "roundup", "N",
     "begin with a step whose number is a multiple of N; with --all, default: 10", INTO(roundup)},
    {0, "delay", "TIME", "begin no earlier than in TIME; with --all, default: 10s",
     INTO_BY(take_span, delay_ns)},
    {'w', "wait", NULL, "wait until the trace is written, and print its path", INTO(wait)},
    {0, "reason", "TEXT", "stands in the trace, and where it is shown", INTO(reason)},
    {'o', "output", "FILE", "write FILE, with the process's number before .json", INTO(output)},
    {'l', "logdir", "LOGDIR",
     "the program's log directory: where its user has no XDG_RUNTIME_DIR, its control socket is "
     "there",
     INTO(logdir)},
    {'a', "all", "LOGDIR", "all processes that record into LOGDIR on demand, on all machines",
     INTO(all)},
    {0},
};

const command cmd_trigger = {
    .name = "trigger",
    .summary = "have running programs record some steps",
    .synopsis = "[OPTIONS] PID... | --all LOGDIR",
    .about = "Makes programs record a cycle that do so on demand: those under `hipboard record "
             "--on-demand`, and those whose profiler has the option on_demand. It becomes a trace "
             "like any other, with the reason in it. Flight recorders (`hipboard record --ring`, "
             "the options ring_...) write what they have kept, after the steps or the time that "
             "are asked for, if any.",
    .options = options,
    .notes =
        "PID's profiler is reached by a socket that is its user's alone. --all writes the file "
        "hipboard.request into LOGDIR, at which every process looks each 4 seconds; processes "
        "whose steps run alike then record the same steps, since they round up the same "
        "number at the same moment. Where file systems tell of new files late (NFS: up to a "
        "minute), give a longer --delay.\n"
        "\n"
        "Exit status 1 when a process could not be triggered, or its trace not written.",
    .least = 0,
    .most = MANY,
    .wanted = "no process is given",
    .run = run,
};
