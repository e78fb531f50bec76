/* SPDX-License-Identifier: MIT */
#include "hip/rocprofiler_records.h"

#include "gpu/occupancy.h"
#include "hip/calls.h"
#include "hip/rocprofiler_agents.h"
#include "hip/rocprofiler_kernels.h"
#include "record/strings.h"

static hb_record_work work_of(const hb_rocp_work *w, hb_rocp_id agent, int64_t ahead_ns)
{
    return (hb_record_work){
        .head = {.name = HB_STRING_UNNAMED, .flags = HB_RECORD_NODE},
        .work = w->correlation,
        .begin_ns = (int64_t)w->begin_ns + ahead_ns,
        .end_ns = (int64_t)w->end_ns + ahead_ns,
        .device = hb_rocp_agent_node(agent),
    };
}

/* Grids are told in work-items, and the last block may be a smaller one. */
static void set_extent(uint32_t grid[3], uint16_t block[3], const hb_rocp_dispatch *d)
{
    const uint32_t items[3] = {d->grid.x, d->grid.y, d->grid.z};
    const uint32_t group[3] = {d->workgroup.x, d->workgroup.y, d->workgroup.z};
    for (int i = 0; i < 3; i++) {
        block[i] = (uint16_t)HB_MIN(group[i], UINT16_MAX);
        grid[i] = group[i] ? (uint32_t)(((uint64_t)items[i] + group[i] - 1) / group[i]) : items[i];
    }
}

static void report_dispatch(const hb_rocp_dispatch *d, int64_t ahead_ns)
{
    hb_rocp_kernel kernel = hb_rocp_kernel_of(d->kernel_id);
    hb_record_dispatch r = {
        .work = work_of(&d->work, d->agent, ahead_ns),
        .vgprs = kernel.vgprs,
        .sgprs = kernel.sgprs,
        .agprs = kernel.agprs,
    };
    r.work.head.name = kernel.name;
    if (kernel.blit) r.work.head.flags |= HB_RECORD_BLIT;
    r.work.kind = HB_WORK_KERNEL;
    r.work.queue = d->queue.handle;
    r.work.lds_bytes = d->group_bytes;
    r.work.scratch_bytes = d->private_bytes;
    set_extent(r.grid, r.block, d);
    hb_dispatch_report(&r);
    hb_work_arrived(!kernel.blit);
}

static uint32_t kind_of_copy(uint32_t operation)
{
    switch (operation) {
    case HB_ROCP_COPY_HOST_TO_DEVICE: return HB_WORK_HTOD;
    case HB_ROCP_COPY_DEVICE_TO_HOST: return HB_WORK_DTOH;
    case HB_ROCP_COPY_DEVICE_TO_DEVICE: return HB_WORK_DTOD;
    default: return 0;
    }
}

static void report_copy(const hb_rocp_memory_copy *c, int64_t ahead_ns)
{
    bool up = c->work.operation == HB_ROCP_COPY_HOST_TO_DEVICE;
    hb_record_work r = work_of(&c->work, up ? c->to : c->from, ahead_ns);
    r.kind = kind_of_copy(c->work.operation);
    r.bytes = c->bytes;
    hb_work_report(&r);
    if (r.kind) hb_work_arrived(false);
}

void hb_rocp_record(const hb_rocp_header *h, int64_t ahead_ns)
{
    const hb_rocp_work *w = h->payload;
    if (h->category != HB_ROCP_RECORD_TRACING) return;
    if (h->kind == HB_ROCP_RECORD_DISPATCH && w->size >= sizeof(hb_rocp_dispatch))
        report_dispatch(h->payload, ahead_ns);
    else if (h->kind == HB_ROCP_RECORD_MEMORY_COPY && w->size >= sizeof(hb_rocp_memory_copy))
        report_copy(h->payload, ahead_ns);
}
