/* SPDX-License-Identifier: MIT */
#include "profiler/spool_place.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_systems.h"
#include "base/str.h"
#include "base/string_table.h"
#include "record/spool.h"

/* What the user or a job's launcher says, if threads may record there. */
static const char *temporary_directory(void)
{
    const char *temporary = secure_getenv("TMPDIR");
    if (temporary && *temporary == '/' && hb_dir_is_mappable(temporary)) return temporary;
    return hb_dir_is_mappable("/tmp") ? "/tmp" : NULL;
}

static const char *asked_for(void)
{
    const char *dir = secure_getenv("HIPBOARD_SPOOL");
    return dir && *dir ? dir : NULL;
}

/* Told apart by the whole path, which the last part of it makes readable. */
static bool name_below(const char *dir, const char *log_dir, char *path, size_t size)
{
    char full[PATH_MAX];
    if (!realpath(log_dir, full)) return false;
    const char *slash = strrchr(full, '/');
    int n = snprintf(path, size, "%s/hipboard-%u-%.80s-%08x", dir, (unsigned)geteuid(), slash + 1,
                     hb_hash_bytes(full, strlen(full)));
    return n > 0 && (size_t)n < size;
}

static bool find(const char *log_dir, char *path, size_t size)
{
    const char *dir = asked_for();
    if (!dir && hb_dir_is_mappable(log_dir)) {
        int n = snprintf(path, size, "%s", log_dir);
        return n >= 0 && (size_t)n < size;
    }
    if (!dir) dir = temporary_directory();
    return dir && name_below(dir, log_dir, path, size);
}

HB_API hb_result hb_spool_directory(const char *log_dir, char *path, size_t size)
{
    if (!log_dir || !*log_dir || !path || !size)
        return hb_fail(HB_ERROR_INVALID_ARGUMENT, "spool directory: of no log directory");
    if (find(log_dir, path, size)) return HB_OK;
    path[0] = '\0';
    return hb_fail(HB_ERROR_NOT_FOUND,
                   "no directory of this machine's keeps what is recorded for '%s'; the "
                   "environment variable HIPBOARD_SPOOL names one",
                   log_dir);
}

/* Everybody may make something in /tmp: one that is another's is not used. */
static bool is_own(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
           (st.st_mode & 077) == 0;
}

const char *hb_spool_place(const char *log_dir, char *path, size_t size)
{
    if (!log_dir || !*log_dir) return log_dir;
    if (!find(log_dir, path, size)) return "";
    if (strcmp(path, log_dir) == 0) return path;
    const char *dir = asked_for();
    if (dir && access(dir, F_OK) != 0 && hb_make_directories(dir) != HB_OK) return "";
    if (mkdir(path, 0700) != 0 && errno != EEXIST) return "";
    return is_own(path) ? path : "";
}
