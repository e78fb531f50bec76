/* SPDX-License-Identifier: MIT */
#include "base/large_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file_systems.h"
#include "base/files.h"
#include "base/lock.h"
#include "base/memory_share.h"
#include "base/process.h"
#include "base/thread_start.h"
#include "base/vector.h"

#define SETTING "HIPBOARD_MEMORY"

/* LEAST: less is malloc()'s. HUGE: that much comes in huge pages. */
enum { LEAST = 1 << 20, HUGE_PAGE = 2 << 20, HUGE = 2 * HUGE_PAGE };
enum { LOOK_US = 2000, LOOKS = HB_PROCESS_LOOK_MS * 1000 / LOOK_US };

#define USUAL_LIMIT ((size_t)384 << 20)

typedef struct piece {
    char *start;
    size_t size;
} piece;

static struct {
    hb_lock lock;         /* of the pieces and the thread; no I/O but what dropping pages is */
    HB_VEC(piece) pieces; /* those in files */
    hb_news change;       /* the thread is to look */
    pthread_t thread;     /* drops pages, while there are pieces */
    bool has_thread;
    unsigned generation;    /* of the thread: one of an earlier one ends */
    size_t resident_before; /* of files, when the thread began: the program's own */
    /* Relaxed: they are sums, and settings made before threads are. */
    _Atomic size_t in_memory, limit; /* limit 0: none, nothing goes to a disk */
    _Atomic bool strict;             /* the limit was asked for: beyond it is the disk or nothing */
    _Atomic int refusal;             /* errno of the last file that could not be made */
} large = {.lock = HB_LOCK_INIT(LARGE_MEMORY)};

static bool is_large(size_t size)
{
    return size >= LEAST;
}

/* ---- the limit ---- */

hb_result hb_large_use_disk(void)
{
    const char *text = secure_getenv(SETTING);
    uint64_t limit = HB_MIN(USUAL_LIMIT, hb_memory_share() / 2);
    bool asked = text && *text;
    if (asked && !hb_parse_size(text, &limit))
        return hb_fail(HB_ERROR_INVALID_ARGUMENT, SETTING "=%s: expected bytes, as 500M or 20G",
                       text);
    atomic_store(&large.strict, asked);
    atomic_store(&large.limit, (size_t)HB_MIN(limit, SIZE_MAX / 2));
    return HB_OK;
}

/* What is in memory of ordinary pieces: the rest is for scattered ones. 0: as much as there is. */
static size_t ordinary_limit(void)
{
    size_t limit = atomic_load(&large.limit);
    return limit - limit / 4;
}

/* Not of a process that lays nothing aside. */
static size_t scattered_limit(void)
{
    size_t limit = atomic_load(&large.limit);
    return atomic_load(&large.strict) ? limit : HB_MAX(limit, hb_memory_share());
}

/* Of files' pages that are mapped; more are dropped. Who reads on meanwhile, on a busy machine,
 * maps more than the limit again before they are. */
static size_t resident_limit(void)
{
    return HB_MAX(atomic_load(&large.limit) / 3, (size_t)8 << 20);
}

const char *hb_large_refusal(char text[256])
{
    int error = atomic_load(&large.refusal);
    if (!error) return "out of memory";
    char reason[100];
    snprintf(text, 256,
             "out of memory: over %zu MiB are needed, and no temporary file can take the rest "
             "(TMPDIR names another directory, " SETTING " allows more memory): %s",
             atomic_load(&large.limit) >> 20, strerror_r(error, reason, sizeof reason));
    return text;
}

/* ---- files ---- */

/* The name goes at once, where there has to be one. */
static int open_unnamed(const char *dir)
{
    char *path;
    int fd = hb_open_file(dir, O_TMPFILE | O_RDWR, 0600);
    if (fd >= 0 || asprintf(&path, "%s/hipboard-XXXXXX", dir) < 0) return fd;
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0) unlink(path);
    free(path);
    return fd;
}

/* NULL with errno. All blocks are there before somebody writes to it. */
static void *map_file_in(const char *dir, size_t size)
{
    if (!hb_dir_is_mappable(dir)) {
        errno = EOPNOTSUPP;
        return NULL;
    }
    if (!hb_may_grow_to(size)) return NULL;
    int fd = open_unnamed(dir);
    if (fd < 0) return NULL;
    int error;
    do
        error = posix_fallocate(fd, 0, (off_t)size);
    while (error == EINTR);
    void *memory = MAP_FAILED;
    if (!error) {
        memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (memory == MAP_FAILED) error = errno;
    }
    close(fd);
    errno = error;
    return memory == MAP_FAILED ? NULL : memory;
}

/* /tmp is often memory. */
static void *map_file(size_t size)
{
    const char *dirs[] = {secure_getenv("TMPDIR"), "/var/tmp", "/tmp"};
    void *memory = NULL;
    int error = ENOENT;
    for (size_t i = 0; i < HB_ARRAY_LEN(dirs) && !memory; i++) {
        if (!dirs[i] || !*dirs[i]) continue;
        memory = map_file_in(dirs[i], size);
        if (!memory && (error != ENOSPC || errno == ENOSPC)) error = errno;
    }
    if (!memory) atomic_store(&large.refusal, error);
    return memory;
}

/* ---- what of them counts as memory ---- */

/* Of all files that the process has mapped. */
static size_t resident_of_files(void)
{
    char text[128] = "";
    size_t pages = 0;
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && read(fd, text, sizeof text - 1) > 0) sscanf(text, "%*u %*u %zu", &pages);
    if (fd >= 0) close(fd);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* The pages stay in the kernel's cache until it needs room, and are mapped again as they are used.
 * What is measured behind that may be others again: only the first time tells what is not ours.
 * Under the lock. */
static void drop_pages(void)
{
    if (resident_of_files() < large.resident_before + resident_limit()) return;
    for (uint32_t i = 0; i < large.pieces.count; i++)
        madvise(large.pieces.items[i].start, large.pieces.items[i].size, MADV_DONTNEED);
}

static void *keep_dropping(void *generation)
{
    unsigned own = (unsigned)(uintptr_t)generation, looks = 0;
    hb_lock_take(&large.lock);
    while (large.generation == own) {
        drop_pages();
        hb_news_wait_us(&large.change, &large.lock, LOOK_US);
        if (++looks % LOOKS) continue;
        hb_lock_give(&large.lock);
        hb_process_end_if_over();
        hb_lock_take(&large.lock);
    }
    hb_lock_give(&large.lock);
    return NULL;
}

static void hold_for_fork(void)
{
    hb_lock_hold_for_fork(&large.lock);
}

static void give_after_fork(void)
{
    hb_lock_give_after_fork(&large.lock);
}

/* The thread is the parent's. */
static void begin_in_child(void)
{
    hb_lock_init(&large.lock, HB_LOCK_LARGE_MEMORY);
    large.has_thread = false;
    large.generation++;
}

static void register_once(void)
{
    hb_process_at_fork(HB_FORK_LARGE_MEMORY,
                       (hb_fork_room){hold_for_fork, give_after_fork, begin_in_child});
}

/* Without one more is resident; that is no reason to fail. Under the lock. */
static void need_thread(void)
{
    if (large.has_thread) return;
    large.resident_before = resident_of_files();
    large.has_thread = hb_background_thread(&large.thread, "memory", keep_dropping,
                                            (void *)(uintptr_t)large.generation) == 0;
}

static bool add_piece(void *memory, size_t size)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, register_once);
    hb_lock_take(&large.lock);
    piece *p = HB_APPEND(&large.pieces);
    if (p) {
        *p = (piece){memory, size};
        need_thread();
        drop_pages();
    }
    hb_lock_give(&large.lock);
    return p != NULL;
}

static void *alloc_in_file(size_t size)
{
    void *memory = map_file(size);
    if (!memory || add_piece(memory, size)) return memory;
    munmap(memory, size);
    return NULL;
}

/* UINT32_MAX: it is in memory. Most are asked for soon after they came. Under the lock. */
static uint32_t find_piece(const void *memory)
{
    uint32_t i = large.pieces.count;
    while (i > 0 && large.pieces.items[i - 1].start != memory)
        i--;
    return i - 1;
}

/* With the last one the thread ends. False: it is in memory. */
static bool free_in_file(void *memory, size_t size)
{
    pthread_t thread;
    bool ends = false;
    hb_lock_take(&large.lock);
    uint32_t i = find_piece(memory);
    if (i != UINT32_MAX) {
        munmap(memory, size);
        large.pieces.items[i] = large.pieces.items[--large.pieces.count];
        ends = large.pieces.count == 0 && large.has_thread;
    }
    if (ends) {
        thread = large.thread;
        large.has_thread = false;
        large.generation++;
        free(large.pieces.items);
        large.pieces.items = NULL;
        large.pieces.capacity = 0;
    }
    hb_lock_give(&large.lock);
    if (ends) {
        hb_news_tell(&large.change);
        pthread_join(thread, NULL);
    }
    return i != UINT32_MAX;
}

bool hb_large_is_in_memory(const void *memory, size_t size)
{
    if (!is_large(size) || !atomic_load(&large.limit)) return true;
    hb_lock_take(&large.lock);
    bool in_memory = find_piece(memory) == UINT32_MAX;
    hb_lock_give(&large.lock);
    return in_memory;
}

/* ---- memory ---- */

/* Whether so much more may be in memory; it is counted then. */
static bool count_memory(size_t more, size_t limit)
{
    size_t before = atomic_fetch_add(&large.in_memory, more);
    if (!limit || (before <= limit && more <= limit - before)) return true;
    atomic_fetch_sub(&large.in_memory, more);
    return false;
}

/* The whole mapping, as mremap() takes no parts of several sorts. */
static void use_huge_pages(void *memory, size_t size)
{
    if (size >= HUGE) madvise(memory, size, MADV_HUGEPAGE);
}

/* Huge pages begin with the first byte. */
static void *map_memory(size_t size)
{
    size_t more = size >= HUGE ? HUGE_PAGE : 0;
    if (size > SIZE_MAX - more) return NULL;
    char *p = mmap(NULL, size + more, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return NULL;
    if (!more) return p;
    size_t before = -(uintptr_t)p & (HUGE_PAGE - 1);
    size_t behind = (size + 4095) & ~(size_t)4095;
    if (before) munmap(p, before);
    if (before + behind < size + more) munmap(p + before + behind, size + more - before - behind);
    use_huge_pages(p + before, size);
    return p + before;
}

static void *alloc_in_memory(size_t size, size_t limit)
{
    if (!count_memory(size, limit)) return NULL;
    void *memory = map_memory(size);
    if (!memory) atomic_fetch_sub(&large.in_memory, size);
    return memory;
}

static void *alloc(size_t size, size_t limit)
{
    if (!is_large(size)) return calloc(1, size ? size : 1);
    atomic_store(&large.refusal, 0);
    void *memory = alloc_in_memory(size, limit);
    if (memory || !limit) return memory;
    memory = alloc_in_file(size);
    if (memory || atomic_load(&large.strict)) return memory;
    return alloc_in_memory(size, hb_memory_share());
}

void *hb_large_alloc(size_t size)
{
    return alloc(size, ordinary_limit());
}

void *hb_large_alloc_scattered(size_t size)
{
    return alloc(size, atomic_load(&large.limit) ? scattered_limit() : 0);
}

void hb_large_free(void *memory, size_t size)
{
    if (!memory) return;
    if (!is_large(size)) {
        free(memory);
    } else if (!atomic_load(&large.limit) || !free_in_file(memory, size)) {
        munmap(memory, size);
        atomic_fetch_sub(&large.in_memory, size);
    }
}

/* NULL: it has to move. */
static void *grow_in_memory(void *memory, size_t size, size_t larger)
{
    if (!hb_large_is_in_memory(memory, size)) return NULL;
    if (!count_memory(larger - size, ordinary_limit())) return NULL;
    void *grown = mremap(memory, size, larger, MREMAP_MAYMOVE);
    if (grown == MAP_FAILED) {
        atomic_fetch_sub(&large.in_memory, larger - size);
        return NULL;
    }
    use_huge_pages(grown, larger);
    return grown;
}

void *hb_large_grow(void *memory, size_t size, size_t larger)
{
    void *grown;
    if (!is_large(larger)) {
        grown = realloc(memory, larger);
        if (grown) memset((char *)grown + size, 0, larger - size);
        return grown;
    }
    grown = is_large(size) ? grow_in_memory(memory, size, larger) : NULL;
    if (grown) return grown;
    grown = hb_large_alloc(larger);
    if (!grown) return NULL;
    if (size) memcpy(grown, memory, size);
    hb_large_free(memory, size);
    return grown;
}
