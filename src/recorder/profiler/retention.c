/* SPDX-License-Identifier: MIT */
#include "profiler/retention.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "write/write.h"

#define MAX_DISK "HIPBOARD_MAX_DISK"

hb_result hb_retention_init(hb_retention *r, int64_t max_files, uint64_t max_bytes)
{
    const char *text = secure_getenv(MAX_DISK);
    *r = (hb_retention){.max_files = (uint64_t)HB_MAX(max_files, 0), .max_bytes = max_bytes};
    if (max_files < 0)
        return hb_fail(HB_ERROR_INVALID_ARGUMENT, "max_cycles %lld: it must not be negative",
                       (long long)max_files);
    if (max_bytes || !text || !*text || hb_parse_size(text, &r->max_bytes)) return HB_OK;
    return hb_fail(HB_ERROR_INVALID_ARGUMENT, MAX_DISK "=%s: expected bytes, as 500M or 20G", text);
}

/* What calls name a file in: its directory, if that is open, whatever its name is now. */
static int place(const hb_kept_file *in)
{
    return in->fd < 0 ? AT_FDCWD : in->fd;
}

static bool is_file(const hb_kept_file *in, const char *path, struct stat *st)
{
    int dir_fd = place(in);
    return fstatat(dir_fd, hb_name_in(dir_fd, path), st, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISREG(st->st_mode);
}

static bool remove_file(const hb_kept_file *in, const char *path)
{
    int dir_fd = place(in);
    return unlinkat(dir_fd, hb_name_in(dir_fd, path), 0) == 0;
}

/* Whether there is still the file that we wrote, and nothing else, under its name. */
static bool is_ours(const hb_kept_trace *t, const hb_kept_file *in)
{
    struct stat st;
    return is_file(in, t->path, &st) && st.st_dev == t->device && st.st_ino == t->inode &&
           (uint64_t)st.st_size == t->bytes && hb_modified_ns(&st) == t->modified_ns;
}

static void forget(hb_kept_trace *t)
{
    hb_log_dir_drop(t->dir);
    free(t->path);
}

static void forget_oldest(hb_retention *r)
{
    hb_kept_trace oldest = r->traces.items[0];
    r->bytes -= oldest.bytes + oldest.bytes_beside;
    r->traces.count--;
    memmove(r->traces.items, r->traces.items + 1, r->traces.count * sizeof *r->traces.items);
    forget(&oldest);
}

static bool too_much(const hb_retention *r)
{
    return (r->max_files && r->traces.count > r->max_files) ||
           (r->max_bytes && r->bytes > r->max_bytes);
}

static uint64_t bytes_beside(const hb_kept_file *in, const char *path)
{
    struct stat st;
    char *beside = hb_pftrace_path(path);
    bool there = beside && is_file(in, beside, &st);
    free(beside);
    return there ? (uint64_t)st.st_size : 0;
}

static void remove_beside(const hb_kept_file *in, const char *path)
{
    char *beside = hb_pftrace_path(path);
    if (beside) (void)remove_file(in, beside);
    free(beside);
}

static void remove_oldest(hb_retention *r)
{
    const hb_kept_trace *t = &r->traces.items[0];
    hb_kept_file in = hb_log_dir_keep(t->dir);
    if (is_ours(t, &in)) {
        if (t->bytes_beside) remove_beside(&in, t->path);
        if (remove_file(&in, t->path))
            r->removed++;
        else if (!r->warned) {
            r->warned = true;
            hb_warn("cannot remove '%s', which is too old to be kept: %s (said once)", t->path,
                    strerror(errno));
        }
    }
    hb_kept_file_close(&in);
    forget_oldest(r);
}

/* Without memory the file stays, whatever comes. */
static void add(hb_retention *r, hb_log_dir *dir, const hb_kept_file *in, const char *path)
{
    struct stat st;
    if (!is_file(in, path, &st)) return;
    char *copy = strdup(path);
    hb_kept_trace *added = copy ? HB_APPEND(&r->traces) : NULL;
    if (!added) {
        free(copy);
        return;
    }
    *added = (hb_kept_trace){hb_log_dir_share(dir),
                             copy,
                             st.st_dev,
                             st.st_ino,
                             (uint64_t)st.st_size,
                             bytes_beside(in, path),
                             hb_modified_ns(&st)};
    r->bytes += added->bytes + added->bytes_beside;
}

void hb_retention_add(hb_retention *r, hb_log_dir *dir, const char *path)
{
    if (!r->max_files && !r->max_bytes) return;
    hb_kept_file in = hb_log_dir_keep(dir);
    add(r, dir, &in, path);
    hb_kept_file_close(&in);
    while (r->traces.count > 1 && too_much(r)) /* the newest stays, however large */
        remove_oldest(r);
}

void hb_retention_free(hb_retention *r)
{
    for (size_t i = 0; i < r->traces.count; i++)
        forget(&r->traces.items[i]);
    free(r->traces.items);
    *r = (hb_retention){0};
}
