/* SPDX-License-Identifier: MIT */
#include "spools.h"

#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <hipboard/hipboard.h>

#include "text.h"

enum { JUST_MADE_S = 2 };

/* Its process holds a lock on it from its first moment on, in which this must not be in the way. */
static bool is_left(const FTSENT *entry)
{
    const struct stat *st = entry->fts_statp;
    if (entry->fts_info != FTS_F || entry->fts_name[0] != '.') return false;
    if (!ends_with(entry->fts_name, ".hbspool")) return false;
    if (st->st_size == 0 || time(NULL) - st->st_ctime < JUST_MADE_S) return false;
    int fd = open(entry->fts_path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) return false;
    bool left = flock(fd, LOCK_SH | LOCK_NB) == 0;
    close(fd);
    return left;
}

static unsigned count_below(const char *dir, bool with_places)
{
    char *roots[] = {(char *)(uintptr_t)dir, NULL}, place[PATH_MAX];
    unsigned count = 0;
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    for (FTSENT *entry; walk && (entry = fts_read(walk));) {
        count += is_left(entry);
        if (!with_places || entry->fts_info != FTS_D) continue;
        if (hb_spool_directory(entry->fts_path, place, sizeof place) != HB_OK) continue;
        if (strcmp(place, entry->fts_path) != 0) count += count_below(place, false);
    }
    if (walk) fts_close(walk);
    return count;
}

void tell_spools(const char *name, const char *dir)
{
    unsigned count = count_below(dir, true);
    if (count == 0) return;
    fprintf(stderr,
            "hipboard %s: %s: %u killed process%s left records there; for traces of them: "
            "hipboard recover %s\n",
            name, dir, count, count == 1 ? "" : "es", dir);
}
