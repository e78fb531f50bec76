/* SPDX-License-Identifier: MIT
 *
 * Traces from what killed processes left. Spools are read by rules that hold for any bytes: sizes
 * and indices are checked, lists end, and nothing is written to the file.
 */
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "device/device.h"
#include "profiler/profiler.h"
#include "record/merge.h"
#include "record/record_source.h"
#include "record/strings.h"
#include "write/write.h"

/* ---- names ---- */

typedef struct string_run {
    uint64_t offset, size; /* in the string table */
    const char *bytes;
} string_run;

struct hb_string_runs {
    string_run *runs; /* by offset */
    size_t n;
};

static int by_offset(const void *a, const void *b)
{
    uint64_t x = ((const string_run *)a)->offset, y = ((const string_run *)b)->offset;
    return x < y ? -1 : x > y;
}

static hb_result collect_strings(const hb_spool_view *view, struct hb_string_runs *runs)
{
    hb_buf found;
    hb_buf_init(&found, (size_t)256 << 20);
    uint32_t index = ((const hb_spool_header *)view->base)->first_strings;
    for (uint32_t i = 0; i < view->num_chunks; i++) {
        const hb_chunk *chunk = hb_view_chunk(view, index, HB_CHUNK_STRINGS);
        if (!chunk) break;
        uint64_t most = (uint64_t)(view->num_chunks - index) * HB_CHUNK_BYTES;
        uint64_t used = HB_MIN((uint64_t)chunk->used, most);
        string_run run = {chunk->string_offset, used < sizeof *chunk ? 0 : used - sizeof *chunk,
                          (const char *)(chunk + 1)};
        hb_buf_append(&found, &run, sizeof run);
        index = chunk->next;
    }
    runs->runs = (string_run *)found.data;
    runs->n = found.size / sizeof *runs->runs;
    if (runs->n) qsort(runs->runs, runs->n, sizeof *runs->runs, by_offset);
    return found.failed ? hb_fail(HB_ERROR_NO_MEMORY, "no memory for names") : HB_OK;
}

static hb_str recovered_string(const hb_spool_view *view, uint32_t id)
{
    uint64_t offset = hb_strings_offset(id);
    size_t low = 0, high = view->runs->n;
    while (low < high) { /* the last run that begins at or before it */
        size_t mid = (low + high) / 2;
        if (view->runs->runs[mid].offset <= offset)
            low = mid + 1;
        else
            high = mid;
    }
    if (low == 0) return (hb_str){0};
    const string_run *run = &view->runs->runs[low - 1];
    uint64_t inside = offset - run->offset;
    return inside < run->size ? hb_strings_read(run->bytes + inside, run->size - inside)
                              : (hb_str){0};
}

/* ---- opening ---- */

typedef struct spool_file {
    const char *path;
    int fd;
    char *base;
    size_t size;
    hb_spool_view view;
    struct hb_string_runs strings;
} spool_file;

static void close_spool(spool_file *f)
{
    if (f->base) munmap(f->base, f->size);
    if (f->fd >= 0) close(f->fd);
    free(f->strings.runs);
}

static hb_result check_header(const spool_file *f)
{
    const hb_spool_header *h = (const hb_spool_header *)f->base;
    if (memcmp(h->magic, HB_SPOOL_MAGIC, sizeof h->magic) != 0)
        return hb_fail(HB_ERROR_FORMAT, "%s: not a spool of hipboard", f->path);
    if (h->endian != HB_SPOOL_ENDIAN)
        return hb_fail(HB_ERROR_UNSUPPORTED,
                       "%s: written on a machine of other byte order; recover it there", f->path);
    if (h->version != HB_SPOOL_VERSION ||
        memcmp(&h->layout, &hb_spool_layout_here, sizeof h->layout) != 0)
        return hb_fail(HB_ERROR_UNSUPPORTED,
                       "%s: version %u of the format; this hipboard reads version %u: recover it "
                       "with the version that wrote it",
                       f->path, h->version, HB_SPOOL_VERSION);
    return HB_OK;
}

/* Programs that close all descriptors let go of the lock, but not of the mapping. */
static bool is_mapped_by(int64_t pid, const struct stat *st)
{
    char path[64], line[PATH_MAX + 128];
    unsigned major, minor;
    unsigned long long inode;
    bool found = false;
    snprintf(path, sizeof path, "/proc/%lld/maps", (long long)pid);
    FILE *maps = fopen(path, "re");
    while (maps && !found && fgets(line, sizeof line, maps))
        found = sscanf(line, "%*s %*s %*s %x:%x %llu", &major, &minor, &inode) == 3 &&
                inode == st->st_ino && makedev(major, minor) == st->st_dev;
    if (maps) fclose(maps);
    return found;
}

/* It gets its size and its lock soon after its name; if it does not, its process died before. */
static hb_result pass_over_empty(const char *path, const struct stat *st)
{
    enum { SECONDS = 60 };
    if (time(NULL) - st->st_mtime > SECONDS) unlink(path);
    return hb_fail(HB_ERROR_BUSY, "%s: it is just being made", path);
}

/* HB_ERROR_BUSY when its process lives. The mapping is private: finalizing writes into it. */
static hb_result open_spool(spool_file *f, const struct stat *found)
{
    struct stat st;
    f->fd = open(f->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (f->fd < 0 && errno == ENOENT)
        return hb_fail(HB_ERROR_BUSY, "%s: its process has just removed it", f->path);
    bool is_link = f->fd < 0 && errno == ELOOP;
    if (!is_link && (f->fd < 0 || fstat(f->fd, &st) != 0))
        return hb_fail_errno(HB_ERROR_IO, errno, "%s: can't be read", f->path);
    /* Whoever may write to the directory may have put another file there since the walk saw it. */
    if (is_link || st.st_dev != found->st_dev || st.st_ino != found->st_ino)
        return hb_fail(HB_ERROR_BUSY, "%s: another file has just taken its place", f->path);
    if (flock(f->fd, LOCK_EX | LOCK_NB) != 0)
        return hb_fail(HB_ERROR_BUSY, "%s: its process is still running", f->path);
    if (st.st_size == 0) return pass_over_empty(f->path, &st);
    f->size = (size_t)st.st_size;
    if (f->size < HB_CHUNK_BYTES)
        return hb_fail(HB_ERROR_FORMAT, "%s: %zu bytes are too few for a spool", f->path, f->size);
    f->base = mmap(NULL, f->size, PROT_READ | PROT_WRITE, MAP_PRIVATE, f->fd, 0);
    if (f->base == MAP_FAILED) {
        f->base = NULL;
        return hb_fail_errno(HB_ERROR_IO, errno, "%s: can't be mapped", f->path);
    }
    HB_TRY(check_header(f));
    hb_spool_header *head = (hb_spool_header *)f->base;
    if (head->pid != getpid() && is_mapped_by(head->pid, &st)) /* here it is just being read */
        return hb_fail(HB_ERROR_BUSY, "%s: its process is still running", f->path);
    head->host_name[sizeof head->host_name - 1] = '\0';
    head->process_name[sizeof head->process_name - 1] = '\0';
    head->worker_name[sizeof head->worker_name - 1] = '\0';
    uint32_t chunks = (uint32_t)HB_MIN(f->size / HB_CHUNK_BYTES, (size_t)UINT32_MAX);
    f->view = (hb_spool_view){.base = f->base,
                              .num_chunks = HB_MIN(chunks, head->num_chunks),
                              .string = recovered_string,
                              .runs = &f->strings};
    return collect_strings(&f->view, &f->strings);
}

/* ---- writing ---- */

static uint64_t last_tick(const hb_spool_view *view, hb_session *session)
{
    uint64_t last = 0, id;
    const hb_chunk *thread = hb_view_chunk(view, session->first_thread, HB_CHUNK_EVENTS);
    uint32_t index = session->first_thread;
    for (uint32_t i = 0; thread && i < view->num_chunks; i++) {
        hb_cursor c = hb_cursor_open(view, index);
        const hb_record *r;
        while ((r = hb_cursor_next(&c, &id)))
            last = HB_MAX(last, HB_MAX(r->start, r->end));
        index = thread->next_thread;
        thread = hb_view_chunk(view, index, HB_CHUNK_EVENTS);
    }
    return last;
}

/* The window of a session that nobody stopped ends with its last record. */
static void close_window(const hb_spool_view *view, hb_session *session)
{
    const hb_clock_pair *newest = hb_session_last(session);
    uint64_t last = last_tick(view, session);
    if (session->state != HB_SESSION_RECORDING || last <= newest->ticks) return;
    hb_clock_fit fit = hb_clock_fit_pairs(&session->start, newest);
    double elapsed = (double)(last - newest->ticks) * fit.ns_per_tick;
    if (!(elapsed < HB_CLOCK_MOST_NS)) return;
    uint64_t later = (uint64_t)elapsed;
    session->later[0] =
        (hb_clock_pair){last, (int64_t)((uint64_t)newest->monotonic_ns + later),
                        (int64_t)((uint64_t)newest->unix_ns + later),
                        (int64_t)((uint64_t)newest->boottime_ns + later), newest->width_ticks};
    session->newest = 0;
}

static hb_result write_session(const spool_file *f, hb_session *session, const char *path,
                               unsigned flags, uint64_t *events)
{
    static const hb_metadata recovered = {"hipboard_recovered", "true"};
    hb_record_source_options with = {.metadata = &recovered, .num_metadata = 1};
    hb_source *source;
    hb_write_stats stats = {0};
    session->trace_id[sizeof session->trace_id - 1] = '\0';
    session->finalized = 0;
    close_window(&f->view, session);
    HB_TRY(hb_session_source_open(&f->view, session, &with, &source));
    hb_write_options options = {
        .dialect = flags & HB_DIALECT_KINETO ? HB_WRITE_KINETO : HB_WRITE_TENSORBOARD,
        .gzip = flags & HB_GZIP,
        .gzip_by_zlib = flags & HB_GZIP_BY_ZLIB,
    };
    hb_result result = hb_write_trace_file(source, path, &options, &stats);
    source->close(source);
    *events = stats.events;
    return result;
}

static char *trace_path(const spool_file *f, const hb_session *session, unsigned flags)
{
    const hb_spool_header *head = (const hb_spool_header *)f->base;
    const char *slash = strrchr(f->path, '/');
    int dir = slash ? (int)(slash - f->path) : 1;
    const char *worker = strchr(head->worker_name, '/') ? "recovered" : head->worker_name;
    char *path;
    int n = asprintf(&path, "%.*s/%s.%lld.pt.trace.json%s", dir, slash ? f->path : ".", worker,
                     (long long)session->start.unix_ns, flags & HB_GZIP ? ".gz" : "");
    return n < 0 ? NULL : path;
}

typedef struct recovery {
    unsigned flags;
    void (*report)(const hb_recovered *, void *);
    void *arg;
    uint32_t found;
    hb_result worst;
} recovery;

static void tell(recovery *rec, const spool_file *f, const char *trace, hb_result result,
                 uint64_t events)
{
    rec->found++;
    if (result != HB_OK) rec->worst = result;
    hb_recovered told = {f->path, result == HB_OK ? trace : NULL, result,
                         result == HB_OK ? "" : hb_last_error(), events};
    if (rec->report) rec->report(&told, rec->arg);
}

/* True when every session of the spool is a trace now. */
static bool recover_sessions(recovery *rec, const spool_file *f)
{
    bool all = true;
    uint32_t index = ((const hb_spool_header *)f->base)->first_session;
    for (uint32_t i = 0; i < f->view.num_chunks; i++) {
        hb_session *session = hb_view_session(&f->view, index);
        if (!session) break;
        index = session->older;
        if (session->state == HB_SESSION_SAVED) continue;
        if ((rec->flags & HB_SKIP_EMPTY) && hb_session_is_empty(&f->view, session)) continue;
        uint64_t events = 0;
        char *path = trace_path(f, session, rec->flags);
        hb_result result = path ? write_session(f, session, path, rec->flags, &events)
                                : hb_fail(HB_ERROR_NO_MEMORY, "no memory for a file name");
        tell(rec, f, path, result, events);
        all = all && result == HB_OK;
        free(path);
    }
    return all;
}

static void recover_spool(recovery *rec, const char *path, const struct stat *found)
{
    spool_file f = {.path = path, .fd = -1};
    hb_result result = open_spool(&f, found);
    if (result == HB_OK) {
        if (recover_sessions(rec, &f)) unlink(path);
    } else if (result != HB_ERROR_BUSY) {
        tell(rec, &f, NULL, result, 0);
    }
    close_spool(&f);
}

static bool is_spool(const FTSENT *entry)
{
    size_t n = strlen(entry->fts_name), m = strlen(HB_SPOOL_SUFFIX);
    return entry->fts_info == FTS_F && n > m && entry->fts_name[0] == '.' &&
           strcmp(entry->fts_name + n - m, HB_SPOOL_SUFFIX) == 0;
}

hb_result hb_recover(const char *dir, unsigned export_flags,
                     void (*report)(const hb_recovered *spool, void *arg), void *arg)
{
    if (!dir || !*dir) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "recover: no directory is given");
    char *root = strdup(dir), *roots[] = {root, NULL};
    FTS *walk = root ? fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL) : NULL;
    recovery rec = {.flags = export_flags, .report = report, .arg = arg};
    FTSENT *entry = NULL;
    hb_result result = walk ? HB_OK : hb_fail_errno(HB_ERROR_IO, errno, "recover: %s", dir);
    while (walk && (entry = fts_read(walk))) {
        if (entry->fts_level == 0 && entry->fts_info != FTS_D && entry->fts_info != FTS_DP)
            result = hb_fail_errno(HB_ERROR_IO, entry->fts_errno ? entry->fts_errno : ENOTDIR,
                                   "recover: %s", dir);
        else if (is_spool(entry))
            recover_spool(&rec, entry->fts_path, entry->fts_statp);
    }
    if (walk) fts_close(walk);
    free(root);
    if (result != HB_OK) return result;
    if (rec.worst != HB_OK) return rec.worst;
    return rec.found
               ? HB_OK
               : hb_fail(HB_ERROR_NOT_FOUND, "recover: no killed process left records in %s", dir);
}
