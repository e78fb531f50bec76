/* SPDX-License-Identifier: MIT
 *
 * hipboard/ranks.h: digests into files.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "io/publish.h"
#include "ranks/study.h"

hb_result hb_rank_study_digests(hb_rank_study *s, char **bytes, size_t *size)
{
    hb_buf out;
    if (!s || !bytes) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "an argument is NULL");
    if (hb_arena_try(&s->arena)) hb_study_sort(s);
    HB_TRY(hb_arena_outcome(&s->arena));
    hb_buf_init(&out, UINT32_MAX);
    hb_rank_file_head(&out);
    for (uint32_t i = 0; i < s->cycles.count; i++) {
        const hb_study_cycle *c = &s->cycles.items[i];
        hb_rank_file_record(&out, c->stamp, c->digest.bytes.s, c->digest.bytes.len);
    }
    return hb_buf_hand_out(&out, HB_OK, bytes, size);
}

hb_result hb_rank_study_write(hb_rank_study *s, const char *path)
{
    char *bytes;
    size_t size;
    hb_publish file;
    if (!path) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "no path");
    HB_TRY(hb_rank_study_digests(s, &bytes, &size));
    hb_result result = hb_publish_open(&file, path, true);
    if (result == HB_OK) result = file.sink.write(&file.sink, bytes, size);
    if (result == HB_OK) result = hb_publish_commit(&file);
    hb_publish_free(&file);
    free(bytes);
    return result;
}

/* ---- behind others' ---- */

typedef struct addition {
    int fd;
    const char *path;
    char head[HB_RANK_FILE_HEAD];
    const char *bytes; /* as of a file: with a head */
    size_t size;
    uint64_t size_before, end; /* end: of what others have added whole */
} addition;

static hb_result find_end(addition *a)
{
    const size_t fixed = sizeof HB_RANK_FILE_MAGIC - 1 + 4; /* the magic and the version */
    struct stat st;
    if (fstat(a->fd, &st) != 0) return hb_fail_file(errno, "read", a->path);
    memcpy(a->head, a->bytes, sizeof a->head);
    a->size_before = (uint64_t)st.st_size;
    a->end = HB_RANK_FILE_HEAD;
    if (st.st_size == 0) return HB_OK;
    ssize_t n = pread(a->fd, a->head, sizeof a->head, 0);
    if (n < 0) return hb_fail_file(errno, "read", a->path);
    if (n != HB_RANK_FILE_HEAD || memcmp(a->head, a->bytes, fixed) != 0)
        return hb_fail(HB_ERROR_FORMAT, "%s: no digests of ranks of this version: left as it is",
                       a->path);
    a->end = hb_rank_file_end(a->head, a->size_before);
    if (!a->end) return hb_fail(HB_ERROR_FORMAT, "%s: its end is missing: left as it is", a->path);
    if (a->end + a->size > UINT32_MAX)
        return hb_fail(HB_ERROR_UNSUPPORTED, "%s: larger than 4 GiB it would not be read", a->path);
    return HB_OK;
}

static bool put_at(const addition *a, const void *bytes, size_t size, uint64_t at)
{
    return pwrite(a->fd, bytes, size, (off_t)at) == (ssize_t)size;
}

static bool put_end(addition *a, uint64_t end)
{
    hb_rank_file_set_end(a->head, end);
    return put_at(a, a->head, sizeof a->head, 0);
}

/* Whoever is killed before the head says so has added nothing: the next one begins where it did. */
static hb_result append_locked(addition *a)
{
    HB_TRY(find_end(a));
    uint64_t size = a->size - HB_RANK_FILE_HEAD, end = a->end + size;
    if (put_end(a, a->end) && put_at(a, a->bytes + HB_RANK_FILE_HEAD, size, a->end) &&
        (a->size_before <= end || ftruncate(a->fd, (off_t)end) == 0) && put_end(a, end))
        return HB_OK;
    int error = errno;
    (void)!ftruncate(a->fd, a->size_before ? (off_t)a->end : 0);
    return hb_fail_file(error, "write", a->path);
}

static hb_result append(const char *path, const char *bytes, size_t size)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    addition a = {.path = path, .bytes = bytes, .size = size};
    a.fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    hb_result result = HB_OK;
    if (a.fd < 0) return hb_fail_file(errno, "write", path);
    while (fcntl(a.fd, F_SETLKW, &whole) != 0 && result == HB_OK)
        if (errno != EINTR) result = hb_fail_file(errno, "lock", path);
    if (result == HB_OK) result = append_locked(&a);
    if (close(a.fd) != 0 && result == HB_OK) result = hb_fail_file(errno, "write", path);
    return result;
}

hb_result hb_rank_study_append(hb_rank_study *s, const char *path)
{
    char *bytes;
    size_t size;
    if (!path) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "no path");
    HB_TRY(hb_rank_study_digests(s, &bytes, &size));
    hb_result result = size > HB_RANK_FILE_HEAD ? append(path, bytes, size) : HB_OK;
    free(bytes);
    return result;
}
