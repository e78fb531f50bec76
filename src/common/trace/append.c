/* SPDX-License-Identifier: MIT
 *
 * Joins a trace's events to another's. What is stored once for many rows gets the numbers that it
 * would have had if one reader had met all rows in their order.
 */
#include <stdlib.h>

#include "trace/trace.h"

/* What the numbers of `from` become. */
typedef struct joint {
    hb_trace *to;
    const hb_trace *from;
    hb_string_id *strings;
    uint32_t *keys, *tracks, *launches, *ops;
    /* Of the columns' numbers: what was there before. */
    uint32_t details, functions, devices, memory, odd_times;
} joint;

/* ---- what is stored once ---- */

static hb_key map_key(const joint *j, hb_key key)
{
    enum hb_key_tag tag = hb_key_tag(key);
    if (tag != HB_KEY_TAG_TEXT && tag != HB_KEY_TAG_CONTAINER) return key;
    return (hb_key)j->strings[hb_key_string(key)] << 2 | tag;
}

static bool map_strings(joint *j)
{
    const hb_texts *from = &j->from->strings;
    j->strings = calloc(from->count, sizeof *j->strings);
    bool ok = j->strings != NULL;
    for (hb_string_id i = 1; ok && i < from->count; i++) {
        hb_str s = hb_texts_get(from, i);
        ok = (j->strings[i] = hb_texts_add(&j->to->strings, s.s, s.len)) != 0;
    }
    return ok;
}

static bool map_keys(joint *j)
{
    const hb_column *from = &j->from->keys.items;
    j->keys = calloc(from->count, sizeof *j->keys);
    bool ok = j->keys != NULL;
    for (uint32_t i = 1; ok && i < from->count; i++) {
        j->keys[i] = hb_trace_key(j->to, map_key(j, hb_trace_key_at(j->from, i)));
        ok = j->keys[i] < HB_ID_INDEX - 1;
    }
    return ok;
}

static hb_id map_id(const joint *j, hb_id id)
{
    return id < HB_ID_INDEX ? id : j->keys[id & ~HB_ID_INDEX] | HB_ID_INDEX;
}

static bool map_tracks(joint *j)
{
    const hb_column *from = &j->from->tracks.items;
    j->tracks = calloc(from->count, sizeof *j->tracks);
    bool ok = j->tracks != NULL;
    for (uint32_t i = 1; ok && i < from->count; i++) {
        const hb_track *track = hb_column_at(from, i);
        j->tracks[i] = hb_trace_track(j->to, j->keys[track->pid], j->keys[track->tid]);
        ok = j->tracks[i] != UINT32_MAX;
    }
    return ok;
}

static bool map_launches(joint *j)
{
    const hb_column *from = &j->from->launches.items;
    j->launches = calloc(from->count, sizeof *j->launches);
    bool ok = j->launches != NULL;
    for (uint32_t i = 1; ok && i < from->count; i++) {
        hb_launch l = *(const hb_launch *)hb_column_at(from, i);
        l.device = map_key(j, l.device);
        l.grid = j->strings[l.grid];
        l.block = j->strings[l.block];
        l.registers = j->strings[l.registers];
        l.shared = j->strings[l.shared];
        l.limit = j->strings[l.limit];
        ok = (j->launches[i] = hb_trace_launch(j->to, &l)) != UINT32_MAX;
    }
    return ok;
}

/* ---- rows ---- */

static bool map_ops(joint *j)
{
    const hb_column *from = &j->from->ops.items;
    j->ops = calloc(from->count, sizeof *j->ops);
    bool ok = j->ops != NULL;
    for (uint32_t i = 1; ok && i < from->count; i++) {
        hb_op_row op = *(const hb_op_row *)hb_column_at(from, i);
        op.dims = j->strings[op.dims];
        op.types = j->strings[op.types];
        op.stack = j->strings[op.stack];
        if (op.detail) op.detail += j->details;
        ok = (j->ops[i] = hb_trace_add_op(j->to, &op)) != UINT32_MAX;
    }
    return ok;
}

/* Detail 0 of both stands for none. */
static bool append_details(joint *j)
{
    hb_column *to = &j->to->details;
    if (!j->from->details.count) return true;
    if (!to->count && !hb_column_push(to)) return false;
    j->details = to->count - 1;
    for (uint32_t i = 1; i < j->from->details.count; i++) {
        hb_op_detail *d = hb_column_push(to);
        if (!d) return false;
        *d = *(const hb_op_detail *)hb_column_at(&j->from->details, i);
        d->concrete = j->strings[d->concrete];
    }
    return true;
}

static bool append_functions(const joint *j)
{
    for (uint32_t i = 0; i < j->from->functions.count; i++) {
        const hb_function_row *from = hb_column_at(&j->from->functions, i);
        hb_function_row *f = hb_column_push(&j->to->functions);
        if (!f) return false;
        f->parent = map_id(j, from->parent);
        f->module = map_id(j, from->module);
    }
    return true;
}

static bool append_devices(const joint *j)
{
    for (uint32_t i = 0; i < j->from->devices.count; i++) {
        const hb_device_row *from = hb_column_at(&j->from->devices, i);
        hb_device_row *d = hb_column_push(&j->to->devices);
        if (!d) return false;
        d->correlation = map_id(j, from->correlation);
        d->launch = j->launches[from->launch];
    }
    return true;
}

static bool append_memory(const joint *j)
{
    for (uint32_t i = 0; i < j->from->memory.count; i++) {
        hb_memory_row *m = hb_column_push(&j->to->memory);
        if (!m) return false;
        *m = *(const hb_memory_row *)hb_column_at(&j->from->memory, i);
        m->addr = map_key(j, m->addr);
        m->device = j->keys[m->device];
        m->owner = j->strings[m->owner];
    }
    return true;
}

/* Entry 0 of both stands for none. */
static bool append_odd_times(joint *j)
{
    hb_column *to = &j->to->odd_times;
    if (!j->from->odd_times.count) return true;
    if (!to->count && !hb_column_push(to)) return false;
    j->odd_times = to->count - 1;
    for (uint32_t i = 1; i < j->from->odd_times.count; i++) {
        hb_odd_times *times = hb_column_push(to);
        if (!times) return false;
        *times = *(const hb_odd_times *)hb_column_at(&j->from->odd_times, i);
        times->category = j->strings[times->category];
    }
    return true;
}

static uint32_t map_extra(const joint *j, const hb_row *row)
{
    switch ((hb_kind)row->kind) {
    case HB_KIND_OPERATOR:
    case HB_KIND_ANNOTATION:
    case HB_KIND_PYTHON: return j->ops[row->extra];
    case HB_KIND_FUNCTION: return row->extra + j->functions;
    case HB_KIND_RUNTIME:
    case HB_KIND_CALL:
    case HB_KIND_KERNEL:
    case HB_KIND_MEMCPY:
    case HB_KIND_MEMSET: return row->extra + j->devices;
    case HB_KIND_MEMORY: return row->extra + j->memory;
    default: return hb_row_is_counter(row) ? j->strings[row->extra] : 0; /* no side table */
    }
}

static bool append_rows(const joint *j)
{
    for (uint32_t i = 0; i < j->from->rows.count; i++) {
        hb_row *row = hb_column_push(&j->to->rows);
        if (!row) return false;
        *row = *hb_trace_row(j->from, i);
        row->id = map_id(j, row->id);
        row->name = j->strings[row->name];
        row->category =
            row->category & HB_ODD_TIMES ? row->category + j->odd_times : j->strings[row->category];
        row->track = j->tracks[row->track];
        row->extra = map_extra(j, row);
    }
    return true;
}

bool hb_trace_append(hb_trace *to, const hb_trace *from)
{
    joint j = {.to = to,
               .from = from,
               .functions = to->functions.count,
               .devices = to->devices.count,
               .memory = to->memory.count};
    bool ok = map_strings(&j) && map_keys(&j) && map_tracks(&j) && map_launches(&j) &&
              append_details(&j) && map_ops(&j) && append_functions(&j) && append_devices(&j) &&
              append_memory(&j) && append_odd_times(&j) && append_rows(&j);
    free(j.strings);
    free(j.keys);
    free(j.tracks);
    free(j.launches);
    free(j.ops);
    return ok;
}
