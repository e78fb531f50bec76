/* SPDX-License-Identifier: MIT
 *
 * Kernels by name. The plugin uses pandas here, which sums with compensation.
 */
#include <math.h>

#include "analyze/analysis.h"

typedef struct name_sum {
    hb_kernel_stat stat;
    double lost, weighted_blocks, weighted_occupancy;
} name_sum;

static void add_compensated(double *sum, double *lost, double value)
{
    double y = value - *lost, t = *sum + y;
    *lost = t - *sum - y;
    if (*lost != *lost) *lost = 0;
    *sum = t;
}

static double metric(hb_analysis *a, uint32_t row, uint8_t state, double value)
{
    if (state == HB_NUMBER_BAD) hb_lose(a, "event %u: a kernel's metric is not a number", row);
    return state == HB_NUMBER_NONE || value != value ? 0 : value;
}

static void add_kernel(hb_analysis *a, name_sum *s, uint32_t index, const hb_row *row)
{
    const hb_launch *l = hb_trace_launch_of(a->trace, row);
    hb_kernel_stat *k = &s->stat;
    if (k->calls++ == 0) k->max = k->min = row->dur;
    add_compensated(&k->total, &s->lost, row->dur);
    k->max = fmax(k->max, row->dur);
    k->min = fmin(k->min, row->dur);
    s->weighted_blocks += metric(a, index, l->blocks_state, l->blocks_per_sm) * row->dur;
    s->weighted_occupancy += metric(a, index, l->occupancy_state, l->occupancy) * row->dur;
}

static bool name_before(const void *context, const void *x, const void *y)
{
    const hb_analysis *a = context;
    hb_str s = hb_trace_text(a->trace, ((const hb_kernel_stat *)x)->name);
    hb_str u = hb_trace_text(a->trace, ((const hb_kernel_stat *)y)->name);
    int order = memcmp(s.s, u.s, HB_MIN(s.len, u.len));
    return order ? order < 0 : s.len < u.len;
}

static bool longer(const void *context, const void *x, const void *y)
{
    (void)context;
    return ((const hb_kernel_stat *)x)->total > ((const hb_kernel_stat *)y)->total;
}

void hb_analyze_kernel_names(hb_analysis *a)
{
    hb_dict names = {0};
    HB_VEC(name_sum) sums = {0};
    bool added;
    if (!a->roles[HB_ROLE_KERNEL].count) return;
    for (uint32_t i = 0; i < a->num_events; i++) {
        const hb_row *row = hb_trace_row(a->trace, a->events[i].row);
        if (a->events[i].type != HB_TYPE_KERNEL) continue;
        hb_dict_entry *e = hb_dict_add(&a->arena, &names, row->name, &added);
        if (added) {
            e->value = sums.count;
            name_sum *made = HB_PUSH(&a->arena, &sums);
            *made = (name_sum){.stat.name = row->name};
            made->stat.tc_used = (hb_name_bits(a, row->name) & HB_NAME_TC_KERNEL) != 0;
        }
        add_kernel(a, &sums.items[e->value], a->events[i].row, row);
    }
    double all = 0, tc = 0;
    for (uint32_t i = 0; i < sums.count; i++) {
        hb_kernel_stat *k = HB_PUSH(&a->arena, &a->kernel_names);
        *k = sums.items[i].stat;
        k->mean = k->total / k->calls;
        k->blocks_per_sm = k->total != 0 ? sums.items[i].weighted_blocks / k->total : 0;
        k->occupancy = k->total != 0 ? sums.items[i].weighted_occupancy / k->total : 0;
        all += k->total;
        if (k->tc_used) tc += k->total;
    }
    a->tc_used_ratio = all > 0 ? tc / all : 0;
    hb_sort(&a->arena, a->kernel_names.items, a->kernel_names.count, sizeof *a->kernel_names.items,
            name_before, a);
    hb_sort(&a->arena, a->kernel_names.items, a->kernel_names.count, sizeof *a->kernel_names.items,
            longer, NULL);
}
