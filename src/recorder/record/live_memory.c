/* SPDX-License-Identifier: MIT */
#include "record/live_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/address_space.h"
#include "base/lock.h"
#include "record/strings.h"

enum {
    BUCKET = 8, /* keys in a cache line */
    BUCKETS = HB_LIVE_SLOTS / BUCKET,
    MOST_BUCKETS = 8, /* that an address may be in */
    NO_DEVICE = 0xff,
    PASSING_US = 2000, /* patience with calls of other threads */
};

#define NO_EPOCH UINT32_MAX /* of no session: what is true now */

#define BEING_TAKEN 1u /* instead of an address */

/* All atomic, relaxed but for the key: with its acquire a reader sees what was put in before its
 * release. A correct program does not free what is still being allocated. */
typedef struct slot_info {
    _Atomic int64_t bytes;
    _Atomic uint32_t name, epoch;
    _Atomic uint32_t device; /* its place among the devices, always one that is there */
    uint32_t unused;
} slot_info;

typedef struct table {
    _Atomic uint64_t keys[BUCKETS][BUCKET]; /* 0: free */
    slot_info infos[BUCKETS][BUCKET];
    _Atomic bool passed[BUCKETS]; /* was full when an address came: it may be in the next */
} table;

typedef struct device {
    _Atomic uint64_t key;                          /* type and id; 0: none yet */
    _Atomic int64_t told_allocated, told_reserved; /* by the program; -1: never */
    _Atomic int64_t untracked, untracked_bytes;    /* alive, and not in the table */
} device;

static hb_lock keeping = HB_LOCK_INIT(LIVE_MEMORY);
static uint32_t keepers;           /* under the lock */
static _Atomic(table *) addresses; /* once made it stays: a call may just be using it */
static device devices[HB_LIVE_DEVICES];

bool hb_live_memory_is_kept(void)
{
    return __atomic_load_n(&hb_memory_enabled, __ATOMIC_RELAXED) & HB_MEMORY_KEPT;
}

/* ---- life ---- */

static void forget(void)
{
    table *t = atomic_load(&addresses);
    if (t) madvise(t, sizeof *t, MADV_DONTNEED); /* zeros again */
    for (uint32_t i = 0; i < HB_LIVE_DEVICES; i++) {
        atomic_store(&devices[i].key, 0);
        atomic_store(&devices[i].told_allocated, -1);
        atomic_store(&devices[i].told_reserved, -1);
        atomic_store(&devices[i].untracked, 0);
        atomic_store(&devices[i].untracked_bytes, 0);
    }
    for (hb_thread *of = hb_threads_first(); of; of = of->next)
        for (uint32_t i = 0; i < HB_ARRAY_LEN(of->live); i++) {
            atomic_store_explicit(&of->live[i].before, 0, memory_order_relaxed);
            atomic_store_explicit(&of->live[i].now, 0, memory_order_relaxed);
        }
}

static void make_table(void)
{
    if (atomic_load(&addresses)) return;
    table *t = hb_address_space(sizeof *t, PROT_READ | PROT_WRITE);
    if (t) atomic_store(&addresses, t);
}

void hb_live_memory_keep(void)
{
    hb_lock_take(&keeping);
    if (keepers++ == 0) {
        make_table();
        forget();
        __atomic_fetch_or(&hb_memory_enabled, HB_MEMORY_KEPT, __ATOMIC_SEQ_CST);
    }
    hb_lock_give(&keeping);
}

void hb_live_memory_drop(void)
{
    hb_lock_take(&keeping);
    if (keepers && --keepers == 0) {
        __atomic_fetch_and(&hb_memory_enabled, ~HB_MEMORY_KEPT, __ATOMIC_SEQ_CST);
        forget();
    }
    hb_lock_give(&keeping);
}

void hb_live_memory_after_fork(void)
{
    hb_lock_init(&keeping, HB_LOCK_LIVE_MEMORY);
    keepers = 0;
    __atomic_fetch_and(&hb_memory_enabled, ~HB_MEMORY_KEPT, __ATOMIC_SEQ_CST);
}

/* ---- devices ---- */

static uint64_t device_key(const hb_memory_info *info)
{
    uint32_t id = info->device_type == HB_DEVICE_CPU ? UINT32_MAX : (uint32_t)info->device_id;
    return (uint64_t)((uint32_t)info->device_type + 1) << 32 | id;
}

/* Whether the place is that device's: now, if it was nobody's. */
static bool is_device(device *d, uint64_t key)
{
    uint64_t there = atomic_load_explicit(&d->key, memory_order_relaxed);
    if (there == 0 && atomic_compare_exchange_strong(&d->key, &there, key)) return true;
    return there == key;
}

static uint32_t device_of(const hb_memory_info *info)
{
    uint64_t key = device_key(info);
    for (uint32_t i = 0; i < HB_LIVE_DEVICES; i++)
        if (is_device(&devices[i], key)) return i;
    return NO_DEVICE;
}

/* ---- addresses ---- */

static uint32_t bucket_of(uint64_t addr)
{
    return (uint32_t)((addr * UINT64_C(0x9e3779b97f4a7c15)) >> 32) % BUCKETS;
}

typedef struct place {
    _Atomic uint64_t *key;
    slot_info *info;
} place;

/* NO_DEVICE: on whichever. */
static bool find(table *t, uint32_t dev, uint64_t addr, place *found)
{
    uint32_t b = bucket_of(addr);
    for (uint32_t n = 0; n < MOST_BUCKETS; n++, b = (b + 1) % BUCKETS) {
        for (uint32_t i = 0; i < BUCKET; i++) {
            slot_info *info = &t->infos[b][i];
            if (atomic_load_explicit(&t->keys[b][i], memory_order_acquire) != addr) continue;
            if (dev != NO_DEVICE &&
                atomic_load_explicit(&info->device, memory_order_relaxed) != dev)
                continue;
            *found = (place){&t->keys[b][i], info};
            return true;
        }
        if (!atomic_load_explicit(&t->passed[b], memory_order_relaxed)) return false;
    }
    return false;
}

/* A free slot that is the caller's now. */
static bool take(table *t, uint64_t addr, place *taken)
{
    uint32_t b = bucket_of(addr);
    for (uint32_t n = 0; n < MOST_BUCKETS; n++, b = (b + 1) % BUCKETS) {
        for (uint32_t i = 0; i < BUCKET; i++) {
            uint64_t none = 0;
            if (atomic_load_explicit(&t->keys[b][i], memory_order_relaxed) != 0 ||
                !atomic_compare_exchange_strong_explicit(
                    &t->keys[b][i], &none, BEING_TAKEN, memory_order_acquire, memory_order_relaxed))
                continue;
            *taken = (place){&t->keys[b][i], &t->infos[b][i]};
            return true;
        }
        atomic_store_explicit(&t->passed[b], true, memory_order_relaxed);
    }
    return false;
}

static void leave_untracked(uint32_t dev, int64_t bytes)
{
    atomic_fetch_add_explicit(&devices[dev].untracked, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&devices[dev].untracked_bytes, bytes, memory_order_relaxed);
}

/* Of an address that is there already the free was not told of, or will be soon, by another thread:
 * so it is one more that is not in the table. */
static void put_in(uint32_t dev, uint64_t addr, int64_t bytes, uint32_t epoch, uint32_t name)
{
    place at;
    table *t = atomic_load_explicit(&addresses, memory_order_acquire);
    bool known = t && addr > BEING_TAKEN;
    bool again = known && find(t, dev, addr, &at);
    if (again)
        leave_untracked(dev, atomic_load_explicit(&at.info->bytes, memory_order_relaxed));
    else if (!known || !take(t, addr, &at)) {
        leave_untracked(dev, bytes);
        return;
    }
    atomic_store_explicit(&at.info->bytes, bytes, memory_order_relaxed);
    atomic_store_explicit(&at.info->name, name, memory_order_relaxed);
    atomic_store_explicit(&at.info->epoch, epoch, memory_order_relaxed);
    atomic_store_explicit(&at.info->device, dev, memory_order_relaxed);
    atomic_store_explicit(at.key, addr, memory_order_release);
}

/* One of those that are not in the table, if there is one. */
static bool take_untracked(uint32_t dev, int64_t bytes)
{
    int64_t n = atomic_load_explicit(&devices[dev].untracked, memory_order_relaxed);
    while (n > 0)
        if (atomic_compare_exchange_weak(&devices[dev].untracked, &n, n - 1)) {
            atomic_fetch_sub_explicit(&devices[dev].untracked_bytes, bytes, memory_order_relaxed);
            return true;
        }
    return false;
}

static bool take_out(uint32_t dev, uint64_t addr, int64_t bytes)
{
    place at;
    table *t = atomic_load_explicit(&addresses, memory_order_acquire);
    uint64_t there = addr;
    if (t && addr > BEING_TAKEN && find(t, dev, addr, &at) &&
        atomic_compare_exchange_strong(at.key, &there, 0))
        return true;
    return take_untracked(dev, bytes);
}

bool hb_live_memory_find(hb_memory_info *info)
{
    place at;
    table *t = atomic_load_explicit(&addresses, memory_order_acquire);
    uint64_t addr = (uint64_t)(uintptr_t)info->addr;
    if (!t || addr <= BEING_TAKEN || !find(t, NO_DEVICE, addr, &at)) return false;
    uint32_t dev = atomic_load_explicit(&at.info->device, memory_order_relaxed);
    uint64_t key = atomic_load_explicit(&devices[dev].key, memory_order_relaxed);
    info->device_type = (hb_device_type)((key >> 32) - 1);
    info->device_id = (int32_t)key;
    info->bytes = -atomic_load_explicit(&at.info->bytes, memory_order_relaxed);
    return true;
}

/* ---- sums ---- */

/* The thread's own. Releases: who sees a sum of this session's, sees that `epoch` has changed. */
static void add(hb_live_sum *s, uint32_t epoch, int64_t bytes)
{
    int64_t now = atomic_load_explicit(&s->now, memory_order_relaxed);
    if (atomic_load_explicit(&s->epoch, memory_order_relaxed) != epoch) {
        atomic_store_explicit(&s->before, now, memory_order_relaxed);
        atomic_store_explicit(&s->epoch, epoch, memory_order_release);
    }
    atomic_store_explicit(&s->now, (int64_t)((uint64_t)now + (uint64_t)bytes),
                          memory_order_release);
}

/* What it was as session `epoch` began. */
static int64_t sum_before(const hb_live_sum *s, uint32_t epoch)
{
    for (;;) {
        uint32_t seen = atomic_load_explicit(&s->epoch, memory_order_acquire);
        int64_t now = atomic_load_explicit(&s->now, memory_order_acquire);
        int64_t before = atomic_load_explicit(&s->before, memory_order_acquire);
        if (atomic_load_explicit(&s->epoch, memory_order_relaxed) == seen)
            return seen == epoch ? before : now;
    }
}

bool hb_live_memory_note(hb_thread *t, uint32_t epoch, const hb_memory_info *info, uint32_t name)
{
    if (info->out_of_memory || info->bytes == 0) return true;
    uint32_t dev = device_of(info);
    uint64_t addr = (uint64_t)(uintptr_t)info->addr;
    if (dev == NO_DEVICE) return true;
    if (info->total_allocated >= 0)
        atomic_store_explicit(&devices[dev].told_allocated, info->total_allocated,
                              memory_order_relaxed);
    if (info->total_reserved >= 0)
        atomic_store_explicit(&devices[dev].told_reserved, info->total_reserved,
                              memory_order_relaxed);
    if (info->bytes > 0)
        put_in(dev, addr, info->bytes, epoch, name);
    else if (!take_out(dev, addr, -info->bytes))
        return false;
    add(&t->live[dev], epoch, info->bytes);
    return true;
}

/* ---- a session's first records ---- */

typedef struct held {
    uint64_t addr;
    int64_t bytes;
    uint32_t name, device;
} held;

/* The largest ones, the least of them first: a heap. */
typedef struct listing {
    held *items;
    uint32_t n;
    uint64_t found;
} listing;

static void sift_down(listing *l, uint32_t i)
{
    for (;;) {
        uint32_t least = i;
        for (uint32_t child = 2 * i + 1; child <= 2 * i + 2 && child < l->n; child++)
            if (l->items[child].bytes < l->items[least].bytes) least = child;
        if (least == i) return;
        held moved = l->items[i];
        l->items[i] = l->items[least];
        l->items[least] = moved;
        i = least;
    }
}

static void sift_up(listing *l, uint32_t i)
{
    for (uint32_t up; i && l->items[up = (i - 1) / 2].bytes > l->items[i].bytes; i = up) {
        held moved = l->items[i];
        l->items[i] = l->items[up];
        l->items[up] = moved;
    }
}

static void list(listing *l, const held *h)
{
    l->found++;
    if (l->n < HB_LIVE_LISTED) {
        l->items[l->n] = *h;
        sift_up(l, l->n++);
    } else if (h->bytes > l->items[0].bytes) {
        l->items[0] = *h;
        sift_down(l, 0);
    }
}

static void list_addresses(listing *l, uint32_t epoch)
{
    table *t = atomic_load(&addresses);
    for (uint32_t b = 0; t && l->items && b < BUCKETS; b++)
        for (uint32_t i = 0; i < BUCKET; i++) {
            uint64_t addr = atomic_load_explicit(&t->keys[b][i], memory_order_acquire);
            const slot_info *info = &t->infos[b][i];
            if (addr <= BEING_TAKEN ||
                atomic_load_explicit(&info->epoch, memory_order_relaxed) == epoch)
                continue;
            held h = {.addr = addr,
                      .bytes = atomic_load_explicit(&info->bytes, memory_order_relaxed),
                      .name = atomic_load_explicit(&info->name, memory_order_relaxed),
                      .device = atomic_load_explicit(&info->device, memory_order_relaxed)};
            list(l, &h);
        }
}

typedef struct start {
    int64_t allocated, reserved; /* reserved -1: not known */
    int64_t left;                /* that no record tells of yet */
    bool told;
} start;

static start start_of(uint32_t dev, uint32_t epoch)
{
    start s = {.reserved = atomic_load(&devices[dev].told_reserved)};
    for (hb_thread *t = hb_threads_first(); t; t = t->next)
        s.left += sum_before(&t->live[dev], epoch);
    int64_t told = atomic_load(&devices[dev].told_allocated);
    s.allocated = told >= 0 ? told : s.left;
    return s;
}

uint32_t hb_live_memory_totals(hb_live_total totals[HB_LIVE_DEVICES])
{
    uint32_t n = 0;
    for (uint64_t key; n < HB_LIVE_DEVICES && (key = atomic_load(&devices[n].key)); n++)
        totals[n] = (hb_live_total){(int32_t)(key >> 32) - 1, (int32_t)key,
                                    start_of(n, NO_EPOCH).allocated};
    return n;
}

static void put_held(hb_thread *t, const hb_session *session, const held *h, start *of)
{
    hb_record_memory *r = (hb_record_memory *)hb_record_reserve(t, sizeof *r);
    if (!r) return;
    uint64_t key = atomic_load(&devices[h->device].key);
    hb_record_head(&r->head, HB_RECORD_MEMORY, HB_RECORD_HELD, h->name, sizeof *r);
    r->head.start = session->start.ticks;
    r->addr = h->addr;
    r->bytes = h->bytes;
    r->total_allocated = of->allocated;
    r->total_reserved = of->reserved;
    r->device_type = (int32_t)(key >> 32) - 1;
    r->device_id = (int32_t)key;
    hb_record_commit(t, &r->head);
    of->left -= h->bytes;
    of->told = true;
}

/* Addresses, and for each device what is left. */
static void put_all(hb_thread *t, const hb_session *session, const listing *l, start *starts)
{
    for (uint32_t i = 0; i < l->n; i++)
        put_held(t, session, &l->items[i], &starts[l->items[i].device]);
    for (uint32_t d = 0; d < HB_LIVE_DEVICES && atomic_load(&devices[d].key); d++)
        if (starts[d].left != 0 || (starts[d].allocated > 0 && !starts[d].told))
            put_held(
                t, session,
                &(held){.bytes = HB_MAX(starts[d].left, 0), .device = d, .name = HB_STRING_UNNAMED},
                &starts[d]);
}

/* What is not listed one by one is said. */
static void say_counts(const listing *l)
{
    char json[160];
    int64_t untracked = 0, bytes = 0;
    for (uint32_t d = 0; d < HB_LIVE_DEVICES; d++) {
        untracked += atomic_load(&devices[d].untracked);
        bytes += atomic_load(&devices[d].untracked_bytes);
    }
    if (l->found == l->n && untracked == 0) return;
    int n = snprintf(json, sizeof json,
                     "{\"addresses\": %llu, \"listed\": %u, \"beyond_table\": %lld, "
                     "\"beyond_table_bytes\": %lld}",
                     (unsigned long long)l->found, l->n, (long long)untracked, (long long)bytes);
    hb_record_metadata_entry(hb_strings_intern(HB_METADATA_HELD, sizeof HB_METADATA_HELD - 1),
                             hb_strings_intern(json, (size_t)n));
}

void hb_live_memory_tell(const hb_session *session)
{
    start starts[HB_LIVE_DEVICES];
    /* Calls that did not see the session begin are over now, so that what they note is before it;
     * those of a thread that stands still are not waited for. */
    hb_threads_pass(PASSING_US);
    listing l = {.items = malloc(HB_LIVE_LISTED * sizeof *l.items)};
    list_addresses(&l, session->number);
    for (uint32_t d = 0; d < HB_LIVE_DEVICES; d++)
        starts[d] = atomic_load(&devices[d].key) ? start_of(d, session->number) : (start){0};
    hb_thread *t = hb_record_enter();
    if (t) {
        put_all(t, session, &l, starts);
        hb_thread_leave(t);
        say_counts(&l);
    }
    free(l.items);
}
