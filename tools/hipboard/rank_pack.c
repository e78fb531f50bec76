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

/* It may be made anew by processes that go on when it is gone, as they make any log directory. */
static bool is_own(int dir)
{
    struct stat st;
    return fstat(dir, &st) == 0 && st.st_uid == geteuid() && (st.st_mode & 022) == 0 &&
           ((st.st_mode & 077) == 0 || fchmod(dir, 0700) == 0);
}

/* Each rank holds it while it runs, with those of other jobs; the kernel lets go of it for whoever
 * is killed. */
static bool hold(const rank_pack *p, bool speaks)
{
    if (flock(p->dir, LOCK_SH | LOCK_NB) == 0) return true;
    if (errno != EWOULDBLOCK) return fail(p->staging, strerror(errno));
    if (speaks) fprintf(stderr, "hipboard: waits until the traces in %s are packed\n", p->staging);
    return flock(p->dir, LOCK_SH) == 0 || fail(p->staging, strerror(errno));
}

/* Who packed may have removed it before it was held. */
static bool is_there(const rank_pack *p)
{
    struct stat st;
    return fstat(p->dir, &st) == 0 && st.st_nlink > 0;
}

static bool make_staging(rank_pack *p, bool speaks)
{
    if (mkdir(p->staging, 0700) != 0 && errno != EEXIST) return fail(p->staging, strerror(errno));
    p->dir = open(p->staging, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (p->dir < 0) return errno == ENOENT || fail(p->staging, strerror(errno));
    return is_own(p->dir) ? hold(p, speaks)
                          : fail(p->staging, "is another user's, or others may write there");
}

bool rank_pack_begin(rank_pack *p, const char *log_dir, bool speaks)
{
    char place[PATH_MAX - 40];
    snprintf(p->log_dir, sizeof p->log_dir, "%s", log_dir);
    if (!find_place(log_dir, place, sizeof place)) return false;
    snprintf(p->staging, sizeof p->staging, "%s-pack", place);
    while (make_staging(p, speaks)) {
        if (is_there(p)) return true;
        if (p->dir >= 0) close(p->dir);
    }
    return false;
}

/* What makes a pack of what is left there, on that node. */
static void tell_commands(const rank_pack *p, const char *what)
{
    const char *spool = getenv("HIPBOARD_SPOOL");
    fprintf(stderr, "hipboard: %s: hipboard recover%s%s %s; hipboard pack %s -o %s/NODE.hbpack\n",
            what, spool ? " --spool " : "", spool ? spool : "", p->staging, p->staging, p->log_dir);
}

void rank_pack_tell(const rank_pack *p)
{
    char what[PATH_MAX + 200];
    snprintf(what, sizeof what,
             "traces are gathered in %s of each node, and packed when its last rank has ended; "
             "what killed ranks leave there, on that node",
             p->staging);
    tell_commands(p, what);
}

/* ---- the last one ---- */

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
static void take_out_event_files(const rank_pack *p)
{
    struct dirent *entry;
    DIR *list = opendir(p->staging);
    while (list && (entry = readdir(list)))
        if (strstr(entry->d_name, "tfevents") && copy_file(p->dir, entry->d_name, p->log_dir))
            unlinkat(p->dir, entry->d_name, 0);
    if (list) closedir(list);
}

static bool is_trace(const char *path)
{
    return ends_with(path, ".json") || ends_with(path, ".json.gz") || ends_with(path, ".pftrace");
}

/* What has come since then is in no pack. */
static void remove_packed(const hb_pack_report *report)
{
    for (size_t i = 0; report && i < report->num_members; i++)
        if (report->members[i].name && is_trace(report->members[i].path))
            unlink(report->members[i].path);
}

/* Records of processes that go on, or were killed, lie there or, by --spool, elsewhere. */
static bool has_records_elsewhere(const rank_pack *p)
{
    char place[PATH_MAX];
    return hb_spool_directory(p->staging, place, sizeof place) == HB_OK &&
           strcmp(place, p->staging) != 0 && rmdir(place) != 0 && errno != ENOENT;
}

static void remove_staging(const rank_pack *p)
{
    char what[PATH_MAX + 100];
    if (!has_records_elsewhere(p) && (rmdir(p->staging) == 0 || errno == ENOENT)) return;
    snprintf(what, sizeof what,
             "not all is packed: processes that go on, or were killed, leave traces in %s of this "
             "node",
             p->staging);
    tell_commands(p, what);
}

static hb_result pack_as(const rank_pack *p, const char *stamp, hb_pack_report **report)
{
    char host[256] = "node", path[PATH_MAX];
    const char *const paths[] = {p->staging};
    hb_pack_options options = HB_PACK_OPTIONS_INIT;
    (void)gethostname(host, sizeof host - 1);
    snprintf(path, sizeof path, "%.3000s/%s%s.hbpack", p->log_dir, host, stamp);
    return hb_pack(paths, 1, path, &options, report);
}

/* Beside those of earlier jobs, and of ranks that had ended before these began. */
static hb_result pack_beside_others(const rank_pack *p, hb_pack_report **report)
{
    char stamp[32];
    struct timespec now;
    hb_result result = pack_as(p, "", report);
    if (result != HB_ERROR_STATE) return result;
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(stamp, sizeof stamp, ".%lld", (long long)now.tv_sec * 1000000000 + now.tv_nsec);
    return pack_as(p, stamp, report);
}

static bool pack(const rank_pack *p)
{
    hb_pack_report *report = NULL;
    take_out_event_files(p);
    hb_result result = pack_beside_others(p, &report);
    bool done = result == HB_OK || result == HB_ERROR_NOT_FOUND;
    if (!done) (void)fail(p->staging, hb_last_error());
    remove_packed(report);
    hb_pack_report_free(report);
    remove_staging(p);
    return done;
}

bool rank_pack_end(const rank_pack *p)
{
    bool last = flock(p->dir, LOCK_EX | LOCK_NB) == 0, done;
    if (last)
        done = pack(p);
    else
        done = errno == EWOULDBLOCK || fail(p->staging, strerror(errno));
    close(p->dir);
    return done;
}
