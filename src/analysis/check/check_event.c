/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "base/times.h"
#include "check/check.h"
#include "rules/collective_names.h"
#include "rules/name_class.h"

#define BIT(rule) (UINT64_C(1) << HB_RULE_##rule)

static bool is_number(const hb_value *v)
{
    return v->type == HB_JSON_INT || v->type == HB_JSON_FLOAT || v->type == HB_JSON_TRUE ||
           v->type == HB_JSON_FALSE;
}

/* Python reads NaN and Infinity, too, which it does not round. */
static bool is_finite(const hb_value *v)
{
    return is_number(v) && isfinite(hb_value_double(v));
}

static hb_str text_of(const hb_value *v)
{
    return v->type == HB_JSON_STRING ? (hb_str){v->s, (uint32_t)v->size} : (hb_str){"", 0};
}

/* What Python's int() makes an integer of. */
static bool is_integer(const hb_value *v)
{
    if (v->type != HB_JSON_STRING) return is_finite(v);
    const char *p = v->s, *end = p + v->size;
    while (p < end && *p == ' ')
        p++;
    if (p < end && (*p == '-' || *p == '+')) p++;
    if (p == end || *p < '0' || *p > '9') return false;
    while (p < end && ((*p >= '0' && *p <= '9') || *p == '_' || *p == ' '))
        p++;
    return p == end;
}

/* ---- what an event of the plugin's categories needs ---- */

static uint64_t check_times(const hb_raw_event *raw, hb_kind kind)
{
    hb_value ts = hb_raw_get(raw, HB_SLOT_TS), dur = hb_raw_get(raw, HB_SLOT_DUR);
    hb_value args = hb_raw_get(raw, HB_SLOT_ARGS);
    uint64_t broken = 0;
    if (!is_finite(&ts)) broken |= BIT(TS);
    if (kind != HB_KIND_MEMORY && !is_finite(&dur)) broken |= BIT(DUR);
    if (args.type != HB_JSON_NONE && args.type != HB_JSON_OBJECT) broken |= BIT(ARGS);
    return broken;
}

static uint64_t check_call(const hb_raw_event *raw, hb_str name, unsigned bits)
{
    hb_value tid = hb_raw_get(raw, HB_SLOT_TID);
    uint64_t broken = is_integer(&tid) ? 0 : BIT(TID);
    if (bits & HB_NAME_STEP && !hb_step_digits(name)) broken |= BIT(STEP_NUMBER);
    return broken;
}

/* Without dims there is no size to be computed, and nothing to fail. */
static uint64_t check_collective(const hb_raw_event *raw)
{
    hb_value dims = hb_raw_get(raw, HB_SLOT_DIMS), types = hb_raw_get(raw, HB_SLOT_TYPES);
    bool nested, ignored;
    int num_dims = hb_list_count(&dims, &nested), num_types = hb_list_count(&types, &ignored);
    return num_dims > 0 && (nested || num_types < num_dims) ? BIT(INPUT_TYPE) : 0;
}

static uint64_t check_annotation(const hb_raw_event *raw, hb_str cat, hb_str name, unsigned bits)
{
    bool gpu = hb_category_is(HB_CATEGORY_GPU_USER_ANNOTATION, cat);
    if (bits & HB_NAME_STEP) return check_call(raw, name, bits) | (gpu ? BIT(GPU_STEP) : 0);
    if (bits & HB_NAME_COLLECTIVE) return check_call(raw, name, bits) | check_collective(raw);
    if (gpu) return 0;
    return bits & (HB_NAME_LOADER | HB_NAME_OPTIMIZER | HB_NAME_NO_OPERATOR) ? BIT(SCOPE_CATEGORY)
                                                                             : BIT(ANNOTATION);
}

static uint64_t check_device(hb_checker *c, const hb_raw_event *raw)
{
    hb_value pid = hb_raw_get(raw, HB_SLOT_PID), device = hb_raw_get(raw, HB_SLOT_DEVICE);
    uint64_t broken = 0;
    uint8_t tag = pid.type == HB_JSON_STRING ? HB_JSON_STRING : HB_JSON_INT;
    if (c->pid_tag && c->pid_tag != tag) broken |= BIT(PIDS);
    if (!c->pid_tag) c->pid_tag = tag;
    if (pid.type == HB_JSON_INT && device.type == HB_JSON_INT &&
        hb_value_double(&pid) != hb_value_double(&device))
        broken |= BIT(DEVICE_PID);
    return broken;
}

/* An index of a list of 64, also from its end; true and false are 1 and 0. */
static bool is_device(const hb_value *v)
{
    if (v->type != HB_JSON_INT) return v->type == HB_JSON_TRUE || v->type == HB_JSON_FALSE;
    return hb_value_double(v) >= -64 && hb_value_double(v) < 64;
}

static uint64_t check_kernel(const hb_raw_event *raw)
{
    hb_value device = hb_raw_get(raw, HB_SLOT_DEVICE);
    hb_value blocks = hb_raw_get(raw, HB_SLOT_BLOCKS_PER_SM);
    hb_value occupancy = hb_raw_get(raw, HB_SLOT_OCCUPANCY);
    uint64_t broken = 0;
    bool integer = is_device(&device);
    if (!integer && !hb_value_is_null(&device)) broken |= BIT(DEVICE);
    if ((!hb_value_is_null(&blocks) && !is_number(&blocks)) ||
        (!hb_value_is_null(&occupancy) && !is_number(&occupancy)))
        broken |= BIT(RATIO);
    return broken;
}

static uint64_t check_memory(const hb_raw_event *raw)
{
    hb_value type = hb_raw_get(raw, HB_SLOT_DEVICE_TYPE), bytes = hb_raw_get(raw, HB_SLOT_BYTES);
    hb_value total = hb_raw_get(raw, HB_SLOT_ALLOCATED), addr = hb_raw_get(raw, HB_SLOT_ADDR);
    uint64_t broken = 0;
    if ((bytes.type != HB_JSON_NONE && !is_number(&bytes)) ||
        (total.type != HB_JSON_NONE && !is_number(&total)))
        broken |= BIT(BYTES);
    if (!is_number(&type) || (hb_value_double(&type) != 0 && hb_value_double(&type) != 1))
        broken |= type.type == HB_JSON_TRUE || type.type == HB_JSON_FALSE ? 0 : BIT(MEMORY_TYPE);
    if (hb_value_is_null(&addr)) broken |= BIT(MEMORY_ADDR);
    return broken;
}

/* Of not all ranks, of a kind that the plugin does not know, or one that goes on behind its call:
 * those that it shows have an annotation around them, and are no operators to it. */
static bool is_unplaced(hb_str name)
{
    bool call = hb_collective_is_mpi_s(name) || hb_collective_starts_kernel(name);
    const hb_collective_name *known = call ? hb_collective_of(name) : NULL;
    return known && known->waits != HB_COLLECTIVE_WAITS_GROUP;
}

static uint64_t check_kind(hb_checker *c, const hb_raw_event *raw, hb_kind kind)
{
    hb_value name_value = hb_raw_get(raw, HB_SLOT_NAME), cat = hb_raw_get(raw, HB_SLOT_CAT);
    hb_str name = text_of(&name_value);
    unsigned bits = hb_name_class_of(name);
    uint64_t broken = kind == HB_KIND_ANNOTATION ? 0 : check_times(raw, kind);
    switch (kind) {
    case HB_KIND_OPERATOR:
    case HB_KIND_PYTHON:
        if (bits & HB_NAME_COLLECTIVE)
            broken |= check_collective(raw);
        else if (is_unplaced(name))
            broken |= BIT(UNPLACED);
        return broken | check_call(raw, name, bits);
    case HB_KIND_ANNOTATION: {
        uint64_t own = check_annotation(raw, text_of(&cat), name, bits);
        return own | (bits & (HB_NAME_STEP | HB_NAME_COLLECTIVE) ? check_times(raw, kind) : 0);
    }
    case HB_KIND_FUNCTION: {
        hb_value module = hb_raw_get(raw, HB_SLOT_PYTHON_MODULE);
        return broken | (hb_value_is_null(&module) ? 0 : check_call(raw, name, 0));
    }
    case HB_KIND_KERNEL: return broken | check_kernel(raw) | check_device(c, raw);
    case HB_KIND_MEMCPY:
    case HB_KIND_MEMSET: return broken | check_device(c, raw);
    case HB_KIND_MEMORY: return broken | check_memory(raw);
    default: return broken;
    }
}

/* ---- all events ---- */

static uint64_t check_other(hb_category category, hb_str name)
{
    if (hb_category_kind(category) == HB_KIND_CALL) return BIT(RUNTIME_CATEGORY);
    unsigned bits = hb_scope_class_of(name) & (HB_NAME_COMMUNICATES | HB_NAME_COLLECTIVE);
    const hb_collective_name *known = bits == HB_NAME_COMMUNICATES ? hb_collective_of(name) : NULL;
    bool group = known && known->waits == HB_COLLECTIVE_WAITS_GROUP; /* torch's own, and none */
    return bits == HB_NAME_COMMUNICATES && !group ? BIT(COLLECTIVE) : 0;
}

static uint64_t check_flow(const hb_raw_event *raw)
{
    uint64_t both = UINT64_C(1) << HB_SLOT_ID | UINT64_C(1) << HB_SLOT_TS;
    return BIT(FLOWS) | ((raw->present & both) == both ? 0 : BIT(FLOW));
}

static uint64_t check_distance(const hb_raw_event *raw)
{
    hb_value ts = hb_raw_get(raw, HB_SLOT_TS);
    bool number = ts.type == HB_JSON_INT || ts.type == HB_JSON_FLOAT;
    if (!number || ts.size < 4) return 0;
    return hb_us_fits_ns(hb_value_double(&ts)) ? 0 : BIT(FAR);
}

/* A double of a time since 1970 in microseconds has two binary digits behind the point. */
static uint64_t check_rounding(hb_checker *c, const hb_raw_event *raw)
{
    hb_value ts = hb_raw_get(raw, HB_SLOT_TS);
    if (c->rounded_told || ts.type != HB_JSON_FLOAT || fabs(hb_value_double(&ts)) < 1e15) return 0;
    c->rounded_told = true;
    return BIT(ROUNDED);
}

uint64_t hb_check_event(hb_checker *c, const hb_raw_event *raw)
{
    hb_value ph = hb_raw_get(raw, HB_SLOT_PH), cat = hb_raw_get(raw, HB_SLOT_CAT);
    hb_value name = hb_raw_get(raw, HB_SLOT_NAME);
    bool complete = hb_value_is(&ph, "X"), named = name.type == HB_JSON_STRING;
    uint64_t broken = check_rounding(c, raw) | check_distance(raw);
    if (!named && raw->index >= c->walked) broken |= BIT(NAME);
    if (hb_category_is(HB_CATEGORY_FORWARD_BACKWARD, text_of(&cat)))
        return broken | check_flow(raw);
    if (!complete) {
        bool memory = hb_value_is(&ph, "i") && hb_name_is(HB_KNOWN_MEMORY, text_of(&name));
        return memory ? broken | check_kind(c, raw, HB_KIND_MEMORY) : broken;
    }
    if (cat.type != HB_JSON_STRING) return broken | BIT(CATEGORY);
    hb_category category = hb_category_of(text_of(&cat));
    hb_kind kind = hb_category_plugin_kind(category);
    if (kind == HB_KIND_MEMORY) return broken | BIT(MEMORY_X);
    if (kind == HB_KIND_OTHER || kind == HB_KIND_ANNOTATION || kind == HB_KIND_OPERATOR)
        broken |= check_other(category, text_of(&name));
    if (kind == HB_KIND_OTHER) return broken;
    bool needs_name = kind != HB_KIND_ANNOTATION && kind != HB_KIND_RUNTIME &&
                      kind != HB_KIND_SPAN && kind != HB_KIND_FUNCTION;
    if (!named && needs_name) broken |= BIT(NAME);
    return broken | check_kind(c, raw, kind);
}
