/* SPDX-License-Identifier: MIT */
#include "profiler/retention.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "write/write.h"

#define MAX_DISK "HIPBOARD_MAX_DISK"

hb_result hb_retention_init(hb_retention *r, int64_t max_files, uint64_t max_bytes)
{
    const char *text = secure_getenv(MAX_DISK);
    *r = (hb_retention){.max_files = (uint64_t)HB_MAX(max_files, 0), .max_bytes = max_bytes};
    if (max_files < 0)
        return hb_fail(HB_ERROR_INVALID_ARGUMENT, "max_cycles %lld: it must not be negative",
                       (long long)max_files);
    if (max_bytes || !text || !*text || hb_parse_size(text, &r->max_bytes)) return HB_OK;
    return hb_fail(HB_ERROR_INVALID_ARGUMENT, MAX_DISK "=%s: expected bytes, as 500M or 20G", text);
}

/* Whether there is still the file that we wrote, and nothing else, under its name. */
static bool is_ours(const hb_kept_trace *t)
{
    struct stat st;
    return lstat(t->path, &st) == 0 && S_ISREG(st.st_mode) && st.st_dev == t->device &&
           st.st_ino == t->inode && (uint64_t)st.st_size == t->bytes &&
           hb_modified_ns(&st) == t->modified_ns;
}

static void forget_oldest(hb_retention *r)
{
    hb_kept_trace oldest = r->traces.items[0];
    r->bytes -= oldest.bytes + oldest.bytes_beside;
    r->traces.count--;
    memmove(r->traces.items, r->traces.items + 1, r->traces.count * sizeof *r->traces.items);
    free(oldest.path);
}

static bool too_much(const hb_retention *r)
{
    return (r->max_files && r->traces.count > r->max_files) ||
           (r->max_bytes && r->bytes > r->max_bytes);
}

static uint64_t bytes_beside(const char *path)
{
    struct stat st;
    char *beside = hb_pftrace_path(path);
    bool there = beside && lstat(beside, &st) == 0 && S_ISREG(st.st_mode);
    free(beside);
    return there ? (uint64_t)st.st_size : 0;
}

static void remove_beside(const char *path)
{
    char *beside = hb_pftrace_path(path);
    if (beside) (void)unlink(beside);
    free(beside);
}

static void remove_oldest(hb_retention *r)
{
    const hb_kept_trace *t = &r->traces.items[0];
    if (is_ours(t)) {
        if (t->bytes_beside) remove_beside(t->path);
        if (unlink(t->path) == 0)
            r->removed++;
        else if (!r->warned) {
            r->warned = true;
            hb_warn("cannot remove '%s', which is too old to be kept: %s (said once)", t->path,
                    strerror(errno));
        }
    }
    forget_oldest(r);
}

/* Without memory the file stays, whatever comes. */
void hb_retention_add(hb_retention *r, const char *path)
{
    struct stat st;
    if (!r->max_files && !r->max_bytes) return;
    if (lstat(path, &st) != 0 || !S_ISREG(st.st_mode)) return;
    char *copy = strdup(path);
    hb_kept_trace *added = copy ? HB_APPEND(&r->traces) : NULL;
    if (!added) {
        free(copy);
        return;
    }
    *added = (hb_kept_trace){
        copy, st.st_dev, st.st_ino, (uint64_t)st.st_size, bytes_beside(path), hb_modified_ns(&st)};
    r->bytes += (uint64_t)st.st_size + r->traces.items[r->traces.count - 1].bytes_beside;
    while (r->traces.count > 1 && too_much(r)) /* the newest stays, however large */
        remove_oldest(r);
}

void hb_retention_free(hb_retention *r)
{
    for (size_t i = 0; i < r->traces.count; i++)
        free(r->traces.items[i].path);
    free(r->traces.items);
    *r = (hb_retention){0};
}
