/* SPDX-License-Identifier: MIT
 *
 * How well each GPU was used within the steps.
 */
#include <math.h>
#include <stdio.h>

#include "gpu/sm_efficiency.h"
#include "plugin/analysis.h"

typedef struct gpu_work {
    hb_ranges busy; /* merged as they come, in order of start */
    hb_sm_launches launches;
    double occupancy, occupied; /* weighted sum, weights */
} gpu_work;

/* ---- the order of a Python set ---- */

/* CPython's open addressing: a set of small integers is walked in the order of its table. */
typedef struct int_set {
    int table[1024];
    bool used[1024];
    unsigned mask, fill;
} int_set;

static bool set_insert(int_set *s, int id)
{
    size_t perturb = (size_t)(int64_t)(id == -1 ? -2 : id);
    size_t i = perturb & s->mask;
    for (;;) {
        size_t probes = i + 9 <= s->mask ? 9 : 0;
        for (size_t k = i; k <= i + probes; k++) {
            if (s->used[k] && s->table[k] == id) return false;
            if (s->used[k]) continue;
            s->used[k] = true;
            s->table[k] = id;
            return true;
        }
        perturb >>= 5;
        i = (i * 5 + 1 + perturb) & s->mask;
    }
}

/* False: it was in the set already. */
static bool set_add(int_set *s, int id)
{
    if (!set_insert(s, id)) return false;
    if (++s->fill * 5 < s->mask * 3) return true;
    int_set old = *s;
    unsigned size = 8;
    while (size <= s->fill * 4)
        size *= 2;
    memset(s->used, 0, sizeof s->used);
    s->mask = size - 1;
    for (unsigned i = 0; i <= old.mask; i++)
        if (old.used[i]) set_insert(s, old.table[i]);
    return true;
}

/* ---- kernels ---- */

static void check_device(hb_analysis *a, uint32_t row, const hb_launch *launch)
{
    if (launch->device_state != HB_NUMBER_INT || hb_key_tag(launch->device) != HB_KEY_TAG_INT)
        hb_reject_trace(a, "event %u: a kernel's device is not an integer", row);
    if (launch->gpu == HB_NO_GPU)
        hb_reject_trace(a, "event %u: a kernel's device is not below %d", row, HB_MAX_GPUS);
}

static void take_metrics(hb_analysis *a, uint32_t index, const hb_row *row, const hb_launch *launch,
                         gpu_work *work)
{
    if (launch->blocks_state == HB_NUMBER_BAD || launch->occupancy_state == HB_NUMBER_BAD)
        hb_reject_trace(a, "event %u: a kernel's metric is not a number", index);
    hb_range time = hb_row_range(a, row);
    if (launch->blocks_state && launch->blocks_per_sm > 0) {
        *HB_PUSH(&a->arena, &work->launches) =
            (hb_sm_launch){time.start.v, time.end.v, launch->blocks_per_sm};
        a->has_blocks_per_sm = true;
    }
    if (!launch->occupancy_state || !(launch->occupancy >= 0)) return;
    a->has_occupancy = true;
    double from = fmax(time.start.v, a->steps.items[0].range.start.v);
    double to = fmin(time.end.v, a->steps.items[a->steps.count - 1].range.end.v);
    if (from < to) {
        work->occupancy += launch->occupancy * (to - from);
        work->occupied += to - from;
    }
}

typedef struct gpu_ids {
    int_set set;
    bool is_bool[HB_MAX_GPUS];
} gpu_ids;

static void take_kernel(hb_analysis *a, const hb_ev *ev, gpu_work *work, gpu_ids *ids)
{
    const hb_row *row = hb_trace_row(a->trace, ev->row);
    const hb_launch *launch = hb_trace_launch_of(a->trace, row);
    if (launch->device_state == HB_NUMBER_NONE) return;
    if (launch->gpu == HB_NO_GPU && a->trace->normalized)
        return; /* it costs no other GPU its numbers */
    check_device(a, ev->row, launch);
    int id = (int)hb_key_value(launch->device);
    gpu_work *w = &work[launch->gpu];
    if (set_add(&ids->set, id) && id >= 0) ids->is_bool[id] = launch->device_is_bool;
    hb_range time = hb_row_range(a, row);
    hb_ranges_merge_in(&a->arena, &w->busy, (hb_range){time.start, hb_float(time.end.v)});
    take_metrics(a, ev->row, row, launch, w);
}

static void finish(hb_analysis *a, hb_gpu *gpu, const gpu_work *w)
{
    hb_range window = {a->steps.items[0].range.start, a->steps.items[a->steps.count - 1].range.end};
    double length = window.end.v - window.start.v;
    if (length == 0) hb_reject_trace(a, "the steps have no length");
    gpu->utilization = hb_ranges_sum_in(&w->busy, window).v / length;
    double weight =
        hb_sm_weight(&a->arena, &w->launches, window.start.v, window.end.v, &gpu->has_sm);
    gpu->sm_efficiency = weight / length;
    gpu->has_occupancy = w->occupied > 0;
    gpu->occupancy = gpu->has_occupancy ? w->occupancy / w->occupied : 0;
}

void hb_analyze_gpus(hb_analysis *a)
{
    gpu_ids *ids = HB_NEW_ARRAY(&a->arena, gpu_ids, 1);
    ids->set.mask = 7;
    gpu_work *work = HB_NEW_ARRAY(&a->arena, gpu_work, HB_MAX_GPUS);
    for (uint32_t i = 0; i < a->num_events; i++)
        if (a->events[i].type == HB_TYPE_KERNEL) take_kernel(a, &a->events[i], work, ids);
    /* The plugin divides this window into buckets and looks at the first one. */
    if (ids->set.fill && !(a->window_end.v - a->window_start.v >= 1))
        hb_reject_trace(a, "the profiled window is shorter than 1 us");
    for (unsigned i = 0; i <= ids->set.mask; i++) {
        if (!ids->set.used[i]) continue;
        hb_gpu *gpu = &a->gpus[a->num_gpus++];
        gpu->id = ids->set.table[i];
        gpu->slot = gpu->id < 0 ? gpu->id + HB_MAX_GPUS : gpu->id;
        gpu->is_bool = gpu->id >= 0 && ids->is_bool[gpu->id];
        finish(a, gpu, &work[gpu->slot]);
    }
}

const char *hb_gpu_text(const hb_gpu *gpu, char text[16])
{
    if (gpu->is_bool) return gpu->id ? "True" : "False";
    snprintf(text, 16, "%d", gpu->id);
    return text;
}
