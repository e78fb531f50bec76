/* SPDX-License-Identifier: MIT */
#include "read/json_event.h"

#define KEY_IS(literal) (memcmp(s, literal, sizeof(literal) - 1) == 0)

/* Which slot a member of an event belongs to; -1: none. */
static int event_slot(const char *s, size_t size)
{
    switch (size) {
    case 2:
        if (KEY_IS("ph")) return HB_SLOT_PH;
        if (KEY_IS("ts")) return HB_SLOT_TS;
        if (KEY_IS("id")) return HB_SLOT_ID;
        return -1;
    case 3:
        if (KEY_IS("cat")) return HB_SLOT_CAT;
        if (KEY_IS("pid")) return HB_SLOT_PID;
        if (KEY_IS("tid")) return HB_SLOT_TID;
        if (KEY_IS("dur")) return HB_SLOT_DUR;
        return -1;
    case 4:
        if (KEY_IS("name")) return HB_SLOT_NAME;
        if (KEY_IS("args")) return HB_SLOT_ARGS;
        return -1;
    default: return -1;
    }
}

static int long_arg_slot(const char *s, size_t size)
{
    switch (size) {
    case 12: return KEY_IS("Allocated by") ? HB_SLOT_OWNER : -1;
    case 13:
        if (KEY_IS("blocks per SM")) return HB_SLOT_BLOCKS_PER_SM;
        if (KEY_IS("shared memory")) return HB_SLOT_SHARED;
        return KEY_IS("Fwd thread id") ? HB_SLOT_FWD_THREAD : -1;
    case 14: return KEY_IS("Total Reserved") ? HB_SLOT_RESERVED : -1;
    case 15:
        if (KEY_IS("Total Allocated")) return HB_SLOT_ALLOCATED;
        if (KEY_IS("Concrete Inputs")) return HB_SLOT_CONCRETE;
        return KEY_IS("Sequence number") ? HB_SLOT_SEQUENCE : -1;
    case 16:
        if (KEY_IS("Python parent id")) return HB_SLOT_PYTHON_PARENT;
        if (KEY_IS("Python module id")) return HB_SLOT_PYTHON_MODULE;
        return -1;
    case 20:
        if (KEY_IS("occupancy limited by")) return HB_SLOT_LIMIT;
        return KEY_IS("registers per thread") ? HB_SLOT_REGISTERS : -1;
    case 25: return KEY_IS("est. achieved occupancy %") ? HB_SLOT_OCCUPANCY : -1;
    default: return -1;
    }
}

static int arg_slot(const char *s, size_t size)
{
    switch (size) {
    case 4:
        if (KEY_IS("Addr")) return HB_SLOT_ADDR;
        if (KEY_IS("size")) return HB_SLOT_COPIED;
        return KEY_IS("grid") ? HB_SLOT_GRID : -1;
    case 5:
        if (KEY_IS("Bytes")) return HB_SLOT_BYTES;
        if (KEY_IS("bytes")) return HB_SLOT_COPIED;
        if (KEY_IS("flops")) return HB_SLOT_FLOPS;
        return KEY_IS("block") ? HB_SLOT_BLOCK : -1;
    case 6: return KEY_IS("device") ? HB_SLOT_DEVICE : -1;
    case 9:
        if (KEY_IS("Python id")) return HB_SLOT_PYTHON_ID;
        return KEY_IS("Device Id") ? HB_SLOT_DEVICE_ID : -1;
    case 10:
        if (KEY_IS("Input Dims")) return HB_SLOT_DIMS;
        if (KEY_IS("Input dims")) return HB_SLOT_DIMS_LOWER;
        if (KEY_IS("Input type")) return HB_SLOT_TYPES;
        return KEY_IS("Call stack") ? HB_SLOT_STACK : -1;
    case 11:
        if (KEY_IS("External id")) return HB_SLOT_EXTERNAL;
        if (KEY_IS("external id")) return HB_SLOT_EXTERNAL_LOWER;
        if (KEY_IS("correlation")) return HB_SLOT_CORRELATION;
        return KEY_IS("Device Type") ? HB_SLOT_DEVICE_TYPE : -1;
    default: return long_arg_slot(s, size);
    }
}

/* A name written with escapes is rare enough to be decoded for the comparison. */
int hb_event_slot(const hb_value *key, bool args)
{
    if (HB_LIKELY(!key->escaped))
        return args ? arg_slot(key->s, key->size) : event_slot(key->s, key->size);
    hb_buf buf;
    hb_buf_init(&buf, 4096);
    hb_value_decode(key, &buf);
    int slot = args ? arg_slot(buf.data, buf.size) : event_slot(buf.data, buf.size);
    if (buf.failed) slot = -1;
    hb_buf_free(&buf);
    return slot;
}

/* Whether the member could end at the quote before `p`: the object ends, or a comma and another
 * member's name follow. */
static bool plausible_end(const char *p)
{
    p = hb_scan_space(p);
    if (*p == '}') return true;
    if (*p != ',') return false;
    p = hb_scan_space(p + 1);
    if (*p++ != '"') return false;
    while (*p && *p != '"' && *p != '\n')
        p++;
    return *p == '"' && *hb_scan_space(p + 1) == ':';
}

/* PyTorch 2.13 writes quotes in names as they are. `p` is behind a quote that ended nothing. */
static const char *repair_string(hb_scan *scan, const char *p, hb_value *value)
{
    scan->defect(scan->context, HB_JSON_DEFECT_QUOTE, p - 1);
    for (; *p != '\n' && p < scan->end; p++) {
        if (*p != '"' || !plausible_end(p + 1)) continue;
        value->size = (size_t)(p - value->s);
        return p + 1;
    }
    return hb_scan_fail(scan, p, "expected ',' or '}'");
}

static const char *parse_members(hb_scan *scan, const char *p, bool repair, bool args,
                                 hb_raw_event *raw);

static inline const char *parse_value(hb_scan *scan, const char *p, int slot, bool repair,
                                      hb_raw_event *raw, hb_value *value)
{
    if (HB_LIKELY(slot != HB_SLOT_ARGS)) {
        if (HB_LIKELY(*p == '"')) return hb_scan_string(scan, p + 1, value);
        return hb_scan_value(scan, p, value);
    }
    raw->present &= (UINT64_C(1) << HB_SLOT_FIRST_ARG) - 1; /* second args replace the first */
    if (*p != '{') return hb_scan_value(scan, p, value);
    const char *end = parse_members(scan, p + 1, repair, true, raw);
    if (end) *value = (hb_value){p, (size_t)(end - p), HB_JSON_OBJECT, false};
    return end;
}

static const char *parse_members(hb_scan *scan, const char *p, bool repair, bool args,
                                 hb_raw_event *raw)
{
    hb_value key, value;
    p = hb_scan_space(p);
    if (*p == '}') return p + 1;
    for (;;) {
        if (*p != '"') return hb_scan_fail(scan, p, "expected a member's name");
        p = hb_scan_string(scan, p + 1, &key);
        if (!p) return NULL;
        p = hb_scan_space(p);
        if (*p != ':') return hb_scan_fail(scan, p, "expected ':'");
        p = hb_scan_space(p + 1);
        int slot = hb_event_slot(&key, args);
        p = parse_value(scan, p, args ? -1 : slot, repair, raw, &value);
        if (!p) return NULL;
        p = hb_scan_space(p);
        if (HB_UNLIKELY(*p != ',' && *p != '}')) {
            if (!repair || value.type != HB_JSON_STRING || p >= scan->end)
                return hb_scan_fail(scan, p, "expected ',' or '}'");
            p = repair_string(scan, value.s + value.size + 1, &value);
            if (!p) return NULL;
            if (raw->num_repaired < HB_MAX_REPAIRED) raw->repaired[raw->num_repaired] = value;
            raw->num_repaired++;
            p = hb_scan_space(p);
        }
        if (slot >= 0) {
            const uint64_t bit = UINT64_C(1) << slot;
            raw->slots[slot] = value;
            raw->present |= bit;
            raw->strings = value.type == HB_JSON_STRING ? raw->strings | bit : raw->strings & ~bit;
        }
        if (*p == '}') return p + 1;
        p = hb_scan_space(p + 1);
    }
}

const char *hb_parse_event(hb_scan *scan, const char *p, bool repair, hb_raw_event *raw)
{
    raw->present = raw->strings = raw->num_repaired = raw->trace = 0;
    return parse_members(scan, p, repair, false, raw);
}
