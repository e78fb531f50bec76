/* SPDX-License-Identifier: MIT
 *
 * Strings lie one after the other in one mapping, each as {length, hash, bytes, NUL}, 8-byte
 * aligned; an id is an offset divided by 8, so getting a string is one addition. The index is an
 * open-addressing table of ids, read without a lock: `ids`, `moved`, `index` and `size` are
 * released when what they lead to is whole, and acquired by readers. When it is 3/4 full, a table
 * of twice the size takes its place, into which each new string moves some of the old one's ids, so
 * that nobody waits for all of them. The old one stays, since a reader may still be in it: together
 * the old ones are smaller than the new.
 *
 * `lock` is held for some hundred nanoseconds, never over a system call: room for strings and for
 * the next index is made before it is taken. fork() does not wait for it: what is there at any
 * moment is a whole table, and the child makes the lock anew.
 */
#include "record/strings.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/address_space.h"
#include "base/base.h"
#include "base/lock.h"
#include "record/thread.h"

typedef struct entry {
    uint32_t len, hash;
    char bytes[];
} entry;

typedef struct table {
    struct table *older; /* may have ids that this one has not, up to `moved` == older->mask + 1 */
    _Atomic uint32_t moved;
    uint32_t mask;
    _Atomic uint32_t ids[]; /* 0: empty */
} table;

static struct {
    char *base;
    uint64_t capacity;
    _Atomic uint64_t size, usable; /* bytes; `usable` may be touched */
    _Atomic(table *) index;
    _Atomic(table *) next_index; /* made ahead */
    _Atomic uint32_t count;
    hb_lock lock;
    hb_strings_mirror *mirrors;
} strings = {.lock = HB_LOCK_INIT(STRINGS)};

#define USABLE_AT_ONCE ((uint64_t)1 << 20)
#define MOVED_AT_ONCE  8u

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

static uint32_t find_in(const table *t, const char *text, size_t size, uint32_t hash)
{
    for (uint32_t i = hash & t->mask;; i = (i + 1) & t->mask) {
        uint32_t id = atomic_load_explicit(&t->ids[i], memory_order_acquire);
        if (id == 0) return 0;
        const entry *e = entry_of(id);
        if (e->hash == hash && e->len == size && memcmp(e->bytes, text, size) == 0) return id;
    }
}

static bool is_whole(const table *t)
{
    return !t->older || atomic_load_explicit(&t->moved, memory_order_acquire) > t->older->mask;
}

static uint32_t find(const char *text, size_t size, uint32_t hash)
{
    const table *t = atomic_load_explicit(&strings.index, memory_order_acquire);
    bool whole = is_whole(t); /* before looking: what is moved meanwhile is in both */
    uint32_t id = find_in(t, text, size, hash);
    return id || whole ? id : find_in(t->older, text, size, hash);
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

static bool is_nearly_full(const table *t)
{
    return atomic_load_explicit(&strings.count, memory_order_relaxed) >= (t->mask + 1) / 4 * 3;
}

/* Under the lock. An id in both is found in either. */
static void move_some(table *t)
{
    uint32_t at = atomic_load_explicit(&t->moved, memory_order_relaxed);
    for (uint32_t n = 0; n < MOVED_AT_ONCE && at <= t->older->mask; n++, at++) {
        uint32_t id = atomic_load_explicit(&t->older->ids[at], memory_order_relaxed);
        if (id) table_insert(t, id);
    }
    atomic_store_explicit(&t->moved, at, memory_order_release);
}

/* Under the lock: the index with room for one more; NULL when there is none. The old one is moved
 * long before the new one is full. */
static table *index_with_room(void)
{
    table *t = atomic_load_explicit(&strings.index, memory_order_relaxed);
    if (!is_whole(t)) {
        move_some(t);
    } else if (is_nearly_full(t)) {
        table *next = atomic_exchange(&strings.next_index, NULL);
        if (!next) return strings.count < t->mask ? t : NULL;
        next->older = t;
        atomic_store_explicit(&strings.index, next, memory_order_release);
        t = next;
    }
    return t;
}

/* Without the lock: several threads may do so at once. False when there is no more room. */
static bool make_room(uint64_t bytes)
{
    table *t = atomic_load_explicit(&strings.index, memory_order_acquire);
    if (is_nearly_full(t) && !atomic_load(&strings.next_index)) {
        table *next = table_new((t->mask + 1) * 2), *none = NULL;
        if (next && !atomic_compare_exchange_strong(&strings.next_index, &none, next))
            munmap(next, table_size(next->mask + 1));
    }
    uint64_t need = atomic_load(&strings.size) + bytes, usable = atomic_load(&strings.usable);
    if (need > strings.capacity) return false;
    if (need + USABLE_AT_ONCE / 4 <= usable || usable == strings.capacity) return true;
    uint64_t more = HB_MIN(need + USABLE_AT_ONCE, strings.capacity) & ~(USABLE_AT_ONCE - 1);
    if (more < need) more = strings.capacity;
    if (mprotect(strings.base, more, PROT_READ | PROT_WRITE) != 0) return need <= usable;
    while (usable < more && !atomic_compare_exchange_weak(&strings.usable, &usable, more)) {
    }
    return true;
}

static uint64_t entry_bytes(size_t size)
{
    return (sizeof(entry) + size + 1 + 7) & ~(uint64_t)7;
}

/* Under the lock. 0 when there is no room; *usable tells whether more can be made. */
static uint32_t add(const char *text, size_t size, uint32_t hash, bool *usable)
{
    uint64_t bytes = entry_bytes(size), offset = strings.size;
    *usable = offset + bytes <= strings.usable;
    table *t = *usable ? index_with_room() : NULL;
    if (!t) return 0;
    entry *e = (entry *)(strings.base + offset);
    e->len = (uint32_t)size;
    e->hash = hash;
    memcpy(e->bytes, text, size);
    /* Partner of hb_strings_table(). */
    atomic_store_explicit(&strings.size, offset + bytes, memory_order_release);
    atomic_store_explicit(&strings.count, strings.count + 1, memory_order_relaxed);
    for (const hb_strings_mirror *m = strings.mirrors; m; m = m->next)
        m->add(m->arg, strings.base + offset, offset, bytes);
    uint32_t id = (uint32_t)(offset / 8);
    table_insert(t, id);
    return id;
}

static uint32_t find_or_add(const char *text, size_t size, uint32_t hash)
{
    for (;;) {
        if (!make_room(entry_bytes(size))) return 0;
        bool usable = true;
        hb_lock_take(&strings.lock);
        uint32_t id = find(text, size, hash);
        if (!id) id = add(text, size, hash, &usable);
        hb_lock_give(&strings.lock);
        if (id || usable) return id;
    }
}

static uint32_t intern(const char *text, size_t size, const void *frame)
{
    uint32_t hash = hash_bytes(text, size);
    uint32_t id = find(text, size, hash);
    if (HB_LIKELY(id)) return id;
    /* A signal handler must not wait for a lock that what it interrupted may hold. */
    bool has_state = hb_thread_self() != NULL;
    hb_thread *t = hb_thread_begin_at(frame);
    if (has_state && !t) return HB_STRING_DROPPED;
    id = find_or_add(text, size, hash);
    if (t) hb_thread_leave(t);
    return id ? id : HB_STRING_DROPPED;
}

uint32_t hb_strings_intern(const char *text, size_t size)
{
    return intern(text, size, HB_FRAME);
}

static hb_str step_name(int64_t number, char text[HB_STEP_NAME_SIZE])
{
    return (hb_str){text, (uint32_t)hb_step_name(text, number)};
}

uint32_t hb_strings_step(int64_t number)
{
    if (HB_LIKELY(number >= 0 && number < HB_STRING_STEP)) return HB_STRING_STEP | (uint32_t)number;
    char text[HB_STEP_NAME_SIZE];
    hb_str name = step_name(number, text);
    return hb_strings_intern(name.s, name.len);
}

hb_str hb_strings_step_name(uint32_t id, char text[HB_STEP_NAME_SIZE])
{
    return step_name(id & ~HB_STRING_STEP, text);
}

static uint32_t intern_name(const char *text, size_t size, const void *frame)
{
    if (HB_UNLIKELY(size > HB_NAME_MAX)) {
        for (size = HB_NAME_MAX; size && ((unsigned char)text[size] & 0xc0) == 0x80;)
            size--; /* not within a character */
    }
    return intern(text, size, frame);
}

uint32_t hb_record_name(const char *name, const void *frame)
{
    if (!name || !*name) return HB_STRING_UNNAMED;
    /* A child that no fork handler prepared: new names would go to its parent's spool. */
    if (HB_UNLIKELY(!__atomic_load_n(hb_live_epoch, __ATOMIC_RELAXED))) return HB_STRING_DROPPED;
    size_t size = strnlen(name, HB_NAME_MAX + 1);
    uint32_t id = intern_name(name, size, frame);
    if (HB_UNLIKELY(id == HB_STRING_DROPPED)) hb_lost_add(HB_LOST_STRINGS_FULL);
    if (HB_UNLIKELY(size > HB_NAME_MAX)) hb_lost_add(HB_LOST_TOO_BIG);
    return id;
}

hb_result hb_strings_init(void)
{
    /* Under a limit on address space less has to do. */
    for (uint64_t size = HB_STRINGS_MAX_BYTES; size >= 1 << 20; size /= 2) {
        if (size > hb_affordable(HB_STRINGS_MAX_BYTES)) continue;
        strings.base = hb_address_space(size, PROT_NONE);
        strings.capacity = size;
        if (strings.base) break;
    }
    table *t = table_new(4096);
    if (!strings.base || !t) {
        if (t) munmap(t, table_size(4096));
        return hb_fail(HB_ERROR_NO_MEMORY, "no memory for the table of names");
    }
    atomic_store(&strings.index, t);
    atomic_store(&strings.size, 8); /* id 0 means none */
    if (!make_room(USABLE_AT_ONCE / 2))
        return hb_fail(HB_ERROR_NO_MEMORY, "no memory for the table of names");
    uint32_t unnamed = hb_strings_intern("(unnamed)", 9);
    uint32_t dropped = hb_strings_intern("(name dropped)", 14);
    return unnamed == HB_STRING_UNNAMED && dropped == HB_STRING_DROPPED ? HB_OK : HB_ERROR_STATE;
}

void hb_strings_follow(hb_strings_mirror *mirror)
{
    hb_lock_take(&strings.lock);
    mirror->next = strings.mirrors;
    strings.mirrors = mirror;
    hb_lock_give(&strings.lock);
}

void hb_strings_leave(hb_strings_mirror *mirror)
{
    hb_lock_take(&strings.lock);
    for (hb_strings_mirror **at = &strings.mirrors; *at; at = &(*at)->next) {
        if (*at != mirror) continue;
        *at = mirror->next;
        break;
    }
    hb_lock_give(&strings.lock);
}

const char *hb_strings_table(uint64_t *end)
{
    *end = atomic_load_explicit(&strings.size, memory_order_acquire);
    return strings.base;
}

uint64_t hb_strings_whole(uint64_t from, uint64_t end, uint64_t most)
{
    uint64_t at = from;
    while (at < end) {
        uint64_t bytes = entry_bytes(((const entry *)(strings.base + at))->len);
        if (at > from && at + bytes - from > most) break;
        at += bytes;
    }
    return at - from;
}

void hb_strings_after_fork(void)
{
    hb_lock_init(&strings.lock, HB_LOCK_STRINGS); /* another thread may have held it */
    strings.mirrors = NULL;
}
