/* SPDX-License-Identifier: MIT */
#include "comm/mpi_requests.h"

#include <stdatomic.h>

enum { SLOTS = 1 << 13, PROBES = 64 };

/* No handle: */
#define EMPTY   ((hb_word)0)
#define TAKEN   ((hb_word)-1) /* somebody writes or reads what is in it */
#define DELETED ((hb_word)-2)

/* The key is released after the rest is written, and acquired before it is read. */
static hb_mpi_request slots[SLOTS];
static atomic_int num_requests; /* orders nothing: a thread sees its own */

static unsigned place_of(hb_word handle)
{
    return (unsigned)(((uint64_t)handle * UINT64_C(0x9E3779B97F4A7C15)) >> 51);
}

/* A program that has not asked for MPI_THREAD_MULTIPLE is in one call of MPI at a time: then what
 * costs as much as all the rest is left out, the locking of the cache's line. */
static bool claim(hb_mpi_request *r, hb_word key)
{
    if (hb_mpi_is_concurrent)
        return atomic_compare_exchange_strong_explicit(&r->key, &key, TAKEN, memory_order_acquire,
                                                       memory_order_relaxed);
    atomic_store_explicit(&r->key, TAKEN, memory_order_relaxed);
    return true;
}

static void count(int more)
{
    if (hb_mpi_is_concurrent)
        atomic_fetch_add_explicit(&num_requests, more, memory_order_relaxed);
    else
        atomic_store_explicit(&num_requests,
                              atomic_load_explicit(&num_requests, memory_order_relaxed) + more,
                              memory_order_relaxed);
}

hb_mpi_request *hb_mpi_request_new(hb_word handle)
{
    unsigned place = place_of(handle);
    for (unsigned i = 0; i < PROBES; i++) {
        hb_mpi_request *r = &slots[(place + i) % SLOTS];
        hb_word key = atomic_load_explicit(&r->key, memory_order_relaxed);
        if ((key == EMPTY || key == DELETED) && claim(r, key)) return r;
    }
    return NULL;
}

void hb_mpi_request_known(hb_mpi_request *r, hb_word handle)
{
    count(1);
    atomic_store_explicit(&r->key, handle, memory_order_release);
}

hb_mpi_request *hb_mpi_request_take(hb_word handle)
{
    unsigned place = place_of(handle);
    for (unsigned i = 0; i < PROBES; i++) {
        hb_mpi_request *r = &slots[(place + i) % SLOTS];
        hb_word key = atomic_load_explicit(&r->key, memory_order_relaxed);
        if (key == EMPTY) return NULL;
        if (key == handle && claim(r, key)) return r;
    }
    return NULL;
}

void hb_mpi_request_let_go(hb_mpi_request *r, hb_word handle)
{
    if (!handle) count(-1);
    atomic_store_explicit(&r->key, handle ? handle : DELETED, memory_order_release);
}

bool hb_mpi_requests_are_followed(void)
{
    return atomic_load_explicit(&num_requests, memory_order_relaxed) > 0;
}
