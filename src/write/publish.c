/* SPDX-License-Identifier: MIT */
#include "write/publish.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"

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

static hb_result check_target(const char *path, bool replace)
{
    struct stat info;
    size_t len = strlen(path);
    if (len == 0) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "an empty path names no file");
    if (path[len - 1] == '/') return hb_fail_file(EISDIR, "write", path);
    if (stat(path, &info) != 0) return HB_OK; /* whatever else is wrong is found when opening */
    if (S_ISDIR(info.st_mode)) return hb_fail_file(EISDIR, "write", path);
    if (replace) return HB_OK;
    return hb_fail(HB_ERROR_STATE, "'%s' exists and is not overwritten", path);
}

/* Short and independent of the final name, which may be as long as the file system allows. Other
 * machines may write to the same directory. */
static char *temporary_name(const char *path)
{
    static atomic_uint counter;
    const char *slash = strrchr(path, '/');
    int directory = slash ? (int)(slash - path + 1) : 0;
    char *name = NULL, host[65];
    hb_host_name(host, sizeof host);
    if (asprintf(&name, "%.*s.hipboard-%s-%ld-%u.tmp", directory, path, host, (long)getpid(),
                 atomic_fetch_add(&counter, 1)) < 0)
        return NULL;
    return name;
}

static hb_result open_temporary(hb_publish *publish)
{
    for (int attempt = 0; attempt < 100; attempt++) {
        char *name = temporary_name(publish->path);
        if (!name) return hb_fail(HB_ERROR_NO_MEMORY, "no memory to write '%s'", publish->path);
        publish->fd = hb_open_file(name, O_WRONLY | O_CREAT | O_EXCL, 0666);
        if (publish->fd >= 0) {
            publish->temporary = name;
            return HB_OK;
        }
        free(name);
        if (errno != EEXIST) break; /* left by a killed process of the same number */
    }
    return hb_fail_file(errno, "write", publish->path);
}

static hb_result publish_write(hb_sink *sink, const void *data, size_t size)
{
    hb_publish *publish = (hb_publish *)sink;
    const char *at = data;
    while (size) {
        ssize_t n = hb_write_behind(publish->fd, publish->bytes, at, size);
        if (n < 0) return hb_fail_file(errno, "write", publish->path);
        at += n;
        size -= (size_t)n;
        publish->bytes += (uint64_t)n;
    }
    return HB_OK;
}

hb_result hb_publish_open(hb_publish *publish, const char *path, bool replace)
{
    *publish = (hb_publish){
        .sink.write = publish_write,
        .path = path,
        .fd = -1,
        .replace = replace,
    };
    HB_TRY(check_target(path, replace));
    HB_TRY(make_parent(path));
    return open_temporary(publish);
}

/* ---- into place ---- */

/* Fails with EEXIST instead of replacing; for file systems without that, by a second name. */
static int rename_new(const char *from, const char *to)
{
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return 0;
    if (errno != EINVAL && errno != ENOSYS) return errno;
    if (link(from, to) != 0) return errno;
    unlink(from);
    return 0;
}

static int into_place(const hb_publish *publish)
{
    if (!publish->replace) return rename_new(publish->temporary, publish->path);
    return rename(publish->temporary, publish->path) == 0 ? 0 : errno;
}

hb_result hb_publish_commit(hb_publish *publish)
{
    int closed = close(publish->fd); /* where some file systems report a full disk */
    publish->fd = -1;
    if (closed != 0) return hb_fail_file(errno, "write", publish->path);
    int error = into_place(publish);
    if (error == EEXIST)
        return hb_fail(HB_ERROR_STATE, "'%s' exists and is not overwritten", publish->path);
    if (error) return hb_fail_file(error, "write", publish->path);
    free(publish->temporary);
    publish->temporary = NULL;
    return HB_OK;
}

void hb_publish_free(hb_publish *publish)
{
    if (publish->fd >= 0) close(publish->fd);
    publish->fd = -1;
    if (publish->temporary) unlink(publish->temporary);
    free(publish->temporary);
    publish->temporary = NULL;
}
