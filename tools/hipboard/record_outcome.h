/* SPDX-License-Identifier: MIT
 *
 * What `hipboard record` tells when the program has ended: its traces, those of what killed
 * processes left, or why there are none.
 */
#ifndef HB_TOOLS_RECORD_OUTCOME_H
#define HB_TOOLS_RECORD_OUTCOME_H

#include <stdbool.h>
#include <stdint.h>

typedef struct recorded_run {
    const char *dir, *full_dir; /* as it was given, and where that is */
    const char *digest_dir;     /* where the job's digests are; NULL: none are made */
    const char *run;            /* tells this run's processes from others */
    unsigned export_flags;      /* of traces that are made of what was left */
    int64_t start_ns;           /* Unix time */
    bool waits_to_be_asked;     /* it records on demand only */
    bool speaks, quiet;
    const char *operators; /* hipboard's own tables, as hb_profiler_options.operators, or NULL */
    int64_t rank;          /* of a job of several; -1: of none */
    int written; /* a file that its processes name their traces in, a line each; -1: none */
    bool killed; /* the program was ended by a signal */
} recorded_run;

/** A file that nobody else sees, for recorded_run.written, and what processes are told of it. */
int open_written(char name[64]);

/** Says where records are kept until they are traces, where that is not the log directory. */
void tell_spool_place(const recorded_run *run);

/** Whether a process of this run is still there, which may start others. */
bool run_has_processes(const char *run);

/** Makes traces of what killed processes left, and says on stderr what there is. */
void tell_outcome(const recorded_run *run, const char *program);

#endif
