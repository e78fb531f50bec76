/* SPDX-License-Identifier: MIT */
#include "command.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const command *const all_commands[] = {
    &cmd_record, &cmd_trigger, &cmd_info,   &cmd_table, &cmd_stacks,  &cmd_memory,  &cmd_steps,
    &cmd_view,   &cmd_report,  &cmd_serve,  &cmd_check, &cmd_compare, &cmd_convert, &cmd_export,
    &cmd_import, &cmd_pack,    &cmd_unpack, &cmd_query, &cmd_ranks,   &cmd_recover, NULL};

const char program_summary[] =
    "torch.profiler for native programs: record, look at and mend traces";

const char program_notes[] =
    "Exit status: 0 done, 1 failed, 2 wrong usage, where a command's --help does not say more. "
    "Results go to standard output, and what went wrong to standard error. Times in CSV and JSON "
    "are in microseconds and sizes in bytes, where a name does not say otherwise; columns and "
    "members may be added, and are not renamed.\n"
    "\n"
    "On a terminal long names are cut to fit its width. What the environment says: `man hipboard`.";

const environment_variable program_environment[] = {
    {"HIPBOARD_HIP_BACKEND", "the way to capture HIP: one of those that `hipboard info` lists"},
    {"HIPBOARD_GPU_PATIENCE",
     "how many seconds the end of a cycle waits for a GPU that reports nothing (30)"},
    {"HIPBOARD_CONTROL_FILE",
     "a file that asks programs for steps, in dynolog's words too; looked at every 4 seconds"},
    {"HIPBOARD_MAX_DISK",
     "how much traces of a log directory may take, as 20G; the oldest of the program's go"},
    {"HIPBOARD_MEMORY",
     "how much memory traces that are read take, as 2G, before more of them lies in "
     "temporary files (if unset 384M, on small machines less, and tables of names beyond that)"},
    {"HIPBOARD_FSYNC", "1: a trace is on the disk before its records are given up"},
    {"HIPBOARD_RANK_FROM",
     "the variable that holds a process's rank, of a launcher that hipboard does not know"},
    {"HIPBOARD_RANK_PROCESS",
     "the process that a rank begins with, as `hipboard record` tells it: others are its helpers"},
    {"HIPBOARD_ALIGN",
     "measure or force: all ranks of the job are recorded, and measure their nodes' clocks "
     "(`hipboard record --align` sets it)"},
    {"HIPBOARD_SPOOL",
     "where records stay until they are a trace, a directory on this machine (`hipboard record "
     "--spool` sets it)"},
    {"HIPBOARD_WRITTEN", "a file that is told each trace that was written, a line each, and of "
                         "which a digest was made, "
                         "\"digest of\" in front of it (`hipboard record` sets it)"},
    {"HIPBOARD_DIGESTS",
     "the directory in which ranks of a job keep the digests of their traces (that of the traces); "
     "none: they make none"},
    {"HIPBOARD_SYSFS", "what is read in place of /sys for power, clocks and temperatures of GPUs"},
    {"HIPBOARD_SYMBOLIZER",
     "the program that names the frames of call stacks, in place of the installed "
     "hipboard-symbolizer; empty: none"},
    {"GIT_COMMIT", "the commit that traces name as the program's, in place of the working tree's"},
    {"XDG_RUNTIME_DIR", "where running programs are asked through (`hipboard trigger`)"},
    {"OMPI_COMM_WORLD_RANK, PMIX_RANK, PMI_RANK, MV2_COMM_WORLD_RANK, SLURM_PROCID, "
     "FLUX_TASK_RANK, "
     "PALS_RANKID, RANK",
     "the process's number in a parallel run: under `hipboard record` 0 writes the event file"},
    {"TMPDIR", "where what is short-lived lies: what traces need above HIPBOARD_MEMORY (else in "
               "/var/tmp or /tmp), records of ranks whose log directory is on a network, and parts "
               "of packs (/tmp)"},
    {"HIP_VISIBLE_DEVICES, ROCR_VISIBLE_DEVICES, CUDA_VISIBLE_DEVICES, GPU_DEVICE_ORDINAL",
     "which GPUs a program sees: traces keep them, `hipboard info` tells them"},
    {"COLUMNS", "the width of a terminal, if exported"},
    {"TERM", "dumb: no bold and no colours"},
    {"NO_COLOR", "anything: no bold and no colours"},
    {NULL, NULL},
};

int usage_error(const char *name, const char *format, ...)
{
    va_list args;
    fprintf(stderr, "hipboard %s: ", name);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, "; see `hipboard %s --help`\n", name);
    return EXIT_USAGE;
}

bool path_exists(const char *name, const char *path)
{
    if (access(path, F_OK) == 0) return true;
    fprintf(stderr, "hipboard %s: cannot open '%s': %s\n", name, path, strerror(errno));
    return false;
}

bool parse_number(const char *text, long long least, long long most, long long *number)
{
    char *end;
    errno = 0;
    *number = strtoll(text, &end, 10);
    return end != text && !*end && !errno && *number >= least && *number <= most;
}

int flush_output(const char *name, FILE *to, int status, int failed)
{
    if (fflush(to) == 0 && !ferror(to)) return status;
    fprintf(stderr, "hipboard %s: cannot write: %s\n", name, strerror(errno));
    return status == EXIT_FINE ? failed : status;
}
