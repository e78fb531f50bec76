/* SPDX-License-Identifier: MIT
 *
 * Numbers and texts as events have them. Behind a text stand HB_SCAN_PADDING zeros.
 */
#ifndef HB_READ_EVENT_NUMBERS_H
#define HB_READ_EVENT_NUMBERS_H

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "base/json_scan.h"

enum { HB_SAME_PADDING = 16 }; /* may be read behind what hb_same_text() compares */

static inline bool hb_same_text(const char *a, const char *b, size_t size)
{
#if defined(__SSE2__)
    for (;; size -= 16, a += 16, b += 16) {
        __m128i same = _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)(const void *)a),
                                      _mm_loadu_si128((const __m128i *)(const void *)b));
        uint32_t differ = (uint32_t)_mm_movemask_epi8(same) ^ 0xffff;
        if (size < 16) return (differ & ((1u << size) - 1)) == 0;
        if (differ) return false;
    }
#else
    return memcmp(a, b, size) == 0;
#endif
}

/* Of eight digits, the first in the lowest byte, as numbers. Neighbours are joined: pairs, then
 * fours, then all. */
static inline uint32_t hb_number_of_digits(uint64_t eight)
{
    eight = eight * ((10u << 8) + 1) >> 8;
    eight = (eight & UINT64_C(0x00ff00ff00ff00ff)) * ((100u << 16) + 1) >> 16;
    return (uint32_t)((eight & UINT64_C(0x0000ffff0000ffff)) * ((UINT64_C(10000) << 32) + 1) >> 32);
}

/** Behind the digits from `p` on; *number has them appended. */
static inline const char *hb_take_digits(const char *p, uint64_t *number)
{
    static const uint64_t powers[] = {1,      10,      100,      1000,     10000,
                                      100000, 1000000, 10000000, 100000000};
    for (unsigned n = 8; n == 8; p += n) {
        uint64_t eight = hb_json_digits(p, &n);
        if (n == 0) break;
        *number = *number * powers[n] + hb_number_of_digits(eight << (64 - 8 * n));
    }
    return p;
}

static inline const char *hb_behind_digits(const char *p)
{
    for (unsigned n = 8; n == 8; p += n)
        hb_json_digits(p, &n);
    return p;
}

/** Behind what hb_scan_value() takes for a number, but for exponents; NULL: none. */
static inline const char *hb_behind_number(const char *p, bool *has_point)
{
    const char *digits = p + (*p == '-');
    p = hb_behind_digits(digits);
    if (p == digits || (*digits == '0' && p > digits + 1)) return NULL;
    *has_point = *p == '.';
    if (!*has_point) return p;
    const char *decimals = p + 1;
    p = hb_behind_digits(decimals);
    return p == decimals ? NULL : p;
}

/** A time with up to three decimals and no exponent, as nearly all are, from its digits: what a
 * double holds is coarser where times count from 1970. Behind it; NULL: it is none, or microseconds
 * and nanoseconds tell more than one another. */
static inline const char *hb_take_plain_time(const char *p, int64_t *ns, bool *has_point)
{
    enum { MAX_DIGITS = 16 }; /* of microseconds; no sum of them overflows */
    static const int64_t scales[] = {1000, 100, 10, 1};
    const char *start = p + (*p == '-');
    uint64_t number = 0;
    const char *point = hb_take_digits(start, &number), *end = point;
    if (point == start || (*start == '0' && point > start + 1)) return NULL;
    if (point - start > MAX_DIGITS || number >= UINT64_C(3000000000000000)) return NULL;
    ptrdiff_t decimals = 0;
    *has_point = *point == '.';
    if (*has_point) {
        end = hb_take_digits(point + 1, &number);
        decimals = end - point - 1;
        if (decimals < 1 || decimals > 3) return NULL;
    }
    *ns = (int64_t)number * scales[decimals];
    if (start == p) return end;
    *ns = -*ns;
    return number != 0 || !*has_point ? end : NULL; /* -0.0 is not 0, -0 is */
}

#endif
