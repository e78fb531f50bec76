/* SPDX-License-Identifier: MIT */
#include "io/zip_writer.h"

#include <stdlib.h>
#include <time.h>

#include "io/crc32.h"
#include "io/zip_format.h"

enum {
    BLOCK = 64 << 10,
    RAW_WINDOW = -15,
    MEMORY_LEVEL = 9,
    VERSION_PLAIN = 20, /* 2.0: deflate */
    VERSION_64 = 45,    /* 4.5: 64-bit sizes */
    MADE_BY_UNIX = 3 << 8,
    FILE_MODE = 0100644,
    MAX_NAME = UINT16_MAX,
    TIME_SIZE = 9, /* of the extra field of the time */
};

static hb_result put(hb_zip_writer *zip, const void *data, size_t size)
{
    zip->offset += size;
    return zip->below->write(zip->below, data, size);
}

/* ---- a member's bytes ---- */

static hb_result put_stored(hb_zip_writer *zip, const void *data, size_t size)
{
    zip->stored += size;
    return put(zip, data, size);
}

/* All that zlib makes of what it has been given. */
static hb_result pump(hb_zip_writer *zip, int flush)
{
    do {
        zip->z.next_out = zip->block;
        zip->z.avail_out = BLOCK;
        if (deflate(&zip->z, flush) == Z_STREAM_ERROR)
            return hb_fail(HB_ERROR_STATE, "deflate lost its state");
        HB_TRY(put_stored(zip, zip->block, BLOCK - zip->z.avail_out));
    } while (zip->z.avail_out == 0);
    return HB_OK;
}

static hb_result write_bytes(hb_sink *sink, const void *data, size_t size)
{
    enum { MOST = 1 << 30 }; /* zlib counts in 32 bits */
    hb_zip_writer *zip = (hb_zip_writer *)sink;
    const unsigned char *at = data;
    while (size) {
        uInt n = (uInt)HB_MIN(size, (size_t)MOST);
        zip->crc = hb_crc32(zip->crc, at, n);
        zip->size += n;
        zip->z.next_in = at;
        zip->z.avail_in = n;
        HB_TRY(zip->entry->deflate ? pump(zip, Z_NO_FLUSH) : put_stored(zip, at, n));
        at += n;
        size -= n;
    }
    return HB_OK;
}

/* ---- headers ---- */

/* Times of DOS have no zone; taken for UTC, and two seconds long. The exact one stands beside. */
static uint32_t dos_time(int64_t mtime)
{
    enum { FIRST = 315532800 /* 1980 */, DOS_EPOCH = 1 << 21 | 1 << 16, LAST_YEAR = 2107 };
    struct tm t;
    time_t time = (time_t)mtime;
    if (mtime < FIRST || !gmtime_r(&time, &t) || t.tm_year + 1900 > LAST_YEAR) return DOS_EPOCH;
    return (uint32_t)(t.tm_year - 80) << 25 | (uint32_t)(t.tm_mon + 1) << 21 |
           (uint32_t)t.tm_mday << 16 | (uint32_t)t.tm_hour << 11 | (uint32_t)t.tm_min << 5 |
           (uint32_t)t.tm_sec / 2;
}

static unsigned char *put_time(unsigned char *p, int64_t mtime)
{
    p = hb_zip_put_16(p, HB_ZIP_EXTRA_TIME);
    p = hb_zip_put_16(p, TIME_SIZE - 4);
    *p++ = 1; /* only the time of the last change */
    return hb_zip_put_32(p, (uint32_t)mtime);
}

/* Version, flags, method and time, which are the same in both headers. */
static unsigned char *put_kind(unsigned char *p, const hb_zip_entry *e)
{
    p = hb_zip_put_16(p, e->large ? VERSION_64 : VERSION_PLAIN);
    p = hb_zip_put_16(p, HB_ZIP_SIZES_BEHIND | HB_ZIP_UTF8);
    p = hb_zip_put_16(p, e->deflate ? HB_ZIP_DEFLATED : HB_ZIP_STORED);
    return hb_zip_put_32(p, dos_time(e->mtime));
}

static hb_result put_header(hb_zip_writer *zip)
{
    enum { SIZES_64 = 4 + 16 };
    unsigned char head[HB_ZIP_MEMBER_SIZE + SIZES_64 + TIME_SIZE], *p = head;
    const hb_zip_entry *e = zip->entry;
    uint32_t unknown = e->large ? UINT32_MAX : 0; /* the sizes, which stand behind the bytes */
    p = put_kind(hb_zip_put_32(p, HB_ZIP_MEMBER), e);
    p = hb_zip_put_32(hb_zip_put_32(hb_zip_put_32(p, 0), unknown), unknown);
    p = hb_zip_put_16(p, (uint32_t)strlen(e->name));
    p = hb_zip_put_16(p, TIME_SIZE + (e->large ? SIZES_64 : 0));
    HB_TRY(put(zip, head, HB_ZIP_MEMBER_SIZE));
    HB_TRY(put(zip, e->name, strlen(e->name)));
    p = head;
    if (e->large) {
        p = hb_zip_put_16(hb_zip_put_16(p, HB_ZIP_EXTRA_64), 16);
        p = hb_zip_put_64(hb_zip_put_64(p, 0), 0);
    }
    p = put_time(p, e->mtime);
    return put(zip, head, (size_t)(p - head));
}

static hb_result put_sizes(hb_zip_writer *zip)
{
    unsigned char tail[24], *p = tail;
    p = hb_zip_put_32(hb_zip_put_32(p, HB_ZIP_SIZES), zip->crc);
    if (zip->entry->large)
        p = hb_zip_put_64(hb_zip_put_64(p, zip->stored), zip->size);
    else
        p = hb_zip_put_32(hb_zip_put_32(p, (uint32_t)zip->stored), (uint32_t)zip->size);
    return put(zip, tail, (size_t)(p - tail));
}

static bool is_large(uint64_t v)
{
    return v >= UINT32_MAX;
}

static uint32_t in_32(uint64_t v)
{
    return is_large(v) ? UINT32_MAX : (uint32_t)v;
}

static void add_entry(hb_zip_writer *zip)
{
    enum { EXTRA_64 = 4 + 24 };
    unsigned char entry[HB_ZIP_ENTRY_SIZE], extra[EXTRA_64 + TIME_SIZE], *p = entry, *x = extra + 4;
    const hb_zip_entry *e = zip->entry;
    const uint64_t values[] = {zip->size, zip->stored, zip->begin};
    for (size_t i = 0; i < HB_ARRAY_LEN(values); i++)
        if (is_large(values[i])) x = hb_zip_put_64(x, values[i]);
    size_t size_64 = (size_t)(x - extra) - 4;
    hb_zip_put_16(hb_zip_put_16(extra, HB_ZIP_EXTRA_64), (uint32_t)size_64);
    x = put_time(size_64 ? x : extra, e->mtime);

    p = hb_zip_put_16(hb_zip_put_32(p, HB_ZIP_ENTRY), MADE_BY_UNIX | VERSION_64);
    p = hb_zip_put_32(put_kind(p, e), zip->crc);
    p = hb_zip_put_32(hb_zip_put_32(p, in_32(zip->stored)), in_32(zip->size));
    p = hb_zip_put_16(p, (uint32_t)strlen(e->name));
    p = hb_zip_put_16(p, (uint32_t)(x - extra));
    p = hb_zip_put_16(hb_zip_put_32(p, 0), 0); /* no comment, the first disk, no text */
    p = hb_zip_put_32(p, (uint32_t)FILE_MODE << 16);
    hb_zip_put_32(p, in_32(zip->begin));
    hb_buf_append(&zip->directory, entry, sizeof entry);
    hb_buf_str(&zip->directory, e->name);
    hb_buf_append(&zip->directory, extra, (size_t)(x - extra));
}

/* ---- members ---- */

hb_result hb_zip_open(hb_zip_writer *zip, hb_sink *below)
{
    *zip = (hb_zip_writer){.sink.write = write_bytes, .below = below};
    hb_buf_init(&zip->directory, SIZE_MAX / 4);
    zip->block = malloc(BLOCK);
    if (zip->block && deflateInit2(&zip->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, RAW_WINDOW,
                                   MEMORY_LEVEL, Z_DEFAULT_STRATEGY) == Z_OK)
        return HB_OK;
    free(zip->block);
    zip->block = NULL;
    return hb_no_memory();
}

hb_result hb_zip_begin(hb_zip_writer *zip, const hb_zip_entry *entry)
{
    size_t length = strlen(entry->name);
    if (length == 0 || length > MAX_NAME)
        return hb_fail(HB_ERROR_INVALID_ARGUMENT, "a name of %zu bytes is no file's", length);
    deflateReset(&zip->z);
    zip->entry = entry;
    zip->begin = zip->offset;
    zip->size = zip->stored = zip->crc = 0;
    return put_header(zip);
}

hb_result hb_zip_end(hb_zip_writer *zip)
{
    zip->z.avail_in = 0;
    if (zip->entry->deflate) HB_TRY(pump(zip, Z_FINISH));
    if (!zip->entry->large && (is_large(zip->size) || is_large(zip->stored)))
        return hb_fail(HB_ERROR_LIMIT, "'%s' became larger than 4 GiB", zip->entry->name);
    HB_TRY(put_sizes(zip));
    add_entry(zip);
    zip->num_members++;
    return zip->directory.failed ? hb_no_memory() : HB_OK;
}

static unsigned char *put_end_64(unsigned char *p, const hb_zip_writer *zip, uint64_t begin)
{
    uint64_t end = begin + zip->directory.size;
    p = hb_zip_put_64(hb_zip_put_32(p, HB_ZIP_END64), HB_ZIP_END64_SIZE - 12);
    p = hb_zip_put_16(hb_zip_put_16(p, MADE_BY_UNIX | VERSION_64), VERSION_64);
    p = hb_zip_put_32(hb_zip_put_32(p, 0), 0);
    p = hb_zip_put_64(hb_zip_put_64(p, zip->num_members), zip->num_members);
    p = hb_zip_put_64(hb_zip_put_64(p, zip->directory.size), begin);
    p = hb_zip_put_32(hb_zip_put_32(p, HB_ZIP_LOCATOR64), 0);
    return hb_zip_put_32(hb_zip_put_64(p, end), 1);
}

hb_result hb_zip_finish(hb_zip_writer *zip)
{
    unsigned char tail[HB_ZIP_END64_SIZE + HB_ZIP_LOCATOR64_SIZE + HB_ZIP_END_SIZE], *p = tail;
    uint64_t begin = zip->offset;
    uint32_t count = (uint32_t)HB_MIN(zip->num_members, (uint64_t)UINT16_MAX);
    HB_TRY(put(zip, zip->directory.data, zip->directory.size));
    if (count == UINT16_MAX || is_large(begin) || is_large(zip->directory.size))
        p = put_end_64(p, zip, begin);
    p = hb_zip_put_32(hb_zip_put_32(p, HB_ZIP_END), 0);
    p = hb_zip_put_16(hb_zip_put_16(p, count), count);
    p = hb_zip_put_32(hb_zip_put_32(p, in_32(zip->directory.size)), in_32(begin));
    p = hb_zip_put_16(p, 0);
    return put(zip, tail, (size_t)(p - tail));
}

void hb_zip_free(hb_zip_writer *zip)
{
    if (zip->block) deflateEnd(&zip->z);
    free(zip->block);
    hb_buf_free(&zip->directory);
    zip->block = NULL;
}
