/* SPDX-License-Identifier: MIT
 *
 * Lists by hash, whose entries are never freed, but used again. What was joined in a group has no
 * handle when the call ends: its address is kept, and looked at when a handle is used that nobody
 * knows.
 */
#include "operators/communicators.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/launcher.h"

enum { LISTS = 256, FREE = 0, BUSY = 1, AWAITED = 256 };

/* Set with release when the rest is; read with acquire: `handle` of an entry, `address` of what is
 * awaited. Partner of each other. */
static _Atomic(hb_communicator *) lists[LISTS];

static struct awaited {
    _Atomic uint64_t address;
    uint64_t id;
    char name[48];
} awaited[AWAITED];

/* ---- asking the library ---- */

/* Where it has all ranks of the job, in their order, its ranks are known; and where there is no job
 * they are the ranks. */
static bool is_whole(int size, int rank)
{
    hb_launcher l;
    if (!hb_launcher_find(&l) || l.size < 1) return true;
    return size == l.size && rank == l.rank;
}

void hb_communicator_ask(hb_communicator *c, const hb_describers *library)
{
    int size = -1, rank = -1;
    uint64_t handle = atomic_load_explicit(&c->handle, memory_order_acquire);
    if (__atomic_load_n(&c->size, __ATOMIC_ACQUIRE) >= 0 || !library->comm_size ||
        !library->comm_rank)
        return;
    if (library->comm_size(handle, &size) != 0 || library->comm_rank(handle, &rank) != 0 ||
        size < 1)
        return;
    c->is_whole = is_whole(size, rank);
    __atomic_store_n(&c->rank, rank, __ATOMIC_RELAXED);
    __atomic_store_n(&c->size, size, __ATOMIC_RELEASE);
}

/* ---- ids ---- */

uint64_t hb_communicator_hash(uint64_t seed, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    if (!seed) seed = UINT64_C(0xCBF29CE484222325);
    for (size_t i = 0; i < size; i++)
        seed = (seed ^ at[i]) * UINT64_C(0x100000001B3);
    return seed ? seed : 1;
}

/* ---- by handle ---- */

static _Atomic(hb_communicator *) *list_of(uint64_t handle)
{
    return &lists[(handle * UINT64_C(0x9e3779b97f4a7c15)) >> 56];
}

static hb_communicator *find(uint64_t handle)
{
    hb_communicator *c = atomic_load_explicit(list_of(handle), memory_order_acquire);
    while (c && atomic_load_explicit(&c->handle, memory_order_acquire) != handle)
        c = c->next;
    return c;
}

/* A free one of the handle's list, or a new one at its beginning; busy. */
static hb_communicator *take(uint64_t handle)
{
    _Atomic(hb_communicator *) *list = list_of(handle);
    hb_communicator *c = atomic_load_explicit(list, memory_order_acquire);
    for (; c; c = c->next) {
        uint64_t free_one = FREE;
        if (atomic_compare_exchange_strong(&c->handle, &free_one, BUSY)) return c;
    }
    c = calloc(1, sizeof *c);
    if (!c) return NULL;
    atomic_store_explicit(&c->handle, BUSY, memory_order_relaxed);
    c->next = atomic_load_explicit(list, memory_order_relaxed);
    while (!atomic_compare_exchange_weak(list, &c->next, c)) {
    }
    return c;
}

static hb_communicator *add(uint64_t handle, uint64_t id, const char *name)
{
    if (handle <= BUSY) return NULL;
    hb_communicator_forget(handle);
    hb_communicator *c = take(handle);
    if (!c) return NULL;
    c->id = id;
    c->size = c->rank = -1;
    c->has_group = c->is_whole = false;
    atomic_store_explicit(&c->told_of, 0, memory_order_relaxed);
    atomic_store_explicit(&c->collectives, 0, memory_order_relaxed);
    atomic_store_explicit(&c->children, 0, memory_order_relaxed);
    atomic_store_explicit(&c->group, HB_COMM_UNKNOWN, memory_order_relaxed);
    snprintf(c->name, sizeof c->name, "%s", name);
    atomic_store_explicit(&c->handle, handle, memory_order_release);
    return c;
}

void hb_communicator_forget(uint64_t handle)
{
    hb_communicator *c = handle > BUSY ? find(handle) : NULL;
    if (c) atomic_compare_exchange_strong(&c->handle, &handle, FREE);
}

/* The program's memory may be gone by now. */
static uint64_t peek(uint64_t address)
{
    uint64_t word = 0;
    struct iovec here = {&word, sizeof word};
    struct iovec there = {(void *)(uintptr_t)address, sizeof word};
    bool read = process_vm_readv(getpid(), &here, 1, &there, 1, 0) == (ssize_t)sizeof word;
    return read ? word : 0;
}

void hb_communicator_joined(uint64_t address, uint64_t id, const char *name)
{
    static atomic_uint next; /* orders nothing */
    struct awaited *a =
        &awaited[atomic_fetch_add_explicit(&next, 1, memory_order_relaxed) % AWAITED];
    atomic_store_explicit(&a->address, FREE, memory_order_relaxed);
    a->id = id;
    snprintf(a->name, sizeof a->name, "%s", name);
    atomic_store_explicit(&a->address, address, memory_order_release);
    (void)add(peek(address), id, name);
}

static hb_communicator *find_awaited(uint64_t handle)
{
    for (int i = 0; i < AWAITED; i++) {
        uint64_t address = atomic_load_explicit(&awaited[i].address, memory_order_acquire);
        if (address && peek(address) == handle) return add(handle, awaited[i].id, awaited[i].name);
    }
    return NULL;
}

hb_communicator *hb_communicator_of(uint64_t handle)
{
    hb_communicator *c = handle > BUSY ? find(handle) : NULL;
    if (c || handle <= BUSY) return c;
    c = find_awaited(handle);
    return c ? c : add(handle, 0, "");
}

double hb_communicator_ranks(void *describers, uint64_t handle)
{
    hb_communicator *c = hb_communicator_of(handle);
    if (c) hb_communicator_ask(c, describers);
    return c && c->size > 0 ? (double)c->size : 0;
}

/* ---- as recorded ---- */

int64_t hb_communicator_rank(const hb_communicator *c, int64_t rank)
{
    return rank >= 0 && rank < c->size && c->is_whole ? rank : -1;
}

static hb_comm_group make_group(const hb_communicator *c)
{
    char id[24] = "";
    int64_t *ranks = c->is_whole ? calloc((size_t)c->size, sizeof *ranks) : NULL;
    for (int64_t i = 0; ranks && i < c->size; i++)
        ranks[i] = i;
    snprintf(id, sizeof id, "%016llx", (unsigned long long)c->id);
    hb_process_group group = {
        .name = id, .description = c->name, .ranks = ranks, .num_ranks = (size_t)c->size};
    hb_comm_group made = hb_comm_group_make(&group);
    free(ranks);
    return made;
}

/* Of two threads that make it each has one, of the same text. */
hb_comm_group hb_communicator_group(hb_communicator *c)
{
    if (__atomic_load_n(&c->has_group, __ATOMIC_ACQUIRE))
        return atomic_load_explicit(&c->group, memory_order_relaxed);
    if (!c->id || c->size < 1) return HB_COMM_UNKNOWN;
    hb_comm_group group = make_group(c);
    atomic_store_explicit(&c->group, group, memory_order_relaxed);
    __atomic_store_n(&c->has_group, true, __ATOMIC_RELEASE);
    return group;
}
