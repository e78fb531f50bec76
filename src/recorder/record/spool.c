/* SPDX-License-Identifier: MIT */
#include "record/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/file_systems.h"
#include "record/process_id.h"
#include "record/thread.h"

#define FIRST_HOT 16u /* chunks: 1 MiB */

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* ---- the file ---- */

/* A signal interrupts it, on some file systems so that it begins anew: not for ever. */
static bool allocate(int fd, off_t offset, off_t size)
{
    int failed = -1;
    errno = EINTR;
    for (int tries = 0; tries < 20 && failed && errno == EINTR; tries++)
        failed = fallocate(fd, 0, offset, size);
    return !failed;
}

static bool write_at(int fd, uint64_t offset, const void *data, size_t size)
{
    const char *at = data;
    if (!hb_may_grow_to(offset + size)) return false;
    while (size) {
        ssize_t n = pwrite(fd, at, size, (off_t)offset);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        at += n;
        offset += (uint64_t)n;
        size -= (size_t)n;
    }
    return true;
}

/* Under the file's lock. The program may have closed it: then once more by its name. */
static int file_of(hb_spool *spool)
{
    if (hb_kept_file_is_there(&spool->file)) return spool->file.fd;
    struct stat st;
    int fd = spool->path ? open(spool->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : -1;
    bool same = fd >= 0 && fstat(fd, &st) == 0 && st.st_dev == spool->file.device &&
                st.st_ino == spool->file.inode;
    if (!same) {
        if (fd >= 0) close(fd);
        return -1;
    }
    spool->file = hb_kept_file_of(fd);
    (void)flock(spool->file.fd, LOCK_EX | LOCK_NB); /* taken by a child, it says the same */
    return spool->file.fd;
}

static int lock_file(hb_spool *spool)
{
    hb_lock_take(&spool->file_lock);
    return file_of(spool);
}

static void unlock_file(hb_spool *spool)
{
    hb_lock_give(&spool->file_lock);
}

bool hb_spool_read(hb_spool *spool, uint64_t offset, void *to, size_t bytes)
{
    int fd = lock_file(spool), error = fd >= 0 ? 0 : EBADF;
    char *at = to;
    while (fd >= 0 && bytes) {
        ssize_t n = pread(fd, at, bytes, (off_t)offset);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            error = n < 0 ? errno : 0;
            break;
        }
        at += n;
        offset += (uint64_t)n;
        bytes -= (size_t)n;
    }
    unlock_file(spool);
    if (bytes) atomic_store(&spool->read_error, error);
    return bytes == 0;
}

hb_result hb_spool_was_read(const hb_spool *spool, uint64_t before)
{
    if (atomic_load(&spool->unread) == before) return HB_OK;
    int error = atomic_load(&spool->read_error); /* which was set before that was counted */
    return hb_fail(HB_ERROR_IO, "records can't be read back from %s: %s",
                   spool->path ? spool->path : "memory",
                   error ? strerror(error) : "they are damaged, or cut off");
}

static void seal(hb_segment *segment)
{
    const size_t skipped = offsetof(hb_segment, payload_crc);
    segment->magic = HB_SEGMENT_MAGIC;
    segment->crc = hb_crc32c((const char *)segment + skipped, sizeof *segment - skipped);
}

bool hb_spool_append(hb_spool *spool, hb_segment *segment, uint64_t *offset)
{
    char *payload = (char *)(segment + 1);
    size_t bytes = sizeof *segment + segment->bytes, whole = HB_ROUND_UP(bytes, HB_SEGMENT_ALIGN);
    memset(payload + segment->bytes, 0, whole - bytes);
    segment->padding = 0;
    segment->payload_crc = hb_crc32c(payload, segment->bytes);
    seal(segment);
    if (spool->file_full) return false;
    uint64_t at = spool->tail;
    bool within = hb_free_space_take(&spool->space, whole, &at);
    int fd = lock_file(spool);
    bool ok = fd >= 0 && write_at(fd, at, segment, whole);
    unlock_file(spool);
    if (!ok && within) hb_spool_punch(spool, (hb_extent){at, whole});
    if (!ok) return false;
    *offset = at + sizeof *segment;
    if (!within) spool->tail += whole;
    return true;
}

static bool map_hot(hb_spool *spool, int fd, uint64_t offset, uint32_t from, size_t bytes)
{
    if (!hb_may_grow_to(offset + bytes) || !allocate(fd, (off_t)offset, (off_t)bytes)) return false;
    char *at = (char *)hb_pool_chunk(&spool->pool, from);
    void *p = mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, (off_t)offset);
    if (p == MAP_FAILED) return false;
    /* Older kernels refuse, and fault. */
    return madvise(at, bytes, MADV_POPULATE_WRITE) == 0 || errno != EFAULT;
}

/* The traces need room, too. */
static bool is_plenty(int fd, uint64_t bytes)
{
    struct statvfs fs;
    return fstatvfs(fd, &fs) == 0 && bytes <= (uint64_t)fs.f_bavail * fs.f_frsize / 16;
}

bool hb_spool_add_hot(hb_spool *spool, uint32_t count)
{
    uint32_t from = atomic_load(&spool->pool.in_file) + 1;
    uint32_t room = spool->pool.first_in_memory - from;
    count = HB_MIN(count, room);
    if (count == 0 || spool->file_full) return false;
    uint64_t offset = HB_ROUND_UP(spool->tail + sizeof(hb_segment), HB_CHUNK_BYTES);
    hb_segment head = {.kind = HB_SEGMENT_HOT,
                       .padding = (uint32_t)(offset - spool->tail - sizeof head),
                       .bytes = (uint64_t)count * HB_CHUNK_BYTES};
    seal(&head);
    int fd = lock_file(spool);
    /* The head last: with it the area is there. */
    bool few = from + count <= FIRST_HOT + 1;
    bool ok = fd >= 0 && (few || is_plenty(fd, head.bytes)) &&
              map_hot(spool, fd, offset, from, head.bytes) &&
              write_at(fd, spool->tail, &head, sizeof head);
    unlock_file(spool);
    if (!ok) return false;
    spool->tail = spool->floor = offset + head.bytes;
    hb_pool_add_in_file(&spool->pool, count);
    return true;
}

static bool write_zeros(int fd, hb_extent extent)
{
    static const char zeros[HB_CHUNK_BYTES];
    bool ok = true;
    for (uint64_t at = 0; ok && at < extent.bytes; at += sizeof zeros)
        ok = write_at(fd, extent.offset + at, zeros, HB_MIN(extent.bytes - at, sizeof zeros));
    return ok;
}

/* Zeros first: what is left of a segment behind a new one must not be read. */
void hb_spool_punch(hb_spool *spool, hb_extent extent)
{
    extent.bytes = HB_ROUND_UP(extent.bytes, HB_SEGMENT_ALIGN);
    int fd = lock_file(spool);
    bool ok = fd >= 0 && (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                    (off_t)extent.offset, (off_t)extent.bytes) == 0 ||
                          write_zeros(fd, extent));
    unlock_file(spool);
    if (ok) hb_free_space_add(&spool->space, extent);
}

void hb_spool_cut(hb_spool *spool, uint64_t bytes)
{
    int fd = lock_file(spool);
    bool ok = fd >= 0 && ftruncate(fd, (off_t)bytes) == 0;
    unlock_file(spool);
    if (!ok) return;
    spool->tail = bytes;
    hb_free_space_cut(&spool->space, bytes);
}

/* ---- making the file ---- */

static char *spool_path(const char *dir, const char *worker)
{
    char here[4096] = "", *path;
    if (dir[0] != '/' && !getcwd(here, sizeof here)) return NULL;
    int n = asprintf(&path, "%s%s%s/.%s.%lld" HB_SPOOL_SUFFIX, here, here[0] ? "/" : "", dir,
                     worker, (long long)hb_clock_ns(CLOCK_REALTIME));
    return n < 0 ? NULL : path;
}

static bool begin_file(hb_spool *spool, int fd)
{
    static const char zeros[HB_SPOOL_HEADER_BYTES];
    spool->file = hb_kept_file_of(fd);
    if (spool->file.fd < 0) return false;
    /* Says to recovery of other containers that this process lives. Whoever has it, has it for
     * ill: nobody waits. */
    if (flock(spool->file.fd, LOCK_EX | LOCK_NB) != 0) return false;
    spool->tail = spool->floor = HB_SPOOL_HEADER_BYTES;
    if (!write_at(spool->file.fd, 0, zeros, sizeof zeros) || !hb_spool_add_hot(spool, FIRST_HOT))
        return false;
    (void)hb_spool_add_hot(spool, HB_SPOOL_HOT - FIRST_HOT);
    return write_at(spool->file.fd, 0, &spool->head, sizeof spool->head);
}

static void drop_file(hb_spool *spool)
{
    hb_kept_file_close(&spool->file);
    spool->tail = spool->floor = 0;
}

/* It gets its name when it is whole, where the file system can do that. */
static bool make_unnamed(hb_spool *spool, const char *dir)
{
    char self[64];
    if (access("/proc/self/fd", F_OK) != 0) return false;
    int fd = hb_open_file(dir, O_TMPFILE | O_RDWR, 0600);
    if (fd < 0) return false;
    if (begin_file(spool, fd)) {
        snprintf(self, sizeof self, "/proc/self/fd/%d", spool->file.fd);
        if (linkat(AT_FDCWD, self, AT_FDCWD, spool->path, AT_SYMLINK_FOLLOW) == 0) return true;
    }
    drop_file(spool);
    return false;
}

static bool make_named(hb_spool *spool)
{
    if (atomic_load(&spool->pool.in_file)) return false; /* mapped from one without a name */
    int fd = hb_open_file(spool->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (fd >= 0 && begin_file(spool, fd)) return true;
    if (fd >= 0) unlink(spool->path);
    drop_file(spool);
    return false;
}

static bool open_file(hb_spool *spool, const hb_spool_options *options, const char *worker)
{
    if (!options->dir || !options->dir[0] || !hb_dir_is_mappable(options->dir)) return false;
    spool->path = spool_path(options->dir, worker);
    if (spool->path && (make_unnamed(spool, options->dir) || make_named(spool))) {
        spool->dir = hb_kept_file_of(hb_open_file(options->dir, O_PATH | O_DIRECTORY, 0));
        return true;
    }
    spool->lacks_file = true;
    free(spool->path);
    spool->path = NULL;
    return false;
}

static void make_header(hb_spool_header *head, const char *worker_name)
{
    *head = (hb_spool_header){.magic = HB_SPOOL_MAGIC,
                              .version = HB_SPOOL_VERSION,
                              .endian = HB_SPOOL_ENDIAN,
                              .layout = hb_spool_layout_here,
                              .created_unix_ns = hb_clock_ns(CLOCK_REALTIME),
                              .process = hb_process_id_here()};
    if (gethostname(head->host_name, sizeof head->host_name - 1) != 0) head->host_name[0] = '\0';
    hb_process_name(head->process_name, sizeof head->process_name);
    snprintf(head->worker_name, sizeof head->worker_name, "%s", worker_name);
}

/* ---- life ---- */

/* A name that is new, under the string table's lock: into a hot chunk, so that it survives a kill;
 * where there is none, the writer takes it from the table. No system call. */
static void take_name(void *arg, const char *bytes, uint64_t offset, uint64_t size)
{
    hb_spool *spool = arg;
    uint32_t index = spool->names_chunk;
    hb_chunk *chunk = index ? hb_spool_chunk(spool, index) : NULL;
    if (!chunk || chunk->used + size > HB_CHUNK_BYTES) {
        if (chunk)
            atomic_store_explicit(&spool->pool.state[index], HB_CHUNK_FULL, memory_order_release);
        spool->names_chunk = 0;
        bool fits = sizeof *chunk + size <= HB_CHUNK_BYTES;
        index = fits ? hb_pool_take_in_file(&spool->pool) : 0;
        if (!index) {
            atomic_store_explicit(&spool->names_missed, true, memory_order_release);
            return;
        }
        chunk = hb_spool_chunk(spool, index);
        chunk->used = sizeof *chunk;
        chunk->string_offset = offset;
        spool->names_chunk = index;
        __atomic_store_n(&chunk->kind, HB_CHUNK_NAMES, __ATOMIC_RELEASE);
    }
    memcpy((char *)chunk + chunk->used, bytes, size);
    __atomic_store_n(&chunk->used, chunk->used + (uint32_t)size, __ATOMIC_RELEASE);
}

/* Spools with a file, for the program's end. */
static struct {
    hb_lock lock;
    hb_spool *first;
} open_spools = {.lock = HB_LOCK_INIT(SPOOLS)};

static void list_open(hb_spool *spool)
{
    hb_lock_take(&open_spools.lock);
    spool->next_open = open_spools.first;
    open_spools.first = spool;
    hb_lock_give(&open_spools.lock);
}

static void unlist_open(const hb_spool *spool)
{
    hb_lock_take(&open_spools.lock);
    for (hb_spool **at = &open_spools.first; *at; at = &(*at)->next_open) {
        if (*at != spool) continue;
        *at = spool->next_open;
        break;
    }
    hb_lock_give(&open_spools.lock);
}

/* Its directory may have another name by now, or be beyond the program's root. */
static void remove_file(const hb_spool *spool)
{
    int dir_fd = hb_kept_file_is_there(&spool->dir) ? spool->dir.fd : AT_FDCWD;
    unlinkat(dir_fd, hb_name_in(dir_fd, spool->path), 0);
}

void hb_spools_at_exit(void)
{
    hb_lock_take(&open_spools.lock);
    for (hb_spool *s = open_spools.first; s; s = s->next_open)
        if (s->head.process.pid == getpid() && !hb_spool_has_unsaved(s)) remove_file(s);
    hb_lock_give(&open_spools.lock);
}

void hb_spools_after_fork(void)
{
    hb_lock_init(&open_spools.lock, HB_LOCK_SPOOLS);
    open_spools.first = NULL; /* the parent's */
}

/* Bounded, so that a file's hot part is no larger than a fifth of the limit. */
static uint32_t most_in_file(const hb_spool_options *options, uint32_t chunks)
{
    enum { LEAST = 4, MOST = 8192 };
    if (!options->dir || !options->dir[0]) return 0;
    return HB_MIN(HB_MAX(chunks / 5, LEAST), MOST);
}

hb_result hb_spool_open(hb_spool *spool, const hb_spool_options *options)
{
    const char *worker = options->worker_name ? options->worker_name : "hipboard";
    uint64_t chunks = HB_MIN(options->max_bytes / HB_CHUNK_BYTES, (uint64_t)UINT32_MAX / 4);
    static _Atomic uint32_t last_serial;
    *spool = (hb_spool){.file = HB_NO_KEPT_FILE, .names_written = hb_strings_offset(1)};
    spool->serial = atomic_fetch_add(&last_serial, 1) + 1;
    HB_TRY(hb_pool_open(&spool->pool, (uint32_t)chunks, most_in_file(options, (uint32_t)chunks)));
    spool->base = spool->pool.base;
    hb_buf_init(&spool->unneeded, (size_t)1 << 30);
    hb_buf_init(&spool->space, (size_t)1 << 30);
    hb_lock_init(&spool->lock, HB_LOCK_SPOOL);
    hb_lock_init(&spool->file_lock, HB_LOCK_SPOOL_FILE);
    make_header(&spool->head, worker);
    bool in_file = open_file(spool, options, worker);
    hb_result result = HB_OK;
    if (in_file) {
        spool->mirror = (hb_strings_mirror){.add = take_name, .arg = spool};
        hb_strings_follow(&spool->mirror);
        hb_spool_write_names(spool);
        list_open(spool);
    }
    result = hb_spool_writer_start(spool);
    if (result != HB_OK) (void)hb_spool_close(spool, false);
    return result;
}

static void free_records(hb_spool *spool)
{
    for (uint32_t i = 0; i < HB_SPOOL_LISTS; i++)
        for (hb_records *r = spool->records[i], *next; r; r = next) {
            next = r->next;
            hb_records_free(r);
        }
    hb_buf_free(&spool->unneeded);
    hb_buf_free(&spool->space);
}

static void let_go(hb_spool *spool)
{
    hb_pool_close(&spool->pool);
    hb_kept_file_close(&spool->file);
    hb_kept_file_close(&spool->dir);
    free(spool->path);
    *spool = (hb_spool){.file = HB_NO_KEPT_FILE};
}

/* Recovery may have it while this process lives on. */
static void close_header(hb_spool *spool)
{
    spool->head.closed = 1;
    int fd = lock_file(spool);
    if (fd >= 0) (void)write_at(fd, 0, &spool->head, sizeof spool->head);
    unlock_file(spool);
}

bool hb_spool_close(hb_spool *spool, bool keep)
{
    if (!spool->base) return true;
    if (spool->mirror.add) hb_strings_leave(&spool->mirror);
    unlist_open(spool);
    if (!hb_spool_writer_end(spool)) return false;
    if (spool->path && !keep) remove_file(spool);
    if (spool->path && keep) close_header(spool);
    free_records(spool);
    if (hb_threads_hold(spool)) return false;
    let_go(spool);
    return true;
}

/* The parent's threads may have been at the lists of records: they are left alone. */
void hb_spool_abandon(hb_spool *spool)
{
    if (spool->base) let_go(spool);
}

bool hb_spool_holds(hb_spool *spool, uint32_t session)
{
    uint32_t held = atomic_load(&spool->held);
    if (held == 0) return false;
    /* Numbers of sessions wrap around. */
    if (hb_threads_hold(spool)) return (int32_t)(held - session) >= 0;
    atomic_compare_exchange_strong(&spool->held, &held, 0);
    return false;
}

/* ---- sessions ---- */

hb_records *hb_spool_records(hb_spool *spool, uint32_t session)
{
    hb_records *r = *hb_spool_list(spool, session);
    while (r && r->session != session)
        r = r->next;
    return r;
}

const hb_chunk *hb_spool_events(hb_spool *spool, uint32_t index)
{
    uint32_t state = atomic_load_explicit(&spool->pool.state[index], memory_order_acquire);
    const hb_chunk *chunk = hb_spool_chunk(spool, index);
    if (state == HB_CHUNK_READY) return NULL;
    return __atomic_load_n(&chunk->kind, __ATOMIC_ACQUIRE) == HB_CHUNK_EVENTS ? chunk : NULL;
}

const hb_chunk *hb_spool_next_events(hb_spool *spool, const hb_chunk *chunk)
{
    uint32_t next = __atomic_load_n(&chunk->next, __ATOMIC_ACQUIRE);
    const char *base = (const char *)hb_spool_chunk(spool, hb_pool_index(&spool->pool, chunk));
    return next ? (const hb_chunk *)(base + next) : NULL;
}

void hb_spool_forget_part(hb_spool *spool, const hb_part *part)
{
    if (part->place == HB_PART_MEMORY) free(part->coded);
    if (part->place != HB_PART_FILE) return;
    hb_extent gone = {part->offset - sizeof(hb_segment), sizeof(hb_segment) + part->coded_bytes};
    size_t n = spool->unneeded.size / sizeof gone;
    hb_extent *last = n ? (hb_extent *)spool->unneeded.data + (n - 1) : NULL;
    if (last && HB_ROUND_UP(last->offset + last->bytes, HB_SEGMENT_ALIGN) == gone.offset)
        last->bytes = gone.offset + gone.bytes - last->offset;
    else
        hb_buf_append(&spool->unneeded, &gone, sizeof gone);
}

void hb_spool_drop_part(hb_spool *spool, const hb_part *part)
{
    if (part->place == HB_PART_CHUNK) return;
    spool->kept_bytes -= part->coded_bytes;
    hb_spool_forget_part(spool, part);
}

bool hb_spool_is_unneeded(hb_spool *spool, uint32_t index)
{
    const hb_chunk *first = hb_spool_events(spool, index);
    for (const hb_chunk *c = first; c; c = hb_spool_next_events(spool, c))
        if (hb_spool_records(spool, c->events.session)) return false;
    return !first || !hb_spool_holds(spool, first->events.session); /* the earliest */
}

typedef bool (*session_visitor)(const hb_session *session, uint32_t number);

/* The first for which `wanted` says so. */
static hb_session *find_session(hb_spool *spool, session_visitor wanted, uint32_t number)
{
    uint32_t end = hb_pool_end(&spool->pool);
    for (uint32_t i = 1; i < end; i++) {
        if (atomic_load_explicit(&spool->pool.state[i], memory_order_acquire) < HB_CHUNK_TAKEN)
            continue;
        hb_chunk *chunk = hb_spool_chunk(spool, i);
        if (__atomic_load_n(&chunk->kind, __ATOMIC_ACQUIRE) != HB_CHUNK_SESSIONS) continue;
        hb_session *all = (hb_session *)(chunk + 1);
        for (uint32_t k = 0; k < HB_SESSIONS_PER_CHUNK; k++)
            if (wanted(&all[k], number)) return &all[k];
    }
    return NULL;
}

static bool is_unused(const hb_session *session, uint32_t number)
{
    (void)number;
    return hb_session_state(session) == HB_SESSION_NONE;
}

static bool is_unsaved(const hb_session *session, uint32_t number)
{
    (void)number;
    uint32_t state = hb_session_state(session);
    return state == HB_SESSION_RECORDING || state == HB_SESSION_STOPPED;
}

static bool is_it(const hb_session *session, uint32_t number)
{
    return hb_session_state(session) != HB_SESSION_NONE && session->number == number;
}

hb_session *hb_spool_new_session(hb_spool *spool)
{
    hb_session *session = find_session(spool, is_unused, 0);
    if (session) { /* but its state, which others may look at */
        const size_t skipped = offsetof(hb_session, flags);
        memset((char *)session + skipped, 0, sizeof *session - skipped);
        return session;
    }
    uint32_t index = hb_pool_take_in_file(&spool->pool);
    if (!index) index = hb_pool_take(&spool->pool);
    if (!index) return NULL;
    hb_chunk *chunk = hb_spool_chunk(spool, index);
    memset((char *)chunk + sizeof chunk->kind, 0, HB_CHUNK_BYTES - sizeof chunk->kind);
    chunk->used = HB_CHUNK_BYTES;
    __atomic_store_n(&chunk->kind, HB_CHUNK_SESSIONS, __ATOMIC_RELEASE);
    return (hb_session *)(chunk + 1);
}

bool hb_spool_has_unsaved(hb_spool *spool)
{
    return spool->base && find_session(spool, is_unsaved, 0) != NULL;
}

void hb_spool_no_more_in_memory(hb_spool *spool, uint32_t number)
{
    hb_session *session = find_session(spool, is_it, number);
    if (session) __atomic_fetch_sub(&session->in_memory, 1, __ATOMIC_RELAXED);
}

void hb_spool_account(hb_spool *spool)
{
    atomic_store_explicit(&spool->pool.elsewhere,
                          (uint32_t)((spool->kept_bytes + HB_CHUNK_BYTES - 1) / HB_CHUNK_BYTES),
                          memory_order_relaxed);
}
