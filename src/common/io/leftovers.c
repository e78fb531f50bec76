/* SPDX-License-Identifier: MIT */
#include "io/leftovers.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "base/launcher.h"

#define PREFIX ".hipboard-"
#define SUFFIX ".tmp"

enum { RANDOM_DIGITS = 16, MINUTE_S = 60, DAY_S = 86400 };

static int directory_size(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (int)(slash - path + 1) : 0;
}

char *hb_leftover_name(const char *path)
{
    char *name = NULL, host[65];
    hb_host_name(host, sizeof host);
    if (asprintf(&name, "%.*s" PREFIX "%s-%ld-%0*llx" SUFFIX, directory_size(path), path, host,
                 (long)getpid(), RANDOM_DIGITS, (unsigned long long)hb_random_bits()) < 0)
        return NULL;
    return name;
}

/* ---- of others ---- */

/* Seconds after which nobody is just making it; 0: it is not one. Older hipboards' names end in a
 * count, and they held no lock. */
static int age_needed(const char *name)
{
    size_t n = strlen(name), fixed = sizeof PREFIX - 1 + sizeof SUFFIX - 1;
    if (n <= fixed || strncmp(name, PREFIX, sizeof PREFIX - 1) != 0) return 0;
    if (!hb_path_ends(name, SUFFIX)) return 0;
    const char *end = name + n - (sizeof SUFFIX - 1), *digits = end;
    while (digits > name && digits[-1] != '-')
        digits--;
    size_t count = (size_t)(end - digits);
    if (count == 0 || strspn(digits, "0123456789abcdef") < count) return 0;
    return count == RANDOM_DIGITS ? MINUTE_S : DAY_S;
}

static bool is_left(int fd, int age)
{
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid()) return false;
    return hb_clock_ns(CLOCK_REALTIME) / 1000000000 - st.st_mtim.tv_sec > age &&
           flock(fd, LOCK_EX | LOCK_NB) == 0;
}

/* Still the file that was looked at: its writer may have finished meanwhile. */
static bool is_named(int fd, int dir_fd, const char *name)
{
    struct stat own, now;
    return fstat(fd, &own) == 0 && fstatat(dir_fd, name, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
           own.st_dev == now.st_dev && own.st_ino == now.st_ino;
}

static void remove_if_left(int dir_fd, const char *name, int age)
{
    int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) return;
    if (is_left(fd, age) && is_named(fd, dir_fd, name)) unlinkat(dir_fd, name, 0);
    close(fd);
}

static void sweep(int fd)
{
    DIR *list = fdopendir(fd);
    for (struct dirent *entry; list && (entry = readdir(list));) {
        int age = age_needed(entry->d_name);
        if (age) remove_if_left(dirfd(list), entry->d_name, age);
    }
    if (list)
        closedir(list);
    else
        close(fd);
}

static int open_directory(int dir_fd, const char *dir)
{
    return openat(dir_fd, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

void hb_leftovers_sweep(int dir_fd, const char *dir)
{
    int fd = open_directory(dir_fd, dir);
    if (fd >= 0) sweep(fd);
}

/* True at the first question; few directories, as a process has. Which of two threads is the first
 * does not matter, so the numbers order nothing. */
static bool is_new(const struct stat *dir)
{
    static _Atomic uint64_t known[8];
    static atomic_uint next;
    uint64_t id = ((uint64_t)dir->st_dev << 40) ^ (uint64_t)dir->st_ino;
    for (size_t i = 0; i < HB_ARRAY_LEN(known); i++)
        if (atomic_load_explicit(&known[i], memory_order_relaxed) == id) return false;
    unsigned at = atomic_fetch_add_explicit(&next, 1, memory_order_relaxed);
    atomic_store_explicit(&known[at % HB_ARRAY_LEN(known)], id, memory_order_relaxed);
    return true;
}

/* Of a job of many processes, which often share a directory, and on a file system where looking
 * through one is dear: its first one does it for all. */
static bool is_first_of_job(void)
{
    hb_launcher launcher;
    return !hb_launcher_find(&launcher) || launcher.rank == 0;
}

void hb_leftovers_sweep_once(int dir_fd, const char *path)
{
    struct stat st;
    if (!is_first_of_job()) return;
    int size = directory_size(path);
    char *dir = size ? strndup(path, (size_t)size) : strdup(".");
    int fd = dir ? open_directory(dir_fd, dir) : -1;
    free(dir);
    if (fd < 0) return;
    if (fstat(fd, &st) == 0 && is_new(&st))
        sweep(fd);
    else
        close(fd);
}
