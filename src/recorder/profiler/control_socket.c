/* SPDX-License-Identifier: MIT */
#include "profiler/control_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

/* ---- directories ---- */

/* Nobody but its owner can put or exchange anything in it. */
static bool is_private(int fd, uid_t owner)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == owner &&
           (st.st_mode & 077) == 0;
}

static int open_directory(int in, const char *name)
{
    return openat(in, name, O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_RDONLY);
}

/* A user's runtime directory, which the system makes at login. */
static int open_runtime_directory(uid_t owner)
{
    char path[64];
    const char *named = owner == geteuid() ? secure_getenv("XDG_RUNTIME_DIR") : NULL;
    int fd = named && named[0] == '/' ? open_directory(AT_FDCWD, named) : -1;
    if (fd < 0) {
        snprintf(path, sizeof path, "/run/user/%u", (unsigned)owner);
        fd = open_directory(AT_FDCWD, path);
    }
    if (fd < 0 || is_private(fd, owner)) return fd;
    close(fd);
    return -1;
}

/* "hipboard" in it. */
static int open_own_directory(uid_t owner, bool make)
{
    int in = open_runtime_directory(owner);
    if (in < 0) return -1;
    if (make) (void)mkdirat(in, "hipboard", 0700);
    int fd = open_directory(in, "hipboard");
    close(in);
    if (fd < 0 || is_private(fd, owner)) return fd;
    close(fd);
    return -1;
}

/* ---- addresses: by a descriptor, since paths may be longer than an address ---- */

static bool put_address(struct sockaddr_un *to, int directory, const char *name)
{
    *to = (struct sockaddr_un){.sun_family = AF_UNIX};
    int n = snprintf(to->sun_path, sizeof to->sun_path, "/proc/self/fd/%d/%s", directory, name);
    return n > 0 && (size_t)n < sizeof to->sun_path;
}

static int new_socket(void)
{
    return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

static void runtime_name(char name[128], int64_t pid)
{
    snprintf(name, 128, "%lld.sock", (long long)pid);
}

static void log_dir_name(char name[128], int64_t pid)
{
    char host[65];
    hb_host_name(host, sizeof host);
    snprintf(name, 128, ".hipboard-%s-%lld.sock", host, (long long)pid);
}

/* ---- the server's side ---- */

/* Its mode is the socket's own before it has a name, so that there is no moment at which others
 * could connect. */
static int bind_in(int directory, const char *name)
{
    struct sockaddr_un address;
    int fd = new_socket();
    if (fd < 0) return -1;
    if (fchmod(fd, 0600) == 0 && put_address(&address, directory, name) &&
        bind(fd, (const struct sockaddr *)&address, sizeof address) == 0 && listen(fd, 8) == 0)
        return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

/* Under another name first: what has the final one can be connected to. A name left by a killed
 * process of this number is replaced. */
static bool listen_in(hb_control_socket *s, int directory)
{
    struct stat st;
    char fresh[sizeof s->name + 8];
    snprintf(fresh, sizeof fresh, "%s.new", s->name);
    (void)unlinkat(directory, fresh, 0);
    int fd = bind_in(directory, fresh);
    if (fd < 0) return false;
    if (renameat(directory, fresh, directory, s->name) != 0 ||
        fstatat(directory, s->name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        int error = errno;
        (void)unlinkat(directory, fresh, 0);
        close(fd);
        errno = error;
        return false;
    }
    s->device = st.st_dev;
    s->inode = st.st_ino;
    s->socket = hb_kept_file_of(fd);
    s->directory = hb_kept_file_of(directory);
    return true;
}

hb_result hb_control_listen(hb_control_socket *s, const char *log_dir)
{
    *s = HB_NO_CONTROL_SOCKET;
    int directory = open_own_directory(geteuid(), true);
    if (directory >= 0) {
        runtime_name(s->name, getpid());
        if (listen_in(s, directory)) return HB_OK;
        close(directory);
    }
    directory = log_dir && *log_dir ? hb_open_file(log_dir, O_DIRECTORY | O_RDONLY, 0) : -1;
    if (directory < 0)
        return hb_fail(HB_ERROR_IO, "no control socket: there is no XDG_RUNTIME_DIR of mode 0700, "
                                    "and no log directory");
    log_dir_name(s->name, getpid());
    if (listen_in(s, directory)) return HB_OK;
    int error = errno;
    close(directory);
    return hb_fail_errno(HB_ERROR_IO, error, "no control socket in %s", log_dir);
}

void hb_control_remove_name(const hb_control_socket *s)
{
    struct stat st;
    int directory = s->directory.fd;
    if (s->socket.fd >= 0 && hb_kept_file_is_there(&s->directory) &&
        fstatat(directory, s->name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_dev == s->device &&
        st.st_ino == s->inode)
        (void)unlinkat(directory, s->name, 0);
}

void hb_control_close(hb_control_socket *s, bool ours)
{
    if (ours) hb_control_remove_name(s);
    hb_kept_file_close(&s->socket);
    hb_kept_file_close(&s->directory);
}

static bool is_user_of(int fd, uid_t owner, int64_t pid)
{
    struct ucred peer;
    socklen_t size = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
    return (pid == 0 || peer.pid == pid) && (peer.uid == owner || peer.uid == 0);
}

int hb_control_accept(const hb_control_socket *s)
{
    if (!hb_kept_file_is_there(&s->socket)) return -1;
    int fd = accept4(s->socket.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0 || is_user_of(fd, geteuid(), 0)) return fd;
    close(fd);
    return -1;
}

/* ---- the client's side ---- */

/* 0, or an errno. */
static int connect_in(int directory, const char *name, int *fd)
{
    struct sockaddr_un address;
    *fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (*fd < 0) return errno;
    /* A stopped process takes nobody in. */
    struct timeval patience = {.tv_sec = 10};
    (void)setsockopt(*fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    int error = put_address(&address, directory, name) ? 0 : ENAMETOOLONG;
    if (!error && connect(*fd, (const struct sockaddr *)&address, sizeof address) != 0)
        error = errno;
    if (error) close(*fd);
    return error;
}

/* Only the process itself is believed, however the name came to be there. */
static int checked(int fd, int64_t pid, uid_t owner)
{
    if (is_user_of(fd, owner, pid)) return fd;
    close(fd);
    hb_fail(HB_ERROR_STATE,
            "process %lld: its control socket is another process's, or in another pid namespace",
            (long long)pid);
    return -1;
}

static int connect_to(int64_t pid, uid_t owner, int directory, const char *name)
{
    int fd;
    int error = connect_in(directory, name, &fd);
    close(directory);
    if (error == 0) return checked(fd, pid, owner);
    hb_fail_errno(error == ENOENT || error == ECONNREFUSED ? HB_ERROR_NOT_FOUND : HB_ERROR_IO,
                  error, "process %lld has no profiler that can be asked", (long long)pid);
    return -1;
}

int hb_control_connect(int64_t pid, const char *log_dir)
{
    char path[64], name[128];
    struct stat st;
    snprintf(path, sizeof path, "/proc/%lld", (long long)pid);
    if (stat(path, &st) != 0) {
        hb_fail(HB_ERROR_NOT_FOUND, "there is no process %lld", (long long)pid);
        return -1;
    }
    runtime_name(name, pid);
    int directory = open_own_directory(st.st_uid, false);
    int fd = directory >= 0 ? connect_to(pid, st.st_uid, directory, name) : -1;
    if (fd >= 0) return fd;
    if (directory < 0)
        hb_fail(HB_ERROR_NOT_FOUND,
                "process %lld has no profiler that can be asked: its user has "
                "no runtime directory, so name its log directory",
                (long long)pid);
    if (!log_dir) return -1;
    directory = hb_open_file(log_dir, O_DIRECTORY | O_RDONLY, 0);
    if (directory < 0) {
        hb_fail_file(errno, "open", log_dir);
        return -1;
    }
    log_dir_name(name, pid);
    return connect_to(pid, st.st_uid, directory, name);
}
