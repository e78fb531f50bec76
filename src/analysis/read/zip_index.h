/* SPDX-License-Identifier: MIT
 *
 * The members of a ZIP file, which a pack (.hbpack) is. A file that is not ours, or damaged, is an
 * error and never more memory than it has bytes.
 */
#ifndef HB_READ_ZIP_INDEX_H
#define HB_READ_ZIP_INDEX_H

#include "base/base.h"

typedef struct hb_zip_member {
    const char *name;
    uint64_t begin;        /* of its header in the file */
    uint64_t stored, size; /* bytes in the file, and of the member */
    uint32_t crc;
    uint16_t method;
    bool encrypted;
    int64_t mtime; /* Unix seconds */
} hb_zip_member;

typedef struct hb_zip_index {
    int fd;
    uint64_t file_size;
    hb_zip_member *members; /* sorted by name; directories are left out */
    size_t count;
    char *names;
} hb_zip_index;

/** Whether an open file begins as a ZIP file. */
bool hb_is_zip(int fd);

/** Reads the directory of a file. HB_ERROR_IO, HB_ERROR_FORMAT, HB_ERROR_NO_MEMORY. */
hb_result hb_zip_index_open(hb_zip_index *index, const char *path);
void hb_zip_index_close(hb_zip_index *index);

/** NULL: there is none of that name. */
const hb_zip_member *hb_zip_find(const hb_zip_index *index, const char *name);

/** Where a member's bytes begin. HB_ERROR_FORMAT when it cannot be read: encrypted, of another
 * method, beyond the file. `path` is for messages. */
hb_result hb_zip_begin_of(const hb_zip_index *index, const hb_zip_member *member, const char *path,
                          uint64_t *begin);

#endif
