/* SPDX-License-Identifier: MIT */
#include "import/whole_file.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/files.h"
#include "base/memory_share.h"
#include "read/text_window.h"
#include "read/zstd_stream.h"

static size_t read_bytes(const char *path, char *bytes, size_t size)
{
    int fd = hb_open_regular(path);
    ssize_t n = fd >= 0 ? read(fd, bytes, size) : -1;
    if (fd >= 0) close(fd);
    return n > 0 ? (size_t)n : 0;
}

static bool begins_as_gzip(const char *bytes, size_t size)
{
    return size > 2 && (unsigned char)bytes[0] == 0x1f && (unsigned char)bytes[1] == 0x8b;
}

bool hb_is_compressed(const char *path)
{
    char bytes[4];
    size_t n = read_bytes(path, bytes, sizeof bytes);
    return begins_as_gzip(bytes, n) || hb_begins_as_zstd(bytes, n);
}

/* What `size` bytes of a gzip file are the beginning of. */
static size_t inflate_head(const char *from, size_t from_size, char *to, size_t to_size)
{
    z_stream z = {.next_in = (unsigned char *)(uintptr_t)from,
                  .avail_in = (uInt)from_size,
                  .next_out = (unsigned char *)to,
                  .avail_out = (uInt)to_size};
    if (inflateInit2(&z, 15 + 16) != Z_OK) return 0;
    (void)inflate(&z, Z_SYNC_FLUSH);
    inflateEnd(&z);
    return to_size - z.avail_out;
}

/* Without libzstd what is compressed stays so. */
static size_t expand_head(const char *from, size_t from_size, char *to, size_t to_size)
{
    hb_zstd *zstd;
    bool whole = false;
    hb_zstd_in in = {from, from_size, 0};
    hb_zstd_out out = {to, to_size, 0};
    if (hb_zstd_open(&zstd) != HB_OK) {
        memcpy(to, from, from_size);
        return from_size;
    }
    while (in.at < in.size && out.at < out.size && !whole)
        if (hb_zstd_step(zstd, &in, &out, &whole)) break;
    hb_zstd_close(zstd);
    return out.at;
}

size_t hb_file_head(const char *path, char *head, size_t size)
{
    size_t n = read_bytes(path, head, size);
    bool zstd = hb_begins_as_zstd(head, n);
    if (!zstd && !begins_as_gzip(head, n)) return n;
    char *packed = malloc(n);
    if (!packed) return 0;
    memcpy(packed, head, n);
    n = (zstd ? expand_head : inflate_head)(packed, n, head, size);
    free(packed);
    return n;
}

/* As much as it has when it is opened. */
static bool fill(int fd, char *bytes, size_t size)
{
    for (size_t at = 0; at < size;) {
        ssize_t n = read(fd, bytes + at, size - at);
        if (n <= 0) return false;
        at += (size_t)n;
    }
    return true;
}

/* A file that lies there in plain is read to where it stays. False, and nothing is said: it is to
 * be read as others. */
static bool read_plain(const char *path, char **bytes, size_t *size)
{
    struct stat st;
    int fd = hb_is_compressed(path) ? -1 : hb_open_regular(path);
    bool fits = fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 0 &&
                (uint64_t)st.st_size < hb_memory_share() / 2;
    size_t n = fits ? (size_t)st.st_size : 0;
    char *all = fits ? malloc(n + HB_WHOLE_FILE_ZEROS) : NULL;
    if (all) hb_use_huge_pages(all, n);
    bool done = all && fill(fd, all, n);
    if (fd >= 0) close(fd);
    if (!done) {
        free(all);
        return false;
    }
    memset(all + n, 0, HB_WHOLE_FILE_ZEROS);
    *bytes = all;
    *size = n;
    return true;
}

hb_result hb_whole_file(const char *path, char **bytes, size_t *size)
{
    hb_text text;
    hb_buf all;
    *bytes = NULL;
    *size = 0;
    if (read_plain(path, bytes, size)) return HB_OK;
    HB_TRY(hb_text_open(&text, path, HB_TEXT_AUTO));
    hb_buf_init(&all, hb_memory_share());
    hb_result result = hb_text_read_all(&text, path, &all);
    hb_text_close(&text);
    char *zeros = result == HB_OK ? hb_buf_reserve(&all, HB_WHOLE_FILE_ZEROS) : NULL;
    if (zeros)
        memset(zeros, 0, HB_WHOLE_FILE_ZEROS);
    else if (result == HB_OK)
        result = hb_no_memory();
    if (result != HB_OK) {
        hb_buf_free(&all);
        return result;
    }
    *bytes = all.data;
    *size = all.size;
    return HB_OK;
}
