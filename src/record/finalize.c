/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdlib.h>

#include "record/merge.h"

/* ---- modules: ids in the order of start over all threads, parents by nesting in a thread ---- */

typedef struct open_modules {
    uint32_t depth;
    const hb_record_module *open[HB_OPEN_MAX];
} open_modules;

static bool encloses(const hb_record_module *outer, const hb_record_module *inner)
{
    return outer->head.end == 0 || outer->head.end > inner->head.start;
}

static hb_result number_modules(const hb_spool_view *view, hb_session *session)
{
    hb_merge m;
    hb_merge_thread *t;
    uint32_t last_id = 0;
    hb_result result = HB_OK;
    HB_TRY(hb_merge_open(&m, view, session, 1u << HB_RECORD_MODULE));
    while ((t = hb_merge_next(&m))) {
        open_modules *o = t->user ? t->user : (t->user = calloc(1, sizeof *o));
        if (!o) {
            result = hb_fail(HB_ERROR_NO_MEMORY, "no memory for the modules of a thread");
            break;
        }
        hb_record_module *r = (hb_record_module *)t->record;
        while (o->depth && !encloses(o->open[o->depth - 1], r))
            o->depth--;
        r->parent_id = o->depth ? o->open[o->depth - 1]->python_id : 0;
        r->python_id = ++last_id;
        if (o->depth < HB_OPEN_MAX) o->open[o->depth++] = r;
    }
    for (uint32_t i = 0; i < m.num_threads; i++)
        free(m.threads[i].user);
    hb_merge_close(&m);
    return result;
}

/* ---- memory: running totals per device ---- */

#define MAX_DEVICES 64

typedef struct device_total {
    int32_t type, id;
    int64_t allocated, lowest;
    int64_t kept; /* by allocators, beyond what is allocated */
} device_total;

typedef struct totals {
    device_total devices[MAX_DEVICES];
    int n;
} totals;

static device_total *total_of(totals *ts, const hb_record_memory *r)
{
    for (int i = 0; i < ts->n; i++)
        if (ts->devices[i].type == r->device_type && ts->devices[i].id == r->device_id)
            return &ts->devices[i];
    if (ts->n < MAX_DEVICES)
        ts->devices[ts->n++] = (device_total){.type = r->device_type, .id = r->device_id};
    return &ts->devices[ts->n - 1];
}

static hb_result each_memory(const hb_spool_view *view, hb_session *session, totals *ts,
                             void (*visit)(totals *, hb_record_memory *))
{
    hb_merge m;
    hb_merge_thread *t;
    HB_TRY(hb_merge_open(&m, view, session, 1u << HB_RECORD_MEMORY));
    while ((t = hb_merge_next(&m)))
        visit(ts, (hb_record_memory *)t->record);
    hb_merge_close(&m);
    return HB_OK;
}

static void add_up(device_total *d, const hb_record_memory *r)
{
    if (!(r->head.flags & HB_RECORD_OOM))
        d->allocated = (int64_t)((uint64_t)d->allocated + (uint64_t)r->bytes);
}

static void find_lowest(totals *ts, hb_record_memory *r)
{
    if (r->total_allocated >= 0) return;
    device_total *d = total_of(ts, r);
    add_up(d, r);
    d->lowest = HB_MIN(d->lowest, d->allocated);
}

/* Who does not know what is kept, as of a failed allocation, lets the last who did stand. */
static void fill_in_reserved(totals *ts, hb_record_memory *r)
{
    if (r->total_reserved >= 0) return;
    if (r->device_type == HB_DEVICE_CPU) {
        r->total_reserved = 0;
        return;
    }
    device_total *d = total_of(ts, r);
    if (r->total_reserved < -1) d->kept = HB_RESERVED_BEYOND(r->total_reserved);
    r->total_reserved = (int64_t)((uint64_t)r->total_allocated + (uint64_t)d->kept);
}

static void fill_in(totals *ts, hb_record_memory *r)
{
    if (r->total_allocated < 0) {
        device_total *d = total_of(ts, r);
        add_up(d, r);
        r->total_allocated = d->allocated;
    }
    fill_in_reserved(ts, r);
}

/* What was allocated before the session is unknown; frees of it would make totals negative. So a
 * device begins with as much as was freed beyond what was allocated. */
static hb_result sum_memory(const hb_spool_view *view, hb_session *session)
{
    totals ts = {0};
    HB_TRY(each_memory(view, session, &ts, find_lowest));
    for (int i = 0; i < ts.n; i++)
        ts.devices[i].allocated = (int64_t)(0 - (uint64_t)ts.devices[i].lowest);
    return each_memory(view, session, &ts, fill_in);
}

static hb_result finalize(const hb_spool_view *view, hb_session *session)
{
    if (session->finalized) return HB_OK;
    if (session->flags & HB_SESSION_MODULES) HB_TRY(number_modules(view, session));
    if (session->flags & HB_SESSION_MEMORY) HB_TRY(sum_memory(view, session));
    session->finalized = 1;
    return HB_OK;
}

/* A cycle may be written in the background while its handler looks at it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void hb_finalize_after_fork(void)
{
    static const pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;
    lock = unlocked; /* another thread of the parent may have held it */
}

hb_result hb_session_finalize(const hb_spool_view *view, hb_session *session)
{
    pthread_mutex_lock(&lock);
    hb_result result = finalize(view, session);
    pthread_mutex_unlock(&lock);
    return result;
}
