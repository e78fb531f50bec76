/* SPDX-License-Identifier: MIT
 *
 * A checksum is what remains of the data, as a polynomial over two elements, when it is divided by
 * the generator. Data may be replaced by what leaves the same remainder: 16 bytes that stand n bits
 * before the end by the products of their two halves with the remainders of x^(n+64) and x^n, which
 * are added to the 16 bytes there. So 64 bytes at a time fold into the next 64, and what is left at
 * last, 16 bytes, goes through zlib. All is in the reflected order of bits that gzip has, in which
 * a product stands one bit lower: the constants are remainders of one power less, times x.
 */
#include "io/crc32.h"

#define ZLIB_CONST
#include <zlib.h>

#ifdef __x86_64__
#include <immintrin.h>

enum { LANE = 16, LANES = 4, LEAST = 2 * LANE * LANES };

#define CLMUL __attribute__((target("pclmul,sse4.1")))

/* Bits that `lane` folds over are in `by`: the remainders for its two halves. */
CLMUL static inline __m128i fold(__m128i lane, __m128i by, __m128i onto)
{
    __m128i low = _mm_clmulepi64_si128(lane, by, 0x00), high = _mm_clmulepi64_si128(lane, by, 0x11);
    return _mm_xor_si128(_mm_xor_si128(low, high), onto);
}

CLMUL static inline __m128i load(const unsigned char *p)
{
    return _mm_loadu_si128((const __m128i *)(const void *)p);
}

CLMUL static uint32_t crc32_clmul(uint32_t crc, const unsigned char *p, size_t size)
{
    const __m128i by_64 = _mm_set_epi64x(0x1c6e41596, 0x154442bd4); /* x^480, x^544 */
    const __m128i by_16 = _mm_set_epi64x(0xccaa009e, 0x1751997d0);  /* x^96, x^160 */
    unsigned char rest[LANE];
    __m128i lane[LANES];
    for (int i = 0; i < LANES; i++)
        lane[i] = load(p + LANE * i);
    /* What was read before is as if it were added to the first bytes here. */
    lane[0] = _mm_xor_si128(lane[0], _mm_cvtsi32_si128((int)~crc));
    for (p += LANE * LANES, size -= LANE * LANES; size >= LANE * LANES; size -= LANE * LANES) {
        for (int i = 0; i < LANES; i++)
            lane[i] = fold(lane[i], by_64, load(p + LANE * i));
        p += LANE * LANES;
    }
    for (int i = 1; i < LANES; i++)
        lane[i] = fold(lane[i - 1], by_16, lane[i]);
    _mm_storeu_si128((__m128i *)(void *)rest, lane[LANES - 1]);
    crc = (uint32_t)crc32_z(0xffffffff, rest, LANE); /* without the inversion at the beginning */
    return (uint32_t)crc32_z(crc, p, size);
}
#endif

uint32_t hb_crc32(uint32_t crc, const void *data, size_t size)
{
#ifdef __x86_64__
    if (size >= LEAST && __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1"))
        return crc32_clmul(crc, data, size);
#endif
    return (uint32_t)crc32_z(crc, data, size);
}
