/* SPDX-License-Identifier: MIT
 *
 * What hangs on events: what calls were given, counters of kernels, samples of GPUs.
 */
#include "import/rocpd.h"
#include "import/rows_shared.h"

/* ---- calls ---- */

static void give_args(hb_rocpd *r, const hb_rocpd_event *event, hb_import_call_args *args)
{
    if (!event || event->kind != HB_ROCPD_CALL) return;
    hb_import_process *p = r->process_list.items[event->process];
    hb_import_host *call = hb_column_at(&p->rows.calls, event->row);
    call->args = hb_import_add_args(r->arena, &p->rows, args);
}

/* The arguments of one call lie together. */
static void read_args(hb_rocpd *r)
{
    hb_import_call_args args;
    const hb_rocpd_event *last = NULL;
    hb_sqlite_rows rows = hb_rocpd_select(r, "arg", "event_id, type, name, value");
    while (hb_sqlite_next(&rows)) {
        const hb_rocpd_event *event = hb_rocpd_event_of(r, &rows, 0);
        if (event != last) {
            give_args(r, last, &args);
            memset(&args, 0, sizeof args);
        }
        last = event;
        if (event && event->kind == HB_ROCPD_CALL)
            hb_import_take_arg(&args, hb_sqlite_view(&rows, 1), hb_sqlite_view(&rows, 2),
                               hb_sqlite_view(&rows, 3));
    }
    hb_rocpd_done(r, &rows);
    give_args(r, last, &args);
}

/* ---- counters ---- */

static void read_counters(hb_rocpd *r)
{
    hb_sqlite_rows rows = hb_rocpd_select(r, "info_pmc", "id, symbol, name, units");
    while (hb_sqlite_next(&rows)) {
        hb_str name = hb_sqlite_text(&rows, 1), unit = hb_sqlite_text(&rows, 3);
        if (!name.len) name = hb_sqlite_text(&rows, 2);
        hb_rocpd_counter *counter = HB_PUSH(r->arena, &r->counter_list);
        counter->name = hb_texts_add(&r->import->texts, name.s, name.len);
        counter->unit = unit.len ? hb_texts_add(&r->import->texts, unit.s, unit.len) : 0;
        hb_id_index_set(r->arena, &r->counters, (uint64_t)hb_sqlite_int(&rows, 0),
                        r->counter_list.count);
    }
    hb_rocpd_done(r, &rows);
}

/* One value of one kernel; one instance of the counter, of which there are many. */
typedef struct reading {
    uint32_t process, work;
    hb_string_id name;
    uint32_t event; /* its place: a later pass of the kernel has a later one */
    double value;
} reading;

static bool is_before(const void *context, const void *a, const void *b)
{
    const reading *x = a, *y = b;
    (void)context;
    if (x->process != y->process) return x->process < y->process;
    if (x->work != y->work) return x->work < y->work;
    return x->name != y->name ? x->name < y->name : x->event < y->event;
}

static bool same(const reading *a, const reading *b)
{
    return a->process == b->process && a->work == b->work && a->name == b->name;
}

/* Instances are summed, as the tool's own tables have it; of several passes the first counts. */
static void give_counters(hb_rocpd *r, reading *items, uint32_t count)
{
    hb_sort(r->arena, items, count, sizeof *items, is_before, NULL);
    for (uint32_t i = 0; i < count;) {
        hb_import_process *p = r->process_list.items[items[i].process];
        hb_import_work *work = hb_column_at(&p->rows.works, items[i].work);
        hb_import_value *value = hb_import_push(r->arena, &p->rows.values);
        if (!work->num_values) work->values = p->rows.values.count - 1;
        work->num_values++;
        p->serialised = true;
        value->name = items[i].name;
        uint32_t first = i;
        for (; i < count && same(&items[i], &items[first]); i++)
            if (items[i].event == items[first].event) value->value += items[i].value;
    }
}

static void add_sample(hb_rocpd *r, const hb_rocpd_event *event, hb_string_id unit, double value)
{
    hb_import_process *p = r->process_list.items[event->process];
    hb_import_sample *sample = hb_import_push(r->arena, &p->rows.samples);
    *sample = r->sample_list.items[event->row];
    sample->unit = unit;
    sample->value = value;
}

/* Drops are counted at the process of their event. */
static void read_values(hb_rocpd *r)
{
    HB_VEC(reading) readings = {0};
    hb_sqlite_rows rows = hb_rocpd_select(r, "pmc_event", "event_id, pmc_id, value");
    while (hb_sqlite_next(&rows)) {
        uint32_t place = hb_rocpd_event_place(r, &rows, 0);
        const hb_rocpd_event *event = place ? hb_column_at(&r->event_list, place - 1) : NULL;
        uint32_t i = hb_id_index_get(&r->counters, (uint64_t)hb_sqlite_int(&rows, 1));
        double value = hb_sqlite_double(&rows, 2);
        if (!event || !i || event->kind == HB_ROCPD_NOTHING) continue;
        if (hb_import_drops(r->import, r->process_list.items[event->process], HB_IMPORT_COUNTERS))
            continue;
        if (event->kind == HB_ROCPD_SAMPLE)
            add_sample(r, event, r->counter_list.items[i - 1].unit, value);
        else if (event->kind == HB_ROCPD_WORK)
            *HB_PUSH(r->arena, &readings) = (reading){
                event->process, event->row, r->counter_list.items[i - 1].name, place, value};
    }
    hb_rocpd_done(r, &rows);
    give_counters(r, readings.items, readings.count);
}

/* ---- samples ---- */

/* A row of samples: whose they are, and what of. */
typedef struct track {
    hb_import_process *process;
    uint32_t thread, index;
    hb_string_id name;
} track;

typedef HB_VEC(track) tracks;

static void read_tracks(hb_rocpd *r, tracks *list)
{
    hb_sqlite_rows rows = hb_rocpd_select(r, "track", "id, pid, tid, name_id");
    while (hb_sqlite_next(&rows)) {
        hb_import_process *p = hb_rocpd_process(r, hb_rocpd_id(&rows, 1));
        if (!p) continue;
        track *t = HB_PUSH(r->arena, list);
        *t = (track){p, 0, 0, hb_rocpd_string(r, &rows, 3)};
        /* What belongs to no thread stands beside the first one. */
        t->thread = hb_sqlite_is_null(&rows, 2) ? hb_import_thread_of(r->arena, &p->rows, p->pid, 0)
                                                : hb_rocpd_thread(r, p, hb_rocpd_id(&rows, 2));
        while (r->process_list.items[t->index] != p)
            t->index++;
        hb_id_index_set(r->arena, &r->sample_tracks, (uint64_t)hb_sqlite_int(&rows, 0),
                        list->count);
    }
    hb_rocpd_done(r, &rows);
}

static void note_sample(hb_rocpd *r, const hb_sqlite_rows *rows, const track *t)
{
    int64_t time = hb_sqlite_int(rows, 1), end = time;
    hb_rocpd_event *event = hb_rocpd_event_of(r, rows, 2);
    hb_string_id own = hb_rocpd_string(r, rows, 3), name = own ? own : t->name;
    if (!event || !name) {
        t->process->rows.notes[HB_IMPORT_NOT_SHOWN]++;
        return;
    }
    if (!hb_import_times(&t->process->rows, time, &end)) return;
    *HB_PUSH(r->arena, &r->sample_list) =
        (hb_import_sample){.time = time, .name = name, .thread = t->thread};
    event->process = (uint16_t)t->index;
    event->kind = HB_ROCPD_SAMPLE;
    event->row = r->sample_list.count - 1;
}

static void read_samples(hb_rocpd *r)
{
    tracks list = {0};
    read_tracks(r, &list);
    hb_sqlite_rows rows = hb_rocpd_select(r, "sample", "track_id, timestamp, event_id, name_id");
    while (hb_sqlite_next(&rows)) {
        uint32_t i = hb_id_index_get(&r->sample_tracks, (uint64_t)hb_sqlite_int(&rows, 0));
        if (i) note_sample(r, &rows, &list.items[i - 1]);
    }
    hb_id_index_free(r->arena, &r->sample_tracks);
    hb_rocpd_done(r, &rows);
}

void hb_rocpd_read_values(hb_rocpd *r)
{
    read_args(r);
    read_counters(r);
    read_samples(r);
    read_values(r);
}
