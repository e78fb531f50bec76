/* SPDX-License-Identifier: MIT
 *
 * The traces that a command line names: files, and the files of log directories.
 */
#ifndef HB_TOOLS_INPUTS_H
#define HB_TOOLS_INPUTS_H

#include <hipboard/analysis.h>

#include "command.h"

/** Where a trace comes from. */
typedef struct input {
    const char *path;
    const char *run, *worker, *span; /* in a log directory; "" otherwise */
} input;

typedef hb_result (*input_fn)(void *context, hb_trace_file *file, const input *from);

/** Opens each trace in turn, shows progress, and says what went wrong under the command's name;
 * a trace that cannot be read does not keep the others from being read; an interrupt does, and so
 * does HB_ERROR_INVALID_ARGUMENT, the fault of the command line. `unify`: as in hb_open_options. The
 * exit status. */
int each_input(const char *name, const arguments *paths, bool unify, input_fn fn, void *context);

#endif
