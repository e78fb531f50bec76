/* SPDX-License-Identifier: MIT
 *
 * The rules are those of gpu.c. All that they count adds up over time, so that one sweep over
 * windows - the steps, and what lies between them - gives the steps' numbers and the cycle's.
 */
#include <math.h>

#include "digest/digest_device.h"

typedef struct gpu_sums {
    double busy;
    double sm; /* time, by how many compute units had a block */
    bool has_sm;
    double occupancy, occupied; /* weighted sum, weights */
} gpu_sums;

typedef struct gpu_work {
    gpu_sums window, cycle;
    int64_t busy_until;
    hb_sm_launches launches; /* of the window */
} gpu_work;

typedef struct gpu_sweep {
    const hb_cycle_device *device;
    hb_cycle_numbers *numbers;
    uint32_t next;    /* kernels before it have begun */
    hb_u32s running;  /* those of them that are not over, by start */
    gpu_work *work;   /* by HIP ordinal */
    int64_t from, to; /* the window */
} gpu_sweep;

/* Times count from the window's start: as doubles they would not be exact otherwise. */
static void add_kernel(gpu_sweep *s, const hb_kernel_span *kernel)
{
    if (!hb_cycle_has_gpu(kernel->device)) return;
    gpu_work *w = &s->work[kernel->device];
    int64_t start = HB_MAX(kernel->start, s->from), end = HB_MIN(kernel->end, s->to);
    int64_t busy_from = HB_MAX(start, w->busy_until);
    if (end > busy_from) w->window.busy += (double)(end - busy_from);
    w->busy_until = HB_MAX(w->busy_until, end);
    if (kernel->blocks > 0)
        *HB_PUSH(&s->numbers->arena, &w->launches) = (hb_sm_launch){
            (double)(kernel->start - s->from), (double)(kernel->end - s->from), kernel->blocks};
    if (kernel->occupancy < 0 || end <= start) return;
    w->window.occupancy += kernel->occupancy * (double)(end - start);
    w->window.occupied += (double)(end - start);
}

static void add_running(gpu_sweep *s)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < s->running.count; i++) {
        uint32_t index = s->running.items[i];
        add_kernel(s, &s->device->kernels.items[index]);
        if (s->device->kernels.items[index].end > s->to) s->running.items[kept++] = index;
    }
    s->running.count = kept;
}

static void add_begun(gpu_sweep *s)
{
    for (; s->next < s->device->kernels.count; s->next++) {
        const hb_kernel_span *kernel = &s->device->kernels.items[s->next];
        if (kernel->start >= s->to) return;
        add_kernel(s, kernel);
        if (kernel->end > s->to) *HB_PUSH(&s->numbers->arena, &s->running) = s->next;
    }
}

static void sweep_window(gpu_sweep *s, int64_t from, int64_t to)
{
    s->from = from;
    s->to = to;
    for (int i = 0; i < s->numbers->num_devices; i++) {
        s->work[i].window = (gpu_sums){0};
        s->work[i].launches.count = 0;
    }
    add_running(s);
    add_begun(s);
    for (int i = 0; i < s->numbers->num_devices; i++) {
        gpu_sums *sums = &s->work[i].window;
        sums->sm = hb_sm_weight(&s->numbers->arena, &s->work[i].launches, 0, (double)(to - from),
                                &sums->has_sm);
    }
}

static void add_to_cycle(gpu_sweep *s)
{
    for (int i = 0; i < s->numbers->num_devices; i++) {
        const gpu_sums *from = &s->work[i].window;
        gpu_sums *to = &s->work[i].cycle;
        to->busy += from->busy;
        to->sm += from->sm;
        to->has_sm |= from->has_sm;
        to->occupancy += from->occupancy;
        to->occupied += from->occupied;
    }
}

static void set_percent(hb_device_numbers *to, const gpu_sums *sums, int64_t time)
{
    if (!to->has_kernels || time <= 0) return;
    to->percent[HB_GPU_UTILIZATION] = 100 * sums->busy / (double)time;
    if (sums->has_sm) to->percent[HB_GPU_SM_EFFICIENCY] = 100 * sums->sm / (double)time;
    if (sums->occupied > 0) to->percent[HB_GPU_OCCUPANCY] = sums->occupancy / sums->occupied;
}

static void sweep_step(gpu_sweep *s, uint32_t step)
{
    hb_cycle_numbers *n = s->numbers;
    const hb_step_times *time = &n->steps.items[step];
    bool shown = step < n->shown_steps;
    if (shown && step > 0 && time->start_ns > time[-1].end_ns) {
        sweep_window(s, time[-1].end_ns, time->start_ns);
        add_to_cycle(s);
    }
    sweep_window(s, time->start_ns, time->end_ns);
    if (shown) add_to_cycle(s);
    for (int i = 0; i < n->num_devices; i++) {
        hb_device_numbers *to = hb_cycle_step_device(n, step, i);
        to->has_kernels = n->devices[i].has_kernels;
        set_percent(to, &s->work[i].window, time->end_ns - time->start_ns);
    }
}

void hb_cycle_device_gpus(const hb_cycle_device *d, hb_cycle_numbers *n)
{
    if (d->kernels.count == 0 || n->shown_steps == 0) return;
    gpu_sweep s = {.device = d,
                   .numbers = n,
                   .work = HB_NEW_ARRAY(&n->arena, gpu_work, (size_t)n->num_devices)};
    for (int i = 0; i < n->num_devices; i++)
        s.work[i].busy_until = INT64_MIN;
    for (uint32_t step = 0; step < n->steps.count; step++)
        sweep_step(&s, step);
    const hb_step_times *first = n->steps.items, *last = &first[n->shown_steps - 1];
    for (int i = 0; i < n->num_devices; i++)
        set_percent(&n->devices[i], &s.work[i].cycle, last->end_ns - first->start_ns);
}
