/* SPDX-License-Identifier: MIT
 *
 * Which files are a set: those of a directory whose names begin alike before what they hold, as
 * "4711_" of "4711_kernel_trace.csv", and end alike behind it, as "_rank0" of
 * "kernel_trace_rank0.csv". Whether they belong to it at all their columns tell.
 */
#ifndef HB_IMPORT_ROCPROF_SETS_H
#define HB_IMPORT_ROCPROF_SETS_H

#include "import/import_set.h"

/* A table of a directory. "4711_" of "4711_kernel_trace.csv" is its stem, "_rank0" of
 * "kernel_trace_rank0.csv" its suffix. */
typedef struct hb_rocprof_member {
    const char *name;
    size_t stem;
    hb_str suffix;
    uint32_t root;  /* which one of the directory has the set's stem: the shortest */
    uint32_t first; /* of the set that it is the root of, + 1 */
    uint32_t next;  /* of its set, + 1; 0: it is the last */
} hb_rocprof_member;

/* The set of a file. */
typedef struct hb_rocprof_files {
    const char *directory; /* with its slash; "" */
    const hb_rocprof_member *members, *root;
} hb_rocprof_files;

/** All files that lie beside one and are of its set; of one with another kind of name it alone. */
hb_rocprof_files hb_rocprof_files_of(hb_import *import, const char *path);

static inline bool hb_rocprof_separates(char c)
{
    return c == '_' || c == '.' || c == '-';
}

static inline bool hb_rocprof_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

#endif
