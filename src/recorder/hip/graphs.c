/* SPDX-License-Identifier: MIT */
#include "hip/graphs.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/list.h"
#include "base/lock.h"

/* What does not fit any more is taken for graphs that have run. */
enum { MOST_GRAPHS = 1 << 16 };

static hb_bare_lock lock = HB_BARE_LOCK_INIT(GRAPHS); /* of what follows, but `watching` */
static uint64_t *fresh;                               /* made and not run, latest last */
static uint32_t num_fresh, room;
static _Atomic bool watching;

/* Under the lock: whether it was there. */
static bool take_out(uint64_t exec)
{
    for (size_t i = num_fresh; i-- > 0;) {
        if (fresh[i] != exec) continue;
        fresh[i] = fresh[--num_fresh];
        return true;
    }
    return false;
}

static bool has_room(void)
{
    if (num_fresh == MOST_GRAPHS) return false;
    void *grown = hb_list_grow(fresh, num_fresh, &room, sizeof *fresh);
    if (grown) fresh = grown;
    return grown != NULL;
}

void hb_graphs_begin(bool watch)
{
    hb_bare_lock_take(&lock);
    num_fresh = 0;
    hb_bare_lock_give(&lock);
    atomic_store(&watching, watch);
}

void hb_graphs_made(uint64_t exec)
{
    if (!atomic_load_explicit(&watching, memory_order_relaxed)) return;
    hb_bare_lock_take(&lock);
    (void)take_out(exec); /* an address that was another graph's */
    if (has_room()) fresh[num_fresh++] = exec;
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
    if (!hb_bare_lock_after_fork(&lock)) fresh = NULL, room = 0; /* half changed: given up */
    num_fresh = 0;
    atomic_store(&watching, false);
}
