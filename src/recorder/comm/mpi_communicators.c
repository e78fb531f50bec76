/* SPDX-License-Identifier: MIT */
#include "comm/mpi_communicators.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "comm/mpi_hash.h"
#include "comm/mpi_visit.h"

enum { SLOTS = 4096, PROBES = 64 };

/* Found without a lock: a slot's handle is released after what it belongs to. Made, freed and named
 * under the lock, which is held over no call of MPI but those that look. Freed ones are used again:
 * MPI forbids to use a communicator while it is freed. It is this library's own, which has the
 * public interface alone: nothing of hipboard's is taken under it. A forked child may not call MPI;
 * one that does all the same finds it open, whoever had it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(hb_mpi_comm *) slots[SLOTS];
static hb_mpi_comm *unused;
static hb_word world_group; /* 0: not known */
static bool is_of_session;  /* world_group: it has to be freed before its session ends */
static bool has_sessions;   /* one has begun: groups of others may not be compared with its */

static unsigned place_of(hb_word handle)
{
    return (unsigned)(((uint64_t)handle * UINT64_C(0x9E3779B97F4A7C15)) >> 52);
}

static hb_mpi_comm *find(hb_word handle)
{
    unsigned place = place_of(handle = hb_mpi_by_value(handle));
    for (unsigned i = 0; i < PROBES; i++) {
        hb_mpi_comm *c = atomic_load_explicit(&slots[(place + i) % SLOTS], memory_order_acquire);
        if (!c) return NULL;
        if (atomic_load_explicit(&c->handle, memory_order_acquire) == handle) return c;
    }
    return NULL;
}

/* ---- what MPI says of one ---- */

typedef int (*one_fn)(hb_word, int *);
typedef int (*group_fn)(hb_word, hb_word *);
typedef int (*translate_fn)(hb_word, hb_word, const int *, hb_word, int *);

#define REAL(type, name)                                   \
    ({                                                     \
        static _Atomic(type) found;                        \
        type real = found;                                 \
        if (!real) found = real = (type)hb_mpi_real(name); \
        real;                                              \
    })

static hb_word group_of(hb_word comm, bool remote)
{
    hb_word group = 0;
    group_fn ask =
        remote ? REAL(group_fn, "PMPI_Comm_remote_group") : REAL(group_fn, "PMPI_Comm_group");
    return ask(comm, &group) == 0 ? group : 0;
}

static void free_group(hb_word group)
{
    typedef int (*free_fn)(hb_word *);
    if (group) (void)REAL(free_fn, "PMPI_Group_free")(&group);
}

static void find_ranks(hb_mpi_comm *c, hb_word comm)
{
    int inter = 0, size = 0;
    (void)REAL(one_fn, "PMPI_Comm_test_inter")(comm, &inter);
    if (REAL(one_fn, "PMPI_Comm_rank")(comm, &c->rank) != 0) c->rank = -1;
    hb_word group = group_of(comm, inter != 0);
    if (!group || REAL(one_fn, "PMPI_Group_size")(group, &size) != 0) size = 0;
    c->size = size > 0 ? size : 0;
    int *own = malloc(sizeof *own * (size_t)(size + 1));
    c->ranks = malloc(sizeof *c->ranks * (size_t)(size + 1));
    for (int i = 0; own && i < size; i++)
        own[i] = i;
    if (!own || !c->ranks || !size || !world_group ||
        REAL(translate_fn, "PMPI_Group_translate_ranks")(group, size, own, world_group, c->ranks) !=
            0) {
        free(c->ranks);
        c->ranks = NULL;
    }
    free(own);
    free_group(group);
}

/* ---- ids ---- */

/* Two halves that were made at once differ by their ranks alone. */
static uint64_t id_of(const hb_mpi_comm *parent, uint64_t nth, const hb_mpi_comm *c)
{
    uint64_t id = hb_mpi_hash(HB_MPI_HASH_SEED, &parent->id, sizeof parent->id);
    id = hb_mpi_hash(id, &nth, sizeof nth);
    return c->ranks ? hb_mpi_hash(id, c->ranks, sizeof *c->ranks * (size_t)c->size) : id;
}

/* ---- making and freeing, under the lock ---- */

static hb_mpi_comm *new_comm(void)
{
    hb_mpi_comm *c = unused;
    if (c)
        unused = c->next_free;
    else
        c = calloc(1, sizeof *c);
    if (!c) return NULL;
    atomic_store(&c->collectives, 0);
    atomic_store(&c->children, 0);
    atomic_store(&c->group, HB_MPI_GROUP_NONE);
    return c;
}

static void drop(hb_mpi_comm *c)
{
    free(c->ranks);
    c->ranks = NULL;
    c->next_free = unused;
    unused = c;
}

/* A slot once filled keeps its entry, whose handle goes: so searches never end too early. */
static void enter(hb_mpi_comm *c, hb_word handle)
{
    unsigned place = place_of(handle);
    for (unsigned i = 0; i < PROBES; i++) {
        _Atomic(hb_mpi_comm *) *slot = &slots[(place + i) % SLOTS];
        hb_mpi_comm *there = atomic_load_explicit(slot, memory_order_relaxed);
        if (there && atomic_load_explicit(&there->handle, memory_order_relaxed)) continue;
        atomic_store_explicit(&c->handle, handle, memory_order_relaxed);
        atomic_store_explicit(slot, c, memory_order_release);
        if (there && there != c) drop(there);
        return;
    }
    drop(c);
}

static void add(hb_word handle, uint64_t id, const char *name)
{
    hb_mpi_comm *c = new_comm();
    if (!c) return;
    find_ranks(c, handle);
    c->id = id;
    snprintf(c->name, sizeof c->name, "%s", name);
    enter(c, handle);
}

static void after_fork_in_child(void)
{
    pthread_mutex_init(&lock, NULL);
}

/* Under the lock. */
static void guard_forks(void)
{
    static bool guarded;
    if (!guarded) pthread_atfork(NULL, NULL, after_fork_in_child);
    guarded = true;
}

static void forget_group(void)
{
    if (!is_of_session) return;
    free_group(world_group);
    world_group = 0;
    is_of_session = false;
}

int hb_mpi_comms_begin_with(hb_word group)
{
    int size = -1;
    pthread_mutex_lock(&lock);
    guard_forks();
    if (has_sessions || world_group) {
        forget_group();
        free_group(group);
    } else if (REAL(one_fn, "PMPI_Group_size")(group, &size) == 0) {
        world_group = group;
        is_of_session = has_sessions = true;
    }
    pthread_mutex_unlock(&lock);
    return size;
}

void hb_mpi_comms_end_group(void)
{
    pthread_mutex_lock(&lock);
    forget_group();
    pthread_mutex_unlock(&lock);
}

void hb_mpi_comms_begin(void)
{
    pthread_mutex_lock(&lock);
    forget_group();
    if (!world_group) {
        guard_forks();
        world_group = group_of(hb_mpi.comm_world, false);
        add(hb_mpi.comm_world, 1, "world");
        add(hb_mpi.comm_self, 2, "self");
        hb_mpi_comm *self = find(hb_mpi.comm_self);
        if (self && self->ranks) self->id = 2 + (uint64_t)self->ranks[0] * 2;
    }
    pthread_mutex_unlock(&lock);
}

static void add_child(hb_mpi_comm *from, hb_word handle, uint64_t nth, const char *how,
                      unsigned number)
{
    hb_mpi_comm *c = new_comm();
    if (!c) return;
    find_ranks(c, handle);
    c->id = id_of(from, nth, c);
    snprintf(c->name, sizeof c->name, "%.40s/%s#%u", from->name, how, number);
    enter(c, handle);
}

/* Who gets none of it counts it all the same. */
void hb_mpi_comm_made(hb_word parent, hb_word handle, const char *how)
{
    pthread_mutex_lock(&lock);
    hb_mpi_comm *from = find(parent);
    unsigned nth = from ? atomic_fetch_add(&from->children, 1) + 1 : 0;
    if (from && handle && handle != hb_mpi.comm_null) add_child(from, handle, nth, how, nth);
    pthread_mutex_unlock(&lock);
}

void hb_mpi_comm_made_apart(hb_word parent, hb_word handle, int tag)
{
    pthread_mutex_lock(&lock);
    hb_mpi_comm *from = find(parent);
    if (from && handle && handle != hb_mpi.comm_null)
        add_child(from, handle, UINT64_C(1) << 32 | (unsigned)tag, "group", (unsigned)tag);
    pthread_mutex_unlock(&lock);
}

void hb_mpi_comm_made_of_group(hb_word handle, const char *tag)
{
    static const hb_mpi_comm none;
    pthread_mutex_lock(&lock);
    hb_mpi_comm *c = handle && handle != hb_mpi.comm_null ? new_comm() : NULL;
    if (c) {
        find_ranks(c, handle);
        c->id = id_of(&none, hb_mpi_hash(HB_MPI_HASH_SEED, tag, strlen(tag)), c);
        snprintf(c->name, sizeof c->name, "%s", tag);
        enter(c, handle);
    }
    pthread_mutex_unlock(&lock);
}

void hb_mpi_comm_freed(hb_word handle)
{
    pthread_mutex_lock(&lock);
    hb_mpi_comm *c = find(handle);
    if (c) atomic_store(&c->handle, 0);
    pthread_mutex_unlock(&lock);
}

void hb_mpi_comm_named(hb_word handle, const char *name)
{
    pthread_mutex_lock(&lock);
    hb_mpi_comm *c = name ? find(handle) : NULL;
    if (c) {
        snprintf(c->name, sizeof c->name, "%s", name);
        atomic_store(&c->group, HB_MPI_GROUP_NONE);
    }
    pthread_mutex_unlock(&lock);
}

/* ---- those that come later ---- */

/* Under the lock, but for their number, which orders nothing: where it is 0 nobody looks. */
enum { AWAITED = 64 };
static struct awaited {
    hb_word address; /* 0: none */
    hb_word parent;
    unsigned nth;
} awaited[AWAITED];
static atomic_uint num_awaited;

/* Without room one stays unknown. */
void hb_mpi_comm_awaited(hb_word parent, hb_word address)
{
    pthread_mutex_lock(&lock);
    hb_mpi_comm *from = find(parent);
    unsigned nth = from ? atomic_fetch_add(&from->children, 1) + 1 : 0, i = 0;
    while (i < AWAITED && awaited[i].address && awaited[i].address != address)
        i++;
    if (from && i < AWAITED) {
        if (!awaited[i].address) atomic_fetch_add(&num_awaited, 1);
        awaited[i] = (struct awaited){address, parent, nth};
    }
    pthread_mutex_unlock(&lock);
}

/* The program's memory may be gone by now. */
static hb_word peek(hb_word address)
{
    hb_word word = 0;
    struct iovec here = {&word, hb_mpi.handle_bytes};
    struct iovec there = {(void *)address, hb_mpi.handle_bytes};
    return process_vm_readv(getpid(), &here, 1, &there, 1, 0) > 0 ? word : 0;
}

static void come(hb_word handle)
{
    for (int i = 0; i < AWAITED; i++) {
        struct awaited *a = &awaited[i];
        if (!a->address || peek(a->address) != handle) continue;
        hb_mpi_comm *from = find(a->parent);
        if (from) add_child(from, handle, a->nth, "dup", a->nth);
        a->address = 0;
        atomic_fetch_sub(&num_awaited, 1);
        return;
    }
}

hb_mpi_comm *hb_mpi_comm_of(hb_word handle)
{
    hb_mpi_comm *c = find(handle);
    if (c || !atomic_load_explicit(&num_awaited, memory_order_relaxed)) return c;
    int depth = hb_mpi_depth;
    hb_mpi_depth = 1; /* what is asked of MPI is no call of the program */
    pthread_mutex_lock(&lock);
    c = find(handle);
    if (!c) come(hb_mpi_by_value(handle));
    c = find(handle);
    pthread_mutex_unlock(&lock);
    hb_mpi_depth = depth;
    return c;
}

/* ---- as recorded ---- */

static hb_comm_group make_group(const hb_mpi_comm *c)
{
    char id[24];
    snprintf(id, sizeof id, "%016llx", (unsigned long long)c->id);
    int64_t *ranks = malloc(sizeof *ranks * (size_t)(c->size + 1));
    for (int i = 0; ranks && i < c->size; i++)
        ranks[i] = c->ranks ? c->ranks[i] : i;
    hb_process_group group = {.name = id,
                              .description = c->name,
                              .ranks = ranks,
                              .num_ranks = ranks ? (size_t)c->size : 0};
    hb_comm_group made = hb_comm_group_make(&group);
    free(ranks);
    return made;
}

hb_comm_group hb_mpi_comm_make_group(hb_mpi_comm *c)
{
    pthread_mutex_lock(&lock);
    hb_comm_group group = atomic_load(&c->group);
    if (group == HB_MPI_GROUP_NONE) {
        group = c->id == 1 ? HB_COMM_WORLD : make_group(c);
        atomic_store_explicit(&c->group, group, memory_order_release);
    }
    pthread_mutex_unlock(&lock);
    return group;
}
