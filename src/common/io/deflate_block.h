/* SPDX-License-Identifier: MIT
 *
 * Literals and matches into blocks of deflate (RFC 1951), each with Huffman codes of its own.
 */
#ifndef HB_IO_DEFLATE_BLOCK_H
#define HB_IO_DEFLATE_BLOCK_H

#include "io/sink.h"

enum {
    HB_DEFLATE_WINDOW = 32768,
    HB_DEFLATE_LITERALS = 286, /* bytes, the end, lengths of matches */
    HB_DEFLATE_DISTANCES = 30,
    HB_DEFLATE_TOKENS = 16384, /* of a block */
    HB_DEFLATE_MIN = 3,
    HB_DEFLATE_MAX = 258,
    HB_DEFLATE_ROOM = HB_DEFLATE_TOKENS * 6 + 1024, /* a token has at most 48 bits */
};

typedef struct hb_deflate_block {
    hb_sink *below;
    uint32_t tokens[HB_DEFLATE_TOKENS]; /* a byte, or length << 16 | distance */
    uint32_t count;
    uint32_t literals[HB_DEFLATE_LITERALS], distances[HB_DEFLATE_DISTANCES]; /* how often */
    uint64_t bits; /* that are not yet a byte, the first in the lowest */
    unsigned num_bits;
    hb_result result; /* of writing; after a failure nothing more is written */
    unsigned char out[HB_DEFLATE_ROOM];
} hb_deflate_block;

/** Writes the block. The last one ends at a whole byte. */
void hb_deflate_block_end(hb_deflate_block *b, bool last);

/** Ends the bytes so far at a whole one, by an empty block as zlib's Z_SYNC_FLUSH does. */
void hb_deflate_align(hb_deflate_block *b);

/** Symbols count from 0 here; those of lengths stand behind the end's, 256. `extra`: bits that
 * follow the symbol, the lowest ones of `value`. */
static inline unsigned hb_length_symbol(uint32_t length, unsigned *extra, uint32_t *value)
{
    uint32_t v = length - HB_DEFLATE_MIN;
    *extra = 0;
    *value = 0;
    if (v < 8) return v;
    if (length == HB_DEFLATE_MAX) return 28;
    *extra = 29 - (unsigned)__builtin_clz(v);
    *value = v & ((1u << *extra) - 1);
    return 4 * *extra + 4 + (v >> *extra & 3);
}

static inline unsigned hb_distance_symbol(uint32_t distance, unsigned *extra, uint32_t *value)
{
    uint32_t v = distance - 1;
    *extra = 0;
    *value = 0;
    if (v < 4) return v;
    *extra = 30 - (unsigned)__builtin_clz(v);
    *value = v & ((1u << *extra) - 1);
    return 2 * *extra + 2 + (v >> *extra & 1);
}

static inline void hb_deflate_token(hb_deflate_block *b, uint32_t token)
{
    b->tokens[b->count++] = token;
    if (HB_UNLIKELY(b->count == HB_DEFLATE_TOKENS)) hb_deflate_block_end(b, false);
}

static inline void hb_deflate_literal(hb_deflate_block *b, unsigned char c)
{
    b->literals[c]++;
    hb_deflate_token(b, c);
}

/** `length`: HB_DEFLATE_MIN or more, also more than one match can have. */
static inline void hb_deflate_match(hb_deflate_block *b, size_t length, uint32_t distance)
{
    unsigned extra;
    uint32_t value, symbol = hb_distance_symbol(distance, &extra, &value);
    while (length) {
        uint32_t n = (uint32_t)HB_MIN(length, (size_t)HB_DEFLATE_MAX);
        if (length > n && length - n < HB_DEFLATE_MIN) n -= HB_DEFLATE_MIN; /* for the rest */
        length -= n;
        b->literals[257 + hb_length_symbol(n, &extra, &value)]++;
        b->distances[symbol]++;
        hb_deflate_token(b, n << 16 | distance);
    }
}

#endif
