/* SPDX-License-Identifier: MIT */
#include "profiler/log_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

hb_log_dir *hb_log_dir_new(const char *path)
{
    hb_log_dir *d = calloc(1, sizeof *d);
    if (!d) return NULL;
    d->path = strdup(path);
    d->dir = HB_NO_KEPT_FILE;
    hb_lock_init(&d->lock, HB_LOCK_LOG_DIR);
    atomic_init(&d->holders, 1);
    if (d->path) return d;
    free(d);
    return NULL;
}

hb_log_dir *hb_log_dir_share(hb_log_dir *d)
{
    if (d) atomic_fetch_add(&d->holders, 1);
    return d;
}

/* The count orders what each holder did before what the last one does. */
void hb_log_dir_drop(hb_log_dir *d)
{
    if (!d || atomic_fetch_sub(&d->holders, 1) > 1) return;
    hb_kept_file_close(&d->dir);
    free(d->path);
    free(d);
}

hb_result hb_log_dir_fix(hb_log_dir *d)
{
    char *path = hb_absolute_path(d->path);
    if (!path) return hb_fail_errno(HB_ERROR_IO, errno, "where is '%s'", d->path);
    free(d->path);
    d->path = path;
    return HB_OK;
}

/* One that was removed takes no more files. */
static bool is_there(const hb_log_dir *d)
{
    struct stat st;
    return hb_kept_file_is_there(&d->dir) && fstat(d->dir.fd, &st) == 0 && st.st_nlink > 0;
}

static hb_result open_locked(hb_log_dir *d)
{
    if (is_there(d)) return HB_OK;
    hb_kept_file_close(&d->dir);
    HB_TRY(hb_make_directories(d->path));
    d->dir = hb_kept_file_of(hb_open_file(d->path, O_PATH | O_DIRECTORY, 0));
    if (d->dir.fd < 0) return hb_fail_file(errno, "open directory", d->path);
    if (faccessat(AT_FDCWD, d->path, W_OK | X_OK, AT_EACCESS) != 0)
        return hb_fail_file(errno, "write to directory", d->path);
    return HB_OK;
}

hb_result hb_log_dir_open(hb_log_dir *d)
{
    hb_lock_take(&d->lock);
    hb_result result = open_locked(d);
    hb_lock_give(&d->lock);
    return result;
}

static bool leads_to(const char *path, const hb_kept_file *dir)
{
    struct stat st;
    return stat(path, &st) == 0 && st.st_dev == dir->device && st.st_ino == dir->inode;
}

static const char *valid_path(const hb_log_dir *d, char buf[HB_LOG_DIR_BUF])
{
    if (!is_there(d) || leads_to(d->path, &d->dir)) return d->path;
    snprintf(buf, HB_LOG_DIR_BUF, "/proc/self/fd/%d", d->dir.fd);
    return leads_to(buf, &d->dir) ? buf : d->path;
}

const char *hb_log_dir_path(hb_log_dir *d, char buf[HB_LOG_DIR_BUF])
{
    hb_lock_take(&d->lock);
    const char *path = valid_path(d, buf);
    hb_lock_give(&d->lock);
    return path;
}

hb_kept_file hb_log_dir_keep(hb_log_dir *d)
{
    if (!d) return HB_NO_KEPT_FILE;
    hb_lock_take(&d->lock);
    int fd = is_there(d) ? fcntl(d->dir.fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1) : -1;
    hb_lock_give(&d->lock);
    return hb_kept_file_of(fd);
}
