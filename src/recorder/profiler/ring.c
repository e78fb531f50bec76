/* SPDX-License-Identifier: MIT */
#include "profiler/ring.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/files.h"
#include "hip/capture.h"
#include "profiler/arbitration.h"
#include "profiler/control.h"
#include "profiler/cycles.h"
#include "profiler/user_metadata.h"
#include "record/live_memory.h"

enum {
    MOST_STEPS = 1000000,
    PARTS = 16, /* what is too old is dropped so many times while the kept time passes */
};

/* How often at most and at least. */
#define SHORTEST_NS INT64_C(50000000)
#define LONGEST_NS  INT64_C(1000000000)

/* ---- options ---- */

bool hb_ring_wanted(const hb_profiler_options *o)
{
    return o->ring_ns || o->ring_steps || o->ring_bytes;
}

hb_result hb_ring_check(const hb_profiler_options *o)
{
    if (o->ring_ns < 0 || o->ring_steps < 0 || o->ring_steps > MOST_STEPS)
        return hb_fail(HB_ERROR_INVALID_ARGUMENT,
                       "ring_ns %lld, ring_steps %lld: they must not be negative, and at most %d "
                       "steps are kept",
                       (long long)o->ring_ns, (long long)o->ring_steps, MOST_STEPS);
    if (!hb_ring_wanted(o)) return HB_OK;
    if (o->on_demand)
        return hb_fail(HB_ERROR_INVALID_ARGUMENT, "ring_... and on_demand: one of them");
    if (o->acc_events)
        return hb_fail(HB_ERROR_INVALID_ARGUMENT, "ring_...: acc_events keeps what a ring drops");
    if (!hb_handler_dir(&o->on_trace_ready))
        return hb_fail(HB_ERROR_INVALID_ARGUMENT,
                       "ring_...: on_trace_ready must be or have a hb_tensorboard_trace_handler(), "
                       "which says where dumps are written");
    return HB_OK;
}

static bool keeps_steps(const hb_profiler *prof)
{
    return prof->options.ring_steps > 0;
}

static size_t step_slots(const hb_profiler *prof)
{
    return (size_t)prof->options.ring_steps + 1;
}

hb_result hb_ring_init(hb_profiler *prof)
{
    if (!keeps_steps(prof)) return HB_OK;
    prof->ring.step_began = calloc(step_slots(prof), sizeof *prof->ring.step_began);
    return prof->ring.step_began ? HB_OK : hb_no_memory();
}

void hb_ring_free(hb_profiler *prof)
{
    free(prof->ring.step_began);
}

/* ---- what is too old ---- */

void hb_ring_begin(hb_profiler *prof)
{
    hb_ring *r = &prof->ring;
    r->marks[0] = (hb_ring_mark){.time = prof->session->start};
    r->num_marks = 1;
    r->steps = 0;
    r->drop_at = 0;
    r->holds = false;
}

void hb_ring_step(hb_profiler *prof)
{
    hb_ring *r = &prof->ring;
    if (r->step_began) r->step_began[r->steps++ % step_slots(prof)] = hb_ticks();
}

/* The newest mark from before that time, or the first. */
static const hb_ring_mark *mark_before(const hb_ring *r, int64_t monotonic_ns)
{
    uint32_t i = r->num_marks;
    while (i > 1 && r->marks[i - 1].time.monotonic_ns > monotonic_ns)
        i--;
    return &r->marks[i - 1];
}

static const hb_ring_mark *mark_before_tick(const hb_ring *r, uint64_t tick)
{
    uint32_t i = r->num_marks;
    while (i > 1 && r->marks[i - 1].time.ticks > tick)
        i--;
    return &r->marks[i - 1];
}

/* Ticks `ns` before `now`, by what has passed since `then`. */
static uint64_t ticks_before(const hb_clock_pair *then, const hb_clock_pair *now, int64_t ns)
{
    double ticks = (double)(now->ticks - then->ticks);
    double passed = (double)(now->monotonic_ns - then->monotonic_ns);
    if (!(passed >= (double)ns)) return 0; /* all is younger */
    return now->ticks - (uint64_t)(ticks / passed * (double)ns);
}

/* Before this nothing would be kept; 0: all is, as far as time and steps go. */
static uint64_t present_horizon(const hb_profiler *prof, const hb_clock_pair *now)
{
    const hb_ring *r = &prof->ring;
    int64_t ns = prof->options.ring_ns;
    const hb_clock_pair *then = &mark_before(r, now->monotonic_ns - ns)->time;
    uint64_t by_time = ns ? ticks_before(then, now, ns) : 0, by_steps = 0;
    if (keeps_steps(prof) && r->steps >= step_slots(prof))
        by_steps = r->step_began[r->steps % step_slots(prof)];
    return HB_MAX(by_time, by_steps);
}

/* It is to be written: what is kept now stays until then. */
static void hold(hb_profiler *prof)
{
    hb_ring *r = &prof->ring;
    if (r->holds || !prof->session) return;
    hb_clock_pair now = hb_clock_sample();
    r->held_from = present_horizon(prof, &now);
    r->holds = true;
}

static uint64_t horizon(const hb_profiler *prof, const hb_clock_pair *now)
{
    uint64_t present = present_horizon(prof, now);
    return prof->ring.holds ? HB_MIN(prof->ring.held_from, present) : present;
}

/* Where a ring of bytes is about to be written, only the spool's own limit holds. */
static uint64_t most_bytes(const hb_profiler *prof)
{
    uint64_t own = prof->options.ring_bytes;
    return own && !prof->ring.holds ? own : UINT64_MAX;
}

static int64_t period_ns(const hb_profiler *prof)
{
    int64_t ns = prof->options.ring_ns ? prof->options.ring_ns / PARTS : LONGEST_NS / 4;
    return HB_MIN(HB_MAX(ns, SHORTEST_NS), LONGEST_NS);
}

/* Of what is kept no more than its length is known, so the marks lie as far apart as they must. */
static void take_mark(hb_profiler *prof, const hb_clock_pair *now)
{
    hb_ring *r = &prof->ring;
    if (now->monotonic_ns - r->marks[r->num_marks - 1].time.monotonic_ns < LONGEST_NS) return;
    /* The spool, too, drops what is old. */
    uint64_t kept_from = __atomic_load_n(&prof->session->kept_from, __ATOMIC_RELAXED);
    uint32_t first = (uint32_t)(mark_before_tick(r, kept_from) - r->marks);
    r->num_marks -= first;
    memmove(r->marks, r->marks + first, r->num_marks * sizeof *r->marks);
    if (r->num_marks == HB_RING_MARKS) {
        r->num_marks /= 2;
        for (uint32_t i = 1; i < r->num_marks; i++)
            r->marks[i] = r->marks[i * 2];
    }
    hb_ring_mark *mark = &r->marks[r->num_marks++];
    mark->time = *now;
    hb_session_count_early(prof->session);
    for (int i = 0; i < HB_LOST_CAUSES; i++)
        mark->lost[i] = hb_session_lost_of(prof->session, (enum hb_lost_cause)i);
}

/* What was lost before what is kept is no part of it. */
static void forget_lost(const hb_ring *r, hb_session *seen)
{
    const hb_ring_mark *mark = mark_before_tick(r, seen->kept_from);
    for (int i = 0; i < HB_LOST_CAUSES; i++)
        seen->lost[i] -= mark->lost[i];
}

bool hb_ring_is_read(hb_profiler *prof)
{
    hb_lock_take(&prof->lock);
    bool is_read = prof->ring.is_read;
    hb_lock_give(&prof->lock);
    return is_read;
}

static void set_read(hb_profiler *prof, bool is_read)
{
    hb_lock_take(&prof->lock);
    prof->ring.is_read = is_read;
    hb_lock_give(&prof->lock);
}

/* If it is time; when to come again. Under hb_arbitration_lock(). */
static int64_t drop(hb_profiler *prof)
{
    hb_ring *r = &prof->ring;
    int64_t now_ns = hb_clock_ns(CLOCK_MONOTONIC);
    if (!prof->session) return INT64_MAX;
    if (now_ns < r->drop_at) return r->drop_at;
    r->drop_at = now_ns + period_ns(prof);
    hb_clock_pair now = hb_clock_sample();
    take_mark(prof, &now);
    hb_session_drop(&prof->spool, prof->session, horizon(prof, &now), most_bytes(prof),
                    &r->marks[0].time);
    return r->drop_at;
}

/* ---- a look at what is kept ---- */

struct hb_ring_dump {
    hb_snapshot *snapshot;
    hb_live_total allocated[HB_LIVE_DEVICES]; /* as it was taken */
    uint32_t num_allocated;
    hb_buf reason, id; /* JSON */
};

void hb_ring_dump_free(hb_profiler *prof, hb_ring_dump *d)
{
    if (!d) return;
    if (d->snapshot) {
        hb_snapshot_close(d->snapshot);
        set_read(prof, false);
        hb_control_wake(prof); /* one more may have been asked for */
    }
    hb_buf_free(&d->reason);
    hb_buf_free(&d->id);
    free(d);
}

static void put_json(hb_buf *json, const char *text)
{
    hb_buf_init(json, 4096);
    hb_buf_json_string(json, text, strlen(text));
    hb_buf_append(json, "", 1);
}

static hb_ring_dump *new_dump(const hb_request *request)
{
    hb_ring_dump *d = calloc(1, sizeof *d);
    if (!d) return NULL;
    put_json(&d->reason, request->reason);
    put_json(&d->id, request->id);
    return d;
}

/* Under hb_arbitration_lock(): from now on nothing is dropped until hb_ring_dump_free(). */
static hb_result look(hb_profiler *prof, hb_ring_dump *d)
{
    if (!prof->session)
        return hb_fail(HB_ERROR_STATE, "nothing is being recorded just now: the profiler has "
                                       "stopped, or makes room for another");
    hb_metadata_repeat(prof);
    d->num_allocated = hb_live_memory_totals(d->allocated);
    HB_TRY(hb_session_snapshot(&prof->spool, prof->session, &d->snapshot));
    set_read(prof, true);
    hb_session *s = &d->snapshot->session;
    const hb_clock_pair *now = hb_session_last(s);
    s->kept_from = HB_MAX(s->kept_from, horizon(prof, now));
    s->start = mark_before_tick(&prof->ring, s->kept_from)->time;
    forget_lost(&prof->ring, s);
    return HB_OK;
}

/* Under hb_arbitration_lock(). Takes `d`. */
static hb_result dump(hb_profiler *prof, hb_ring_dump *d)
{
    hb_trace_place place;
    hb_result result = d ? look(prof, d) : hb_no_memory();
    if (result == HB_OK) result = hb_handler_place(prof, &place);
    if (result == HB_OK) return hb_worker_submit_dump(prof, d, &place);
    hb_ring_dump_free(prof, d);
    return result;
}

static void dump_now(hb_profiler *prof)
{
    if (hb_wants_activity(prof, HB_ACTIVITY_HIP)) hb_device_tell();
    hb_arbitration_lock(prof);
    uint64_t number = hb_demand_number(prof);
    hb_result result = dump(prof, new_dump(&prof->demand.request));
    hb_demand_over(prof);
    prof->ring.holds = false;
    hb_arbitration_unlock(prof);
    if (result == HB_OK) return;
    hb_warn("what was asked for is not written: %s", hb_last_error());
    hb_control_written(prof, number, NULL, hb_last_error());
}

/* What is asked for while what was kept before is written comes afterwards; hb_ring_dump_free()
 * wakes the thread. */
int64_t hb_ring_mind(hb_profiler *prof, bool at_once)
{
    hb_arbitration_lock(prof);
    bool is_due = hb_demand_is_due(prof, at_once);
    if (is_due) hold(prof);
    int64_t due = drop(prof);
    if (!is_due) due = HB_MIN(due, hb_demand_due(prof));
    hb_arbitration_unlock(prof);
    if (is_due && !hb_ring_is_read(prof)) dump_now(prof);
    return due;
}

bool hb_ring_is_about_to_be_written(hb_profiler *prof)
{
    if (!hb_ring_wanted(&prof->options)) return false;
    hb_arbitration_lock(prof);
    bool is_due = hb_demand_is_due(prof, false);
    hb_arbitration_unlock(prof);
    return is_due;
}

/* ---- writing ---- */

const hb_session *hb_ring_dump_session(const hb_ring_dump *d)
{
    return &d->snapshot->session;
}

bool hb_ring_dump_is_empty(const hb_ring_dump *d)
{
    return hb_session_is_empty(&d->snapshot->view, &d->snapshot->session);
}

hb_result hb_ring_dump_open(const hb_ring_dump *d, hb_source **source)
{
    const hb_metadata told[] = {{HB_METADATA_REASON, d->reason.data},
                                {HB_METADATA_REQUEST_ID, d->id.data}};
    const bool has_id = d->id.size > sizeof "\"\"";
    hb_record_source_options with = {.metadata = told,
                                     .num_metadata = has_id ? 2 : 1,
                                     .allocated = d->allocated,
                                     .num_allocated = d->num_allocated};
    if (d->reason.failed || d->id.failed) return hb_no_memory();
    return hb_session_source_open(&d->snapshot->view, &d->snapshot->session, &with, source);
}

hb_result hb_ring_dump_write(hb_profiler *prof, hb_job *job)
{
    hb_source *source;
    hb_write_stats stats = {0};
    uint64_t unread = atomic_load(&prof->spool.unread);
    HB_TRY(hb_ring_dump_open(job->dump, &source));
    hb_write_options options = {
        .dialect = job->flags & HB_DIALECT_KINETO ? HB_WRITE_KINETO : HB_WRITE_TENSORBOARD,
        .gzip = hb_path_ends(job->path, ".gz"),
        .gzip_by_zlib = job->flags & HB_GZIP_BY_ZLIB,
        .sync = prof->sync,
        .in = &job->in,
    };
    hb_result result = hb_write_trace_new(source, job->path, &options, &stats);
    if (result == HB_OK) hb_write_warn(job->path, &stats);
    /* It is written once: what there is of it counts. */
    if (result == HB_OK && hb_spool_was_read(&prof->spool, unread) != HB_OK)
        hb_warn("%s: %s; they are missing in it", job->path, hb_last_error());
    if (result == HB_OK && job->flags & HB_PFTRACE)
        result = hb_write_pftrace_beside(source, job->path, &options);
    source->close(source);
    return result;
}
