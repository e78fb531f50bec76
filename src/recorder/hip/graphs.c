/* SPDX-License-Identifier: MIT */
#include "hip/graphs.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/lock.h"
#include "base/vector.h"

/* What does not fit any more is taken for graphs that have run. */
enum { MOST_GRAPHS = 1 << 16 };

static hb_bare_lock lock = HB_BARE_LOCK_INIT(GRAPHS); /* of what follows, but `watching` */
static HB_VEC(uint64_t) fresh;                        /* made and not run, latest last */
static _Atomic bool watching;

/* Under the lock: whether it was there. */
static bool take_out(uint64_t exec)
{
    for (size_t i = fresh.count; i-- > 0;) {
        if (fresh.items[i] != exec) continue;
        fresh.items[i] = fresh.items[--fresh.count];
        return true;
    }
    return false;
}

void hb_graphs_begin(bool watch)
{
    hb_bare_lock_take(&lock);
    fresh.count = 0;
    hb_bare_lock_give(&lock);
    atomic_store(&watching, watch);
}

void hb_graphs_made(uint64_t exec)
{
    if (!atomic_load_explicit(&watching, memory_order_relaxed)) return;
    hb_bare_lock_take(&lock);
    (void)take_out(exec); /* an address that was another graph's */
    uint64_t *added = fresh.count == MOST_GRAPHS ? NULL : HB_APPEND(&fresh);
    if (added) *added = exec;
    hb_bare_lock_give(&lock);
}

bool hb_graphs_run(uint64_t exec)
{
    if (!atomic_load_explicit(&watching, memory_order_relaxed)) return true;
    hb_bare_lock_take(&lock);
    bool first = take_out(exec);
    hb_bare_lock_give(&lock);
    return first;
}

void hb_graphs_after_fork(void)
{
    if (!hb_bare_lock_after_fork(&lock))
        fresh.items = NULL, fresh.capacity = 0; /* half changed: given up */
    fresh.count = 0;
    atomic_store(&watching, false);
}
