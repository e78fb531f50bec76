/* SPDX-License-Identifier: MIT
 *
 * What GPUs took in each step, which a trace tells (telemetry/step_telemetry.c).
 */
#include <math.h>

#include "api/api_trace_file.h"
#include "base/json_members.h"

typedef struct walk {
    bool (*fn)(void *context, const hb_gpu_step *step);
    void *context;
} walk;

/* False of what is none. */
static bool whole_number(hb_str from, const char *name, int64_t *result)
{
    hb_value v = hb_json_member(from, name);
    return hb_value_int(&v, result);
}

static bool take(void *context, const hb_value *value)
{
    const walk *w = context;
    hb_str from = {value->s, (uint32_t)value->size};
    int64_t gpu, step_number, throttled;
    if (!whole_number(from, "gpu", &gpu) || gpu < 0 || gpu > INT32_MAX ||
        !whole_number(from, "step", &step_number))
        return true; /* of no GPU, or of no step */
    if (!whole_number(from, "throttled", &throttled) || throttled < 0 || throttled > INT32_MAX)
        throttled = -1;
    locale_t before = hb_enter_c_locale();
    hb_gpu_step step = {
        .gpu = (int)gpu,
        .step = step_number,
        .joules = hb_json_number(from, "joules", NAN),
        .watts = hb_json_number(from, "watts", NAN),
        .degrees = hb_json_number(from, "degrees", NAN),
        .mhz = hb_json_number(from, "mhz", NAN),
        .least_mhz = hb_json_number(from, "least_mhz", NAN),
        .throttled = (int)throttled,
    };
    hb_leave_c_locale(before);
    return w->fn(w->context, &step);
}

hb_result hb_trace_file_gpu_steps(hb_trace_file *file,
                                  bool (*fn)(void *context, const hb_gpu_step *step), void *context)
{
    walk w = {fn, context};
    if (!file || !fn) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "an argument is NULL");
    hb_str json = hb_trace_member(hb_trace_file_trace(file), "hipboard_gpu_steps");
    if (json.len) hb_json_each(json, take, &w);
    return HB_OK;
}
