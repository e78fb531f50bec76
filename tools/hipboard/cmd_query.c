/* SPDX-License-Identifier: MIT */
#include "command.h"

#include <stdio.h>
#include <string.h>

#include "progress.h"

static const char help[] =
    "usage: hipboard query LOGDIR 'ROUTE?name=value&...'\n"
    "\n"
    "Prints the JSON that TensorBoard's PyTorch Profiler plugin answers for the same URL, without\n"
    "TensorBoard. Values are URL-encoded. Routes:\n"
    "\n"
    "  runs                          views?run=R\n"
    "  workers?run=R&view=V          spans?run=R&worker=W\n"
    "  overview?run=R&worker=W&span=S, and likewise operation, operation/table, kernel,\n"
    "  kernel/tc_pie, kernel/table, memory, memory_curve, memory_events, module, tree\n"
    "  operation/stack?...&op_name=O&input_shape=I\n"
    "  distributed/gpuinfo?run=R&span=S, /overlap, /waittime, /commops\n"
    "  diff?run=R&worker=W&span=S&exp_run=R2&exp_worker=W2&exp_span=S2\n"
    "  diffnode?...&path=0-1\n"
    "\n"
    "More parameters: group_by (operation*: OperationAndInputShape, kernel/table: Kernel), "
    "start_ts\n"
    "and end_ts (memory, memory_events), memory_metric (B, KB, MB, GB), time_metric (us, ms, s).\n"
    "\n"
    "  -h, --help   this text\n"
    "\n"
    "Exit status 1 where the plugin answers with an error; the reason is on stderr.\n";

int cmd_query(int argc, char **argv)
{
    if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        fputs(help, stdout);
        return EXIT_FINE;
    }
    if (argc != 3) return usage_error("query", "expected a log directory and a route");
    hb_logdir *logdir = NULL;
    char *json = NULL;
    size_t size = 0;
    int status = EXIT_FAILED;
    hb_open_options options = progress_options();
    hb_result result = hb_logdir_open(argv[1], &options, &logdir);
    if (result == HB_OK) result = hb_logdir_query(logdir, argv[2], &json, &size);
    progress_clear();
    if (result == HB_OK) {
        fwrite(json, 1, size, stdout);
        putchar('\n');
        status = EXIT_FINE;
    } else {
        fprintf(stderr, "hipboard query: %s\n", hb_last_error());
    }
    hb_free(json);
    hb_logdir_close(logdir);
    return status;
}
