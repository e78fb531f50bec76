/* SPDX-License-Identifier: MIT */
#include "profiler/demand.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "profiler/arbitration.h"
#include "profiler/control.h"
#include "profiler/cycles.h"
#include "profiler/profiler.h"

#define NEVER   INT64_MAX
#define SOON_NS INT64_C(60000000000)

/* Of requests that say neither steps nor a time. */
enum { USUAL_STEPS = 3, USUAL_MS = 1000 };

bool hb_demand_wanted(const hb_profiler_options *options)
{
    return options->on_demand || hb_ring_wanted(options);
}

static bool by_steps(const hb_request *r)
{
    return r->steps > 0;
}

/* A program that has marked a step will mark more. What a ring has kept is there. */
static void complete(hb_request *r, bool marks_steps, bool ring)
{
    if (r->steps || r->duration_ms || ring) return;
    if (marks_steps || r->start_step > 0 || r->roundup > 1)
        r->steps = USUAL_STEPS;
    else
        r->duration_ms = USUAL_MS;
}

/* What is left until a Unix time, by the clock that nobody sets. */
static int64_t monotonic_of(int64_t unix_ms, int64_t now)
{
    int64_t left_ms = unix_ms - hb_clock_ns(CLOCK_REALTIME) / 1000000;
    if (left_ms <= 0) return now;
    return left_ms < INT64_MAX / 4000000 ? now + left_ms * 1000000 : NEVER / 2;
}

#define HANDLER_WAITS "the cycle before waits for the program's next step or stop"

static hb_result check_free(const hb_profiler *prof)
{
    const hb_demand *d = &prof->demand;
    if (!prof->started) return hb_fail(HB_ERROR_STATE, "the profiler is not started");
    if (prof->paused)
        return hb_fail(HB_ERROR_BUSY, "another profiler of the process is running, for which this "
                                      "one makes room");
    if (prof->handler_waits)
        return hb_fail(HB_ERROR_BUSY, HANDLER_WAITS ", in which on_trace_ready is called");
    if (d->phase != HB_DEMAND_RECORDING) return HB_OK;
    return hb_fail(HB_ERROR_BUSY, "what was asked for before is still being recorded%s%s%s",
                   d->request.id[0] ? " (" : "", d->request.id, d->request.id[0] ? ")" : "");
}

hb_result hb_demand_ask(hb_profiler *prof, const hb_request *request, uint64_t *number)
{
    hb_demand *d = &prof->demand;
    HB_TRY(check_free(prof));
    int64_t now = hb_clock_ns(CLOCK_MONOTONIC);
    *d = (hb_demand){.phase = HB_DEMAND_ASKED,
                     .request = *request,
                     .number = d->number + 1,
                     .first_step = -1,
                     .asked_ns = now,
                     .at_ns = monotonic_of(request->start_ms, now)};
    d->late = request->start_ms && d->at_ns == now;
    bool ring = hb_ring_wanted(&prof->options);
    complete(&d->request, prof->step_num > 0, ring);
    if (ring) d->at_ns += d->request.duration_ms * 1000000;
    d->stepless = by_steps(&d->request) && prof->step_num == 0;
    *number = d->number;
    return HB_OK;
}

bool hb_demand_is_awaited(hb_profiler *prof)
{
    if (hb_ring_wanted(&prof->options)) return false;
    hb_arbitration_lock(prof);
    const hb_demand *d = &prof->demand;
    bool in_vain = d->stepless && prof->step_num == 0;
    bool soon = d->at_ns - hb_clock_ns(CLOCK_MONOTONIC) < SOON_NS;
    bool awaited = d->phase == HB_DEMAND_ASKED && soon && !in_vain;
    hb_arbitration_unlock(prof);
    return awaited;
}

/* ---- by steps ---- */

static int64_t next_multiple(int64_t step, int64_t to)
{
    int64_t over = step % to;
    if (over == 0) return step;
    if (over < 0) over += to;
    return step <= INT64_MAX - (to - over) ? step + (to - over) : INT64_MAX;
}

/* The start time says from when on steps count: so ranks that hear of a request at different
 * moments, but know its time, round the same step up. */
static void find_first_step(hb_demand *d, int64_t step)
{
    if (hb_clock_ns(CLOCK_MONOTONIC) < d->at_ns) return;
    d->first_step = next_multiple(HB_MAX(step, d->request.start_step), d->request.roundup);
    d->last_step = d->first_step <= INT64_MAX - d->request.steps
                       ? d->first_step + d->request.steps - 1
                       : INT64_MAX;
}

/* Of a ring, what was asked for still comes into it before it is written. */
static void count_ring_step(hb_profiler *prof, int64_t step)
{
    hb_demand *d = &prof->demand;
    if (d->phase != HB_DEMAND_ASKED || !by_steps(&d->request)) return;
    if (d->first_step < 0) find_first_step(d, step);
    if (d->first_step < 0 || step <= d->last_step) return;
    d->request.steps = 0;
    d->at_ns = hb_clock_ns(CLOCK_MONOTONIC);
    hb_control_wake(prof);
}

hb_profiler_action hb_demand_action(hb_profiler *prof, int64_t step)
{
    hb_demand *d = &prof->demand;
    if (hb_ring_wanted(&prof->options)) {
        count_ring_step(prof, step);
        return HB_ACTION_RECORD;
    }
    if (d->phase == HB_DEMAND_NONE) return HB_ACTION_NONE;
    if (!by_steps(&d->request)) /* our own thread minds it */
        return d->phase == HB_DEMAND_RECORDING ? HB_ACTION_RECORD : HB_ACTION_NONE;
    if (d->first_step < 0) find_first_step(d, step);
    if (d->first_step < 0 || step < d->first_step) return HB_ACTION_NONE;
    if (step > d->last_step) {
        d->phase = HB_DEMAND_NONE;
        return HB_ACTION_NONE;
    }
    d->phase = HB_DEMAND_RECORDING;
    return step == d->last_step ? HB_ACTION_RECORD_AND_SAVE : HB_ACTION_RECORD;
}

/* ---- by time ---- */

int64_t hb_demand_due(const hb_profiler *prof)
{
    const hb_demand *d = &prof->demand;
    if (d->phase == HB_DEMAND_NONE || by_steps(&d->request)) return NEVER;
    return d->at_ns;
}

static void begin_recording(hb_profiler *prof)
{
    hb_demand *d = &prof->demand;
    d->phase = HB_DEMAND_RECORDING;
    d->at_ns = hb_clock_ns(CLOCK_MONOTONIC) + d->request.duration_ms * 1000000;
    prof->action = HB_ACTION_RECORD;
    hb_result result = hb_cycles_transit(prof, HB_ACTION_NONE, HB_ACTION_RECORD);
    if (result == HB_OK) return;
    hb_warn("what was asked for is not recorded: %s", hb_last_error());
    prof->action = HB_ACTION_NONE;
    d->phase = HB_DEMAND_NONE;
}

static void end(hb_profiler *prof)
{
    prof->action = HB_ACTION_NONE;
    if (hb_cycles_transit(prof, HB_ACTION_RECORD_AND_SAVE, HB_ACTION_NONE) != HB_OK)
        hb_warn("%s", hb_last_error());
    prof->demand.phase = HB_DEMAND_NONE;
}

static void run(hb_profiler *prof)
{
    if (!prof->started || prof->paused) return;
    if (hb_demand_due(prof) > hb_clock_ns(CLOCK_MONOTONIC)) return;
    if (prof->demand.phase == HB_DEMAND_ASKED)
        begin_recording(prof);
    else
        end(prof);
}

int64_t hb_demand_mind(hb_profiler *prof)
{
    hb_arbitration_lock(prof);
    run(prof);
    int64_t due = hb_demand_due(prof);
    hb_arbitration_unlock(prof);
    return due;
}

bool hb_demand_is_due(const hb_profiler *prof, bool at_once)
{
    if (prof->demand.phase != HB_DEMAND_ASKED) return false;
    return at_once || hb_demand_due(prof) <= hb_clock_ns(CLOCK_MONOTONIC);
}

void hb_demand_over(hb_profiler *prof)
{
    prof->demand.phase = HB_DEMAND_NONE;
}

void hb_demand_drop(hb_profiler *prof)
{
    if (prof->demand.phase == HB_DEMAND_ASKED) hb_demand_warn_dropped(prof->demand.request.reason);
    hb_demand_over(prof);
}

void hb_demand_warn_dropped(const char *reason)
{
    hb_warn("not recorded, since the profiler stopped or made room before it began: %s", reason);
}

void hb_demand_warn_waits(hb_profiler *prof, const char *reason)
{
    hb_arbitration_lock(prof);
    bool tell = prof->handler_waits && !prof->demand.told_waits;
    prof->demand.told_waits |= tell;
    hb_arbitration_unlock(prof);
    if (tell) hb_warn("not recorded, since " HANDLER_WAITS ": %s (said once)", reason);
}

/* ---- its cycle ---- */

uint64_t hb_demand_number(const hb_profiler *prof)
{
    return prof->demand.number;
}

char *hb_demand_path(const hb_profiler *prof)
{
    const char *path = prof->demand.request.log_file;
    return *path ? hb_request_path(path, prof->pid, prof->demand.number) : NULL;
}

uint32_t hb_demand_session_flags(const hb_profiler *prof)
{
    unsigned details = prof->demand.request.details;
    return (details & HB_REQUEST_SHAPES ? HB_SESSION_SHAPES : 0) |
           (details & HB_REQUEST_MEMORY ? HB_SESSION_MEMORY : 0) |
           (details & HB_REQUEST_STACK ? HB_SESSION_STACK : 0) |
           (details & HB_REQUEST_FLOPS ? HB_SESSION_FLOPS : 0) |
           (details & HB_REQUEST_MODULES ? HB_SESSION_MODULES : 0);
}
