/* SPDX-License-Identifier: MIT
 *
 * Which process of a parallel job this is, by what its launcher put into the environment.
 */
#ifndef HB_BASE_LAUNCHER_H
#define HB_BASE_LAUNCHER_H

#include "base/base.h"

#define HB_LAUNCHER_UNKNOWN (-1)

/** Names the variable that holds the rank, of a launcher that is not known here. */
#define HB_LAUNCHER_RANK_FROM "HIPBOARD_RANK_FROM"
/** Of `hipboard record`: the process that a rank begins with, by its number. */
#define HB_LAUNCHER_FIRST     "HIPBOARD_RANK_PROCESS"

/** Numbers that are not known are HB_LAUNCHER_UNKNOWN. */
typedef struct hb_launcher {
    int64_t rank, size;
    int64_t local_rank, local_size; /* on this node */
    int64_t node;
    const char *name;    /* "Open MPI", "Slurm"; NULL: no launcher started this */
    const char *backend; /* as torch calls it: "mpi"; NULL: the launcher does not imply one */
} hb_launcher;

/** False when no launcher started this process. */
bool hb_launcher_find(hb_launcher *launcher);

/** Whether this is the process that its rank begins with, and not one that it started. */
bool hb_launcher_is_first_process(void);

/** "<host>_<rank>", the rank with as many digits as the last one has, so that the order of texts
 * is that of ranks; "-<pid>" behind it for all but a rank's first process. "<host>_<pid>" without a
 * launcher, and of a job of one rank. */
void hb_launcher_worker(char *name, size_t size);

#endif
