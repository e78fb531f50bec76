/* SPDX-License-Identifier: MIT */
#include "page/page_files.h"

#define ZLIB_CONST
#include <zlib.h>

static hb_result inflate_file(const hb_page_file *file, hb_buf *buf)
{
    z_stream z = {.next_in = file->gzip, .avail_in = (uInt)file->gzip_size};
    char *to = hb_buf_reserve(buf, file->size);
    if (!to || inflateInit2(&z, 15 + 16) != Z_OK) return hb_no_memory();
    z.next_out = (unsigned char *)to;
    z.avail_out = (uInt)file->size;
    int result = inflate(&z, Z_FINISH);
    inflateEnd(&z);
    if (result != Z_STREAM_END) return hb_no_memory();
    buf->size += file->size;
    return HB_OK;
}

hb_result hb_page_file_text(const char *name, hb_buf *buf, const char **type)
{
    for (size_t i = 0; i < hb_num_page_files; i++) {
        if (strcmp(hb_page_files[i].name, name) != 0) continue;
        if (type) *type = hb_page_files[i].type;
        return inflate_file(&hb_page_files[i], buf);
    }
    return hb_fail(HB_ERROR_NOT_FOUND, "the page has no file '%s'", name);
}

size_t hb_page_frame_size(void)
{
    size_t size = 0;
    for (size_t i = 0; i < hb_num_page_files; i++)
        if (strncmp(hb_page_files[i].name, "report.", 7) == 0) size += hb_page_files[i].size;
    return size;
}
