/* SPDX-License-Identifier: MIT */
#include "command.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <hipboard/hipboard.h>

#include "capture.h"

static const char help[] =
    "usage: hipboard record [-o LOGDIR] [--activities LIST] [--gzip] [--dialect DIALECT] -- \\\n"
    "           PROGRAM [ARGUMENTS...]\n"
    "\n"
    "Runs PROGRAM, unchanged, with hipboard loaded into it. Each of its processes, children and\n"
    "forks included, leaves a trace in LOGDIR: its HIP calls, kernels, copies and memory, its\n"
    "roctx ranges as annotations, and what it marks through hipboard's own interface.\n"
    "\n"
    "  -o, --output LOGDIR  default: hipboard_runs\n"
    "  --activities LIST    of cpu, hip; default: what there is\n"
    "  --gzip               write .pt.trace.json.gz\n"
    "  --dialect DIALECT    tensorboard (default) or kineto\n"
    "  -h, --help           this text\n"
    "\n"
    "The program's output, signals and exit status are its own. A process that is killed, or ends "
    "by\n"
    "_exit() as some shells do, leaves its records; `hipboard recover LOGDIR` makes a trace of "
    "them.\n"
    "Statically linked and set-user-id programs can't be recorded.\n";

typedef struct request {
    const char *dir;
    unsigned activities, flags;
} request;

static bool parse_activities(const char *list, unsigned *activities)
{
    char copy[32], *rest = copy;
    if (snprintf(copy, sizeof copy, "%s", list) >= (int)sizeof copy) return false;
    for (char *one; (one = strsep(&rest, ","));) {
        if (strcmp(one, "cpu") == 0)
            *activities |= HB_ACTIVITY_CPU;
        else if (strcmp(one, "hip") == 0)
            *activities |= HB_ACTIVITY_HIP;
        else
            return false;
    }
    return true;
}

/* Beside this program, as built, or where it is installed. */
static bool find_library(char path[PATH_MAX])
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0) return false;
    self[n] = '\0';
    *strrchr(self, '/') = '\0';
    static const char *const places[] = {"", "/" CAPTURE_FROM_BINDIR};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        int len = snprintf(path, PATH_MAX, "%s%s/" CAPTURE_LIBRARY, self, places[i]);
        if (len < PATH_MAX && access(path, R_OK) == 0) return true;
    }
    return false;
}

static void set_number(const char *name, unsigned value)
{
    char text[16];
    snprintf(text, sizeof text, "%u", value);
    setenv(name, text, 1);
}

static void preload(const char *library)
{
    const char *others = getenv("LD_PRELOAD");
    char *all;
    if (!others || !*others)
        setenv("LD_PRELOAD", library, 1);
    else if (asprintf(&all, "%s:%s", library, others) >= 0) {
        setenv("LD_PRELOAD", all, 1);
        free(all);
    }
}

static int fail(const char *what, const char *why)
{
    fprintf(stderr, "hipboard record: %s: %s\n", what, why);
    return EXIT_FAILED;
}

/* Becomes the program, and so adds nothing between it and whoever waits for it. */
static int run(const request *r, char **program)
{
    char library[PATH_MAX], dir[PATH_MAX];
    if (!find_library(library)) return fail(CAPTURE_LIBRARY, "not found beside this program");
    /* LD_PRELOAD is a list between blanks and colons. */
    if (strpbrk(library, " :"))
        return fail(library, "a path with blanks or colons can't be preloaded");
    if (mkdir(r->dir, 0777) != 0 && errno != EEXIST) return fail(r->dir, strerror(errno));
    if (!realpath(r->dir, dir)) return fail(r->dir, strerror(errno)); /* programs change theirs */
    setenv(CAPTURE_DIR, dir, 1);
    set_number(CAPTURE_ACTIVITIES, r->activities);
    set_number(CAPTURE_FLAGS, r->flags);
    preload(library);
    execvp(program[0], program);
    int error = errno;
    fail(program[0], strerror(error));
    return error == ENOENT ? 127 : 126; /* as shells say it */
}

int cmd_record(int argc, char **argv)
{
    static const struct option options[] = {
        {"output", required_argument, NULL, 'o'}, {"activities", required_argument, NULL, 'a'},
        {"gzip", no_argument, NULL, 'z'},         {"dialect", required_argument, NULL, 'd'},
        {"help", no_argument, NULL, 'h'},         {NULL, 0, NULL, 0},
    };
    request r = {.dir = "hipboard_runs"};
    int option;
    opterr = 0;
    optind = 1;
    while ((option = getopt_long(argc, argv, "+ho:", options, NULL)) != -1) {
        if (option == 'h') {
            fputs(help, stdout);
            return EXIT_FINE;
        }
        if (option == 'o')
            r.dir = optarg;
        else if (option == 'z')
            r.flags |= HB_GZIP;
        else if (option == 'a' && !parse_activities(optarg, &r.activities))
            return usage_error("record", "activities '%s': cpu, hip or cpu,hip", optarg);
        else if (option == 'd' && strcmp(optarg, "kineto") == 0)
            r.flags |= HB_DIALECT_KINETO;
        else if (option == 'd' && strcmp(optarg, "tensorboard") != 0)
            return usage_error("record", "dialect '%s': tensorboard or kineto", optarg);
        else if (option == '?')
            return usage_error("record", "option '%s' is unknown or lacks its value",
                               argv[optind - 1]);
    }
    if (optind == argc) return usage_error("record", "no program is given");
    return run(&r, argv + optind);
}
