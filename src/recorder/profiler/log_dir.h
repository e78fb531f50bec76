/* SPDX-License-Identifier: MIT
 *
 * The directory that a handler writes to: one place, whatever becomes of its name. The program may
 * change its working directory or its root, and others may rename directories.
 */
#ifndef HB_PROFILER_LOG_DIR_H
#define HB_PROFILER_LOG_DIR_H

#include "base/files.h"
#include "base/lock.h"

/** Shared by a handler and the traces on their way into it; its last holder frees it. */
typedef struct hb_log_dir {
    char *path;       /* from malloc, as it was given until hb_log_dir_fix() */
    hb_lock lock;     /* of `dir`, which a start opens while earlier cycles are still written */
    hb_kept_file dir; /* when it was opened */
    atomic_uint holders;
} hb_log_dir;

/** With one holder. NULL without memory. */
hb_log_dir *hb_log_dir_new(const char *path);
/** One holder more. Makes no system call, as all the rest do. `d` may be NULL. */
hb_log_dir *hb_log_dir_share(hb_log_dir *d);
/** One holder less. `d` may be NULL. */
void hb_log_dir_drop(hb_log_dir *d);

/** Makes the path absolute. Before it is shared. */
hb_result hb_log_dir_fix(hb_log_dir *d);

/** Makes the directory if need be, and keeps it open. HB_ERROR_IO when it can't be made or written
 * to: its path is then all that is known of it. */
hb_result hb_log_dir_open(hb_log_dir *d);

/** A path of it that works now, also after a renaming; for calls that want one. `buf` has room for
 * HB_LOG_DIR_BUF bytes and must live as long as the result. */
#define HB_LOG_DIR_BUF 32
const char *hb_log_dir_path(hb_log_dir *d, char buf[HB_LOG_DIR_BUF]);

/** The open directory once more, or HB_NO_KEPT_FILE when `d` is NULL or it was removed;
 * hb_kept_file_close(). */
hb_kept_file hb_log_dir_keep(hb_log_dir *d);

#endif
