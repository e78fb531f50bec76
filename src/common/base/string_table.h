/* SPDX-License-Identifier: MIT
 *
 * Interned byte strings: a number from 1 for each distinct text, 0 for none. A text is followed by
 * a NUL and never moves.
 */
#ifndef HB_BASE_STRING_TABLE_H
#define HB_BASE_STRING_TABLE_H

#include "base/base.h"
#include "base/hash_slots.h"
#include "base/str.h"

typedef uint32_t hb_string_id;

typedef struct hb_text_chunk {
    char *bytes;
    size_t size; /* of its memory */
} hb_text_chunk;

typedef struct hb_texts {
    hb_str *items; /* [0] is empty */
    uint32_t *hashes;
    hb_slots slots;
    uint32_t count, capacity;
    hb_text_chunk *chunks; /* the bytes; never move */
    uint32_t num_chunks;
    char *fill;
    size_t left;
    size_t bytes;    /* all that is held */
    size_t in_files; /* of these: bytes that take no memory */
} hb_texts;

/** All functions report lack of memory by false or 0. */
bool hb_texts_init(hb_texts *strings);
void hb_texts_free(hb_texts *strings);
/** Forgets the texts, and keeps memory for as many again. */
void hb_texts_clear(hb_texts *strings);
hb_string_id hb_texts_add(hb_texts *strings, const char *text, size_t size);
/** 0 when the text is not there. */
hb_string_id hb_texts_find(const hb_texts *strings, const char *text, size_t size);

static inline hb_str hb_texts_get(const hb_texts *strings, hb_string_id id)
{
    return strings->items[id];
}

uint32_t hb_hash_bytes(const void *data, size_t size);

#endif
