/* SPDX-License-Identifier: MIT */
#include "base/files.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

static bool is_directory(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

hb_result hb_make_directories(const char *path)
{
    if (is_directory(path)) return HB_OK;
    char *copy = strdup(path);
    if (!copy) return hb_fail(HB_ERROR_NO_MEMORY, "no memory for the path %s", path);
    int error = 0;
    for (char *p = copy + 1; error == 0; p++) {
        if (*p != '/' && *p != '\0') continue;
        char was = *p;
        *p = '\0';
        /* Another rank may be making it too. */
        if (mkdir(copy, 0777) != 0 && !is_directory(copy)) error = errno;
        *p = was;
        if (was == '\0') break;
    }
    free(copy);
    return error ? hb_fail_errno(HB_ERROR_IO, error, "Can't create directory: %s", path) : HB_OK;
}
