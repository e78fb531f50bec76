/* SPDX-License-Identifier: MIT */
#include "rank_digests.h"

#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

/* Larger ones take long to read once more, when all ranks wait to be done. */
#define LARGEST_TRACE (INT64_C(1) << 30)

void add_digest(hb_rank_study *study, const char *trace)
{
    struct stat st;
    if (stat(trace, &st) == 0 && st.st_size < LARGEST_TRACE) (void)hb_rank_study_add(study, trace);
}

hb_result keep_digests(hb_rank_study *study, const char *dir)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%.*s/ranks.hbranks", PATH_MAX - 300, dir);
    return hb_rank_study_append(study, path);
}
