/* SPDX-License-Identifier: MIT */
#include "io/publish.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "base/pipes.h"
#include "io/leftovers.h"

/* ---- what is there already ---- */

static hb_result make_parent(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash || slash == path) return HB_OK;
    char *parent = strndup(path, (size_t)(slash - path));
    if (!parent) return hb_fail(HB_ERROR_NO_MEMORY, "no memory for the path '%s'", path);
    hb_result result = hb_make_directories(parent);
    free(parent);
    return result;
}

static hb_result check_name(const char *path)
{
    size_t len = strlen(path);
    if (len == 0) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "an empty path names no file");
    return path[len - 1] == '/' ? hb_fail_file(EISDIR, "write", path) : HB_OK;
}

static hb_result fail_existing(const char *path)
{
    return hb_fail(HB_ERROR_STATE, "'%s' exists and is not overwritten", path);
}

/* The descriptor that a path as /dev/stdout or /dev/fd/3 stands for, -1 for others: to open it anew
 * would begin at the start of what the shell has opened. */
static int descriptor_of(const char *path)
{
    static const char *const prefixes[] = {"/dev/fd/", "/proc/self/fd/"};
    if (strcmp(path, "/dev/stdout") == 0) return STDOUT_FILENO;
    if (strcmp(path, "/dev/stderr") == 0) return STDERR_FILENO;
    for (size_t i = 0; i < HB_ARRAY_LEN(prefixes); i++) {
        size_t n = strlen(prefixes[i]);
        const char *digits = path + n;
        if (strncmp(path, prefixes[i], n) != 0 || !*digits) continue;
        if (digits[strspn(digits, "0123456789")] == '\0' && strlen(digits) < 9) return atoi(digits);
    }
    return -1;
}

static hb_result fail_no_file(const hb_publish *publish)
{
    return hb_fail(
        HB_ERROR_INVALID_ARGUMENT,
        "'%s': %s can be written into a file only, not into a device, a FIFO or the like",
        publish->path, publish->by_name);
}

static hb_result open_through(hb_publish *publish)
{
    if (publish->by_name) return fail_no_file(publish);
    int fd = descriptor_of(publish->path);
    publish->through = true;
    publish->fd = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)
                          : hb_open_file(publish->path, O_WRONLY | O_NOCTTY, 0);
    return publish->fd >= 0 ? HB_OK : hb_fail_file(errno, "write", publish->path);
}

/* ---- the temporary file ---- */

/* It becomes what it replaces: of the same mode, and if we may, owner. */
static int take_after(int fd, const struct stat *old)
{
    mode_t mode = old->st_mode & 07777;
    struct stat now;
    if (fstat(fd, &now) != 0) return errno;
    if ((now.st_uid != old->st_uid || now.st_gid != old->st_gid) &&
        fchown(fd, old->st_uid, old->st_gid) != 0)
        mode &= 0777;
    return fchmod(fd, mode) == 0 ? 0 : errno;
}

/* Whoever opens it by its name has to be let, which a mode may forbid its owner. */
static int let_owner_write(hb_publish *publish)
{
    struct stat st;
    if (fstat(publish->fd, &st) != 0) return errno;
    if ((st.st_mode & 0600) == 0600) return 0;
    publish->mode = st.st_mode;
    return fchmod(publish->fd, (st.st_mode & 07777) | 0600) == 0 ? 0 : errno;
}

static int create_temporary(hb_publish *publish, const struct stat *old)
{
    hb_leftovers_sweep_once(publish->dir_fd, publish->name);
    for (int attempt = 0; attempt < 100; attempt++) {
        char *name = hb_leftover_name(publish->name);
        if (!name) return ENOMEM;
        publish->fd =
            hb_open_file_in(publish->dir_fd, name, O_WRONLY | O_CREAT | O_EXCL, old ? 0600 : 0666);
        int error = errno;
        if (publish->fd >= 0) {
            publish->temporary = name;
            /* While it is held, nobody takes the file for a leftover. */
            (void)flock(publish->fd, LOCK_EX | LOCK_NB);
            return old ? take_after(publish->fd, old) : 0;
        }
        free(name);
        if (error != EEXIST) return error;
    }
    return EEXIST;
}

static hb_result open_temporary(hb_publish *publish, const struct stat *old)
{
    int error = create_temporary(publish, old);
    if (!error && publish->by_name) error = let_owner_write(publish);
    if (!error) return HB_OK;
    if (error == ENOMEM)
        return hb_fail(HB_ERROR_NO_MEMORY, "no memory to write '%s'", publish->path);
    return hb_fail_file(error, "write", publish->path);
}

/* Whoever reads a pipe may leave; the signal of that would end the program. */
static ssize_t write_through(int fd, const void *data, size_t size)
{
    hb_pipe_guard guard = hb_pipe_guard_begin();
    ssize_t n;
    do
        n = write(fd, data, size);
    while (n < 0 && errno == EINTR);
    hb_pipe_guard_end(&guard, n < 0);
    return n;
}

static hb_result publish_write(hb_sink *sink, const void *data, size_t size)
{
    hb_publish *publish = (hb_publish *)sink;
    const char *at = data;
    while (size) {
        ssize_t n = publish->through ? write_through(publish->fd, at, size)
                                     : hb_write_behind(publish->fd, publish->bytes, at, size);
        if (n < 0) return hb_fail_file(errno, "write", publish->path);
        at += n;
        size -= (size_t)n;
        publish->bytes += (uint64_t)n;
    }
    return HB_OK;
}

static void init(hb_publish *publish, int dir_fd, const char *path)
{
    *publish = (hb_publish){.sink.write = publish_write, .path = path, .dir_fd = dir_fd, .fd = -1};
}

static hb_result take_name(hb_publish *publish, char *name)
{
    publish->name = name;
    return name ? HB_OK : hb_fail(HB_ERROR_NO_MEMORY, "no memory for the path '%s'", publish->path);
}

static bool is_link(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

/* A link stays one: what it leads to is replaced. */
static hb_result open_replacing(hb_publish *publish, const struct stat *old)
{
    bool link = is_link(publish->path);
    char *name = link ? realpath(publish->path, NULL) : strdup(publish->path);
    if (!name && errno != ENOMEM) return hb_fail_file(errno, "write", publish->path);
    HB_TRY(take_name(publish, name));
    return open_temporary(publish, old);
}

static hb_result open_existing(hb_publish *publish, const struct stat *old)
{
    if (S_ISDIR(old->st_mode)) return hb_fail_file(EISDIR, "write", publish->path);
    if (publish->by_name && !S_ISREG(old->st_mode)) return fail_no_file(publish);
    if (!publish->replace) return fail_existing(publish->path);
    return S_ISREG(old->st_mode) ? open_replacing(publish, old) : open_through(publish);
}

/* What a link leads to that is not there yet. */
static bool made_end_of_link(const char *path, struct stat *made)
{
    int fd = is_link(path) ? hb_open_file(path, O_WRONLY | O_CREAT | O_NOCTTY, 0666) : -1;
    if (fd < 0) return false;
    bool known = fstat(fd, made) == 0;
    close(fd);
    return known;
}

static hb_result open_path(hb_publish *publish)
{
    struct stat old;
    const char *path = publish->path;
    bool replace = publish->replace;
    HB_TRY(check_name(path));
    if (replace && descriptor_of(path) >= 0) return open_through(publish);
    /* Whatever else is wrong is found when opening. */
    if (stat(path, &old) == 0 || (replace && made_end_of_link(path, &old)))
        return open_existing(publish, &old);
    HB_TRY(make_parent(path));
    HB_TRY(take_name(publish, strdup(path)));
    return open_temporary(publish, NULL);
}

hb_result hb_publish_open_by_name(hb_publish *publish, const char *path, bool replace,
                                  const char *what)
{
    init(publish, AT_FDCWD, path);
    publish->replace = replace;
    publish->by_name = what;
    return open_path(publish);
}

hb_result hb_publish_open(hb_publish *publish, const char *path, bool replace)
{
    return hb_publish_open_by_name(publish, path, replace, NULL);
}

hb_result hb_publish_open_in(hb_publish *publish, int dir_fd, const char *name, const char *path)
{
    struct stat old;
    if (dir_fd == AT_FDCWD) return hb_publish_open(publish, name, false);
    init(publish, dir_fd, path);
    HB_TRY(check_name(name));
    if (fstatat(dir_fd, name, &old, AT_SYMLINK_NOFOLLOW) == 0) return fail_existing(path);
    HB_TRY(take_name(publish, strdup(name)));
    return open_temporary(publish, NULL);
}

/* ---- into place ---- */

static int close_file(hb_publish *publish)
{
    int error = publish->mode && fchmod(publish->fd, publish->mode & 07777) != 0 ? errno : 0;
    if (publish->sync && fsync(publish->fd) != 0 && errno != EINVAL && !error) error = errno;
    if (close(publish->fd) != 0 && !error) error = errno; /* as some file systems say: full */
    publish->fd = -1;
    return error;
}

static int move_to(hb_publish *publish, const char *name)
{
    int dir = publish->dir_fd;
    return renameat(dir, publish->temporary, dir, name) == 0 ? 0 : errno;
}

static int copy_bytes(int from, int to)
{
    static const size_t size = (size_t)1 << 16;
    char *bytes = malloc(size);
    ssize_t n = -1;
    int error = bytes ? 0 : ENOMEM;
    while (!error && (n = read(from, bytes, size)) != 0) {
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) error = errno;
        for (ssize_t done = 0, m; !error && done < n; done += m)
            if ((m = write(to, bytes + done, (size_t)(n - done))) < 0) error = errno;
    }
    free(bytes);
    return error;
}

/* Where names can't be changed at all. */
static int copy_new(hb_publish *publish, bool sync)
{
    int dir = publish->dir_fd, error = 0;
    int from = openat(dir, publish->temporary, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (from < 0) return errno;
    int to = hb_open_file_in(dir, publish->name, O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (to < 0) error = errno;
    if (to >= 0) {
        error = copy_bytes(from, to);
        if (sync && !error && fsync(to) != 0) error = errno;
        if (close(to) != 0 && !error) error = errno;
        unlinkat(dir, error ? publish->name : publish->temporary, 0);
    }
    close(from);
    return error;
}

/* Object stores and old network file systems know neither renaming without replacing nor second
 * names: the name is taken first, by an empty file that is then replaced. It is closed before, as
 * some write a file when it is closed. */
static int claim_and_move(hb_publish *publish)
{
    char *other = hb_leftover_name(publish->name);
    if (!other) return ENOMEM;
    if (move_to(publish, other) != 0) {
        free(other);
        return copy_new(publish, publish->sync);
    }
    free(publish->temporary);
    publish->temporary = other;
    int fd = hb_open_file_in(publish->dir_fd, publish->name, O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (fd < 0) return errno;
    close(fd);
    int error = move_to(publish, publish->name);
    if (error) unlinkat(publish->dir_fd, publish->name, 0);
    return error;
}

static bool is_unsupported(int error)
{
    return error == EINVAL || error == ENOSYS || error == EOPNOTSUPP;
}

/* Fails with EEXIST instead of replacing. */
static int rename_new(hb_publish *publish)
{
    int dir = publish->dir_fd;
    const char *from = publish->temporary, *to = publish->name;
    if (renameat2(dir, from, dir, to, RENAME_NOREPLACE) == 0) return 0;
    if (!is_unsupported(errno)) return errno;
    if (linkat(dir, from, dir, to, 0) == 0) return unlinkat(dir, from, 0), 0;
    if (!is_unsupported(errno) && errno != EPERM && errno != EMLINK) return errno;
    return claim_and_move(publish);
}

static int sync_directory(const hb_publish *publish)
{
    const char *slash = strrchr(publish->name, '/');
    char *dir = slash ? strndup(publish->name, (size_t)(slash - publish->name + 1)) : strdup(".");
    if (!dir) return ENOMEM;
    int fd = openat(publish->dir_fd, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(dir);
    if (fd < 0) return errno;
    int error = fsync(fd) != 0 && errno != EINVAL ? errno : 0; /* not every file system can */
    close(fd);
    return error;
}

static hb_result fail_writing(const hb_publish *publish, int error)
{
    return error == EEXIST ? fail_existing(publish->path)
                           : hb_fail_file(error, "write", publish->path);
}

static void announce(const hb_publish *publish)
{
    struct stat st;
    const char *slash = publish->name ? strrchr(publish->name, '/') : NULL;
    if (!publish->herald || !publish->name || fstat(publish->fd, &st) != 0) return;
    publish->herald->about_to_name(publish->herald->arg, slash ? slash + 1 : publish->name,
                                   (uint64_t)st.st_dev, (uint64_t)st.st_ino);
}

hb_result hb_publish_commit(hb_publish *publish)
{
    announce(publish);
    int error = close_file(publish);
    if (publish->through) return error ? fail_writing(publish, error) : HB_OK;
    if (!error) error = publish->replace ? move_to(publish, publish->name) : rename_new(publish);
    if (error) return fail_writing(publish, error);
    free(publish->temporary);
    publish->temporary = NULL;
    error = publish->sync ? sync_directory(publish) : 0;
    return error ? fail_writing(publish, error) : HB_OK;
}

void hb_publish_free(hb_publish *publish)
{
    if (publish->fd >= 0) close(publish->fd);
    publish->fd = -1;
    if (publish->temporary) unlinkat(publish->dir_fd, publish->temporary, 0);
    free(publish->temporary);
    free(publish->name);
    publish->temporary = publish->name = NULL;
}
