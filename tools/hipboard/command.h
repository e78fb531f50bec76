/* SPDX-License-Identifier: MIT
 *
 * The sub-commands of `hipboard`, one a file: cmd_<name>.c. They use the public API only.
 */
#ifndef HB_TOOLS_COMMAND_H
#define HB_TOOLS_COMMAND_H

#include <stdbool.h>
#include <stdio.h>

/** Exit statuses of every command. */
enum {
    EXIT_FINE = 0,
    EXIT_FAILED = 1, /* what was asked for could not be done, or not all of it */
    EXIT_USAGE = 2,  /* the command line is wrong; nothing was done */
    EXIT_TROUBLE =
        3, /* compare, where 1 says that a limit is passed: what EXIT_FAILED says elsewhere */
};

/** `argv[0]` is the command's name; the result is the exit status. */
typedef int (*command_fn)(int argc, char **argv);

int cmd_check(int argc, char **argv);
int cmd_compare(int argc, char **argv);
int cmd_convert(int argc, char **argv);
int cmd_info(int argc, char **argv);
int cmd_memory(int argc, char **argv);
int cmd_query(int argc, char **argv);
int cmd_record(int argc, char **argv);
int cmd_recover(int argc, char **argv);
int cmd_stacks(int argc, char **argv);
int cmd_steps(int argc, char **argv);
int cmd_table(int argc, char **argv);
int cmd_view(int argc, char **argv);

/** "hipboard NAME: ..." and a hint at --help on stderr; EXIT_USAGE. */
int usage_error(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** A whole decimal number between the two, and nothing behind it. */
bool parse_number(const char *text, long long least, long long most, long long *number);

/** `status`, when all that was written to `to` is out; else that is said, and EXIT_FINE becomes
 * `failed`. Standard output is looked after for all commands, by main(). */
int flush_output(const char *name, FILE *to, int status, int failed);

#endif
