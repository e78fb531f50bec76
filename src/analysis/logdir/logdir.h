/* SPDX-License-Identifier: MIT
 *
 * Runs, workers and spans as the plugin finds and names them.
 */
#ifndef HB_LOGDIR_LOGDIR_H
#define HB_LOGDIR_LOGDIR_H

#include <hipboard/analysis.h>

#include "plugin/analysis.h"
#include "plugin/workers.h"
#include "read/json_reader.h"

/** A file that was read and analysed; or not, then `lost` says why. */
typedef struct hb_profile {
    char *path, *worker, *span; /* span: "1", "2", ... or "default" */
    char *raw_span;             /* the digits of the name; NULL: none */
    bool loaded, replaced;      /* replaced: by another file of the same worker and span */
    bool bare_na;               /* the file has N/A where a value should be */
    char *lost;
    hb_trace trace;
    hb_analysis analysis;
} hb_profile;

typedef struct hb_joint {
    const char *span;
    hb_worker *workers;
    hb_distributed distributed;
} hb_joint;

typedef struct hb_run {
    char *name, *dir;
    bool loaded;
    char *lost; /* the plugin does not show the run at all; why */
    bool hangs; /* ... because it never finishes loading it */
    hb_profile *profiles;
    size_t num_profiles;
    hb_joint *joints; /* one a span that has a distributed view */
    size_t num_joints;
} hb_run;

struct hb_logdir {
    hb_open_options options;
    char *path;
    hb_run *runs; /* sorted by name */
    size_t num_runs;
    char **strays; /* paths of .json[.gz] files that the plugin does not see */
    size_t num_strays;
};

hb_result hb_logdir_scan(hb_logdir *logdir);

/** Reads and analyses a run's files, once. Fails only where the machine does; what the plugin would
 * lose is marked so. */
hb_result hb_run_load(hb_logdir *logdir, hb_run *run);
/** One file, as the plugin reads it, if it does: else `lost` is set. */
hb_result hb_profile_load(const hb_open_options *options, hb_profile *profile);
void hb_profile_unload(hb_profile *profile);
/** Appends the text of its file as the plugin hands it out: mended where it had to mend it. */
hb_result hb_profile_text(const hb_profile *profile, hb_buf *text);
void hb_profile_free_names(hb_profile *profile);

void hb_run_unload(hb_run *run);
void hb_run_free(hb_run *run);

#endif
