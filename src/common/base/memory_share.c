/* SPDX-License-Identifier: MIT */
#include "base/memory_share.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"

/* Of a file with one number, or "max". */
static uint64_t limit_of(const char *root, const char *group, bool version_1)
{
    char *path, text[32] = "";
    if (asprintf(&path, "%s%s%s/%s", root, version_1 ? "/memory" : "", group,
                 version_1 ? "memory.limit_in_bytes" : "memory.max") < 0)
        return UINT64_MAX;
    FILE *file = fopen(path, "re");
    free(path);
    if (!file) return UINT64_MAX;
    char *read = fgets(text, sizeof text, file);
    fclose(file);
    return read && *text >= '0' && *text <= '9' ? strtoull(text, NULL, 10) : UINT64_MAX;
}

/* Version 2's line is "0::/path"; version 1's names the controller, "7:memory:/path". In a
 * container the path may be the one outside, which is not there: the root then stands for it. */
static bool find_group(const char *self, char group[PATH_MAX], bool *version_1)
{
    char line[PATH_MAX + 64];
    bool found = false;
    FILE *file = fopen(self, "re");
    while (file && fgets(line, sizeof line, file)) {
        char *controllers = strchr(line, ':');
        char *path = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!path) continue;
        bool memory = strncmp(controllers, ":memory:", 8) == 0;
        if (!memory && (path != controllers + 1 || found)) continue;
        snprintf(group, PATH_MAX, "%.*s", (int)strcspn(path + 1, "\n"), path + 1);
        *version_1 = memory;
        found = true;
    }
    if (file) fclose(file);
    return found;
}

uint64_t hb_control_group_limit(const char *self, const char *root)
{
    char group[PATH_MAX];
    bool version_1;
    uint64_t least = UINT64_MAX;
    if (!find_group(self, group, &version_1)) return UINT64_MAX;
    for (;;) {
        uint64_t limit = limit_of(root, group, version_1);
        least = HB_MIN(least, limit);
        char *slash = strrchr(group, '/');
        if (!slash) return least;
        *slash = 0;
    }
}

size_t hb_memory_share(void)
{
    /* Threads that ask at once find the same; relaxed, as nothing else depends on it. */
    static _Atomic size_t known;
    size_t share = atomic_load_explicit(&known, memory_order_relaxed);
    if (share) return share;
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    uint64_t all = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : SIZE_MAX;
    all = HB_MIN(all, hb_control_group_limit("/proc/self/cgroup", "/sys/fs/cgroup"));
    share = HB_MAX((size_t)(all / 2), (size_t)1);
    atomic_store_explicit(&known, share, memory_order_relaxed);
    return share;
}
