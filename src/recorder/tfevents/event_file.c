/* SPDX-License-Identifier: MIT */
#include "tfevents/event_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/files.h"
#include "tfevents/event_records.h"

#define WRITE_SIZE ((size_t)256 << 10)

/* ---- framing ---- */

static void put_little_endian(char *to, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        to[i] = (char)(value >> 8 * i);
}

static uint64_t get_little_endian_64(const char *from)
{
    uint64_t value = 0;
    for (int i = 7; i >= 0; i--)
        value = value << 8 | (unsigned char)from[i];
    return value;
}

size_t hb_record_begin(hb_buf *buf)
{
    size_t start = buf->size;
    if (hb_buf_reserve(buf, HB_RECORD_HEADER)) buf->size += HB_RECORD_HEADER;
    return start;
}

void hb_record_end(hb_buf *buf, size_t start)
{
    char *footer = hb_buf_reserve(buf, HB_RECORD_FOOTER);
    if (buf->failed) {
        buf->size = start;
        return;
    }
    char *header = buf->data + start;
    size_t size = buf->size - start - HB_RECORD_HEADER;
    put_little_endian(header, size, 8);
    put_little_endian(header + 8, hb_crc32c_masked(header, 8), 4);
    put_little_endian(footer, hb_crc32c_masked(header + HB_RECORD_HEADER, size), 4);
    buf->size += HB_RECORD_FOOTER;
}

size_t hb_record_whole(const char *data, size_t size)
{
    const size_t frame = HB_RECORD_HEADER + HB_RECORD_FOOTER;
    size_t whole = 0;
    while (size - whole >= frame) {
        uint64_t length = get_little_endian_64(data + whole);
        if (length > size - whole - frame) break;
        whole += frame + (size_t)length;
    }
    return whole;
}

/* ---- the file ---- */

/* Names end in a number that counts up within the process, and are never taken from another
 * file. */
static hb_result create(hb_event_file *file, int dir_fd, const char *dir, const char *suffix)
{
    static unsigned next_number;
    char host[HOST_NAME_MAX + 1];
    hb_host_name(host, sizeof host);
    int fd;
    do {
        unsigned number = __atomic_fetch_add(&next_number, 1, __ATOMIC_RELAXED);
        int n = snprintf(file->path, sizeof file->path, "%s/events.out.tfevents.%010lld.%s.%d.%u%s",
                         dir, (long long)time(NULL), host, (int)getpid(), number, suffix);
        if (n < 0 || (size_t)n >= sizeof file->path)
            return hb_fail(HB_ERROR_INVALID_ARGUMENT, "event log: file name of %d bytes", n);
        fd = hb_open_file_in(dir_fd, hb_name_in(dir_fd, file->path),
                             O_WRONLY | O_CREAT | O_EXCL | O_APPEND, 0666);
    } while (fd < 0 && errno == EEXIST);
    file->file = hb_kept_file_of(fd);
    if (fd < 0) return hb_fail_errno(HB_ERROR_IO, errno, "creating '%s'", file->path);
    return HB_OK;
}

/* One that was removed takes no more files. */
static bool is_usable(const hb_kept_file *in)
{
    struct stat st;
    return in && hb_kept_file_is_there(in) && fstat(in->fd, &st) == 0 && st.st_nlink > 0;
}

hb_result hb_event_file_open_in(hb_event_file *file, const hb_kept_file *in, const char *dir,
                                const char *suffix)
{
    int dir_fd = is_usable(in) ? in->fd : AT_FDCWD;
    *file = (hb_event_file){.file = HB_NO_KEPT_FILE, .stuck = true};
    hb_buf_init(&file->pending, SIZE_MAX / 2);
    hb_result result = dir_fd == AT_FDCWD ? hb_make_directories(dir) : HB_OK;
    if (result == HB_OK) result = create(file, dir_fd, dir, suffix);
    if (result == HB_OK) {
        hb_event_version(&file->pending, hb_event_now(0).wall_time);
        result = hb_event_file_flush(file);
        if (result == HB_OK) return HB_OK;
        hb_event_file_abandon(file);
        unlinkat(dir_fd, hb_name_in(dir_fd, file->path), 0);
    }
    file->path[0] = '\0';
    return result;
}

hb_result hb_event_file_open(hb_event_file *file, const char *dir, const char *suffix)
{
    return hb_event_file_open_in(file, NULL, dir, suffix);
}

hb_buf *hb_event_file_buffer(hb_event_file *file)
{
    size_t unsent = file->pending.size - file->sent;
    if (unsent >= WRITE_SIZE && !file->stuck) hb_event_file_flush(file);
    return file->stuck && unsent >= HB_EVENT_FILE_BACKLOG ? NULL : &file->pending;
}

/* Moves what is unsent to the front; a buffer that one great record made big is given back. */
static void forget_sent(hb_event_file *file)
{
    hb_buf *pending = &file->pending;
    pending->size -= file->sent;
    if (pending->size > 0)
        memmove(pending->data, pending->data + file->sent, pending->size);
    else if (pending->capacity > 4 * WRITE_SIZE)
        hb_buf_free(pending);
    file->sent = 0;
}

/* The program may have closed it, with all that it did not know. What is found under its name now
 * may be anybody's: a link, a FIFO, another file. */
static bool find_again(hb_event_file *file)
{
    const int flags = O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
    if (hb_kept_file_is_there(&file->file)) return true;
    hb_kept_file found = hb_kept_file_of(hb_open_file(file->path, flags, 0));
    bool is_ours =
        found.fd >= 0 && found.device == file->file.device && found.inode == file->file.inode;
    if (is_ours) {
        file->file = found;
    } else if (found.fd >= 0) {
        hb_kept_file_close(&found);
        errno = ESTALE;
    }
    return is_ours;
}

hb_result hb_event_file_flush(hb_event_file *file)
{
    hb_buf *pending = &file->pending;
    pending->failed = false;
    file->stuck = true;
    if (pending->size > file->sent && !find_again(file))
        return hb_fail_errno(HB_ERROR_IO, errno, "writing '%s'", file->path);
    while (file->sent < pending->size) {
        ssize_t n = hb_write_behind(file->file.fd, file->size, pending->data + file->sent,
                                    pending->size - file->sent);
        if (n < 0) return hb_fail_errno(HB_ERROR_IO, errno, "writing '%s'", file->path);
        file->sent += (size_t)n;
        file->size += (uint64_t)n;
    }
    file->stuck = false;
    forget_sent(file);
    return HB_OK;
}

uint64_t hb_event_file_unsent(const hb_event_file *file)
{
    const hb_buf *pending = &file->pending;
    size_t at = hb_record_whole(pending->data, file->sent);
    uint64_t count = 0;
    for (; at < pending->size; count++)
        at += HB_RECORD_HEADER + get_little_endian_64(pending->data + at) + HB_RECORD_FOOTER;
    return count;
}

hb_result hb_event_file_close(hb_event_file *file)
{
    if (file->file.fd < 0) {
        hb_buf_free(&file->pending);
        return HB_OK;
    }
    hb_result result = hb_event_file_flush(file);
    size_t torn = file->sent - hb_record_whole(file->pending.data, file->sent);
    bool torn_here = torn > 0 && hb_kept_file_is_there(&file->file);
    if (result != HB_OK && torn_here && ftruncate(file->file.fd, (off_t)(file->size - torn)))
        hb_warn("'%s' ends with a part of a record", file->path);
    /* close() tells of delayed errors of network file systems. */
    if (hb_kept_file_close(&file->file) && errno != EINTR && result == HB_OK)
        result = hb_fail_errno(HB_ERROR_IO, errno, "closing '%s'", file->path);
    hb_buf_free(&file->pending);
    return result;
}

void hb_event_file_abandon(hb_event_file *file)
{
    hb_kept_file_close(&file->file);
    hb_buf_free(&file->pending);
    file->sent = 0;
    file->size = 0;
}

void hb_event_file_forget(hb_event_file *file)
{
    hb_kept_file_close(&file->file);
    file->pending.size = 0;
    file->pending.failed = false;
    file->sent = 0;
}
