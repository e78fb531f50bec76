/* SPDX-License-Identifier: MIT */
#include "signals.h"
#include "handler.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define SIGNALS_PER_BLOCK 256
/* How often a stop flag is looked at: its owner cannot know which signal is being waited on. */
#define STOP_POLL_NS      20000000

/* Blocks stay linked, so that they are not taken for leaks. */
typedef struct signal_block {
    struct signal_block *next;
    _Alignas(AMD_SIGNAL_ALIGN_BYTES) sim_signal signals[SIGNALS_PER_BLOCK];
} signal_block;

static pthread_mutex_t free_lock = PTHREAD_MUTEX_INITIALIZER;
static sim_signal *free_signals;
static signal_block *blocks;

/* Under free_lock. */
static void add_block(void)
{
    signal_block *block = aligned_alloc(_Alignof(signal_block), sizeof *block);
    if (!block) return;
    memset(block, 0, sizeof *block);
    block->next = blocks;
    blocks = block;
    for (size_t i = 0; i < SIGNALS_PER_BLOCK; i++) {
        block->signals[i].next_free = free_signals;
        free_signals = &block->signals[i];
    }
}

static int64_t *value_of(const sim_signal *signal)
{
    return (int64_t *)(uintptr_t)&signal->amd.value;
}

sim_signal *sim_signal_create(hsa_signal_value_t value, int64_t kind)
{
    pthread_mutex_lock(&free_lock);
    if (!free_signals) add_block();
    sim_signal *signal = free_signals;
    if (signal) free_signals = signal->next_free;
    pthread_mutex_unlock(&free_lock);
    if (!signal) return NULL;
    /* `changed` and `handlers` stay, and the rest is written atomically: a late notifier of the
     * signal's former life may be at them. */
    __atomic_store_n(&signal->amd.kind, kind, __ATOMIC_RELAXED);
    __atomic_store_n(&signal->amd.start_ts, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&signal->amd.end_ts, 0, __ATOMIC_RELAXED);
    __atomic_store_n(value_of(signal), value, __ATOMIC_RELEASE);
    return signal;
}

void sim_signal_destroy(sim_signal *signal)
{
    sim_handlers_drop(signal);
    pthread_mutex_lock(&free_lock);
    __atomic_store_n(&signal->amd.kind, AMD_SIGNAL_KIND_INVALID, __ATOMIC_RELAXED);
    signal->next_free = free_signals;
    free_signals = signal;
    pthread_mutex_unlock(&free_lock);
}

bool sim_condition_holds(hsa_signal_value_t value, hsa_signal_condition_t condition,
                         hsa_signal_value_t compare)
{
    switch (condition) {
    case HSA_SIGNAL_CONDITION_EQ: return value == compare;
    case HSA_SIGNAL_CONDITION_NE: return value != compare;
    case HSA_SIGNAL_CONDITION_LT: return value < compare;
    case HSA_SIGNAL_CONDITION_GTE: return value >= compare;
    }
    return false;
}

hsa_signal_value_t sim_signal_load(const sim_signal *signal)
{
    return __atomic_load_n(value_of(signal), __ATOMIC_SEQ_CST);
}

static void announce(sim_signal *signal)
{
    sim_event_notify(&signal->changed);
    sim_handlers_fire(signal);
}

/* Producers that share a queue may ring in another order than they took their packets in. */
static void store_greater(sim_signal *doorbell, hsa_signal_value_t value)
{
    hsa_signal_value_t old = sim_signal_load(doorbell);
    while (old < value && !__atomic_compare_exchange_n(value_of(doorbell), &old, value, true,
                                                       __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
    }
}

void sim_signal_store(sim_signal *signal, hsa_signal_value_t value)
{
    if (__atomic_load_n(&signal->amd.kind, __ATOMIC_RELAXED) == AMD_SIGNAL_KIND_DOORBELL)
        store_greater(signal, value);
    else
        __atomic_store_n(value_of(signal), value, __ATOMIC_SEQ_CST);
    announce(signal);
}

void sim_signal_add(sim_signal *signal, hsa_signal_value_t value)
{
    __atomic_add_fetch(value_of(signal), value, __ATOMIC_SEQ_CST);
    announce(signal);
}

void sim_signal_complete(hsa_signal_t handle, uint64_t begin_ns, uint64_t end_ns)
{
    if (!handle.handle) return;
    sim_signal *signal = sim_signal_of(handle);
    __atomic_store_n(&signal->amd.start_ts, begin_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&signal->amd.end_ts, end_ns, __ATOMIC_RELAXED);
    sim_signal_add(signal, -1);
}

static bool stopped(const bool *stop)
{
    return stop && __atomic_load_n(stop, __ATOMIC_ACQUIRE);
}

/* How long to sleep now: 0 when the deadline has passed. */
static uint64_t next_sleep(uint64_t deadline, const bool *stop)
{
    uint64_t left = SIM_FOREVER;
    if (deadline != SIM_FOREVER) {
        uint64_t now = sim_now();
        left = now < deadline ? deadline - now : 0;
    }
    return stop && left > STOP_POLL_NS ? STOP_POLL_NS : left;
}

hsa_signal_value_t sim_signal_wait(sim_signal *signal, hsa_signal_condition_t condition,
                                   hsa_signal_value_t compare, hsa_signal_value_t mask,
                                   uint64_t timeout_ns, const bool *stop)
{
    hsa_signal_value_t value = sim_signal_load(signal);
    if (timeout_ns == 0 || sim_condition_holds(value & mask, condition, compare)) return value;
    uint64_t start = timeout_ns == SIM_FOREVER ? 0 : sim_now();
    uint64_t deadline = timeout_ns > SIM_FOREVER - start ? SIM_FOREVER : start + timeout_ns;

    for (;;) {
        uint32_t seen = sim_event_prepare(&signal->changed);
        value = sim_signal_load(signal);
        if (sim_condition_holds(value & mask, condition, compare) || stopped(stop)) break;
        uint64_t sleep = next_sleep(deadline, stop);
        if (sleep == 0) break;
        sim_event_sleep(&signal->changed, seen, sleep);
    }
    return value;
}

/* An end from before the wait began is that of an earlier use of the signal. Without a wait it does
 * no harm: it is then older than what waits for the signal. */
uint64_t sim_signal_await(hsa_signal_t handle, hsa_signal_condition_t condition,
                          hsa_signal_value_t compare, hsa_signal_value_t mask, const bool *stop)
{
    sim_signal *signal = sim_signal_of(handle);
    uint64_t from = 0;
    if (!sim_condition_holds(sim_signal_load(signal) & mask, condition, compare)) {
        from = sim_now();
        sim_signal_wait(signal, condition, compare, mask, SIM_FOREVER, stop);
    }
    uint64_t end = __atomic_load_n(&signal->amd.end_ts, __ATOMIC_RELAXED);
    return end >= from ? end : sim_now();
}

/* ---- HSA ---- */

hsa_status_t hsa_signal_create(hsa_signal_value_t value, uint32_t consumer_count,
                               const hsa_agent_t *consumers, hsa_signal_t *handle)
{
    (void)consumer_count, (void)consumers;
    SIM_REQUIRE_INIT();
    SIM_REQUIRE(handle, HSA_STATUS_ERROR_INVALID_ARGUMENT);
    sim_signal *signal = sim_signal_create(value, AMD_SIGNAL_KIND_USER);
    handle->handle = (uint64_t)(uintptr_t)signal;
    return signal ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

hsa_status_t hsa_amd_signal_create(hsa_signal_value_t value, uint32_t consumer_count,
                                   const hsa_agent_t *consumers, uint64_t attributes,
                                   hsa_signal_t *handle)
{
    (void)attributes;
    return hsa_signal_create(value, consumer_count, consumers, handle);
}

hsa_status_t hsa_signal_destroy(hsa_signal_t handle)
{
    SIM_REQUIRE(handle.handle, HSA_STATUS_ERROR_INVALID_SIGNAL);
    sim_signal_destroy(sim_signal_of(handle));
    return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_amd_signal_value_pointer(hsa_signal_t handle,
                                          volatile hsa_signal_value_t **pointer)
{
    SIM_REQUIRE(handle.handle, HSA_STATUS_ERROR_INVALID_SIGNAL);
    *pointer = value_of(sim_signal_of(handle));
    return HSA_STATUS_SUCCESS;
}

hsa_signal_value_t hsa_signal_load_relaxed(hsa_signal_t handle)
{
    return sim_signal_load(sim_signal_of(handle));
}

void hsa_signal_store_relaxed(hsa_signal_t handle, hsa_signal_value_t value)
{
    sim_signal_store(sim_signal_of(handle), value);
}

void hsa_signal_store_screlease(hsa_signal_t handle, hsa_signal_value_t value)
{
    sim_signal_store(sim_signal_of(handle), value);
}

void hsa_signal_silent_store_relaxed(hsa_signal_t handle, hsa_signal_value_t value)
{
    __atomic_store_n(value_of(sim_signal_of(handle)), value, __ATOMIC_RELEASE);
}

void hsa_signal_add_relaxed(hsa_signal_t handle, hsa_signal_value_t value)
{
    sim_signal_add(sim_signal_of(handle), value);
}

void hsa_signal_subtract_relaxed(hsa_signal_t handle, hsa_signal_value_t value)
{
    sim_signal_add(sim_signal_of(handle), -value);
}

/* The caller would rather spin than sleep. Not for long, as it takes a CPU that simulates the GPU.
 * What is left of the timeout stays in it. */
static hsa_signal_value_t look_for_a_while(const sim_signal *signal,
                                           hsa_signal_condition_t condition,
                                           hsa_signal_value_t compare, uint64_t *timeout_ns)
{
    uint64_t start = sim_now(), spent = 0;
    hsa_signal_value_t value = sim_signal_load(signal);
    while (!sim_condition_holds(value, condition, compare) && spent < *timeout_ns &&
           spent < SIM_LINGER_NS) {
        sched_yield();
        value = sim_signal_load(signal);
        spent = sim_now() - start;
    }
    if (*timeout_ns != SIM_FOREVER) *timeout_ns -= spent < *timeout_ns ? spent : *timeout_ns;
    return value;
}

hsa_signal_value_t hsa_signal_wait_scacquire(hsa_signal_t handle, hsa_signal_condition_t condition,
                                             hsa_signal_value_t compare, uint64_t timeout_hint,
                                             hsa_wait_state_t wait_state_hint)
{
    sim_signal *signal = sim_signal_of(handle);
    if (wait_state_hint == HSA_WAIT_STATE_ACTIVE && timeout_hint) {
        hsa_signal_value_t value = look_for_a_while(signal, condition, compare, &timeout_hint);
        if (sim_condition_holds(value, condition, compare)) return value;
    }
    return sim_signal_wait(signal, condition, compare, -1, timeout_hint, NULL);
}

/* ---- profiling: every operation leaves its times in its signal ---- */

hsa_status_t hsa_amd_profiling_get_dispatch_time(hsa_agent_t agent, hsa_signal_t handle,
                                                 hsa_amd_profiling_dispatch_time_t *time)
{
    (void)agent;
    SIM_REQUIRE(handle.handle, HSA_STATUS_ERROR_INVALID_SIGNAL);
    SIM_REQUIRE(time, HSA_STATUS_ERROR_INVALID_ARGUMENT);
    const sim_signal *signal = sim_signal_of(handle);
    time->start = __atomic_load_n(&signal->amd.start_ts, __ATOMIC_RELAXED);
    time->end = __atomic_load_n(&signal->amd.end_ts, __ATOMIC_RELAXED);
    return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_amd_profiling_get_async_copy_time(hsa_signal_t handle,
                                                   hsa_amd_profiling_async_copy_time_t *time)
{
    hsa_amd_profiling_dispatch_time_t t;
    SIM_REQUIRE(time, HSA_STATUS_ERROR_INVALID_ARGUMENT);
    hsa_status_t status = hsa_amd_profiling_get_dispatch_time((hsa_agent_t){0}, handle, &t);
    if (status != HSA_STATUS_SUCCESS) return status;
    *time = (hsa_amd_profiling_async_copy_time_t){t.start, t.end};
    return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_amd_profiling_async_copy_enable(bool enable)
{
    (void)enable; /* always on */
    return HSA_STATUS_SUCCESS;
}
