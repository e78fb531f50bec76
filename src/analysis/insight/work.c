/* SPDX-License-Identifier: MIT
 *
 * Kernels and copies with their launches; kernels by name and by class.
 */
#include <math.h>

#include "insight/insight.h"

/* Where a call is missing, its operator stands in for it. */
static uint32_t launch_of(const hb_insight *in, const hb_row *row)
{
    uint32_t call = hb_work_call(in->trace, row);
    return call == HB_NO_EVENT ? hb_event_scope(in->trace, row) : call;
}

/* ---- kernels ---- */

static uint32_t class_index(hb_insight *in, hb_str name)
{
    for (uint32_t i = 0; i < in->classes.count; i++) {
        hb_str s = in->classes.items[i].name;
        if (s.len == name.len && memcmp(s.s, name.s, s.len) == 0) return i;
    }
    *HB_PUSH(&in->arena, &in->classes) = (hb_class_sum){.name = name};
    return in->classes.count - 1;
}

static uint32_t kernel_index(hb_insight *in, hb_dict *names, hb_string_id name)
{
    bool added;
    hb_dict_entry *e = hb_dict_add(&in->arena, names, name, &added);
    if (!added) return e->value;
    hb_str text = hb_trace_text(in->trace, name);
    e->value = in->kernels.count;
    hb_kernel_sum *k = HB_PUSH(&in->arena, &in->kernels);
    *k = (hb_kernel_sum){.name = name, .matrix = hb_kernel_matrix_of(&in->rules, text)};
    k->class = class_index(in, hb_kernel_class_of(&in->rules, text));
    in->classes.items[k->class].kernels++;
    return in->kernels.count - 1;
}

/* Of the limits of a kernel's launches the one with the most time; a vote that needs no table. */
static void vote_limit(hb_kernel_sum *k, hb_string_id limit, double dur)
{
    if (k->limit == limit) {
        k->limited += dur;
    } else if (dur > k->limited) {
        k->limit = limit;
        k->limited = dur - k->limited;
    } else {
        k->limited -= dur;
    }
}

static void sum_kernel(hb_insight *in, hb_kernel_sum *k, const hb_row *row)
{
    const hb_launch *l = hb_trace_launch_of(in->trace, row);
    hb_class_sum *class = &in->classes.items[k->class];
    bool known = l->occupancy_state == HB_NUMBER_INT || l->occupancy_state == HB_NUMBER_FLOAT;
    k->calls++;
    k->total += hb_ns_to_us(row->duration);
    class->calls++;
    class->total += hb_ns_to_us(row->duration);
    if (k->matrix == HB_MATRIX_IS_USED) class->matrix += hb_ns_to_us(row->duration);
    if (k->matrix == HB_MATRIX_IS_UNUSED) class->no_matrix += hb_ns_to_us(row->duration);
    if (known && l->occupancy >= 0) {
        k->occupied += hb_ns_to_us(row->duration);
        k->occupancy += hb_ns_to_us(row->duration) * l->occupancy;
    }
    if (l->limit) vote_limit(k, l->limit, hb_ns_to_us(row->duration));
}

static hb_work_kind kind_of(const hb_insight *in, const hb_kernel_sum *kernel)
{
    hb_str class = in->classes.items[kernel->class].name;
    return hb_kernel_class_is(HB_KERNELS_COMMUNICATION, class) ? HB_WORK_COMMUNICATION
                                                               : HB_WORK_COMPUTATION;
}

/* ---- GPUs and streams ---- */

typedef struct places {
    hb_dict gpus, streams; /* pid -> index; pid and tid -> index */
} places;

static uint32_t gpu_index(hb_insight *in, places *known, uint32_t pid)
{
    bool added;
    hb_dict_entry *e = hb_dict_add(&in->arena, &known->gpus, pid, &added);
    if (added) {
        e->value = in->gpus.count;
        *HB_PUSH(&in->arena, &in->gpus) = (hb_gpu_sum){.pid = pid};
    }
    return e->value;
}

static uint32_t stream_index(hb_insight *in, places *known, const hb_row *row)
{
    bool added;
    uint64_t key = row->track;
    hb_dict_entry *e = hb_dict_add(&in->arena, &known->streams, key, &added);
    if (added) {
        e->value = in->streams.count;
        uint32_t gpu = gpu_index(in, known, hb_row_pid(in->trace, row));
        *HB_PUSH(&in->arena, &in->streams) =
            (hb_stream_sum){.gpu = gpu, .tid = hb_row_tid(in->trace, row)};
    }
    return e->value;
}

static bool starts_before(const void *context, const void *x, const void *y)
{
    const hb_work *a = x, *b = y;
    (void)context;
    return a->start < b->start;
}

void hb_insight_works(hb_insight *in)
{
    hb_dict names = {0};
    places known = {0};
    in->first = INFINITY;
    for (uint32_t i = 0; i < in->trace->rows.count; i++) {
        const hb_row *row = hb_trace_row(in->trace, i);
        if (hb_row_is_timed(in->trace, row)) in->first = HB_MIN(in->first, hb_ns_to_us(row->start));
        if (!hb_row_is_work(row) || !hb_row_is_timed(in->trace, row)) continue;
        hb_work w = {.start = hb_ns_to_us(row->start),
                     .end = hb_insight_end(row),
                     .row = i,
                     .launch = launch_of(in, row),
                     .stream = stream_index(in, &known, row),
                     .kind = HB_WORK_COPY};
        if (row->kind == HB_KIND_KERNEL) {
            uint32_t index = kernel_index(in, &names, row->name);
            hb_kernel_sum *k = &in->kernels.items[index];
            sum_kernel(in, k, row);
            w.kind = (uint8_t)kind_of(in, k);
        }
        *HB_PUSH(&in->arena, &in->works) = w;
    }
    hb_sort(&in->arena, in->works.items, in->works.count, sizeof *in->works.items, starts_before,
            NULL);
}
