/* SPDX-License-Identifier: MIT
 *
 * A record's first byte says what follows. PLAIN: an operator or annotation of 24 bytes; its start
 * as the difference from the last start, its duration, and its name, which is a place in a small
 * table of recent ones. OTHER: type, flags and units; start, end and name as differences; the words
 * behind the head as differences from the same words of the last record of that type and size.
 */
#include "record/codec.h"

#include <string.h>

#include "base/bytes.h"

enum {
    PLAIN_OP = 0x00,
    PLAIN_ANNOTATION = 0x40,
    OTHER = 0x80,
    KIND = 0xc0,
    OPEN = 0x20,     /* PLAIN: has no end */
    NEW_NAME = 0x10, /* PLAIN: the name follows in full */
};

#define RECENT_NAMES 256u
#define KEPT_WORDS   32u
#define TYPES        32u

typedef struct state {
    uint64_t last_start;
    uint32_t names[RECENT_NAMES];
    uint64_t words[TYPES][KEPT_WORDS];
} state;

static uint32_t place_of(uint32_t name)
{
    return (name * 2654435761u) >> 24;
}

/* The words of a record are coded from those of the last one of its type. */
static uint64_t *words_of(state *s, const hb_record *r)
{
    return s->words[r->type % TYPES];
}

/* ---- encoding ---- */

static bool is_plain(const hb_record *r, uint64_t last_start)
{
    return (r->type == HB_RECORD_OP || r->type == HB_RECORD_ANNOTATION) && r->flags == 0 &&
           r->units == sizeof *r / 8 && r->start >= last_start &&
           (r->end == 0 || r->end >= r->start);
}

static unsigned char *put_plain(state *s, const hb_record *r, unsigned char *at)
{
    unsigned char *tag = at++;
    uint32_t place = place_of(r->name);
    *tag = r->type == HB_RECORD_OP ? PLAIN_OP : PLAIN_ANNOTATION;
    at = hb_varint_put(at, r->start - s->last_start);
    if (r->end)
        at = hb_varint_put(at, r->end - r->start);
    else
        *tag |= OPEN;
    if (s->names[place] == r->name) {
        *at++ = (unsigned char)place;
    } else {
        *tag |= NEW_NAME;
        s->names[place] = r->name;
        at = hb_varint_put(at, r->name);
    }
    return at;
}

static unsigned char *put_other(state *s, const hb_record *r, unsigned char *at)
{
    const uint64_t *from = (const uint64_t *)(r + 1);
    uint64_t *last = words_of(s, r);
    *at++ = OTHER;
    *at++ = r->type;
    *at++ = r->flags;
    at = hb_varint_put(at, r->units);
    at = hb_varint_put(at, hb_zigzag((int64_t)(r->start - s->last_start)));
    at = hb_varint_put(at, hb_zigzag((int64_t)(r->end - r->start)));
    at = hb_varint_put(at, r->name);
    uint32_t words = r->units - (uint32_t)(sizeof *r / 8);
    for (uint32_t i = 0; i < words; i++) {
        uint64_t before = i < KEPT_WORDS ? last[i] : 0;
        at = hb_varint_put(at, hb_zigzag((int64_t)(from[i] - before)));
        if (i < KEPT_WORDS) last[i] = from[i];
    }
    return at;
}

size_t hb_codec_encode(const char *raw, size_t bytes, unsigned char *to)
{
    state s;
    memset(&s, 0, sizeof s);
    unsigned char *at = to;
    for (const char *end = raw + bytes; raw < end;) {
        const hb_record *r = (const hb_record *)raw;
        at = is_plain(r, s.last_start) ? put_plain(&s, r, at) : put_other(&s, r, at);
        s.last_start = r->start;
        raw += (size_t)r->units * 8;
    }
    return (size_t)(at - to);
}

/* ---- decoding ---- */

typedef struct input {
    const unsigned char *at, *end;
    bool failed;
} input;

static unsigned get_byte(input *in)
{
    if (in->at < in->end) return *in->at++;
    in->failed = true;
    return 0;
}

static uint64_t get(input *in)
{
    uint64_t v = 0;
    if (!hb_varint_get(&in->at, in->end, &v)) in->failed = true;
    return v;
}

static void get_plain(state *s, input *in, unsigned tag, hb_record *r)
{
    r->type = (tag & KIND) == PLAIN_OP ? HB_RECORD_OP : HB_RECORD_ANNOTATION;
    r->flags = 0;
    r->units = sizeof *r / 8;
    r->start = s->last_start + get(in);
    r->end = tag & OPEN ? 0 : r->start + get(in);
    if (tag & NEW_NAME) {
        r->name = (uint32_t)get(in);
        s->names[place_of(r->name)] = r->name;
    } else {
        r->name = s->names[get_byte(in)];
    }
}

static void get_other(state *s, input *in, hb_record *r, size_t room)
{
    r->type = (uint8_t)get_byte(in);
    uint64_t *to = (uint64_t *)(r + 1), *last = words_of(s, r);
    r->flags = (uint8_t)get_byte(in);
    r->units = (uint16_t)get(in);
    r->start = s->last_start + (uint64_t)hb_unzigzag(get(in));
    r->end = r->start + (uint64_t)hb_unzigzag(get(in));
    r->name = (uint32_t)get(in);
    if (r->units < sizeof *r / 8 || (size_t)r->units * 8 > room) {
        in->failed = true;
        return;
    }
    uint32_t words = r->units - (uint32_t)(sizeof *r / 8);
    for (uint32_t i = 0; i < words && !in->failed; i++) {
        to[i] = (i < KEPT_WORDS ? last[i] : 0) + (uint64_t)hb_unzigzag(get(in));
        if (i < KEPT_WORDS) last[i] = to[i];
    }
}

bool hb_codec_decode(const unsigned char *from, size_t bytes, char *raw, size_t raw_bytes)
{
    state s;
    memset(&s, 0, sizeof s);
    input in = {from, from + bytes, false};
    while (raw_bytes >= sizeof(hb_record) && !in.failed) {
        hb_record *r = (hb_record *)raw;
        unsigned tag = get_byte(&in);
        if ((tag & KIND) == OTHER)
            get_other(&s, &in, r, raw_bytes);
        else
            get_plain(&s, &in, tag, r);
        if (in.failed) break;
        s.last_start = r->start;
        raw += (size_t)r->units * 8;
        raw_bytes -= (size_t)r->units * 8;
    }
    return raw_bytes == 0 && !in.failed && in.at == in.end;
}

/* ---- hot chunks ---- */

static bool has_end(const hb_record *r)
{
    return r->type < 32 && (HB_TYPES_WITH_END >> r->type & 1);
}

static void tidy(hb_record *r)
{
    if (!has_end(r) || r->end <= HB_END_TICKS) return;
    if (r->end & HB_END_ELSEWHERE) r->flags |= HB_RECORD_ASYNC;
    r->end &= HB_END_TICKS;
}

void hb_codec_copy_hot(char *raw, const char *chunk, size_t bytes)
{
    hb_word *to = (hb_word *)raw;
    const hb_word *from = (const hb_word *)chunk;
    /* Partner of those who store ends: what a record says besides was stored before. */
    for (size_t i = 0; i < bytes / 8; i++)
        to[i] = __atomic_load_n(&from[i], __ATOMIC_ACQUIRE);
    for (size_t at = 0; at + sizeof(hb_record) <= bytes;) {
        hb_record *r = (hb_record *)(raw + at);
        if (r->units < sizeof *r / 8 || (size_t)r->units * 8 > bytes - at) break;
        tidy(r);
        at += (size_t)r->units * 8;
    }
}

void hb_codec_prepass(const char *raw, size_t bytes, hb_events_info *info)
{
    info->types = 0;
    info->first_tick = UINT64_MAX;
    info->last_tick = 0;
    for (size_t at = 0; at + sizeof(hb_record) <= bytes;) {
        const hb_record *r = (const hb_record *)(raw + at);
        if (r->units < sizeof *r / 8 || (size_t)r->units * 8 > bytes - at) break;
        info->types |= 1u << (r->type & 31);
        if (r->type == HB_RECORD_OP && (r->flags & HB_RECORD_SEQUENCE))
            info->types |= HB_TYPES_SEQUENCE;
        if (r->start < info->first_tick) info->first_tick = r->start;
        if (r->start > info->last_tick) info->last_tick = r->start;
        if (has_end(r) && r->end > info->last_tick) info->last_tick = r->end;
        at += (size_t)r->units * 8;
    }
}
