/* SPDX-License-Identifier: MIT */
#include "read/packed_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/files.h"
#include "io/zip_format.h"

/* A path cannot go on behind a file: so that one is meant as a pack. */
size_t hb_pack_part(const char *path)
{
    struct stat st;
    size_t size = 0;
    if (stat(path, &st) == 0 || errno != ENOTDIR) return 0;
    char *copy = strdup(path);
    for (char *slash = copy; !size && slash && (slash = strchr(slash + 1, '/')) != NULL;) {
        *slash = 0;
        if (stat(copy, &st) == 0 && S_ISREG(st.st_mode)) size = (size_t)(slash - copy);
        *slash = '/';
    }
    free(copy);
    return size;
}

hb_result hb_packed_member(const hb_zip_index *index, const hb_zip_member *m, const char *pack,
                           hb_packed_file *file)
{
    *file = (hb_packed_file){.fd = -1, .packed = true};
    HB_TRY(hb_zip_begin_of(index, m, pack, &file->begin));
    file->stored = m->stored;
    file->size = m->size;
    file->deflated = m->method != HB_ZIP_STORED;
    file->crc = m->crc;
    file->fd = fcntl(index->fd, F_DUPFD_CLOEXEC, 0);
    return file->fd >= 0 && fstat(file->fd, &file->st) == 0 ? HB_OK
                                                            : hb_fail_file(errno, "open", pack);
}

/* `name` begins with the slash behind the pack's path. What follows is the member's, slashes of an
 * absolute name too; else any number of slashes is one. */
static hb_result find_member(const hb_zip_index *index, const char *pack, const char *name,
                             hb_packed_file *file)
{
    const hb_zip_member *m = hb_zip_find(index, name + 1);
    name += strspn(name, "/");
    if (!m) m = hb_zip_find(index, name);
    return m ? hb_packed_member(index, m, pack, file)
             : hb_fail(HB_ERROR_NOT_FOUND, "%s: it has no '%s'", pack, name);
}

static hb_result open_member(const char *path, size_t pack_size, hb_packed_file *file)
{
    hb_zip_index index;
    char *pack = strndup(path, pack_size);
    hb_result result = pack ? hb_zip_index_open(&index, pack) : hb_no_memory();
    if (result == HB_OK) {
        result = find_member(&index, pack, path + pack_size, file);
        hb_zip_index_close(&index);
    }
    free(pack);
    return result;
}

hb_result hb_open_packed(const char *path, hb_packed_file *file)
{
    size_t pack_size = hb_pack_part(path);
    *file = (hb_packed_file){.fd = -1};
    return pack_size ? open_member(path, pack_size, file)
                     : hb_open_to_read(path, &file->fd, &file->st);
}
