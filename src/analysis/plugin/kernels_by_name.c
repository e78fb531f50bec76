/* SPDX-License-Identifier: MIT
 *
 * Kernels by name. The plugin uses pandas here, which sums with compensation, and numpy's average
 * for the means, which sums in pairs.
 */
#include <math.h>

#include "plugin/analysis.h"

typedef struct name_sum {
    hb_kernel_stat stat;
    double lost;
    uint64_t first, filled; /* this name's part of `weights` */
} name_sum;

/* Every kernel's duration, and that times its metrics, name by name, each in the order of time. */
typedef struct weights {
    double *duration, *blocks, *occupancy;
} weights;

static void add_compensated(double *sum, double *lost, double value)
{
    double y = value - *lost, t = *sum + y;
    *lost = t - *sum - y;
    if (*lost != *lost) *lost = 0;
    *sum = t;
}

static double metric(hb_analysis *a, uint32_t row, uint8_t state, double value)
{
    if (state == HB_NUMBER_BAD)
        hb_reject_trace(a, "event %u: a kernel's metric is not a number", row);
    return state == HB_NUMBER_NONE || value != value ? 0 : value;
}

static void add_kernel(const hb_analysis *a, name_sum *s, const hb_row *row)
{
    hb_kernel_stat *k = &s->stat;
    double dur = hb_plugin_dur(a->trace, row);
    if (k->calls++ == 0) k->max = k->min = dur;
    add_compensated(&k->total, &s->lost, dur);
    k->max = fmax(k->max, dur);
    k->min = fmin(k->min, dur);
}

static void add_weights(hb_analysis *a, weights *w, name_sum *s, uint32_t index, const hb_row *row)
{
    const hb_launch *l = hb_trace_launch_of(a->trace, row);
    uint64_t at = s->first + s->filled++;
    double dur = hb_plugin_dur(a->trace, row);
    w->duration[at] = dur;
    w->blocks[at] = metric(a, index, l->blocks_state, l->blocks_per_sm) * dur;
    w->occupancy[at] = metric(a, index, l->occupancy_state, l->occupancy) * dur;
}

/* The order of numpy's additions (its pairwise_sum): eight partial sums up to 128 values, halves
 * above that. A mean that lies on a half is rounded either way by another order. */
static double sum_in_pairs(const double *x, uint64_t n)
{
    if (n > 128) {
        uint64_t half = n / 2 - n / 2 % 8;
        return sum_in_pairs(x, half) + sum_in_pairs(x + half, n - half);
    }
    double sum = 0;
    uint64_t i = 0;
    if (n >= 8) {
        double r[8];
        for (; i < 8; i++)
            r[i] = x[i];
        for (; i < n - n % 8; i++)
            r[i % 8] += x[i];
        sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
    }
    for (; i < n; i++)
        sum += x[i];
    return sum;
}

static double average(const double *products, const double *durations, const name_sum *s)
{
    double sum = sum_in_pairs(durations + s->first, s->filled);
    return sum != 0 ? sum_in_pairs(products + s->first, s->filled) / sum : 0;
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

static weights weigh(hb_analysis *a, const hb_dict *names, name_sum *sums, uint32_t count)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < count; i++) {
        sums[i].first = total;
        total += sums[i].stat.calls;
    }
    weights w = {
        HB_NEW_ARRAY(&a->arena, double, total),
        HB_NEW_ARRAY(&a->arena, double, total),
        HB_NEW_ARRAY(&a->arena, double, total),
    };
    for (uint32_t i = 0; i < a->num_events; i++) {
        const hb_row *row = hb_trace_row(a->trace, a->events[i].row);
        if (a->events[i].type != HB_TYPE_KERNEL) continue;
        const hb_dict_entry *e = hb_dict_get(names, row->name);
        add_weights(a, &w, &sums[e->value], a->events[i].row, row);
    }
    return w;
}

/* Sums of the list as it is sorted. */
static double share_of_tensor_cores(hb_analysis *a)
{
    uint32_t n = a->kernel_names.count, used = 0;
    double *all = HB_NEW_ARRAY(&a->arena, double, n + 1),
           *tc = HB_NEW_ARRAY(&a->arena, double, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        all[i] = a->kernel_names.items[i].total;
        if (a->kernel_names.items[i].tc_used) tc[used++] = all[i];
    }
    double total = sum_in_pairs(all, n);
    return total > 0 ? sum_in_pairs(tc, used) / total : 0;
}

void hb_analyze_kernel_names(hb_analysis *a)
{
    hb_dict names = {0};
    HB_VEC(name_sum) sums = {0};
    bool added;
    if (!a->has_role[HB_ROLE_KERNEL]) return;
    for (uint32_t i = 0; i < a->num_events; i++) {
        const hb_row *row = hb_trace_row(a->trace, a->events[i].row);
        if (a->events[i].type != HB_TYPE_KERNEL) continue;
        hb_dict_entry *e = hb_dict_add(&a->arena, &names, row->name, &added);
        if (added) {
            e->value = sums.count;
            name_sum *made = HB_PUSH(&a->arena, &sums);
            *made = (name_sum){.stat.name = row->name};
            made->stat.tc_used = (hb_name_class(a, row->name) & HB_NAME_TC_KERNEL) != 0;
        }
        add_kernel(a, &sums.items[e->value], row);
        a->kernel_names_float |= !(row->flags & HB_ROW_DUR_INT);
    }
    a->kernel_means_int = true;
    weights w = weigh(a, &names, sums.items, sums.count);
    for (uint32_t i = 0; i < sums.count; i++) {
        hb_kernel_stat *k = HB_PUSH(&a->arena, &a->kernel_names);
        *k = sums.items[i].stat;
        k->mean = k->total / k->calls;
        a->kernel_means_int &= k->total == 0;
        k->blocks_per_sm = average(w.blocks, w.duration, &sums.items[i]);
        k->occupancy = average(w.occupancy, w.duration, &sums.items[i]);
    }
    hb_sort(&a->arena, a->kernel_names.items, a->kernel_names.count, sizeof *a->kernel_names.items,
            name_before, a);
    hb_sort(&a->arena, a->kernel_names.items, a->kernel_names.count, sizeof *a->kernel_names.items,
            longer, NULL);
    a->tc_used_ratio = share_of_tensor_cores(a);
}
