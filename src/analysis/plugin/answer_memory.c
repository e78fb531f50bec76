/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "plugin/answer_bodies.h"

/* Points of a curve that a browser still draws with ease. */
enum { MAX_POINTS = 10240 };

bool hb_units_find(hb_units *units, const char *time, const char *memory)
{
    static const struct {
        const char *alias, *name;
        double factor;
    } times[] = {{"us", "us", 1},       {"micro", "us", 1},       {"microsecond", "us", 1},
                 {"ms", "ms", 1 / 1e3}, {"milli", "ms", 1 / 1e3}, {"millisecond", "ms", 1 / 1e3},
                 {"s", "s", 1 / 1e6},   {"second", "s", 1 / 1e6}, {"", "s", 1 / 1e6}},
      sizes[] = {{"B", "B", 1},         {"", "B", 1},          {"KB", "KB", 0x1p-10},
                 {"K", "KB", 0x1p-10},  {"MB", "MB", 0x1p-20}, {"M", "MB", 0x1p-20},
                 {"GB", "GB", 0x1p-30}, {"G", "GB", 0x1p-30}};
    *units = (hb_units){0};
    for (size_t i = 0; i < HB_ARRAY_LEN(times); i++)
        if (strcmp(times[i].alias, time) == 0) {
            units->time = times[i].name;
            units->time_factor = times[i].factor;
        }
    for (size_t i = 0; i < HB_ARRAY_LEN(sizes); i++)
        if (strcmp(sizes[i].alias, memory) == 0) {
            units->memory = sizes[i].name;
            units->memory_factor = sizes[i].factor;
        }
    return units->time && units->memory;
}

/* Two decimals, or for what is smaller its first digit. */
static double display_round(double v)
{
    double size = fabs(v);
    if (size >= 0.01 || v == 0 || v != v) return hb_py_round(v, 2);
    return hb_py_round(v, (int)fabs(floor(log10(size))));
}

static void unit_column(hb_emitter *out, const char *name, const char *unit, const char *tooltip)
{
    char text[64];
    snprintf(text, sizeof text, unit ? "%s (%s)" : "%s", name, unit);
    hb_emit_open(out, '{');
    hb_emit_pair(out, "name", text);
    hb_emit_pair(out, "type", "number");
    hb_emit_pair(out, "tooltip", tooltip);
    hb_emit_close(out, '}');
}

/* The first device in order of text whose name begins with GPU; else the CPU. `used` may be NULL.
 */
static hb_str default_device(const hb_analysis *a, const uint32_t *used)
{
    hb_str best = HB_STR("CPU");
    bool found = false;
    for (uint32_t i = 0; i < a->device_names.count; i++) {
        hb_str name = hb_trace_text(a->trace, a->device_names.items[i]);
        if (!used[i] || !hb_str_begins(name, "GPU")) continue;
        int order = memcmp(name.s, best.s, HB_MIN(name.len, best.len));
        if (!found || order < 0 || (order == 0 && name.len < best.len)) best = name;
        found = true;
    }
    return best;
}

static void out_device(hb_emitter *out, const char *key, hb_str device)
{
    hb_emit_key(out, key);
    hb_emit_str(out, device);
}

/* ---- statistics ---- */

static void stat_columns(hb_emitter *out, const char *unit)
{
    hb_emit_open_key(out, "columns", '[');
    hb_emit_raw(out, HB_STR("{\"name\": \"Operator Name\", \"type\": \"string\"}"));
    unit_column(out, "Calls", NULL, "# of calls of the operator.");
    unit_column(out, "Size Increase", unit,
                "The memory increase size include all children operators.");
    unit_column(out, "Self Size Increase", unit,
                "The memory increase size associated with the operator itself.");
    unit_column(out, "Allocation Count", NULL,
                "The allocation count including all chidren operators.");
    unit_column(out, "Self Allocation Count", NULL,
                "The allocation count belonging to the operator itself.");
    unit_column(out, "Allocation Size", unit,
                "The allocation size including all children operators.");
    unit_column(out, "Self Allocation Size", unit,
                "The allocation size belonging to the operator itself.\nIt will sum up all "
                "allocation bytes without considering the memory free.");
    hb_emit_close(out, ']');
}

static void stat_row(hb_emitter *out, hb_analysis *a, const hb_memory_stat *s, double factor)
{
    hb_emit_open(out, '[');
    hb_emit_str(out, hb_trace_text(a->trace, s->name));
    hb_emit_int(out, s->calls);
    hb_emit_float(out, display_round(factor * s->metrics[HB_MEMORY_INCREASE]));
    hb_emit_float(out, display_round(factor * s->metrics[HB_MEMORY_SELF_INCREASE]));
    hb_emit_int(out, s->metrics[HB_MEMORY_ALLOCATIONS]);
    hb_emit_int(out, s->metrics[HB_MEMORY_SELF_ALLOCATIONS]);
    hb_emit_float(out, display_round(factor * s->metrics[HB_MEMORY_ALLOCATED]));
    hb_emit_float(out, display_round(factor * s->metrics[HB_MEMORY_SELF_ALLOCATED]));
    hb_emit_close(out, ']');
}

static hb_result no_memory_view(void)
{
    return hb_fail(HB_ERROR_NOT_FOUND, "the trace has no memory events");
}

hb_result hb_answer_memory(hb_emitter *out, hb_analysis *a, hb_arena *arena, const hb_units *units,
                           const hb_memory_window *window)
{
    char sort[64];
    hb_u32s order = {0};
    if (!a->memory.count) return no_memory_view();
    uint32_t n = a->device_names.count;
    hb_memory_stats *stats = HB_NEW_ARRAY(arena, hb_memory_stats, n + 1);
    uint32_t *used = HB_NEW_ARRAY(arena, uint32_t, n + 1);
    hb_memory_statistics(a, arena, window, stats, &order);
    for (uint32_t i = 0; i < n; i++)
        used[i] = stats[i].count;
    snprintf(sort, sizeof sort, "Self Size Increase (%s)", units->memory);
    hb_emit_open(out, '{');
    hb_emit_open_key(out, "metadata", '{');
    hb_emit_pair(out, "title", "Memory View");
    out_device(out, "default_device", default_device(a, used));
    hb_emit_pair(out, "search", "Operator Name");
    hb_emit_pair(out, "sort", sort);
    hb_emit_close(out, '}');
    stat_columns(out, units->memory);
    hb_emit_open_key(out, "rows", '{');
    for (uint32_t k = 0; k < order.count; k++) {
        uint32_t d = order.items[k];
        if (!stats[d].count) continue;
        hb_emit_key_str(out, hb_trace_text(a->trace, a->device_names.items[d]));
        hb_emit_open(out, '[');
        for (uint32_t i = 0; i < stats[d].count; i++)
            stat_row(out, a, &stats[d].items[i], units->memory_factor);
        hb_emit_close(out, ']');
    }
    hb_emit_close(out, '}');
    hb_emit_close(out, '}');
    return HB_OK;
}

/* ---- curve ---- */

typedef struct point {
    double time, allocated, reserved;
} point;

typedef struct curve {
    HB_VEC(point) points;
    double peak;
} curve;

static hb_result unknown_device(void)
{
    return hb_fail(HB_ERROR_FORMAT, "a memory event is of an unknown device type");
}

/* `order`: the devices, as the plugin comes to them. */
static hb_result make_curves(hb_analysis *a, hb_arena *arena, const hb_units *units, curve *curves,
                             hb_u32s *order)
{
    for (uint32_t i = 0; i < a->memory.count; i++) {
        const hb_memory_record *r = &a->memory.items[i];
        if (r->addr == HB_KEY_NONE || (r->allocated != r->allocated && !r->allocated_bad) ||
            (r->reserved != r->reserved && !r->reserved_bad))
            continue;
        if (r->allocated_bad || r->reserved_bad)
            return hb_fail(HB_ERROR_FORMAT, "a memory event's total is not a number");
        if (!r->device) return unknown_device();
        curve *c = &curves[r->device - 1];
        point p = {units->time_factor * (r->ts - a->first_ts.v),
                   units->memory_factor * r->allocated, units->memory_factor * r->reserved};
        if (!c->points.count) *HB_PUSH(arena, order) = r->device - 1;
        if (c->points.count) { /* a step: the old values until now */
            point before = c->points.items[c->points.count - 1];
            before.time = p.time;
            *HB_PUSH(arena, &c->points) = before;
        }
        *HB_PUSH(arena, &c->points) = p;
        c->peak = fmax(c->peak, r->allocated);
    }
    return HB_OK;
}

static point mean(const point *points, uint32_t count)
{
    point sum = {0};
    for (uint32_t i = 0; i < count; i++) {
        sum.time += points[i].time;
        sum.allocated += points[i].allocated;
        sum.reserved += points[i].reserved;
    }
    return (point){sum.time / count, sum.allocated / count, sum.reserved / count};
}

/* Largest triangle three buckets: of each bin the point that spans the largest triangle with the
 * last point kept and the middle of the next bin. */
static void reduce(hb_arena *arena, curve *c)
{
    uint32_t n = c->points.count, bins = MAX_POINTS - 2, kept = 0;
    if (n <= MAX_POINTS) return;
    const point *p = c->points.items;
    point *out = HB_NEW_ARRAY(arena, point, MAX_POINTS);
    uint32_t size = (n - 2) / bins, longer = (n - 2) % bins, start = 1;
    out[kept++] = p[0];
    for (uint32_t b = 0; b < bins; b++) {
        uint32_t end = start + size + (b < longer);
        uint32_t next = b + 1 < bins ? size + (b + 1 < longer) : 1;
        point from = out[kept - 1], to = mean(b + 1 < bins ? p + end : p + n - 1, next);
        uint32_t best = start;
        double best_area = -1;
        for (uint32_t i = start; i < end; i++) {
            double area = 0.5 * fabs((from.time - to.time) * (p[i].allocated - from.allocated) -
                                     (from.time - p[i].time) * (to.allocated - from.allocated));
            if (area > best_area) {
                best_area = area;
                best = i;
            }
        }
        out[kept++] = p[best];
        start = end;
    }
    out[kept++] = p[n - 1];
    c->points.items = out;
    c->points.count = kept;
}

static int by_text(const void *x, const void *y)
{
    const hb_str *s = x, *u = y;
    int order = memcmp(s->s, u->s, HB_MIN(s->len, u->len));
    return order ? order : (s->len > u->len) - (s->len < u->len);
}

static void curve_metadata(hb_emitter *out, hb_analysis *a, hb_arena *arena, const hb_units *units,
                           const curve *curves, const hb_u32s *order)
{
    uint32_t n = 0, *used = HB_NEW_ARRAY(arena, uint32_t, a->device_names.count + 1);
    hb_str *names = HB_NEW_ARRAY(arena, hb_str, a->device_names.count + 1);
    char text[96];
    for (uint32_t i = 0; i < a->device_names.count; i++) {
        used[i] = curves[i].points.count;
        if (used[i]) names[n++] = hb_trace_text(a->trace, a->device_names.items[i]);
    }
    qsort(names, n, sizeof *names, by_text);
    hb_emit_open_key(out, "metadata", '{');
    out_device(out, "default_device", default_device(a, used));
    hb_emit_open_key(out, "devices", '[');
    for (uint32_t i = 0; i < n; i++)
        hb_emit_str(out, names[i]);
    hb_emit_close(out, ']');
    hb_emit_open_key(out, "peaks", '{');
    for (uint32_t k = 0; k < order->count; k++) {
        uint32_t i = order->items[k];
        snprintf(text, sizeof text, "Peak Memory Usage: %.1f%s",
                 units->memory_factor * curves[i].peak, units->memory);
        hb_emit_key_str(out, hb_trace_text(a->trace, a->device_names.items[i]));
        hb_emit_text(out, text);
    }
    hb_emit_close(out, '}');
    hb_emit_open_key(out, "totals", '{');
    hb_emit_close(out, '}');
    hb_emit_key(out, "first_ts");
    hb_emit_num(out, a->first_ts);
    hb_emit_pair(out, "time_metric", units->time);
    hb_emit_pair(out, "memory_metric", units->memory);
    hb_emit_key(out, "time_factor");
    hb_emit_float(out, units->time_factor);
    hb_emit_key(out, "memory_factor");
    hb_emit_float(out, units->memory_factor);
    hb_emit_close(out, '}');
}

hb_result hb_answer_memory_curve(hb_emitter *out, hb_analysis *a, hb_arena *arena,
                                 const hb_units *units)
{
    hb_u32s order = {0};
    if (!a->memory.count) return no_memory_view();
    curve *curves = HB_NEW_ARRAY(arena, curve, a->device_names.count + 1);
    HB_TRY(make_curves(a, arena, units, curves, &order));
    for (uint32_t d = 0; d < a->device_names.count; d++)
        reduce(arena, &curves[d]);
    hb_emit_open(out, '{');
    curve_metadata(out, a, arena, units, curves, &order);
    hb_emit_open_key(out, "columns", '[');
    unit_column(out, "Time", units->time, "Time since profiler starts.");
    unit_column(out, "Allocated", units->memory, "Total memory in use.");
    unit_column(out, "Reserved", units->memory,
                "Total reserved memory by allocator, both used and unused.");
    hb_emit_close(out, ']');
    hb_emit_open_key(out, "rows", '{');
    for (uint32_t k = 0; k < order.count; k++) {
        uint32_t d = order.items[k];
        hb_emit_key_str(out, hb_trace_text(a->trace, a->device_names.items[d]));
        hb_emit_open(out, '[');
        for (uint32_t i = 0; i < curves[d].points.count; i++) {
            point p = curves[d].points.items[i];
            hb_emit_open(out, '[');
            hb_emit_float(out, p.time);
            hb_emit_float(out, p.allocated);
            hb_emit_float(out, p.reserved);
            hb_emit_close(out, ']');
        }
        hb_emit_close(out, ']');
    }
    hb_emit_close(out, '}');
    hb_emit_close(out, '}');
    return HB_OK;
}

/* ---- events ---- */

typedef struct pairing {
    uint32_t alloc, release; /* index + 1, 0: none */
} pairing;

typedef HB_VEC(pairing) pairings;

/* Pairs in order of release, then what stays open, then releases of what was there before. */
static void pair_records(hb_analysis *a, hb_arena *arena, const hb_memory_window *window,
                         pairings *list)
{
    hb_dict open = {0}, lone = {0};
    for (uint32_t i = 0; i < a->memory.count; i++) {
        const hb_memory_record *r = &a->memory.items[i];
        if (!hb_in_window(window, r->ts) || r->addr == HB_KEY_NONE) continue;
        if (r->bytes > 0) {
            hb_dict_set(arena, &open, r->addr, i);
            continue;
        }
        hb_dict_entry *e = hb_dict_get(&open, r->addr);
        if (!e) {
            hb_dict_set(arena, &lone, r->addr, i);
            continue;
        }
        *HB_PUSH(arena, list) = (pairing){e->value + 1, i + 1};
        e->alive = false;
    }
    for (uint32_t i = 0; i < open.entries.count; i++)
        if (open.entries.items[i].alive)
            *HB_PUSH(arena, list) = (pairing){open.entries.items[i].value + 1, 0};
    for (uint32_t i = 0; i < lone.entries.count; i++)
        *HB_PUSH(arena, list) = (pairing){0, lone.entries.items[i].value + 1};
}

static void operator_text(hb_emitter *out, hb_analysis *a, const hb_memory_record *r)
{
    hb_str name = r->op_name ? hb_trace_text(a->trace, r->op_name) : HB_STR("");
    hb_str parent = r->parent_name ? hb_trace_text(a->trace, r->parent_name) : HB_STR("");
    if (!name.len) name = HB_STR("<unknown>");
    if (!hb_name_is(HB_KNOWN_EMPTY, name) || !parent.len) {
        hb_emit_str(out, name);
        return;
    }
    hb_buf text;
    hb_buf_init(&text, SIZE_MAX / 2);
    hb_buf_append(&text, parent.s, parent.len);
    hb_buf_str(&text, " (");
    hb_buf_append(&text, name.s, name.len);
    hb_buf_str(&text, ")");
    hb_emit_str(out, (hb_str){text.data, (uint32_t)text.size});
    hb_buf_free(&text);
}

static void out_time(hb_emitter *out, bool known, double us, const hb_units *units)
{
    if (known)
        hb_emit_float(out, display_round(units->time_factor * us));
    else
        hb_emit_null(out);
}

static void event_row(hb_emitter *out, hb_analysis *a, pairing p, const hb_units *units)
{
    const hb_memory_record *alloc = p.alloc ? &a->memory.items[p.alloc - 1] : NULL;
    const hb_memory_record *release = p.release ? &a->memory.items[p.release - 1] : NULL;
    double bytes = release ? -release->bytes : alloc->bytes;
    hb_emit_open(out, '[');
    operator_text(out, a, alloc ? alloc : release);
    double size = bytes == 0 ? 0 : bytes; /* the int has no sign */
    hb_emit_float(out, display_round(units->memory_factor * size));
    out_time(out, alloc != NULL, alloc ? alloc->ts - a->first_ts.v : 0, units);
    out_time(out, release != NULL, release ? release->ts - a->first_ts.v : 0, units);
    out_time(out, alloc && release, alloc && release ? release->ts - alloc->ts : 0, units);
    hb_emit_close(out, ']');
}

static uint32_t device_of(const hb_analysis *a, pairing p)
{
    return a->memory.items[(p.alloc ? p.alloc : p.release) - 1].device;
}

hb_result hb_answer_memory_events(hb_emitter *out, hb_analysis *a, hb_arena *arena,
                                  const hb_units *units, const hb_memory_window *window)
{
    pairings list = {0};
    hb_u32s order = {0};
    if (!a->memory.count) return no_memory_view();
    pair_records(a, arena, window, &list);
    uint32_t *used = HB_NEW_ARRAY(arena, uint32_t, a->device_names.count + 1);
    for (uint32_t i = 0; i < list.count; i++) {
        if (!device_of(a, list.items[i])) return unknown_device();
        if (!used[device_of(a, list.items[i]) - 1]++)
            *HB_PUSH(arena, &order) = device_of(a, list.items[i]) - 1;
    }
    hb_emit_open(out, '{');
    hb_emit_open_key(out, "metadata", '{');
    hb_emit_pair(out, "title", "Memory Events");
    out_device(out, "default_device", default_device(a, used));
    hb_emit_close(out, '}');
    hb_emit_open_key(out, "columns", '[');
    hb_emit_raw(out, HB_STR("{\"name\": \"Operator\", \"type\": \"string\", \"tooltip\": \"\"}"));
    unit_column(out, "Size", units->memory, "");
    unit_column(out, "Allocation Time", units->time, "");
    unit_column(out, "Release Time", units->time, "");
    unit_column(out, "Duration", units->time, "");
    hb_emit_close(out, ']');
    hb_emit_open_key(out, "rows", '{');
    for (uint32_t k = 0; k < order.count; k++) {
        uint32_t d = order.items[k];
        hb_emit_key_str(out, hb_trace_text(a->trace, a->device_names.items[d]));
        hb_emit_open(out, '[');
        for (uint32_t i = 0; i < list.count; i++)
            if (device_of(a, list.items[i]) == d + 1) event_row(out, a, list.items[i], units);
        hb_emit_close(out, ']');
    }
    hb_emit_close(out, '}');
    hb_emit_close(out, '}');
    return HB_OK;
}
