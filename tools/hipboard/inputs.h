/* SPDX-License-Identifier: MIT
 *
 * The traces that a command line names: files, and the files of log directories.
 */
#ifndef HB_TOOLS_INPUTS_H
#define HB_TOOLS_INPUTS_H

#include <hipboard/ranks.h>

#include "command.h"

/* Traces that are read one by one; more are shown together, or by their digests. */
enum { INPUTS_FEW = 32 };

typedef struct input {
    hb_logdir_file file; /* of a file by itself: `run` and `span` are "" */
    bool in_logdir;
    bool shown;             /* for whoever goes through them */
    char *span;             /* of a digest */
    char *stem;             /* of a file by itself, or of a process in one: its worker */
    size_t process;         /* of a file of another tool, or of `digests` */
    hb_rank_study *digests; /* NULL: it is a trace */
} input;

typedef struct inputs {
    input *items;
    size_t count;
    hb_logdir **logdirs; /* the texts are theirs */
    size_t num_logdirs;
    bool take_digests; /* .hbranks files stand for the ranks that they have digests of */
    hb_rank_study **studies;
    char **runs; /* of each what it is called */
    size_t num_studies;
} inputs;

/** What `paths` stand for; what cannot be read or has no traces is said under the command's name,
 * and makes the exit status EXIT_FAILED. */
int inputs_find(inputs *in, const char *name, const arguments *paths,
                const hb_open_options *options);
void inputs_free(inputs *in);

/** Says under the command's name what digests do not tell, where some were given. */
void tell_digests(const char *name, const inputs *in);

/** Opens a trace. What is wrong with its text, and was lived with, is said under the name of the
 * command, and so is why there is none: NULL. */
hb_trace_file *open_trace(const char *name, const char *path, const hb_open_options *options);
/** The same of an input, which may be one of several processes in a file. */
hb_trace_file *open_input(const char *name, const input *from, const hb_open_options *options);

/** Says so under the command's name when a file has more processes than the first, which alone is
 * shown. */
void tell_processes(const char *name, const char *path);

/** N: the trace has the kernels of one in N launches; 1: all. */
uint64_t kernel_sampling(const hb_trace_file *file);

/** Says so under the command's name. */
void tell_sampling(const char *name, const char *path, const hb_trace_file *file);

/** Says under the command's name why the trace at `path` gave no result, if so. The exit status. */
int tell_result(const char *name, const char *path, hb_result result);

enum inputs_how {
    INPUTS_UNIFY = 1u << 0,   /* as in hb_open_options */
    INPUTS_DIGESTS = 1u << 1, /* as in inputs.take_digests */
    INPUTS_ONE = 1u << 2,     /* what there is for one only; of more none is opened: EXIT_USAGE */
};

typedef hb_result (*input_fn)(void *context, hb_trace_file *file, const input *from);

/** Opens each trace in turn, shows progress, and says what went wrong under the command's name;
 * a trace that cannot be read does not keep the others from being read; an interrupt does, and so
 * does HB_ERROR_INVALID_ARGUMENT, the fault of the command line. The exit status. */
int each_input(const char *name, const arguments *paths, unsigned how, input_fn fn, void *context);

#endif
