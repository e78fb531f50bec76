/* SPDX-License-Identifier: MIT */
#include "hip/device_record.h"

#include "record/record.h"
#include "record/strings.h"

void hb_device_record_put(int id, int32_t node, const hb_hip_device *d)
{
    uint32_t name = hb_strings_intern(d->name, strlen(d->name));
    uint32_t arch = hb_strings_intern(d->arch, strlen(d->arch));
    hb_thread *t = hb_record_enter();
    if (!t) return;
    hb_record_device *r = (hb_record_device *)hb_record_reserve(t, sizeof *r);
    if (r) {
        *r = (hb_record_device){
            .total_global_mem = d->total_global_mem,
            .shared_mem_per_block = (uint64_t)HB_MAX(d->shared_mem_per_block, 0),
            .shared_mem_per_cu = (uint64_t)HB_MAX(d->shared_mem_per_cu, 0),
            .arch = arch,
            .id = id,
            .compute_major = d->compute_major,
            .compute_minor = d->compute_minor,
            .max_threads_per_block = d->max_threads_per_block,
            .max_threads_per_cu = d->max_threads_per_cu,
            .regs_per_block = d->regs_per_block,
            .warp_size = d->warp_size,
            .num_cus = d->num_cus,
            .node = node,
            .clock_khz = d->clock_khz,
            .memory_khz = d->memory_khz,
            .memory_bus_bits = d->memory_bus_bits,
        };
        hb_record_head(&r->head, HB_RECORD_DEVICE, 0, name, sizeof *r);
        r->head.start = hb_ticks();
        hb_record_commit(t, &r->head);
    }
    hb_thread_leave(t);
}
