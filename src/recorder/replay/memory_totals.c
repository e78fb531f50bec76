/* SPDX-License-Identifier: MIT */
#include "replay/memory_totals.h"

#include <stdlib.h>

/* ---- modules ---- */

typedef struct open_module {
    uint64_t end; /* 0: none */
    uint32_t id;
} open_module;

typedef struct open_modules {
    uint32_t depth;
    open_module open[HB_OPEN_MAX];
} open_modules;

bool hb_number_module(hb_module_numbers *numbers, hb_merge_thread *t, hb_module_ids *ids)
{
    open_modules *o = t->user ? t->user : (t->user = calloc(1, sizeof *o));
    if (!o) return false;
    const hb_record *r = t->record;
    while (o->depth && o->open[o->depth - 1].end && o->open[o->depth - 1].end <= r->start)
        o->depth--;
    ids->parent_id = o->depth ? o->open[o->depth - 1].id : 0;
    ids->id = ++numbers->last_id;
    if (o->depth < HB_OPEN_MAX) o->open[o->depth++] = (open_module){r->end, ids->id};
    return true;
}

void hb_numbers_free(hb_merge *merge)
{
    for (uint32_t i = 0; i < merge->num_threads; i++)
        free(merge->threads[i].user);
}

/* ---- memory: running totals per device ---- */

typedef struct device_total {
    int32_t type, id;
    int64_t allocated, lowest;
    int64_t sum;           /* of all records */
    int64_t held, foreign; /* as it began, where that is known; and freed beside it */
    int64_t kept;          /* by allocators, beyond what is allocated */
} device_total;

typedef struct totals_of_devices {
    hb_buf devices;    /* device_total */
    device_total none; /* without memory */
} totals_of_devices;

static device_total *total_of(totals_of_devices *ts, const hb_record_memory *r)
{
    device_total *all = (device_total *)ts->devices.data;
    size_t n = ts->devices.size / sizeof *all;
    for (size_t i = 0; i < n; i++)
        if (all[i].type == r->device_type && all[i].id == r->device_id) return &all[i];
    device_total added = {.type = r->device_type, .id = r->device_id};
    hb_buf_append(&ts->devices, &added, sizeof added);
    return ts->devices.failed ? &ts->none : (device_total *)ts->devices.data + n;
}

static void add_up(device_total *d, const hb_record_memory *r)
{
    if (!(r->head.flags & HB_RECORD_OOM))
        d->allocated = (int64_t)((uint64_t)d->allocated + (uint64_t)r->bytes);
}

static void find_lowest(totals_of_devices *ts, const hb_record_memory *r)
{
    device_total *d = total_of(ts, r);
    if (r->head.flags & HB_RECORD_HELD) {
        d->held = r->total_allocated;
        return;
    }
    if (r->total_allocated >= 0) return;
    if (r->head.flags & HB_RECORD_FOREIGN)
        d->foreign = (int64_t)((uint64_t)d->foreign - (uint64_t)r->bytes);
    add_up(d, r);
    d->lowest = HB_MIN(d->lowest, d->allocated);
}

/* Who does not know what is kept, as of a failed allocation, lets the last who did stand. */
static int64_t reserved_of(totals_of_devices *ts, const hb_record_memory *r, int64_t allocated)
{
    if (r->total_reserved >= 0) return r->total_reserved;
    if (r->device_type == HB_DEVICE_CPU) return 0;
    device_total *d = total_of(ts, r);
    if (r->total_reserved < -1)
        d->kept = (int64_t)(0 - (uint64_t)r->total_reserved - 2); /* HB_RESERVED_BEYOND() */
    return (int64_t)((uint64_t)allocated + (uint64_t)d->kept);
}

static hb_memory_total total_at(totals_of_devices *ts, const hb_record_memory *r)
{
    hb_memory_total total = {.allocated = r->total_allocated};
    bool held = r->head.flags & HB_RECORD_HELD;
    if (r->total_allocated < 0 || held) {
        device_total *d = total_of(ts, r);
        if (!held) add_up(d, r);
        total.allocated = d->allocated;
    }
    total.reserved = reserved_of(ts, r, total.allocated);
    return total;
}

static hb_result find_starts(totals_of_devices *ts, const hb_spool_view *view,
                             const hb_session *session)
{
    hb_merge m;
    const hb_merge_thread *t;
    HB_TRY(hb_merge_open(&m, view, session, 1u << HB_RECORD_MEMORY));
    while ((t = hb_merge_next(&m)))
        find_lowest(ts, (const hb_record_memory *)t->record);
    hb_merge_close(&m);
    return HB_OK;
}

static bool make_lists(hb_memory_totals *totals, uint32_t num_threads)
{
    totals->threads = calloc((size_t)num_threads + 1, sizeof *totals->threads);
    totals->num_threads = totals->threads ? num_threads : 0;
    for (uint32_t i = 0; i < totals->num_threads; i++)
        hb_buf_init(&totals->threads[i], SIZE_MAX / 2);
    return totals->threads != NULL;
}

static hb_result add_totals(hb_memory_totals *totals, totals_of_devices *ts,
                            const hb_spool_view *view, const hb_session *session)
{
    hb_merge m;
    const hb_merge_thread *t;
    HB_TRY(hb_merge_open(&m, view, session, 1u << HB_RECORD_MEMORY));
    bool failed = !make_lists(totals, m.num_threads);
    while (!failed && (t = hb_merge_next(&m))) {
        hb_memory_total total = total_at(ts, (const hb_record_memory *)t->record);
        hb_buf_append(&totals->threads[t->index], &total, sizeof total);
        failed = totals->threads[t->index].failed;
    }
    hb_merge_close(&m);
    return failed ? hb_fail(HB_ERROR_NO_MEMORY, "no memory for memory totals") : HB_OK;
}

/* Whether the session still has all that was recorded: a flight recorder's drops the oldest. */
static bool is_whole(const hb_records *records)
{
    for (uint32_t i = 0; i < records->threads.count; i++)
        if (records->threads.items[i].parts.count &&
            records->threads.items[i].parts.items[0].sequence)
            return false;
    return true;
}

/* What a device begins with: what it is known to have held, and what was freed of which nobody had
 * told. Where that is not known at least as much as was freed beyond what was allocated, since
 * frees of it would make totals negative. */
static void set_starts(totals_of_devices *ts, bool known)
{
    device_total *all = (device_total *)ts->devices.data;
    for (size_t i = 0; i < ts->devices.size / sizeof *all; i++) {
        uint64_t held = known ? (uint64_t)all[i].held + (uint64_t)all[i].foreign : 0;
        all[i].sum = all[i].allocated;
        all[i].allocated = HB_MAX((int64_t)held, (int64_t)(0 - (uint64_t)all[i].lowest));
    }
}

/* Backwards from its end, which all records together lead to. */
static void set_starts_by_ends(totals_of_devices *ts, const hb_live_total *ends, uint32_t num_ends)
{
    device_total *all = (device_total *)ts->devices.data;
    size_t n = ts->devices.size / sizeof *all, at;
    for (uint32_t i = 0; i < num_ends; i++) {
        for (at = 0; at < n; at++)
            if (all[at].type == ends[i].device_type && all[at].id == ends[i].device_id) break;
        if (at == n) continue;
        int64_t start = (int64_t)((uint64_t)ends[i].allocated - (uint64_t)all[at].sum);
        all[at].allocated = HB_MAX(all[at].allocated, start);
    }
}

hb_result hb_memory_totals_find(hb_memory_totals *totals, const hb_spool_view *view,
                                const hb_session *session, const hb_live_total *ends,
                                uint32_t num_ends)
{
    totals_of_devices ts = {0};
    *totals = (hb_memory_totals){0};
    if (!(session->flags & HB_SESSION_MEMORY)) return HB_OK;
    hb_buf_init(&ts.devices, (size_t)1 << 30);
    hb_result result = find_starts(&ts, view, session);
    set_starts(&ts, (session->flags & HB_SESSION_HELD) && is_whole(view->records(view, session)));
    set_starts_by_ends(&ts, ends, num_ends);
    if (result == HB_OK) result = add_totals(totals, &ts, view, session);
    hb_buf_free(&ts.devices);
    return result;
}

void hb_memory_totals_free(hb_memory_totals *totals)
{
    for (uint32_t i = 0; i < totals->num_threads; i++)
        hb_buf_free(&totals->threads[i]);
    free(totals->threads);
    *totals = (hb_memory_totals){0};
}

hb_memory_total hb_memory_total_of(const hb_memory_totals *totals, uint32_t thread, size_t n)
{
    const hb_buf *list = thread < totals->num_threads ? &totals->threads[thread] : NULL;
    if (!list || n >= list->size / sizeof(hb_memory_total)) return (hb_memory_total){0};
    return ((const hb_memory_total *)list->data)[n];
}
