/* SPDX-License-Identifier: MIT
 *
 * rocprof's results.json (v1): Chrome's format, of which times are in whole microseconds and all
 * numbers in quotes; the args have them in ns. Arrows of the category DataFlow lead from calls to
 * what they launched: by places and times.
 */
#include <stdlib.h>

#include "base/json_members.h"
#include "import/json_cursor.h"
#include "import/rocprof1.h"
#include "import/whole_file.h"

/* What pids of the file mean; GPUs from 6 on. */
enum { RANGES, COPIES, HIP, HSA, FIRST_GPU = 6, BARRIERS = 512 };

typedef struct arrow {
    int64_t id, tid, pid, us;
} arrow;

typedef struct placed_work {
    int64_t pid, us;
    uint32_t process, row;
} placed_work;

typedef struct placed_call {
    int64_t tid, start, end;
    uint32_t process, row;
} placed_call;

typedef struct file {
    hb_rocprof1 r;
    hb_json_cursor c;
    char *text;
    HB_VEC(arrow) begins, ends;
    HB_VEC(placed_work) works;
    HB_VEC(placed_call) calls;
} file;

static int64_t number_of(const hb_value *v)
{
    int64_t number;
    if (hb_value_int(v, &number)) return number;
    if (v->type != HB_JSON_STRING || !v->size || v->size > 19) return -1;
    for (size_t i = 0; i < v->size; i++)
        if (v->s[i] < '0' || v->s[i] > '9') return -1;
    return (int64_t)strtoull(v->s, NULL, 10);
}

/* ---- events ---- */

typedef struct event {
    hb_value ph, ts, pid, tid, id, args;
} event;

static bool take_member(void *context, const hb_value *key, const hb_value *value)
{
    const struct {
        const char *name;
        size_t offset;
    } members[] = {
        {"ph", offsetof(event, ph)},   {"ts", offsetof(event, ts)}, {"pid", offsetof(event, pid)},
        {"tid", offsetof(event, tid)}, {"id", offsetof(event, id)}, {"args", offsetof(event, args)},
    };
    for (size_t i = 0; i < HB_ARRAY_LEN(members); i++)
        if (hb_value_is(key, members[i].name))
            *(hb_value *)((char *)context + members[i].offset) = *value;
    return true;
}

typedef struct reading {
    hb_import *import;
    hb_rocprof1_event event;
} reading;

static bool take_arg(void *context, const hb_value *key, const hb_value *value)
{
    reading *r = context;
    hb_rocprof1_event *e = &r->event;
    const struct {
        const char *name;
        int64_t *to;
    } numbers[] = {
        {"BeginNs", &e->start}, {"EndNs", &e->end},      {"pid", &e->pid},
        {"tid", &e->tid},       {"queue-id", &e->queue}, {"stream-id", &e->stream},
        {"dev-id", &e->device},
    };
    for (size_t i = 0; i < HB_ARRAY_LEN(numbers); i++)
        if (hb_value_is(key, numbers[i].name)) *numbers[i].to = number_of(value);
    if (hb_value_is(key, "Name")) e->name = hb_import_text_of(r->import, value);
    if (hb_value_is(key, "args")) e->args = hb_import_text_of(r->import, value);
    return true;
}

static uint32_t last_process(const file *f, int64_t pid)
{
    uint32_t i = 0;
    while (f->r.processes.items[i]->pid != pid)
        i++;
    return i;
}

static void add_host(file *f, const hb_rocprof1_event *e, enum hb_import_part part)
{
    if (!hb_rocprof1_add_host(&f->r, e, part) || part == HB_IMPORT_RANGES) return;
    uint32_t i = last_process(f, e->pid);
    *HB_PUSH(&f->r.import->arena, &f->calls) =
        (placed_call){e->tid, e->start, e->end, i, f->r.processes.items[i]->rows.calls.count - 1};
}

static void add_work(file *f, const hb_rocprof1_event *e, int64_t row, int64_t us)
{
    if (!hb_rocprof1_add_work(&f->r, e, row == COPIES)) return;
    uint32_t i = last_process(f, e->pid);
    *HB_PUSH(&f->r.import->arena, &f->works) =
        (placed_work){row, us, i, f->r.processes.items[i]->rows.works.count - 1};
}

static void add_complete(file *f, const event *at)
{
    reading r = {f->r.import, {-1, -1, 0, 0, -1, -1, -1, 0, {"", 0}, {"", 0}}};
    hb_rocprof1_event *e = &r.event;
    int64_t row = number_of(&at->pid);
    if (at->args.type == HB_JSON_OBJECT)
        hb_json_each_member((hb_str){at->args.s, (uint32_t)at->args.size}, take_arg, &r);
    if (row >= FIRST_GPU && e->device < 0) e->device = row - FIRST_GPU;
    if (row == RANGES)
        add_host(f, e, HB_IMPORT_RANGES);
    else if (row == HIP || row == HSA)
        add_host(f, e, row == HIP ? HB_IMPORT_HIP : HB_IMPORT_HSA);
    else if (row == COPIES || (row >= FIRST_GPU && row < BARRIERS))
        add_work(f, e, row, number_of(&at->ts));
    else
        hb_rocprof1_process(&f->r, e->pid)->rows.notes[HB_IMPORT_NOT_SHOWN]++;
}

static void add_event(file *f, const hb_value *v)
{
    event e = {0};
    if (v->type != HB_JSON_OBJECT) return;
    hb_json_each_member((hb_str){v->s, (uint32_t)v->size}, take_member, &e);
    arrow a = {number_of(&e.id), number_of(&e.tid), number_of(&e.pid), number_of(&e.ts)};
    if (hb_value_is(&e.ph, "X"))
        add_complete(f, &e);
    else if (hb_value_is(&e.ph, "s"))
        *HB_PUSH(&f->r.import->arena, &f->begins) = a;
    else if (hb_value_is(&e.ph, "t"))
        *HB_PUSH(&f->r.import->arena, &f->ends) = a;
}

/* ---- arrows ---- */

static bool arrow_before(const void *context, const void *a, const void *b)
{
    (void)context;
    return ((const arrow *)a)->id < ((const arrow *)b)->id;
}

static bool work_before(const void *context, const void *a, const void *b)
{
    const placed_work *x = a, *y = b;
    (void)context;
    return x->us < y->us;
}

static bool call_before(const void *context, const void *a, const void *b)
{
    const placed_call *x = a, *y = b;
    (void)context;
    return x->tid != y->tid ? x->tid < y->tid : x->start < y->start;
}

static const placed_call *call_at(const file *f, const arrow *a)
{
    uint32_t low = 0, high = f->calls.count;
    if (a->us < 0 || a->us >= INT64_MAX / 1000) return NULL;
    int64_t end_of_us = a->us * 1000 + 999;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const placed_call *c = &f->calls.items[middle];
        if (c->tid < a->tid || (c->tid == a->tid && c->start <= end_of_us))
            low = middle + 1;
        else
            high = middle;
    }
    const placed_call *c = low ? &f->calls.items[low - 1] : NULL;
    return c && c->tid == a->tid && c->end >= a->us * 1000 ? c : NULL;
}

static hb_import_work *work_at(file *f, const arrow *a)
{
    size_t i = HB_LOWER_BOUND(f->works.items, f->works.count, us, a->us);
    for (; i < f->works.count && f->works.items[i].us == a->us; i++) {
        const placed_work *w = &f->works.items[i];
        hb_import_rows *rows = &f->r.processes.items[w->process]->rows;
        hb_import_work *work = hb_column_at(&rows->works, w->row);
        if (w->pid == a->pid && !work->correlation) return work;
    }
    return NULL;
}

static void join(file *f)
{
    hb_arena *arena = &f->r.import->arena;
    hb_sort(arena, f->begins.items, f->begins.count, sizeof(arrow), arrow_before, NULL);
    hb_sort(arena, f->works.items, f->works.count, sizeof(placed_work), work_before, NULL);
    hb_sort(arena, f->calls.items, f->calls.count, sizeof(placed_call), call_before, NULL);
    for (uint32_t i = 0; i < f->ends.count; i++) {
        const arrow *end = &f->ends.items[i];
        size_t k = HB_LOWER_BOUND(f->begins.items, f->begins.count, id, end->id);
        bool found = k < f->begins.count && f->begins.items[k].id == end->id;
        const placed_call *c = found ? call_at(f, &f->begins.items[k]) : NULL;
        hb_import_work *work = c ? work_at(f, end) : NULL;
        if (!work) continue;
        hb_import_rows *rows = &f->r.processes.items[c->process]->rows;
        work->correlation = (uint64_t)c->row + 1;
        ((hb_import_host *)hb_column_at(&rows->calls, c->row))->correlation = (uint64_t)c->row + 1;
    }
}

/* ---- the file ---- */

static void close_file(void *context)
{
    file *f = context;
    free(f->text);
    f->text = NULL;
}

bool hb_rocprof1_json_probe(const hb_import_probe *probe)
{
    const char *p = hb_scan_space(probe->head);
    if (*p != '{') return false;
    p = hb_scan_space(p + 1);
    return strncmp(p, "\"traceEvents\"", 13) == 0 &&
           (memmem(probe->head, probe->size, "\"BeginNs\":", 10) ||
            memmem(probe->head, probe->size, "\"CPU HIP API\"", 13));
}

void hb_rocprof1_json_open(hb_import *import, const char *path)
{
    size_t size;
    hb_value key;
    bool first = true, first_event = true;
    file *f = hb_arena_alloc(&import->arena, sizeof *f);
    f->r.import = import;
    hb_import_guard(import, close_file, f);
    hb_result result = hb_whole_file(path, &f->text, &size);
    if (result != HB_OK) hb_arena_leave(&import->arena, result, "%s", hb_last_error());
    f->c = hb_json_cursor_at(f->text, size, &import->arena, path);
    bool object = hb_json_enter(&f->c, '{');
    while (object && hb_json_next_member(&f->c, &first, &key)) {
        bool events = hb_value_is(&key, "traceEvents") && hb_json_enter(&f->c, '[');
        if (!events) {
            if (!hb_value_is(&key, "traceEvents")) (void)hb_json_read(&f->c);
            continue;
        }
        while (hb_json_next_element(&f->c, &first_event)) {
            hb_value v = hb_json_read(&f->c);
            add_event(f, &v);
        }
    }
    join(f);
    hb_rocprof1_finish(&f->r);
    hb_import_unguard(import);
}
