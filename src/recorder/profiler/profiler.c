/* SPDX-License-Identifier: MIT
 *
 * torch.profiler.profile: a profiler's life, and its steps.
 */
#include "profiler/profiler.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/files.h"
#include "base/guard.h"
#include "base/process.h"
#include "hip/capture.h"
#include "operators/library_calls.h"
#include "profiler/arbitration.h"
#include "profiler/control.h"
#include "profiler/cycles.h"
#include "profiler/distributed.h"
#include "profiler/run_log.h"
#include "profiler/schedule.h"
#include "profiler/trigger.h"
#include "profiler/user_metadata.h"
#include "record/live_memory.h"
#include "record/strings.h"
#include "sampling/host_samples.h"

static void begin_step(hb_profiler *prof)
{
    if (!prof->session) return;
    if (!hb_schedule_given(&prof->options.schedule) && !hb_demand_wanted(&prof->options)) return;
    prof->step_scope = hb_record_annotation(hb_strings_step(hb_step_number(prof)));
}

static hb_result next_action(hb_profiler *prof, int64_t step, hb_profiler_action *action)
{
    if (hb_demand_wanted(&prof->options)) {
        *action = hb_demand_action(prof, hb_number_of_step(prof, step));
        return HB_OK;
    }
    *action = hb_schedule_action(&prof->options.schedule, step);
    if ((unsigned)*action <= HB_ACTION_RECORD_AND_SAVE) return HB_OK;
    return hb_fail(HB_ERROR_INVALID_ARGUMENT,
                   "the schedule returned %d for step %lld; it must be an hb_profiler_action",
                   (int)*action, (long long)step);
}

/* ---- the program ends with a running profiler ---- */

/* Those whose files are awaited by nobody, until they are destroyed, or by a stop. The lock is
 * taken by calls of the program and at exit, never by the background thread; a forked child makes
 * it anew.
 */
static struct {
    hb_lock lock;
    hb_profiler *first;
} handed_over = {.lock = HB_LOCK_INIT(HANDED_OVER)};

static void hand_over(hb_profiler *prof)
{
    hb_lock_take(&handed_over.lock);
    if (!prof->handed) {
        prof->next_handed = handed_over.first;
        handed_over.first = prof;
    }
    prof->handed = true;
    hb_lock_give(&handed_over.lock);
}

static void take_back(hb_profiler *prof)
{
    if (!prof->handed) return;
    hb_lock_take(&handed_over.lock);
    hb_profiler **at = &handed_over.first;
    while (*at && *at != prof)
        at = &(*at)->next_handed;
    if (*at) *at = prof->next_handed;
    prof->handed = false;
    hb_lock_give(&handed_over.lock);
}

static void wait_for_handed_over(void)
{
    hb_lock_take(&handed_over.lock);
    for (hb_profiler *prof = handed_over.first; prof; prof = prof->next_handed) {
        hb_worker_wait(prof);
        hb_worker_tell_unwritten(prof);
        hb_run_log_end(prof);
    }
    hb_lock_give(&handed_over.lock);
}

/* Another thread may be in a step: until it has left it, or no longer moves. False also when this
 * thread is, in its handler. */
static bool take_over(hb_profiler *prof)
{
    pid_t self = gettid(), other = 0;
    hb_patience patience = {0};
    atomic_store(&prof->ends, self);
    while (!atomic_compare_exchange_strong(&prof->inside, &other, self)) {
        if (other == self || !hb_patience_sleep_of(&patience, other)) return false;
        other = 0;
    }
    return true;
}

/* What can't be written in time is left to recovery. */
static void stop_at_exit(hb_profiler *prof)
{
    if (prof->pid != getpid() || !take_over(prof)) return;
    if (!hb_handler_dir(&prof->options.on_trace_ready)) {
        hb_warn("the program ended without hb_profiler_stop(): on_trace_ready was not called");
        return;
    }
    prof->destroying = true;
    prof->options.stop_hands_over = false;
    hb_profiler_stop(prof); /* as leaving torch's context manager does */
    hb_worker_tell_unwritten(prof);
    hb_run_log_end(prof);
}

static void at_exit(void)
{
    hb_profiler *stopped = NULL, *prof;
    wait_for_handed_over();
    /* With the first, one that had yielded to it goes on. */
    for (int i = 0; i < 2 && (prof = hb_arbitration_holder()) && prof != stopped; i++)
        stop_at_exit(stopped = prof);
    hb_spools_at_exit(); /* of profilers that are not destroyed */
}

static void after_fork(void)
{
    hb_lock_init(&handed_over.lock, HB_LOCK_HANDED_OVER);
    handed_over.first = NULL;
    hb_arbitration_after_fork();
    hb_samples_after_fork();
}

static void register_once(void)
{
    hb_process_at_exit(HB_EXIT_PROFILER, at_exit);
    hb_process_at_fork(HB_FORK_PROFILER, (hb_fork_room){.in_child = after_fork});
    hb_device_init();
}

/* ---- public ---- */

/* A profiler is one thread's at a time; its handler, which that thread calls, may call again. */
static hb_result enter(hb_profiler *prof, const char *call, bool *outermost)
{
    *outermost = false;
    if (!prof || prof->pid != getpid()) return HB_OK; /* told by whoever is called */
    pid_t self = gettid(), other = 0, ends = atomic_load(&prof->ends);
    if ((ends && ends != self) || hb_guard_has_left())
        return hb_fail(HB_ERROR_STATE, "%s: the program is ending, its exit handlers run", call);
    *outermost = atomic_compare_exchange_strong(&prof->inside, &other, self);
    if (*outermost || other == self) return HB_OK;
    return hb_fail(HB_ERROR_STATE, "%s: thread %d is in a call of this profiler", call, (int)other);
}

static void leave(hb_profiler *prof, bool outermost)
{
    if (outermost) atomic_store(&prof->inside, 0);
}

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
    if (o->activities & ~(unsigned)(HB_ACTIVITY_CPU | HB_ACTIVITY_HIP | HB_ACTIVITY_COMM))
        return hb_fail(HB_ERROR_INVALID_ARGUMENT,
                       "activities 0x%x: HB_ACTIVITY_CPU, HB_ACTIVITY_HIP and HB_ACTIVITY_COMM are "
                       "known",
                       o->activities);
    if (o->sample_hz > 1000)
        return hb_fail(HB_ERROR_INVALID_ARGUMENT, "sample_hz %u: at most 1000 is possible",
                       o->sample_hz);
    if (o->time_slice_ns < 0)
        return hb_fail(HB_ERROR_INVALID_ARGUMENT, "time_slice_ns %lld: it must not be negative",
                       (long long)o->time_slice_ns);
    HB_TRY(hb_trigger_check(o));
    if (o->kernel_sampling > UINT32_MAX)
        return hb_fail(HB_ERROR_INVALID_ARGUMENT, "kernel_sampling %llu: at most %u is possible",
                       (unsigned long long)o->kernel_sampling, UINT32_MAX);
    HB_TRY(hb_schedule_check(&o->schedule));
    return hb_handler_check(&o->on_trace_ready);
}

/* Not the profiler itself when its spool's memory must stay. */
static void profiler_free(hb_profiler *prof, bool whole)
{
    if (prof->keeps_memory && prof->pid == getpid()) hb_live_memory_drop();
    hb_metadata_drop(prof);
    hb_handler_destroy(&prof->options.on_trace_ready);
    hb_retention_free(&prof->retention);
    hb_ring_free(prof);
    free(prof->control_file);
    free(prof->spool_dir);
    free(prof->distributed_json);
    free(prof->rccl_json);
    if (whole) free(prof);
}

/* In a program that has more rights than its caller the environment means nothing. */
static bool is_set(const char *variable)
{
    const char *value = secure_getenv(variable);
    return value && *value && strcmp(value, "0") != 0;
}

static hb_result copy_options(hb_profiler *prof, const hb_profiler_options *o)
{
    hb_distributed_info distributed;
    HB_TRY(hb_distributed_complete(&o->distributed, &distributed));
    prof->options = *o;
    prof->ranks = HB_MAX(distributed.world_size, 1);
    /* TensorBoard would mix those of one directory. */
    prof->logs_events =
        hb_handler_logs_events(&o->on_trace_ready) && (prof->ranks == 1 || distributed.rank == 0);
    prof->options.distributed = (hb_distributed_info){0};
    prof->options.spool_dir = prof->options.operators = NULL; /* the caller's texts */
    if (o->spool_dir && !(prof->spool_dir = hb_absolute_path(o->spool_dir)))
        return hb_fail_errno(HB_ERROR_IO, errno, "where is '%s'", o->spool_dir);
    HB_TRY(hb_handler_fix_dirs(&prof->options.on_trace_ready));
    prof->sync = o->sync || is_set("HIPBOARD_FSYNC");
    HB_TRY(hb_trigger_take_options(prof, o));
    HB_TRY(hb_distributed_json(&distributed, &prof->distributed_json));
    if (o->distributed.backend && *o->distributed.backend) return HB_OK;
    distributed.backend = "nccl"; /* in fact, where its calls are recorded */
    return hb_distributed_json(&distributed, &prof->rccl_json);
}

static hb_profiler *profiler_new(void)
{
    hb_profiler *prof = calloc(1, sizeof *prof);
    if (!prof) return NULL;
    prof->pid = getpid();
    prof->cycle = -1;
    prof->spool.file = HB_NO_KEPT_FILE;
    hb_lock_init(&prof->lock, HB_LOCK_PROFILER);
    return prof;
}

/* Whoever says which tables he wants has said all of it. */
static const char *operators_of(const hb_profiler_options *o)
{
    bool rccl = !o->operators && (o->activities & HB_ACTIVITY_COMM);
    return rccl ? "communication" : o->operators;
}

/* What records on demand only is to cost nothing until then. */
static bool watches_launches(const hb_profiler_options *options)
{
    return options->find_steps && !options->on_demand;
}

static hb_profiler *create(const hb_profiler_options *options)
{
    bool valid = hb_record_init() == HB_OK && check_options(options) == HB_OK;
    hb_profiler *prof = valid ? profiler_new() : NULL;
    if (valid && !prof) hb_fail(HB_ERROR_NO_MEMORY, "no memory for a profiler");
    if (!prof) {
        hb_handler_destroy(&options->on_trace_ready);
        return NULL;
    }
    hb_result ready = copy_options(prof, options);
    const char *operators = operators_of(options);
    if (ready == HB_OK && operators) ready = hb_operators_attach(operators);
    if (ready == HB_OK) hb_operators_tell_steps(options->on_operator_step);
    if (ready == HB_OK) hb_samples_open(options->sample_hz);
    if (ready == HB_OK)
        hb_operators_pace(watches_launches(options) ? options->on_operator_step : NULL);
    if (ready == HB_OK) {
        prof->wants_operators = operators != NULL;
        if (hb_wants_activity(prof, HB_ACTIVITY_HIP)) hb_device_prepare();
        prof->keeps_memory = options->profile_memory;
        if (prof->keeps_memory) hb_live_memory_keep();
        return prof;
    }
    profiler_free(prof, true);
    return NULL;
}

hb_profiler *hb_profiler_create(const hb_profiler_options *options)
{
    HB_GUARDED();
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    if (!options) {
        hb_fail(HB_ERROR_INVALID_ARGUMENT, "the options are NULL");
        return NULL;
    }
    hb_result taken = hb_options_take(options, &o, sizeof o, "HB_PROFILER_OPTIONS_INIT");
    if (taken != HB_OK) {
        /* Whatever else is wrong with them, a handler of ours is one; of a newer caller, any is. */
        if (taken == HB_ERROR_UNSUPPORTED || hb_handler_is_ours(&options->on_trace_ready))
            hb_handler_destroy(&options->on_trace_ready);
        return NULL;
    }
    return create(&o);
}

/* Now, and not when hours of records are to be written. What is wrong may be mended by then, so
 * recording begins all the same. */
static hb_result check_directory(hb_profiler *prof)
{
    hb_result result = hb_handler_open_dirs(&prof->options.on_trace_ready);
    if (result != HB_OK && !prof->warned_directory)
        hb_warn("%s; traces can't be written until that is mended", hb_last_error());
    prof->warned_directory = prof->warned_directory || result != HB_OK;
    return result;
}

/* What the present step's action asks for begins. What cycles to come need is put in place now, so
 * that no step waits for a disk; of requests, the control thread does so. */
static hb_result go_on(hb_profiler *prof)
{
    hb_run_log_open(prof);
    if (!hb_demand_wanted(&prof->options)) HB_TRY(hb_cycles_prepare(prof));
    hb_result result = hb_cycles_transit(prof, HB_ACTION_NONE, prof->action);
    hb_ring_step(prof);
    begin_step(prof);
    return result;
}

static hb_result start(hb_profiler *prof)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    hb_profiler_action action;
    if (!prof) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "start: the profiler is NULL");
    if (prof->started) return hb_fail(HB_ERROR_STATE, "start: the profiler is already started");
    HB_TRY(next_action(prof, prof->step_num, &action));
    pthread_once(&once, register_once);
    HB_TRY(hb_control_start(prof));
    hb_arbitration_lock(prof);
    hb_result result = hb_arbitration_take(prof), directory = HB_OK;
    if (result == HB_OK) {
        directory = check_directory(prof);
        prof->started = true;
        prof->action = action;
        if (!prof->paused) result = go_on(prof);
    }
    hb_arbitration_unlock(prof);
    if (!prof->started) (void)hb_control_end(prof);
    return result != HB_OK ? result : directory;
}

hb_result hb_profiler_start(hb_profiler *prof)
{
    HB_GUARDED();
    bool outermost;
    HB_TRY(enter(prof, "start", &outermost));
    hb_result result = start(prof);
    leave(prof, outermost);
    return result;
}

static hb_result next_step(hb_profiler *prof)
{
    hb_profiler_action action, last;
    HB_TRY(check_started(prof, "step"));
    if (prof->in_handler) return hb_fail(HB_ERROR_STATE, "step: called from on_trace_ready");
    if (prof->paused) return HB_OK;
    hb_result delivered = hb_cycles_deliver(prof);
    hb_trigger_step(prof);
    HB_TRY(next_action(prof, prof->step_num + 1, &action));
    hb_scope_end(&prof->step_scope);
    if (hb_wants_activity(prof, HB_ACTIVITY_HIP)) hb_device_look_again();
    last = prof->action;
    prof->step_num++;
    prof->action = action;
    hb_run_log_step(prof);
    hb_result result = hb_cycles_transit(prof, last, action);
    hb_ring_step(prof);
    begin_step(prof);
    if (result == HB_OK) result = delivered;
    return result != HB_OK ? result : hb_worker_result(prof);
}

/* At the end of a call that may have led to the handler. */
static hb_result after_handler(hb_profiler *prof, hb_result result)
{
    char text[1024];
    if (!prof || !prof->doomed || prof->in_handler || prof->destroying) return result;
    snprintf(text, sizeof text, "%s", hb_last_error());
    hb_profiler_destroy(prof);
    return result == HB_OK ? HB_OK : hb_fail(result, "%s", text);
}

hb_result hb_profiler_step(hb_profiler *prof)
{
    HB_GUARDED();
    bool outermost;
    HB_TRY(enter(prof, "step", &outermost));
    hb_arbitration_lock(prof);
    hb_result result = next_step(prof);
    hb_arbitration_unlock(prof);
    leave(prof, outermost);
    return after_handler(prof, result);
}

static hb_result finish(hb_profiler *prof)
{
    hb_scope_end(&prof->step_scope);
    hb_result delivered = hb_cycles_deliver(prof);
    hb_result result = prof->paused ? HB_OK : hb_cycles_finish(prof);
    hb_demand_drop(prof);
    return result != HB_OK ? result : delivered;
}

void hb_profiler_pause(hb_profiler *prof)
{
    if (finish(prof) != HB_OK) hb_warn("%s", hb_last_error());
    prof->paused = true;
}

void hb_profiler_resume(hb_profiler *prof)
{
    prof->paused = false;
    if (prof->options.on_demand) prof->action = HB_ACTION_NONE;
    if (go_on(prof) != HB_OK) hb_warn("%s", hb_last_error());
}

static hb_result stop(hb_profiler *prof, bool *stopped)
{
    HB_TRY(check_started(prof, "stop"));
    if (prof->in_handler) return hb_fail(HB_ERROR_STATE, "stop: called from on_trace_ready");
    hb_result result = finish(prof);
    prof->started = false;
    prof->action = HB_ACTION_NONE;
    hb_arbitration_give(prof);
    *stopped = true;
    return result;
}

hb_result hb_profiler_stop(hb_profiler *prof)
{
    HB_GUARDED();
    bool stopped = false, outermost;
    HB_TRY(enter(prof, "stop", &outermost));
    hb_control_settle(prof, true);
    hb_arbitration_lock(prof);
    hb_result result = stop(prof, &stopped);
    hb_arbitration_unlock(prof);
    bool waits = stopped && !prof->options.stop_hands_over;
    leave(prof, outermost);       /* at exit, another thread may be waiting for this one */
    if (stopped) hand_over(prof); /* also meanwhile: another thread may call exit() */
    hb_result written = waits ? hb_profiler_flush(prof) : HB_OK;
    if (waits) take_back(prof);
    if (stopped) (void)hb_control_end(prof); /* now: who waits for the last cycle is told of it */
    return after_handler(prof, result != HB_OK ? result : written);
}

hb_result hb_profiler_flush(hb_profiler *prof)
{
    HB_GUARDED();
    if (!prof) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "flush: the profiler is NULL");
    if (prof->pid != getpid()) return HB_OK;
    if (hb_guard_has_left())
        return hb_fail(HB_ERROR_STATE, "flush: the program is ending, its exit handlers run");
    hb_control_settle(prof, false);
    hb_worker_wait(prof);
    return hb_worker_result(prof);
}

static void destroy(void *profiler)
{
    hb_profiler *prof = profiler;
    if (prof->in_handler) { /* whoever called it still needs it */
        prof->doomed = true;
        return;
    }
    prof->destroying = true;
    if (prof->pid != getpid()) { /* the worker and the files are the parent's */
        hb_control_forget(prof);
        if (prof->spool.base) hb_spool_abandon(&prof->spool);
        profiler_free(prof, true);
        return;
    }
    prof->options.stop_hands_over = false;
    if (prof->started) (void)hb_profiler_stop(prof);
    take_back(prof);
    bool controlled = !hb_control_end(prof);
    if (!hb_worker_end(prof) || controlled) return; /* to recovery, at exit */
    hb_control_free(prof);
    hb_run_log_close(prof);
    hb_cycles_drop(prof);
    bool unused = hb_spool_close(&prof->spool, hb_spool_has_unsaved(&prof->spool));
    profiler_free(prof, unused);
}

/* Also by destructors of C++, behind the exit handlers. */
void hb_profiler_destroy(hb_profiler *prof)
{
    HB_GUARDED();
    if (prof && !hb_guard_has_left()) (void)hb_guard_call(destroy, prof);
}

int64_t hb_profiler_step_num(const hb_profiler *prof)
{
    return prof ? prof->step_num : 0;
}

hb_result hb_profiler_number_next_step(hb_profiler *prof, int64_t number)
{
    if (!prof) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "number_next_step: the profiler is NULL");
    uint64_t next = (uint64_t)prof->step_num + (prof->started ? 1 : 0);
    prof->numbered_from =
        (int64_t)((uint64_t)number - next); /* any number; beyond the last: wraps */
    return HB_OK;
}

hb_profiler_action hb_profiler_current_action(const hb_profiler *prof)
{
    hb_arbitration_lock(prof); /* hipboard's own thread may just begin or end a cycle */
    hb_profiler_action action = prof ? prof->action : HB_ACTION_NONE;
    hb_arbitration_unlock(prof);
    return action;
}

int64_t hb_profiler_cycle(const hb_profiler *prof)
{
    hb_arbitration_lock(prof);
    int64_t cycle = prof ? prof->cycle : -1;
    hb_arbitration_unlock(prof);
    return cycle;
}

hb_result hb_profiler_lost(const hb_profiler *prof, hb_lost *lost)
{
    if (!prof || !lost) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "lost: an argument is NULL");
    if (lost->struct_size < sizeof lost->struct_size)
        return hb_fail(HB_ERROR_INVALID_ARGUMENT, "hb_lost.struct_size is not set");
    hb_spool *spool = (hb_spool *)(uintptr_t)&prof->spool; /* settling shows no change to callers */
    if (prof->last_cycle) hb_session_settle(spool, prof->last_cycle->session);
    hb_lost now = prof->last_cycle ? hb_session_lost(prof->last_cycle->session) : (hb_lost){0};
    now.struct_size = lost->struct_size;
    memcpy(lost, &now, HB_MIN(lost->struct_size, sizeof now)); /* a program's may be older */
    return HB_OK;
}
