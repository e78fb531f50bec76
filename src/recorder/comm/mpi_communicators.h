/* SPDX-License-Identifier: MIT
 *
 * Communicators by their handles. One has the same id on all its members without a message being
 * sent: a hash of its parent's id, of how many were made of that parent before, and of its ranks.
 */
#ifndef HB_COMM_MPI_COMMUNICATORS_H
#define HB_COMM_MPI_COMMUNICATORS_H

#include <hipboard/comm.h>
#include <stdatomic.h>

#include "comm/mpi_abi.h"

enum { HB_MPI_NAME = 64 };

typedef struct hb_mpi_comm {
    _Atomic hb_word handle; /* 0: free */
    uint64_t id;
    int size;                    /* ranks that messages go to; of both sides where there are two */
    int rank;                    /* this process's; -1: not known */
    int32_t *ranks;              /* in the job; NULL: not known */
    atomic_ullong collectives;   /* that this process has taken part in */
    atomic_uint children;        /* that were made of it */
    _Atomic hb_comm_group group; /* made when it is first recorded; HB_MPI_GROUP_NONE: not yet */
    char name[HB_MPI_NAME];
    struct hb_mpi_comm *next_free;
} hb_mpi_comm;

/** MPI has begun: its world and self are known from now on. */
void hb_mpi_comms_begin(void);

/** The same without MPI_Init: all processes are a group, which has so many; -1: it has none. The
 * group is this place's until hb_mpi_comms_end_group(), or another one comes: groups of two
 * sessions may not be compared, so from then on it is not known which ranks communicators have. */
int hb_mpi_comms_begin_with(hb_word group);
void hb_mpi_comms_end_group(void);

/** NULL: not known, or too many. */
hb_mpi_comm *hb_mpi_comm_of(hb_word handle);

/** The same for a place that mostly asks for one and the same, which it has in `last`,
 * released and acquired as in the table. */
static inline __attribute__((always_inline)) hb_mpi_comm *hb_mpi_comm_again(
    _Atomic(hb_mpi_comm *) *last, hb_word handle)
{
    hb_mpi_comm *c = atomic_load_explicit(last, memory_order_acquire);
    if (c && atomic_load_explicit(&c->handle, memory_order_acquire) == hb_mpi_by_value(handle))
        return c;
    c = hb_mpi_comm_of(handle);
    if (c) atomic_store_explicit(last, c, memory_order_release);
    return c;
}

/** A new one was made of `parent` by `how`, "split". */
void hb_mpi_comm_made(hb_word parent, hb_word handle, const char *how);
/** The same by its members alone, who agree on a tag. */
void hb_mpi_comm_made_apart(hb_word parent, hb_word handle, int tag);
/** Of a group, by members who agree on a text. */
void hb_mpi_comm_made_of_group(hb_word handle, const char *tag);
/** A copy of `parent` whose handle MPI writes to `address` when a request is complete. */
void hb_mpi_comm_awaited(hb_word parent, hb_word address);
void hb_mpi_comm_freed(hb_word handle);
void hb_mpi_comm_named(hb_word handle, const char *name);

#define HB_MPI_GROUP_NONE ((hb_comm_group)-1)
hb_comm_group hb_mpi_comm_make_group(hb_mpi_comm *comm);

/** As recorded; of none HB_COMM_UNKNOWN. */
static inline hb_comm_group hb_mpi_comm_group(hb_mpi_comm *comm)
{
    if (!comm) return HB_COMM_UNKNOWN;
    hb_comm_group group = atomic_load_explicit(&comm->group, memory_order_acquire);
    return group != HB_MPI_GROUP_NONE ? group : hb_mpi_comm_make_group(comm);
}

/** The number of a collective that begins now. MPI allows one at a time of a communicator, so
 * nobody else counts meanwhile. */
static inline uint64_t hb_mpi_comm_next(hb_mpi_comm *comm)
{
    uint64_t n = atomic_load_explicit(&comm->collectives, memory_order_relaxed) + 1;
    atomic_store_explicit(&comm->collectives, n, memory_order_relaxed);
    return n;
}

/** A rank of it as a rank of the job; -1: it is none. */
static inline int64_t hb_mpi_comm_rank(const hb_mpi_comm *comm, int rank)
{
    return comm && comm->ranks && rank >= 0 && rank < comm->size ? comm->ranks[rank] : -1;
}

#endif
