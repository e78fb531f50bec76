/* SPDX-License-Identifier: MIT */
#include "profiler/control_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "io/publish.h"

static bool is_same(const hb_control_file *f, const struct stat *st)
{
    return f->modified_ns == hb_modified_ns(st) && f->inode == st->st_ino &&
           f->device == st->st_dev && f->size == (uint64_t)st->st_size;
}

static void remember(hb_control_file *f, const struct stat *st)
{
    f->device = st->st_dev;
    f->inode = st->st_ino;
    f->size = (uint64_t)st->st_size;
    f->modified_ns = hb_modified_ns(st);
}

char *hb_control_file_path(const char *named, const char *log_dir)
{
    const char *by_environment = secure_getenv("HIPBOARD_CONTROL_FILE");
    char *path = NULL;
    if (named) return strdup(named);
    if (by_environment && *by_environment) return strdup(by_environment);
    if (!log_dir || asprintf(&path, "%s/" HB_CONTROL_FILE_NAME, log_dir) < 0) return NULL;
    return path;
}

void hb_control_file_open(hb_control_file *f, char *path)
{
    struct stat st;
    *f = (hb_control_file){.path = path};
    if (path && lstat(path, &st) == 0) remember(f, &st);
}

void hb_control_file_close(hb_control_file *f)
{
    free(f->path);
    f->path = NULL;
}

/* Whoever may write to the log directory may not therefore tell other users' programs where to
 * write. */
static const char *why_distrusted(const struct stat *st)
{
    if (!S_ISREG(st->st_mode)) return "it is no regular file";
    if (st->st_uid != geteuid() && st->st_uid != 0) return "it belongs to another user";
    if (st->st_mode & 022) return "others than its owner may write to it (chmod go-w)";
    if (st->st_size > (off_t)HB_REQUEST_MAX) return "it is too long for a request";
    return NULL;
}

static const char *read_file(hb_control_file *f)
{
    struct stat st;
    int fd = open(f->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) return errno == ELOOP ? "it is a link" : "it cannot be opened";
    const char *why = fstat(fd, &st) == 0 ? why_distrusted(&st) : "it cannot be looked at";
    ssize_t n = why ? 0 : read(fd, f->text, HB_REQUEST_MAX);
    close(fd);
    if (n < 0) return "it cannot be read";
    f->text_size = (size_t)n;
    return why;
}

bool hb_control_file_look(hb_control_file *f)
{
    struct stat st;
    if (!f->path) return false;
    if (lstat(f->path, &st) != 0) {
        f->modified_ns = 0;
        return false;
    }
    if (is_same(f, &st)) return false;
    remember(f, &st);
    const char *why = read_file(f);
    snprintf(f->why_not, sizeof f->why_not, "%s", why ? why : "");
    return true;
}

hb_result hb_control_file_put(const char *log_dir, const hb_request *request)
{
    hb_buf text;
    char *path;
    hb_publish publish;
    struct stat st;
    if (stat(log_dir, &st) != 0) return hb_fail_file(errno, "open", log_dir);
    if (!S_ISDIR(st.st_mode)) return hb_fail_file(ENOTDIR, "open", log_dir);
    if (asprintf(&path, "%s/" HB_CONTROL_FILE_NAME, log_dir) < 0) return hb_no_memory();
    hb_buf_init(&text, HB_REQUEST_MAX);
    hb_request_put(&text, request);
    hb_result result = text.failed ? hb_no_memory() : hb_publish_open(&publish, path, true);
    if (result == HB_OK) {
        result = fchmod(publish.fd, 0644) == 0 ? HB_OK : hb_fail_file(errno, "write", path);
        if (result == HB_OK) result = publish.sink.write(&publish.sink, text.data, text.size);
        if (result == HB_OK) result = hb_publish_commit(&publish);
        hb_publish_free(&publish);
    }
    hb_buf_free(&text);
    free(path);
    return result;
}

int64_t hb_control_file_first_look(void)
{
    uint64_t mix = (uint64_t)getpid() * 0x9e3779b97f4a7c15u;
    char host[65];
    hb_host_name(host, sizeof host);
    for (const char *p = host; *p; p++)
        mix = (mix ^ (unsigned char)*p) * 0x100000001b3u;
    int64_t period = HB_CONTROL_FILE_PERIOD_MS * INT64_C(1000000);
    return hb_clock_ns(CLOCK_MONOTONIC) + (int64_t)((mix >> 16) % (uint64_t)period);
}
