/* SPDX-License-Identifier: MIT */
#include "base/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *mend(int error_number)
{
    switch (error_number) {
    case ENOSPC:
    case EDQUOT: return " (free some space there or choose another directory)";
    case EACCES:
    case EPERM:
    case EROFS: return " (choose a directory that this user may write to)";
    case ENOTDIR:
    case EEXIST: return " (a file is in the way; move it or choose another directory)";
    case EFBIG: return " (it is over the limit on the size of files, ulimit -f)";
    case EISDIR: return " (name a file in it)";
    case ENAMETOOLONG: return " (choose a shorter name)";
    default: return "";
    }
}

hb_result hb_fail_file(int error_number, const char *what, const char *path)
{
    return hb_fail_errno(HB_ERROR_IO, error_number, "cannot %s '%s'%s", what, path,
                         mend(error_number));
}

static bool is_directory(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

hb_result hb_make_directories(const char *path)
{
    if (is_directory(path)) return HB_OK;
    if (!*path) return hb_fail_file(ENOENT, "create directory", path);
    char *copy = strdup(path);
    if (!copy) return hb_fail(HB_ERROR_NO_MEMORY, "no memory for the path '%s'", path);
    hb_result result = HB_OK;
    for (char *p = copy + 1; result == HB_OK; p++) {
        if (*p != '/' && *p != '\0') continue;
        char was = *p;
        *p = '\0';
        /* Another rank may be making it too. */
        int error = mkdir(copy, 0777) == 0 ? 0 : errno;
        if (error && !is_directory(copy)) result = hb_fail_file(error, "create directory", copy);
        *p = was;
        if (was == '\0') break;
    }
    free(copy);
    return result;
}

/* ---- opening ---- */

static bool is_own_descriptor(const char *path)
{
    return strcmp(path, "/dev/stdin") == 0 || strncmp(path, "/dev/fd/", 8) == 0 ||
           strncmp(path, "/proc/self/fd/", 14) == 0;
}

static hb_result check_kind(const char *path, const struct stat *st)
{
    if (S_ISREG(st->st_mode) || S_ISDIR(st->st_mode) || is_own_descriptor(path)) return HB_OK;
    return hb_fail(HB_ERROR_IO, "cannot read '%s': it is %s, not a file", path,
                   S_ISFIFO(st->st_mode)   ? "a FIFO"
                   : S_ISSOCK(st->st_mode) ? "a socket"
                                           : "a device");
}

hb_result hb_open_to_read(const char *path, int *fd, struct stat *st)
{
    /* Asked before, as opening a device can do things; and after, as it may be another file then.
     * Opening a FIFO waits for its writer unless told not to. */
    if (stat(path, st) == 0) HB_TRY(check_kind(path, st));
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (*fd < 0) return hb_fail_errno(HB_ERROR_IO, errno, "cannot open '%s'", path);
    hb_result result = fstat(*fd, st) == 0
                           ? check_kind(path, st)
                           : hb_fail_errno(HB_ERROR_IO, errno, "cannot read '%s'", path);
    if (result == HB_OK) {
        int flags = fcntl(*fd, F_GETFL);
        if (flags >= 0) fcntl(*fd, F_SETFL, flags & ~O_NONBLOCK);
        return HB_OK;
    }
    close(*fd);
    *fd = -1;
    return result;
}

const char *hb_name_in(int dir_fd, const char *path)
{
    const char *slash = dir_fd == AT_FDCWD ? NULL : strrchr(path, '/');
    return slash ? slash + 1 : path;
}

int hb_open_file(const char *path, int flags, unsigned mode)
{
    return hb_open_file_in(AT_FDCWD, path, flags, mode);
}

int hb_open_file_in(int dir_fd, const char *path, int flags, unsigned mode)
{
    int fd = openat(dir_fd, path, flags | O_CLOEXEC, mode);
    if (fd < 0 || fd > STDERR_FILENO) return fd;
    int higher = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1), error = errno;
    close(fd);
    errno = error;
    return higher;
}

int hb_open_regular(const char *path)
{
    struct stat st;
    int error = stat(path, &st) != 0 ? errno : S_ISREG(st.st_mode) ? 0 : EINVAL;
    int fd = error ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (!error && fd < 0) error = errno;
    /* It may have become another one in between. */
    if (fd >= 0 && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))) error = EINVAL;
    if (!error) return fd;
    if (fd >= 0) close(fd);
    errno = error;
    return -1;
}

bool hb_may_grow_to(uint64_t size)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || size <= limit.rlim_cur) return true;
    errno = EFBIG;
    return false;
}

ssize_t hb_write_behind(int fd, uint64_t length, const void *data, size_t size)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && length + size > limit.rlim_cur) {
        if (!hb_may_grow_to(length + 1)) return -1;
        size = (size_t)(limit.rlim_cur - length);
    }
    ssize_t n;
    do
        n = write(fd, data, size);
    while (n < 0 && errno == EINTR);
    return n;
}

char *hb_absolute_path(const char *path)
{
    char *absolute = NULL;
    if (*path == '/' || *path == '\0') return strdup(path);
    char *here = getcwd(NULL, 0);
    if (here && asprintf(&absolute, "%s/%s", here, path) < 0) absolute = NULL;
    free(here);
    return absolute;
}

void hb_host_name(char *name, size_t size)
{
    if (gethostname(name, size - 1) != 0) snprintf(name, size, "localhost");
    name[size - 1] = '\0';
    for (char *c = name; *c; c++)
        if (*c == '/' || (unsigned char)*c < ' ') *c = '_';
}

int64_t hb_modified_ns(const struct stat *st)
{
    int64_t ns;
    bool far = __builtin_mul_overflow((int64_t)st->st_mtim.tv_sec, INT64_C(1000000000), &ns) ||
               __builtin_add_overflow(ns, (int64_t)st->st_mtim.tv_nsec, &ns);
    if (!far) return ns;
    return st->st_mtim.tv_sec < 0 ? INT64_MIN : INT64_MAX;
}

bool hb_path_ends(const char *path, const char *suffix)
{
    size_t n = strlen(path), m = strlen(suffix);
    return n >= m && memcmp(path + n - m, suffix, m) == 0;
}

/* ---- files in a process that is not ours ---- */

/* Shells keep their own at 10 and at 255. */
static int move_up(int fd)
{
    static const int least[] = {900, 300, 100};
    for (size_t i = 0; i < HB_ARRAY_LEN(least); i++) {
        int high = fcntl(fd, F_DUPFD_CLOEXEC, least[i]);
        if (high < 0) continue; /* beyond the limit */
        close(fd);
        return high;
    }
    return fd;
}

hb_kept_file hb_kept_file_of(int fd)
{
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0) return HB_NO_KEPT_FILE;
    return (hb_kept_file){.fd = move_up(fd), .device = st.st_dev, .inode = st.st_ino};
}

bool hb_kept_file_is_there(const hb_kept_file *file)
{
    struct stat st;
    return file->fd >= 0 && fstat(file->fd, &st) == 0 && st.st_dev == file->device &&
           st.st_ino == file->inode;
}

int hb_kept_file_close(hb_kept_file *file)
{
    int result = hb_kept_file_is_there(file) ? close(file->fd) : 0;
    file->fd = -1;
    return result;
}
