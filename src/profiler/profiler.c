/* SPDX-License-Identifier: MIT
 *
 * torch.profiler.profile: the schedule's actions become prepared, started and stopped sessions, and
 * on_trace_ready is called at the moments at which torch calls it.
 */
#include "profiler/profiler.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/files.h"
#include "device/device.h"
#include "profiler/metadata.h"
#include "profiler/run_log.h"
#include "profiler/schedule.h"
#include "profiler/turns.h"
#include "record/strings.h"

/* ---- cycles ---- */

static void drop_cycles(hb_profiler *prof)
{
    hb_cycle *next;
    for (hb_cycle *c = prof->first_cycle; c; c = next) {
        next = c->next;
        hb_cycle_drop(prof, c);
    }
    prof->first_cycle = prof->last_cycle = NULL;
}

static hb_result keep_cycle(hb_profiler *prof, hb_session *session)
{
    hb_cycle *cycle = calloc(1, sizeof *cycle);
    if (!cycle) return hb_fail(HB_ERROR_NO_MEMORY, "no memory for a finished cycle");
    cycle->session = session;
    cycle->holders = 1;
    if (prof->last_cycle)
        prof->last_cycle->next = cycle;
    else
        prof->first_cycle = cycle;
    prof->last_cycle = cycle;
    return HB_OK;
}

/* ---- prepare, start, stop, ready: torch's P, T, X, R ---- */

static uint64_t default_max_bytes(void)
{
    uint64_t pages = (uint64_t)sysconf(_SC_PHYS_PAGES), page = (uint64_t)sysconf(_SC_PAGESIZE);
    return HB_MIN(pages * page / 4, (uint64_t)8 << 30);
}

static const char *spool_dir(const hb_profiler *prof)
{
    return prof->spool_dir ? prof->spool_dir : hb_handler_dir(&prof->options.on_trace_ready);
}

static hb_result prepare(hb_profiler *prof)
{
    if (prof->spool.base) return HB_OK;
    const char *worker = hb_handler_worker(&prof->options.on_trace_ready);
    uint64_t max = prof->options.max_record_bytes;
    hb_spool_options options = {spool_dir(prof), worker ? worker : "hipboard",
                                max ? max : default_max_bytes()};
    /* When it can't be made, writing will fail and say so; recording can go on. */
    if (options.dir && options.dir[0]) (void)hb_make_directories(options.dir);
    return hb_spool_open(&prof->spool, &options);
}

static uint32_t session_flags(const hb_profiler_options *o)
{
    return (o->record_shapes ? HB_SESSION_SHAPES : 0) |
           (o->profile_memory ? HB_SESSION_MEMORY : 0) | (o->with_stack ? HB_SESSION_STACK : 0) |
           (o->with_flops ? HB_SESSION_FLOPS : 0) | (o->with_modules ? HB_SESSION_MODULES : 0);
}

/* Without any activity named: whatever there is. */
static bool wants_hip(const hb_profiler *prof)
{
    return prof->options.activities == 0 || (prof->options.activities & HB_ACTIVITY_HIP);
}

static hb_result start_trace(hb_profiler *prof)
{
    HB_TRY(prepare(prof));
    HB_TRY(hb_worker_start(prof));
    if (!prof->options.acc_events) drop_cycles(prof);
    hb_session *session;
    HB_TRY(
        hb_session_begin(&prof->spool, session_flags(&prof->options), prof->cycle + 1, &session));
    session->slice_ns = prof->options.time_slice_ns;
    prof->cycle++;
    pthread_mutex_lock(&prof->lock);
    prof->session = session;
    pthread_mutex_unlock(&prof->lock);
    hb_metadata_emit(prof);
    if (wants_hip(prof)) hb_device_start(prof->options.activities & HB_ACTIVITY_HIP);
    return HB_OK;
}

static void warn_lost(hb_profiler *prof, const hb_session *session)
{
    const uint64_t *lost = session->lost;
    uint64_t dropped = lost[HB_LOST_BUFFER_FULL] + lost[HB_LOST_REENTRANT] + lost[HB_LOST_MEMORY];
    uint64_t reduced = lost[HB_LOST_STRINGS_FULL] + lost[HB_LOST_TOO_BIG];
    if (prof->warned_lost || (dropped == 0 && reduced == 0)) return;
    prof->warned_lost = true;
    hb_warn(
        "cycle %lld lost %llu records (%llu over max_record_bytes) and keeps %llu without their "
        "name or inputs; the trace's metadata counts them (said once)",
        (long long)session->cycle, (unsigned long long)dropped,
        (unsigned long long)lost[HB_LOST_BUFFER_FULL], (unsigned long long)reduced);
}

static hb_session *end_session(hb_profiler *prof)
{
    pthread_mutex_lock(&prof->lock);
    hb_session *session = prof->session;
    prof->session = NULL;
    pthread_mutex_unlock(&prof->lock);
    if (session) {
        hb_device_stop();
        hb_session_end(session);
        warn_lost(prof, session);
    }
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
    if (session) hb_session_release(&prof->spool, session);
}

static hb_result trace_ready(hb_profiler *prof)
{
    const hb_trace_handler *h = &prof->options.on_trace_ready;
    if (!prof->last_cycle) return HB_OK;
    prof->in_handler = true;
    hb_result result = h->fn ? h->fn(prof, h->context) : HB_OK;
    hb_result delivered = hb_turns_deliver(prof);
    prof->in_handler = false;
    return result != HB_OK ? result : delivered;
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
static hb_result transit(hb_profiler *prof, hb_profiler_action from, hb_profiler_action to)
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
        hb_result saved = save(prof);
        hb_result begun = begin(prof, to);
        return saved != HB_OK ? saved : begun;
    }
    }
    return HB_OK;
}

static void begin_step(hb_profiler *prof)
{
    char name[40];
    if (!hb_schedule_given(&prof->options.schedule) || !prof->session) return;
    int n = snprintf(name, sizeof name, "ProfilerStep#%lld", (long long)hb_step_number(prof));
    prof->step_scope = hb_record_annotation(hb_strings_intern(name, (size_t)n));
}

static hb_result next_action(hb_profiler *prof, int64_t step, hb_profiler_action *action)
{
    *action = hb_schedule_action(&prof->options.schedule, step);
    if ((unsigned)*action <= HB_ACTION_RECORD_AND_SAVE) return HB_OK;
    return hb_fail(HB_ERROR_INVALID_ARGUMENT,
                   "the schedule returned %d for step %lld; it must be an hb_profiler_action",
                   (int)*action, (long long)step);
}

/* ---- the program ends with a running profiler ---- */

static void at_exit(void)
{
    hb_profiler *prof = hb_turns_holder();
    if (!prof) return;
    if (!hb_handler_dir(&prof->options.on_trace_ready)) {
        hb_warn("the program ended without hb_profiler_stop(): on_trace_ready was not called");
        return;
    }
    hb_profiler_stop(prof); /* as leaving torch's context manager does */
    hb_run_log_end(prof);
}

static void register_once(void)
{
    atexit(at_exit);
    pthread_atfork(NULL, NULL, hb_turns_after_fork);
}

/* ---- public ---- */

static hb_result check_started(hb_profiler *prof, const char *call)
{
    if (!prof) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "%s: the profiler is NULL", call);
    if (prof->pid != getpid())
        return hb_fail(HB_ERROR_STATE,
                       "%s: this profiler belongs to the process that this one was "
                       "forked from; create another",
                       call);
    if (!prof->started) return hb_fail(HB_ERROR_STATE, "%s: the profiler is not started", call);
    return HB_OK;
}

static hb_result check_options(const hb_profiler_options *o)
{
    if (!o) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "the options are NULL");
    if (o->struct_size != sizeof *o)
        return hb_fail(HB_ERROR_INVALID_ARGUMENT,
                       "options.struct_size is %zu, not %zu: begin with HB_PROFILER_OPTIONS_INIT",
                       o->struct_size, sizeof *o);
    if (o->activities & ~(unsigned)(HB_ACTIVITY_CPU | HB_ACTIVITY_HIP))
        return hb_fail(HB_ERROR_INVALID_ARGUMENT,
                       "activities 0x%x: HB_ACTIVITY_CPU and HB_ACTIVITY_HIP are known",
                       o->activities);
    if (o->time_slice_ns < 0)
        return hb_fail(HB_ERROR_INVALID_ARGUMENT, "time_slice_ns %lld: it must not be negative",
                       (long long)o->time_slice_ns);
    HB_TRY(hb_schedule_check(&o->schedule));
    return hb_handler_check(&o->on_trace_ready);
}

static void destroy_handler(const hb_trace_handler *handler)
{
    if (handler->destroy) handler->destroy(handler->context);
}

static void profiler_free(hb_profiler *prof)
{
    hb_metadata_drop(prof);
    destroy_handler(&prof->options.on_trace_ready);
    free(prof->spool_dir);
    free(prof->distributed_json);
    if (prof->pid == getpid()) { /* a forked child would wait for its parent's worker here */
        pthread_mutex_destroy(&prof->lock);
        pthread_cond_destroy(&prof->changed);
    }
    free(prof);
}

static hb_result copy_options(hb_profiler *prof, const hb_profiler_options *o)
{
    prof->options = *o;
    prof->ranks = HB_MAX(o->distributed.world_size, 1);
    /* TensorBoard would mix those of one directory. */
    prof->logs_events = hb_handler_logs_events(&o->on_trace_ready) &&
                        (prof->ranks == 1 || o->distributed.rank == 0);
    prof->options.distributed = (hb_distributed_info){0};
    prof->options.spool_dir = NULL;
    if (o->spool_dir && !(prof->spool_dir = strdup(o->spool_dir)))
        return hb_fail(HB_ERROR_NO_MEMORY, "no memory for a profiler");
    return hb_distributed_json(&o->distributed, &prof->distributed_json);
}

static hb_profiler *profiler_new(void)
{
    pthread_condattr_t attr;
    hb_profiler *prof = calloc(1, sizeof *prof);
    if (!prof) return NULL;
    prof->pid = getpid();
    prof->cycle = -1;
    prof->spool.fd = -1;
    pthread_mutex_init(&prof->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&prof->changed, &attr);
    pthread_condattr_destroy(&attr);
    return prof;
}

hb_profiler *hb_profiler_create(const hb_profiler_options *options)
{
    hb_record_init();
    bool valid = check_options(options) == HB_OK;
    hb_profiler *prof = valid ? profiler_new() : NULL;
    if (valid && !prof) hb_fail(HB_ERROR_NO_MEMORY, "no memory for a profiler");
    if (!prof) {
        bool readable = options && options->struct_size == sizeof *options;
        if (readable) destroy_handler(&options->on_trace_ready);
        return NULL;
    }
    if (copy_options(prof, options) == HB_OK) {
        if (wants_hip(prof)) hb_device_prepare();
        return prof;
    }
    profiler_free(prof);
    return NULL;
}

/* What the present step's action asks for begins. */
static hb_result go_on(hb_profiler *prof)
{
    hb_run_log_open(prof);
    hb_result result = transit(prof, HB_ACTION_NONE, prof->action);
    begin_step(prof);
    return result;
}

hb_result hb_profiler_start(hb_profiler *prof)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    hb_profiler_action action;
    if (!prof) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "start: the profiler is NULL");
    if (prof->started) return hb_fail(HB_ERROR_STATE, "start: the profiler is already started");
    HB_TRY(next_action(prof, prof->step_num, &action));
    pthread_once(&once, register_once);
    hb_turns_lock(prof);
    hb_result result = hb_turns_take(prof);
    if (result == HB_OK) {
        prof->started = true;
        prof->action = action;
        if (!prof->paused) result = go_on(prof);
    }
    hb_turns_unlock(prof);
    return result;
}

static hb_result next_step(hb_profiler *prof)
{
    hb_profiler_action action, last;
    HB_TRY(check_started(prof, "step"));
    if (prof->in_handler) return hb_fail(HB_ERROR_STATE, "step: called from on_trace_ready");
    if (prof->paused) return HB_OK;
    HB_TRY(next_action(prof, prof->step_num + 1, &action));
    hb_scope_end(&prof->step_scope);
    if (wants_hip(prof)) hb_device_look_again();
    last = prof->action;
    prof->step_num++;
    prof->action = action;
    hb_run_log_step(prof);
    hb_result result = transit(prof, last, action);
    begin_step(prof);
    return result != HB_OK ? result : hb_worker_result(prof);
}

hb_result hb_profiler_step(hb_profiler *prof)
{
    hb_turns_lock(prof);
    hb_result result = next_step(prof);
    hb_turns_unlock(prof);
    return result;
}

/* torch delivers a partial cycle when it was recording, and drops one that was warming up. */
static hb_result finish(hb_profiler *prof)
{
    hb_scope_end(&prof->step_scope);
    if (prof->paused) return HB_OK;
    if (records(prof->action)) return save(prof);
    discard_trace(prof);
    return HB_OK;
}

void hb_profiler_pause(hb_profiler *prof)
{
    if (finish(prof) != HB_OK) hb_warn("%s", hb_last_error());
    prof->paused = true;
}

void hb_profiler_resume(hb_profiler *prof)
{
    prof->paused = false;
    if (go_on(prof) != HB_OK) hb_warn("%s", hb_last_error());
}

static hb_result stop(hb_profiler *prof, bool *stopped)
{
    HB_TRY(check_started(prof, "stop"));
    if (prof->in_handler) return hb_fail(HB_ERROR_STATE, "stop: called from on_trace_ready");
    hb_result result = finish(prof);
    prof->started = false;
    prof->action = HB_ACTION_NONE;
    hb_turns_give(prof);
    *stopped = true;
    return result;
}

hb_result hb_profiler_stop(hb_profiler *prof)
{
    bool stopped = false;
    hb_turns_lock(prof);
    hb_result result = stop(prof, &stopped);
    hb_turns_unlock(prof);
    hb_result written = stopped ? hb_profiler_flush(prof) : HB_OK;
    return result != HB_OK ? result : written;
}

hb_result hb_profiler_flush(hb_profiler *prof)
{
    if (!prof) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "flush: the profiler is NULL");
    if (prof->pid != getpid()) return HB_OK;
    hb_worker_wait(prof);
    return hb_worker_result(prof);
}

static bool any_failed(const hb_profiler *prof)
{
    const hb_spool_header *head = hb_spool_head(&prof->spool);
    return prof->spool.base && head->first_session != 0;
}

void hb_profiler_destroy(hb_profiler *prof)
{
    if (!prof) return;
    if (prof->pid != getpid()) { /* the worker and the files are the parent's */
        if (prof->spool.base) hb_spool_abandon(&prof->spool);
        profiler_free(prof);
        return;
    }
    if (prof->started) (void)hb_profiler_stop(prof);
    hb_worker_end(prof);
    hb_run_log_close(prof);
    drop_cycles(prof);
    hb_spool_close(&prof->spool, any_failed(prof));
    profiler_free(prof);
}

int64_t hb_profiler_step_num(const hb_profiler *prof)
{
    return prof ? prof->step_num : 0;
}

hb_result hb_profiler_number_next_step(hb_profiler *prof, int64_t number)
{
    if (!prof) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "number_next_step: the profiler is NULL");
    prof->numbered_from = number - (prof->started ? prof->step_num + 1 : prof->step_num);
    return HB_OK;
}

hb_profiler_action hb_profiler_current_action(const hb_profiler *prof)
{
    return prof ? prof->action : HB_ACTION_NONE;
}

int64_t hb_profiler_cycle(const hb_profiler *prof)
{
    return prof ? prof->cycle : -1;
}

hb_result hb_profiler_lost(const hb_profiler *prof, hb_lost *lost)
{
    if (!prof || !lost) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "lost: an argument is NULL");
    *lost = prof->last_cycle ? hb_session_lost(prof->last_cycle->session)
                             : (hb_lost){.struct_size = sizeof *lost};
    return HB_OK;
}
