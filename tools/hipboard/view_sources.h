/* SPDX-License-Identifier: MIT
 *
 * The traces that paths on a command line stand for.
 */
#ifndef HB_TOOLS_VIEW_SOURCES_H
#define HB_TOOLS_VIEW_SOURCES_H

#include <hipboard/analysis.h>

typedef struct view_source {
    hb_logdir_file file;
    char *worker;   /* of a file by itself: its name without suffixes */
    bool in_logdir; /* else file.run and file.span are "" */
    bool shown;
} view_source;

typedef struct view_sources {
    view_source *items;
    size_t count;
    hb_logdir **logdirs; /* the texts are theirs */
    size_t num_logdirs;
} view_sources;

/** Adds a file, "-", or the files of a log directory. HB_ERROR_NOT_FOUND when there are none. */
hb_result view_sources_add(view_sources *sources, const char *path, const hb_open_options *options);
void view_sources_free(view_sources *sources);

#endif
