/* SPDX-License-Identifier: MIT */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_USAGE = 2, MAX_EPOCHS = 1000, MAX_BATCH = 1000, MAX_WORKERS = 64, MAX_RANK = 1000000 };

static const char help[] =
    "Usage: digits [OPTION]...\n"
    "Trains a small convolutional network on 1438 handwritten digits, records some steps with\n"
    "hipboard, and tests the network on 359 digits held back. Exit status 1 below 95 %.\n"
    "\n"
    "  --device NAME    cpu, or hip: an AMD GPU (default cpu)\n"
    "  --gemm NAME      how the processor multiplies matrices: ordered, along rows in memory\n"
    "                   (default), or plain, one element after the other\n"
    "  --epochs N       times through the training digits (default 12)\n"
    "  --batch-size N   digits in a step (default 32)\n"
    "  --workers N      threads that prepare batches ahead; 0: the training thread does it\n"
    "                   when it needs one (default 0)\n"
    "  --slow-rank N    rank N of an MPI job waits 20 ms for each batch\n"
    "  --lr X           learning rate at the start; it falls to 0 (default 0.02)\n"
    "  --seed N         of weights, shuffling and augmentation (default 1)\n"
    "  --logdir DIR     where traces go (default runs/digits_workers<N>;\n"
    "                   on a GPU runs/digits_hip_workers<N>)\n"
    "  --gzip           compress the traces\n"
    "  --dialect NAME   tensorboard: for its PyTorch profiler plugin (default);\n"
    "                   kineto: exactly as torch writes, for other tools\n"
    "  --with-stack     record call stacks\n"
    "  --report FILE    write what the program itself counted, as JSON\n"
    "  --data FILE      the digits (default digits.csv.gz beside the program)\n"
    "  --kernels FILE   the GPU's code (default kernels.hipfb beside the program)\n"
    "  --check-device   only start the AMD GPU and name it; exit status 1 if that fails\n"
    "  --help           this text\n";

__attribute__((noreturn)) static void refuse(const char *option, const char *text, const char *want)
{
    fprintf(stderr, "digits: --%s: \"%s\" is not %s\n", option, text, want);
    exit(EXIT_USAGE);
}

static int64_t whole_number(const char *option, const char *text, int64_t low, int64_t high)
{
    char *end, want[64];
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (*text && !*end && !errno && value >= low && value <= high) return value;
    snprintf(want, sizeof want, "a whole number from %lld to %lld", (long long)low,
             (long long)high);
    refuse(option, text, want);
}

static float positive_number(const char *option, const char *text)
{
    char *end;
    float value = strtof(text, &end);
    if (end == text || *end || !isfinite(value) || value <= 0)
        refuse(option, text, "a number above 0");
    return value;
}

static bool is_hip(const char *text)
{
    if (strcmp(text, "hip") == 0) return true;
    if (strcmp(text, "cpu") == 0) return false;
    refuse("device", text, "cpu or hip");
}

static bool is_kineto(const char *text)
{
    if (strcmp(text, "kineto") == 0) return true;
    if (strcmp(text, "tensorboard") == 0) return false;
    refuse("dialect", text, "tensorboard or kineto");
}

static bool is_plain(const char *text)
{
    if (strcmp(text, "plain") == 0) return true;
    if (strcmp(text, "ordered") == 0) return false;
    refuse("gemm", text, "ordered or plain");
}

/* A word that must say something. */
static const char *path_argument(const char *option, const char *text)
{
    if (!*text) refuse(option, text, "a path");
    return text;
}

/* Its files stand beside the program, wherever that is started from. */
static const char *beside_program(char path[PATH_MAX + NAME_MAX + 1], const char *name)
{
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX);
    while (length > 0 && path[length - 1] != '/')
        length--;
    strcpy(path + (length > 0 ? length : 0), name);
    return path;
}

static const char *default_logdir(const struct options *o)
{
    static char path[64];
    snprintf(path, sizeof path, "runs/digits_%sworkers%d", o->hip ? "hip_" : "", o->workers);
    return path;
}

static const struct option long_options[] = {
    {"device", required_argument, NULL, 'g'},  {"kernels", required_argument, NULL, 'k'},
    {"check-device", no_argument, NULL, 'c'},  {"gemm", required_argument, NULL, 'm'},
    {"epochs", required_argument, NULL, 'e'},  {"batch-size", required_argument, NULL, 'b'},
    {"workers", required_argument, NULL, 'w'}, {"slow-rank", required_argument, NULL, 'q'},
    {"lr", required_argument, NULL, 'l'},      {"seed", required_argument, NULL, 's'},
    {"logdir", required_argument, NULL, 'o'},  {"gzip", no_argument, NULL, 'z'},
    {"dialect", required_argument, NULL, 'd'}, {"with-stack", no_argument, NULL, 't'},
    {"report", required_argument, NULL, 'r'},  {"data", required_argument, NULL, 'i'},
    {"help", no_argument, NULL, 'h'},          {0},
};

static void set_option(struct options *o, int which)
{
    switch (which) {
    case 'm': o->plain_gemm = is_plain(optarg); break;
    case 'e': o->epochs = whole_number("epochs", optarg, 1, MAX_EPOCHS); break;
    case 'b': o->batch_size = whole_number("batch-size", optarg, 1, MAX_BATCH); break;
    case 'w': o->workers = (int)whole_number("workers", optarg, 0, MAX_WORKERS); break;
    case 'q': o->slow_rank = (int)whole_number("slow-rank", optarg, 0, MAX_RANK); break;
    case 'l': o->lr = positive_number("lr", optarg); break;
    case 's': o->seed = (uint64_t)whole_number("seed", optarg, 0, INT64_MAX); break;
    case 'o': o->logdir = path_argument("logdir", optarg); break;
    case 'z': o->gzip = true; break;
    case 'd': o->kineto = is_kineto(optarg); break;
    case 't': o->with_stack = true; break;
    case 'r': o->report = path_argument("report", optarg); break;
    case 'i': o->data = path_argument("data", optarg); break;
    case 'g': o->hip = is_hip(optarg); break;
    case 'k': o->code = path_argument("kernels", optarg); break;
    case 'c': o->check_device = true; break;
    case 'h': fputs(help, stdout); exit(EXIT_SUCCESS);
    default: fputs("digits: --help lists the options\n", stderr); exit(EXIT_USAGE);
    }
}

void options_parse(struct options *options, int argc, char **argv)
{
    static char data[PATH_MAX + NAME_MAX + 1], code[PATH_MAX + NAME_MAX + 1];
    *options =
        (struct options){.epochs = 12, .batch_size = 32, .lr = 0.02f, .seed = 1, .slow_rank = -1};
    for (int which; (which = getopt_long(argc, argv, "", long_options, NULL)) != -1;)
        set_option(options, which);
    if (optind < argc) {
        fprintf(stderr, "digits: unexpected argument \"%s\"; --help lists the options\n",
                argv[optind]);
        exit(EXIT_USAGE);
    }
    if (!options->data) options->data = beside_program(data, "digits.csv.gz");
    if (!options->code) options->code = beside_program(code, "kernels.hipfb");
    if (!options->logdir) options->logdir = default_logdir(options);
}
