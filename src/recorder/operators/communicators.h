/* SPDX-License-Identifier: MIT
 *
 * Communicators of libraries like RCCL by their handles, and by what all their members know of
 * them. Any thread; no locks.
 */
#ifndef HB_OPERATORS_COMMUNICATORS_H
#define HB_OPERATORS_COMMUNICATORS_H

#include <stdatomic.h>

#include <hipboard/comm.h>

#include "operators/describers.h"

typedef struct hb_communicator {
    _Atomic uint64_t handle; /* 0: of nobody */
    uint64_t id;             /* the same on all members; 0: not known */
    int64_t size, rank;      /* -1: not asked, or not known */
    atomic_ullong collectives;
    atomic_uint children;
    _Atomic hb_comm_group group; /* HB_COMM_UNKNOWN: not made yet, or none */
    bool has_group;
    bool is_whole;       /* its ranks are the job's, or all there are */
    _Atomic int told_of; /* the last error of it that was recorded */
    char name[48];
    struct hb_communicator *next;
} hb_communicator;

/** One that the library writes, or has written, to `address`, and that is known to its members by
 * `id`. In a group its handle may come later than the call's end. */
void hb_communicator_joined(uint64_t address, uint64_t id, const char *name);
void hb_communicator_forget(uint64_t handle);

/** NULL: without memory, or no handle. One that nobody has told of is made known, without an id. */
hb_communicator *hb_communicator_of(uint64_t handle);

/** Asks its library how many ranks it has, and which this is, if that is not known yet. */
void hb_communicator_ask(hb_communicator *c, const hb_describers *library);

/** For hb_op_outside; `describers` is an hb_describers. */
double hb_communicator_ranks(void *describers, uint64_t handle);

/** As recorded. Asked already. */
hb_comm_group hb_communicator_group(hb_communicator *c);

/** A rank of it as one of the job; -1: not known. */
int64_t hb_communicator_rank(const hb_communicator *c, int64_t rank);

/** Continues a hash; 0 begins one. Never 0. */
uint64_t hb_communicator_hash(uint64_t seed, const void *bytes, size_t size);

#endif
