/* SPDX-License-Identifier: MIT
 *
 * The directory that a handler writes to: one place, whatever becomes of its name. The program may
 * change its working directory or its root, and others may rename directories.
 */
#ifndef HB_PROFILER_LOG_DIR_H
#define HB_PROFILER_LOG_DIR_H

#include "base/files.h"

typedef struct hb_log_dir {
    char *path;       /* from malloc, as it was given until hb_log_dir_fix(); NULL: no memory */
    hb_kept_file dir; /* when it was opened */
} hb_log_dir;

void hb_log_dir_init(hb_log_dir *d, const char *path);
void hb_log_dir_free(hb_log_dir *d);

/** Makes the path absolute. */
hb_result hb_log_dir_fix(hb_log_dir *d);

/** Makes the directory if need be, and keeps it open. HB_ERROR_IO when it can't be made or written
 * to: its path is then all that is known of it. */
hb_result hb_log_dir_open(hb_log_dir *d);

/** A path of it that works now, also after a renaming; for calls that want one. `buf` has room for
 * HB_LOG_DIR_BUF bytes and must live as long as the result. */
#define HB_LOG_DIR_BUF 32
const char *hb_log_dir_path(const hb_log_dir *d, char buf[HB_LOG_DIR_BUF]);

/** The open directory once more, for who lives longer, or HB_NO_KEPT_FILE; hb_kept_file_close(). */
hb_kept_file hb_log_dir_keep(const hb_log_dir *d);

#endif
