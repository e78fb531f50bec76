/* SPDX-License-Identifier: MIT */
#include "hip/graphs.h"

#include <string.h>

#include "base/lock.h"

/* A place for each address; what comes there later takes it. */
enum { PLACES = 1024 };

static hb_bare_lock lock = HB_BARE_LOCK_INIT(GRAPHS); /* of what follows */
static struct {
    uint64_t address; /* of a graph, or of an executable one */
    uint32_t kernels;
} places[PLACES];

static uint32_t place_of(uint64_t address)
{
    return (uint32_t)((address * UINT64_C(0x9e3779b97f4a7c15)) >> 54);
}
_Static_assert(PLACES == 1 << (64 - 54), "the hash's upper bits are a place");

static void keep(uint64_t address, uint32_t kernels)
{
    uint32_t at = place_of(address);
    hb_bare_lock_take(&lock);
    places[at].address = address;
    places[at].kernels = kernels;
    hb_bare_lock_give(&lock);
}

void hb_graphs_begin(void)
{
    hb_bare_lock_take(&lock);
    memset(places, 0, sizeof places);
    hb_bare_lock_give(&lock);
}

void hb_graphs_captured(uint64_t graph, uint32_t kernels)
{
    keep(graph, kernels);
}

void hb_graphs_made(uint64_t graph, uint64_t exec)
{
    keep(exec, hb_graphs_kernels(graph));
}

uint32_t hb_graphs_kernels(uint64_t exec)
{
    uint32_t at = place_of(exec);
    hb_bare_lock_take(&lock);
    uint32_t kernels = places[at].address == exec ? places[at].kernels : 0;
    hb_bare_lock_give(&lock);
    return kernels;
}

void hb_graphs_after_fork(void)
{
    hb_bare_lock_after_fork(&lock);
    memset(places, 0, sizeof places);
}
