/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <strings.h>

#include "convert/convert.h"

/* ---- index ---- */

static uint32_t slot_of(const hb_index *index, int64_t key)
{
    uint32_t mask = index->capacity - 1;
    uint32_t i = (uint32_t)((uint64_t)key * 0x9E3779B97F4A7C15u >> 32) & mask;
    while (index->slots[i].value && index->slots[i].key != key)
        i = (i + 1) & mask;
    return i;
}

static bool grow(hb_index *index)
{
    hb_index grown = {.capacity = index->capacity ? index->capacity * 2 : 1024};
    grown.slots = calloc(grown.capacity, sizeof *grown.slots);
    if (!grown.slots) return false;
    for (uint32_t i = 0; i < index->capacity; i++)
        if (index->slots[i].value)
            grown.slots[slot_of(&grown, index->slots[i].key)] = index->slots[i];
    grown.count = index->count;
    free(index->slots);
    *index = grown;
    return true;
}

bool hb_index_put(hb_index *index, int64_t key, uint32_t value)
{
    if (index->count * 2 >= index->capacity && !grow(index)) return false;
    struct hb_index_slot *slot = &index->slots[slot_of(index, key)];
    index->count += slot->value == 0;
    *slot = (struct hb_index_slot){key, value + 1};
    return true;
}

uint32_t hb_index_get(const hb_index *index, int64_t key)
{
    if (index->count == 0) return UINT32_MAX;
    return index->slots[slot_of(index, key)].value - 1;
}

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
    return *end == 0 && isfinite(*result);
}

int64_t hb_plain_int(const hb_raw_event *raw, hb_slot slot)
{
    hb_value v = hb_raw_get(raw, slot);
    double d;
    int64_t i;
    if (v.type == HB_JSON_INT && hb_value_int(&v, &i)) return i;
    if (hb_plain_number(&v, &d) && d == floor(d) && fabs(d) < 9e15) return (int64_t)d;
    return HB_ABSENT;
}

static bool begins(const hb_value *v, const char *text)
{
    size_t len = strlen(text);
    return v->type == HB_JSON_STRING && v->size >= len && memcmp(v->s, text, len) == 0;
}

static bool ends(const hb_value *v, const char *text)
{
    size_t len = strlen(text);
    return v->size >= len && memcmp(v->s + v->size - len, text, len) == 0;
}

static bool is_cat(const hb_value *cat, const char *text)
{
    return cat->size == strlen(text) && strncasecmp(cat->s, text, cat->size) == 0;
}

static bool is_call_category(const hb_value *cat)
{
    return cat->type == HB_JSON_STRING && (ends(cat, "_runtime") || ends(cat, "_driver"));
}

static bool is_library_scope(const hb_value *name)
{
    return name->type == HB_JSON_STRING &&
           hb_is_library_scope((hb_str){name->s, (uint32_t)name->size});
}

bool hb_is_known_collective(const hb_value *name)
{
    static const char *const operations[] = {"broadcast", "reduce", "all_reduce", "all_gather",
                                             "reduce_scatter"};
    if (!begins(name, "nccl:") && !begins(name, "gloo:")) return false;
    hb_value rest = {name->s + 5, name->size - 5, HB_JSON_STRING, false};
    for (size_t i = 0; i < HB_ARRAY_LEN(operations); i++)
        if (hb_value_is(&rest, operations[i])) return true;
    return false;
}

static hb_plan_role role_of_annotation(const hb_value *name, bool gpu)
{
    if (begins(name, "ProfilerStep#")) return gpu ? HB_PLAN_GPU_STEP : HB_PLAN_STEP;
    if (gpu) return HB_PLAN_GPU_ANNOTATION;
    if (hb_is_known_collective(name)) return HB_PLAN_NODE;
    return is_library_scope(name) ? HB_PLAN_SCOPE : HB_PLAN_OTHER;
}

static hb_plan_role role_of_complete(const hb_raw_event *raw, const hb_value *cat,
                                     const hb_value *name)
{
    static const char *const work[] = {"kernel", "memcpy", "gpu_memcpy", "memset", "gpu_memset"};
    if (cat->type != HB_JSON_STRING) return HB_PLAN_OTHER;
    if (is_cat(cat, "runtime") || is_call_category(cat)) return HB_PLAN_CALL;
    for (size_t i = 0; i < HB_ARRAY_LEN(work); i++)
        if (is_cat(cat, work[i])) return HB_PLAN_WORK;
    if (is_cat(cat, "cpu_op") || is_cat(cat, "operator"))
        return begins(name, "ProfilerStep#") ? HB_PLAN_STEP : HB_PLAN_NODE;
    if (is_cat(cat, "python")) return HB_PLAN_NODE;
    if (is_cat(cat, "user_annotation")) return role_of_annotation(name, false);
    if (is_cat(cat, "gpu_user_annotation")) return role_of_annotation(name, true);
    if (is_cat(cat, "trace")) return HB_PLAN_SPAN;
    hb_value module = hb_raw_get(raw, HB_SLOT_PYTHON_MODULE);
    if (is_cat(cat, "python_function") && module.type > HB_JSON_NULL) return HB_PLAN_MODULE;
    return HB_PLAN_OTHER;
}

static hb_plan_role role_of(const hb_raw_event *raw, const hb_value *name)
{
    hb_value ph = hb_raw_get(raw, HB_SLOT_PH), cat = hb_raw_get(raw, HB_SLOT_CAT);
    if (hb_value_is(&cat, "forward_backward")) return HB_PLAN_FLOW;
    if (hb_value_is(&ph, "X")) return role_of_complete(raw, &cat, name);
    if (hb_value_is(&ph, "i") && hb_value_is(name, "[memory]")) return HB_PLAN_MEMORY;
    if (hb_value_is(&ph, "i") || hb_value_is(&ph, "M")) return HB_PLAN_SPAN;
    if (hb_value_is(&ph, "f") && hb_value_is(&cat, "ac2g")) return HB_PLAN_ARROW;
    return HB_PLAN_OTHER;
}

/* ---- events ---- */

static int64_t external_id(const hb_raw_event *raw)
{
    int64_t id = hb_plain_int(raw, HB_SLOT_EXTERNAL_LOWER);
    return id != HB_ABSENT ? id : hb_plain_int(raw, HB_SLOT_EXTERNAL);
}

static void note_device(hb_plan *plan, int64_t device)
{
    int i = 0;
    while (i < plan->num_devices && plan->devices[i] < device)
        i++;
    if ((i < plan->num_devices && plan->devices[i] == device) ||
        plan->num_devices == HB_PLAN_DEVICES)
        return;
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

static void note_memory(hb_plan *plan, const hb_raw_event *raw)
{
    int64_t type = hb_plain_int(raw, HB_SLOT_DEVICE_TYPE);
    int64_t device = hb_plain_int(raw, HB_SLOT_DEVICE_ID);
    if (type != 0 && device >= 0 && device < HB_PLAN_DEVICES)
        plan->max_memory_device = HB_MAX(plan->max_memory_device, (int)device);
}

static bool needs_time(const hb_item *item)
{
    return item->role >= HB_PLAN_NODE && item->role <= HB_PLAN_GPU_STEP;
}

static void note_role(hb_plan *plan, const hb_raw_event *raw, const hb_value *name, hb_item *item)
{
    hb_value cat = hb_raw_get(raw, HB_SLOT_CAT);
    switch ((hb_plan_role)item->role) {
    case HB_PLAN_NODE:
        if (is_cat(&cat, "cpu_op") || is_cat(&cat, "operator")) item->flags |= HB_ITEM_OPERATOR;
        __attribute__((fallthrough));
    case HB_PLAN_SCOPE:
    case HB_PLAN_MODULE:
        item->name = hb_texts_add(&plan->trace.strings, name->s, name->size);
        break;
    case HB_PLAN_STEP: item->corr = strtoll(name->s + strlen("ProfilerStep#"), NULL, 10); break;
    case HB_PLAN_CALL:
        if (begins(name, "hip")) plan->amd_calls = true;
        if (!is_cat(&cat, "runtime")) plan->foreign_calls = true;
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

static bool survey_event(void *context, const hb_raw_event *raw, hb_str text, bool flawed)
{
    hb_plan *plan = context;
    hb_value name = hb_raw_get(raw, HB_SLOT_NAME), ts = hb_raw_get(raw, HB_SLOT_TS);
    hb_value dur = hb_raw_get(raw, HB_SLOT_DUR);
    hb_item *item = hb_column_push(&plan->items);
    (void)flawed;
    if (!item || !note_pid(plan, raw)) return false;
    item->role = (uint8_t)role_of(raw, &name);
    item->ext = external_id(raw);
    item->corr = hb_plain_int(raw, HB_SLOT_CORRELATION);
    item->tid = hb_plain_int(raw, HB_SLOT_TID);
    item->device = device_of(raw);
    item->size = text.len;
    if (!hb_plain_number(&ts, &item->ts)) item->ts = NAN;
    if (!hb_plain_number(&dur, &item->dur)) item->dur = NAN;
    if (needs_time(item) && (isnan(item->ts) || isnan(item->dur) || item->dur < 0)) {
        if (item->role == HB_PLAN_WORK) plan->counts[HB_CHANGE_NO_TIME]++;
        item->role = HB_PLAN_OTHER;
        item->flags = HB_ITEM_HIDE;
    }
    bool host = item->role >= HB_PLAN_NODE && item->role <= HB_PLAN_MODULE;
    if (host && item->tid == HB_ABSENT) item->flags |= HB_ITEM_HIDE;
    note_role(plan, raw, &name, item);
    return true;
}

static bool progress(void *context, uint64_t bytes, uint64_t total)
{
    const hb_plan *plan = context;
    const hb_convert_options *o = plan->options;
    return !o->progress || o->progress(o->context, plan->input, bytes, total);
}

hb_result hb_plan_survey(hb_plan *plan)
{
    hb_read_options options = {.event = survey_event, .progress = progress, .context = plan};
    plan->items.item_size = sizeof(hb_item);
    plan->pids.item_size = sizeof(uint32_t);
    plan->max_memory_device = -1;
    HB_TRY(hb_read_trace(plan->input, &options, &plan->trace, &plan->report));
    if (plan->items.count == 0)
        return hb_fail(HB_ERROR_FORMAT, "%s: the trace has no events", plan->input);
    return HB_OK;
}
