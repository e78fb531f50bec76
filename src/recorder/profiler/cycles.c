/* SPDX-License-Identifier: MIT */
#include "profiler/cycles.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/files.h"
#include "hip/capture.h"
#include "operators/library_calls.h"
#include "pace/launch_pace.h"
#include "profiler/arbitration.h"
#include "profiler/control.h"
#include "profiler/spool_place.h"
#include "profiler/user_metadata.h"
#include "record/live_memory.h"
#include "sampling/host_samples.h"

/* ---- cycles ---- */

void hb_cycles_drop(hb_profiler *prof)
{
    hb_cycle *next;
    for (hb_cycle *c = prof->first_cycle; c; c = next) {
        next = c->next;
        hb_cycle_drop(prof, c);
    }
    prof->first_cycle = prof->last_cycle = NULL;
}

/* A stopped session's cycle. The background thread holds it until it has settled it, and `holders`
 * others do. */
static hb_cycle *make_cycle(hb_profiler *prof, hb_session *session, uint32_t holders)
{
    hb_cycle *cycle = calloc(1, sizeof *cycle);
    if (!cycle) return NULL;
    cycle->session = session;
    cycle->holders = holders;
    hb_worker_settle(prof, cycle);
    return cycle;
}

static hb_result keep_cycle(hb_profiler *prof, hb_session *session)
{
    hb_cycle *cycle = make_cycle(prof, session, 1);
    if (!cycle) return hb_fail(HB_ERROR_NO_MEMORY, "no memory for a finished cycle");
    if (prof->last_cycle)
        prof->last_cycle->next = cycle;
    else
        prof->first_cycle = cycle;
    prof->last_cycle = cycle;
    return HB_OK;
}

/* ---- prepare, start, stop, ready: torch's P, T, X, R ---- */

static uint64_t max_bytes(const hb_profiler *prof)
{
    uint64_t pages = (uint64_t)sysconf(_SC_PHYS_PAGES), page = (uint64_t)sysconf(_SC_PAGESIZE);
    if (prof->options.max_record_bytes) return prof->options.max_record_bytes;
    return hb_affordable(HB_MIN(pages * page / 4, (uint64_t)8 << 30));
}

/* Made if it has to be. */
static const char *spool_dir(const hb_profiler *prof, char place[PATH_MAX])
{
    char buf[HB_LOG_DIR_BUF];
    const char *dir = prof->spool_dir;
    if (!dir) dir = hb_handler_dir_now(&prof->options.on_trace_ready, buf);
    /* When it can't be made, writing will fail and say so; recording can go on. */
    if (dir && dir[0]) (void)hb_make_directories(dir);
    if (prof->spool_dir || !dir) return dir;
    return hb_spool_place(dir, place, PATH_MAX);
}

static hb_result prepare(hb_profiler *prof)
{
    if (prof->spool.base) return HB_OK;
    const char *worker = hb_handler_worker(&prof->options.on_trace_ready);
    char dir[PATH_MAX];
    hb_spool_options options = {spool_dir(prof, dir), worker ? worker : "hipboard",
                                max_bytes(prof)};
    hb_result result = hb_spool_open(&prof->spool, &options);
    if (result != HB_OK) prof->spool = (hb_spool){.file = HB_NO_KEPT_FILE};
    if (prof->spool.lacks_file && !prof->warned_directory)
        hb_warn(
            "no file for what is recorded can be made in '%s', so that it is lost if the program "
            "is killed; spool_dir names another place",
            options.dir);
    return result;
}

hb_result hb_cycles_prepare(hb_profiler *prof)
{
    HB_TRY(prepare(prof));
    return hb_worker_start(prof);
}

/* Without any activity named: whatever there is. */
bool hb_wants_activity(const hb_profiler *prof, unsigned any)
{
    return prof->options.activities == 0 || (prof->options.activities & any);
}

static uint32_t session_flags(const hb_profiler *prof)
{
    const hb_profiler_options *o = &prof->options;
    /* Of what is held as a ring begins its dumps say nothing. */
    uint32_t held = o->profile_memory && !hb_ring_wanted(o) ? HB_SESSION_HELD : 0;
    uint32_t own = hb_ring_wanted(o) ? HB_SESSION_RING : hb_demand_session_flags(prof);
    return own | held | (o->record_shapes ? HB_SESSION_SHAPES : 0) |
           (o->profile_memory ? HB_SESSION_MEMORY : 0) | (o->with_stack ? HB_SESSION_STACK : 0) |
           (o->with_flops ? HB_SESSION_FLOPS : 0) | (o->with_modules ? HB_SESSION_MODULES : 0) |
           (prof->wants_operators ? HB_SESSION_OPERATORS : 0) |
           (o->find_steps ? HB_SESSION_FIND_STEPS : 0) |
           (hb_wants_activity(prof, HB_ACTIVITY_CPU | HB_ACTIVITY_COMM) ? HB_SESSION_COMM : 0);
}

static hb_result start_trace(hb_profiler *prof)
{
    HB_TRY(prepare(prof));
    HB_TRY(hb_worker_start(prof));
    if (!prof->options.acc_events) hb_cycles_drop(prof);
    hb_session *session;
    HB_TRY(hb_session_begin(&prof->spool, session_flags(prof), prof->cycle + 1, &session));
    session->slice_ns = prof->options.time_slice_ns;
    session->step_loop = prof->options.step_loop;
    prof->cycle++;
    hb_lock_take(&prof->lock);
    prof->session = session;
    hb_lock_give(&prof->lock);
    if (hb_ring_wanted(&prof->options)) hb_ring_begin(prof);
    if (session->flags & HB_SESSION_HELD) hb_live_memory_tell(session);
    hb_metadata_emit(prof);
    if (prof->wants_operators) hb_operators_start();
    if (prof->options.sample_hz) hb_samples_start();
    if (hb_wants_activity(prof, HB_ACTIVITY_HIP))
        hb_device_start(prof->options.activities & HB_ACTIVITY_HIP,
                        (uint32_t)prof->options.kernel_sampling);
    return HB_OK;
}

/* All that is still to be recorded into it is; NULL: there is none. */
static hb_session *complete_session(hb_profiler *prof)
{
    hb_lock_take(&prof->lock);
    hb_session *session = prof->session;
    prof->session = NULL;
    hb_lock_give(&prof->lock);
    if (session) hb_samples_stop();
    if (session) hb_pace_put();
    if (session && prof->wants_operators) hb_operators_stop();
    if (session) hb_device_stop();
    return session;
}

static hb_session *end_session(hb_profiler *prof)
{
    hb_session *session = complete_session(prof);
    if (session) hb_session_stop(session); /* the background thread waits for silent threads */
    return session;
}

static hb_result stop_trace(hb_profiler *prof)
{
    hb_session *session = end_session(prof);
    return session ? keep_cycle(prof, session) : HB_OK;
}

static void discard_trace(hb_profiler *prof)
{
    hb_session *session = end_session(prof);
    if (!session || make_cycle(prof, session, 0)) return;
    hb_worker_wait(prof); /* it may be reading what a ring has kept */
    hb_device_forget(session);
    hb_session_settle(&prof->spool, session);
    hb_session_release(&prof->spool, session);
}

static hb_result trace_ready(hb_profiler *prof)
{
    if (!prof->last_cycle) return HB_OK;
    /* A handler of the program's may wait for what the program's threads hold. */
    prof->handler_waits =
        hb_control_is_this_thread(prof) && !hb_handler_is_own(&prof->options.on_trace_ready);
    if (prof->handler_waits) return HB_OK;
    prof->in_handler = true;
    hb_result result = hb_handler_call(&prof->options.on_trace_ready, prof);
    hb_result delivered = hb_arbitration_deliver(prof);
    prof->in_handler = false;
    return result != HB_OK ? result : delivered;
}

hb_result hb_cycles_deliver(hb_profiler *prof)
{
    return prof->handler_waits ? trace_ready(prof) : HB_OK;
}

/* ---- transitions ---- */

static const char *action_name(hb_profiler_action action)
{
    static const char *const names[] = {"NONE", "WARMUP", "RECORD", "RECORD_AND_SAVE"};
    return names[action];
}

static hb_result save(hb_profiler *prof)
{
    HB_TRY(stop_trace(prof));
    return trace_ready(prof);
}

/* What torch throws away with a warning, too: a cycle that the schedule breaks off. */
static void broken_off(hb_profiler *prof, hb_profiler_action from, hb_profiler_action to)
{
    hb_warn(
        "Incorrect schedule: %s followed by %s at step %lld; what was recorded of this cycle is "
        "discarded",
        action_name(from), action_name(to), (long long)prof->step_num);
    discard_trace(prof);
}

/* The next cycle records before this one is handed over, so that between the two nothing is missed
 * of other threads. */
static hb_result go_over(hb_profiler *prof)
{
    hb_session *session = complete_session(prof);
    hb_result begun = start_trace(prof);
    hb_session_stop(session);
    hb_result saved = keep_cycle(prof, session);
    if (saved == HB_OK) saved = trace_ready(prof);
    if (!prof->options.acc_events) hb_cycles_drop(prof);
    return saved != HB_OK ? saved : begun;
}

static hb_result begin(hb_profiler *prof, hb_profiler_action action)
{
    if (action == HB_ACTION_NONE) return HB_OK;
    return action == HB_ACTION_WARMUP ? prepare(prof) : start_trace(prof);
}

static bool records(hb_profiler_action action)
{
    return action == HB_ACTION_RECORD || action == HB_ACTION_RECORD_AND_SAVE;
}

/* The handler's failure does not keep the next cycle from starting. */
hb_result hb_cycles_transit(hb_profiler *prof, hb_profiler_action from, hb_profiler_action to)
{
    switch (from) {
    case HB_ACTION_NONE: return begin(prof, to);
    case HB_ACTION_WARMUP:
        if (to == HB_ACTION_NONE) broken_off(prof, from, to);
        return records(to) ? start_trace(prof) : HB_OK;
    case HB_ACTION_RECORD:
        if (records(to)) return prof->session ? HB_OK : start_trace(prof);
        broken_off(prof, from, to);
        return begin(prof, to);
    case HB_ACTION_RECORD_AND_SAVE: {
        /* A handler of the program's finds the profiler at rest. */
        bool at_once = prof->session && hb_handler_is_own(&prof->options.on_trace_ready);
        if (at_once && records(to)) return go_over(prof);
        hb_result saved = save(prof);
        hb_result begun = begin(prof, to);
        return saved != HB_OK ? saved : begun;
    }
    }
    return HB_OK;
}

hb_result hb_cycles_finish(hb_profiler *prof)
{
    if (records(prof->action) && !hb_ring_wanted(&prof->options)) return save(prof);
    discard_trace(prof);
    return HB_OK;
}
