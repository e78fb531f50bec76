/* SPDX-License-Identifier: MIT */
#include "read/zip_index.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/files.h"
#include "io/zip_format.h"

enum {
    MAX_COMMENT = UINT16_MAX, /* behind the end record */
    MAX_TAIL = HB_ZIP_LOCATOR64_SIZE + HB_ZIP_END_SIZE + MAX_COMMENT,
};

typedef struct bytes {
    const unsigned char *at, *end;
} bytes;

static hb_result damaged(const char *path, const char *what)
{
    return hb_fail(HB_ERROR_FORMAT, "%s: damaged pack: %s", path, what);
}

/* `error`: that reading met, or 0. What a disk does not give may be whole there. */
static hb_result unread(int error, const char *path, const char *what)
{
    return error ? hb_fail_file(error, "read", path) : damaged(path, what);
}

/* Leaves errno 0 but for what reading met: a file that ends is no error. */
static bool read_at(int fd, void *to, size_t size, uint64_t offset)
{
    char *p = to;
    errno = 0;
    while (size) {
        ssize_t n = pread(fd, p, size, (off_t)offset);
        if (n >= 0 || errno == EINTR) errno = 0;
        if (n < 0 && !errno) continue;
        if (n <= 0) return false;
        p += n;
        size -= (size_t)n;
        offset += (uint64_t)n;
    }
    return true;
}

bool hb_is_zip(int fd)
{
    unsigned char head[4];
    if (!read_at(fd, head, sizeof head, 0)) return false;
    uint32_t signature = hb_zip_32(head);
    return signature == HB_ZIP_MEMBER || signature == HB_ZIP_END || signature == HB_ZIP_END64;
}

/* ---- where the directory is ---- */

typedef struct directory {
    uint64_t begin, size, count;
} directory;

static const unsigned char *find_end(const unsigned char *tail, size_t size)
{
    for (size_t back = HB_ZIP_END_SIZE; back <= size; back++) {
        const unsigned char *p = tail + size - back;
        if (hb_zip_32(p) == HB_ZIP_END && hb_zip_16(p + 20) == back - HB_ZIP_END_SIZE) return p;
    }
    return NULL;
}

static bool read_end_64(const hb_zip_index *index, const unsigned char *locator, directory *d)
{
    unsigned char end[HB_ZIP_END64_SIZE];
    uint64_t at = hb_zip_64(locator + 8);
    errno = 0;
    if (at > index->file_size || index->file_size - at < sizeof end ||
        !read_at(index->fd, end, sizeof end, at) || hb_zip_32(end) != HB_ZIP_END64)
        return false;
    *d = (directory){hb_zip_64(end + 48), hb_zip_64(end + 40), hb_zip_64(end + 32)};
    return true;
}

static hb_result find_directory(const hb_zip_index *index, const char *path, directory *d)
{
    unsigned char *tail = malloc(MAX_TAIL);
    size_t size = (size_t)HB_MIN(index->file_size, (uint64_t)MAX_TAIL);
    const char *wrong = NULL;
    int error = 0;
    if (!tail) return hb_no_memory();
    const unsigned char *end =
        read_at(index->fd, tail, size, index->file_size - size) ? find_end(tail, size) : NULL;
    if (!end) {
        error = errno;
        wrong = "it has no end: it was cut off, or is still being written";
    } else {
        *d = (directory){hb_zip_32(end + 16), hb_zip_32(end + 12), hb_zip_16(end + 10)};
        const unsigned char *locator = end - HB_ZIP_LOCATOR64_SIZE;
        bool is_64 = locator >= tail && hb_zip_32(locator) == HB_ZIP_LOCATOR64;
        if (is_64 && !read_end_64(index, locator, d)) {
            error = errno;
            wrong = "its end is not where it says";
        }
    }
    free(tail);
    if (!wrong && (d->begin > index->file_size || d->size > index->file_size - d->begin ||
                   d->count > d->size / HB_ZIP_ENTRY_SIZE))
        wrong = "its directory is not in it";
    return wrong ? unread(error, path, wrong) : HB_OK;
}

/* ---- its entries ---- */

static void take_64(hb_zip_member *m, bytes field)
{
    uint64_t *const values[] = {&m->size, &m->stored, &m->begin};
    for (size_t i = 0; i < HB_ARRAY_LEN(values); i++) {
        if (*values[i] != UINT32_MAX || field.end - field.at < 8) continue;
        *values[i] = hb_zip_64(field.at);
        field.at += 8;
    }
}

static void take_extra(hb_zip_member *m, bytes extra)
{
    while (extra.end - extra.at >= 4) {
        unsigned id = hb_zip_16(extra.at), size = hb_zip_16(extra.at + 2);
        bytes field = {extra.at + 4, extra.at + 4 + size};
        if (field.end > extra.end) return;
        if (id == HB_ZIP_EXTRA_64) take_64(m, field);
        if (id == HB_ZIP_EXTRA_TIME && size >= 5 && field.at[0] & 1)
            m->mtime = (int32_t)hb_zip_32(field.at + 1);
        extra.at = field.end;
    }
}

static int64_t unix_time(uint32_t dos)
{
    struct tm t = {.tm_year = (int)(dos >> 25) + 80,
                   .tm_mon = (int)(dos >> 21 & 15) - 1,
                   .tm_mday = (int)(dos >> 16 & 31),
                   .tm_hour = (int)(dos >> 11 & 31),
                   .tm_min = (int)(dos >> 5 & 63),
                   .tm_sec = (int)(dos & 31) * 2};
    return timegm(&t);
}

/* Names as those of directories end in a slash. */
static bool is_directory(const char *name, size_t size)
{
    return size == 0 || name[size - 1] == '/';
}

/* `names` has room for all names of the directory, each with an end. */
static bool take_entry(hb_zip_index *index, bytes *left, char **names)
{
    const unsigned char *p = left->at;
    if (left->end - p < HB_ZIP_ENTRY_SIZE || hb_zip_32(p) != HB_ZIP_ENTRY) return false;
    size_t name_size = hb_zip_16(p + 28), extra_size = hb_zip_16(p + 30);
    size_t whole = HB_ZIP_ENTRY_SIZE + name_size + extra_size + hb_zip_16(p + 32);
    const char *name = (const char *)p + HB_ZIP_ENTRY_SIZE;
    if ((size_t)(left->end - p) < whole || memchr(name, 0, name_size)) return false;
    left->at += whole;
    if (is_directory(name, name_size)) return true;
    hb_zip_member *m = &index->members[index->count++];
    *m = (hb_zip_member){.name = *names,
                         .begin = hb_zip_32(p + 42),
                         .stored = hb_zip_32(p + 20),
                         .size = hb_zip_32(p + 24),
                         .crc = hb_zip_32(p + 16),
                         .method = hb_zip_16(p + 10),
                         .encrypted = hb_zip_16(p + 8) & HB_ZIP_ENCRYPTED,
                         .mtime = unix_time(hb_zip_32(p + 12))};
    memcpy(*names, name, name_size);
    (*names)[name_size] = 0;
    *names += name_size + 1;
    const unsigned char *extra = p + HB_ZIP_ENTRY_SIZE + name_size;
    take_extra(m, (bytes){extra, extra + extra_size});
    return true;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const hb_zip_member *)a)->name, ((const hb_zip_member *)b)->name);
}

/* As packs of ours are; so that one which is opened for each of its members is not sorted each
 * time. */
static bool is_sorted(const hb_zip_index *index)
{
    for (size_t i = 1; i < index->count; i++)
        if (by_name(&index->members[i - 1], &index->members[i]) >= 0) return false;
    return true;
}

static hb_result take_entries(hb_zip_index *index, const char *path, const directory *d)
{
    unsigned char *raw = malloc(d->size + 1);
    index->members = calloc(d->count + 1, sizeof *index->members);
    index->names = malloc(d->size + d->count + 1);
    hb_result result = raw && index->members && index->names ? HB_OK : hb_no_memory();
    if (result == HB_OK && !read_at(index->fd, raw, d->size, d->begin))
        result = unread(errno, path, "its directory is cut off");
    bytes left = {raw, raw + d->size};
    char *names = index->names;
    for (uint64_t i = 0; result == HB_OK && i < d->count; i++)
        if (!take_entry(index, &left, &names)) result = damaged(path, "a directory entry is odd");
    free(raw);
    if (result != HB_OK) return result;
    if (is_sorted(index)) return HB_OK;
    qsort(index->members, index->count, sizeof *index->members, by_name);
    return is_sorted(index) ? HB_OK : damaged(path, "two members have one name");
}

hb_result hb_zip_index_open(hb_zip_index *index, const char *path)
{
    struct stat st;
    directory d = {0};
    *index = (hb_zip_index){.fd = -1};
    HB_TRY(hb_open_to_read(path, &index->fd, &st));
    index->file_size = S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
    errno = 0;
    bool is_zip = hb_is_zip(index->fd);
    hb_result result = is_zip ? find_directory(index, path, &d)
                       : errno && S_ISREG(st.st_mode)
                           ? hb_fail_file(errno, "read", path)
                           : hb_fail(HB_ERROR_FORMAT, "%s: no pack, which is a ZIP file", path);
    if (result == HB_OK) result = take_entries(index, path, &d);
    if (result != HB_OK) hb_zip_index_close(index);
    return result;
}

void hb_zip_index_close(hb_zip_index *index)
{
    if (index->fd >= 0) close(index->fd);
    free(index->members);
    free(index->names);
    *index = (hb_zip_index){.fd = -1};
}

/* ---- a member ---- */

const hb_zip_member *hb_zip_find(const hb_zip_index *index, const char *name)
{
    hb_zip_member wanted = {.name = name};
    return index->count ? bsearch(&wanted, index->members, index->count, sizeof wanted, by_name)
                        : NULL;
}

hb_result hb_zip_begin_of(const hb_zip_index *index, const hb_zip_member *m, const char *path,
                          uint64_t *begin)
{
    unsigned char head[HB_ZIP_MEMBER_SIZE];
    if (m->encrypted || (m->method != HB_ZIP_STORED && m->method != HB_ZIP_DEFLATED))
        return hb_fail(HB_ERROR_FORMAT, "%s: '%s' is %s: unpack it with what made it", path,
                       m->name, m->encrypted ? "encrypted" : "compressed by an unknown method");
    errno = 0;
    if (m->begin > index->file_size || index->file_size - m->begin < sizeof head ||
        !read_at(index->fd, head, sizeof head, m->begin) || hb_zip_32(head) != HB_ZIP_MEMBER)
        return unread(errno, path, "a member is not where the directory says");
    *begin = m->begin + sizeof head + hb_zip_16(head + 26) + hb_zip_16(head + 28);
    if (*begin > index->file_size || m->stored > index->file_size - *begin)
        return damaged(path, "a member reaches beyond its end");
    if (m->method == HB_ZIP_STORED && m->stored != m->size)
        return damaged(path, "a member's sizes differ");
    return HB_OK;
}
