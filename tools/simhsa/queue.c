/* SPDX-License-Identifier: MIT */
#include "queue.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

static pthread_mutex_t queues_lock = PTHREAD_MUTEX_INITIALIZER;
static sim_queue *queues;
static uint64_t last_id; /* under queues_lock */

/* HSA hands out const queues and changes them all the same. */
static sim_queue *queue_of(const hsa_queue_t *handle)
{
    return (sim_queue *)(uintptr_t)handle;
}

/* Counters and packet headers are shared with the producer. */
static uint64_t *counter(volatile uint64_t *field)
{
    return (uint64_t *)(uintptr_t)field;
}

static uint16_t packet_type(const sim_queue *queue, uint64_t index)
{
    const uint16_t *header = (const uint16_t *)(const void *)sim_queue_slot(queue, index);
    return __atomic_load_n(header, __ATOMIC_ACQUIRE) & 0xff;
}

static uint64_t read_index(sim_queue *queue)
{
    return __atomic_load_n(counter(&queue->amd.read_dispatch_id), __ATOMIC_ACQUIRE);
}

static bool stopped(const sim_queue *queue)
{
    return __atomic_load_n(&queue->stop, __ATOMIC_ACQUIRE);
}

/* ---- the thread ---- */

/* Behind the last packet that the doorbell was rung for. Below it a slot may still be invalid, when
 * its producer is slower than the next one; above it a header may be there too early: HIP 6 copies
 * packets before it sets their headers. */
static uint64_t rung_limit(const sim_queue *queue)
{
    return (uint64_t)sim_signal_load(sim_signal_of(queue->amd.hsa_queue.doorbell_signal)) + 1;
}

void sim_queue_notice(sim_queue *queue)
{
    uint64_t limit = rung_limit(queue), before = queue->noticed;
    uint64_t full = read_index(queue) + queue->amd.hsa_queue.size;
    if (limit > full) limit = full;
    while (queue->noticed < limit && packet_type(queue, queue->noticed) != HSA_PACKET_TYPE_INVALID)
        queue->noticed++;
    if (queue->noticed != before) queue->noticed_at_ns = sim_now();
}

static bool packet_ready(sim_queue *queue)
{
    if (queue->noticed <= read_index(queue)) sim_queue_notice(queue);
    return queue->noticed > read_index(queue);
}

/* A real queue takes notice of its doorbell at no cost to who rings it. So one that has just run
 * dry looks again for a while, lest each of a row of launches pays for waking it up. */
static bool linger(sim_queue *queue)
{
    uint64_t until = sim_now() + SIM_LINGER_NS;
    bool ready = false;
    while (!(ready = packet_ready(queue)) && !stopped(queue) && sim_now() < until)
        sched_yield();
    return ready;
}

static void wait_for_doorbell(sim_queue *queue)
{
    sim_event *rung = &sim_signal_of(queue->amd.hsa_queue.doorbell_signal)->changed;
    if (linger(queue)) return;
    uint32_t seen = sim_event_prepare(rung);
    if (!packet_ready(queue) && !stopped(queue)) sim_event_sleep(rung, seen, SIM_FOREVER);
}

/* The slot is free again before its completion is known, as a producer may wait for either. */
static void retire(sim_queue *queue, char *slot)
{
    __atomic_store_n((uint16_t *)(void *)slot, HSA_PACKET_TYPE_INVALID, __ATOMIC_RELEASE);
    __atomic_add_fetch(counter(&queue->amd.read_dispatch_id), 1, __ATOMIC_RELEASE);
}

static bool process_next(sim_queue *queue)
{
    char *slot = sim_queue_slot(queue, read_index(queue));
    hsa_signal_t done;
    uint64_t begin_ns, end_ns;
    hsa_status_t status = sim_packet_process(queue, slot, &done, &begin_ns, &end_ns);
    if (status != HSA_STATUS_SUCCESS) {
        SIM_TRACE("queue %llu: error 0x%x", (unsigned long long)queue->amd.hsa_queue.id,
                  (unsigned)status);
        if (queue->on_error) queue->on_error(status, &queue->amd.hsa_queue, queue->error_data);
        return false;
    }
    if (stopped(queue)) return false;
    queue->free_at_ns = end_ns;
    retire(queue, slot);
    sim_signal_complete(done, begin_ns, end_ns);
    return true;
}

static void *queue_main(void *argument)
{
    sim_queue *queue = argument;
    pthread_setname_np(pthread_self(), "simhsa-queue");
    prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0); /* durations of some microseconds */
    bool working = true;
    while (working && !stopped(queue)) {
        if (packet_ready(queue))
            working = process_next(queue);
        else
            wait_for_doorbell(queue);
    }
    return NULL;
}

static void stop_thread(sim_queue *queue)
{
    if (__atomic_exchange_n(&queue->stop, true, __ATOMIC_SEQ_CST)) return;
    sim_event_wake_all(&sim_signal_of(queue->amd.hsa_queue.doorbell_signal)->changed);
    if (sim_has_threads()) pthread_join(queue->thread, NULL);
}

/* ---- creation ---- */

static void free_queue(sim_queue *queue)
{
    if (queue->amd.hsa_queue.doorbell_signal.handle)
        sim_signal_destroy(sim_signal_of(queue->amd.hsa_queue.doorbell_signal));
    free(queue->amd.hsa_queue.base_address);
    free(queue);
}

static sim_queue *allocate_queue(uint32_t packets)
{
    void *memory = NULL, *ring = NULL;
    if (posix_memalign(&memory, AMD_QUEUE_ALIGN_BYTES, sizeof(sim_queue)) != 0) return NULL;
    sim_queue *queue = memset(memory, 0, sizeof *queue);
    sim_signal *doorbell = sim_signal_create(-1, AMD_SIGNAL_KIND_DOORBELL);
    queue->amd.hsa_queue.doorbell_signal.handle = (uint64_t)(uintptr_t)doorbell;
    if (doorbell && posix_memalign(&ring, 4096, (size_t)packets * SIM_PACKET_SIZE) == 0) {
        queue->amd.hsa_queue.base_address = memset(ring, 0, (size_t)packets * SIM_PACKET_SIZE);
        queue->amd.hsa_queue.size = packets;
        return queue;
    }
    free_queue(queue);
    return NULL;
}

static void set_up_queue(sim_queue *queue, sim_agent *agent, hsa_queue_type32_t type)
{
    hsa_queue_t *q = &queue->amd.hsa_queue;
    q->type = type;
    q->features = HSA_QUEUE_FEATURE_KERNEL_DISPATCH;
    queue->agent = agent;
    queue->amd.queue_properties = AMD_QUEUE_PROPERTIES_IS_PTR64;
    queue->amd.max_cu_id = 1;
    for (uint32_t i = 0; i < q->size; i++)
        *(uint16_t *)(void *)sim_queue_slot(queue, i) = HSA_PACKET_TYPE_INVALID;
}

static void add_to_list(sim_queue *queue)
{
    pthread_mutex_lock(&queues_lock);
    queue->amd.hsa_queue.id = ++last_id;
    queue->next = queues;
    queues = queue;
    pthread_mutex_unlock(&queues_lock);
}

static void take_from_list(sim_queue *queue)
{
    pthread_mutex_lock(&queues_lock);
    sim_queue **link = &queues;
    while (*link && *link != queue)
        link = &(*link)->next;
    if (*link) *link = queue->next;
    pthread_mutex_unlock(&queues_lock);
}

hsa_status_t hsa_queue_create(hsa_agent_t handle, uint32_t packets, hsa_queue_type32_t type,
                              sim_queue_error_fn on_error, void *error_data, uint32_t private_bytes,
                              uint32_t group_bytes, hsa_queue_t **result)
{
    (void)private_bytes, (void)group_bytes;
    SIM_REQUIRE_INIT();
    sim_agent *agent = sim_agent_find(handle);
    SIM_REQUIRE(agent && agent->is_gpu, HSA_STATUS_ERROR_INVALID_AGENT);
    SIM_REQUIRE(result && packets && (packets & (packets - 1)) == 0,
                HSA_STATUS_ERROR_INVALID_ARGUMENT);
    sim_queue *queue = allocate_queue(packets);
    SIM_REQUIRE(queue, HSA_STATUS_ERROR_OUT_OF_RESOURCES);
    set_up_queue(queue, agent, type);
    queue->on_error = on_error;
    queue->error_data = error_data;
    add_to_list(queue);
    if (pthread_create(&queue->thread, NULL, queue_main, queue) != 0) {
        take_from_list(queue);
        free_queue(queue);
        return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    }
    SIM_TRACE("queue %llu of %u packets on GPU %u", (unsigned long long)queue->amd.hsa_queue.id,
              packets, agent->index);
    *result = &queue->amd.hsa_queue;
    return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_queue_destroy(hsa_queue_t *handle)
{
    SIM_REQUIRE(handle, HSA_STATUS_ERROR_INVALID_QUEUE);
    sim_queue *queue = queue_of(handle);
    take_from_list(queue);
    stop_thread(queue);
    free_queue(queue);
    return HSA_STATUS_SUCCESS;
}

void sim_queues_stop(void)
{
    pthread_mutex_lock(&queues_lock);
    for (sim_queue *queue = queues; queue; queue = queue->next)
        stop_thread(queue);
    pthread_mutex_unlock(&queues_lock);
}

/* ---- what producers use ---- */

uint64_t hsa_queue_add_write_index_screlease(const hsa_queue_t *handle, uint64_t value)
{
    return __atomic_fetch_add(counter(&queue_of(handle)->amd.write_dispatch_id), value,
                              __ATOMIC_ACQ_REL);
}

uint64_t hsa_queue_load_write_index_relaxed(const hsa_queue_t *handle)
{
    return __atomic_load_n(counter(&queue_of(handle)->amd.write_dispatch_id), __ATOMIC_RELAXED);
}

uint64_t hsa_queue_load_read_index_relaxed(const hsa_queue_t *handle)
{
    return __atomic_load_n(counter(&queue_of(handle)->amd.read_dispatch_id), __ATOMIC_RELAXED);
}

uint64_t hsa_queue_load_read_index_scacquire(const hsa_queue_t *handle)
{
    return read_index(queue_of(handle));
}

/* Which CUs a queue uses, its priority and whether it is profiled change nothing here. */

hsa_status_t hsa_amd_queue_cu_set_mask(const hsa_queue_t *handle, uint32_t bits,
                                       const uint32_t *mask)
{
    (void)bits, (void)mask;
    return handle ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_QUEUE;
}

hsa_status_t hsa_amd_queue_set_priority(hsa_queue_t *handle, hsa_amd_queue_priority_t priority)
{
    (void)priority;
    return handle ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_QUEUE;
}

hsa_status_t hsa_amd_profiling_set_profiler_enabled(hsa_queue_t *handle, int enable)
{
    (void)enable;
    return handle ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_QUEUE;
}
