/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "record/codec.h"
#include "record/session.h"

bool hb_part_decode(const hb_part *part, const unsigned char *coded, char *raw)
{
    if (part->codec == HB_CODEC_DELTA)
        return hb_codec_decode(coded, part->coded_bytes, raw, part->raw_bytes);
    if (part->codec != HB_CODEC_RAW || part->coded_bytes != part->raw_bytes) return false;
    memcpy(raw, coded, part->raw_bytes);
    return true;
}

/* ---- cursor ---- */

hb_cursor hb_cursor_open(const hb_spool_view *view, const hb_records *records,
                         const hb_thread_records *thread, uint32_t types)
{
    return (hb_cursor){.view = view, .thread = thread, .session = records->session, .types = types};
}

void hb_cursor_close(hb_cursor *c)
{
    free(c->raw);
    c->raw = c->at = c->end = NULL;
    c->capacity = 0;
}

static bool is_wanted(const hb_part *part, uint32_t types)
{
    uint32_t has = __atomic_load_n(&part->types, __ATOMIC_RELAXED); /* the writer finds them out */
    return has == 0 || (has & types);
}

/* What can't be read for want of memory is told of, and passed over. */
static bool make_room(const hb_spool_view *view, char **raw, size_t *capacity, size_t bytes)
{
    if (bytes <= *capacity) return true;
    char *more = realloc(*raw, bytes);
    if (!more) {
        view->has_no_room(view);
        return false;
    }
    *raw = more;
    *capacity = bytes;
    return true;
}

static bool load(hb_cursor *c, const hb_part *part)
{
    c->at = c->end = NULL;
    if (!make_room(c->view, &c->raw, &c->capacity, part->raw_bytes)) return false;
    if (!c->view->load(c->view, c->session, c->thread, part, c->raw)) return false;
    c->at = c->raw;
    c->end = c->raw + part->raw_bytes;
    c->next_id = part->first_id;
    return true;
}

static bool enter_next_part(hb_cursor *c)
{
    while (c->part < c->thread->parts.count) {
        const hb_part *part = &c->thread->parts.items[c->part++];
        if (part->raw_bytes && is_wanted(part, c->types) && load(c, part)) return true;
    }
    hb_cursor_close(c); /* a session may have very many threads */
    return false;
}

static size_t least_size(const hb_record *r)
{
    switch (r->type) {
    case HB_RECORD_ANNOTATION:
    case HB_RECORD_OP: return sizeof(hb_record);
    case HB_RECORD_MODULE: return sizeof(hb_record_module);
    case HB_RECORD_MEMORY: return sizeof(hb_record_memory);
    case HB_RECORD_SCALAR: return sizeof(hb_record_scalar);
    case HB_RECORD_COUNTER: return sizeof(hb_record_counter);
    case HB_RECORD_FLOW: return sizeof(hb_record_flow);
    case HB_RECORD_METADATA: return sizeof(hb_record_metadata);
    case HB_RECORD_CALL: return sizeof(hb_record_call);
    case HB_RECORD_LAUNCH: return HB_RECORD_SHORT_LAUNCH;
    case HB_RECORD_COPY: return sizeof(hb_record_copy);
    case HB_RECORD_ALLOCATION: return sizeof(hb_record_allocation);
    case HB_RECORD_WORK: return sizeof(hb_record_work);
    case HB_RECORD_DISPATCH: return sizeof(hb_record_dispatch);
    case HB_RECORD_FRAMES: return sizeof(hb_record_frames);
    case HB_RECORD_GRAPH: return sizeof(hb_record_graph);
    case HB_RECORD_SAMPLE: return sizeof(hb_record_sample);
    case HB_RECORD_LINK: return sizeof(hb_record_link);
    case HB_RECORD_DEVICE: return HB_RECORD_SHORT_DEVICE;
    default: return SIZE_MAX;
    }
}

/* 0 when it is none. */
static size_t record_size(const char *at, const char *end)
{
    const hb_record *r = (const hb_record *)at;
    size_t left = (size_t)(end - at), size = left >= sizeof *r ? (size_t)r->units * 8 : 0;
    return size && size <= left && size >= least_size(r) ? size : 0;
}

hb_record *hb_cursor_next(hb_cursor *c, uint64_t *id)
{
    for (;;) {
        size_t size = c->at ? record_size(c->at, c->end) : 0;
        if (size) {
            hb_record *r = (hb_record *)c->at;
            c->at += size;
            c->last = r;
            bool scope = r->type == HB_RECORD_ANNOTATION || r->type == HB_RECORD_OP;
            *id = scope ? c->next_id++ : 0;
            if (scope && (r->flags & HB_RECORD_COMM)) c->next_id++; /* has two */
            return r;
        }
        /* At its end, or damaged from here on. */
        if (!enter_next_part(c)) return NULL;
    }
}

/* ---- refs ---- */

#define PLACE_BITS 13u /* of 8 bytes in a part */
#define PART_BITS  27u

hb_record_ref hb_cursor_ref(const hb_cursor *c, uint32_t thread)
{
    uint64_t place = (uint64_t)((const char *)c->last - c->raw) / 8;
    return (uint64_t)thread << (PLACE_BITS + PART_BITS) | (uint64_t)(c->part - 1) << PLACE_BITS |
           place;
}

#define READ_PARTS 32u

typedef struct hb_read_part {
    hb_record_ref key; /* with place 0 */
    uint32_t used;     /* 0: empty */
    size_t capacity, bytes;
    char *raw;
} hb_read_part;

void hb_record_reader_init(hb_record_reader *reader, const hb_spool_view *view,
                           const hb_records *records)
{
    *reader = (hb_record_reader){.view = view, .records = records};
}

void hb_record_reader_free(hb_record_reader *reader)
{
    for (uint32_t i = 0; reader->parts && i < READ_PARTS; i++)
        free(reader->parts[i].raw);
    free(reader->parts);
    reader->parts = NULL;
}

static hb_read_part *find_part(hb_record_reader *reader, hb_record_ref key)
{
    hb_read_part *oldest = &reader->parts[0];
    for (uint32_t i = 0; i < READ_PARTS; i++) {
        hb_read_part *p = &reader->parts[i];
        if (p->used && p->key == key) return p;
        if (p->used < oldest->used) oldest = p;
    }
    oldest->used = 0;
    return oldest;
}

static bool read_part(hb_record_reader *reader, hb_read_part *p, hb_record_ref key)
{
    const hb_records *all = reader->records;
    uint64_t thread = key >> (PLACE_BITS + PART_BITS);
    uint64_t at = key >> PLACE_BITS & ((1u << PART_BITS) - 1);
    const hb_thread_records *t =
        thread < all->threads.count ? hb_records_nth(all, (uint32_t)thread) : NULL;
    if (!t || at >= t->parts.count) return false;
    const hb_part *part = &t->parts.items[at];
    if (!make_room(reader->view, &p->raw, &p->capacity, part->raw_bytes)) return false;
    p->bytes = part->raw_bytes;
    p->key = key;
    return reader->view->load(reader->view, all->session, t, part, p->raw);
}

const hb_record *hb_record_read(hb_record_reader *reader, hb_record_ref ref)
{
    hb_record_ref place = ref & ((1u << PLACE_BITS) - 1), key = ref - place;
    if (!reader->parts) reader->parts = calloc(READ_PARTS, sizeof *reader->parts);
    if (!reader->parts) {
        reader->view->has_no_room(reader->view);
        return NULL;
    }
    hb_read_part *p = find_part(reader, key);
    if (!p->used && !read_part(reader, p, key)) return NULL;
    p->used = ++reader->clock;
    if (place * 8 >= p->bytes || !record_size(p->raw + place * 8, p->raw + p->bytes)) return NULL;
    return (const hb_record *)(p->raw + place * 8);
}
