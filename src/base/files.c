/* SPDX-License-Identifier: MIT */
#include "base/files.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

static const char *mend(int error_number)
{
    switch (error_number) {
    case ENOSPC:
    case EDQUOT: return " (free some space there or choose another directory)";
    case EACCES:
    case EPERM:
    case EROFS: return " (choose a directory that this user may write to)";
    case ENOTDIR:
    case EEXIST: return " (a file is in the way; move it or choose another directory)";
    case EISDIR: return " (name a file in it)";
    case ENAMETOOLONG: return " (choose a shorter name)";
    default: return "";
    }
}

hb_result hb_fail_file(int error_number, const char *what, const char *path)
{
    return hb_fail_errno(HB_ERROR_IO, error_number, "cannot %s '%s'%s", what, path,
                         mend(error_number));
}

static bool is_directory(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

hb_result hb_make_directories(const char *path)
{
    if (is_directory(path)) return HB_OK;
    if (!*path) return hb_fail_file(ENOENT, "create directory", path);
    char *copy = strdup(path);
    if (!copy) return hb_fail(HB_ERROR_NO_MEMORY, "no memory for the path '%s'", path);
    hb_result result = HB_OK;
    for (char *p = copy + 1; result == HB_OK; p++) {
        if (*p != '/' && *p != '\0') continue;
        char was = *p;
        *p = '\0';
        /* Another rank may be making it too. */
        int error = mkdir(copy, 0777) == 0 ? 0 : errno;
        if (error && !is_directory(copy)) result = hb_fail_file(error, "create directory", copy);
        *p = was;
        if (was == '\0') break;
    }
    free(copy);
    return result;
}

bool hb_path_ends(const char *path, const char *suffix)
{
    size_t n = strlen(path), m = strlen(suffix);
    return n >= m && memcmp(path + n - m, suffix, m) == 0;
}
