/* SPDX-License-Identifier: MIT
 *
 * How many trace files of a run stay on disk: when there are more than was said, or they take more
 * than was said, the oldest are removed. Only files that this profiler wrote, and that are still
 * what it wrote.
 */
#ifndef HB_PROFILER_RETENTION_H
#define HB_PROFILER_RETENTION_H

#include "base/base.h"
#include "base/vector.h"
#include "profiler/log_dir.h"

typedef struct hb_kept_trace {
    hb_log_dir *dir; /* that it is in, held; or NULL */
    char *path;
    uint64_t device, inode, bytes;
    uint64_t bytes_beside; /* of its .pftrace, which goes with it */
    int64_t modified_ns;
} hb_kept_trace;

/** The background thread's alone. All zero: every file stays. */
typedef struct hb_retention {
    uint64_t max_files, max_bytes; /* 0: any */
    HB_VEC(hb_kept_trace) traces;  /* oldest first */
    uint64_t bytes;                /* of them all */
    uint64_t removed;              /* files, so far */
    bool warned;
} hb_retention;

/** `max_bytes` 0: what HIPBOARD_MAX_DISK says, "500M"; HB_ERROR_INVALID_ARGUMENT when that is no
 * size. */
hb_result hb_retention_init(hb_retention *r, int64_t max_files, uint64_t max_bytes);

/** A trace was written: it is kept, and what is too old for it to be kept as well goes. `dir`: that
 * it is in, wherever that is by then; NULL: the path leads to it. */
void hb_retention_add(hb_retention *r, hb_log_dir *dir, const char *path);

void hb_retention_free(hb_retention *r);

#endif
