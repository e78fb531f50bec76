/* SPDX-License-Identifier: MIT */
#include "comm/mpi_requests.h"

#include <stdatomic.h>

enum { SLOTS = 1 << 13, PROBES = 64 };

/* No handle: */
#define EMPTY   ((hb_word)0)
#define TAKEN   ((hb_word)-1) /* somebody writes or reads what is in it */
#define DELETED ((hb_word)-2)

/* The key is released after the rest is written, and acquired before it is read. */
typedef struct slot {
    _Atomic hb_word key;
    hb_mpi_request request;
} slot;

static slot slots[SLOTS];
static atomic_int num_requests; /* orders nothing: a thread sees its own */

static unsigned place_of(hb_word handle)
{
    return (unsigned)(((uint64_t)handle * UINT64_C(0x9E3779B97F4A7C15)) >> 51);
}

bool hb_mpi_request_put(hb_word handle, const hb_mpi_request *request)
{
    unsigned place = place_of(handle);
    for (unsigned i = 0; i < PROBES; i++) {
        slot *s = &slots[(place + i) % SLOTS];
        hb_word key = atomic_load_explicit(&s->key, memory_order_relaxed);
        if (key != EMPTY && key != DELETED) continue;
        if (!atomic_compare_exchange_strong_explicit(&s->key, &key, TAKEN, memory_order_acquire,
                                                     memory_order_relaxed))
            continue;
        s->request = *request;
        atomic_fetch_add_explicit(&num_requests, 1, memory_order_relaxed);
        atomic_store_explicit(&s->key, handle, memory_order_release);
        return true;
    }
    return false;
}

/* Takes a slot of that handle, which the caller gives back; NULL: there is none. */
static slot *take(hb_word handle)
{
    unsigned place = place_of(handle);
    for (unsigned i = 0; i < PROBES; i++) {
        slot *s = &slots[(place + i) % SLOTS];
        hb_word key = atomic_load_explicit(&s->key, memory_order_relaxed);
        if (key == EMPTY) return NULL;
        if (key == handle && atomic_compare_exchange_strong_explicit(
                                 &s->key, &key, TAKEN, memory_order_acquire, memory_order_relaxed))
            return s;
    }
    return NULL;
}

bool hb_mpi_requests_are_followed(void)
{
    return atomic_load_explicit(&num_requests, memory_order_relaxed) > 0;
}

static void give(slot *s, hb_word key)
{
    if (key == DELETED) atomic_fetch_sub_explicit(&num_requests, 1, memory_order_relaxed);
    atomic_store_explicit(&s->key, key, memory_order_release);
}

bool hb_mpi_request_complete(hb_word handle, hb_mpi_request *request)
{
    slot *s = take(handle);
    if (!s) return false;
    *request = s->request;
    s->request.flow = 0;
    give(s, request->persistent ? handle : DELETED);
    return true;
}

bool hb_mpi_request_start(hb_word handle, uint64_t flow, hb_mpi_request *request)
{
    slot *s = take(handle);
    if (!s) return false;
    s->request.flow = flow;
    *request = s->request;
    give(s, handle);
    return true;
}

void hb_mpi_request_forget(hb_word handle)
{
    slot *s = take(handle);
    if (s) give(s, DELETED);
}
