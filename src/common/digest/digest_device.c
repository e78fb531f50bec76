/* SPDX-License-Identifier: MIT
 *
 * The rules are those of steps.c, on nanoseconds and without the rows of a whole trace.
 */
#include "digest/digest_device.h"

#include <stdlib.h>

/* ---- what there is ---- */

static uint32_t note_launched(hb_cycle_device *d, hb_arena *arena, const hb_trace_event *e)
{
    bool added;
    hb_dict_entry *entry = hb_dict_add(arena, &d->launch_of, e->correlation, &added);
    if (added) {
        entry->value = d->launches.count;
        *HB_PUSH(arena, &d->launches) = (hb_device_launch){.start = INT64_MAX, .end = INT64_MIN};
    }
    hb_device_launch *launch = &d->launches.items[entry->value];
    launch->start = HB_MIN(launch->start, e->start_ns);
    launch->end = HB_MAX(launch->end, e->end_ns);
    launch->count++;
    return entry->value + 1;
}

static bool role_of(const hb_trace_event *e, hb_role *role)
{
    switch (e->kind) {
    case HB_EVENT_KERNEL: *role = HB_ROLE_KERNEL; return true;
    case HB_EVENT_MEMCPY: *role = HB_ROLE_MEMCPY; return true;
    case HB_EVENT_MEMSET: *role = HB_ROLE_MEMSET; return true;
    case HB_EVENT_RUNTIME:
    case HB_EVENT_SYNC: *role = HB_ROLE_RUNTIME; return true;
    default: return false;
    }
}

static bool way_of(const hb_trace_event *e, hb_copy_way *way)
{
    const char *kind = e->copy.kind ? e->copy.kind : "";
    *way = strcmp(kind, "HtoD") == 0   ? HB_COPY_HOST_TO_DEVICE
           : strcmp(kind, "DtoH") == 0 ? HB_COPY_DEVICE_TO_HOST
                                       : HB_COPY_DEVICE_TO_DEVICE;
    return strcmp(kind, "HtoH") != 0;
}

void hb_cycle_device_add(hb_cycle_device *d, hb_arena *arena, const hb_trace_info *info,
                         const hb_trace_event *e)
{
    hb_role role;
    if (!role_of(e, &role)) return;
    bool call = role == HB_ROLE_RUNTIME;
    if (call && e->correlation)
        *HB_PUSH(arena, &d->calls) = (hb_device_call){e->start_ns, e->end_ns, e->correlation};
    uint32_t launch = call ? 0 : note_launched(d, arena, e);
    *HB_PUSH(arena, &d->spans) =
        (hb_device_span){e->start_ns, e->end_ns, e->external_id, e->device, role, launch};
    hb_copy_way way;
    if (role == HB_ROLE_KERNEL)
        *HB_PUSH(arena, &d->kernels) = (hb_kernel_span){
            e->start_ns, e->end_ns, hb_blocks_per_sm(info, e), e->kernel.occupancy, e->device};
    if (role == HB_ROLE_MEMCPY && way_of(e, &way))
        *HB_PUSH(arena, &d->copies) = (hb_device_copy){e->start_ns, e->copy.bytes, way};
}

/* All begin with their start. */
static int by_start(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x != y ? (x < y ? -1 : 1) : 0;
}

void hb_cycle_device_sort(hb_cycle_device *d)
{
    if (d->spans.count) qsort(d->spans.items, d->spans.count, sizeof *d->spans.items, by_start);
    if (d->calls.count) qsort(d->calls.items, d->calls.count, sizeof *d->calls.items, by_start);
    if (d->kernels.count)
        qsort(d->kernels.items, d->kernels.count, sizeof *d->kernels.items, by_start);
}

/* ---- steps ---- */

/* What was launched by the calls that lie wholly in a step. Calls before `*next` are dealt with. */
static hb_device_launch launched_in(hb_cycle_device *d, const hb_step_times *step, uint32_t *next)
{
    hb_device_launch all = {.start = INT64_MAX, .end = INT64_MIN};
    for (; *next < d->calls.count && d->calls.items[*next].start < step->end_ns; ++*next) {
        const hb_device_call *call = &d->calls.items[*next];
        if (call->start < step->start_ns || call->end > step->end_ns) continue;
        const hb_dict_entry *entry = hb_dict_get(&d->launch_of, call->correlation);
        if (!entry) continue;
        hb_device_launch *launch = &d->launches.items[entry->value];
        launch->in_step = true;
        all.start = HB_MIN(all.start, launch->start);
        all.end = HB_MAX(all.end, launch->end);
        all.count += launch->count;
    }
    return all;
}

/* Where the time before the first step ends: with work of no step that is over before the step's
 * own begins. */
static int64_t end_of_earlier_work(const hb_cycle_device *d, int64_t start, int64_t own_start)
{
    for (uint32_t i = 0; i < d->spans.count && d->spans.items[i].start < own_start; i++) {
        const hb_device_span *span = &d->spans.items[i];
        if (!span->launch || d->launches.items[span->launch - 1].in_step) continue;
        if (span->end < own_start) start = HB_MAX(start, span->end);
    }
    return start;
}

/* The profiler may have missed work of the last steps, the plugin thinks. */
static uint32_t shown_steps(const hb_cycle_numbers *n)
{
    const hb_step_times *steps = n->steps.items;
    uint32_t keep = n->steps.count;
    while (keep > 0 && steps[keep - 1].launched == 0)
        keep--;
    if (keep == 0 || n->steps.count < 2) return n->steps.count;
    if (keep > 1 && (double)steps[keep - 2].launched * 0.8 > (double)steps[keep - 1].launched)
        keep--;
    return keep;
}

static void match_launches(hb_cycle_device *d, const hb_cycle_numbers *n, hb_device_launch *to)
{
    uint32_t next = 0;
    for (uint32_t i = 0; i < d->launches.count; i++)
        d->launches.items[i].in_step = false;
    for (uint32_t i = 0; i < n->steps.count; i++)
        to[i] = launched_in(d, &n->steps.items[i], &next);
}

/* From where work of steps before leaves it to its own work's end. False: nothing is left. */
static bool extend(hb_step_times *step, const hb_device_launch *launched, int64_t *previous_end)
{
    step->launched = launched->count;
    step->start_ns = HB_MAX(step->start_ns, *previous_end);
    if (launched->count) step->end_ns = HB_MAX(step->end_ns, launched->end);
    if (step->end_ns <= step->start_ns) return false;
    *previous_end = step->end_ns;
    return true;
}

/* The trace's writer hides these from the plugin, which would divide by their length. */
static void leave_out_covered(hb_cycle_numbers *n, const hb_device_launch *launched)
{
    uint32_t kept = 0;
    int64_t end = n->steps.count ? n->steps.items[0].start_ns : 0;
    for (uint32_t i = 0; i < n->steps.count; i++) {
        hb_step_times step = n->steps.items[i];
        if (extend(&step, &launched[i], &end)) n->steps.items[kept++] = n->steps.items[i];
    }
    n->steps.count = kept;
}

void hb_cycle_device_extend(hb_cycle_device *d, hb_cycle_numbers *n)
{
    hb_step_times *steps = n->steps.items;
    hb_device_launch *launched =
        HB_NEW_ARRAY(&n->arena, hb_device_launch, (size_t)n->steps.count + 1);
    match_launches(d, n, launched);
    leave_out_covered(n, launched);
    match_launches(d, n, launched); /* what steps that are left out launched is no step's */
    int64_t end = n->steps.count ? steps[0].start_ns : 0;
    if (launched[0].count) end = end_of_earlier_work(d, end, launched[0].start);
    for (uint32_t i = 0; i < n->steps.count; i++)
        if (!extend(&steps[i], &launched[i], &end)) steps[i].end_ns = steps[i].start_ns;
    n->shown_steps = shown_steps(n);
}

/* ---- what is in them ---- */

void hb_cycle_device_count(const hb_cycle_device *d, hb_cycle_numbers *n)
{
    for (uint32_t i = 0; i < d->spans.count; i++) {
        hb_step_times *step = hb_cycle_step_at(n, d->spans.items[i].start);
        if (step) step->events++;
    }
    for (uint32_t i = 0; i < d->copies.count; i++) {
        const hb_device_copy *copy = &d->copies.items[i];
        hb_step_times *step = hb_cycle_step_at(n, copy->start);
        n->copied_bytes[copy->way] += copy->bytes;
        if (step) step->copied_bytes[copy->way] += copy->bytes;
    }
}
