/* SPDX-License-Identifier: MIT
 *
 * Traces from what killed processes left. record/spool_file.h reads it.
 */
#include <errno.h>
#include <fts.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "base/json_line.h"
#include "hip/capture.h"
#include "profiler/profiler.h"
#include "profiler/user_metadata.h"
#include "record/spool_file.h"
#include "replay/host_source.h"
#include "replay/merge.h"
#include "write/write.h"

/* ---- writing ---- */

static uint64_t last_tick_of(const hb_spool_view *view, const hb_records *records,
                             const hb_thread_records *t)
{
    uint64_t last = 0, id;
    const hb_record *r;
    hb_cursor c = hb_cursor_open(view, records, t, HB_TYPES_ALL);
    while ((r = hb_cursor_next(&c, &id)))
        last = HB_MAX(last, HB_MAX(r->start, r->end));
    hb_cursor_close(&c);
    return last;
}

static uint64_t last_tick(const hb_spool_view *view, const hb_session *session)
{
    uint64_t last = 0;
    const hb_records *records = view->records(view, session);
    for (uint32_t i = 0; i < records->threads.count; i++)
        last = HB_MAX(last, last_tick_of(view, records, &records->threads.items[i]));
    return last;
}

/* The length of its ticks by two times that are known. While `newest` is its start's, by one from
 * before it; a ring's window may begin behind all of them. */
static double tick_ns(const hb_session *session)
{
    const hb_clock_pair *start = &session->start, *newest = hb_session_last(session);
    const hb_clock_pair *other = &session->later[~session->newest & 1];
    if (newest->ticks < start->ticks) return hb_clock_fit_pairs(newest, start).ns_per_tick;
    bool before = newest->ticks == start->ticks && other->ticks && other->ticks < start->ticks;
    return hb_clock_fit_pairs(before ? other : start, newest).ns_per_tick;
}

/* The window of a session that nobody stopped ends with its last record. */
static void close_window(const hb_spool_view *view, hb_session *session)
{
    const hb_clock_pair *newest = hb_session_last(session);
    uint64_t last = last_tick(view, session);
    if (session->state != HB_SESSION_RECORDING || last <= newest->ticks) return;
    double elapsed = (double)(last - newest->ticks) * tick_ns(session);
    if (!(elapsed < HB_CLOCK_MOST_NS)) return;
    uint64_t later = (uint64_t)elapsed;
    session->later[0] =
        (hb_clock_pair){last, (int64_t)((uint64_t)newest->monotonic_ns + later),
                        (int64_t)((uint64_t)newest->unix_ns + later),
                        (int64_t)((uint64_t)newest->boottime_ns + later), newest->width_ticks};
    session->newest = 0;
}

/* The most records that lay in memory only. */
static uint64_t most_lost(const hb_session *session)
{
    return session->in_memory * (uint64_t)((HB_CHUNK_BYTES - sizeof(hb_chunk)) / sizeof(hb_record));
}

static hb_result was_read(const void *context)
{
    return hb_spool_file_was_read(context);
}

static hb_result write_session(hb_spool_file *f, hb_session *session, const char *path,
                               unsigned flags, uint64_t *events)
{
    char lost[24];
    hb_metadata told[3] = {{"hipboard_recovered", "true"}};
    size_t num_told = 1;
    if (session->in_memory) told[num_told++] = (hb_metadata){"hipboard_lost_by_kill", lost};
    if (session->flags & HB_SESSION_RING)
        told[num_told++] =
            (hb_metadata){HB_METADATA_REASON, "\"recovered: its process was killed\""};
    hb_record_source_options with = {
        .metadata = told, .num_metadata = num_told, .is_json = hb_json_is_valid};
    snprintf(lost, sizeof lost, "%llu", (unsigned long long)most_lost(session));
    hb_source *source;
    hb_write_stats stats = {0};
    close_window(&f->view, session);
    HB_TRY(hb_session_source_open(&f->view, session, &with, &source));
    hb_write_options options = {
        .dialect = flags & HB_DIALECT_KINETO ? HB_WRITE_KINETO : HB_WRITE_TENSORBOARD,
        .gzip = flags & HB_GZIP,
        .gzip_by_zlib = flags & HB_GZIP_BY_ZLIB,
        .may_be_named = was_read,
        .context = f,
    };
    hb_result result = hb_write_trace_file(source, path, &options, &stats);
    if (result == HB_OK && flags & HB_PFTRACE)
        result = hb_write_pftrace_beside(source, path, &options);
    source->close(source);
    *events = stats.events;
    return result;
}

typedef struct recovery {
    unsigned flags;
    void (*report)(const hb_recovered *, void *);
    void *arg;
    const char *into; /* the log directory; NULL: that of the spool */
    uint32_t found;
    hb_result worst;
} recovery;

static char *path_of(const recovery *rec, const hb_spool_file *f, const char *name)
{
    const char *slash = strrchr(f->path, '/'), *dir = rec->into ? rec->into : f->path;
    size_t beside = slash ? (size_t)(slash - f->path) : 0;
    char *path;
    int n = asprintf(&path, "%.*s/%s",
                     (int)(rec->into ? strlen(dir)
                           : slash   ? beside
                                     : 1),
                     rec->into || slash ? dir : ".", name);
    return n < 0 ? NULL : path;
}

static char *trace_path(const recovery *rec, const hb_spool_file *f, const hb_session *session)
{
    unsigned flags = rec->flags;
    char name[600];
    const char *worker = strchr(f->head.worker_name, '/') ? "recovered" : f->head.worker_name;
    snprintf(name, sizeof name, "%s.%lld.pt.trace.json%s", worker,
             (long long)session->start.unix_ns, flags & HB_GZIP ? ".gz" : "");
    return path_of(rec, f, name);
}

/* Its process was killed after the trace had got its name, before it could say so. */
static bool is_there_already(const recovery *rec, const hb_spool_file *f, const hb_session *session)
{
    struct stat st;
    if (!session->file_name[0] || strchr(session->file_name, '/')) return false;
    char *path = path_of(rec, f, session->file_name);
    bool is = path && lstat(path, &st) == 0 && st.st_dev == session->file_device &&
              st.st_ino == session->file_inode;
    free(path);
    return is;
}

static void tell(recovery *rec, const hb_spool_file *f, const char *trace, hb_result result,
                 uint64_t events)
{
    rec->found++;
    if (result != HB_OK) rec->worst = result;
    hb_recovered told = {f->path, result == HB_OK ? trace : NULL, result,
                         result == HB_OK ? "" : hb_last_error(), events};
    if (rec->report) rec->report(&told, rec->arg);
}

static bool recover_session(recovery *rec, hb_spool_file *f, hb_found_session *found)
{
    uint64_t events = 0;
    if (found->session.flags & HB_SESSION_RING)
        found->session.start = *hb_session_kept(&found->session);
    char *path = trace_path(rec, f, &found->session);
    hb_result result = path ? write_session(f, &found->session, path, rec->flags, &events)
                            : hb_fail(HB_ERROR_NO_MEMORY, "no memory for a file name");
    tell(rec, f, path, result, events);
    free(path);
    if (result == HB_OK) hb_spool_file_mark_saved(f, found);
    return result == HB_OK;
}

/* True when every session of the spool is a trace now. */
static bool recover_sessions(recovery *rec, hb_spool_file *f)
{
    bool all = true;
    hb_found_session *sessions = (hb_found_session *)f->sessions.data;
    for (size_t i = 0; i < f->sessions.size / sizeof *sessions; i++) {
        hb_session *session = &sessions[i].session;
        if (session->state == HB_SESSION_SAVED || is_there_already(rec, f, session)) continue;
        if ((rec->flags & HB_SKIP_EMPTY) && hb_session_is_empty(&f->view, session)) continue;
        all = recover_session(rec, f, &sessions[i]) && all;
    }
    hb_result read = hb_spool_file_was_read(f); /* or one only seemed to be empty */
    if (all && read != HB_OK) tell(rec, f, NULL, read, 0);
    return all && read == HB_OK;
}

static void recover_spool(recovery *rec, const char *path, const struct stat *seen)
{
    hb_spool_file f;
    hb_result result = hb_spool_file_open(&f, path, seen);
    if (result == HB_OK) {
        if (recover_sessions(rec, &f)) unlink(path);
    } else if (result == HB_ERROR_NOT_FOUND) {
        unlink(path);
    } else if (result != HB_ERROR_BUSY) {
        tell(rec, &f, NULL, result, 0);
    }
    hb_spool_file_close(&f);
}

static bool is_spool(const FTSENT *entry)
{
    size_t n = strlen(entry->fts_name), m = strlen(HB_SPOOL_SUFFIX);
    return entry->fts_info == FTS_F && n > m && entry->fts_name[0] == '.' &&
           strcmp(entry->fts_name + n - m, HB_SPOOL_SUFFIX) == 0;
}

/* False: it is no directory; errno says why. */
static bool recover_below(recovery *rec, const char *dir, bool with_places);

/* What lies elsewhere for a log directory becomes traces in it. */
static void recover_place(recovery *rec, const char *log_dir)
{
    char path[PATH_MAX];
    struct stat st;
    if (hb_spool_directory(log_dir, path, sizeof path) != HB_OK) return;
    if (strcmp(path, log_dir) == 0 || lstat(path, &st) != 0 || !S_ISDIR(st.st_mode)) return;
    rec->into = log_dir;
    (void)recover_below(rec, path, false);
    rec->into = NULL;
    (void)rmdir(path); /* if nothing is left in it */
}

static bool recover_below(recovery *rec, const char *dir, bool with_places)
{
    char *root = strdup(dir), *roots[] = {root, NULL};
    FTS *walk = root ? fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL) : NULL;
    FTSENT *entry = NULL;
    bool is_directory = walk != NULL;
    int error = errno;
    while (walk && (entry = fts_read(walk))) {
        if (entry->fts_level == 0 && entry->fts_info != FTS_D && entry->fts_info != FTS_DP) {
            is_directory = false;
            error = entry->fts_errno ? entry->fts_errno : ENOTDIR;
        } else if (is_spool(entry)) {
            recover_spool(rec, entry->fts_path, entry->fts_statp);
        } else if (with_places && entry->fts_info == FTS_D) {
            recover_place(rec, entry->fts_path);
        }
    }
    if (walk) fts_close(walk);
    free(root);
    errno = error;
    return is_directory;
}

hb_result hb_recover(const char *dir, unsigned export_flags,
                     void (*report)(const hb_recovered *spool, void *arg), void *arg)
{
    if (!dir || !*dir) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "recover: no directory is given");
    recovery rec = {.flags = export_flags, .report = report, .arg = arg};
    if (!recover_below(&rec, dir, true))
        return hb_fail_errno(HB_ERROR_IO, errno, "recover: %s", dir);
    if (rec.worst != HB_OK) return rec.worst;
    return rec.found
               ? HB_OK
               : hb_fail(HB_ERROR_NOT_FOUND, "recover: no killed process left records in %s", dir);
}
