/* SPDX-License-Identifier: MIT */
#include "command.h"

#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <hipboard/hipboard.h>

#include "progress.h"

/* In the order in which `hipboard --help` lists them. */
static const command *const commands[] = {&cmd_record,  &cmd_info,    &cmd_table, &cmd_stacks,
                                          &cmd_memory,  &cmd_steps,   &cmd_view,  &cmd_check,
                                          &cmd_compare, &cmd_convert, &cmd_query, &cmd_recover};

enum { NUM_COMMANDS = sizeof commands / sizeof *commands };

static void help(FILE *to)
{
    fputs("torch.profiler for native programs: record, look at and mend traces\n\n"
          "usage: hipboard COMMAND [OPTIONS] [ARGUMENTS]\n\n",
          to);
    for (int i = 0; i < NUM_COMMANDS; i++)
        fprintf(to, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
    fputs("\n`hipboard COMMAND --help` explains a command. Exit status: 0 done, 1 failed, 2 wrong "
          "usage.\n",
          to);
}

static const command *find(const char *name)
{
    for (int i = 0; i < NUM_COMMANDS; i++)
        if (strcmp(commands[i]->name, name) == 0) return commands[i];
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

/* `hipboard help NAME` is `hipboard NAME --help`. */
static int help_for(char *name)
{
    char flag[] = "--help";
    char *words[] = {name, flag, NULL};
    const command *c = find(name);
    if (!c) return usage_error(name, "there is no such command");
    return run(c, (arguments){words, 2, EXIT_FINE});
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        help(stderr);
        return EXIT_USAGE;
    }
    setlocale(LC_CTYPE, "C.UTF-8"); /* traces are, whatever the terminal is */
    char *name = argv[1];
    if (strcmp(name, "help") == 0 && argc > 2) return help_for(argv[2]);
    if (strcmp(name, "help") == 0 || strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        help(stdout);
        return EXIT_FINE;
    }
    if (strcmp(name, "--version") == 0) {
        printf("hipboard %s\n", hb_version());
        return EXIT_FINE;
    }
    const command *c = find(name);
    if (c) return run(c, (arguments){argv + 1, argc - 1, EXIT_FINE});
    fprintf(stderr, "hipboard: there is no command '%s'; see `hipboard --help`\n", name);
    return EXIT_USAGE;
}
