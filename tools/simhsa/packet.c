/* SPDX-License-Identifier: MIT
 *
 * The packet processor: what each kind of AQL packet does.
 *
 * Packets of one queue run one after the other, so that the barrier bit of their headers is always
 * honoured.
 */
#include "code.h"
#include "fault.h"
#include "heap.h"
#include "queue.h"

#include <time.h>

#define OR_POLL_NS 20000

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t earliest_begin(const sim_queue *queue)
{
    return later(queue->free_at_ns, queue->noticed_at_ns);
}

/* ---- kernel dispatch ---- */

static simhsa_dispatch describe(const sim_queue *queue, const hsa_kernel_dispatch_packet_t *packet,
                                const sim_kernel *kernel)
{
    return (simhsa_dispatch){
        .name = kernel->name,
        .kernarg = packet->kernarg_address,
        .grid = {packet->grid_size_x, packet->grid_size_y, packet->grid_size_z},
        .block = {packet->workgroup_size_x, packet->workgroup_size_y, packet->workgroup_size_z},
        .group_bytes = packet->group_segment_size,
        .private_bytes = packet->private_segment_size,
        .device = queue->agent->index,
        .queue = queue->amd.hsa_queue.id,
    };
}

/* The third word of a kernel descriptor. */
static uint32_t kernarg_size(const hsa_kernel_dispatch_packet_t *packet)
{
    return ((const uint32_t *)(uintptr_t)packet->kernel_object)[2];
}

static hsa_status_t dispatch(sim_queue *queue, const hsa_kernel_dispatch_packet_t *packet,
                             uint64_t begin_ns, uint64_t *end_ns)
{
    sim_kernel *kernel = sim_code_kernel(packet->kernel_object);
    SIM_REQUIRE(kernel, HSA_STATUS_ERROR_INVALID_CODE_OBJECT);
    const simhsa_dispatch d = describe(queue, packet, kernel);
    SIM_TRACE("GPU %u queue %llu: %s grid %u,%u,%u block %u,%u,%u", d.device,
              (unsigned long long)d.queue, d.name, d.grid[0], d.grid[1], d.grid[2], d.block[0],
              d.block[1], d.block[2]);
    if (!kernel->builtin && sim_fault_strikes(SIM_FAULT_QUEUE)) return HSA_STATUS_ERROR_EXCEPTION;
    sim_memory_localize(packet->kernarg_address, kernarg_size(packet));
    *end_ns = sim_kernel_run(kernel, &d, begin_ns);
    return HSA_STATUS_SUCCESS;
}

/* ---- barriers ---- */

static uint64_t barrier_and(sim_queue *queue, const hsa_barrier_and_packet_t *packet,
                            uint64_t begin_ns)
{
    uint64_t end = begin_ns;
    for (size_t i = 0; i < SIM_ARRAY_LEN(packet->dep_signal); i++)
        if (packet->dep_signal[i].handle)
            end = later(end, sim_signal_await(packet->dep_signal[i], HSA_SIGNAL_CONDITION_LT, 1, -1,
                                              &queue->stop));
    return end;
}

static bool any_done(const hsa_barrier_or_packet_t *packet)
{
    bool none = true;
    for (size_t i = 0; i < SIM_ARRAY_LEN(packet->dep_signal); i++) {
        if (!packet->dep_signal[i].handle) continue;
        none = false;
        if (sim_signal_load(sim_signal_of(packet->dep_signal[i])) < 1) return true;
    }
    return none;
}

/* One cannot sleep on five signals at once; the HIP runtime uses no such packets, so polling will
 * do. */
static uint64_t barrier_or(sim_queue *queue, const hsa_barrier_or_packet_t *packet,
                           uint64_t begin_ns)
{
    if (any_done(packet)) return begin_ns;
    while (!any_done(packet) && !__atomic_load_n(&queue->stop, __ATOMIC_ACQUIRE))
        nanosleep(&(struct timespec){0, OR_POLL_NS}, NULL);
    return later(begin_ns, sim_now());
}

static hsa_status_t vendor_packet(sim_queue *queue, const void *slot, uint64_t begin_ns,
                                  uint64_t *end_ns)
{
    const hsa_amd_barrier_value_packet_t *packet = slot;
    if (packet->header.AmdFormat != HSA_AMD_PACKET_TYPE_BARRIER_VALUE) {
        SIM_WARN_ONCE("a vendor packet of format %u is skipped", packet->header.AmdFormat);
        *end_ns = begin_ns;
        return HSA_STATUS_SUCCESS;
    }
    *end_ns = begin_ns;
    if (packet->signal.handle)
        *end_ns =
            later(begin_ns, sim_signal_await(packet->signal, (hsa_signal_condition_t)packet->cond,
                                             packet->value, packet->mask, &queue->stop));
    return HSA_STATUS_SUCCESS;
}

/* ---- any packet ---- */

static hsa_status_t process_type(sim_queue *queue, const void *slot, uint64_t begin_ns,
                                 uint64_t *end_ns)
{
    switch (*(const uint16_t *)slot & 0xff) {
    case HSA_PACKET_TYPE_KERNEL_DISPATCH: return dispatch(queue, slot, begin_ns, end_ns);
    case HSA_PACKET_TYPE_BARRIER_AND: *end_ns = barrier_and(queue, slot, begin_ns); break;
    case HSA_PACKET_TYPE_BARRIER_OR: *end_ns = barrier_or(queue, slot, begin_ns); break;
    case HSA_PACKET_TYPE_VENDOR_SPECIFIC: return vendor_packet(queue, slot, begin_ns, end_ns);
    default: return HSA_STATUS_ERROR_INVALID_PACKET_FORMAT;
    }
    return HSA_STATUS_SUCCESS;
}

hsa_status_t sim_packet_process(sim_queue *queue, const char *slot, hsa_signal_t *done,
                                uint64_t *begin_ns, uint64_t *end_ns)
{
    /* All kinds of packets have the completion signal in their last eight bytes. */
    *done = ((const hsa_kernel_dispatch_packet_t *)(const void *)slot)->completion_signal;
    *begin_ns = earliest_begin(queue);
    hsa_status_t status = process_type(queue, slot, *begin_ns, end_ns);
    if (status != HSA_STATUS_SUCCESS) return status;
    sim_memory_was_used();
    /* Before the sleep, so that what is there now may begin when this ends, however late we wake.
     */
    sim_queue_notice(queue);
    sim_sleep_until(*end_ns);
    return HSA_STATUS_SUCCESS;
}
