/* SPDX-License-Identifier: MIT */
#include "hip/mempools.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/lock.h"

enum { MAX_POOLS = 64 };

/* hipMemPoolAttr */
enum { RESERVED_NOW = 5, USED_NOW = 7 };

static struct {
    hb_bare_lock lock; /* also while the runtime is asked: nobody destroys the pool meanwhile */
    struct {
        void *pool;
        int device;
    } all[MAX_POOLS];
    _Atomic int count; /* changed under the lock */
} pools = {.lock = HB_BARE_LOCK_INIT(POOLS)};

static void add(void *pool, int device)
{
    int n = atomic_load(&pools.count);
    for (int i = 0; i < n; i++)
        if (pools.all[i].pool == pool) return;
    if (n == MAX_POOLS) return;
    pools.all[n].pool = pool;
    pools.all[n].device = device;
    atomic_store(&pools.count, n + 1);
}

void hb_pools_use(const hb_hip *hip, int device, uint64_t pool)
{
    void *used = (void *)(uintptr_t)pool;
    if (!hip->mem_pool_get_attribute) return;
    if (!used && (!hip->device_get_mem_pool || hip->device_get_mem_pool(&used, device) != 0))
        return;
    hb_bare_lock_take(&pools.lock);
    if (used) add(used, device);
    hb_bare_lock_give(&pools.lock);
}

void hb_pools_drop(uint64_t pool)
{
    if (atomic_load(&pools.count) == 0) return;
    hb_bare_lock_take(&pools.lock);
    for (int i = 0, n = atomic_load(&pools.count); i < n; i++) {
        if ((uint64_t)(uintptr_t)pools.all[i].pool != pool) continue;
        pools.all[i] = pools.all[n - 1];
        atomic_store(&pools.count, n - 1);
        break;
    }
    hb_bare_lock_give(&pools.lock);
}

void hb_pools_forget(void)
{
    hb_bare_lock_take(&pools.lock);
    atomic_store(&pools.count, 0);
    hb_bare_lock_give(&pools.lock);
}

/* More than any GPU has: behind hipMemPoolTrimTo() HIP 5.7 was seen to tell what lay in memory that
 * it had given back. */
#define MOST_RESERVED ((uint64_t)1 << 48)

static int64_t kept_by(const hb_hip *hip, void *pool)
{
    uint64_t reserved = 0, used = 0;
    if (hip->mem_pool_get_attribute(pool, RESERVED_NOW, &reserved) != 0) return 0;
    if (hip->mem_pool_get_attribute(pool, USED_NOW, &used) != 0) return 0;
    return reserved > used && reserved <= MOST_RESERVED ? (int64_t)(reserved - used) : 0;
}

int64_t hb_pools_kept(const hb_hip *hip, int device)
{
    int64_t kept = 0;
    if (HB_LIKELY(atomic_load_explicit(&pools.count, memory_order_relaxed) == 0)) return 0;
    hb_bare_lock_take(&pools.lock);
    for (int i = 0, n = atomic_load(&pools.count); i < n; i++)
        if (pools.all[i].device == device) kept += kept_by(hip, pools.all[i].pool);
    hb_bare_lock_give(&pools.lock);
    return kept;
}

/* The pools are the parent's. */
void hb_pools_after_fork(void)
{
    hb_bare_lock_after_fork(&pools.lock);
    atomic_store(&pools.count, 0);
}
