/* SPDX-License-Identifier: MIT */
#include "import/perfetto.h"

#include <stdio.h>
#include <stdlib.h>

hb_string_id hb_perfetto_intern(hb_perfetto *f, hb_str text)
{
    hb_string_id id = hb_texts_add(&f->import->texts, text.s ? text.s : "", text.len);
    if (!id) hb_arena_leave(f->arena, HB_ERROR_NO_MEMORY, "out of memory");
    return id;
}

/* ---- clocks ---- */

enum { MAX_CLOCKS = 32 };

typedef struct snapshot {
    uint32_t count;
    hb_perfetto_clock clocks[MAX_CLOCKS];
} snapshot;

static void take_clock(snapshot *s, hb_wire w)
{
    hb_wire_field f;
    hb_perfetto_clock c = {.unit = 1};
    while (hb_wire_next(&w, &f)) {
        if (f.number == 1) c.id = f.value;
        if (f.number == 2) c.last = (int64_t)HB_MIN(f.value, (uint64_t)INT64_MAX / 4);
        if (f.number == 3) c.counts_on = f.value != 0;
        if (f.number == 4) c.unit = (int64_t)HB_MIN(HB_MAX(f.value, 1u), (uint64_t)1000000000);
    }
    if (s->count < MAX_CLOCKS) s->clocks[s->count++] = c;
}

static const hb_perfetto_clock *find_clock(const snapshot *s, uint64_t id)
{
    for (uint32_t i = 0; i < s->count; i++)
        if (s->clocks[i].id == id) return &s->clocks[i];
    return NULL;
}

static int64_t times(int64_t value, int64_t unit)
{
    int64_t product;
    return __builtin_mul_overflow(value, unit, &product) || product > INT64_MAX / 4 ? INT64_MAX / 4
                                                                                    : product;
}

static void set_own_clock(hb_perfetto *f, uint32_t sequence, const hb_perfetto_clock *c,
                          int64_t here)
{
    hb_perfetto_sequence *s = &f->sequences.items[sequence];
    hb_perfetto_clock *to = NULL;
    for (uint32_t i = 0; i < s->clocks.count; i++)
        if (s->clocks.items[i].id == c->id) to = &s->clocks.items[i];
    if (!to) to = HB_PUSH(f->arena, &s->clocks);
    *to = *c;
    to->offset = here - times(c->last, c->unit);
}

/* All clocks at one moment; the trace's is the one since boot, or the first. */
void hb_perfetto_take_snapshot(hb_perfetto *f, uint32_t sequence, hb_wire message)
{
    hb_wire_field field;
    snapshot s = {0};
    while (hb_wire_next(&message, &field))
        if (field.number == 1) take_clock(&s, hb_wire_inside(&field));
    const hb_perfetto_clock *base = find_clock(&s, HB_PERFETTO_BOOTTIME);
    const hb_perfetto_clock *unix_clock = find_clock(&s, HB_PERFETTO_REALTIME);
    if (!base && s.count) base = &s.clocks[0];
    if (!base) return;
    int64_t here = times(base->last, base->unit);
    if (base->id < HB_PERFETTO_OWN_CLOCKS) here += f->has_snapshot ? f->offsets[base->id] : 0;
    for (uint32_t i = 0; i < s.count; i++) {
        const hb_perfetto_clock *c = &s.clocks[i];
        if (c->id >= HB_PERFETTO_OWN_CLOCKS)
            set_own_clock(f, sequence, c, here);
        else if (!f->has_snapshot)
            f->offsets[c->id] = here - times(c->last, c->unit);
    }
    if (!f->has_unix && unix_clock) {
        f->to_unix = times(unix_clock->last, unix_clock->unit) - here;
        f->has_unix = true;
    }
    f->has_snapshot = true;
}

int64_t hb_perfetto_time(hb_perfetto *f, uint32_t sequence, uint64_t timestamp, uint64_t clock)
{
    hb_perfetto_sequence *s = &f->sequences.items[sequence];
    /* What is no time stays none. */
    int64_t t = (int64_t)HB_MIN(timestamp, (uint64_t)INT64_MAX / 4 + 1);
    if (!clock) clock = s->clock ? s->clock : HB_PERFETTO_BOOTTIME;
    if (clock < HB_PERFETTO_OWN_CLOCKS) return t + f->offsets[clock];
    for (uint32_t i = 0; i < s->clocks.count; i++) {
        hb_perfetto_clock *c = &s->clocks.items[i];
        if (c->id != clock) continue;
        if (c->counts_on) t = c->last = HB_MIN(c->last + t, INT64_MAX / 4);
        return times(t, c->unit) / 2 + c->offset / 2 > INT64_MAX / 8
                   ? INT64_MAX / 4
                   : times(t, c->unit) + c->offset;
    }
    return -1; /* of a snapshot that was lost */
}

/* ---- rows ---- */

static uint32_t find_track(hb_perfetto *f, uint64_t uuid)
{
    bool added;
    hb_dict_entry *entry = hb_dict_add(f->arena, &f->track_ids, uuid, &added);
    if (!added) return entry->value;
    entry->value = f->tracks.count;
    *HB_PUSH(f->arena, &f->tracks) = (hb_perfetto_track){.uuid = uuid, .pid = -1, .tid = -1};
    return f->tracks.count - 1;
}

static void take_process(hb_perfetto *f, hb_perfetto_track *t, hb_wire w)
{
    hb_wire_field field;
    while (hb_wire_next(&w, &field)) {
        if (field.number == 1) t->pid = (int32_t)field.value;
        if (field.number == 6) t->name = hb_perfetto_intern(f, hb_wire_text(&field));
    }
    if (f->first_pid < 0) f->first_pid = t->pid;
}

static void take_thread(hb_perfetto *f, hb_perfetto_track *t, hb_wire w)
{
    hb_wire_field field;
    while (hb_wire_next(&w, &field)) {
        if (field.number == 1) t->pid = (int32_t)field.value;
        if (field.number == 2) t->tid = (int64_t)field.value;
        if (field.number == 5) t->thread_name = hb_perfetto_intern(f, hb_wire_text(&field));
    }
    if (f->first_pid < 0) f->first_pid = t->pid;
}

static void take_counter(hb_perfetto *f, hb_perfetto_track *t, hb_wire w)
{
    hb_wire_field field;
    t->counts = true;
    while (hb_wire_next(&w, &field)) {
        if (field.number == 6) t->unit = hb_perfetto_intern(f, hb_wire_text(&field));
        if (field.number == 3 && field.value == 3) t->unit = hb_perfetto_intern(f, HB_STR("bytes"));
    }
}

void hb_perfetto_take_track(hb_perfetto *f, hb_wire message)
{
    hb_wire_field field;
    uint64_t uuid = 0;
    hb_wire w = message;
    while (hb_wire_next(&w, &field))
        if (field.number == 1) uuid = field.value;
    uint32_t i = find_track(f, uuid);
    hb_perfetto_track *t = &f->tracks.items[i];
    t->known = false;
    while (hb_wire_next(&message, &field)) {
        switch (field.number) {
        case 2:
        case 10: t->name = hb_perfetto_intern(f, hb_wire_text(&field)); break;
        case 3: take_process(f, t, hb_wire_inside(&field)); break;
        case 4: take_thread(f, t, hb_wire_inside(&field)); break;
        case 5: t->parent = field.value; break;
        case 8: take_counter(f, t, hb_wire_inside(&field)); break;
        default: break;
        }
    }
}

/* "train" of "/usr/bin/train" */
static void set_program(hb_perfetto *f, hb_import_process *p, hb_string_id name)
{
    hb_str text = hb_texts_get(&f->import->texts, name);
    const char *slash = text.len ? memrchr(text.s, '/', text.len) : NULL;
    if (slash) text = (hb_str){slash + 1, text.len - (uint32_t)(slash + 1 - text.s)};
    p->program = hb_import_copy_text(f->import, text);
}

static uint32_t process_of(hb_perfetto *f, int64_t pid, hb_string_id name)
{
    for (uint32_t i = 0; i < f->processes.count; i++)
        if (f->processes.items[i]->pid == pid) return i;
    hb_import_process *p = hb_import_add_process(f->import, "Perfetto", "");
    *HB_PUSH(f->arena, &f->processes) = p;
    p->pid = pid;
    set_program(f, p, name);
    return f->processes.count - 1;
}

void hb_perfetto_name_processes(hb_perfetto *f)
{
    for (uint32_t i = 0; i < f->tracks.count; i++) {
        const hb_perfetto_track *t = &f->tracks.items[i];
        if (t->pid < 0 || t->tid >= 0 || !t->name) continue;
        for (uint32_t k = 0; k < f->processes.count; k++) {
            hb_import_process *p = f->processes.items[k];
            if (p->pid == t->pid && !*p->program) set_program(f, p, t->name);
        }
    }
}

/* "THREAD 3 (4712)" of rocprofv3, whose rows are none of threads. */
static int64_t tid_in_name(hb_str name)
{
    const char *open = name.len ? memrchr(name.s, '(', name.len) : NULL;
    bool digits = open && open + 1 < name.s + name.len && open[1] >= '0' && open[1] <= '9';
    return digits && hb_str_begins(name, "THREAD") ? (int64_t)strtoull(open + 1, NULL, 10) : -1;
}

/* Of itself and what it stands in: names from the outside to the inside. */
static void resolve(hb_perfetto *f, hb_perfetto_track *t)
{
    enum { DEPTH = 16 };
    char name[512] = "";
    const hb_perfetto_track *line[DEPTH] = {t};
    uint32_t depth = 1;
    int64_t pid = -1, tid = -1;
    hb_string_id process_name = 0, thread_name = 0;
    while (depth < DEPTH && line[depth - 1]->parent) {
        hb_dict_entry *up = hb_dict_get(&f->track_ids, line[depth - 1]->parent);
        if (!up) break;
        line[depth++] = &f->tracks.items[up->value];
    }
    for (uint32_t i = depth; i-- > 0;) {
        const hb_perfetto_track *at = line[i];
        if (at->pid >= 0) pid = at->pid;
        if (at->pid >= 0 && at->tid < 0) process_name = at->name;
        if (at->tid >= 0) tid = at->tid;
        if (at->thread_name) thread_name = at->thread_name;
        hb_str text = hb_texts_get(&f->import->texts, at->name);
        if (tid < 0) tid = tid_in_name(text);
        size_t n = strlen(name);
        snprintf(name + n, sizeof name - n, "%s%.*s", n ? " / " : "", (int)HB_MIN(text.len, 200u),
                 text.len ? text.s : "");
    }
    t->process = process_of(f, pid >= 0 ? pid : HB_MAX(f->first_pid, 0), process_name);
    t->full_name = hb_perfetto_intern(f, (hb_str){name, (uint32_t)strlen(name)});
    t->row = tid >= 0 ? tid : INT64_C(1) << 31 | (t - f->tracks.items);
    t->row_name = thread_name ? thread_name : tid < 0 ? t->name : 0;
    t->known = true;
}

hb_perfetto_track *hb_perfetto_track_of(hb_perfetto *f, uint64_t uuid)
{
    uint32_t i = find_track(f, uuid);
    hb_perfetto_track *t = &f->tracks.items[i];
    if (HB_UNLIKELY(!t->known)) resolve(f, t);
    return t;
}
