/* SPDX-License-Identifier: MIT
 *
 * Traces in Perfetto's protobuf: of rocprofv3, omnitrace and rocprof-sys, PyTorch and hipboard.
 * Packets are read one after the other; of slices only those that are open are kept.
 */
#include "import/perfetto.h"

#include <stdlib.h>
#include <zlib.h>

#include "import/own_info.h"

/* ---- tables ---- */

static uint32_t sequence_of(hb_perfetto *f, uint64_t id)
{
    bool added;
    hb_dict_entry *entry = hb_dict_add(f->arena, &f->sequence_ids, id, &added);
    if (!added) return entry->value;
    entry->value = f->sequences.count;
    *HB_PUSH(f->arena, &f->sequences) = (hb_perfetto_sequence){.id = id};
    return f->sequences.count - 1;
}

static void clear(hb_perfetto_sequence *s)
{
    memset(s->tables, 0, sizeof s->tables);
    s->clock = s->track = 0;
}

static hb_string_id find(const hb_perfetto_sequence *s, enum hb_perfetto_table table, uint64_t iid)
{
    const hb_dict_entry *entry =
        s->tables[table].slots.size ? hb_dict_get(&s->tables[table], iid) : NULL;
    return entry ? entry->value : 0;
}

static void take_interned(hb_perfetto *f, uint32_t sequence, hb_wire w)
{
    hb_wire_field field, part;
    while (hb_wire_next(&w, &field)) {
        enum hb_perfetto_table table = field.number == 1    ? HB_PERFETTO_CATEGORIES
                                       : field.number == 2  ? HB_PERFETTO_NAMES
                                       : field.number == 3  ? HB_PERFETTO_ARGS
                                       : field.number == 29 ? HB_PERFETTO_STRINGS
                                                            : HB_PERFETTO_TABLES;
        uint64_t iid = 0;
        hb_str text = {"", 0};
        if (table == HB_PERFETTO_TABLES) continue;
        hb_wire inside = hb_wire_inside(&field);
        while (hb_wire_next(&inside, &part)) {
            if (part.number == 1) iid = part.value;
            if (part.number == 2) text = hb_wire_text(&part);
        }
        hb_dict_set(f->arena, &f->sequences.items[sequence].tables[table], iid,
                    hb_perfetto_intern(f, text));
    }
}

static void take_defaults(hb_perfetto_sequence *s, hb_wire w)
{
    hb_wire_field field, part;
    while (hb_wire_next(&w, &field)) {
        if (field.number == 58) s->clock = field.value;
        if (field.number != 11) continue;
        hb_wire inside = hb_wire_inside(&field);
        while (hb_wire_next(&inside, &part))
            if (part.number == 11) s->track = part.value;
    }
}

/* ---- events ---- */

static hb_named_arg kind_of_arg(hb_perfetto *f, hb_string_id name)
{
    bool added;
    hb_dict_entry *entry = hb_dict_add(f->arena, &f->arg_kinds, name, &added);
    if (added) entry->value = hb_named_arg_of(hb_texts_get(&f->import->texts, name));
    return (hb_named_arg)entry->value;
}

static uint32_t number_in(hb_wire w)
{
    hb_wire_field f;
    uint64_t v = 0;
    while (hb_wire_next(&w, &f))
        if (f.number == 3 || f.number == 4) v = f.value;
    return (uint32_t)HB_MIN(v, (uint64_t)UINT32_MAX);
}

static void take_text(hb_perfetto *f, hb_named_event *e, hb_named_arg arg, hb_string_id text)
{
    if (arg == HB_NAMED_OPERATOR) e->operator_name = text;
    hb_named_set_text(e, arg, hb_texts_get(&f->import->texts, text));
}

/* A DebugAnnotation. */
static void take_arg(hb_perfetto *f, const hb_perfetto_sequence *s, hb_named_event *e, hb_wire w)
{
    hb_wire_field field, value = {0};
    hb_string_id name = 0;
    uint32_t triple[3], n = 0;
    while (hb_wire_next(&w, &field)) {
        if (field.number == 1)
            name = find(s, HB_PERFETTO_ARGS, field.value);
        else if (field.number == 10)
            name = hb_perfetto_intern(f, hb_wire_text(&field));
        else if (field.number == 12 && n < 3)
            triple[n++] = number_in(hb_wire_inside(&field));
        else
            value = field;
    }
    hb_named_arg arg = name ? kind_of_arg(f, name) : HB_NAMED_IGNORED;
    if (arg == HB_NAMED_IGNORED) return;
    if (n == 3 && (arg == HB_NAMED_GRID || arg == HB_NAMED_BLOCK)) {
        e->given |= UINT64_C(1) << arg;
        memcpy(arg == HB_NAMED_GRID ? e->grid : e->block, triple, sizeof triple);
        return;
    }
    switch (value.number) {
    case 2:
    case 3:
    case 4:
    case 7: hb_named_set_int(e, arg, name, (int64_t)value.value); break;
    case 5: hb_named_set_double(e, arg, name, hb_wire_double(&value)); break;
    case 6:
        if (arg != HB_NAMED_OTHER)
            take_text(f, e, arg, hb_perfetto_intern(f, hb_wire_text(&value)));
        break;
    case 17: take_text(f, e, arg, find(s, HB_PERFETTO_STRINGS, value.value)); break;
    default: break;
    }
}

static hb_kind kind_of(hb_perfetto *f, hb_string_id category)
{
    bool added;
    hb_dict_entry *entry = hb_dict_add(f->arena, &f->kinds, category, &added);
    if (added) entry->value = hb_named_kind_of(hb_texts_get(&f->import->texts, category));
    return (hb_kind)entry->value;
}

typedef enum event_type { NO_TYPE, BEGIN, END, INSTANT, COUNTER } event_type;

/* What an event says beside its args. */
typedef struct head {
    event_type type;
    uint64_t track, flow;
    bool has_flow;
    hb_string_id name, category;
    int64_t count;
    double value;
    bool has_count, has_value;
} head;

static head take_head(hb_perfetto *f, const hb_perfetto_sequence *s, hb_wire w)
{
    hb_wire_field field;
    head h = {.track = s->track};
    while (hb_wire_next(&w, &field)) {
        switch (field.number) {
        case 3: h.category = find(s, HB_PERFETTO_CATEGORIES, field.value); break;
        case 9: h.type = (event_type)HB_MIN(field.value, 5u); break;
        case 10: h.name = find(s, HB_PERFETTO_NAMES, field.value); break;
        case 11: h.track = field.value; break;
        case 22: h.category = hb_perfetto_intern(f, hb_wire_text(&field)); break;
        case 23: h.name = hb_perfetto_intern(f, hb_wire_text(&field)); break;
        case 30:
            h.count = (int64_t)field.value;
            h.has_count = true;
            break;
        case 44:
            h.value = hb_wire_double(&field);
            h.has_value = true;
            break;
        case 36:
        case 42:
        case 47:
        case 48:
            h.flow = field.value;
            h.has_flow = true;
            break;
        default: break;
        }
    }
    return h;
}

static void take_args(hb_perfetto *f, const hb_perfetto_sequence *s, hb_named_event *e, hb_wire w)
{
    hb_wire_field field;
    while (hb_wire_next(&w, &field))
        if (field.number == 4) take_arg(f, s, e, hb_wire_inside(&field));
}

static hb_perfetto_slice *new_slice(hb_perfetto *f)
{
    hb_perfetto_slice *slice = f->spare;
    if (slice)
        f->spare = slice->below;
    else
        slice = hb_arena_alloc(f->arena, sizeof *slice);
    hb_named_event_init(&slice->event);
    return slice;
}

static void add_event(hb_perfetto *f, const hb_perfetto_track *t, hb_named_event *e)
{
    hb_named_event_add(f->import, f->processes.items[t->process], e);
}

static void set_place(hb_perfetto *f, const hb_perfetto_track *t, hb_named_event *e, const head *h)
{
    e->name = h->name;
    e->category = hb_texts_get(&f->import->texts, h->category);
    e->kind_of = kind_of(f, h->category);
    e->track = hb_texts_get(&f->import->texts, t->full_name);
    e->tid = t->row;
    e->thread_name = t->row_name;
    if (h->has_flow && !(e->given >> HB_NAMED_CORRELATION & 1))
        hb_named_set_int(e, HB_NAMED_CORRELATION, 0, (int64_t)(h->flow & INT64_MAX));
}

static void begin_slice(hb_perfetto *f, const hb_perfetto_sequence *s, const head *h, int64_t time,
                        hb_wire w, bool instant)
{
    hb_perfetto_slice *slice = new_slice(f);
    hb_perfetto_track *t = hb_perfetto_track_of(f, h->track);
    slice->event.start = slice->event.end = time;
    slice->event.instant = instant;
    take_args(f, s, &slice->event, w);
    set_place(f, t, &slice->event, h);
    if (instant) {
        add_event(f, t, &slice->event);
        slice->below = f->spare;
        f->spare = slice;
        return;
    }
    slice->below = t->open;
    t->open = slice;
}

static void end_slice(hb_perfetto *f, const hb_perfetto_sequence *s, const head *h, int64_t time,
                      hb_wire w)
{
    hb_perfetto_track *t = hb_perfetto_track_of(f, h->track);
    hb_perfetto_slice *slice = t->open;
    if (!slice) {
        f->processes.items[t->process]->rows.notes[HB_IMPORT_UNPAIRED]++;
        return;
    }
    t->open = slice->below;
    take_args(f, s, &slice->event, w);
    slice->event.end = time;
    add_event(f, t, &slice->event);
    slice->below = f->spare;
    f->spare = slice;
}

static void add_sample(hb_perfetto *f, const head *h, int64_t time)
{
    hb_perfetto_track *t = hb_perfetto_track_of(f, h->track);
    hb_import_process *p = f->processes.items[t->process];
    int64_t end = time;
    if (hb_import_drops(f->import, p, HB_IMPORT_COUNTERS) || !hb_import_times(&p->rows, time, &end))
        return;
    hb_string_id name = t->name ? t->name : h->name;
    if (!name || !(h->has_count || h->has_value)) {
        p->rows.notes[HB_IMPORT_BAD_ROWS]++;
        return;
    }
    hb_import_sample *sample = hb_import_push(f->arena, &p->rows.samples);
    sample->time = time;
    sample->name = name;
    sample->unit = t->unit;
    bool threads = t->row < INT64_C(1) << 31;
    sample->thread = hb_import_thread_of(f->arena, &p->rows, threads ? t->row : p->pid,
                                         threads ? t->row_name : 0);
    sample->value = h->has_value ? h->value : (double)h->count;
}

static void take_event(hb_perfetto *f, uint32_t sequence, int64_t time, hb_wire w)
{
    const hb_perfetto_sequence *s = &f->sequences.items[sequence];
    head h = take_head(f, s, w);
    if (time > f->last) f->last = time;
    if (hb_own_info_is(hb_texts_get(&f->import->texts, h.category))) {
        hb_perfetto_track *t = hb_perfetto_track_of(f, h.track);
        hb_own_info_take(f->import, f->processes.items[t->process],
                         hb_texts_get(&f->import->texts, h.name));
        return;
    }
    switch (h.type) {
    case BEGIN: begin_slice(f, s, &h, time, w, false); break;
    case END: end_slice(f, s, &h, time, w); break;
    case INSTANT: begin_slice(f, s, &h, time, w, true); break;
    case COUNTER: add_sample(f, &h, time); break;
    default: break;
    }
}

/* ---- packets ---- */

static void take_packet(hb_perfetto *f, hb_wire w, int depth);

static void take_packets(hb_perfetto *f, hb_wire w, int depth)
{
    hb_wire_field field;
    while (hb_wire_next(&w, &field))
        if (field.number == 1 && field.type == HB_WIRE_BYTES)
            take_packet(f, hb_wire_inside(&field), depth);
    f->lost += w.broken;
}

/* Deflated packets, as a trace of their own. */
static void take_compressed(hb_perfetto *f, hb_wire w, int depth)
{
    static const size_t most = 256 << 20;
    if (depth) {
        f->lost++;
        return;
    }
    z_stream z = {.next_in = (unsigned char *)(uintptr_t)w.at, .avail_in = (uInt)(w.end - w.at)};
    int code = inflateInit(&z);
    f->inflated.size = 0;
    while (code == Z_OK && f->inflated.size < most) {
        char *room = hb_buf_reserve(&f->inflated, 1 << 18);
        if (!room) break;
        z.next_out = (unsigned char *)room;
        z.avail_out = 1 << 18;
        code = inflate(&z, Z_NO_FLUSH);
        f->inflated.size += (1 << 18) - z.avail_out;
    }
    inflateEnd(&z);
    if (code != Z_STREAM_END) f->lost++;
    take_packets(f, hb_wire_of(f->inflated.data, f->inflated.size), depth + 1);
}

typedef struct packet {
    uint64_t timestamp, clock, sequence;
    bool cleared, dropped;
    hb_wire event, track, interned, defaults, snapshot, compressed;
} packet;

static void take_packet(hb_perfetto *f, hb_wire w, int depth)
{
    hb_wire_field field;
    packet p = {0};
    while (hb_wire_next(&w, &field)) {
        switch (field.number) {
        case 6: p.snapshot = hb_wire_inside(&field); break;
        case 8: p.timestamp = field.value; break;
        case 10: p.sequence = field.value; break;
        case 11: p.event = hb_wire_inside(&field); break;
        case 12: p.interned = hb_wire_inside(&field); break;
        case 13: p.cleared |= field.value & 1; break;
        case 41: p.cleared |= field.value != 0; break;
        case 42: p.dropped = field.value != 0; break;
        case 50: p.compressed = hb_wire_inside(&field); break;
        case 58: p.clock = field.value; break;
        case 59: p.defaults = hb_wire_inside(&field); break;
        case 60: p.track = hb_wire_inside(&field); break;
        default: break;
        }
    }
    uint32_t sequence = sequence_of(f, p.sequence);
    f->packets++;
    f->lost += w.broken || p.dropped;
    if (p.cleared) clear(&f->sequences.items[sequence]);
    if (p.interned.at) take_interned(f, sequence, p.interned);
    if (p.defaults.at) take_defaults(&f->sequences.items[sequence], p.defaults);
    if (p.snapshot.at) hb_perfetto_take_snapshot(f, sequence, p.snapshot);
    if (p.track.at) hb_perfetto_take_track(f, p.track);
    if (p.event.at)
        take_event(f, sequence, hb_perfetto_time(f, sequence, p.timestamp, p.clock), p.event);
    if (p.compressed.at) take_compressed(f, p.compressed, depth);
}

/* ---- the file ---- */

/* More bytes behind those from `at` on, which become the window's first; false: there are none. */
static bool more(hb_perfetto *f, size_t at)
{
    bool got = hb_text_more(&f->text, at);
    if (!got && f->text.result != HB_OK)
        hb_arena_leave(f->arena, f->text.result, "%s: %s", f->import->path, f->text.error);
    return got;
}

/* A packet's bytes in the window; false at the end. What a killed tool left of one is lost. */
static bool next_packet(hb_perfetto *f, size_t *at, hb_wire *inside)
{
    hb_wire_field field = {0};
    for (;;) {
        hb_wire w = hb_wire_of(f->text.data + *at, f->text.size - *at);
        bool found = hb_wire_next(&w, &field);
        if (found) {
            *at = (size_t)(w.at - (const uint8_t *)f->text.data);
            *inside = hb_wire_inside(&field);
            if (field.number == 1 && field.type == HB_WIRE_BYTES) return true;
            continue;
        }
        bool cut = f->text.size - *at < 16 || field.type == HB_WIRE_BYTES;
        uint64_t offset = f->text.offset;
        bool got = cut && more(f, *at);
        *at -= (size_t)(f->text.offset - offset);
        if (got) continue;
        f->lost += *at < f->text.size;
        return false;
    }
}

static void read_file(hb_perfetto *f)
{
    hb_wire inside;
    size_t at = 0;
    while (next_packet(f, &at, &inside)) {
        take_packet(f, inside, 0);
        if (f->packets % 65536 == 0 && !hb_import_progress(f->import, f->packets))
            hb_arena_leave(f->arena, HB_ERROR_STATE, "%s: stopped", f->import->path);
    }
}

/* Slices without an end ran when the recording ended, or their ends were lost. */
static void end_open_slices(hb_perfetto *f)
{
    for (uint32_t i = 0; i < f->tracks.count; i++)
        for (hb_perfetto_slice *s = f->tracks.items[i].open; s; s = s->below) {
            hb_import_process *p = f->processes.items[f->tracks.items[i].process];
            p->rows.notes[HB_IMPORT_UNPAIRED]++;
            s->event.end = f->last;
            s->event.unfinished = true;
            hb_named_event_add(f->import, p, &s->event);
        }
}

static void close_file(void *context)
{
    hb_perfetto *f = context;
    hb_text_close(&f->text);
    hb_buf_free(&f->inflated);
}

/* Whether what stands in a packet can be fields of one: times, sequences, descriptions. */
static int look_at_packet(hb_wire w)
{
    static const uint8_t numbers[] = {8, 10, 13, 41, 42, 58, 79, 87};
    static const uint8_t messages[] = {6, 11, 12, 33, 35, 36, 43, 44, 50, 59, 60};
    hb_wire_field field;
    int known = 0;
    while (hb_wire_next(&w, &field)) {
        bool bytes = field.type == HB_WIRE_BYTES;
        bool here = field.number <= UINT8_MAX &&
                    (bytes ? memchr(messages, (int)field.number, sizeof messages)
                           : memchr(numbers, (int)field.number, sizeof numbers));
        known += here;
        if (!here && field.number <= 13) return -1;
    }
    return known;
}

bool hb_perfetto_probe(const hb_import_probe *probe)
{
    uint64_t size;
    int known = 0;
    hb_wire w = hb_wire_of(probe->head, probe->size);
    for (int packets = 0; packets < 4 && w.at < w.end && *w.at == 0x0a; packets++) {
        w.at++;
        if (!hb_wire_varint(&w, &size) || size == 0) return false;
        size_t here = (size_t)HB_MIN(size, (uint64_t)(w.end - w.at));
        int found = look_at_packet(hb_wire_of(w.at, here));
        if (found < 0) return false;
        known += found;
        w.at += here;
    }
    return known >= 2;
}

void hb_perfetto_open(hb_import *import, const char *path)
{
    hb_perfetto *f = hb_arena_alloc(&import->arena, sizeof *f);
    f->import = import;
    f->arena = &import->arena;
    f->first_pid = -1;
    hb_buf_init(&f->inflated, SIZE_MAX / 2);
    hb_result result = hb_text_open(&f->text, path, HB_TEXT_AUTO);
    if (result != HB_OK) hb_arena_leave(f->arena, result, "%s", hb_last_error());
    hb_import_guard(import, close_file, f);
    read_file(f);
    end_open_slices(f);
    hb_perfetto_name_processes(f);
    for (uint32_t i = 0; i < f->processes.count; i++) {
        hb_import_process *p = f->processes.items[i];
        hb_named_events_finish(import, p);
        p->rows.notes[HB_IMPORT_LOST] += i ? 0 : f->lost;
        p->clock_is_unix = f->has_unix;
        p->offset = f->to_unix;
    }
    hb_import_unguard(import);
}
