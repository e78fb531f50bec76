/* SPDX-License-Identifier: MIT */
#include "operators/shared_tables.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/files.h"
#include "symbols/own_parts.h"

/* The one that is always there; the others lie beside it. */
#define FIRST "blas.ops"

static int is_table(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && hb_path_ends(entry->d_name, ".ops");
}

hb_result hb_shared_tables_read(hb_op_table *table, hb_op_error_fn error, void *context)
{
    char dir[PATH_MAX], path[PATH_MAX];
    struct dirent **list;
    struct stat st;
    HB_TRY(hb_part_path(FIRST, dir, sizeof dir));
    uid_t installer = stat(dir, &st) == 0 ? st.st_uid : 0;
    *strrchr(dir, '/') = '\0';
    int n = scandir(dir, &list, is_table, alphasort);
    hb_result result = n < 0 ? hb_fail(HB_ERROR_IO, "'%s' can't be listed", dir) : HB_OK;
    for (int i = 0; i < n; i++) {
        int length = snprintf(path, sizeof path, "%s/%s", dir, list[i]->d_name);
        bool fits = length > 0 && (size_t)length < sizeof path;
        if (result == HB_OK && fits && hb_part_may_be_run(path, installer))
            result = hb_op_table_read_file(table, path, false, error, context);
        free(list[i]);
    }
    if (n >= 0) free(list);
    return result;
}
