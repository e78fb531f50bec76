/* SPDX-License-Identifier: MIT
 *
 * torch.profiler.schedule() and schedules of the user's own.
 */
#include "profiler/schedule.h"

#include "base/guard.h"

enum { KIND_NONE = 0, KIND_PARAMS = 1, KIND_FUNCTION = 2 };

hb_schedule hb_schedule_from(const hb_schedule_params *params)
{
    hb_schedule schedule = {.kind = KIND_PARAMS};
    if (params) schedule.params = *params;
    return schedule;
}

hb_schedule hb_schedule_from_function(hb_schedule_fn fn, void *context)
{
    return (hb_schedule){.fn = fn, .context = context, .kind = KIND_FUNCTION};
}

static bool params_valid(const hb_schedule_params *p)
{
    const int64_t most = INT64_MAX / 4; /* their sum must not overflow */
    return p->wait >= 0 && p->warmup >= 0 && p->active > 0 && p->repeat >= 0 &&
           p->skip_first >= 0 && p->wait <= most && p->warmup <= most && p->active <= most;
}

hb_result hb_schedule_check(const hb_schedule *schedule)
{
    const hb_schedule_params *p = &schedule->params;
    if (schedule->kind > KIND_FUNCTION)
        return hb_fail(HB_ERROR_INVALID_ARGUMENT,
                       "schedule: make it with hb_schedule_make() or hb_schedule_from_function()");
    if (schedule->kind == KIND_FUNCTION && !schedule->fn)
        return hb_fail(HB_ERROR_INVALID_ARGUMENT, "schedule: the function is NULL");
    if (schedule->kind != KIND_PARAMS || params_valid(p)) return HB_OK;
    return hb_fail(HB_ERROR_INVALID_ARGUMENT,
                   "Invalid profiler schedule arguments. Got wait=%lld (need >= 0), warmup=%lld "
                   "(need >= 0), active=%lld (need > 0), repeat=%lld (need >= 0), skip_first=%lld "
                   "(need >= 0).",
                   (long long)p->wait, (long long)p->warmup, (long long)p->active,
                   (long long)p->repeat, (long long)p->skip_first);
}

bool hb_schedule_given(const hb_schedule *schedule)
{
    return schedule->kind != KIND_NONE;
}

static hb_profiler_action params_action(const hb_schedule_params *p, int64_t step)
{
    if (!params_valid(p) || step < p->skip_first) return HB_ACTION_NONE;
    step -= p->skip_first;
    if (p->skip_first_wait) step += p->wait;
    int64_t length = p->wait + p->warmup + p->active;
    if (p->repeat > 0 && step / length >= p->repeat) return HB_ACTION_NONE;
    int64_t place = step % length;
    if (place < p->wait) return HB_ACTION_NONE;
    if (place < p->wait + p->warmup) return HB_ACTION_WARMUP;
    return place < length - 1 ? HB_ACTION_RECORD : HB_ACTION_RECORD_AND_SAVE;
}

hb_profiler_action hb_schedule_action(const hb_schedule *schedule, int64_t step)
{
    if (!schedule || schedule->kind == KIND_NONE) return HB_ACTION_RECORD;
    if (step < 0) return HB_ACTION_NONE;
    if (schedule->kind == KIND_PARAMS) return params_action(&schedule->params, step);
    hb_callback callback;
    if (!schedule->fn) return HB_ACTION_NONE;
    hb_callback_begin(&callback);
    hb_profiler_action action = schedule->fn(step, schedule->context);
    hb_callback_end(&callback);
    return action;
}
