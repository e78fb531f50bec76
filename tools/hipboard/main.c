/* SPDX-License-Identifier: MIT */
#include "command.h"

#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <hipboard/hipboard.h>

#include "progress.h"

/* In the order in which `hipboard --help` lists them. */
static const struct {
    const char *name, *summary;
    command_fn run;
} commands[] = {
    {"record", "run a program and record it, unchanged", cmd_record},
    {"info", "say what this machine can capture of HIP, and why not more", cmd_info},
    {"table", "print torch's key_averages() table of a trace", cmd_table},
    {"stacks", "print time by call stack, for flame graphs", cmd_stacks},
    {"memory", "show who held memory at its peak, what was left, and bytes over time", cmd_memory},
    {"steps", "print statistics of steps: how long they take, what of, which were slow", cmd_steps},
    {"view", "show what traces tell: steps, operators, kernels, memory, modules, ranks", cmd_view},
    {"check", "say which views the TensorBoard plugin will leave blank, and why", cmd_check},
    {"compare", "say what got slower or faster between runs, and fail past a limit", cmd_compare},
    {"convert", "make traces of any writer fit for the plugin", cmd_convert},
    {"query", "print what the TensorBoard plugin answers", cmd_query},
    {"recover", "make traces of what killed processes left", cmd_recover},
};

enum { NUM_COMMANDS = sizeof commands / sizeof *commands };

static void help(FILE *to)
{
    fputs("torch.profiler for native programs: record, look at and mend traces\n\n"
          "usage: hipboard COMMAND [OPTIONS] [ARGUMENTS]\n\n",
          to);
    for (int i = 0; i < NUM_COMMANDS; i++)
        fprintf(to, "  %-10s %s\n", commands[i].name, commands[i].summary);
    fputs("\n`hipboard COMMAND --help` explains a command. Exit status: 0 done, 1 failed, 2 wrong "
          "usage.\n",
          to);
}

static int find(const char *name)
{
    for (int i = 0; i < NUM_COMMANDS; i++)
        if (strcmp(commands[i].name, name) == 0) return i;
    return -1;
}

/* `hipboard help NAME` is `hipboard NAME --help`. */
static int help_for(const char *name)
{
    char flag[] = "--help", copy[32];
    char *argv[] = {copy, flag, NULL};
    int i = find(name);
    if (i < 0) return usage_error(name, "there is no such command");
    snprintf(copy, sizeof copy, "%s", name);
    return commands[i].run(2, argv);
}

static int run(int i, int argc, char **argv)
{
    /* What could not be written was not done. */
    int failed = commands[i].run == cmd_compare ? EXIT_TROUBLE : EXIT_FAILED;
    int status = flush_output(commands[i].name, stdout, commands[i].run(argc, argv), failed);
    if (progress_interrupted()) raise(SIGINT); /* now that all is in order, as was asked */
    return status;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        help(stderr);
        return EXIT_USAGE;
    }
    setlocale(LC_CTYPE, "C.UTF-8"); /* traces are, whatever the terminal is */
    const char *name = argv[1];
    if (strcmp(name, "help") == 0 && argc > 2) return help_for(argv[2]);
    if (strcmp(name, "help") == 0 || strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        help(stdout);
        return EXIT_FINE;
    }
    if (strcmp(name, "--version") == 0) {
        printf("hipboard %s\n", hb_version());
        return EXIT_FINE;
    }
    int i = find(name);
    if (i >= 0) return run(i, argc - 1, argv + 1);
    fprintf(stderr, "hipboard: there is no command '%s'; see `hipboard --help`\n", name);
    return EXIT_USAGE;
}
