/* SPDX-License-Identifier: MIT
 *
 * Messages as protobuf writes them, field after field, without a description of theirs. Bytes are
 * read where they lie.
 */
#ifndef HB_IMPORT_WIRE_H
#define HB_IMPORT_WIRE_H

#include "base/bytes.h"
#include "base/str.h"

enum hb_wire_type {
    HB_WIRE_VARINT = 0,
    HB_WIRE_FIXED64 = 1,
    HB_WIRE_BYTES = 2,
    HB_WIRE_FIXED32 = 5
};

typedef struct hb_wire {
    const uint8_t *at, *end;
    bool broken; /* what stands here is no field; there is no next one */
} hb_wire;

typedef struct hb_wire_field {
    uint32_t number, type;
    uint64_t value; /* of BYTES: how many */
    const uint8_t *bytes;
} hb_wire_field;

static inline hb_wire hb_wire_of(const void *bytes, size_t size)
{
    return (hb_wire){bytes, (const uint8_t *)bytes + size, false};
}

static inline hb_wire hb_wire_inside(const hb_wire_field *f)
{
    return hb_wire_of(f->bytes, f->type == HB_WIRE_BYTES ? (size_t)f->value : 0);
}

static inline hb_str hb_wire_text(const hb_wire_field *f)
{
    bool text = f->type == HB_WIRE_BYTES && f->value <= UINT32_MAX;
    return text ? (hb_str){(const char *)f->bytes, (uint32_t)f->value} : (hb_str){"", 0};
}

static inline bool hb_wire_varint(hb_wire *w, uint64_t *value)
{
    bool whole = hb_varint_get(&w->at, w->end, value);
    w->broken |= !whole;
    return whole;
}

static inline bool hb_wire_take(hb_wire *w, hb_wire_field *f, size_t size)
{
    if ((size_t)(w->end - w->at) < size) {
        w->broken = true;
        return false;
    }
    f->bytes = w->at;
    w->at += size;
    return true;
}

/** The next field; false at the end, or where the message is broken. */
static inline bool hb_wire_next(hb_wire *w, hb_wire_field *f)
{
    uint64_t tag, value;
    uint32_t low;
    if (w->at == w->end || w->broken || !hb_wire_varint(w, &tag)) return false;
    f->number = (uint32_t)(tag >> 3);
    f->type = (uint32_t)(tag & 7);
    f->bytes = w->at;
    switch (f->type) {
    case HB_WIRE_VARINT: return hb_wire_varint(w, &f->value);
    case HB_WIRE_FIXED64:
        if (!hb_wire_take(w, f, 8)) return false;
        memcpy(&f->value, f->bytes, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        f->value = __builtin_bswap64(f->value);
#endif
        return true;
    case HB_WIRE_BYTES:
        if (!hb_wire_varint(w, &value) || value > (size_t)(w->end - w->at)) break;
        f->value = value;
        return hb_wire_take(w, f, (size_t)value);
    case HB_WIRE_FIXED32:
        if (!hb_wire_take(w, f, 4)) return false;
        memcpy(&low, f->bytes, 4);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        low = __builtin_bswap32(low);
#endif
        f->value = low;
        return true;
    default: break;
    }
    w->broken = true;
    return false;
}

static inline double hb_wire_double(const hb_wire_field *f)
{
    double value;
    memcpy(&value, &f->value, sizeof value);
    return f->type == HB_WIRE_FIXED64 ? value : 0;
}

#endif
