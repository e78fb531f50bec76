/* SPDX-License-Identifier: MIT */
#include "record/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/files.h"
#include "record/strings.h"

#define FIRST_COMMIT 256u /* chunks: 16 MiB */
#define MAX_COMMIT   4096u

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* Mapped records on these would wait for a server. */
static const uint32_t network_file_systems[] = {
    0x6969,     /* NFS */
    0x517b,     /* SMB */
    0xff534d42, /* CIFS */
    0xfe534d42, /* SMB2 */
    0x0bd00bd0, /* Lustre */
    0x47504653, /* GPFS */
    0x65735546, /* FUSE */
    0x00c36400, /* Ceph */
    0x19830326, /* BeeGFS */
    0x5346414f, /* AFS */
    0x01021997, /* 9P */
    0xaad7aaea, /* PanFS */
};

static bool is_network(const char *dir)
{
    struct statfs fs;
    if (statfs(dir, &fs) != 0) return true;
    for (size_t i = 0; i < HB_ARRAY_LEN(network_file_systems); i++)
        if ((uint32_t)fs.f_type == network_file_systems[i]) return true;
    return false;
}

static char *chunk_at(const hb_spool *spool, uint32_t index)
{
    return spool->base + (size_t)index * HB_CHUNK_BYTES;
}

/* ---- growing ---- */

/* A signal interrupts it, on some file systems so that it begins anew: not for ever. */
static bool allocate(int fd, off_t offset, off_t size)
{
    int failed = -1;
    errno = EINTR;
    for (int tries = 0; tries < 20 && failed && errno == EINTR; tries++)
        failed = fallocate(fd, 0, offset, size);
    return !failed;
}

static bool commit_file(hb_spool *spool, uint32_t from, uint32_t count)
{
    off_t offset = (off_t)from * HB_CHUNK_BYTES;
    size_t size = (size_t)count * HB_CHUNK_BYTES;
    if (!hb_may_grow_to((uint64_t)offset + size) || !allocate(spool->file.fd, offset, (off_t)size))
        return false;
    void *p = mmap(chunk_at(spool, from), size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                   spool->file.fd, offset);
    return p != MAP_FAILED;
}

static bool commit_anonymous(hb_spool *spool, uint32_t from, uint32_t count)
{
    return mprotect(chunk_at(spool, from), (size_t)count * HB_CHUNK_BYTES,
                    PROT_READ | PROT_WRITE) == 0;
}

/* Under lock. */
static bool commit_more(hb_spool *spool)
{
    uint32_t from = atomic_load(&spool->committed);
    uint32_t count = HB_MIN(HB_MAX(from / 2, FIRST_COMMIT), MAX_COMMIT);
    count = HB_MIN(count, spool->max_chunks - from);
    if (count == 0) return false;
    bool in_file =
        !spool->file_full && hb_kept_file_is_there(&spool->file) && commit_file(spool, from, count);
    if (!in_file) {
        spool->file_full = true;
        if (!commit_anonymous(spool, from, count)) return false;
    } else {
        hb_spool_head(spool)->num_chunks = from + count;
    }
    atomic_store(&spool->committed, from + count);
    return true;
}

/* ---- taking and giving ---- */

static uint32_t take_free(hb_spool *spool)
{
    pthread_mutex_lock(&spool->free_lock);
    uint32_t index = spool->free_chunks;
    if (index) spool->free_chunks = hb_spool_chunk(spool, index)->next;
    pthread_mutex_unlock(&spool->free_lock);
    return index;
}

void hb_spool_give(hb_spool *spool, uint32_t index)
{
    hb_chunk *chunk = hb_spool_chunk(spool, index);
    chunk->kind = HB_CHUNK_FREE;
    pthread_mutex_lock(&spool->free_lock);
    chunk->next = spool->free_chunks;
    spool->free_chunks = index;
    pthread_mutex_unlock(&spool->free_lock);
}

/* `count` chunks in a row that were never used; 0 when full. */
static uint32_t take_fresh(hb_spool *spool, uint32_t count)
{
    uint32_t index = atomic_load(&spool->fresh);
    for (;;) {
        if (count > spool->max_chunks - index) return 0;
        while (index + count > atomic_load(&spool->committed)) {
            pthread_mutex_lock(&spool->lock);
            bool ok = index + count <= atomic_load(&spool->committed) || commit_more(spool);
            pthread_mutex_unlock(&spool->lock);
            if (!ok) return 0;
        }
        if (atomic_compare_exchange_weak(&spool->fresh, &index, index + count)) return index;
    }
}

uint32_t hb_spool_take(hb_spool *spool)
{
    uint32_t index = take_free(spool);
    if (index) return index;
    index = take_fresh(spool, 1);
    /* One call instead of sixteen page faults. Older kernels refuse, and fault. */
    if (index) madvise(chunk_at(spool, index), HB_CHUNK_BYTES, MADV_POPULATE_WRITE);
    return index;
}

/* ---- strings ---- */

/* Keeps the string table's bytes in the file too, where recovery finds them. */
static void mirror_strings(void *arg, const char *base, uint64_t offset, uint64_t size)
{
    hb_spool *spool = arg;
    hb_spool_header *head = hb_spool_head(spool);
    if (spool->strings_chunk == 0 || size > spool->strings_room) {
        uint64_t chunks = (sizeof(hb_chunk) + size + HB_CHUNK_BYTES - 1) / HB_CHUNK_BYTES;
        uint32_t index = take_fresh(spool, (uint32_t)chunks);
        spool->strings_room = 0;
        if (index == 0) return; /* a name is missing after a crash, nothing else */
        hb_chunk *chunk = hb_spool_chunk(spool, index);
        *chunk =
            (hb_chunk){.used = sizeof *chunk, .next = head->first_strings, .string_offset = offset};
        __atomic_store_n(&chunk->kind, HB_CHUNK_STRINGS, __ATOMIC_RELEASE);
        head->first_strings = index;
        spool->strings_chunk = index;
        spool->strings_room = chunks * HB_CHUNK_BYTES - sizeof *chunk;
    }
    hb_chunk *chunk = hb_spool_chunk(spool, spool->strings_chunk);
    memcpy((char *)chunk + chunk->used, base + offset, size);
    __atomic_store_n(&chunk->used, chunk->used + (uint32_t)size, __ATOMIC_RELEASE);
    spool->strings_room -= size;
}

/* ---- life ---- */

static bool open_file(hb_spool *spool, const hb_spool_options *options)
{
    spool->why_anonymous = "no directory is known";
    if (!options->dir || !options->dir[0]) return false;
    spool->why_anonymous = "the directory is on a network file system";
    if (is_network(options->dir)) return false;
    spool->why_anonymous = "the spool file can't be made";
    if (asprintf(&spool->path, "%s/.%s.%lld" HB_SPOOL_SUFFIX, options->dir, options->worker_name,
                 (long long)hb_clock_ns(CLOCK_REALTIME)) < 0) {
        spool->path = NULL;
        return false;
    }
    spool->file = hb_kept_file_of(hb_open_file(spool->path, O_RDWR | O_CREAT | O_EXCL, 0644));
    /* The lock tells recovery that this process still lives. If that has it now, then for a moment.
     */
    if (spool->file.fd >= 0 && flock(spool->file.fd, LOCK_EX) == 0 &&
        commit_file(spool, 0, HB_MIN(FIRST_COMMIT, spool->max_chunks))) {
        spool->why_anonymous = NULL;
        return true;
    }
    if (spool->file.fd >= 0) unlink(spool->path);
    hb_kept_file_close(&spool->file);
    free(spool->path);
    spool->path = NULL;
    return false;
}

static void process_name(char *name, size_t size)
{
    char buf[4096] = "";
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, buf, sizeof buf - 1) : -1;
    if (fd >= 0) close(fd);
    buf[n > 0 ? n : 0] = '\0';
    const char *slash = strrchr(buf, '/');
    snprintf(name, size, "%s", slash ? slash + 1 : buf);
}

static void write_header(hb_spool *spool, const char *worker_name)
{
    hb_spool_header *head = hb_spool_head(spool);
    head->version = HB_SPOOL_VERSION;
    head->endian = HB_SPOOL_ENDIAN;
    head->layout = hb_spool_layout_here;
    head->pid = getpid();
    head->created_unix_ns = hb_clock_ns(CLOCK_REALTIME);
    head->num_chunks = atomic_load(&spool->committed);
    if (gethostname(head->host_name, sizeof head->host_name - 1) != 0) head->host_name[0] = '\0';
    process_name(head->process_name, sizeof head->process_name);
    snprintf(head->worker_name, sizeof head->worker_name, "%s", worker_name);
    memcpy(head->magic, HB_SPOOL_MAGIC, sizeof head->magic);
}

hb_result hb_spool_open(hb_spool *spool, const hb_spool_options *options)
{
    *spool = (hb_spool){.file = HB_NO_KEPT_FILE};
    uint64_t chunks = HB_MIN(options->max_bytes / HB_CHUNK_BYTES, (uint64_t)UINT32_MAX / 2);
    spool->max_chunks = (uint32_t)HB_MAX(chunks, (uint64_t)16);
    void *p = MAP_FAILED;
    for (; spool->max_chunks >= 16; spool->max_chunks /= 2) {
        p = mmap(NULL, (size_t)spool->max_chunks * HB_CHUNK_BYTES, PROT_NONE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p != MAP_FAILED) break;
    }
    if (p == MAP_FAILED) return hb_fail_errno(HB_ERROR_NO_MEMORY, errno, "no memory for records");
    spool->base = p;
    pthread_mutex_init(&spool->lock, NULL);
    pthread_mutex_init(&spool->free_lock, NULL);
    uint32_t first = HB_MIN(FIRST_COMMIT, spool->max_chunks);
    if (!open_file(spool, options) && !commit_anonymous(spool, 0, first)) {
        munmap(spool->base, (size_t)spool->max_chunks * HB_CHUNK_BYTES);
        return hb_fail_errno(HB_ERROR_NO_MEMORY, errno, "no memory for records");
    }
    atomic_store(&spool->committed, first);
    atomic_store(&spool->fresh, 1);
    write_header(spool, options->worker_name ? options->worker_name : "");
    if (spool->file.fd >= 0) hb_strings_set_mirror(mirror_strings, spool);
    return HB_OK;
}

void hb_spool_close(hb_spool *spool, bool keep)
{
    if (!spool->base) return;
    if (spool->path && !keep) unlink(spool->path);
    if (spool->file.fd >= 0) hb_strings_set_mirror(NULL, NULL);
    hb_spool_abandon(spool);
}

void hb_spool_abandon(hb_spool *spool)
{
    munmap(spool->base, (size_t)spool->max_chunks * HB_CHUNK_BYTES);
    hb_kept_file_close(&spool->file);
    free(spool->path);
    pthread_mutex_destroy(&spool->lock);
    pthread_mutex_destroy(&spool->free_lock);
    *spool = (hb_spool){.file = HB_NO_KEPT_FILE};
}
