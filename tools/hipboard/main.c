/* SPDX-License-Identifier: MIT */
#include "command.h"

#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <hipboard/hipboard.h>

#include "options.h"
#include "progress.h"
#include "terminal.h"
#include "text.h"

static void list_commands(FILE *to)
{
    fprintf(to, "%s\n\nusage: hipboard COMMAND [OPTIONS] [ARGUMENTS]\n\n", program_summary);
    for (const command *const *c = all_commands; *c; c++)
        fprintf(to, "  %-10s %s\n", (*c)->name, (*c)->summary);
    fputs("\n`hipboard COMMAND --help` explains a command.\n", to);
}

static void help(void)
{
    list_commands(stdout);
    putchar('\n');
    print_wrapped(program_notes, 0, HELP_WIDTH);
}

static const command *find(const char *name)
{
    for (const command *const *c = all_commands; *c; c++)
        if (strcmp((*c)->name, name) == 0) return *c;
    return NULL;
}

static int run(const command *c, arguments args)
{
    /* What could not be written was not done. */
    int failed = c == &cmd_compare ? EXIT_TROUBLE : EXIT_FAILED;
    int status = flush_output(c->name, stdout, c->run(&args), failed);
    if (progress_interrupted()) raise(SIGINT); /* now that all is in order, as was asked */
    return status;
}

static int there_is_no(const char *name)
{
    fprintf(stderr, "hipboard: there is no command '%s'; see `hipboard --help`\n", name);
    return EXIT_USAGE;
}

/* `hipboard help NAME` is `hipboard NAME --help`. */
static int help_for(char *name)
{
    char flag[] = "--help";
    char *words[] = {name, flag, NULL};
    const command *c = find(name);
    if (!c) return there_is_no(name);
    return run(c, (arguments){words, 2, EXIT_FINE});
}

int main(int argc, char **argv)
{
    terminal_protect();
    if (argc < 2) {
        list_commands(stderr);
        return EXIT_USAGE;
    }
    setlocale(LC_CTYPE, "C.UTF-8"); /* traces are, whatever the terminal is */
    char *name = argv[1];
    if (strcmp(name, "help") == 0 && argc > 2) return help_for(argv[2]);
    if (strcmp(name, "help") == 0 || strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        help();
        return EXIT_FINE;
    }
    if (strcmp(name, "--version") == 0) {
        printf("hipboard %s\n", hb_version());
        return EXIT_FINE;
    }
    const command *c = find(name);
    if (c) return run(c, (arguments){argv + 1, argc - 1, EXIT_FINE});
    return there_is_no(name);
}
