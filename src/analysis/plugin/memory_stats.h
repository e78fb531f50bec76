/* SPDX-License-Identifier: MIT
 *
 * Memory statistics for a window of time.
 */
#ifndef HB_PLUGIN_MEMORY_STATS_H
#define HB_PLUGIN_MEMORY_STATS_H

#include "plugin/analysis.h"

/** µs, both ends inclusive. */
typedef struct hb_memory_window {
    bool has_start, has_end;
    double start, end;
} hb_memory_window;

/** What is summed of an operator: bytes and calls of its own, then the same with what lies below.
 */
enum {
    HB_MEMORY_SELF_INCREASE,
    HB_MEMORY_SELF_ALLOCATED,
    HB_MEMORY_SELF_ALLOCATIONS,
    HB_MEMORY_INCREASE,
    HB_MEMORY_ALLOCATED,
    HB_MEMORY_ALLOCATIONS,
    HB_MEMORY_METRICS,
    HB_MEMORY_SELF_METRICS = HB_MEMORY_INCREASE
};

typedef struct hb_memory_stat {
    hb_string_id name;
    uint32_t calls;
    double metrics[HB_MEMORY_METRICS];
} hb_memory_stat;

typedef HB_VEC(hb_memory_stat) hb_memory_stats;

static inline bool hb_in_window(const hb_memory_window *w, double ts)
{
    return !(w->has_start && ts < w->start) && !(w->has_end && ts > w->end);
}

/** The node that `index` is, or is a copy of. */
static inline uint32_t hb_node_id(const hb_analysis *a, uint32_t index)
{
    uint32_t same = hb_work_of(a, &a->nodes[index])->same;
    return same ? same : index;
}

/** By device (as hb_analysis.device_names) and operator, sorted by name. `stats` has as many
 * elements as there are devices. `order`: the devices in the plugin's order, which is that in which
 * its walk through the call trees meets them; those that it does not meet are left out. */
void hb_memory_statistics(hb_analysis *a, hb_arena *arena, const hb_memory_window *window,
                          hb_memory_stats *stats, hb_u32s *order);

/** str() of a scalar. */
void hb_buf_key(hb_buf *buf, const hb_trace *trace, hb_key key);

#endif
