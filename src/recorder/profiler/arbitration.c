/* SPDX-License-Identifier: MIT */
#include "profiler/arbitration.h"

#include <stdatomic.h>

#include "base/lock.h"

static _Atomic(hb_profiler *) running;
static hb_profiler *yielding; /* started, with `yields`; under `lock` */
/* Recursive: a handler called under it may start a profiler. */
static hb_bare_lock lock = HB_BARE_LOCK_INIT_RECURSIVE(ARBITRATION);

static void pause_yielding(hb_profiler *for_whom)
{
    hb_profiler *paused = yielding;
    hb_profiler_pause(paused);
    if (paused->doomed) hb_profiler_destroy(paused);
    atomic_store(&running, for_whom);
}

/* Under the lock. */
static hb_result take(hb_profiler *prof)
{
    hb_profiler *holder = NULL;
    bool free = atomic_compare_exchange_strong(&running, &holder, prof);
    if (prof->options.yields && !yielding) {
        yielding = prof;
        prof->paused = !free;
        return HB_OK;
    }
    if (free) return HB_OK;
    if (holder != yielding || prof->options.yields)
        return hb_fail(HB_ERROR_BUSY, "start: another profiler of this process is running");
    pause_yielding(prof);
    return HB_OK;
}

hb_result hb_arbitration_take(hb_profiler *prof)
{
    hb_bare_lock_take(&lock);
    hb_result result = take(prof);
    hb_bare_lock_give(&lock);
    return result;
}

void hb_arbitration_give(hb_profiler *prof)
{
    hb_bare_lock_take(&lock);
    if (yielding == prof) yielding = NULL;
    hb_profiler *self = prof, *next = yielding && yielding->paused ? yielding : NULL;
    bool recorded = atomic_compare_exchange_strong(&running, &self, next);
    if (recorded && next) hb_profiler_resume(next);
    prof->paused = false;
    hb_bare_lock_give(&lock);
}

hb_profiler *hb_arbitration_holder(void)
{
    return atomic_load(&running);
}

/* Whether other threads than the program's own use it. */
static bool is_shared(const hb_profiler *prof)
{
    return prof && (prof->options.yields || hb_demand_wanted(&prof->options));
}

void hb_arbitration_lock(const hb_profiler *prof)
{
    if (is_shared(prof)) hb_bare_lock_take(&lock);
}

void hb_arbitration_unlock(const hb_profiler *prof)
{
    if (is_shared(prof)) hb_bare_lock_give(&lock);
}

hb_result hb_arbitration_deliver(hb_profiler *prof)
{
    hb_result result = HB_OK;
    hb_bare_lock_take(&lock);
    if (yielding && yielding->paused && yielding != prof)
        result = hb_handler_call(&yielding->options.on_trace_ready, prof);
    hb_bare_lock_give(&lock);
    return result;
}

void hb_arbitration_after_fork(void)
{
    atomic_store(&running, NULL);
    yielding = NULL;
    hb_bare_lock_after_fork(&lock); /* another thread of the parent may have held it */
}
