/* SPDX-License-Identifier: MIT
 *
 * The sub-commands of `hipboard`, one a file: cmd_<name>.c. They use the public API only.
 */
#ifndef HB_TOOLS_COMMAND_H
#define HB_TOOLS_COMMAND_H

#include <limits.h>
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

enum { MANY = INT_MAX }; /* operands */

/** What the command line says behind `hipboard`: first the command's name, and once the options are
 * parsed, the operands alone. */
typedef struct arguments {
    char **words;
    int count;
    int status; /* of a command line that ends the command: it is wrong, or asks for --help */
} arguments;

/** A command: its words in `hipboard --help` and its own --help, its options, and what it does.
 * Texts are wrapped when they are printed; lines that end by '\n' stay lines. */
typedef struct command {
    const char *name, *summary;
    const char *synopsis;              /* behind the name in the line of usage */
    const char *about;                 /* above the options */
    const struct option_spec *options; /* the last has no name; --help is understood by all */
    const char *notes;                 /* below the options; or NULL */
    int least, most;                   /* operands */
    const char *wanted;                /* said when there are fewer or more */
    bool program_follows;              /* the first operand ends the options */
    int (*run)(arguments *args);       /* the exit status */
} command;

extern const command cmd_check, cmd_compare, cmd_convert, cmd_export, cmd_import, cmd_info,
    cmd_memory, cmd_pack, cmd_query;
extern const command cmd_ranks, cmd_record, cmd_recover, cmd_report, cmd_serve, cmd_stacks,
    cmd_steps, cmd_table;
extern const command cmd_trigger, cmd_unpack, cmd_view;

/** In the order in which `hipboard --help` lists them; NULL behind the last. */
extern const command *const all_commands[];

/** Of `hipboard` as a whole: what it is, and what holds for every command. */
extern const char program_summary[], program_notes[];

/** What the environment can say to the command and to recorded programs; ends with NULL. */
typedef struct environment_variable {
    const char *names, *meaning;
} environment_variable;
extern const environment_variable program_environment[];

/** "hipboard NAME: ..." and a hint at --help on stderr; EXIT_USAGE. */
int usage_error(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** Whether there is such a file or directory; says so on stderr when not. */
bool path_exists(const char *name, const char *path);

/** A whole decimal number between the two, and nothing behind it. */
bool parse_number(const char *text, long long least, long long most, long long *number);

/** `status`, when all that was written to `to` is out; else that is said, and EXIT_FINE becomes
 * `failed`. Standard output is looked after for all commands, by main(). */
int flush_output(const char *name, FILE *to, int status, int failed);

#endif
