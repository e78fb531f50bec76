/* SPDX-License-Identifier: MIT */
#include "rank_pack.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <hipboard/pack.h>

#include "text.h"

static bool fail(const char *path, const char *why)
{
    fprintf(stderr, "hipboard record: --pack: %s: %s\n", path, why);
    return false;
}

/* ---- where ---- */

static bool is_own(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
           (st.st_mode & 077) == 0;
}

/* The directory of a node that belongs to the log directory, wherever that is. */
static bool find_place(const char *log_dir, char *place, size_t size)
{
    const char *temporary = getenv("TMPDIR");
    bool asked = getenv("HIPBOARD_SPOOL") != NULL;
    if (!asked) setenv("HIPBOARD_SPOOL", temporary && *temporary == '/' ? temporary : "/tmp", 1);
    bool made = mkdir(getenv("HIPBOARD_SPOOL"), 0777) == 0 || errno == EEXIST;
    bool found =
        made ? hb_spool_directory(log_dir, place, size) == HB_OK || fail(log_dir, hb_last_error())
             : fail(getenv("HIPBOARD_SPOOL"), strerror(errno));
    if (!asked) unsetenv("HIPBOARD_SPOOL"); /* what is recorded stays beside the traces */
    return found;
}

bool rank_pack_begin(rank_pack *p, const char *log_dir, const hb_launch_info *launch, bool alone)
{
    char place[PATH_MAX - 40], own[32] = "";
    p->launch = *launch;
    p->alone = alone || launch->local_size < 1;
    snprintf(p->log_dir, sizeof p->log_dir, "%s", log_dir);
    if (!find_place(log_dir, place, sizeof place)) return false;
    if (p->alone) snprintf(own, sizeof own, "-%lld", (long long)launch->rank);
    snprintf(p->staging, sizeof p->staging, "%s-pack%s", place, own);
    if (mkdir(p->staging, 0700) != 0 && errno != EEXIST) return fail(p->staging, strerror(errno));
    return is_own(p->staging) || fail(p->staging, "is another user's");
}

void rank_pack_tell(const rank_pack *p)
{
    fprintf(stderr,
            "hipboard: traces are gathered in %s of each node, and packed when its last rank has "
            "ended; where one is killed, on that node: hipboard recover %s; hipboard pack %s -o "
            "%s/NODE.hbpack\n",
            p->staging, p->staging, p->staging, p->log_dir);
}

/* ---- the last one ---- */

/* How many have ended, this one too; one at a time. */
static int64_t count_ended(int dir)
{
    int fd = openat(dir, ".ended", O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    struct stat st;
    int64_t count = -1;
    if (fd >= 0 && write(fd, "\n", 1) == 1 && fstat(fd, &st) == 0) count = (int64_t)st.st_size;
    if (fd >= 0) close(fd);
    return count;
}

static bool copy_file(int dir, const char *name, const char *log_dir)
{
    char path[PATH_MAX], part[1 << 16];
    int from = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    snprintf(path, sizeof path, "%s/%s", log_dir, name);
    int to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    ssize_t n = from >= 0 && to >= 0 ? 1 : -1;
    while (n > 0 && (n = read(from, part, sizeof part)) > 0)
        if (write(to, part, (size_t)n) != n) n = -1;
    if (from >= 0) close(from);
    if (to >= 0 && close(to) != 0) n = -1; /* as some file systems say: full */
    if (to >= 0 && n != 0) unlink(path);   /* the whole one is still where it was */
    return n == 0;
}

/* TensorBoard looks for event files beside the traces, not in packs. */
static void take_out_event_files(int dir, const rank_pack *p)
{
    struct dirent *entry;
    DIR *list = opendir(p->staging);
    while (list && (entry = readdir(list)))
        if (strstr(entry->d_name, "tfevents") && copy_file(dir, entry->d_name, p->log_dir))
            unlinkat(dir, entry->d_name, 0);
    if (list) closedir(list);
}

/* What was packed, and what is ours. */
static void remove_staging(int dir, const rank_pack *p)
{
    struct dirent *entry;
    DIR *list = opendir(p->staging);
    while (list && (entry = readdir(list)))
        if (ends_with(entry->d_name, ".json") || ends_with(entry->d_name, ".json.gz") ||
            ends_with(entry->d_name, ".pftrace") || strcmp(entry->d_name, ".ended") == 0 ||
            strcmp(entry->d_name, ".lock") == 0)
            unlinkat(dir, entry->d_name, 0);
    if (list) closedir(list);
    rmdir(p->staging);
}

static void name_pack(const rank_pack *p, char *path, size_t size)
{
    char host[256] = "node", own[32] = "";
    struct timespec now;
    (void)gethostname(host, sizeof host - 1);
    clock_gettime(CLOCK_REALTIME, &now);
    if (p->alone) snprintf(own, sizeof own, "_%lld", (long long)p->launch.rank);
    snprintf(path, size, "%.3000s/%s%s.hbpack", p->log_dir, host, own);
    if (access(path, F_OK) == 0) /* of an earlier job */
        snprintf(path, size, "%.3000s/%s%s.%lld.hbpack", p->log_dir, host, own,
                 (long long)now.tv_sec * 1000000000 + now.tv_nsec);
}

static bool pack(int dir, const rank_pack *p)
{
    char path[PATH_MAX];
    const char *const paths[] = {p->staging};
    hb_pack_options options = HB_PACK_OPTIONS_INIT;
    take_out_event_files(dir, p);
    name_pack(p, path, sizeof path);
    hb_result result = hb_pack(paths, 1, path, &options, NULL);
    if (result != HB_OK && result != HB_ERROR_NOT_FOUND) return fail(p->staging, hb_last_error());
    remove_staging(dir, p);
    return true;
}

bool rank_pack_end(const rank_pack *p)
{
    int dir = open(p->staging, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int lock = dir < 0 ? -1 : openat(dir, ".lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    bool done = true;
    if (lock < 0 || flock(lock, LOCK_EX) != 0)
        done = fail(p->staging, strerror(errno));
    else if (p->alone || count_ended(dir) == p->launch.local_size)
        done = pack(dir, p);
    if (lock >= 0) close(lock);
    if (dir >= 0) close(dir);
    return done;
}
