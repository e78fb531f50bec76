/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <strings.h>

#include "convert/convert.h"
#include "io/number_text.h"
#include "rules/call_class.h"

/* ---- values ---- */

bool hb_plain_number(const hb_value *value, double *result)
{
    hb_value v = *value;
    if (v.type == HB_JSON_INT || v.type == HB_JSON_FLOAT) {
        *result = hb_value_double(&v);
        return isfinite(*result);
    }
    if (v.type != HB_JSON_STRING || v.size == 0 || v.size > 30) return false;
    char text[32] = "", *end;
    memcpy(text, v.s, v.size);
    *result = strtod(text, &end);
    return end == text + v.size && isfinite(*result);
}

bool hb_adds_up(const hb_value *value)
{
    double ignored;
    return value->type == HB_JSON_NONE || value->type == HB_JSON_TRUE ||
           value->type == HB_JSON_FALSE || hb_plain_number(value, &ignored);
}

/* Of digits in quotes, too. What does not fit is the largest or smallest there is, and nothing to
 * compare. */
static bool exact_int(const hb_value *v, int64_t *result)
{
    char text[HB_MAX_NUMBER] = "";
    if (hb_value_int(v, result)) return true;
    if ((v->type != HB_JSON_INT && v->type != HB_JSON_STRING) || v->size >= sizeof text)
        return false;
    memcpy(text, v->s, v->size);
    size_t digits = strspn(text + (*text == '-'), "0123456789");
    if (!digits || digits + (*text == '-') != v->size) return false;
    *result = strtoll(text, NULL, 10);
    return *result != INT64_MAX && *result != INT64_MIN;
}

int64_t hb_plain_int(const hb_raw_event *raw, hb_slot slot)
{
    hb_value v = hb_raw_get(raw, slot);
    double d;
    int64_t i;
    if (exact_int(&v, &i)) return i;
    return hb_plain_number(&v, &d) && d == floor(d) && fabs(d) < 1e18 ? (int64_t)d : HB_ABSENT;
}

/* Empty for what is no string. */
static hb_str text_of(const hb_value *v)
{
    return v->type == HB_JSON_STRING ? (hb_str){v->s, (uint32_t)v->size} : (hb_str){"", 0};
}

static hb_plan_role role_of_annotation(hb_str name, bool gpu)
{
    if (hb_is_step(name)) return gpu ? HB_PLAN_GPU_STEP : HB_PLAN_STEP;
    if (gpu) return HB_PLAN_GPU_ANNOTATION;
    unsigned bits = hb_scope_class_of(name);
    if (bits & HB_NAME_COLLECTIVE) return HB_PLAN_NODE;
    return bits & HB_NAME_LIBRARY ? HB_PLAN_SCOPE : HB_PLAN_OTHER;
}

static hb_plan_role role_of_complete(const hb_raw_event *raw, hb_category category, hb_str name)
{
    switch (hb_category_kind(category)) {
    case HB_KIND_RUNTIME:
    case HB_KIND_CALL: return HB_PLAN_CALL;
    case HB_KIND_KERNEL:
    case HB_KIND_MEMCPY:
    case HB_KIND_MEMSET: return HB_PLAN_WORK;
    case HB_KIND_OPERATOR: return hb_is_step(name) ? HB_PLAN_STEP : HB_PLAN_NODE;
    case HB_KIND_PYTHON: return HB_PLAN_NODE;
    case HB_KIND_ANNOTATION:
        return role_of_annotation(name, category == HB_CATEGORY_GPU_USER_ANNOTATION);
    case HB_KIND_SPAN: return HB_PLAN_SPAN;
    case HB_KIND_FUNCTION:
        return hb_raw_get(raw, HB_SLOT_PYTHON_MODULE).type > HB_JSON_NULL ? HB_PLAN_MODULE
                                                                          : HB_PLAN_OTHER;
    default: return HB_PLAN_OTHER;
    }
}

static hb_plan_role role_of(const hb_raw_event *raw, hb_category category, hb_str name)
{
    hb_value ph = hb_raw_get(raw, HB_SLOT_PH);
    if (category == HB_CATEGORY_FORWARD_BACKWARD) return HB_PLAN_FLOW;
    if (hb_value_is(&ph, "X")) return role_of_complete(raw, category, name);
    if (hb_value_is(&ph, "i") && hb_name_is(HB_KNOWN_MEMORY, name)) return HB_PLAN_MEMORY;
    if (hb_value_is(&ph, "i") || hb_value_is(&ph, "M")) return HB_PLAN_SPAN;
    if (hb_value_is(&ph, "f") && category == HB_CATEGORY_AC2G) return HB_PLAN_ARROW;
    return HB_PLAN_OTHER;
}

/* ---- events ---- */

/* The older name goes first, whatever it has. */
static int64_t external_id(const hb_raw_event *raw)
{
    bool older = hb_raw_get(raw, HB_SLOT_EXTERNAL_LOWER).type > HB_JSON_NULL;
    return hb_plain_int(raw, older ? HB_SLOT_EXTERNAL_LOWER : HB_SLOT_EXTERNAL);
}

static void note_device(hb_plan *plan, int64_t device)
{
    int i = 0;
    while (i < plan->num_devices && plan->devices[i] < device)
        i++;
    if (i < plan->num_devices && plan->devices[i] == device) return;
    plan->more_devices |= plan->num_devices == HB_PLAN_DEVICES;
    if (plan->more_devices) return;
    memmove(plan->devices + i + 1, plan->devices + i,
            (size_t)(plan->num_devices - i) * sizeof *plan->devices);
    plan->devices[i] = device;
    plan->num_devices++;
}

static int32_t device_of(const hb_raw_event *raw)
{
    int64_t device = hb_plain_int(raw, HB_SLOT_DEVICE);
    if (device == HB_ABSENT) device = hb_plain_int(raw, HB_SLOT_PID);
    return device < 0 || device > 1 << 20 ? -1 : (int32_t)device;
}

/* Python takes true and false for 1 and 0. */
static int64_t memory_device(const hb_raw_event *raw)
{
    hb_value value = hb_raw_get(raw, HB_SLOT_DEVICE_ID);
    bool truth = value.type == HB_JSON_TRUE || value.type == HB_JSON_FALSE;
    return truth ? value.type == HB_JSON_TRUE : hb_plain_int(raw, HB_SLOT_DEVICE_ID);
}

static void note_memory(hb_plan *plan, const hb_raw_event *raw)
{
    int64_t type = hb_plain_int(raw, HB_SLOT_DEVICE_TYPE);
    /* The plugin takes -1 for the last one. */
    if (type != 0)
        plan->max_memory_device =
            HB_MAX(plan->max_memory_device, (int)HB_MAX(memory_device(raw), 0));
}

static bool is_container(const hb_raw_event *raw, hb_slot slot)
{
    hb_value value = hb_raw_get(raw, slot);
    return value.type == HB_JSON_ARRAY || value.type == HB_JSON_OBJECT;
}

static bool has_odd_value(const hb_raw_event *raw, const hb_item *item)
{
    bool linked = item->role == HB_PLAN_CALL || item->role == HB_PLAN_WORK;
    bool listed = item->role == HB_PLAN_NODE || item->role == HB_PLAN_SCOPE;
    return is_container(raw, HB_SLOT_EXTERNAL) || is_container(raw, HB_SLOT_EXTERNAL_LOWER) ||
           (linked && is_container(raw, HB_SLOT_CORRELATION)) ||
           (listed && is_container(raw, HB_SLOT_STACK));
}

static bool is_odd_memory(const hb_raw_event *raw, const hb_item *item)
{
    int64_t device = memory_device(raw);
    if (hb_plain_int(raw, HB_SLOT_DEVICE_TYPE) != 0 && (device < -1 || device >= HB_PLAN_DEVICES))
        return true;
    hb_value bytes = hb_raw_get(raw, HB_SLOT_BYTES);
    return isnan(item->ts) || item->tid == HB_ABSENT || is_container(raw, HB_SLOT_ADDR) ||
           !hb_adds_up(&bytes);
}

/* Whether the plugin would lose the file with it, and cannot be helped. It measures all by the
 * profiler's own span, which has to be a microsecond at least. */
static bool is_unfit(const hb_raw_event *raw, const hb_item *item, hb_str name)
{
    hb_value ph = hb_raw_get(raw, HB_SLOT_PH);
    bool timed = !isnan(item->ts) && item->dur >= 0;
    if (item->role == HB_PLAN_STEP && !hb_step_digits(name)) return true;
    if (item->role == HB_PLAN_MODULE && hb_is_collective(name)) return true; /* without inputs */
    if (item->role >= HB_PLAN_NODE && item->role <= HB_PLAN_GPU_STEP)
        return !timed || has_odd_value(raw, item);
    if (item->role == HB_PLAN_MEMORY) return is_odd_memory(raw, item);
    return item->role == HB_PLAN_SPAN && hb_value_is(&ph, "X") && !(timed && item->dur >= 1);
}

static void note_role(hb_plan *plan, const hb_raw_event *raw, hb_category category, hb_str name,
                      hb_item *item)
{
    switch ((hb_plan_role)item->role) {
    case HB_PLAN_NODE:
        if (hb_category_kind(category) == HB_KIND_OPERATOR) item->flags |= HB_ITEM_OPERATOR;
        __attribute__((fallthrough));
    case HB_PLAN_SCOPE:
    case HB_PLAN_MODULE: item->name = hb_texts_add(&plan->trace.strings, name.s, name.len); break;
    case HB_PLAN_STEP: item->corr = hb_step_number_of(name); break;
    case HB_PLAN_CALL:
        if (hb_is_hip_call(name)) plan->amd_calls = true;
        if (category != HB_CATEGORY_RUNTIME) plan->foreign_calls = true;
        break;
    case HB_PLAN_WORK:
        item->device = HB_MAX(item->device, 0);
        note_device(plan, item->device);
        break;
    case HB_PLAN_MEMORY: note_memory(plan, raw); break;
    case HB_PLAN_ARROW: item->corr = hb_plain_int(raw, HB_SLOT_ID); break;
    default: break;
    }
}

/* Text is a pid, too: what puts traces together often writes the rank there. */
static bool note_pid(hb_plan *plan, const hb_raw_event *raw)
{
    uint32_t *pid = hb_column_push(&plan->pids);
    hb_value value = hb_raw_get(raw, HB_SLOT_PID);
    int64_t number = hb_plain_int(raw, HB_SLOT_PID);
    hb_key key = HB_KEY_NONE;
    if (number != HB_ABSENT)
        key = hb_key_int(number);
    else if (value.type == HB_JSON_STRING)
        key =
            (hb_key)hb_texts_add(&plan->trace.strings, value.s, value.size) << 2 | HB_KEY_TAG_TEXT;
    if (pid) *pid = hb_trace_key(&plan->trace, key);
    return pid && *pid != UINT32_MAX;
}

/* The plugin divides by steps' lengths. One that no time comes after is none. */
static bool lengthen(hb_plan *plan, hb_item *step)
{
    if (step->ts + step->dur > step->ts) return true;
    double dur = HB_MAX(0.001, nextafter(step->ts, INFINITY) - step->ts);
    if (isinf(dur)) return false;
    step->dur = dur;
    step->flags |= HB_ITEM_DURATION;
    plan->counts[HB_CHANGE_STEP_ZERO]++;
    return true;
}

static void hide(hb_plan *plan, hb_item *item)
{
    if (item->role == HB_PLAN_WORK) plan->counts[HB_CHANGE_NO_TIME]++;
    item->role = HB_PLAN_OTHER;
    item->flags = HB_ITEM_HIDE;
}

static bool take_event(hb_plan *plan, const hb_raw_event *raw, hb_str text)
{
    hb_value name = hb_raw_get(raw, HB_SLOT_NAME), ts = hb_raw_get(raw, HB_SLOT_TS);
    hb_value dur = hb_raw_get(raw, HB_SLOT_DUR);
    hb_value cat = hb_raw_get(raw, HB_SLOT_CAT);
    hb_category category = hb_category_of(text_of(&cat));
    hb_item *item = hb_column_push(&plan->items);
    if (!item || !note_pid(plan, raw)) return false;
    item->role = (uint8_t)role_of(raw, category, text_of(&name));
    item->ext = external_id(raw);
    item->corr = hb_plain_int(raw, HB_SLOT_CORRELATION);
    item->tid = hb_plain_int(raw, HB_SLOT_TID);
    item->device = device_of(raw);
    item->size = text.len;
    if (!hb_plain_number(&ts, &item->ts)) item->ts = NAN;
    if (!hb_plain_number(&dur, &item->dur)) item->dur = NAN;
    if (is_unfit(raw, item, text_of(&name))) hide(plan, item);
    bool host = hb_item_is_scope(item);
    if (host && item->tid == HB_ABSENT) item->flags |= HB_ITEM_HIDE;
    bool shown = item->role == HB_PLAN_STEP && !(item->flags & HB_ITEM_HIDE);
    if (shown && !plan->options->kineto && !lengthen(plan, item)) hide(plan, item);
    note_role(plan, raw, category, text_of(&name), item);
    return true;
}

static bool prepass_event(void *context, const hb_raw_event *raw, hb_str text, bool defective)
{
    static const hb_raw_event none = {0}; /* what is too broken to keep is in nobody's way */
    hb_plan *plan = context;
    hb_raw_event again;
    hb_buf mended;
    if (!defective) return take_event(plan, raw, text);
    hb_buf_init(&mended, SIZE_MAX / 4);
    bool whole = hb_clean_event(raw, text, &mended, &again);
    bool goes_on = take_event(plan, whole ? &again : &none, text);
    hb_buf_free(&mended);
    return goes_on;
}

static bool progress(void *context, uint64_t bytes, uint64_t total)
{
    const hb_plan *plan = context;
    const hb_convert_options *o = plan->options;
    return !o->progress || o->progress(o->context, plan->input, bytes, total);
}

hb_result hb_plan_prepass(hb_plan *plan)
{
    hb_read_options options = {.event = prepass_event, .progress = progress, .context = plan};
    plan->items.item_size = sizeof(hb_item);
    plan->pids.item_size = sizeof(uint32_t);
    plan->max_memory_device = -1;
    HB_TRY(hb_read_trace(plan->input, &options, &plan->trace, &plan->report));
    if (plan->items.count == 0)
        return hb_fail(HB_ERROR_FORMAT, "%s: the trace has no events", plan->input);
    return hb_plan_find_steps(plan, &options);
}
