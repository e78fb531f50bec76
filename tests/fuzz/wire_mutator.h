/* SPDX-License-Identifier: MIT
 *
 * Changes of a protobuf message that leave it one: fields get other values, are doubled, left out,
 * swapped, called by another number or taken from elsewhere, and the lengths around them are made
 * right. Of changes of single bytes most leave lengths that lead nowhere; they remain one of four.
 */
#ifndef HB_FUZZ_WIRE_MUTATOR_H
#define HB_FUZZ_WIRE_MUTATOR_H

#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "mutate.h"

enum { WIRE_MOST = 4096, WIRE_DEPTH = 12, WIRE_NONE = 0xffff };

/* A field: its number and type stand at `from`, its value from `value` to `to`; a length stands in
 * between. */
typedef struct wire_field {
    size_t from, value, to;
    unsigned parent; /* of which it is a part; WIRE_NONE: of the whole */
    uint8_t type;
} wire_field;

typedef struct wire_fields {
    wire_field items[WIRE_MOST];
    unsigned count;
} wire_fields;

/* Behind the number at `at`; 0: there is none. */
static inline size_t wire_varint(const uint8_t *p, size_t at, size_t end, uint64_t *value)
{
    *value = 0;
    for (unsigned shift = 0; at < end && shift < 64; shift += 7) {
        *value |= (uint64_t)(p[at] & 0x7f) << shift;
        if (!(p[at++] & 0x80)) return at;
    }
    return 0;
}

/* False: these bytes are no message; what was found of them is taken back. */
static inline bool wire_parse(const uint8_t *p, size_t at, size_t end, unsigned parent,
                              unsigned depth, wire_fields *found)
{
    unsigned before = found->count;
    while (at < end) {
        uint64_t tag, n;
        size_t value = wire_varint(p, at, end, &tag), to = 0;
        if (!value || tag >> 3 == 0 || tag >> 3 > 1 << 20 || found->count == WIRE_MOST) break;
        switch (tag & 7) {
        case 0: to = wire_varint(p, value, end, &n); break;
        case 1: to = value + 8; break;
        case 5: to = value + 4; break;
        case 2:
            value = wire_varint(p, value, end, &n);
            to = value && n <= end - value ? value + n : 0;
            break;
        }
        if (!to || to > end) break;
        unsigned own = found->count++;
        found->items[own] = (wire_field){at, value, to, parent, (uint8_t)(tag & 7)};
        if ((tag & 7) == 2 && depth) (void)wire_parse(p, value, to, own, depth - 1, found);
        at = to;
    }
    if (at == end || depth == WIRE_DEPTH) return true; /* of the whole what is in front */
    found->count = before;
    return false;
}

typedef struct wire_out {
    uint8_t *bytes;
    size_t size, room;
    bool full;
} wire_out;

static inline void wire_put(wire_out *out, const void *bytes, size_t n)
{
    out->full |= n > out->room - out->size;
    if (out->full) return;
    memcpy(out->bytes + out->size, bytes, n);
    out->size += n;
}

static inline void wire_put_varint(wire_out *out, uint64_t value)
{
    uint8_t bytes[10];
    size_t n = 0;
    do {
        bytes[n++] = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        value >>= 7;
    } while (value);
    wire_put(out, bytes, n);
}

static inline uint64_t wire_number(unsigned which, uint64_t now)
{
    static const uint64_t values[] = {0,
                                      1,
                                      2,
                                      3,
                                      7,
                                      64,
                                      127,
                                      128,
                                      255,
                                      65536,
                                      0x7fffffff,
                                      0x80000000,
                                      0xffffffff,
                                      UINT64_C(0x7fffffffffffffff),
                                      UINT64_C(0x8000000000000000),
                                      UINT64_MAX,
                                      1000000000,
                                      UINT64_C(1700000000000000000)};
    enum { VALUES = sizeof values / sizeof *values };
    which %= VALUES + 6;
    if (which < VALUES) return values[which];
    const uint64_t nudged[] = {now + 1, now - 1, now * 1000, now / 2, ~now, now << 32};
    return nudged[which - VALUES];
}

/* The field changed, or its bytes as they were. */
static inline void wire_put_changed(wire_out *out, const uint8_t *p, const wire_field *f,
                                    const wire_field *other, unsigned seed)
{
    uint64_t tag, now = 0;
    uint8_t text[64];
    (void)wire_varint(p, f->from, f->value, &tag);
    switch (seed % 8) {
    case 0: return; /* left out */
    case 1:
        wire_put(out, p + f->from, f->to - f->from);
        wire_put(out, p + f->from, f->to - f->from);
        return;
    case 2: wire_put(out, p + other->from, other->to - other->from); return;
    case 3: /* beside it */
        wire_put(out, p + f->from, f->to - f->from);
        wire_put(out, p + other->from, other->to - other->from);
        return;
    case 4: /* by another number */
        wire_put_varint(out, ((uint64_t)(seed / 8 % 40 + 1) << 3) | f->type);
        if (f->type == 2) wire_put_varint(out, f->to - f->value);
        wire_put(out, p + f->value, f->to - f->value);
        return;
    default: break;
    }
    wire_put_varint(out, tag);
    if (f->type == 0) {
        wire_varint(p, f->value, f->to, &now);
        wire_put_varint(out, wire_number(seed / 8, now));
    } else if (f->type == 2) { /* a text or a message: empty, cut, its own twice, the other's */
        size_t n = f->to - f->value, most = n < sizeof text / 2 ? n : sizeof text / 2;
        static const uint8_t nothing[32];
        memcpy(text, p + f->value, most);
        memcpy(text + most, seed / 8 % 2 ? p + f->value : nothing, most);
        n = seed / 16 % 4 == 0 ? 0 : seed / 16 % 4 == 1 ? most / 2 : 2 * most;
        if (seed / 16 % 4 == 3 && other->type == 2) {
            wire_put_varint(out, other->to - other->value);
            wire_put(out, p + other->value, other->to - other->value);
        } else {
            wire_put_varint(out, n);
            wire_put(out, text, n);
        }
    } else {
        uint64_t bits;
        static const double doubles[] = {0, -1, 1e300, 0.5, 1e9, -0.0};
        memcpy(&bits, &doubles[seed / 8 % 6], sizeof bits);
        if (seed / 64 % 3 == 0) bits = UINT64_C(0x7ff8000000000000);
        wire_put(out, &bits, f->to - f->value);
    }
}

static inline bool wire_holds(const wire_fields *found, unsigned field, unsigned target)
{
    while (target != WIRE_NONE && target != field)
        target = found->items[target].parent;
    return target == field;
}

/* The fields of a message, from the first of them on; those around the target get new lengths. */
static inline void wire_write(wire_out *out, const uint8_t *p, size_t size,
                              const wire_fields *found, unsigned parent, unsigned target,
                              const wire_field *other, unsigned seed)
{
    size_t at = parent == WIRE_NONE ? 0 : found->items[parent].value;
    size_t end = parent == WIRE_NONE ? size : found->items[parent].to;
    for (unsigned i = parent == WIRE_NONE ? 0 : parent + 1; i < found->count; i++) {
        const wire_field *f = &found->items[i];
        if (f->from >= end) break;
        if (f->parent != parent) continue;
        wire_put(out, p + at, f->from - at);
        at = f->to;
        if (i == target) {
            wire_put_changed(out, p, f, other, seed);
        } else if (wire_holds(found, i, target)) {
            static uint8_t room[WIRE_DEPTH + 2][1 << 16];
            static unsigned level;
            uint64_t tag;
            wire_out inner = {room[level], 0, sizeof *room, false};
            level++;
            wire_write(&inner, p, size, found, i, target, other, seed);
            level--;
            (void)wire_varint(p, f->from, f->value, &tag);
            out->full |= inner.full;
            wire_put_varint(out, tag);
            wire_put_varint(out, inner.size);
            wire_put(out, inner.bytes, inner.size);
        } else {
            wire_put(out, p + f->from, f->to - f->from);
        }
    }
    wire_put(out, p + at, end - at);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
    static wire_fields found;
    static uint8_t made[1 << 16];
    found.count = 0;
    if (seed % 4) (void)wire_parse(data, 0, size, WIRE_NONE, WIRE_DEPTH, &found);
    if (!found.count) return LLVMFuzzerMutate(data, size, max_size);
    wire_out out = {made, 0, max_size < sizeof made ? max_size : sizeof made, false};
    unsigned target = seed / 4 % found.count, other = seed / 7919 % found.count;
    wire_write(&out, data, size, &found, WIRE_NONE, target, &found.items[other], seed / 31);
    if (out.full || !out.size) return LLVMFuzzerMutate(data, size, max_size);
    memcpy(data, out.bytes, out.size);
    return out.size;
}

#endif
#endif
