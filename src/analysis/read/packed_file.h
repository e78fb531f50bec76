/* SPDX-License-Identifier: MIT
 *
 * A file to read, by itself or as a member of a pack: "runs.hbpack/run/host_1.pt.trace.json.gz" is
 * the member "run/host_1.pt.trace.json.gz" of the file runs.hbpack.
 */
#ifndef HB_READ_PACKED_FILE_H
#define HB_READ_PACKED_FILE_H

#include <sys/stat.h>

#include "read/zip_index.h"

typedef struct hb_packed_file {
    int fd;
    struct stat st; /* of the file, or of the pack */
    bool packed;
    /* of a member: */
    uint64_t begin, stored, size; /* where its bytes stand, and how many they become */
    bool deflated;
    uint32_t crc; /* of what they become */
} hb_packed_file;

/** As hb_open_to_read(), and members of packs; HB_ERROR_FORMAT of a damaged pack. */
hb_result hb_open_packed(const char *path, hb_packed_file *file);

/** A member; the file is the index's, opened again. HB_ERROR_FORMAT, HB_ERROR_IO. */
hb_result hb_packed_member(const hb_zip_index *index, const hb_zip_member *member, const char *pack,
                           hb_packed_file *file);

/** How much of a path is that of a pack, when it goes on behind a file: the rest names what is in
 * it. 0: it does not. */
size_t hb_pack_part(const char *path);

#endif
