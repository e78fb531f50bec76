/* SPDX-License-Identifier: MIT
 *
 * Memory over time as torch's export_memory_timeline() writes it.
 */
#ifndef HB_TORCH_MEMORY_TIMELINE_H
#define HB_TORCH_MEMORY_TIMELINE_H

#include "torch/allocations.h"

/** Bytes by time; with `raw` every change. To be called inside hb_arena_try(). */
void hb_report_memory_timeline(const hb_allocations *a, uint32_t device, bool raw, hb_buf *to);

/** A page with a chart of who held what of a device's memory. Likewise. */
void hb_report_memory_page(const hb_allocations *a, uint32_t device, hb_buf *to);

#endif
