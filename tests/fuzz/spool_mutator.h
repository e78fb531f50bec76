/* SPDX-License-Identifier: MIT
 *
 * Changes of a spool that leave it one: segments and records are left out, doubled, moved and taken
 * from elsewhere, and words of them get values that stand in others or mean something. Coded
 * records are decoded first, and coded again. Of changes of single bytes most end what is read.
 */
#ifndef HB_FUZZ_SPOOL_MUTATOR_H
#define HB_FUZZ_SPOOL_MUTATOR_H

#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "mutate.h"
#include "record/codec.h"
#include "record/format.h"

enum { SPOOL_PARTS = 48, SPOOL_PART_BYTES = 1 << 15, SPOOL_RECORDS = 512 };

/* A segment; its records, where it has some, are not coded. */
typedef struct spool_part {
    hb_segment head;
    uint32_t bytes, records; /* of the payload, and where its records begin in it */
    uint8_t payload[SPOOL_PART_BYTES];
} spool_part;

typedef struct spool_parts {
    spool_part items[SPOOL_PARTS];
    uint32_t order[SPOOL_PARTS]; /* as they are written: indexes of items */
    uint32_t count, written;
} spool_parts;

static spool_parts spool_one, spool_other;
static uint64_t spool_state;

static uint32_t spool_random(uint32_t below)
{
    return fuzz_random(&spool_state, below);
}

static bool spool_has_records(const spool_part *p)
{
    return p->records < p->bytes;
}

/* ---- reading ---- */

static void spool_take_payload(spool_part *part, const uint8_t *payload)
{
    part->bytes = (uint32_t)part->head.bytes;
    part->records = part->bytes;
    if (part->head.kind == HB_SEGMENT_EVENTS && part->head.codec == HB_CODEC_DELTA &&
        part->head.raw_bytes <= SPOOL_PART_BYTES &&
        hb_codec_decode(payload, part->bytes, (char *)part->payload, part->head.raw_bytes)) {
        part->bytes = part->head.raw_bytes;
        part->records = 0;
        return;
    }
    memcpy(part->payload, payload, part->bytes);
    uint32_t kind = 0;
    if (part->bytes >= sizeof(hb_chunk)) memcpy(&kind, part->payload, sizeof kind);
    if (part->head.kind == HB_SEGMENT_EVENTS && part->head.codec == HB_CODEC_RAW) part->records = 0;
    if (part->head.kind == HB_SEGMENT_HOT && kind == HB_CHUNK_EVENTS)
        part->records = sizeof(hb_chunk);
}

static void spool_read(spool_parts *parts, const uint8_t *data, size_t size)
{
    parts->count = parts->written = 0;
    for (size_t at = 0; at + sizeof(hb_segment) <= size && parts->count < SPOOL_PARTS / 2;) {
        spool_part *part = &parts->items[parts->count];
        memcpy(&part->head, data + at, sizeof part->head);
        size_t rest = size - at - sizeof part->head;
        if (part->head.magic != HB_SEGMENT_MAGIC || part->head.padding > rest ||
            part->head.bytes > rest - part->head.padding || part->head.bytes > SPOOL_PART_BYTES) {
            at += HB_SEGMENT_ALIGN;
            continue;
        }
        at += sizeof part->head + part->head.padding;
        spool_take_payload(part, data + at);
        at += part->head.bytes + (0 - part->head.bytes) % HB_SEGMENT_ALIGN;
        parts->order[parts->written++] = parts->count++;
    }
}

/* Where the records of a part begin, as far as they are whole; one more than there are. */
static uint32_t spool_records(const spool_part *part, uint32_t at[SPOOL_RECORDS + 1])
{
    uint32_t n = 0;
    at[0] = part->records;
    while (n < SPOOL_RECORDS && at[n] + sizeof(hb_record) <= part->bytes) {
        hb_record r;
        memcpy(&r, part->payload + at[n], sizeof r);
        uint32_t bytes = r.units * 8u;
        if (bytes < sizeof r || bytes > part->bytes - at[n]) break;
        at[n + 1] = at[n] + bytes;
        n++;
    }
    return n;
}

/* ---- writing ---- */

static size_t spool_put(const spool_part *part, uint8_t *to, size_t room)
{
    static unsigned char coded[HB_CODEC_MOST(SPOOL_PART_BYTES)];
    hb_segment head = part->head;
    const uint8_t *payload = part->payload;
    head.bytes = part->bytes;
    head.padding = 0;
    if (head.kind == HB_SEGMENT_EVENTS && spool_has_records(part)) {
        uint32_t at[SPOOL_RECORDS + 1];
        uint32_t whole = at[spool_records(part, at)] - part->records;
        head.raw_bytes = part->bytes;
        if (head.codec == HB_CODEC_DELTA) {
            head.raw_bytes = whole;
            head.bytes = hb_codec_encode((const char *)payload + part->records, whole, coded);
            payload = coded;
        }
    }
    size_t padded = (head.bytes + HB_SEGMENT_ALIGN - 1) / HB_SEGMENT_ALIGN * HB_SEGMENT_ALIGN;
    if (sizeof head + padded > room) return 0;
    memcpy(to, &head, sizeof head);
    memset(to + sizeof head, 0, padded);
    memcpy(to + sizeof head, payload, head.bytes);
    return sizeof head + padded;
}

/* With `behind` bytes more than whole segments have. */
static size_t spool_write(const spool_parts *parts, uint8_t *data, size_t most, size_t behind)
{
    size_t size = 0;
    for (uint32_t i = 0; i < parts->written; i++)
        size += spool_put(&parts->items[parts->order[i]], data + size, most - size);
    if (!size || behind > most - size) return size;
    memset(data + size, 0, behind);
    return size + behind;
}

/* How many there were, or sometimes others. */
static size_t spool_behind(size_t size)
{
    return spool_random(16) ? size % HB_SEGMENT_ALIGN : spool_random(3);
}

/* ---- changes ---- */

static uint64_t spool_word(uint64_t now, unsigned bytes)
{
    static const uint64_t values[] = {0,
                                      1,
                                      2,
                                      3,
                                      4,
                                      5,
                                      6,
                                      7,
                                      8,
                                      16,
                                      32,
                                      64,
                                      128,
                                      255,
                                      1000,
                                      0x7fff,
                                      0x8000,
                                      0xffff,
                                      0x10000,
                                      0x7fffffff,
                                      99,
                                      500,
                                      24,
                                      100000,
                                      500000,
                                      12345,
                                      0x80000000,
                                      0xffffffff,
                                      0xfffffffe,
                                      INT64_MAX,
                                      UINT64_C(1) << 63,
                                      UINT64_C(1) << 62,
                                      UINT64_MAX,
                                      UINT64_MAX - 1};
    switch (spool_random(6)) {
    case 0: return now + 1;
    case 1: return now - 1;
    case 2: return now ^ UINT64_C(1) << spool_random(bytes * 8);
    case 3: return now + spool_random(100000);
    default: return values[spool_random(sizeof values / sizeof *values)];
    }
}

/* A word of `to` gets another value, or that of one as long elsewhere. */
static void spool_change_word(uint8_t *to, size_t size, const uint8_t *from, size_t from_size)
{
    static const unsigned sizes[] = {8, 8, 4, 4, 2, 1};
    unsigned bytes = sizes[spool_random(6)];
    uint64_t now = 0;
    if (size < bytes) return;
    uint8_t *at = to + spool_random((uint32_t)(size / bytes)) * bytes;
    if (from_size >= bytes && spool_random(2)) {
        memmove(at, from + spool_random((uint32_t)(from_size / bytes)) * bytes, bytes);
        return;
    }
    memcpy(&now, at, bytes);
    now = spool_word(now, bytes);
    memcpy(at, &now, bytes);
}

/* Most like the same word of a record of the same type. */
static void spool_change_record(uint8_t *to, size_t size, const uint8_t *from, size_t from_size)
{
    if (spool_random(3) == 0 && from_size >= 8) {
        size_t words = (size < from_size ? size : from_size) / 8;
        size_t at = spool_random((uint32_t)words) * 8;
        if (at != 16) memmove(to + at, from + at, 8);
    } else if (spool_random(4) == 0) {
        to[20 + spool_random(2)] ^= (uint8_t)(1u << spool_random(8)); /* type or flags */
    } else {
        uint16_t units;
        memcpy(&units, to + 22, sizeof units);
        spool_change_word(to, size, from, from_size);
        if (spool_random(16)) memcpy(to + 22, &units, sizeof units);
    }
}

static void spool_resize(spool_part *part, uint32_t at, uint32_t old, const uint8_t *bytes,
                         uint32_t size)
{
    if (part->bytes - old + size > SPOOL_PART_BYTES) return;
    memmove(part->payload + at + size, part->payload + at + old, part->bytes - at - old);
    if (size) memcpy(part->payload + at, bytes, size);
    part->bytes = part->bytes - old + size;
    if (part->head.kind == HB_SEGMENT_HOT && part->records >= sizeof(hb_chunk)) {
        uint32_t used = part->bytes;
        memcpy(part->payload + offsetof(hb_chunk, used), &used, sizeof used);
    }
}

static void spool_change_records(spool_part *to, const spool_part *from)
{
    static uint8_t copy[SPOOL_PART_BYTES];
    static uint32_t at[SPOOL_RECORDS + 1], from_at[SPOOL_RECORDS + 1];
    uint32_t n = spool_records(to, at), m = spool_records(from, from_at);
    if (!n || !m) return;
    uint32_t i = spool_random(n), k = spool_random(m), size = from_at[k + 1] - from_at[k];
    memcpy(copy, from->payload + from_at[k], size);
    switch (spool_random(8)) {
    case 0: spool_resize(to, at[i], at[i + 1] - at[i], NULL, 0); return;
    case 1: spool_resize(to, at[i], 0, copy, size); return;
    case 2: spool_resize(to, at[i], at[i + 1] - at[i], copy, size); return;
    case 3: { /* a part of the record more or less */
        hb_record r;
        memcpy(&r, to->payload + at[i], sizeof r);
        bool more = spool_random(2);
        if (!more && r.units == sizeof r / 8) return;
        r.units = (uint16_t)(r.units + (more ? 1 : -1));
        memcpy(to->payload + at[i], &r, sizeof r);
        spool_resize(to, more ? at[i + 1] : at[i + 1] - 8, more ? 0 : 8, copy, more ? 8 : 0);
        return;
    }
    default: spool_change_record(to->payload + at[i], at[i + 1] - at[i], copy, size);
    }
}

static void spool_change_head(spool_part *part, const spool_part *other)
{
    uint8_t *info = spool_has_records(part) && part->head.kind == HB_SEGMENT_HOT
                        ? part->payload + offsetof(hb_chunk, events)
                        : (uint8_t *)&part->head.events;
    const uint8_t *from = spool_has_records(other) && other->head.kind == HB_SEGMENT_HOT
                              ? other->payload + offsetof(hb_chunk, events)
                              : (const uint8_t *)&other->head.events;
    switch (spool_random(8)) {
    case 0: part->head.codec ^= 1; return;
    case 1: part->head.kind = (uint16_t)(spool_random(5) + 1); return;
    case 2: memcpy(info, from, sizeof(hb_events_info)); return;
    case 3: spool_change_word((uint8_t *)&part->head, sizeof part->head, NULL, 0); return;
    default: spool_change_word(info, 48, from, 48);
    }
    part->head.magic = HB_SEGMENT_MAGIC;
}

/* Where a part stands among those that are written. */
static void spool_change_order(spool_parts *parts)
{
    uint32_t i = spool_random(parts->written), k = spool_random(parts->written);
    uint32_t *order = parts->order, part = order[i];
    switch (spool_random(3)) {
    case 0:
        if (parts->written == 1) return;
        memmove(&order[i], &order[i + 1], (--parts->written - i) * sizeof *order);
        return;
    case 1:
        order[i] = order[k];
        order[k] = part;
        return;
    default:
        if (parts->written == SPOOL_PARTS || parts->count == SPOOL_PARTS) return;
        parts->items[parts->count] = parts->items[part];
        memmove(&order[k + 1], &order[k], (parts->written++ - k) * sizeof *order);
        order[k] = parts->count++;
    }
}

static void spool_change(spool_parts *parts)
{
    for (unsigned n = 1 + spool_random(4); n > 0; n--) {
        spool_part *part = &parts->items[parts->order[spool_random(parts->written)]];
        spool_part *other = &parts->items[parts->order[spool_random(parts->written)]];
        unsigned how = spool_random(8);
        if (how == 0)
            spool_change_order(parts);
        else if (how == 1)
            spool_change_head(part, other);
        else if (spool_has_records(part))
            spool_change_records(part, spool_has_records(other) ? other : part);
        else if (part->head.kind == HB_SEGMENT_NAMES && part->bytes)
            part->bytes = (uint32_t)LLVMFuzzerMutate(part->payload, part->bytes, part->bytes);
        else
            spool_change_word(part->payload, part->bytes, other->payload, other->bytes);
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
    spool_state = seed;
    if (spool_random(6) == 0) return LLVMFuzzerMutate(data, size, max_size);
    spool_read(&spool_one, data, size);
    if (!spool_one.written) return LLVMFuzzerMutate(data, size, max_size);
    spool_change(&spool_one);
    size_t made = spool_write(&spool_one, data, max_size, spool_behind(size));
    return made ? made : LLVMFuzzerMutate(data, size, max_size);
}

/* Segments of both; or what is known of one's chunks, and records of the other's. */
size_t LLVMFuzzerCustomCrossOver(const uint8_t *data1, size_t size1, const uint8_t *data2,
                                 size_t size2, uint8_t *out, size_t most, unsigned int seed)
{
    spool_state = seed;
    spool_read(&spool_one, data1, size1);
    spool_read(&spool_other, data2, size2);
    if (!spool_one.written || !spool_other.written) return 0;
    for (unsigned n = 1 + spool_random(4); n > 0; n--) {
        spool_part *part = &spool_one.items[spool_random(spool_one.count)];
        const spool_part *from = &spool_other.items[spool_random(spool_other.count)];
        if (spool_has_records(part) && spool_has_records(from)) {
            spool_change_records(part, from);
        } else if (spool_random(2) && spool_one.count < SPOOL_PARTS) {
            spool_one.items[spool_one.count] = *from;
            spool_one.order[spool_one.written++] = spool_one.count++;
        }
    }
    if (spool_random(2)) spool_change(&spool_one);
    return spool_write(&spool_one, out, most, spool_behind(size1));
}

#endif
#endif
