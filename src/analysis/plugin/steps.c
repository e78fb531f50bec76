/* SPDX-License-Identifier: MIT
 *
 * Profiler steps, and when which role was at work.
 */
#include <ctype.h>

#include "plugin/analysis.h"

#define FOREVER 9223372036854775808.0

typedef struct span {
    hb_num min, max;
} span;

static const span nothing = {{FOREVER, false}, {-FOREVER, false}};

static void widen(span *s, hb_range r)
{
    if (r.start.v < s->min.v) s->min = r.start;
    if (r.end.v > s->max.v) s->max = r.end;
}

/* "ProfilerStep#  +007#x" is step 7: Python's int() of what stands between the first two '#'. */
static hb_string_id step_name(hb_analysis *a, uint32_t row, hb_str name)
{
    const char *p = name.s + HB_STEP_PREFIX_SIZE, *end = name.s + name.len;
    const char *stop = memchr(p, '#', (size_t)(end - p));
    char digits[64];
    size_t n = 0;
    if (stop) end = stop;
    while (p < end && isspace((unsigned char)*p))
        p++;
    while (end > p && isspace((unsigned char)end[-1]))
        end--;
    if (p < end && *p == '-') digits[n++] = *p;
    if (p < end && (*p == '-' || *p == '+')) p++;
    if (p == end || *p == '_' || end[-1] == '_')
        hb_reject_trace(a, "event %u: a step without number", row);
    for (; p < end; p++) {
        if (*p == '_' && p[1] != '_') continue;
        if (!isdigit((unsigned char)*p) || n == sizeof digits)
            hb_reject_trace(a, "event %u: a step without number", row);
        if (n == 1 && digits[0] == '0') n = 0;
        if (n == 2 && digits[0] == '-' && digits[1] == '0') n = 1;
        digits[n++] = *p;
    }
    if (n == 2 && digits[0] == '-' && digits[1] == '0') return hb_intern(a, "0", 1);
    return hb_intern(a, digits, n);
}

static void add_step(hb_analysis *a, uint32_t row_index, const hb_row *row)
{
    hb_step *step = HB_PUSH(&a->arena, &a->steps);
    *step = (hb_step){.range = hb_row_range(a, row)};
    hb_string_id name = step_name(a, row_index, hb_trace_text(a->trace, row->name));
    step->name = name;
}

/* The role an event's time counts for; HB_ROLE_TOTAL: none. */
static hb_role role_of(hb_analysis *a, hb_type type, const hb_row *row)
{
    switch (type) {
    case HB_TYPE_KERNEL:
        return hb_dict_get(&a->comm_ids, hb_row_key(a->trace, row)) ? HB_ROLE_COMMUNICATION
                                                                    : HB_ROLE_KERNEL;
    case HB_TYPE_MEMCPY: return HB_ROLE_MEMCPY;
    case HB_TYPE_MEMSET: return HB_ROLE_MEMSET;
    case HB_TYPE_RUNTIME: return HB_ROLE_RUNTIME;
    case HB_TYPE_OPERATOR:
    case HB_TYPE_ANNOTATION:
        if (hb_name_class(a, row->name) & HB_NAME_LOADER) return HB_ROLE_LOADER;
        __attribute__((fallthrough));
    case HB_TYPE_PYTHON:
        return hb_name_class(a, row->name) & HB_NAME_COLLECTIVE ? HB_ROLE_COMMUNICATION
                                                                : HB_ROLE_CPU;
    default: return HB_ROLE_TOTAL;
    }
}

static void take_event(hb_analysis *a, const hb_ev *ev, span *cpu, span *all, span *window)
{
    const hb_row *row = hb_trace_row(a->trace, ev->row);
    hb_range r = hb_row_range(a, row);
    hb_type type = (hb_type)ev->type;
    hb_role role = role_of(a, type, row);
    if (role != HB_ROLE_TOTAL) hb_ranges_merge_in(&a->arena, &a->roles[role], r);
    if (type == HB_TYPE_STEP) add_step(a, ev->row, row);
    if (type == HB_TYPE_PYTHON || type == HB_TYPE_OPERATOR || type == HB_TYPE_STEP) widen(cpu, r);
    widen(all, r);
    if (type == HB_TYPE_SPAN && row->flags & HB_ROW_NAME &&
        hb_str_is(hb_trace_text(a->trace, row->name), "PyTorch Profiler (0)"))
        *window = (span){r.start, r.end};
}

/* ---- steps reach as far as the device work that they launched ---- */

typedef struct device_step {
    span device;
    uint32_t count;
} device_step;

static bool call_before(const void *context, const void *x, const void *y)
{
    const hb_analysis *a = context;
    return a->runtimes.items[*(const uint32_t *)x].start <
           a->runtimes.items[*(const uint32_t *)y].start;
}

static void match_devices(hb_analysis *a, const hb_runtime *rt, device_step *step)
{
    for (uint32_t i = rt->first_device; i; i = a->devices.items[i - 1].next) {
        hb_device_node *d = &a->devices.items[i - 1];
        hb_range r = hb_row_range(a, hb_trace_row(a->trace, d->row));
        /* Of equal times the later one stays: 5 and 5.0 are written differently. */
        if (r.start.v <= step->device.min.v) step->device.min = r.start;
        if (r.end.v >= step->device.max.v) step->device.max = r.end;
        d->matched = true;
        step->count++;
    }
}

/* Calls wholly inside a step belong to it. True when one of them has device work. */
static bool match_calls(hb_analysis *a, device_step *steps)
{
    hb_u32s calls = {0};
    bool any = false;
    for (uint32_t i = 0; i < a->runtimes.count; i++)
        if (!a->runtimes.items[i].dummy) *HB_PUSH(&a->arena, &calls) = i;
    hb_sort(&a->arena, calls.items, calls.count, sizeof *calls.items, call_before, a);
    for (uint32_t s = 0, c = 0; s < a->steps.count && c < calls.count;) {
        const hb_runtime *rt = &a->runtimes.items[calls.items[c]];
        hb_range host = a->steps.items[s].range;
        bool inside = rt->start >= host.start.v && rt->end <= host.end.v;
        if (inside) {
            match_devices(a, rt, &steps[s]);
            any |= rt->first_device != 0;
        }
        if (inside || rt->start < host.start.v || rt->start < host.end.v)
            c++;
        else
            s++;
    }
    return any;
}

/* Where the time before step 0 ends: device work of no step that ends before step 0's begins. */
static hb_num start_of_steps(hb_analysis *a, const device_step *first)
{
    hb_num start = a->steps.items[0].range.start;
    for (uint32_t i = 0; first->count && i < a->devices.count; i++) {
        const hb_device_node *d = &a->devices.items[i];
        if (d->matched || !(d->end < first->device.min.v) || !(d->end > start.v)) continue;
        start = hb_row_range(a, hb_trace_row(a->trace, d->row)).end;
    }
    return start;
}

static hb_num later(hb_num a, hb_num b)
{
    return b.v > a.v ? b : a;
}

static void extend_steps(hb_analysis *a, const device_step *devices)
{
    hb_num previous = start_of_steps(a, &devices[0]);
    for (uint32_t i = 0; i < a->steps.count; i++) {
        hb_range *r = &a->steps.items[i].range;
        hb_num start = later(previous, r->start);
        hb_num end = devices[i].count ? later(r->end, devices[i].device.max) : r->end;
        r->start = start;
        r->end = end.v < start.v ? start : end;
        previous = r->end;
    }
}

/* The profiler may have missed work of the last steps. */
static void drop_tail(hb_analysis *a, const device_step *devices)
{
    uint32_t keep = a->steps.count;
    if (keep < 2) return;
    while (keep > 0 && devices[keep - 1].count == 0)
        keep--;
    if (keep == 0) return;
    if (keep > 1 && devices[keep - 2].count * 0.8 > devices[keep - 1].count) keep--;
    a->steps.count = keep;
}

/* What stands for steps that are not there: the plugin takes the operators' time. */
static span only_step(hb_analysis *a, const span *cpu, const span *all)
{
    if (!a->trace->normalized || cpu->min.v != FOREVER) return *cpu;
    if (all->min.v == FOREVER)
        hb_reject_trace(a, "none of the events is of a kind that PyTorch's profiler writes");
    return *all;
}

void hb_analyze_steps(hb_analysis *a)
{
    span cpu = nothing, all = nothing, window = nothing;
    for (uint32_t i = 0; i < a->num_events; i++)
        if (a->events[i].type != HB_TYPE_MEMORY) take_event(a, &a->events[i], &cpu, &all, &window);
    for (int role = 0; role < HB_ROLE_OTHER; role++)
        a->has_role[role] = a->roles[role].count > 0;
    a->window_start = window.min.v == FOREVER ? all.min : window.min;
    a->window_end = window.max.v == -FOREVER ? all.max : window.max;
    if (!a->steps.count) {
        span whole = only_step(a, &cpu, &all);
        *HB_PUSH(&a->arena, &a->steps) =
            (hb_step){.range = {whole.min, whole.max}, .name = hb_intern(a, "0", 1)};
    }
    if (a->has_nccl && a->has_gloo) a->comms.count = 0; /* whose steps would they be? */
    device_step *devices = HB_NEW_ARRAY(&a->arena, device_step, a->steps.count);
    for (uint32_t i = 0; i < a->steps.count; i++)
        devices[i].device = nothing;
    if (match_calls(a, devices)) {
        extend_steps(a, devices);
        drop_tail(a, devices);
    }
}
