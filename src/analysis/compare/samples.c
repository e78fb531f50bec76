/* SPDX-License-Identifier: MIT
 *
 * One analysed trace into samples: for each step what its operators, kernels, modules and
 * allocations cost, and where its time went.
 */
#include "compare/comparison.h"

#include <math.h>
#include <stdio.h>

const char *const hb_by_names[HB_COMPARE_BY_COUNT] = {"step", "operator", "kernel", "memory",
                                                      "module"};

const hb_measure hb_measures[HB_COMPARE_BY_COUNT][HB_MAX_MEASURES + 1] = {
    [HB_COMPARE_STEP] = {{"value", HB_UNIT_US, true, ""}},
    [HB_COMPARE_OPERATOR] = {{"calls", HB_UNIT_COUNT, false, "calls"},
                             {"self_host", HB_UNIT_US, true, "host"},
                             {"self_device", HB_UNIT_US, true, "device"},
                             {"host", HB_UNIT_US, false, "host total"},
                             {"device", HB_UNIT_US, false, "device total"}},
    [HB_COMPARE_KERNEL] = {{"calls", HB_UNIT_COUNT, false, "calls"},
                           {"time", HB_UNIT_US, true, "time"}},
    [HB_COMPARE_MEMORY] = {{"allocations", HB_UNIT_COUNT, false, "allocations"},
                           {"allocated", HB_UNIT_BYTES, true, "allocated"},
                           {"increase", HB_UNIT_BYTES, false, "allocated less freed"}},
    [HB_COMPARE_MODULE] = {{"calls", HB_UNIT_COUNT, false, "calls"},
                           {"self_host", HB_UNIT_US, false, "host self"},
                           {"self_device", HB_UNIT_US, false, "device self"},
                           {"host", HB_UNIT_US, true, "host"},
                           {"device", HB_UNIT_US, true, "device"}},
};

/* ---- steps ---- */

static hb_range float_range(const hb_analysis *a, const hb_row *row)
{
    hb_range r = hb_row_range(a, row);
    return (hb_range){hb_float(r.start.v), hb_float(r.end.v)};
}

static void find_host_steps(hb_digest *d)
{
    hb_analysis *a = d->analysis;
    uint32_t n = 0;
    d->host_steps = HB_NEW_ARRAY(&d->arena, hb_range, a->steps.count + 1);
    for (uint32_t i = 0; i < a->steps.count; i++)
        *HB_PUSH(&d->arena, &d->step_names) = a->steps.items[i].name;
    for (uint32_t i = 0; i < a->num_events && n < a->steps.count; i++) {
        const hb_row *row = hb_trace_row(a->trace, a->events[i].row);
        if (a->events[i].type != HB_TYPE_STEP) continue;
        d->host_steps[n++] = float_range(a, row);
    }
    for (; a->told && n < a->steps.count; n++)
        d->host_steps[n] = a->steps.items[n].range;
    d->has_steps = n > 0;
    if (!n) d->host_steps[0] = (hb_range){hb_float(-INFINITY), hb_float(INFINITY)};
}

uint32_t hb_digest_step_at(const hb_digest *d, double time)
{
    uint32_t low = 0, high = d->step_names.count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (d->host_steps[middle].start.v <= time)
            low = middle + 1;
        else
            high = middle;
    }
    return low && time <= d->host_steps[low - 1].end.v ? low - 1 : UINT32_MAX;
}

/* ---- items and cells ---- */

static uint32_t find_item(hb_digest *d, hb_run_item item)
{
    hb_arena *arena = &d->keys;
    bool added;
    hb_dict_entry *pair =
        hb_dict_add(arena, &d->item_keys[0], (uint64_t)item.name << 32 | item.shape, &added);
    if (added) pair->value = d->item_keys[0].entries.count;
    hb_dict_entry *kind =
        hb_dict_add(arena, &d->item_keys[1], (uint64_t)item.module << 8 | item.by, &added);
    if (added) kind->value = d->item_keys[1].entries.count;
    hb_dict_entry *e =
        hb_dict_add(arena, &d->item_keys[2], (uint64_t)pair->value << 32 | kind->value, &added);
    if (added) {
        e->value = d->items.count;
        *HB_PUSH(&d->arena, &d->items) = item;
    }
    return e->value;
}

static double *cell_of(hb_digest *d, hb_run_item item, uint32_t step)
{
    bool added;
    uint32_t index = find_item(d, item);
    hb_dict_entry *e = hb_dict_add(&d->keys, &d->cell_keys, (uint64_t)index << 32 | step, &added);
    if (added) {
        e->value = d->cells.count;
        *HB_PUSH(&d->arena, &d->cells) = (hb_cell){.item = index, .step = step};
    }
    return d->cells.items[e->value].values;
}

static void add_metric(hb_digest *d, const char *name, hb_unit unit, uint32_t step, double value)
{
    hb_string_id id = hb_intern(d->analysis, name, strlen(name));
    bool peak = unit == HB_UNIT_BYTES;
    if (value - value != 0) return; /* not a number, or beyond all */
    cell_of(d, (hb_run_item){.name = id, .by = HB_COMPARE_STEP, .unit = unit, .is_peak = peak},
            step)[0] = value;
}

/* ---- calls ---- */

typedef struct walk {
    hb_digest *digest;
    hb_string_id *module_of; /* by device node: the module that launched it */
    double *call_of;         /* ... and when; NaN: not known */
} walk;

/* A prefix is part of the names that torch and hipboard write. */
static hb_string_id module_name(hb_analysis *a, hb_string_id name)
{
    hb_str s = hb_trace_text(a->trace, name);
    if (!hb_name_is(HB_KNOWN_MODULE, s)) return name;
    hb_str own = hb_name_behind(HB_KNOWN_MODULE, s);
    return hb_intern(a, own.s, own.len);
}

static void add_times(double *values, const hb_analysis *a, const hb_node *n)
{
    const hb_node_work *work = hb_work_of(a, n);
    values[HB_MEASURE_CALLS] += 1;
    values[HB_MEASURE_SELF_HOST] += hb_self_host(a, n);
    values[HB_MEASURE_SELF_DEVICE] += work->self_device;
    values[HB_MEASURE_HOST] += n->end - n->start;
    values[HB_MEASURE_DEVICE] += work->device;
}

static void note_devices(walk *w, const hb_node *n, hb_string_id module)
{
    hb_analysis *a = w->digest->analysis;
    for (uint32_t r = hb_work_of(a, n)->calls; r; r = a->refs.items[r - 1].next) {
        const hb_runtime *rt = &a->runtimes.items[a->refs.items[r - 1].runtime];
        for (uint32_t i = rt->dummy ? 0 : rt->first_device; i; i = a->devices.items[i - 1].next) {
            w->module_of[i - 1] = module;
            w->call_of[i - 1] = rt->start;
        }
    }
}

static void add_node(walk *w, const hb_node *n, hb_string_id module)
{
    hb_digest *d = w->digest;
    hb_analysis *a = d->analysis;
    uint32_t step = hb_digest_step_at(d, n->start);
    bool is_module = n->class == HB_CLASS_MODULE || n->class == HB_CLASS_PL_MODULE;
    if (step == UINT32_MAX) return;
    if (is_module) {
        add_times(cell_of(d, (hb_run_item){.name = module, .by = HB_COMPARE_MODULE}, step), a, n);
    } else if (hb_is_operator(a, n)) {
        hb_string_id dims = hb_trace_op(a->trace, hb_trace_row(a->trace, n->row))->dims;
        hb_run_item item = {.name = n->name, .module = module, .by = HB_COMPARE_OPERATOR};
        if (dims) item.shape = hb_python_text(a, dims);
        add_times(cell_of(d, item, step), a, n);
    }
}

static void walk_tree(walk *w, uint32_t index, hb_string_id module)
{
    hb_analysis *a = w->digest->analysis;
    const hb_node *n = &a->nodes[index];
    if (n->class == HB_CLASS_MODULE || n->class == HB_CLASS_PL_MODULE)
        module = module_name(a, n->name);
    if (n->row != HB_NO_ROW) add_node(w, n, module);
    note_devices(w, n, module);
    for (uint32_t c = n->first_child; c; c = a->nodes[c].next)
        walk_tree(w, c, module);
}

/* ---- device ---- */

/* "grid [2, 1, 1], block [64, 1, 1]", once for each pair of texts. */
static hb_string_id launch_text(hb_digest *d, const hb_row *row)
{
    hb_analysis *a = d->analysis;
    char text[200];
    if (row->kind != HB_KIND_KERNEL) return 0;
    const hb_launch *l = hb_trace_launch_of(a->trace, row);
    if (!l->grid || !l->block) return 0;
    hb_str grid = hb_trace_text(a->trace, hb_python_text(a, l->grid));
    hb_str block = hb_trace_text(a->trace, hb_python_text(a, l->block));
    int n = snprintf(text, sizeof text, "grid %.*s, block %.*s", (int)HB_MIN(grid.len, 80u), grid.s,
                     (int)HB_MIN(block.len, 80u), block.s);
    return hb_intern(a, text, (size_t)n);
}

static void add_devices(walk *w)
{
    hb_digest *d = w->digest;
    hb_analysis *a = d->analysis;
    for (uint32_t i = 0; i < a->devices.count; i++) {
        const hb_device_node *n = &a->devices.items[i];
        const hb_row *row = hb_trace_row(a->trace, n->row);
        double began = w->call_of[i] == w->call_of[i] ? w->call_of[i] : n->start;
        uint32_t step = hb_digest_step_at(d, began);
        if (step == UINT32_MAX || !(row->flags & HB_ROW_NAME)) continue;
        hb_run_item item = {.name = row->name, .by = HB_COMPARE_KERNEL, .module = w->module_of[i]};
        item.shape = launch_text(d, row);
        double *values = cell_of(d, item, step);
        values[HB_MEASURE_CALLS] += 1;
        values[HB_MEASURE_TIME] += (n->end - n->start);
    }
}

static void add_calls(hb_digest *d)
{
    hb_analysis *a = d->analysis;
    walk w = {.digest = d};
    w.module_of = HB_NEW_ARRAY(&a->arena, hb_string_id, a->devices.count + 1);
    w.call_of = HB_NEW_ARRAY(&a->arena, double, a->devices.count + 1);
    for (uint32_t i = 0; i < a->devices.count; i++)
        w.call_of[i] = NAN;
    for (uint32_t i = 0; i < a->threads.count; i++)
        if (!a->threads.items[i].gone) walk_tree(&w, a->threads.items[i].root, 0);
    add_devices(&w);
}

/* ---- metrics of steps ---- */

static void add_roles(hb_digest *d)
{
    const hb_analysis *a = d->analysis;
    for (uint32_t i = 0; i < a->steps.count; i++) {
        const hb_num *costs = a->steps.items[i].costs;
        if (costs[HB_ROLE_TOTAL].v < 0) continue; /* a whole trace with nothing in it */
        add_metric(d, hb_role_metric(HB_ROLE_TOTAL), HB_UNIT_US, i, costs[HB_ROLE_TOTAL].v);
        for (hb_role role = 0; role < HB_ROLE_TOTAL; role++)
            add_metric(d, hb_role_metric(role), HB_UNIT_US, i, costs[role].v);
    }
}

/* How much of each step some kernel ran, on average over the GPUs that ran any. */
static void add_utilization(hb_digest *d)
{
    hb_analysis *a = d->analysis;
    hb_ranges busy[HB_MAX_GPUS] = {0};
    hb_range_sums sums[HB_MAX_GPUS];
    if (!a->num_gpus) return;
    for (uint32_t i = 0; i < a->num_events; i++) {
        const hb_row *row = hb_trace_row(a->trace, a->events[i].row);
        if (a->events[i].type != HB_TYPE_KERNEL) continue;
        const hb_launch *launch = hb_trace_launch_of(a->trace, row);
        if (launch->gpu == HB_NO_GPU) continue;
        hb_range r = float_range(a, row);
        hb_ranges_merge_in(&a->arena, &busy[launch->gpu], r);
    }
    for (int gpu = 0; gpu < HB_MAX_GPUS; gpu++)
        sums[gpu] = hb_range_sums_of(&busy[gpu]);
    for (uint32_t i = 0; i < a->steps.count; i++) {
        hb_range step = a->steps.items[i].range;
        double sum = 0;
        for (int gpu = 0; gpu < HB_MAX_GPUS; gpu++)
            sum += busy[gpu].count ? hb_ranges_sum_next(&sums[gpu], step).v : 0;
        double length = (step.end.v - step.start.v) * a->num_gpus;
        add_metric(d, "gpu_utilization", HB_UNIT_RATIO, i, sum / length);
    }
}

/* ---- memory ---- */

static const char *device_name(const hb_analysis *a, uint32_t device)
{
    return hb_trace_text(a->trace, a->device_names.items[device]).s;
}

static void add_peaks_of_step(hb_digest *d, uint32_t step, const double *peaks)
{
    const hb_analysis *a = d->analysis;
    double most = NAN;
    char name[64];
    for (uint32_t i = 0; i < a->device_names.count; i++) {
        if (!(peaks[i] == peaks[i])) continue;
        most = fmax(peaks[i], most);
        snprintf(name, sizeof name, "peak_memory:%s", device_name(a, i));
        add_metric(d, name, HB_UNIT_BYTES, step, peaks[i]);
    }
    add_metric(d, "peak_memory", HB_UNIT_BYTES, step, most);
}

/* What was allocated at most in each step; where nothing changed, what was allocated before. */
static void add_peaks(hb_digest *d)
{
    hb_analysis *a = d->analysis;
    uint32_t next = 0, devices = a->device_names.count;
    double *now = HB_NEW_ARRAY(&a->arena, double, devices + 1);
    double *peaks = HB_NEW_ARRAY(&a->arena, double, devices + 1);
    for (uint32_t i = 0; i < devices; i++)
        now[i] = NAN;
    for (uint32_t step = 0; step < a->steps.count; step++) {
        hb_range host = d->host_steps[step];
        bool begun = false;
        for (;; next++) {
            const hb_memory_record *r = next < a->memory.count ? &a->memory.items[next] : NULL;
            if (!begun && (!r || r->ts >= host.start.v)) {
                memcpy(peaks, now, devices * sizeof *now);
                begun = true;
            }
            if (!r || r->ts > host.end.v) break;
            if (!r->device || r->allocated_bad || !(r->allocated == r->allocated)) continue;
            now[r->device - 1] = r->allocated;
            if (begun) peaks[r->device - 1] = fmax(r->allocated, peaks[r->device - 1]);
        }
        add_peaks_of_step(d, step, peaks);
    }
}

static void add_allocations(hb_digest *d)
{
    const hb_analysis *a = d->analysis;
    for (uint32_t i = 0; i < a->memory.count; i++) {
        const hb_memory_record *r = &a->memory.items[i];
        uint32_t step = hb_digest_step_at(d, r->ts);
        if (!r->device || !r->op_name || r->bytes_bad || step == UINT32_MAX) continue;
        hb_run_item item = {.name = r->op_name, .by = HB_COMPARE_MEMORY};
        item.shape = a->device_names.items[r->device - 1];
        double *values = cell_of(d, item, step);
        values[HB_MEASURE_INCREASE] += r->bytes;
        if (!(r->bytes > 0)) continue;
        values[HB_MEASURE_CALLS] += 1;
        values[HB_MEASURE_ALLOCATED] += r->bytes;
    }
}

static void make(hb_digest *d)
{
    find_host_steps(d);
    add_roles(d);
    add_utilization(d);
    add_peaks(d);
    add_allocations(d);
    add_calls(d);
}

/* All three arenas have their way out to here. */
static __attribute__((noinline)) void try_make(hb_digest *d)
{
    if (hb_arena_try(&d->analysis->arena) && hb_arena_try(&d->arena) && hb_arena_try(&d->keys))
        make(d);
}

hb_result hb_digest_make(hb_digest *d, hb_analysis *a)
{
    hb_result result = HB_OK;
    *d = (hb_digest){.analysis = a, .trace = a->trace, .first_us = a->first_ts.v};
    try_make(d);
    const hb_arena *const arenas[] = {&a->arena, &d->arena, &d->keys};
    for (size_t i = 0; i < HB_ARRAY_LEN(arenas) && result == HB_OK; i++)
        result = hb_arena_outcome(arenas[i]);
    hb_arena_free(&d->keys);
    return result;
}

void hb_digest_free(hb_digest *d)
{
    hb_arena_free(&d->arena);
}
