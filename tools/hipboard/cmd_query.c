/* SPDX-License-Identifier: MIT */
#include "command.h"

#include <hipboard/import.h>
#include <hipboard/ranks.h>
#include <stdio.h>
#include <stdlib.h>

#include "options.h"
#include "progress.h"
#include "text.h"

/* A file of another tool is one process of one run, whatever the names in the question. */
static hb_result query_file(const char *path, const char *question, const hb_open_options *options,
                            char **json, size_t *size)
{
    hb_trace_file *file = NULL;
    hb_result result = hb_trace_file_open(path, options, &file);
    if (result == HB_OK) result = hb_trace_file_query(file, question, json, size);
    hb_trace_file_close(file);
    return result;
}

static hb_result query_logdir(const char *path, const char *question,
                              const hb_open_options *options, char **json, size_t *size)
{
    hb_logdir *logdir = NULL;
    hb_result result = hb_logdir_open(path, options, &logdir);
    if (result == HB_OK) result = hb_logdir_query(logdir, question, json, size);
    hb_logdir_close(logdir);
    return result;
}

/* Digests are a run of their file's name. */
static hb_result query_digests(const char *path, const char *question,
                               const hb_open_options *options, char **json, size_t *size)
{
    hb_rank_study *study = NULL;
    char *name = trace_stem(path);
    (void)options;
    hb_result result = hb_rank_study_create(NULL, &study);
    if (result == HB_OK) result = hb_rank_study_add(study, path);
    if (result == HB_OK) result = hb_rank_study_query(study, name, question, json, size);
    hb_rank_study_destroy(study);
    free(name);
    return result;
}

static int run(arguments *args)
{
    if (!parse_options(&cmd_query, args, NULL)) return args->status;
    char *json = NULL;
    size_t size = 0;
    int status = EXIT_FAILED;
    hb_open_options options = progress_options();
    if (!path_exists("query", args->words[0])) return EXIT_FAILED;
    const char *path = args->words[0];
    hb_result result =
        (is_digests(path)        ? query_digests
         : hb_import_knows(path) ? query_file
                                 : query_logdir)(path, args->words[1], &options, &json, &size);
    progress_clear();
    if (result == HB_OK) {
        fwrite(json, 1, size, stdout);
        putchar('\n');
        status = EXIT_FINE;
    } else {
        fprintf(stderr, "hipboard query: %s\n", hb_last_error());
    }
    hb_free(json);
    return status;
}

static const option_spec options[] = {{0}};

const command cmd_query = {
    .name = "query",
    .summary = "print what the TensorBoard plugin answers",
    .synopsis = "LOGDIR 'ROUTE?name=value&...'",
    .about = "Prints the JSON that TensorBoard's PyTorch Profiler plugin answers for the same URL, "
             "without TensorBoard; of a file of another tool (`hipboard import`), too, without "
             "run, worker and span. Of digests of ranks (.hbranks), which are a run of their "
             "file's name: runs, views, workers, spans and the overview. Values are URL-encoded. "
             "Routes:\n"
             "\n"
             "  runs                          views?run=R\n"
             "  workers?run=R&view=V          spans?run=R&worker=W\n"
             "  overview?run=R&worker=W&span=S, and likewise operation,\n"
             "  operation/table, kernel, kernel/tc_pie, kernel/table, memory,\n"
             "  memory_curve, memory_events, module, tree, trace\n"
             "  operation/stack?...&op_name=O&input_shape=I\n"
             "  distributed/gpuinfo?run=R&span=S, /overlap, /waittime, /commops\n"
             "  diff?run=R&worker=W&span=S&exp_run=R2&exp_worker=W2&exp_span=S2\n"
             "  diffnode?...&path=0-1\n"
             "\n"
             "More parameters: group_by (operation*: OperationAndInputShape, kernel/table: "
             "Kernel), start_ts and end_ts (memory, memory_events), memory_metric (B, KB, MB, GB), "
             "time_metric (us, ms, s).",
    .options = options,
    .notes = "Exit status 1 where the plugin answers with an error; the reason is on stderr.",
    .least = 2,
    .most = 2,
    .wanted = "expected a log directory and a route",
    .run = run,
};
