/* SPDX-License-Identifier: MIT
 *
 * An export in several files: where each process is cut, and the files one after the other.
 */
#ifndef HB_EXPORT_SPLIT_EXPORT_H
#define HB_EXPORT_SPLIT_EXPORT_H

#include "base/arena.h"
#include "export/exporter.h"

typedef HB_VEC(const char *) hb_export_paths;

/** What is exported, of sources made by hb_select_events() as movable. */
typedef struct hb_split {
    hb_arena *arena;
    hb_source **sources; /* of the processes */
    size_t num_sources;
    const char *output;
    const hb_export_options *options;
    hb_result (*open)(const char *output, const hb_export_options *options, hb_exporter **exporter);
    hb_export_counts counts;
    hb_export_paths paths; /* of the files written */
} hb_split;

bool hb_export_is_split(const hb_export_options *options);

/** Writes all files. Leaves by the arena. */
void hb_write_split(hb_split *split);

#endif
