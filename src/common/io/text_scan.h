/* SPDX-License-Identifier: MIT
 *
 * Looking at a trace's text: what is equal, where numbers end, hashes. Up to 16 bytes more may be
 * read than are looked at.
 */
#ifndef HB_IO_TEXT_SCAN_H
#define HB_IO_TEXT_SCAN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/base.h"

enum { HB_SCAN_HEAD = 96 }; /* bytes that tell what events of other names have in common */

static inline uint64_t hb_load64(const unsigned char *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* How many bytes are equal, at most `most`; both may be read 16 bytes beyond. */
static inline size_t hb_common_length(const unsigned char *a, const unsigned char *b, size_t most)
{
    size_t n = 0;
#ifdef __SSE2__
    for (; n < most; n += 16) {
        __m128i x = _mm_loadu_si128((const __m128i *)(const void *)(a + n));
        __m128i y = _mm_loadu_si128((const __m128i *)(const void *)(b + n));
        unsigned differ = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(x, y)) ^ 0xffff;
        if (differ) {
            n += (unsigned)__builtin_ctz(differ);
            break;
        }
    }
#else
    while (n < most && a[n] == b[n])
        n++;
#endif
    return HB_MIN(n, most);
}

static inline bool hb_is_numeric(unsigned char c)
{
    return (unsigned char)(c - '0') < 10 || c == '.';
}

/* How many of the next bytes, at most 16, are digits and points. */
static inline size_t hb_digits_at(const unsigned char *p)
{
    size_t n = 0;
#ifdef __SSE2__
    __m128i x = _mm_loadu_si128((const __m128i *)(const void *)p);
    __m128i digit = _mm_sub_epi8(x, _mm_set1_epi8('0'));
    __m128i yes = _mm_or_si128(_mm_cmpeq_epi8(_mm_min_epu8(digit, _mm_set1_epi8(9)), digit),
                               _mm_cmpeq_epi8(x, _mm_set1_epi8('.')));
    n = (size_t)__builtin_ctz(~(unsigned)_mm_movemask_epi8(yes));
#else
    while (n < 16 && hb_is_numeric(p[n]))
        n++;
#endif
    return n;
}

static inline uint64_t hb_mix64(uint64_t h)
{
    h *= 0x9e3779b97f4a7c15u;
    return h ^ h >> 31;
}

/* Of the first lines; digits count for nothing. Reads HB_SCAN_HEAD bytes. */
static inline uint64_t hb_hash_head(const unsigned char *p)
{
    uint64_t h = 0;
    for (int i = 8; i < HB_SCAN_HEAD; i += 16) { /* all begin with the same bytes */
#ifdef __SSE2__
        __m128i x = _mm_loadu_si128((const __m128i *)(const void *)(p + i));
        __m128i digit = _mm_sub_epi8(x, _mm_set1_epi8('0'));
        x = _mm_andnot_si128(_mm_cmpeq_epi8(_mm_min_epu8(digit, _mm_set1_epi8(9)), digit), x);
        uint64_t words[2];
        memcpy(words, &x, sizeof words);
#else
        unsigned char bytes[16];
        uint64_t words[2];
        for (int k = 0; k < 16; k++)
            bytes[k] = (unsigned char)(p[i + k] - '0') < 10 ? 0 : p[i + k];
        memcpy(words, bytes, sizeof words);
#endif
        h = hb_mix64(hb_mix64(h ^ words[0]) ^ words[1]);
    }
    return h;
}

/* In two halves at once. */
static inline uint64_t hb_hash_text(const unsigned char *p, const unsigned char *end, uint64_t h)
{
    uint64_t g = ~h;
    for (; end - p >= 16; p += 16) {
        h = hb_mix64(h ^ hb_load64(p));
        g = hb_mix64(g ^ hb_load64(p + 8));
    }
    unsigned left = (unsigned)(end - p);
    if (left >= 8) {
        h = hb_mix64(h ^ hb_load64(p));
        p += 8;
        left -= 8;
    }
    if (left) g = hb_mix64(g ^ hb_load64(p) << (64 - 8 * left));
    return hb_mix64(h ^ g);
}

static inline const unsigned char *hb_next_line(const unsigned char *p, const unsigned char *end)
{
    const unsigned char *line = p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL;
    return line ? line : end;
}

#endif
