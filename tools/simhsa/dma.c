/* SPDX-License-Identifier: MIT */
#include "dma.h"
#include "fault.h"
#include "heap.h"
#include "newer.h"
#include "signals.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

/* Three-dimensional; a linear copy is one row. */
typedef struct region {
    char *base;
    size_t pitch, slice;
} region;

typedef struct copy {
    struct copy *next;
    region to, from;
    size_t row_bytes, rows, slices;
    double gbps;
    uint64_t delay_ns;
    uint64_t submitted_ns;
    hsa_signal_t done;
    uint32_t dependency_count;
    hsa_signal_t dependencies[];
} copy;

typedef struct engine {
    pthread_mutex_t lock;
    pthread_cond_t work;
    pthread_t thread;
    copy *first, *last; /* under the lock, like the next two; `first` is atomic as well */
    bool running;
    bool stop; /* atomic as well: read while waiting for a signal */
} engine;

enum { TO_DEVICE, FROM_DEVICE, ENGINES_PER_GPU };

#define ENGINE_INIT                                                         \
    {                                                                       \
        .lock = PTHREAD_MUTEX_INITIALIZER, .work = PTHREAD_COND_INITIALIZER \
    }
#define GPU_INIT                 \
    {                            \
        ENGINE_INIT, ENGINE_INIT \
    }
static engine engines[SIM_MAX_GPUS][ENGINES_PER_GPU] = {GPU_INIT, GPU_INIT, GPU_INIT, GPU_INIT,
                                                        GPU_INIT, GPU_INIT, GPU_INIT, GPU_INIT};

/* ---- the engine's thread ---- */

/* As queues do, lest each of a row of copies pays for waking the engine up. */
static void linger(const engine *e)
{
    uint64_t until = sim_now() + SIM_LINGER_NS;
    while (!__atomic_load_n(&e->first, __ATOMIC_ACQUIRE) &&
           !__atomic_load_n(&e->stop, __ATOMIC_ACQUIRE) && sim_now() < until)
        sched_yield();
}

/* The next copy; NULL when the engine is to stop. */
static copy *take_copy(engine *e)
{
    linger(e);
    pthread_mutex_lock(&e->lock);
    while (!e->first && !e->stop)
        pthread_cond_wait(&e->work, &e->lock);
    copy *c = e->stop ? NULL : e->first;
    if (c) __atomic_store_n(&e->first, c->next, __ATOMIC_RELAXED);
    if (!e->first) e->last = NULL;
    pthread_mutex_unlock(&e->lock);
    return c;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* When the last dependency was over; 0 when there was none. */
static uint64_t await_dependencies(const engine *e, const copy *c)
{
    uint64_t ready = 0;
    for (uint32_t i = 0; i < c->dependency_count; i++)
        ready = later(
            ready, sim_signal_await(c->dependencies[i], HSA_SIGNAL_CONDITION_LT, 1, -1, &e->stop));
    return ready;
}

static uint64_t move_bytes(const copy *c)
{
    for (size_t z = 0; z < c->slices; z++)
        for (size_t y = 0; y < c->rows; y++)
            memmove(c->to.base + y * c->to.pitch + z * c->to.slice,
                    c->from.base + y * c->from.pitch + z * c->from.slice, c->row_bytes);
    return (uint64_t)c->row_bytes * c->rows * c->slices;
}

static void perform(const engine *e, const copy *c, uint64_t *free_at_ns)
{
    uint64_t ready = await_dependencies(e, c);
    if (__atomic_load_n(&e->stop, __ATOMIC_ACQUIRE)) return;
    uint64_t begin = later(*free_at_ns, later(c->submitted_ns, ready)), called = sim_now();
    uint64_t bytes = move_bytes(c), took = sim_now() - called;
    uint64_t end = begin + later(took, sim_copy_duration(bytes, c->gbps)) + c->delay_ns;
    sim_sleep_until(end);
    *free_at_ns = end;
    sim_signal_complete(c->done, begin, end);
}

static void *engine_main(void *argument)
{
    engine *e = argument;
    uint64_t free_at_ns = 0;
    pthread_setname_np(pthread_self(), "simhsa-dma");
    prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
    for (copy *c = take_copy(e); c; c = take_copy(e)) {
        perform(e, c, &free_at_ns);
        free(c);
    }
    return NULL;
}

static void stop_engine(engine *e)
{
    pthread_mutex_lock(&e->lock);
    bool running = e->running;
    __atomic_store_n(&e->stop, true, __ATOMIC_RELEASE);
    pthread_cond_signal(&e->work);
    pthread_mutex_unlock(&e->lock);
    if (running && sim_has_threads()) pthread_join(e->thread, NULL);
    while (e->first) {
        copy *next = e->first->next;
        free(e->first);
        e->first = next;
    }
    e->last = NULL;
    e->running = e->stop = false;
}

void sim_dma_stop(void)
{
    for (unsigned i = 0; i < SIM_MAX_GPUS; i++)
        for (unsigned j = 0; j < ENGINES_PER_GPU; j++)
            stop_engine(&engines[i][j]);
}

/* ---- submission ---- */

static engine *engine_for(const sim_agent *to, const sim_agent *from)
{
    if (from->is_gpu) return &engines[from->index][FROM_DEVICE];
    return to->is_gpu ? &engines[to->index][TO_DEVICE] : &engines[0][FROM_DEVICE];
}

static bool enqueue(engine *e, copy *c)
{
    pthread_mutex_lock(&e->lock);
    if (!e->running) e->running = pthread_create(&e->thread, NULL, engine_main, e) == 0;
    bool ok = e->running;
    if (ok) {
        if (e->last)
            e->last->next = c;
        else
            __atomic_store_n(&e->first, c, __ATOMIC_RELEASE);
        e->last = c;
        pthread_cond_signal(&e->work);
    }
    pthread_mutex_unlock(&e->lock);
    return ok;
}

static hsa_status_t submit(const copy *request, const sim_agent *to, const sim_agent *from,
                           uint32_t dependency_count, const hsa_signal_t *dependencies)
{
    SIM_REQUIRE(request->done.handle, HSA_STATUS_ERROR_INVALID_SIGNAL);
    SIM_REQUIRE(!dependency_count || dependencies, HSA_STATUS_ERROR_INVALID_ARGUMENT);
    SIM_REQUIRE(!sim_fault_strikes(SIM_FAULT_COPY), HSA_STATUS_ERROR);
    size_t list_bytes = dependency_count * sizeof *dependencies;
    copy *c = malloc(sizeof *c + list_bytes);
    SIM_REQUIRE(c, HSA_STATUS_ERROR_OUT_OF_RESOURCES);
    *c = *request;
    c->gbps = to->is_gpu && from->is_gpu ? sim_config.device_gbps : sim_config.copy_gbps;
    c->delay_ns = sim_fault_delay(SIM_FAULT_COPY_SLOW);
    c->dependency_count = dependency_count;
    if (list_bytes) memcpy(c->dependencies, dependencies, list_bytes);
    c->submitted_ns = sim_now();
    SIM_TRACE("copy of %zu x %zu x %zu bytes, %s to %s, %u dependencies", c->row_bytes, c->rows,
              c->slices, from->is_gpu ? "GPU" : "host", to->is_gpu ? "GPU" : "host",
              dependency_count);
    if (enqueue(engine_for(to, from), c)) return HSA_STATUS_SUCCESS;
    free(c);
    return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

hsa_status_t hsa_amd_memory_async_copy(void *to, hsa_agent_t to_handle, const void *from,
                                       hsa_agent_t from_handle, size_t size,
                                       uint32_t dependency_count, const hsa_signal_t *dependencies,
                                       hsa_signal_t done)
{
    SIM_REQUIRE_INIT();
    const sim_agent *to_agent = sim_agent_find(to_handle),
                    *from_agent = sim_agent_find(from_handle);
    SIM_REQUIRE(to_agent && from_agent, HSA_STATUS_ERROR_INVALID_AGENT);
    SIM_REQUIRE(to && from, HSA_STATUS_ERROR_INVALID_ARGUMENT);
    const copy request = {
        .to = {.base = sim_host_address(to)},
        .from = {.base = sim_host_address(from)},
        .row_bytes = size,
        .rows = 1,
        .slices = 1,
        .done = done,
    };
    return submit(&request, to_agent, from_agent, dependency_count, dependencies);
}

hsa_status_t hsa_amd_memory_async_copy_on_engine(void *to, hsa_agent_t to_handle, const void *from,
                                                 hsa_agent_t from_handle, size_t size,
                                                 uint32_t dependency_count,
                                                 const hsa_signal_t *dependencies,
                                                 hsa_signal_t done, int engine_id, bool force)
{
    (void)engine_id, (void)force; /* the directions have their engines */
    return hsa_amd_memory_async_copy(to, to_handle, from, from_handle, size, dependency_count,
                                     dependencies, done);
}

hsa_status_t hsa_amd_memory_copy_engine_status(hsa_agent_t to, hsa_agent_t from,
                                               uint32_t *engine_mask)
{
    SIM_REQUIRE_INIT();
    SIM_REQUIRE(sim_agent_find(to) && sim_agent_find(from), HSA_STATUS_ERROR_INVALID_AGENT);
    *engine_mask = (1u << ENGINES_PER_GPU) - 1;
    return HSA_STATUS_SUCCESS;
}

/* No engine is better than others: whoever asks takes one that is free. */
hsa_status_t hsa_amd_memory_get_preferred_copy_engine(hsa_agent_t to, hsa_agent_t from,
                                                      uint32_t *engine_mask)
{
    SIM_REQUIRE_INIT();
    SIM_REQUIRE(sim_agent_find(to) && sim_agent_find(from), HSA_STATUS_ERROR_INVALID_AGENT);
    *engine_mask = 0;
    return HSA_STATUS_SUCCESS;
}

/* x in bytes, y in rows, z in slices. */
static region region_at(const hsa_pitched_ptr_t *p, const hsa_dim3_t *offset)
{
    size_t start = offset->x + offset->y * p->pitch + offset->z * p->slice;
    return (region){
        .base = (char *)sim_host_address(p->base) + start, .pitch = p->pitch, .slice = p->slice};
}

hsa_status_t hsa_amd_memory_async_copy_rect(
    const hsa_pitched_ptr_t *to, const hsa_dim3_t *to_offset, const hsa_pitched_ptr_t *from,
    const hsa_dim3_t *from_offset, const hsa_dim3_t *range, hsa_agent_t copy_handle,
    hsa_amd_copy_direction_t direction, uint32_t dependency_count, const hsa_signal_t *dependencies,
    hsa_signal_t done)
{
    SIM_REQUIRE_INIT();
    const sim_agent *gpu = sim_agent_find(copy_handle), *host = sim_cpu_agent();
    SIM_REQUIRE(gpu && gpu->is_gpu, HSA_STATUS_ERROR_INVALID_AGENT);
    SIM_REQUIRE(to && to_offset && from && from_offset && range, HSA_STATUS_ERROR_INVALID_ARGUMENT);
    const copy request = {
        .to = region_at(to, to_offset),
        .from = region_at(from, from_offset),
        .row_bytes = range->x,
        .rows = range->y,
        .slices = range->z,
        .done = done,
    };
    bool to_gpu = direction == hsaHostToDevice || direction == hsaDeviceToDevice;
    bool from_gpu = direction == hsaDeviceToHost || direction == hsaDeviceToDevice;
    return submit(&request, to_gpu ? gpu : host, from_gpu ? gpu : host, dependency_count,
                  dependencies);
}
