/* SPDX-License-Identifier: MIT
 *
 * The sweep. Host events come in the order of their start, device work is sorted first; so at any
 * moment a role is active exactly if the latest end seen of it lies ahead, and one number a role is
 * all that has to be remembered of millions of events.
 */
#include "digest/digest.h"

#include <math.h>
#include <stdlib.h>

#include "base/times.h"
#include "digest/digest_device.h"
#include "rules/name_class.h"
#include "trace/trace.h"

/* A thread's open operators, for self times. */
typedef struct open_op {
    int64_t end;
    uint32_t cost; /* in operators */
} open_op;

typedef struct lane {
    HB_VEC(open_op) open;
} lane;

enum { RECENT = 64 };

typedef struct sweep {
    hb_cycle_numbers *out;
    hb_arena *arena;
    hb_cycle_device device;
    hb_own_scopes own_scopes;
    uint32_t next_span;
    uint32_t step;                     /* the first one that is not over */
    uint32_t host_step;                /* the last one that has begun on the host, + 1 */
    int64_t now, until[HB_ROLE_PARTS]; /* the latest end of each role so far */
    hb_cycle_marks *marks;
    hb_dict operator_of, kernel_of, lane_of; /* by name or thread */
    struct {
        uint32_t key, cost;
        bool known;
    } recent[RECENT];    /* of operators, by name */
    int64_t lane_tid;    /* of the last scope */
    lane *lane;          /* NULL: there was none */
    hb_dict collectives; /* by external id */
    HB_VEC(lane) lanes;
} sweep;

/* ---- time ---- */

static hb_role active(const sweep *s)
{
    int role = 0;
    while (role < HB_ROLE_OTHER && s->until[role] <= s->now)
        role++;
    return (hb_role)role;
}

/* The step that the present moment lies in, or the next one; NULL: there is none yet. */
static hb_step_times *present_step(sweep *s)
{
    hb_step_times *steps = s->out->steps.items;
    while (s->step < s->out->steps.count && steps[s->step].end_ns <= s->now)
        s->step++;
    return s->step < s->out->steps.count ? &steps[s->step] : NULL;
}

/* Gives the time up to `to` away. */
static void advance(sweep *s, int64_t to)
{
    while (s->now < to) {
        hb_role role = active(s);
        hb_step_times *step = present_step(s);
        int64_t end = role == HB_ROLE_OTHER ? to : HB_MIN(to, s->until[role]);
        if (step && step->start_ns > s->now) {
            end = HB_MIN(end, step->start_ns);
        } else if (step) {
            end = HB_MIN(end, step->end_ns);
            step->role_ns[role] += end - s->now;
        }
        s->now = end;
    }
}

static void occupy(sweep *s, hb_role role, int64_t start, int64_t end)
{
    advance(s, start);
    s->until[role] = HB_MAX(s->until[role], end);
}

/* Kernels that a collective launched are communication. */
static void device_spans_until(sweep *s, int64_t to)
{
    for (; s->next_span < s->device.spans.count; s->next_span++) {
        const hb_device_span *span = &s->device.spans.items[s->next_span];
        if (span->start > to) return;
        bool shared = span->role == HB_ROLE_KERNEL && span->external_id &&
                      hb_dict_get(&s->collectives, span->external_id);
        occupy(s, shared ? HB_ROLE_COMMUNICATION : (hb_role)span->role, span->start, span->end);
    }
}

/* ---- names ---- */

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

static uint32_t operator_of(sweep *s, const hb_trace_event *e)
{
    uint32_t at = e->name_key % RECENT;
    if (HB_LIKELY(s->recent[at].known && s->recent[at].key == e->name_key))
        return s->recent[at].cost;
    uint32_t cost = cost_of(s, &s->operator_of, &s->out->operators, e);
    s->recent[at].key = e->name_key;
    s->recent[at].cost = cost;
    s->recent[at].known = true;
    return cost;
}

static lane *lane_of(sweep *s, int64_t tid)
{
    if (s->lane && s->lane_tid == tid) return s->lane;
    bool added;
    hb_dict_entry *entry = hb_dict_add(s->arena, &s->lane_of, (uint64_t)tid, &added);
    if (added) {
        entry->value = s->lanes.count;
        *HB_PUSH(s->arena, &s->lanes) = (lane){0};
    }
    s->lane_tid = tid;
    return s->lane = &s->lanes.items[entry->value];
}

/* Self time: a child's duration is taken from its parent's. */
static void add_operator(sweep *s, const hb_trace_event *e)
{
    hb_name_costs *costs = &s->out->operators;
    uint32_t cost = operator_of(s, e);
    lane *l = lane_of(s, e->tid);
    while (l->open.count && l->open.items[l->open.count - 1].end <= e->start_ns)
        l->open.count--;
    int64_t duration = e->end_ns - e->start_ns;
    if (l->open.count)
        hb_add_ns(&costs->items[l->open.items[l->open.count - 1].cost].self_ns, -duration);
    hb_add_ns(&costs->items[cost].self_ns, duration);
    costs->items[cost].calls++;
    *HB_PUSH(s->arena, &l->open) = (open_op){e->end_ns, cost};
}

static int by_cost(const void *a, const void *b)
{
    const hb_name_cost *x = a, *y = b;
    return x->self_ns != y->self_ns ? (x->self_ns > y->self_ns ? -1 : 1) : 0;
}

static void sort_costs(hb_name_costs *costs)
{
    if (costs->count) qsort(costs->items, costs->count, sizeof *costs->items, by_cost);
}

/* ---- host ---- */

/* What the first event tells of the memory before it holds for all steps before it. */
static void begin_memory(sweep *s, int32_t device, int64_t before)
{
    hb_device_numbers *whole = hb_cycle_numbers_device(s->out, device);
    whole->has_memory = true;
    whole->peak_bytes = whole->current_bytes = before;
    for (uint32_t step = 0; step < s->host_step; step++) {
        hb_device_numbers *d = hb_cycle_step_device(s->out, step, device);
        d->has_memory = true;
        d->peak_bytes = d->current_bytes = before;
    }
}

static void set_memory(hb_device_numbers *d, int64_t bytes)
{
    d->peak_bytes = HB_MAX(d->peak_bytes, bytes);
    d->current_bytes = bytes;
}

static void add_memory(sweep *s, const hb_trace_event *e)
{
    int64_t now = e->memory.total_allocated;
    int32_t device;
    if (!hb_cycle_memory_device(e, &device) || (e->flags & HB_TEV_OUT_OF_MEMORY)) return;
    hb_device_numbers *whole = hb_cycle_numbers_device(s->out, device);
    if (!whole->has_memory) begin_memory(s, device, HB_MAX(now - e->memory.bytes, 0));
    set_memory(whole, now);
    if (s->host_step) set_memory(hb_cycle_step_device(s->out, s->host_step - 1, device), now);
}

/* A step begins with the memory that the one before it ended with. */
static void begin_host_step(sweep *s, uint32_t step)
{
    for (int32_t i = HB_HOST_DEVICE; i < s->out->num_devices; i++) {
        const hb_device_numbers *whole = hb_cycle_numbers_device(s->out, i);
        hb_device_numbers *d = hb_cycle_step_device(s->out, step, i);
        d->has_memory = whole->has_memory;
        d->peak_bytes = d->current_bytes = whole->current_bytes;
    }
}

/* The step that the host is in; NULL: in none yet. */
static hb_step_times *host_step_at(sweep *s, int64_t ns)
{
    hb_step_times *steps = s->out->steps.items;
    while (s->host_step < s->out->steps.count && steps[s->host_step].host_start_ns <= ns)
        begin_host_step(s, s->host_step++);
    return s->host_step ? &steps[s->host_step - 1] : NULL;
}

static void add_scope(sweep *s, const hb_trace_event *e, hb_step_times *step)
{
    unsigned bits = hb_name_classes_of(&s->marks->names, e);
    if (bits & HB_NAME_STEP || hb_is_only_drawn(s->own_scopes, e, bits)) return;
    hb_role role = bits & HB_NAME_COLLECTIVE ? HB_ROLE_COMMUNICATION
                   : bits & HB_NAME_LOADER   ? HB_ROLE_LOADER
                                             : HB_ROLE_CPU;
    occupy(s, role, e->start_ns, e->end_ns);
    add_operator(s, e);
    if (step && e->kind == HB_EVENT_OP) step->flops += e->op.flops;
}

/* ---- steps ---- */

static void push_step(sweep *s, int64_t number, int64_t start, int64_t end)
{
    *HB_PUSH(s->arena, &s->out->steps) =
        (hb_step_times){.step = number, .host_start_ns = start, .start_ns = start, .end_ns = end};
}

/* A program without steps has one, of all its scopes; without scopes too, of its device work. */
static void note_whole(sweep *s, hb_time_range scopes)
{
    const hb_device_span *spans = s->device.spans.items;
    if (scopes.end < scopes.start)
        for (uint32_t i = 0; i < s->device.spans.count; i++)
            hb_widen_range(&scopes, spans[i].start, spans[i].end);
    s->out->whole = scopes.end > scopes.start;
    if (!s->out->whole) return;
    push_step(s, 0, scopes.start, scopes.end);
    s->out->steps.items[0].host_start_ns = INT64_MIN; /* memory may be taken before any scope */
}

static void note_device(hb_cycle_numbers *out, int32_t device)
{
    out->num_devices = HB_MAX(out->num_devices, device + 1);
}

static const hb_device_numbers nothing_known = {.percent = {NAN, NAN, NAN}};

static void make_step_devices(hb_cycle_numbers *out)
{
    size_t n = (size_t)out->steps.count * (size_t)(out->num_devices + 1);
    out->step_devices = HB_NEW_ARRAY(&out->arena, hb_device_numbers, n);
    for (size_t i = 0; i < n; i++)
        out->step_devices[i] = nothing_known;
}

static hb_result read_marks(hb_cycle_marks *marks, hb_source *source)
{
    hb_trace_event e;
    HB_TRY(source->begin(source, HB_PASS_TIMELINE));
    while (source->next(source, &e))
        hb_cycle_marks_add(marks, &e);
    return marks->failed ? hb_fail(HB_ERROR_NO_MEMORY, "no memory for a cycle's steps") : HB_OK;
}

/* Which steps there are, and how long device work makes them. */
static void take_marks(sweep *s, hb_cycle_marks *marks)
{
    hb_cycle_marks_sort(marks);
    for (size_t i = 0; i < marks->steps.count; i++) {
        const hb_step_mark *step = &marks->steps.items[i];
        push_step(s, step->number, step->start_ns, step->end_ns);
    }
    for (size_t i = 0; i < marks->collectives.count; i++)
        hb_dict_set(s->arena, &s->collectives, marks->collectives.items[i], 1);
    s->out->num_devices = HB_MAX(s->out->num_devices, marks->num_devices);
    if (s->out->steps.count == 0) note_whole(s, marks->scopes);
    hb_cycle_device_extend(&s->device, s->out);
    make_step_devices(s->out);
}

static hb_result find_steps(sweep *s, hb_source *source)
{
    if (!s->marks->whole) HB_TRY(read_marks(s->marks, source));
    take_marks(s, s->marks);
    return HB_OK;
}

/* ---- the sweep ---- */

static hb_result sweep_host(sweep *s, hb_source *source)
{
    hb_trace_event e;
    HB_TRY(source->begin(source, HB_PASS_TIMELINE));
    while (source->next(source, &e)) {
        hb_step_times *step = host_step_at(s, e.start_ns);
        s->out->host_events++;
        if (step) step->host_events++;
        device_spans_until(s, e.start_ns);
        if (e.kind == HB_EVENT_MEMORY)
            add_memory(s, &e);
        else
            add_scope(s, &e, step);
    }
    device_spans_until(s, INT64_MAX);
    advance(s, s->out->steps.count ? s->out->steps.items[s->out->steps.count - 1].end_ns : 0);
    return HB_OK;
}

/* ---- device ---- */

hb_step_times *hb_cycle_step_at(hb_cycle_numbers *out, int64_t ns)
{
    uint32_t low = 0, high = out->steps.count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (out->steps.items[middle].end_ns <= ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low < out->steps.count && out->steps.items[low].start_ns <= ns ? &out->steps.items[low]
                                                                          : NULL;
}

static void count_events(sweep *s)
{
    s->out->events += s->out->host_events;
    for (uint32_t i = 0; i < s->out->steps.count; i++)
        s->out->steps.items[i].events = s->out->steps.items[i].host_events;
    hb_cycle_device_count(&s->device, s->out);
}

static void add_kernel(sweep *s, const hb_trace_event *e)
{
    int64_t duration = e->end_ns - e->start_ns;
    if (hb_cycle_has_gpu(e->device)) s->out->devices[e->device].has_kernels = true;
    uint32_t cost = cost_of(s, &s->kernel_of, &s->out->kernels, e);
    s->out->kernels.items[cost].calls++;
    hb_add_ns(&s->out->kernels.items[cost].self_ns, duration);
    *HB_PUSH(s->arena, &s->out->kernel_us) = (double)duration / 1e3;
}

static hb_result collect_device(sweep *s, hb_source *source)
{
    hb_trace_event e;
    HB_TRY(source->begin(source, HB_PASS_DEVICE));
    while (source->next(source, &e)) {
        s->out->events++;
        if (hb_cycle_has_gpu(e.device)) note_device(s->out, e.device);
        hb_cycle_device_add(&s->device, s->arena, source->info, &e);
        if (e.kind == HB_EVENT_KERNEL) add_kernel(s, &e);
    }
    hb_cycle_device_sort(&s->device);
    return HB_OK;
}

/* ---- the whole ---- */

hb_result hb_cycle_numbers_make(hb_source *source, hb_own_scopes scopes, hb_cycle_marks *marks,
                                hb_cycle_numbers *numbers)
{
    *numbers = (hb_cycle_numbers){.host = nothing_known};
    for (int i = 0; i < HB_CYCLE_DEVICES; i++)
        numbers->devices[i] = nothing_known;
    hb_cycle_marks_init(&numbers->own_marks, scopes);
    bool known = marks && marks->whole && !marks->failed;
    sweep s = {.out = numbers,
               .arena = &numbers->arena,
               .marks = known ? marks : &numbers->own_marks,
               .own_scopes = scopes};
    if (!hb_arena_try(&numbers->arena))
        return hb_fail(HB_ERROR_NO_MEMORY, "no memory for a cycle's numbers");
    HB_TRY(collect_device(&s, source));
    HB_TRY(find_steps(&s, source));
    HB_TRY(sweep_host(&s, source));
    count_events(&s);
    hb_cycle_device_gpus(&s.device, numbers);
    sort_costs(&numbers->operators);
    sort_costs(&numbers->kernels);
    return HB_OK;
}

void hb_cycle_numbers_free(hb_cycle_numbers *numbers)
{
    hb_cycle_marks_free(&numbers->own_marks);
    hb_arena_free(&numbers->arena);
}
