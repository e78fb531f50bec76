/* SPDX-License-Identifier: MIT
 *
 * The sweep. Host events come in the order of their start, device work is sorted first; so at any
 * moment a role is active exactly if the latest end seen of it lies ahead, and one number a role is
 * all that has to be remembered of millions of events.
 */
#include "analyze/cycle_numbers.h"

#include <stdlib.h>

#include "analyze/dict.h"
#include "analyze/name_bits.h"

/* Work of a device, or a call of its runtime. */
typedef struct span {
    int64_t start, end;
    int32_t device;
    uint32_t role;
} span;

/* A thread's open operators, for self times. */
typedef struct open_op {
    int64_t end;
    uint32_t cost; /* in operators */
} open_op;

typedef struct lane {
    HB_VEC(open_op) open;
} lane;

typedef struct sweep {
    hb_cycle_numbers *out;
    hb_arena *arena;
    HB_VEC(span) spans;
    uint32_t next_span;
    int64_t now, until[HB_TIME_ROLES]; /* the latest end of each role so far */
    int64_t busy_until[HB_CYCLE_DEVICES];
    hb_dict operator_of, kernel_of, lane_of, bits_of; /* by name or thread */
    HB_VEC(lane) lanes;
} sweep;

/* ---- time ---- */

static hb_time_role active(const sweep *s)
{
    int role = 0;
    while (role < HB_TIME_OTHER && s->until[role] <= s->now)
        role++;
    return (hb_time_role)role;
}

/* Gives the time up to `to` away. The steps begin where events do, so only their ends cut it. */
static void advance(sweep *s, int64_t to)
{
    while (s->now < to) {
        hb_time_role role = active(s);
        int64_t end = role == HB_TIME_OTHER ? to : HB_MIN(to, s->until[role]);
        hb_step_times *step =
            s->out->steps.count ? &s->out->steps.items[s->out->steps.count - 1] : NULL;
        if (step && s->now < step->end_ns) {
            end = HB_MIN(end, step->end_ns);
            step->role_ns[role] += end - s->now;
        }
        s->now = end;
    }
}

static void occupy(sweep *s, hb_time_role role, int64_t start, int64_t end)
{
    advance(s, start);
    s->until[role] = HB_MAX(s->until[role], end);
}

static int by_start(const void *a, const void *b)
{
    const span *x = a, *y = b;
    return x->start != y->start ? (x->start < y->start ? -1 : 1) : 0;
}

static void device_spans_until(sweep *s, int64_t to)
{
    for (; s->next_span < s->spans.count && s->spans.items[s->next_span].start <= to;
         s->next_span++) {
        const span *p = &s->spans.items[s->next_span];
        occupy(s, (hb_time_role)p->role, p->start, p->end);
    }
}

/* ---- names ---- */

static unsigned name_bits(sweep *s, const hb_trace_event *e)
{
    bool added;
    hb_dict_entry *entry = hb_dict_add(s->arena, &s->bits_of, e->name_key, &added);
    if (added || e->name_key == 0) entry->value = hb_name_bits_of(e->name);
    return entry->value;
}

static uint32_t cost_of(sweep *s, hb_dict *index, hb_name_costs *costs, const hb_trace_event *e)
{
    bool added;
    hb_dict_entry *entry = hb_dict_add(s->arena, index, e->name_key, &added);
    if (added) {
        entry->value = costs->count;
        *HB_PUSH(s->arena, costs) = (hb_name_cost){.name = e->name};
    }
    return entry->value;
}

static lane *lane_of(sweep *s, int64_t tid)
{
    bool added;
    hb_dict_entry *entry = hb_dict_add(s->arena, &s->lane_of, (uint64_t)tid, &added);
    if (added) {
        entry->value = s->lanes.count;
        *HB_PUSH(s->arena, &s->lanes) = (lane){0};
    }
    return &s->lanes.items[entry->value];
}

/* Self time: a child's duration is taken from its parent's. */
static void add_operator(sweep *s, const hb_trace_event *e)
{
    hb_name_costs *costs = &s->out->operators;
    uint32_t cost = cost_of(s, &s->operator_of, costs, e);
    lane *l = lane_of(s, e->tid);
    while (l->open.count && l->open.items[l->open.count - 1].end <= e->start_ns)
        l->open.count--;
    int64_t duration = e->end_ns - e->start_ns;
    if (l->open.count) costs->items[l->open.items[l->open.count - 1].cost].self_ns -= duration;
    costs->items[cost].self_ns += duration;
    costs->items[cost].calls++;
    *HB_PUSH(s->arena, &l->open) = (open_op){e->end_ns, cost};
}

static int dearest(const void *a, const void *b)
{
    const hb_name_cost *x = a, *y = b;
    return x->self_ns != y->self_ns ? (x->self_ns > y->self_ns ? -1 : 1) : 0;
}

static void sort_costs(hb_name_costs *costs)
{
    if (costs->count) qsort(costs->items, costs->count, sizeof *costs->items, dearest);
}

/* ---- host ---- */

static hb_device_numbers *device_of(hb_cycle_numbers *out, int32_t device)
{
    if (device < 0 || device >= HB_CYCLE_DEVICES) return NULL;
    out->num_devices = HB_MAX(out->num_devices, device + 1);
    return &out->devices[device];
}

static void add_memory(hb_cycle_numbers *out, const hb_trace_event *e)
{
    bool cpu = e->memory.device_type == HB_DEVICE_CPU;
    hb_device_numbers *d = cpu ? &out->host : device_of(out, e->memory.device_id);
    if (!d || (e->flags & HB_TEV_OUT_OF_MEMORY)) return;
    d->peak_bytes = d->has_memory ? HB_MAX(d->peak_bytes, e->memory.total_allocated)
                                  : e->memory.total_allocated;
    d->current_bytes = e->memory.total_allocated;
    d->has_memory = true;
}

static void begin_step(sweep *s, const hb_trace_event *e)
{
    char number[32] = "";
    size_t prefix = strlen("ProfilerStep#");
    memcpy(number, e->name.s + prefix, HB_MIN(e->name.len - prefix, sizeof number - 1));
    advance(s, e->start_ns);
    *HB_PUSH(s->arena, &s->out->steps) = (hb_step_times){
        .step = strtoll(number, NULL, 10), .start_ns = e->start_ns, .end_ns = e->end_ns};
}

static void add_scope(sweep *s, const hb_trace_event *e)
{
    unsigned bits = name_bits(s, e);
    if (bits & HB_NAME_STEP) {
        begin_step(s, e);
        return;
    }
    hb_time_role role = bits & HB_NAME_COLLECTIVE ? HB_TIME_COMMUNICATION
                        : bits & HB_NAME_LOADER   ? HB_TIME_DATA_LOADER
                                                  : HB_TIME_CPU;
    occupy(s, role, e->start_ns, e->end_ns);
    add_operator(s, e);
    uint32_t steps = s->out->steps.count;
    if (e->kind == HB_EVENT_OP && steps) s->out->steps.items[steps - 1].flops += e->op.flops;
}

static hb_result sweep_host(sweep *s, hb_source *source)
{
    hb_trace_event e;
    HB_TRY(source->begin(source, HB_PASS_TIMELINE));
    while (source->next(source, &e)) {
        s->out->events++;
        device_spans_until(s, e.start_ns);
        if (e.kind == HB_EVENT_MEMORY)
            add_memory(s->out, &e);
        else
            add_scope(s, &e);
    }
    device_spans_until(s, INT64_MAX);
    advance(s, s->out->steps.count ? s->out->steps.items[s->out->steps.count - 1].end_ns : 0);
    return HB_OK;
}

/* ---- device ---- */

static void add_copy(hb_cycle_numbers *out, const hb_trace_event *e)
{
    const char *kind = e->copy.kind ? e->copy.kind : "";
    int way = strcmp(kind, "HtoD") == 0 ? 0 : strcmp(kind, "DtoH") == 0 ? 1 : 2;
    if (strcmp(kind, "HtoH") != 0) out->copied_bytes[way] += e->copy.bytes;
}

static void add_kernel(sweep *s, const hb_trace_event *e)
{
    int64_t duration = e->end_ns - e->start_ns;
    uint32_t cost = cost_of(s, &s->kernel_of, &s->out->kernels, e);
    s->out->kernels.items[cost].calls++;
    s->out->kernels.items[cost].self_ns += duration;
    *HB_PUSH(s->arena, &s->out->kernel_us) = (double)duration / 1e3;
    hb_device_numbers *d = device_of(s->out, e->device);
    if (!d || e->kernel.occupancy < 0) return;
    d->occupancy_ns += e->kernel.occupancy * (double)duration;
    d->kernel_ns += (double)duration;
}

static bool role_of(const hb_trace_event *e, hb_time_role *role)
{
    switch (e->kind) {
    case HB_EVENT_KERNEL: *role = HB_TIME_KERNEL; return true;
    case HB_EVENT_MEMCPY: *role = HB_TIME_MEMCPY; return true;
    case HB_EVENT_MEMSET: *role = HB_TIME_MEMSET; return true;
    case HB_EVENT_RUNTIME:
    case HB_EVENT_SYNC: *role = HB_TIME_RUNTIME; return true;
    default: return false;
    }
}

static hb_result collect_device(sweep *s, hb_source *source)
{
    hb_trace_event e;
    hb_time_role role;
    HB_TRY(source->begin(source, HB_PASS_DEVICE));
    while (source->next(source, &e)) {
        s->out->events++;
        if (!role_of(&e, &role)) continue;
        *HB_PUSH(s->arena, &s->spans) = (span){e.start_ns, e.end_ns, e.device, role};
        if (e.kind == HB_EVENT_KERNEL) add_kernel(s, &e);
        if (e.kind == HB_EVENT_MEMCPY) add_copy(s->out, &e);
    }
    if (s->spans.count) qsort(s->spans.items, s->spans.count, sizeof *s->spans.items, by_start);
    return HB_OK;
}

/* How long kernels ran between the first step's start and the last one's end. */
static void add_up_busy(sweep *s)
{
    hb_cycle_numbers *out = s->out;
    if (out->steps.count == 0) return;
    int64_t from = out->steps.items[0].start_ns;
    int64_t to = out->steps.items[out->steps.count - 1].end_ns;
    for (uint32_t i = 0; i < s->spans.count; i++) {
        const span *p = &s->spans.items[i];
        hb_device_numbers *d = p->role == HB_TIME_KERNEL ? device_of(out, p->device) : NULL;
        if (!d) continue;
        int64_t start = HB_MAX(HB_MAX(p->start, s->busy_until[p->device]), from);
        int64_t end = HB_MIN(p->end, to);
        if (end > start) d->busy_ns += end - start;
        s->busy_until[p->device] = HB_MAX(s->busy_until[p->device], p->end);
    }
}

/* ---- */

hb_result hb_cycle_numbers_make(hb_source *source, hb_cycle_numbers *numbers)
{
    *numbers = (hb_cycle_numbers){0};
    sweep s = {.out = numbers, .arena = &numbers->arena};
    if (!hb_arena_try(&numbers->arena))
        return hb_fail(HB_ERROR_NO_MEMORY, "no memory for a cycle's numbers");
    hb_result result = collect_device(&s, source);
    if (result == HB_OK) result = sweep_host(&s, source);
    add_up_busy(&s);
    sort_costs(&numbers->operators);
    sort_costs(&numbers->kernels);
    return result;
}

void hb_cycle_numbers_free(hb_cycle_numbers *numbers)
{
    hb_arena_free(&numbers->arena);
}
