/* SPDX-License-Identifier: MIT
 *
 * How callers want traces to be opened.
 */
#ifndef HB_LOGDIR_OPEN_OPTIONS_H
#define HB_LOGDIR_OPEN_OPTIONS_H

#include <hipboard/analysis.h>

#include "base/base.h"

/** Copies the caller's options over the defaults. */
hb_result hb_open_options_take(const hb_open_options *from, hb_open_options *to);

/** A caller's progress() as a reader calls it, with a file's path: hb_read_options.progress and its
 * context. */
typedef struct hb_file_progress {
    const hb_open_options *options;
    const char *path;
} hb_file_progress;
bool hb_file_progress_report(void *context, uint64_t bytes, uint64_t total);

#endif
