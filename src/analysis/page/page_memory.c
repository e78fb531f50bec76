/* SPDX-License-Identifier: MIT
 *
 * Memory over time, who held it at its peak and in the end, and who allocated it.
 */
#include <math.h>
#include <stdlib.h>

#include "api/api_trace_file.h"
#include "base/times.h"
#include "page/page_moments.h"
#include "page/page_views.h"

enum {
    CURVE_CELLS = 1200,
    MOST_ALLOCATIONS = 50000, /* of a device; of more the largest */
};

static const hb_page_column operator_columns[] = {
    {"Operator", HB_CELL_TEXT},   {"Device", HB_CELL_TEXT},
    {"Calls", HB_CELL_COUNT},     {"Self increase", HB_CELL_BYTES},
    {"Increase", HB_CELL_BYTES},  {"Self allocated", HB_CELL_BYTES},
    {"Allocated", HB_CELL_BYTES}, {"Self allocations", HB_CELL_COUNT}};
static const hb_page_table operators_table = HB_PAGE_TABLE("Memory", operator_columns);

static const hb_page_column device_columns[] = {
    {"Device", HB_CELL_TEXT},       {"Start", HB_CELL_BYTES},     {"Peak", HB_CELL_BYTES},
    {"Peak at", HB_CELL_TIME},      {"End", HB_CELL_BYTES},       {"Allocations", HB_CELL_COUNT},
    {"Frees", HB_CELL_COUNT},       {"Allocated", HB_CELL_BYTES}, {"Freed", HB_CELL_BYTES},
    {"Left at end", HB_CELL_BYTES}, {"Left", HB_CELL_COUNT}};
static const hb_page_table devices_table = HB_PAGE_TABLE("Devices", device_columns);

static const hb_page_column holder_columns[] = {
    {"Holder", HB_CELL_TEXT},   {"Device", HB_CELL_TEXT},   {"Bytes", HB_CELL_BYTES},
    {"Share", HB_CELL_PERCENT}, {"Largest", HB_CELL_BYTES}, {"Allocations", HB_CELL_COUNT},
    {"First at", HB_CELL_TIME}, {"When", HB_CELL_TEXT}};
static const hb_page_table peak_table =
    HB_PAGE_TABLE("Who held memory at its peak", holder_columns);
static const hb_page_table end_table = HB_PAGE_TABLE("What was left at the end", holder_columns);

static const hb_page_column allocation_columns[] = {
    {"Holder", HB_CELL_TEXT}, {"Device", HB_CELL_TEXT}, {"Bytes", HB_CELL_BYTES},
    {"From", HB_CELL_TIME},   {"Until", HB_CELL_TIME},  {"Lived", HB_CELL_TIME}};
static const hb_page_table allocations_table = HB_PAGE_TABLE("Allocations", allocation_columns);

/* ---- over time ---- */

typedef struct curve {
    double low[CURVE_CELLS], high[CURVE_CELLS], last[CURVE_CELLS];
    bool any[CURVE_CELLS];
} curve;

static void put_list(hb_emitter *out, const char *key, const curve *c, const double *values)
{
    double before = NAN;
    hb_emit_open_key(out, key, '[');
    for (int i = 0; i < CURVE_CELLS; i++) {
        hb_emit_finite(out, c->any[i] ? values[i] : before);
        if (c->any[i]) before = c->last[i];
    }
    hb_emit_close(out, ']');
}

/* The least and the most of each cell: no peak is lost. */
static void put_curve(hb_emitter *out, const hb_analysis *a, uint32_t device, double start,
                      double end, curve *c)
{
    double cell = (end - start) / CURVE_CELLS;
    *c = (curve){0};
    for (uint32_t i = 0; i < a->memory.count; i++) {
        const hb_memory_record *m = &a->memory.items[i];
        if (m->device != device + 1 || m->allocated_bad) continue;
        double place = cell > 0 ? (m->ts - start) / cell : 0;
        int at = place < 0 ? 0 : place >= CURVE_CELLS ? CURVE_CELLS - 1 : (int)place;
        c->low[at] = c->any[at] ? fmin(c->low[at], m->allocated) : m->allocated;
        c->high[at] = c->any[at] ? fmax(c->high[at], m->allocated) : m->allocated;
        c->last[at] = m->allocated;
        c->any[at] = true;
    }
    hb_emit_open(out, '{');
    hb_emit_key(out, "device");
    hb_emit_str(out, hb_trace_text(a->trace, a->device_names.items[device]));
    put_list(out, "low", c, c->low);
    put_list(out, "high", c, c->high);
    hb_emit_close(out, '}');
}

static hb_result put_curves(hb_page_trace *trace, hb_emitter *out)
{
    hb_timeline *timeline;
    const hb_analysis *a = hb_trace_file_analysis(trace->file);
    HB_TRY(hb_page_timeline(trace, &timeline));
    if (!a) return HB_ERROR_FORMAT;
    curve *c = malloc(sizeof *c);
    if (!c) return hb_no_memory();
    double start = hb_ns_to_us(timeline->start), end = hb_ns_to_us(timeline->end);
    hb_emit_open_key(out, "curves", '[');
    for (uint32_t i = 0; i < a->device_names.count; i++)
        put_curve(out, a, i, start, end, c);
    hb_emit_close(out, ']');
    hb_emit_member(out, "span_us", end - start);
    free(c);
    return HB_OK;
}

/* ---- who ---- */

static hb_result put_holders(hb_memory_profile *profile, hb_emitter *out, hb_memory_moment moment)
{
    const hb_page_table *table = moment == HB_MEMORY_AT_PEAK ? &peak_table : &end_table;
    hb_table_begin(out, moment == HB_MEMORY_AT_PEAK ? "peak" : "end", table);
    for (size_t d = 0; d < hb_memory_profile_num_devices(profile); d++) {
        hb_memory_device device;
        const hb_memory_holder *list;
        size_t count;
        double total = 0;
        HB_TRY(hb_memory_profile_device(profile, d, &device));
        HB_TRY(hb_memory_profile_holders(profile, d, moment, HB_BY_OPERATOR, &list, &count));
        for (size_t i = 0; i < count; i++)
            total += list[i].bytes;
        for (size_t i = 0; i < count; i++) {
            const hb_memory_holder *h = &list[i];
            hb_table_row(out, table, *h->name ? h->name : "(no operator)", device.name, h->bytes,
                         hb_percent_of(h->bytes, total), h->largest_bytes, (double)h->allocations,
                         h->first_us, h->before ? "before" : "in the trace");
        }
    }
    hb_table_end(out);
    return HB_OK;
}

static int larger_first(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a < b) - (a > b);
}

/* The least that one of the largest has; 0: all are. Equal ones are all in. */
static hb_result least_of_largest(const hb_memory_allocation *list, size_t count, double *least)
{
    *least = 0;
    if (count <= MOST_ALLOCATIONS) return HB_OK;
    double *bytes = malloc(count * sizeof *bytes);
    if (!bytes) return hb_no_memory();
    for (size_t i = 0; i < count; i++)
        bytes[i] = list[i].bytes;
    qsort(bytes, count, sizeof *bytes, larger_first);
    *least = bytes[MOST_ALLOCATIONS - 1];
    free(bytes);
    return HB_OK;
}

/* On the curves' time; null: it was still there. */
static double time_of(hb_page_trace *trace, const hb_timeline *timeline, size_t event)
{
    if (event == SIZE_MAX) return NAN;
    const hb_row *row = hb_trace_row(hb_trace_file_trace(trace->file), (uint32_t)event);
    return hb_ns_to_us(row->start - timeline->start);
}

static const char *name_of(const hb_memory_allocation *a)
{
    return *a->name ? a->name : "(no operator)";
}

static void put_allocation(hb_emitter *out, const hb_memory_allocation *a, const char *device,
                           double from, double until)
{
    hb_table_row(out, &allocations_table, name_of(a), device, a->bytes, a->before ? NAN : from,
                 until, a->before ? NAN : until - from);
}

static hb_result put_allocations(hb_page_trace *trace, hb_memory_profile *profile, hb_emitter *out)
{
    hb_timeline *timeline;
    double left_out = 0;
    HB_TRY(hb_page_timeline(trace, &timeline));
    hb_table_begin(out, "allocations", &allocations_table);
    for (size_t d = 0; d < hb_memory_profile_num_devices(profile); d++) {
        hb_memory_device device;
        const hb_memory_allocation *list;
        size_t count;
        double least;
        HB_TRY(hb_memory_profile_device(profile, d, &device));
        HB_TRY(hb_memory_profile_allocations(profile, d, &list, &count));
        HB_TRY(least_of_largest(list, count, &least));
        for (size_t i = 0; i < count; i++) {
            left_out += list[i].bytes < least;
            if (list[i].bytes < least) continue;
            put_allocation(out, &list[i], device.name,
                           time_of(trace, timeline, list[i].begin_event),
                           time_of(trace, timeline, list[i].end_event));
        }
    }
    hb_table_end(out);
    hb_emit_member(out, "allocations_left_out", left_out);
    return HB_OK;
}

/* Of a device with more allocations than are listed. */
static hb_result put_device_moments(hb_page_trace *trace, const hb_timeline *timeline,
                                    const hb_memory_allocation *list, size_t count,
                                    const char *device, hb_emitter *out)
{
    hb_memory_steps steps;
    hb_result result = hb_memory_steps_init(&steps, count);
    for (size_t i = 0; result == HB_OK && i < count; i++) {
        const hb_memory_allocation *a = &list[i];
        double from = a->before ? -1 : time_of(trace, timeline, a->begin_event);
        result = hb_memory_steps_add(&steps, name_of(a), from,
                                     time_of(trace, timeline, a->end_event), a->bytes);
    }
    if (result == HB_OK)
        result = hb_page_put_moments(out, &steps, device,
                                     hb_ns_to_us(timeline->end) - hb_ns_to_us(timeline->start));
    hb_memory_steps_free(&steps);
    return result;
}

static hb_result put_moments(hb_page_trace *trace, hb_memory_profile *profile, hb_emitter *out)
{
    hb_timeline *timeline;
    HB_TRY(hb_page_timeline(trace, &timeline));
    hb_table_begin(out, "moments", &hb_page_moments_table);
    for (size_t d = 0; d < hb_memory_profile_num_devices(profile); d++) {
        hb_memory_device device;
        const hb_memory_allocation *list;
        size_t count;
        HB_TRY(hb_memory_profile_device(profile, d, &device));
        HB_TRY(hb_memory_profile_allocations(profile, d, &list, &count));
        if (count > MOST_ALLOCATIONS)
            HB_TRY(put_device_moments(trace, timeline, list, count, device.name, out));
    }
    hb_table_end(out);
    return HB_OK;
}

static hb_result put_devices(hb_memory_profile *profile, hb_emitter *out)
{
    hb_table_begin(out, "devices", &devices_table);
    for (size_t i = 0; i < hb_memory_profile_num_devices(profile); i++) {
        hb_memory_device d;
        HB_TRY(hb_memory_profile_device(profile, i, &d));
        hb_table_row(out, &devices_table, d.name, d.start_bytes, d.peak_bytes, d.peak_us,
                     d.end_bytes, (double)d.allocations, (double)d.frees, d.allocated_bytes,
                     d.freed_bytes, d.left_bytes, (double)d.left);
    }
    hb_table_end(out);
    return HB_OK;
}

/* Nobody held what nobody allocated; to find that out takes long. */
static hb_result put_nothing(hb_emitter *out)
{
    const hb_page_table *tables[] = {&devices_table, &peak_table, &end_table, &allocations_table,
                                     &hb_page_moments_table};
    static const char *const keys[] = {"devices", "peak", "end", "allocations", "moments"};
    for (size_t i = 0; i < HB_ARRAY_LEN(tables); i++) {
        hb_table_begin(out, keys[i], tables[i]);
        hb_table_end(out);
    }
    return HB_OK;
}

static hb_result put_profile(hb_page_trace *trace, hb_emitter *out)
{
    hb_memory_profile *profile;
    const hb_analysis *a = hb_trace_file_analysis(trace->file);
    if (a && !a->memory.count) return put_nothing(out);
    HB_TRY(hb_memory_profile_create(trace->file, &profile));
    hb_result result = put_devices(profile, out);
    if (result == HB_OK) result = put_holders(profile, out, HB_MEMORY_AT_PEAK);
    if (result == HB_OK) result = put_holders(profile, out, HB_MEMORY_AT_END);
    if (result == HB_OK) result = put_allocations(trace, profile, out);
    if (result == HB_OK) result = put_moments(trace, profile, out);
    hb_memory_profile_destroy(profile);
    return result;
}

hb_result hb_page_memory(hb_page_trace *trace, hb_emitter *out)
{
    const hb_memory_stats_row *list;
    size_t count;
    HB_TRY(hb_trace_file_memory(trace->file, &list, &count));
    hb_table_begin(out, "operators", &operators_table);
    for (size_t i = 0; i < count; i++) {
        const hb_memory_stats_row *m = &list[i];
        hb_table_row(out, &operators_table, m->name, m->device, (double)m->calls,
                     m->self_increase_bytes, m->increase_bytes, m->self_allocated_bytes,
                     m->allocated_bytes, m->self_allocations);
    }
    hb_table_end(out);
    HB_TRY(put_curves(trace, out));
    return put_profile(trace, out);
}
