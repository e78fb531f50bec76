/* SPDX-License-Identifier: MIT
 *
 * A pack may come from anybody: no name leads out of the directory, no link in it is followed, and
 * no file is larger than the pack says.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "io/crc32.h"
#include "io/publish.h"
#include "pack/pack_report.h"
#include "read/text_window.h"

typedef struct unpacking {
    const hb_pack_options *options;
    const char *pack, *directory;
    int root; /* the directory; -1: of a dry run */
    hb_zip_index index;
    hb_report_builder *report;
} unpacking;

/* ---- names ---- */

/* Relative, and of ordinary parts: not "", "." or "..". */
static bool is_safe(const char *name)
{
    for (const char *part = name;;) {
        size_t n = strcspn(part, "/");
        if (n == 0 || (n == 1 && part[0] == '.') || (n == 2 && memcmp(part, "..", 2) == 0))
            return false;
        if (!part[n]) return true;
        part += n + 1;
    }
}

static hb_result check_names(const unpacking *u)
{
    for (size_t i = 0; i < u->index.count; i++)
        if (!is_safe(u->index.members[i].name))
            return hb_fail(HB_ERROR_FORMAT, "%s: refused: '%s' leads out of the directory", u->pack,
                           u->index.members[i].name);
    return HB_OK;
}

/* Opens the directory that a member is in, made if need be; its parts are no links. -1 with errno.
 */
static int open_parent(const unpacking *u, char *name, const char **file)
{
    int dir = fcntl(u->root, F_DUPFD_CLOEXEC, 0);
    char *part = name;
    for (char *slash; dir >= 0 && (slash = strchr(part, '/')) != NULL; part = slash + 1) {
        *slash = 0;
        int made = mkdirat(dir, part, 0777) == 0 || errno == EEXIST ? 0 : errno;
        int inner = made ? -1 : openat(dir, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        int error = made ? made : errno;
        close(dir);
        errno = error;
        dir = inner;
        *slash = '/';
    }
    *file = part;
    return dir;
}

/* ---- a member ---- */

static hb_result tell_progress(const unpacking *u, const hb_zip_member *m, uint64_t done)
{
    const hb_pack_options *o = u->options;
    bool go_on = !o->progress || o->progress(o->context, m->name, done, m->size);
    return go_on ? HB_OK : hb_fail(HB_ERROR_STATE, "stopped");
}

static hb_result damaged(const unpacking *u, const hb_zip_member *m, const char *what)
{
    return hb_fail(HB_ERROR_FORMAT, "%s: '%s': %s", u->pack, m->name, what);
}

static hb_result copy_text(const unpacking *u, const hb_zip_member *m, hb_text *text, hb_sink *to)
{
    hb_result result = HB_OK;
    uint64_t done = 0;
    uint32_t crc = 0;
    while (result == HB_OK && hb_text_more(text, text->size)) {
        done += text->size;
        if (done > m->size) return damaged(u, m, "it is larger than the pack says");
        crc = hb_crc32(crc, text->data, text->size);
        if (to) result = to->write(to, text->data, text->size);
        if (result == HB_OK) result = tell_progress(u, m, done);
    }
    if (result != HB_OK) return result;
    if (text->result == HB_ERROR_FORMAT) return damaged(u, m, text->error);
    if (text->result != HB_OK)
        return hb_fail(text->result, "%s: '%s': %s", u->pack, m->name, text->error);
    return done == m->size && crc == m->crc ? HB_OK : damaged(u, m, "its CRC differs");
}

static hb_result read_member(const unpacking *u, const hb_zip_member *m, hb_sink *to)
{
    hb_packed_file file;
    hb_text text;
    HB_TRY(hb_packed_member(&u->index, m, u->pack, &file));
    HB_TRY(hb_text_open_file(&text, &file, u->pack, HB_TEXT_PLAIN));
    hb_result result = copy_text(u, m, &text, to);
    hb_text_close(&text);
    return result;
}

static hb_result write_file(const unpacking *u, const hb_zip_member *m, int dir, const char *file,
                            const char *path)
{
    hb_publish publish;
    const struct timespec times[] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = m->mtime}};
    if (u->options->replace) {
        HB_TRY(read_member(u, m, NULL)); /* what is there goes for something that is whole */
        unlinkat(dir, file, 0);
    }
    hb_result result = hb_publish_open_in(&publish, dir, file, path);
    if (result == HB_OK) result = read_member(u, m, &publish.sink);
    if (result == HB_OK) {
        (void)futimens(publish.fd, times);
        result = hb_publish_commit(&publish);
    }
    hb_publish_free(&publish);
    return result;
}

static hb_result unpack_member(const unpacking *u, const hb_zip_member *m)
{
    if (u->options->dry_run) return read_member(u, m, NULL);
    char *path, *name = strdup(m->name);
    const char *file;
    if (!name) return hb_no_memory();
    if (asprintf(&path, "%s/%s", u->directory, m->name) < 0) {
        free(name);
        return hb_no_memory();
    }
    int dir = open_parent(u, name, &file);
    hb_result result = dir >= 0 ? write_file(u, m, dir, file, path)
                                : hb_fail_file(errno, "create the directory of", path);
    if (dir >= 0) close(dir);
    free(path);
    free(name);
    return result;
}

/* ---- the whole ---- */

static hb_result open_root(unpacking *u)
{
    if (u->options->dry_run) return HB_OK;
    HB_TRY(hb_make_directories(u->directory));
    u->root = open(u->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return u->root >= 0 ? HB_OK : hb_fail_file(errno, "open", u->directory);
}

static hb_result unpack(unpacking *u)
{
    HB_TRY(hb_zip_index_open(&u->index, u->pack));
    u->report->public.bytes = u->index.file_size;
    HB_TRY(check_names(u));
    HB_TRY(open_root(u));
    for (size_t i = 0; i < u->index.count; i++) {
        const hb_zip_member *m = &u->index.members[i];
        HB_TRY(unpack_member(u, m));
        hb_report_add(u->report,
                      &(hb_pack_member){
                          .path = u->pack, .name = m->name, .size = m->size, .stored = m->stored});
    }
    return HB_OK;
}

hb_result hb_unpack(const char *pack, const char *directory, const hb_pack_options *options,
                    hb_pack_report **report)
{
    hb_pack_options o = HB_PACK_OPTIONS_INIT;
    if (report) *report = NULL;
    if (!pack || !directory) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "no pack or no directory");
    HB_TRY(hb_options_take(options, &o, sizeof o, "HB_PACK_OPTIONS_INIT"));
    unpacking u = {.options = &o,
                   .pack = pack,
                   .directory = directory,
                   .root = -1,
                   .index.fd = -1,
                   .report = hb_report_new()};
    if (!u.report) return hb_no_memory();
    hb_result result = unpack(&u);
    if (u.root >= 0) close(u.root);
    hb_zip_index_close(&u.index);
    return hb_report_end(u.report, result, report);
}
