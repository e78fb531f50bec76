/* SPDX-License-Identifier: MIT */
#include "command.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const command *const all_commands[] = {
    &cmd_record, &cmd_trigger, &cmd_info,    &cmd_table,   &cmd_stacks, &cmd_memory,  &cmd_steps,
    &cmd_view,   &cmd_check,   &cmd_compare, &cmd_convert, &cmd_query,  &cmd_recover, NULL};

const char program_summary[] =
    "torch.profiler for native programs: record, look at and mend traces";

const char program_notes[] =
    "Exit status: 0 done, 1 failed, 2 wrong usage, where a command's --help does not say more. "
    "Results go to standard output, and what went wrong to standard error. Times in CSV and JSON "
    "are in microseconds and sizes in bytes, where a name does not say otherwise; columns and "
    "members may be added, and are not renamed.\n"
    "\n"
    "On a terminal long names are cut to fit its width, or COLUMNS if that is exported; NO_COLOR "
    "keeps bold and colours away. HIPBOARD_HIP_BACKEND chooses the way to capture HIP (see "
    "`hipboard info`).";

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
