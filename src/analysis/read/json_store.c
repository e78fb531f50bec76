/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>

#include "read/event_numbers.h"
#include "read/json_event.h"
#include "rules/name_class.h"

void hb_event_sink_init(hb_event_sink *sink, hb_trace *trace, bool lenient)
{
    *sink = (hb_event_sink){.lenient = lenient};
    hb_builder_init(&sink->builder, trace);
    hb_buf_init(&sink->scratch, (size_t)1 << 30);
}

void hb_event_sink_free(hb_event_sink *sink)
{
    hb_buf_free(&sink->scratch);
}

/* ---- values into the trace ---- */

/* A string's characters, decoded. */
static hb_string_id add_string(hb_event_sink *sink, const hb_value *v)
{
    if (HB_LIKELY(!v->escaped)) return hb_builder_text(&sink->builder, v->s, v->size);
    sink->scratch.size = 0;
    hb_value_decode(v, &sink->scratch);
    return hb_builder_text(&sink->builder, sink->scratch.data ? sink->scratch.data : "",
                           sink->scratch.size);
}

/* 0: none is known. */
static inline hb_string_id known_text(const hb_raw_event *raw, hb_slot slot)
{
    const hb_seen_text *seen = raw->trace ? raw->known[slot] : NULL;
    return seen && seen->trace == raw->trace ? seen->id : 0;
}

static inline hb_string_id now_known(const hb_raw_event *raw, hb_slot slot, hb_string_id id)
{
    if (raw->trace && raw->known[slot]) *raw->known[slot] = (hb_seen_text){id, raw->trace};
    return id;
}

/* Of a slot that has a string. */
static inline hb_string_id slot_string(hb_event_sink *sink, const hb_raw_event *raw, hb_slot slot)
{
    hb_string_id known = known_text(raw, slot);
    return HB_LIKELY(known) ? known : now_known(raw, slot, add_string(sink, &raw->slots[slot]));
}

/* The value's JSON text; 0 when absent or null. */
static inline hb_string_id add_json(hb_event_sink *sink, const hb_raw_event *raw, hb_slot slot)
{
    if (!(raw->present >> slot & 1) || raw->slots[slot].type == HB_JSON_NULL) return 0;
    hb_string_id known = known_text(raw, slot);
    if (HB_LIKELY(known)) return known;
    const hb_value *v = &raw->slots[slot];
    size_t quote = v->type == HB_JSON_STRING && v->s[-1] == '"';
    return now_known(raw, slot, hb_builder_text(&sink->builder, v->s - quote, v->size + 2 * quote));
}

static hb_key text_key(hb_event_sink *sink, enum hb_key_tag tag)
{
    hb_string_id id = hb_builder_text(&sink->builder, sink->scratch.data, sink->scratch.size);
    return (hb_key)id << 2 | tag;
}

static hb_key float_key(hb_event_sink *sink, double v)
{
    if (v >= -1e18 && v <= 1e18 && v == (double)(int64_t)v) return hb_key_int((int64_t)v);
    sink->scratch.size = 0;
    hb_buf_printf(&sink->scratch, "%.17g", v);
    return text_key(sink, HB_KEY_TAG_TEXT);
}

static hb_key key_of(hb_event_sink *sink, const hb_value *v)
{
    int64_t number;
    switch ((hb_json)v->type) {
    case HB_JSON_NONE:
    case HB_JSON_NULL: return HB_KEY_NONE;
    case HB_JSON_FALSE: return hb_key_int(0);
    case HB_JSON_TRUE: return hb_key_int(1);
    case HB_JSON_INT:
        if (HB_LIKELY(hb_value_int(v, &number))) return hb_key_int(number);
        sink->scratch.size = 0;
        hb_buf_append(&sink->scratch, v->s, v->size);
        return text_key(sink, HB_KEY_TAG_TEXT);
    case HB_JSON_FLOAT: return float_key(sink, hb_value_double(v));
    case HB_JSON_STRING:
        sink->scratch.size = 0;
        hb_buf_append(&sink->scratch, "\"", 1);
        hb_value_decode(v, &sink->scratch);
        return text_key(sink, HB_KEY_TAG_TEXT);
    case HB_JSON_ARRAY:
    case HB_JSON_OBJECT: break;
    }
    sink->scratch.size = 0;
    hb_buf_append(&sink->scratch, v->s, v->size);
    return text_key(sink, HB_KEY_TAG_CONTAINER);
}

static inline hb_key slot_key(hb_event_sink *sink, const hb_raw_event *raw, hb_slot slot)
{
    return raw->present >> slot & 1 ? key_of(sink, &raw->slots[slot]) : HB_KEY_NONE;
}

static inline hb_id slot_id(hb_event_sink *sink, const hb_raw_event *raw, hb_slot slot)
{
    return hb_builder_id(&sink->builder, slot_key(sink, raw, slot));
}

static inline bool is_known(const hb_known_number *known, const hb_raw_event *raw, hb_slot slot)
{
    const hb_value *v = &raw->slots[slot];
    return raw->present >> slot & 1 && v->size == known->size && v->type == HB_JSON_INT &&
           memcmp(v->s, known->text, v->size) == 0;
}

static void remember(hb_known_number *known, const hb_raw_event *raw, hb_slot slot)
{
    const hb_value *v = &raw->slots[slot];
    known->size = 0;
    if (!(raw->present >> slot & 1) || v->type != HB_JSON_INT || v->size > sizeof known->text)
        return;
    memcpy(known->text, v->s, v->size);
    known->size = (uint32_t)v->size;
}

/* Nearly all events have the pid and tid of the one before. */
static uint32_t find_track(hb_event_sink *sink, const hb_raw_event *raw)
{
    if (HB_LIKELY(is_known(&sink->pid, raw, HB_SLOT_PID) && is_known(&sink->tid, raw, HB_SLOT_TID)))
        return sink->track;
    hb_key pid = slot_key(sink, raw, HB_SLOT_PID), tid = slot_key(sink, raw, HB_SLOT_TID);
    remember(&sink->pid, raw, HB_SLOT_PID);
    remember(&sink->tid, raw, HB_SLOT_TID);
    return sink->track = hb_builder_track(&sink->builder, pid, tid);
}

static hb_number_state number(const hb_raw_event *raw, hb_slot slot, double *result)
{
    hb_value v = hb_raw_get(raw, slot);
    *result = 0;
    switch ((hb_json)v.type) {
    case HB_JSON_NONE:
    case HB_JSON_NULL: return HB_NUMBER_NONE;
    case HB_JSON_TRUE: *result = 1; return HB_NUMBER_INT;
    case HB_JSON_FALSE: return HB_NUMBER_INT;
    case HB_JSON_INT: *result = hb_value_double(&v); return HB_NUMBER_INT;
    case HB_JSON_FLOAT: *result = hb_value_double(&v); return HB_NUMBER_FLOAT;
    default: return HB_NUMBER_BAD;
    }
}

/* ---- kinds ---- */

/* The plugin's decision: flows by category, then complete events by category, then [memory]. */
static hb_kind decide_kind(hb_event_sink *sink, const hb_raw_event *raw, hb_row *row)
{
    hb_value ph = hb_raw_get(raw, HB_SLOT_PH);
    row->ph = ph.type == HB_JSON_STRING && ph.size ? ph.s[0] : 0;
    if (row->flags & HB_ROW_CAT &&
        hb_row_is_of(sink->builder.trace, row, HB_CATEGORY_FORWARD_BACKWARD))
        return HB_KIND_FLOW;
    if (hb_value_is(&ph, "X")) {
        row->flags |= HB_ROW_COMPLETE;
        hb_kind kind = row->flags & HB_ROW_CAT ? hb_builder_kind(&sink->builder, row->category)
                                               : HB_KIND_OTHER;
        if (kind == HB_KIND_MEMORY) {
            row->flags |= HB_ROW_MEMORY_X;
            kind = HB_KIND_OTHER;
        }
        return kind;
    }
    if (hb_value_is(&ph, "i")) {
        row->flags |= HB_ROW_INSTANT;
        if (row->flags & HB_ROW_NAME &&
            hb_name_is(HB_KNOWN_MEMORY, hb_trace_text(sink->builder.trace, row->name)))
            return HB_KIND_MEMORY;
    }
    return HB_KIND_OTHER;
}

/* ---- side tables ---- */

static int64_t small_int(const hb_raw_event *raw, hb_slot slot, int64_t otherwise)
{
    hb_value v = hb_raw_get(raw, slot);
    int64_t n;
    return hb_value_int(&v, &n) && n >= 0 && n <= INT32_MAX ? n : otherwise;
}

/* Sequence numbers join backward operators to the stacks of forward ones, and have no other use. */
static void add_detail(hb_event_sink *sink, const hb_raw_event *raw, const hb_row *row,
                       hb_op_row *op)
{
    hb_op_detail d = hb_no_detail;
    double flops;
    d.fwd_thread = (int32_t)small_int(raw, HB_SLOT_FWD_THREAD, 0);
    if (op->stack || d.fwd_thread) d.sequence = small_int(raw, HB_SLOT_SEQUENCE, -1);
    hb_number_state state = number(raw, HB_SLOT_FLOPS, &flops);
    if (state == HB_NUMBER_INT || state == HB_NUMBER_FLOAT) d.flops = flops;
    if (raw->present >> HB_SLOT_CONCRETE & 1 && row->flags & HB_ROW_NAME &&
        hb_name_is(HB_KNOWN_CONV2D, hb_trace_text(sink->builder.trace, row->name)))
        d.concrete = add_json(sink, raw, HB_SLOT_CONCRETE);
    hb_builder_detail(&sink->builder, op, &d);
}

static void add_op(hb_event_sink *sink, const hb_raw_event *raw, hb_row *row)
{
    hb_op_row op = {.dims = add_json(sink, raw, HB_SLOT_DIMS)};
    if (!op.dims) {
        hb_value v = hb_raw_get(raw, HB_SLOT_DIMS_LOWER);
        /* Absent means an empty list, null means None. */
        op.dims = v.type == HB_JSON_NONE ? hb_builder_text(&sink->builder, "[]", 2)
                                         : add_json(sink, raw, HB_SLOT_DIMS_LOWER);
    }
    op.types = add_json(sink, raw, HB_SLOT_TYPES);
    op.stack = add_json(sink, raw, HB_SLOT_STACK);
    add_detail(sink, raw, row, &op);
    hb_builder_op(&sink->builder, row, &op);
}

static void add_function(hb_event_sink *sink, const hb_raw_event *raw, hb_row *row)
{
    hb_function_row *f = hb_builder_function(&sink->builder, row);
    row->id = slot_id(sink, raw, HB_SLOT_PYTHON_ID);
    if (raw->present >> HB_SLOT_STACK & 1) row->flags |= HB_ROW_STACK;
    f->parent = slot_id(sink, raw, HB_SLOT_PYTHON_PARENT);
    f->module = slot_id(sink, raw, HB_SLOT_PYTHON_MODULE);
}

static void add_launch(hb_event_sink *sink, const hb_raw_event *raw, hb_device_row *d)
{
    hb_launch l;
    double ignored;
    memset(&l, 0, sizeof l);
    l.blocks_state = (uint8_t)number(raw, HB_SLOT_BLOCKS_PER_SM, &l.blocks_per_sm);
    l.occupancy_state = (uint8_t)number(raw, HB_SLOT_OCCUPANCY, &l.occupancy);
    l.device_state = (uint8_t)number(raw, HB_SLOT_DEVICE, &ignored);
    l.device = slot_key(sink, raw, HB_SLOT_DEVICE);
    hb_json type = (hb_json)hb_raw_get(raw, HB_SLOT_DEVICE).type;
    l.device_is_bool = type == HB_JSON_TRUE || type == HB_JSON_FALSE;
    l.grid = add_json(sink, raw, HB_SLOT_GRID);
    l.block = add_json(sink, raw, HB_SLOT_BLOCK);
    l.registers = add_json(sink, raw, HB_SLOT_REGISTERS);
    l.shared = add_json(sink, raw, HB_SLOT_SHARED);
    l.limit = add_json(sink, raw, HB_SLOT_LIMIT);
    hb_builder_launch(&sink->builder, d, &l);
}

/* CUDA writes it beside the work, ROCm beside the call. */
static void add_copy(hb_event_sink *sink, const hb_raw_event *raw, hb_device_row *d)
{
    double bytes;
    hb_number_state state = number(raw, HB_SLOT_COPIED, &bytes);
    bool known = state == HB_NUMBER_INT || state == HB_NUMBER_FLOAT;
    hb_builder_bytes(&sink->builder, d, known ? bytes : 0);
}

static void add_device(hb_event_sink *sink, const hb_raw_event *raw, hb_row *row)
{
    hb_device_row *d = hb_builder_device(&sink->builder, row);
    d->correlation = slot_id(sink, raw, HB_SLOT_CORRELATION);
    if (row->kind == HB_KIND_KERNEL)
        add_launch(sink, raw, d);
    else if (raw->present >> HB_SLOT_COPIED & 1)
        add_copy(sink, raw, d);
}

static uint8_t device_type(const hb_raw_event *raw)
{
    double type;
    hb_number_state state = number(raw, HB_SLOT_DEVICE_TYPE, &type);
    if (state != HB_NUMBER_INT && state != HB_NUMBER_FLOAT) return 255;
    if (type == 0 || type == 1) return (uint8_t)type;
    return type == 6 || type == 12 || type == 20 ? 2 : 255; /* HIP, XPU, PrivateUse1 */
}

static void add_memory(hb_event_sink *sink, const hb_raw_event *raw, hb_row *row)
{
    hb_memory_row *m = hb_builder_memory(&sink->builder, row);
    row->id = HB_ID_NONE;
    m->addr = slot_key(sink, raw, HB_SLOT_ADDR);
    m->device_type = device_type(raw);
    m->device = hb_builder_key(&sink->builder, slot_key(sink, raw, HB_SLOT_DEVICE_ID));
    m->bytes_state = (uint8_t)number(raw, HB_SLOT_BYTES, &m->bytes);
    m->allocated_state = (uint8_t)number(raw, HB_SLOT_ALLOCATED, &m->allocated);
    m->reserved_state = (uint8_t)number(raw, HB_SLOT_RESERVED, &m->reserved);
    hb_value owner = hb_raw_get(raw, HB_SLOT_OWNER);
    m->held = owner.type == HB_JSON_STRING;
    if (m->held && owner.size) m->owner = slot_string(sink, raw, HB_SLOT_OWNER);
    /* Absent is 0 or NaN to the plugin; null is an error. */
    if (hb_raw_get(raw, HB_SLOT_BYTES).type == HB_JSON_NULL) m->bytes_state = HB_NUMBER_BAD;
    if (hb_raw_get(raw, HB_SLOT_ALLOCATED).type == HB_JSON_NULL) m->allocated_state = HB_NUMBER_BAD;
    if (hb_raw_get(raw, HB_SLOT_RESERVED).type == HB_JSON_NULL) m->reserved_state = HB_NUMBER_BAD;
}

enum { MOST_COUNTER_TEXT = 4096 }; /* bytes; no counter has that many curves */

/* Numbers at a moment. What had to be repaired is no JSON. */
static void add_counter(hb_event_sink *sink, const hb_raw_event *raw, hb_row *row)
{
    hb_value args = hb_raw_get(raw, HB_SLOT_ARGS);
    if (args.type == HB_JSON_OBJECT && args.size <= MOST_COUNTER_TEXT && !raw->num_repaired)
        row->extra = hb_builder_text(&sink->builder, args.s, args.size);
}

static void add_side(hb_event_sink *sink, const hb_raw_event *raw, hb_row *row)
{
    switch ((hb_kind)row->kind) {
    case HB_KIND_OPERATOR:
    case HB_KIND_ANNOTATION:
    case HB_KIND_PYTHON: add_op(sink, raw, row); return;
    case HB_KIND_FUNCTION: add_function(sink, raw, row); return;
    case HB_KIND_RUNTIME:
    case HB_KIND_CALL:
    case HB_KIND_KERNEL:
    case HB_KIND_MEMCPY:
    case HB_KIND_MEMSET: add_device(sink, raw, row); return;
    case HB_KIND_MEMORY: add_memory(sink, raw, row); return;
    default:
        if (hb_row_is_counter(row)) add_counter(sink, raw, row);
    }
}

/* ---- the row ---- */

static bool plain_time(const hb_value *v, int64_t *ns)
{
    bool has_point;
    return hb_take_plain_time(v->s, ns, &has_point) == v->s + v->size;
}

/* True when nanoseconds give back what Python reads, and then its state; else `us` is that. */
static bool take_time(const hb_raw_event *raw, hb_slot slot, hb_number_state *state, int64_t *ns,
                      double *us)
{
    hb_value v = hb_raw_get(raw, slot);
    if (HB_LIKELY(v.type == HB_JSON_FLOAT || v.type == HB_JSON_INT) && plain_time(&v, ns)) {
        *state = v.type == HB_JSON_FLOAT ? HB_NUMBER_FLOAT : HB_NUMBER_INT;
        return true;
    }
    *state = number(raw, slot, us);
    return hb_us_to_ns(*us, ns) && hb_ns_to_us(*ns) == *us && !(*us == 0 && signbit(*us));
}

static void add_times(hb_event_sink *sink, const hb_raw_event *raw, hb_row *row)
{
    hb_number_state ts, dur;
    double ts_us, dur_us;
    bool plain_ts = take_time(raw, HB_SLOT_TS, &ts, &row->start, &ts_us);
    bool plain_dur = take_time(raw, HB_SLOT_DUR, &dur, &row->duration, &dur_us);
    if (ts == HB_NUMBER_INT || ts == HB_NUMBER_FLOAT) row->flags |= HB_ROW_TS;
    if (ts == HB_NUMBER_INT) row->flags |= HB_ROW_TS_INT;
    if (dur == HB_NUMBER_INT || dur == HB_NUMBER_FLOAT) row->flags |= HB_ROW_DUR;
    if (dur == HB_NUMBER_INT) row->flags |= HB_ROW_DUR_INT;
    if (raw->present >> HB_SLOT_TS & 1) row->flags |= HB_ROW_HAS_TS;
    if (raw->present >> HB_SLOT_ID & 1) row->flags |= HB_ROW_HAS_ID;
    if (HB_LIKELY(plain_ts && plain_dur)) return;
    if (plain_ts && hb_row_nests_by(row, dur_us)) {
        row->flags |= HB_ROW_NESTED;
        return;
    }
    if (plain_ts) ts_us = hb_ns_to_us(row->start);
    if (plain_dur) dur_us = hb_ns_to_us(row->duration);
    sink->builder.failed |= !hb_trace_set_odd_times(sink->builder.trace, row, ts_us, dur_us);
}

static void add_texts(hb_event_sink *sink, const hb_raw_event *raw, hb_row *row)
{
    hb_value name = hb_raw_get(raw, HB_SLOT_NAME), cat = hb_raw_get(raw, HB_SLOT_CAT);
    hb_value args = hb_raw_get(raw, HB_SLOT_ARGS);
    if (name.type == HB_JSON_STRING) {
        row->flags |= HB_ROW_NAME;
        row->name = slot_string(sink, raw, HB_SLOT_NAME);
    }
    if (cat.type == HB_JSON_STRING) {
        row->flags |= HB_ROW_CAT;
        row->category = slot_string(sink, raw, HB_SLOT_CAT);
    }
    if (args.type == HB_JSON_OBJECT)
        row->flags |= HB_ROW_ARGS;
    else if (args.type != HB_JSON_NONE)
        row->flags |= HB_ROW_ARGS_ODD;
}

#define BIT(slot) (UINT64_C(1) << HB_SLOT_##slot)
static const uint64_t numeric_slots =
    BIT(PID) | BIT(TID) | BIT(TS) | BIT(DUR) | BIT(EXTERNAL_LOWER) | BIT(EXTERNAL) |
    BIT(CORRELATION) | BIT(DEVICE) | BIT(BLOCKS_PER_SM) | BIT(OCCUPANCY) | BIT(PYTHON_ID) |
    BIT(PYTHON_PARENT) | BIT(PYTHON_MODULE) | BIT(DEVICE_TYPE) | BIT(DEVICE_ID) | BIT(BYTES) |
    BIT(COPIED) | BIT(ALLOCATED) | BIT(RESERVED) | BIT(SEQUENCE) | BIT(FWD_THREAD) | BIT(FLOPS);

static void unquote(hb_value *v)
{
    hb_scan scan = {.end = v->s + v->size};
    hb_value number;
    bool begins = v->size && (*v->s == '-' ? v->s[1] : *v->s) >= '0' &&
                  (*v->s == '-' ? v->s[1] : *v->s) <= '9';
    if (v->type != HB_JSON_STRING || v->escaped || !begins) return;
    const char *end = hb_scan_value(&scan, v->s, &number);
    if (end == v->s + v->size) *v = number;
}

/* Old writers put quotes around numbers. */
static HB_COLD void unquote_numbers(hb_raw_event *raw, uint64_t slots)
{
    for (; slots; slots &= slots - 1)
        unquote(&raw->slots[__builtin_ctzll(slots)]);
}

/* The ends of Kineto's arrows from forward operators to backward ones, and others; 't' lies
 * between. */
static bool is_arrow(const hb_row *row)
{
    return row->kind == HB_KIND_OTHER && (row->ph == 's' || row->ph == 't' || row->ph == 'f');
}

/* What ph, cat, name and the type of args decide. */
static inline void add_fixed(hb_event_sink *sink, const hb_raw_event *raw, hb_row *row)
{
    hb_seen_row *seen = raw->trace ? raw->row : NULL;
    if (HB_LIKELY(seen && seen->trace == raw->trace)) {
        row->name = seen->name;
        row->category = seen->category;
        row->flags = seen->flags;
        row->kind = seen->kind;
        row->ph = seen->ph;
        return;
    }
    add_texts(sink, raw, row);
    row->kind = (uint8_t)decide_kind(sink, raw, row);
    if (seen)
        *seen = (hb_seen_row){raw->trace, row->name, row->category, row->flags, row->kind, row->ph};
}

bool hb_event_sink_add(hb_event_sink *sink, hb_raw_event *raw)
{
    uint64_t quoted = raw->present & raw->strings & numeric_slots;
    if (HB_UNLIKELY(quoted && sink->lenient)) unquote_numbers(raw, quoted);
    hb_row *row = hb_builder_row(&sink->builder);
    add_fixed(sink, raw, row);
    add_times(sink, raw, row);
    row->track = find_track(sink, raw);
    if (row->kind == HB_KIND_FLOW || is_arrow(row)) {
        row->id = slot_id(sink, raw, HB_SLOT_ID);
    } else {
        row->id = slot_id(sink, raw, HB_SLOT_EXTERNAL_LOWER);
        if (row->id == HB_ID_NONE) row->id = slot_id(sink, raw, HB_SLOT_EXTERNAL);
    }
    add_side(sink, raw, row);
    return !sink->builder.failed && !sink->scratch.failed;
}
