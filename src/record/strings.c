/* SPDX-License-Identifier: MIT
 *
 * Strings lie one after the other in one mapping, each as {length, hash, bytes, NUL}, 8-byte
 * aligned; an id is an offset divided by 8, so getting a string is one addition. The index is an
 * open-addressing table of ids, read with plain atomic loads; when it is 3/4 full, a table of twice
 * the size takes its place and the old one stays, since a reader may still be in it: together the
 * old ones are smaller than the new.
 */
#include "record/strings.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "base/base.h"
#include "record/thread.h"

typedef struct entry {
    uint32_t len, hash;
    char bytes[];
} entry;

typedef struct table {
    struct table *older;
    uint32_t mask;
    _Atomic uint32_t ids[]; /* 0: empty */
} table;

static struct {
    char *base;
    uint64_t size, capacity;
    _Atomic(table *) index;
    uint32_t count;
    pthread_mutex_t lock;
    hb_strings_mirror mirror;
    void *mirror_arg;
} strings = {.lock = PTHREAD_MUTEX_INITIALIZER};

static inline uint64_t read64(const char *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline uint64_t mix(uint64_t a, uint64_t b)
{
    __uint128_t m = (__uint128_t)a * b;
    return (uint64_t)m ^ (uint64_t)(m >> 64);
}

/* Multiply and fold, 8 bytes at a time; the last 8 overlap. Names are short, so this is a few ns.
 */
static uint32_t hash_bytes(const char *s, size_t n)
{
    const uint64_t k0 = 0x9e3779b97f4a7c15u, k1 = 0xd6e8feb86659fd93u;
    uint64_t h = n * k1 + k0;
    if (n >= 8) {
        for (size_t i = 0; i + 8 < n; i += 8)
            h = mix(h ^ read64(s + i), k0);
        h = mix(h ^ read64(s + n - 8), k1);
    } else {
        uint64_t v = 0;
        memcpy(&v, s, n);
        h = mix(h ^ v, k1);
    }
    return (uint32_t)(h ^ (h >> 32));
}

static const entry *entry_of(uint32_t id)
{
    return (const entry *)(strings.base + hb_strings_offset(id));
}

hb_str hb_strings_get(uint32_t id)
{
    const entry *e = entry_of(id);
    return (hb_str){e->bytes, e->len};
}

hb_str hb_strings_read(const char *at, uint64_t available)
{
    const entry *e = (const entry *)at;
    if ((uintptr_t)at % _Alignof(entry) != 0 || available < sizeof *e ||
        e->len >= available - sizeof *e)
        return (hb_str){0};
    return (hb_str){e->bytes, e->len};
}

static uint32_t find(const table *t, const char *text, size_t size, uint32_t hash)
{
    for (uint32_t i = hash & t->mask;; i = (i + 1) & t->mask) {
        uint32_t id = atomic_load_explicit(&t->ids[i], memory_order_acquire);
        if (id == 0) return 0;
        const entry *e = entry_of(id);
        if (e->hash == hash && e->len == size && memcmp(e->bytes, text, size) == 0) return id;
    }
}

/* Zeroed; perhaps for a signal handler that interrupted malloc(). */
static void *map_memory(uint64_t size)
{
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

static size_t table_size(uint32_t slots)
{
    return sizeof(table) + (size_t)slots * sizeof(_Atomic uint32_t);
}

static table *table_new(uint32_t slots)
{
    table *t = map_memory(table_size(slots));
    if (t) t->mask = slots - 1;
    return t;
}

static void table_insert(table *t, uint32_t id)
{
    uint32_t i = entry_of(id)->hash & t->mask;
    while (atomic_load_explicit(&t->ids[i], memory_order_relaxed))
        i = (i + 1) & t->mask;
    atomic_store_explicit(&t->ids[i], id, memory_order_release);
}

static bool index_grow(void)
{
    table *old = atomic_load_explicit(&strings.index, memory_order_relaxed);
    if (strings.count < (old->mask + 1) / 4 * 3) return true;
    table *t = table_new((old->mask + 1) * 2);
    if (!t) return strings.count < old->mask;
    for (uint32_t i = 0; i <= old->mask; i++) {
        uint32_t id = atomic_load_explicit(&old->ids[i], memory_order_relaxed);
        if (id) table_insert(t, id);
    }
    t->older = old;
    atomic_store_explicit(&strings.index, t, memory_order_release);
    return true;
}

/* Under the lock. 0 when there is no room. */
static uint32_t add(const char *text, size_t size, uint32_t hash)
{
    if (size >= UINT32_MAX) return 0;
    uint64_t bytes = (sizeof(entry) + size + 1 + 7) & ~(uint64_t)7;
    if (bytes > strings.capacity - strings.size || !index_grow()) return 0;
    uint64_t offset = strings.size;
    entry *e = (entry *)(strings.base + offset);
    e->len = (uint32_t)size;
    e->hash = hash;
    memcpy(e->bytes, text, size);
    strings.size += bytes;
    strings.count++;
    if (strings.mirror) strings.mirror(strings.mirror_arg, strings.base, offset, bytes);
    uint32_t id = (uint32_t)(offset / 8);
    table_insert(atomic_load_explicit(&strings.index, memory_order_relaxed), id);
    return id;
}

static uint32_t find_or_add(const char *text, size_t size, uint32_t hash)
{
    pthread_mutex_lock(&strings.lock);
    uint32_t id =
        find(atomic_load_explicit(&strings.index, memory_order_relaxed), text, size, hash);
    if (!id) id = add(text, size, hash);
    pthread_mutex_unlock(&strings.lock);
    return id;
}

uint32_t hb_strings_intern(const char *text, size_t size)
{
    uint32_t hash = hash_bytes(text, size);
    uint32_t id =
        find(atomic_load_explicit(&strings.index, memory_order_acquire), text, size, hash);
    if (HB_LIKELY(id)) return id;
    /* A signal handler must not wait for a lock that what it interrupted may hold. */
    hb_thread *t = hb_thread_self();
    if (t && !hb_thread_enter(t)) return HB_STRING_DROPPED;
    id = find_or_add(text, size, hash);
    if (t) hb_thread_leave(t);
    return id ? id : HB_STRING_DROPPED;
}

hb_result hb_strings_init(void)
{
    /* Untouched pages cost nothing; under a limit on address space less has to do. */
    for (uint64_t size = HB_STRINGS_MAX_BYTES; size >= 1 << 20; size /= 2) {
        if (size > hb_affordable(HB_STRINGS_MAX_BYTES)) continue;
        strings.base = map_memory(size);
        strings.capacity = size;
        if (strings.base) break;
    }
    table *t = table_new(4096);
    if (!strings.base || !t) {
        if (t) munmap(t, table_size(4096));
        return hb_fail(HB_ERROR_NO_MEMORY, "no memory for the table of names");
    }
    atomic_store(&strings.index, t);
    strings.size = 8; /* id 0 means none */
    uint32_t unnamed = hb_strings_intern("(unnamed)", 9);
    uint32_t dropped = hb_strings_intern("(name dropped)", 14);
    return unnamed == HB_STRING_UNNAMED && dropped == HB_STRING_DROPPED ? HB_OK : HB_ERROR_STATE;
}

void hb_strings_set_mirror(hb_strings_mirror mirror, void *arg)
{
    pthread_mutex_lock(&strings.lock);
    strings.mirror = mirror;
    strings.mirror_arg = arg;
    if (mirror) mirror(arg, strings.base, 0, strings.size);
    pthread_mutex_unlock(&strings.lock);
}

void hb_strings_forget_mirror(void)
{
    strings.mirror = NULL;
    strings.mirror_arg = NULL;
}

void hb_strings_lock(void)
{
    pthread_mutex_lock(&strings.lock);
}

void hb_strings_unlock(void)
{
    pthread_mutex_unlock(&strings.lock);
}
