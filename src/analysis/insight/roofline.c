/* SPDX-License-Identifier: MIT */
#include "insight/roofline.h"

#include <stdlib.h>

#include "base/json_members.h"
#include "trace/op_work.h"

/* An operator's call with what it did. */
typedef struct op_call {
    uint32_t row, gpu, kernels;
    hb_peak_type type;
    double time, flops, bytes;
} op_call;

typedef struct kernel_use {
    uint32_t row, call; /* index of calls */
} kernel_use;

typedef struct roofline {
    hb_insight *in;
    hb_roofline *to;
    uint32_t *owner; /* by row of a scope or call: row + 1 of the operator whose work it is */
    HB_VEC(op_call) calls;
    HB_VEC(kernel_use) uses;
    hb_dict call_of; /* row -> index of calls */
} roofline;

/* ---- what an operator had to do ---- */

enum { MAX_INPUTS = 16 };

typedef struct inputs {
    hb_shape shapes[MAX_INPUTS];
    uint32_t sizes[MAX_INPUTS]; /* bytes of an element; 0: no tensor, or not known */
    int count, num_types;
    hb_peak_type type;
} inputs;

static bool take_type(void *context, const hb_value *type)
{
    inputs *to = context;
    uint32_t bytes;
    hb_peak_type computed = hb_peak_type_of((hb_str){type->s, (uint32_t)type->size}, &bytes);
    if (to->type == HB_PEAK_NONE) to->type = computed;
    if (to->num_types < MAX_INPUTS) to->sizes[to->num_types++] = bytes;
    return to->num_types < MAX_INPUTS;
}

static bool take_dims(void *context, const hb_value *dims)
{
    inputs *to = context;
    if (dims->type != HB_JSON_ARRAY || !hb_shape_read(dims->s, &to->shapes[to->count]))
        to->sizes[to->count] = 0;
    return ++to->count < MAX_INPUTS;
}

static bool read_inputs(const hb_trace *trace, const hb_op_row *op, inputs *to)
{
    *to = (inputs){.type = HB_PEAK_NONE};
    hb_str dims = hb_trace_text(trace, op->dims), types = hb_trace_text(trace, op->types);
    if (!op->dims || !op->types || *dims.s != '[' || *types.s != '[') return false;
    hb_json_each(types, take_type, to);
    hb_json_each(dims, take_dims, to);
    return true;
}

/* ---- whose work it is ---- */

static bool is_operator(const hb_insight *in, const hb_row *row)
{
    return (row->kind == HB_KIND_OPERATOR || row->kind == HB_KIND_ANNOTATION) &&
           hb_row_is_timed(in->trace, row) && !hb_row_is_step(in->trace, row) &&
           !hb_row_is_of(in->trace, row, HB_CATEGORY_GPU_USER_ANNOTATION);
}

static double flops_at(const hb_insight *in, uint32_t at)
{
    const hb_row *row = hb_trace_row(in->trace, at);
    return is_operator(in, row) ? hb_op_flops(in->trace, row, row->name) : 0;
}

/* Of scopes and calls: within an operator with FLOPs they are that one's, and operators within it
 * have none of their own. */
static void find_owners(roofline *r)
{
    hb_insight *in = r->in;
    hb_u32s rows = {0};
    hb_host_nest nest;
    for (uint32_t i = 0; i < in->trace->rows.count; i++) {
        const hb_row *row = hb_trace_row(in->trace, i);
        if (is_operator(in, row) || (hb_row_is_call(row) && hb_row_is_timed(in->trace, row)))
            *HB_PUSH(&in->arena, &rows) = i;
    }
    hb_host_nest_make(&in->arena, in->trace, rows, &nest);
    for (uint32_t i = 0; i < rows.count; i++) {
        uint32_t row = rows.items[i], parent = nest.parents[i];
        uint32_t owner = parent == HB_NO_PLACE ? 0 : r->owner[rows.items[parent]];
        bool over = owner && hb_row_end(hb_trace_row(in->trace, owner - 1)) <=
                                 hb_trace_row(in->trace, row)->start;
        if (over) owner = 0;
        if (!owner && flops_at(in, row) > 0) owner = row + 1;
        r->owner[row] = owner;
    }
}

static uint32_t call_index(roofline *r, uint32_t row, uint32_t gpu)
{
    bool added;
    hb_dict_entry *e = hb_dict_add(&r->in->arena, &r->call_of, row, &added);
    if (!added) return e->value;
    e->value = r->calls.count;
    inputs given;
    op_call *c = HB_PUSH(&r->in->arena, &r->calls);
    *c = (op_call){.row = row, .gpu = gpu, .flops = flops_at(r->in, row), .type = HB_PEAK_NONE};
    const hb_op_row *op = hb_trace_op(r->in->trace, hb_trace_row(r->in->trace, row));
    if (read_inputs(r->in->trace, op, &given)) {
        c->type = given.type;
        c->bytes = hb_least_bytes(given.shapes, given.sizes, given.count, c->flops);
    }
    return r->calls.count - 1;
}

static uint32_t owner_of(const roofline *r, const hb_work *work)
{
    const hb_trace *trace = r->in->trace;
    uint32_t scope = hb_event_scope(trace, hb_trace_row(trace, work->row));
    uint32_t from = work->launch != HB_NO_LAUNCH ? work->launch : scope;
    if (from != HB_NO_EVENT && r->owner[from]) return r->owner[from] - 1;
    if (scope == HB_NO_EVENT) return HB_NO_EVENT;
    if (r->owner[scope]) return r->owner[scope] - 1;
    return is_operator(r->in, hb_trace_row(trace, scope)) ? scope : HB_NO_EVENT;
}

static void give_kernels(roofline *r)
{
    for (uint32_t i = 0; i < r->in->works.count; i++) {
        const hb_work *w = &r->in->works.items[i];
        if (hb_trace_row(r->in->trace, w->row)->kind != HB_KIND_KERNEL) continue;
        r->to->kernel_time += w->end - w->start;
        uint32_t owner = owner_of(r, w);
        if (owner == HB_NO_EVENT) continue;
        uint32_t index = call_index(r, owner, r->in->streams.items[w->stream].gpu);
        op_call *c = &r->calls.items[index];
        if (!(c->flops > 0 || c->bytes > 0)) continue;
        c->time += w->end - w->start;
        c->kernels++;
        r->to->rated += w->end - w->start;
        *HB_PUSH(&r->in->arena, &r->uses) = (kernel_use){w->row, index};
    }
}

/* Operators of the CPU's own: nothing in them asks the runtime for anything. */
static void add_host_operators(roofline *r)
{
    const hb_trace *trace = r->in->trace;
    for (uint32_t i = 0; i < trace->rows.count; i++)
        if (r->owner[i] && hb_row_is_call(hb_trace_row(trace, i)))
            call_index(r, r->owner[i] - 1, HB_NO_GPU_SUM);
    for (uint32_t i = 0; i < trace->rows.count; i++) {
        if (r->owner[i] != i + 1 || hb_dict_get(&r->call_of, i)) continue;
        uint32_t index = call_index(r, i, HB_NO_GPU_SUM); /* moves the list of them */
        r->calls.items[index].time = hb_ns_to_us(hb_trace_row(trace, i)->duration);
    }
}

/* ---- the GPUs' peaks ---- */

typedef struct device_search {
    int64_t id, at;
    hb_str found;
} device_search;

static bool match_device(void *context, const hb_value *device)
{
    device_search *s = context;
    hb_str json = {device->s, (uint32_t)device->size};
    hb_value id = hb_json_member(json, "id");
    int64_t number = s->at++;
    hb_value_int(&id, &number);
    if (device->type != HB_JSON_OBJECT || number != s->id) return true;
    s->found = json;
    return false;
}

typedef struct clocks {
    int64_t gpu;
    double sum;
    uint32_t count;
} clocks;

static bool take_clock(void *context, const hb_value *step)
{
    clocks *c = context;
    hb_str json = {step->s, (uint32_t)step->size};
    double mhz = hb_json_number(json, "mhz", 0);
    if (mhz > 0 && hb_json_number(json, "gpu", -1) == (double)c->gpu) {
        c->sum += mhz;
        c->count++;
    }
    return true;
}

static double measured_clock(const hb_insight *in, int64_t gpu)
{
    clocks c = {.gpu = gpu};
    hb_str steps = hb_trace_member(in->trace, "hipboard_gpu_steps");
    if (hb_json_value(steps).type == HB_JSON_ARRAY) hb_json_each(steps, take_clock, &c);
    return c.count ? c.sum / c.count : 0;
}

static int32_t whole(double value)
{
    return value >= 0 && value <= INT32_MAX ? (int32_t)value : 0;
}

static void find_peaks(const hb_insight *in, hb_key key, hb_gpu_peaks *to)
{
    if (hb_key_tag(key) != HB_KEY_TAG_INT) return;
    device_search s = {.id = hb_key_value(key)};
    hb_str devices = hb_trace_member(in->trace, "deviceProperties");
    if (hb_json_value(devices).type == HB_JSON_ARRAY) hb_json_each(devices, match_device, &s);
    if (!s.found.len) return;
    hb_value arch = hb_json_member(s.found, "gcnArchName");
    double measured = measured_clock(in, s.id),
           most = hb_json_number(s.found, "clockRate", 0) / 1e3;
    to->measured = measured > 0;
    to->mhz = to->measured ? measured : most;
    hb_peak_query query = {
        .arch = {arch.s, arch.type == HB_JSON_STRING ? (uint32_t)arch.size : 0},
        .num_cus = whole(hb_json_number(s.found, "numSms", 0)),
        .clock_khz = to->mhz * 1e3,
        .memory_khz = hb_json_number(s.found, "memoryClockRate", 0),
        .memory_bus_bits = whole(hb_json_number(s.found, "memoryBusWidth", 0)),
    };
    to->peaks = hb_peaks_of(&query);
}

static void find_all_peaks(roofline *r)
{
    hb_insight *in = r->in;
    r->to->gpus = HB_NEW_ARRAY(&in->arena, hb_gpu_peaks, in->gpus.count + 1);
    for (uint32_t i = 0; i < in->gpus.count; i++)
        find_peaks(in, hb_trace_key_at(in->trace, in->gpus.items[i].pid), &r->to->gpus[i]);
}

/* ---- sums ---- */

/* µs by the arithmetic and by the memory; 0: none, or its peak is not known. */
typedef struct roof {
    bool known;
    double compute, memory;
} roof;

static roof roof_of(const roofline *r, const op_call *c)
{
    if (c->gpu == HB_NO_GPU_SUM) return (roof){0};
    const hb_peaks *peaks = &r->to->gpus[c->gpu].peaks;
    double peak = hb_peak_of(peaks, c->type);
    roof f = {.compute = peak > 0 ? c->flops / peak * 1e6 : 0,
              .memory = peaks->bytes > 0 ? c->bytes / peaks->bytes * 1e6 : 0};
    f.known = c->flops > 0 ? f.compute > 0 : f.memory > 0;
    return f;
}

/* A call, or `part` of it that took `time`, as a sum of one. */
static hb_rate_sum sum_of(const roofline *r, const op_call *c, hb_string_id name, double time,
                          double part)
{
    roof f = roof_of(r, c);
    double ideal = HB_MAX(f.compute, f.memory);
    return (hb_rate_sum){.name = name,
                         .gpu = c->gpu,
                         .type = c->type,
                         .known = f.known,
                         .calls = 1,
                         .time = time,
                         .flops = c->flops * part,
                         .bytes = c->bytes * part,
                         .ideal = ideal * part,
                         .by_memory = f.memory > f.compute ? time : 0,
                         .far = f.known && ideal < HB_FAR_FROM_ROOF * c->time ? time : 0};
}

static int compare_keys(const hb_rate_sum *a, const hb_rate_sum *b)
{
    if (a->name != b->name) return a->name < b->name ? -1 : 1;
    if (a->dims != b->dims) return a->dims < b->dims ? -1 : 1;
    if (a->type != b->type) return a->type < b->type ? -1 : 1;
    if (a->gpu != b->gpu) return a->gpu < b->gpu ? -1 : 1;
    return 0;
}

static bool key_before(const void *context, const void *x, const void *y)
{
    (void)context;
    return compare_keys(x, y) < 0;
}

static bool longer(const void *context, const void *x, const void *y)
{
    (void)context;
    return ((const hb_rate_sum *)x)->time > ((const hb_rate_sum *)y)->time;
}

static void add_sum(hb_rate_sum *to, const hb_rate_sum *s)
{
    to->shared |= s->shared;
    to->known &= s->known;
    to->calls += s->calls;
    to->time += s->time;
    to->flops += s->flops;
    to->bytes += s->bytes;
    to->ideal += s->ideal;
    to->by_memory += s->by_memory;
    to->far += s->far;
}

/* Those of a key become one. */
static void merge(hb_arena *arena, hb_rate_sums *sums)
{
    uint32_t kept = 0;
    hb_rate_sum *all = sums->items;
    hb_sort(arena, all, sums->count, sizeof *all, key_before, NULL);
    for (uint32_t i = 0; i < sums->count; i++) {
        if (kept && compare_keys(&all[kept - 1], &all[i]) == 0)
            add_sum(&all[kept - 1], &all[i]);
        else
            all[kept++] = all[i];
    }
    sums->count = kept;
    hb_sort(arena, all, kept, sizeof *all, longer, NULL);
}

static void sum_operators(roofline *r)
{
    hb_arena *arena = &r->in->arena;
    for (uint32_t i = 0; i < r->calls.count; i++) {
        const op_call *c = &r->calls.items[i];
        const hb_row *row = hb_trace_row(r->in->trace, c->row);
        if (!(c->time > 0)) continue;
        hb_rate_sum s = sum_of(r, c, row->name, c->time, 1);
        *HB_PUSH(arena, &r->to->operators) = s;
        s.dims = hb_trace_op(r->in->trace, row)->dims;
        *HB_PUSH(arena, &r->to->inputs) = s;
    }
    merge(arena, &r->to->operators);
    merge(arena, &r->to->inputs);
}

static void sum_kernels(roofline *r)
{
    hb_arena *arena = &r->in->arena;
    for (uint32_t i = 0; i < r->uses.count; i++) {
        const op_call *c = &r->calls.items[r->uses.items[i].call];
        const hb_row *row = hb_trace_row(r->in->trace, r->uses.items[i].row);
        double time = hb_ns_to_us(row->duration);
        if (!(c->time > 0)) continue;
        hb_rate_sum *s = HB_PUSH(arena, &r->to->kernels);
        *s = sum_of(r, c, row->name, time, time / c->time);
        s->shared = c->kernels > 1;
    }
    merge(arena, &r->to->kernels);
}

void hb_insight_roofline(hb_insight *in, hb_roofline *to)
{
    *to = (hb_roofline){0};
    roofline r = {.in = in, .to = to};
    r.owner = HB_NEW_ARRAY(&in->arena, uint32_t, in->trace->rows.count + 1);
    find_owners(&r);
    give_kernels(&r);
    add_host_operators(&r);
    find_all_peaks(&r);
    sum_operators(&r);
    sum_kernels(&r);
}
