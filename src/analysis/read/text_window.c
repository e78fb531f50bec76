/* SPDX-License-Identifier: MIT */
#include "read/text_window.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "base/memory_share.h"
#include "read/inflate.h"

/* A window grows by doubling while one token needs it; this is the largest that is believed. */
#define MAX_WINDOW ((size_t)1 << 30)
#define STEP       ((size_t)1 << 17)

static ssize_t read_some(int fd, char *to, size_t size)
{
    ssize_t n;
    do
        n = read(fd, to, size);
    while (n < 0 && errno == EINTR);
    return n;
}

static ssize_t pread_some(int fd, char *to, size_t size, uint64_t offset)
{
    ssize_t n;
    do
        n = pread(fd, to, size, (off_t)offset);
    while (n < 0 && errno == EINTR);
    return n;
}

static hb_result fail(hb_text *t, hb_result result, const char *error)
{
    t->result = result;
    t->eof = true;
    snprintf(t->error, sizeof t->error, "%s", error);
    return result;
}

static bool grow(hb_text *t, size_t need)
{
    if (need <= t->capacity) return true;
    size_t most = HB_MIN(MAX_WINDOW, hb_memory_share());
    if (need > most) {
        char text[80];
        snprintf(text, sizeof text, "byte %llu: one event or metadata entry is over %zu MiB",
                 (unsigned long long)t->offset, most >> 20);
        fail(t, HB_ERROR_LIMIT, text);
        return false;
    }
    size_t capacity = HB_MAX(t->capacity * 2, need);
    char *buffer = realloc(t->buffer, capacity);
    if (!buffer) {
        fail(t, HB_ERROR_NO_MEMORY, "out of memory");
        return false;
    }
    t->buffer = buffer;
    t->capacity = capacity;
    return true;
}

/* An empty window, which ends in zeros as any other. */
static bool make_window(hb_text *t)
{
    if (!grow(t, STEP + HB_TEXT_ZEROS)) return false;
    t->data = t->buffer;
    t->size = 0;
    memset(t->data, 0, HB_TEXT_ZEROS);
    return true;
}

static size_t fill(hb_text *t, char *to, size_t size)
{
    if (t->inflater) {
        size_t n = hb_inflater_read(t->inflater, to, size);
        const char *error;
        if (n == 0 && hb_inflater_result(t->inflater, &error) != HB_OK)
            fail(t, hb_inflater_result(t->inflater, &error), error);
        return n;
    }
    if (t->seekable) size = (size_t)HB_MIN((uint64_t)size, t->length - t->read_at);
    ssize_t n = t->seekable ? pread_some(t->fd, to, size, t->begin + t->read_at)
                            : read_some(t->fd, to, size);
    if (n < 0) fail(t, HB_ERROR_IO, strerror(errno));
    if (n > 0) t->read_at += (uint64_t)n;
    return n > 0 ? (size_t)n : 0;
}

bool hb_text_more(hb_text *t, size_t keep_from)
{
    if (t->eof) return false;
    size_t keep = t->size - keep_from;
    if (keep_from) memmove(t->buffer, t->buffer + keep_from, keep);
    t->offset += keep_from;
    t->size = keep;
    /* At least as much again as is kept, so that a token read over and over costs linear time. */
    size_t want = HB_MAX(STEP, keep), got = 0;
    if (!grow(t, keep + want + HB_TEXT_ZEROS)) return false;
    while (got < want && !t->eof) {
        size_t n = fill(t, t->buffer + keep + got, want - got);
        if (n == 0) t->eof = true;
        got += n;
    }
    t->data = t->buffer;
    t->size += got;
    memset(t->data + t->size, 0, HB_TEXT_ZEROS);
    return got > 0;
}

static bool begins_as_gzip(const char *head, size_t size)
{
    return size >= 2 && (unsigned char)head[0] == 0x1f && (unsigned char)head[1] == 0x8b;
}

static bool looks_gzipped(int fd, off_t at)
{
    char head[2];
    return pread(fd, head, 2, at) == 2 && begins_as_gzip(head, 2);
}

static bool looks_compressed(int fd, off_t at)
{
    char head[4];
    return looks_gzipped(fd, at) || (pread(fd, head, 4, at) == 4 && hb_begins_as_zstd(head, 4));
}

static hb_result start_inflater(hb_text *t, const hb_inflate_from *from)
{
    t->inflater = hb_inflater_start(from);
    return t->inflater ? HB_OK : hb_fail(HB_ERROR_NO_MEMORY, "cannot start the inflating thread");
}

static hb_result start_stream(hb_text *t, hb_text_form form)
{
    char head[4];
    size_t n = 0;
    hb_inflate_from from = {.fd = t->fd, .head = head};
    while (form != HB_TEXT_PLAIN && n < sizeof head) {
        ssize_t got = read_some(t->fd, head + n, sizeof head - n);
        if (got < 0) return hb_fail_errno(HB_ERROR_IO, errno, "cannot read");
        if (got == 0) break;
        n += (size_t)got;
    }
    bool gzip = begins_as_gzip(head, n), zstd = hb_begins_as_zstd(head, n);
    if (form == HB_TEXT_GZIP && !gzip) return hb_fail(HB_ERROR_FORMAT, "not a gzip file");
    if (zstd) HB_TRY(hb_zstd_open(&from.zstd));
    if (gzip || zstd) {
        from.head_size = n;
        HB_TRY(start_inflater(t, &from));
        n = 0;
    }
    memcpy(t->buffer, head, n);
    t->size = n;
    memset(t->data + n, 0, HB_TEXT_ZEROS);
    return HB_OK;
}

/* A file is read from where it stands, as standard input may have been read from before. */
static bool is_seekable(hb_text *t, const struct stat *st, hb_text_form form)
{
    off_t begin = lseek(t->fd, 0, SEEK_CUR);
    t->total = (uint64_t)st->st_size;
    if (begin < 0 || form == HB_TEXT_GZIP) return false;
    if (form == HB_TEXT_AUTO && looks_compressed(t->fd, begin)) return false;
    t->seekable = true;
    t->begin = (uint64_t)begin;
    t->length = UINT64_MAX; /* to the file's end, which may grow */
    return true;
}

static hb_result start_file(hb_text *t, const struct stat *st, const char *path, hb_text_form form)
{
    if (S_ISREG(st->st_mode) && hb_is_zip(t->fd))
        return hb_fail(HB_ERROR_FORMAT, "'%s' is a pack: name a trace in it, as in '%s/RUN/FILE'",
                       path, path);
    return S_ISREG(st->st_mode) && is_seekable(t, st, form) ? HB_OK : start_stream(t, form);
}

/* Two kinds of members hold a trace: gzip that is stored, and a text that the pack deflated. */
static hb_result start_member(hb_text *t, const hb_packed_file *file, hb_text_form form)
{
    hb_inflate_from from = {.fd = t->fd,
                            .is_member = true,
                            .begin = file->begin,
                            .end = file->begin + file->stored,
                            .raw = file->deflated,
                            .size = file->size,
                            .crc = file->crc};
    bool gzip = !file->deflated && file->stored >= 2 && looks_gzipped(t->fd, (off_t)file->begin);
    t->total = file->stored;
    if (form == HB_TEXT_GZIP && !gzip) return hb_fail(HB_ERROR_FORMAT, "not a gzip file");
    if (file->deflated || (gzip && form != HB_TEXT_PLAIN)) return start_inflater(t, &from);
    t->seekable = true;
    t->begin = file->begin;
    t->length = file->stored;
    return HB_OK;
}

hb_result hb_text_open_file(hb_text *t, const hb_packed_file *file, const char *path,
                            hb_text_form form)
{
    *t = (hb_text){.fd = file->fd, .owns_fd = file->fd != STDIN_FILENO};
    hb_result result = HB_OK;
    if (S_ISDIR(file->st.st_mode))
        result = hb_fail_errno(HB_ERROR_IO, EISDIR, "cannot read '%s'", path);
    else if (!make_window(t))
        result = hb_fail(t->result, "%s", t->error);
    else
        result = file->packed ? start_member(t, file, form) : start_file(t, &file->st, path, form);
    if (result != HB_OK) hb_text_close(t);
    return result;
}

hb_result hb_text_open(hb_text *t, const char *path, hb_text_form form)
{
    hb_packed_file file = {.fd = STDIN_FILENO};
    *t = (hb_text){.fd = STDIN_FILENO};
    if (strcmp(path, "-") != 0)
        HB_TRY(hb_open_packed(path, &file));
    else if (fstat(STDIN_FILENO, &file.st) != 0)
        return hb_fail_errno(HB_ERROR_IO, errno, "cannot read standard input");
    return hb_text_open_file(t, &file, path, form);
}

hb_result hb_text_open_memory(hb_text *t, const char *data, size_t size)
{
    *t = (hb_text){.fd = -1};
    if (!grow(t, size + HB_TEXT_ZEROS)) return hb_fail(t->result, "%s", t->error);
    memcpy(t->buffer, data, size);
    memset(t->buffer + size, 0, HB_TEXT_ZEROS);
    t->data = t->buffer;
    t->size = size;
    t->total = size;
    t->eof = true;
    return HB_OK;
}

void hb_text_seek(hb_text *t, uint64_t offset)
{
    t->offset = t->read_at = offset;
    t->size = 0;
    t->eof = false;
    memset(t->data, 0, HB_TEXT_ZEROS);
}

bool hb_text_open_part(hb_text *part, const hb_text *whole)
{
    *part = (hb_text){.fd = whole->fd,
                      .seekable = true,
                      .begin = whole->begin,
                      .length = whole->length,
                      .total = whole->total};
    return make_window(part);
}

void hb_text_close(hb_text *t)
{
    hb_inflater_stop(t->inflater);
    free(t->buffer);
    if (t->owns_fd) close(t->fd);
    t->inflater = NULL;
    t->buffer = NULL;
    t->owns_fd = false;
}

hb_result hb_text_read_all(hb_text *text, const char *path, hb_buf *all)
{
    do {
        hb_buf_append(all, text->data, text->size);
        if (all->failed && all->size >= all->max / 2)
            return hb_fail(HB_ERROR_LIMIT, "%s: needs more than half of the machine's memory",
                           path);
        if (all->failed) return hb_no_memory();
    } while (hb_text_more(text, text->size));
    return text->result == HB_OK ? HB_OK : hb_fail(text->result, "%s: %s", path, text->error);
}
