/* SPDX-License-Identifier: MIT
 *
 * Numbers into text, fast: a trace is mostly digits. Each hb_put_*() writes at `p`, which has room
 * for HB_MAX_NUMBER bytes, and returns the end; nothing is NUL-terminated.
 */
#ifndef HB_IO_NUMBER_TEXT_H
#define HB_IO_NUMBER_TEXT_H

#include "base/base.h"

enum { HB_MAX_NUMBER = 40 };

static inline char *hb_put_bytes(char *p, const char *bytes, size_t size)
{
    memcpy(p, bytes, size);
    return p + size;
}

/** memcpy of a literal: the compiler makes stores of known size of it. `p` may be a call. */
#define HB_PUT(p, literal) hb_put_bytes(p, "" literal, sizeof(literal) - 1)

extern const char hb_digit_pairs[200]; /* "000102...99" */

/* log10 from log2: bits * 1233 / 4096 is at most one too small, which one comparison repairs. */
static inline unsigned hb_count_digits(uint64_t value)
{
    extern const uint64_t hb_powers_of_ten[20];
    unsigned t = (64u - (unsigned)__builtin_clzll(value | 1)) * 1233u >> 12;
    return t + (value >= hb_powers_of_ten[t]);
}

static inline char *hb_put_u64(char *p, uint64_t value)
{
    char *end = p + hb_count_digits(value), *at = end;
    while (value >= 100) {
        at -= 2;
        memcpy(at, hb_digit_pairs + value % 100 * 2, 2);
        value /= 100;
    }
    if (value >= 10)
        memcpy(at - 2, hb_digit_pairs + value * 2, 2);
    else
        at[-1] = (char)('0' + value);
    return end;
}

static inline char *hb_put_i64(char *p, int64_t value)
{
    uint64_t magnitude = (uint64_t)value;
    if (value < 0) {
        *p++ = '-';
        magnitude = 0 - magnitude;
    }
    return hb_put_u64(p, magnitude);
}

/** Nanoseconds as microseconds with three decimals, "12.034". */
static inline char *hb_put_us(char *p, uint64_t ns)
{
    unsigned fraction = (unsigned)(ns % 1000);
    p = hb_put_u64(p, ns / 1000);
    p[0] = '.';
    p[1] = (char)('0' + fraction / 100);
    memcpy(p + 2, hb_digit_pairs + fraction % 100 * 2, 2);
    return p + 4;
}

/** hb_nesting_of() as text: usually that of hb_put_us(). */
char *hb_put_nesting_us(char *p, uint64_t start_ns, uint64_t end_ns);

/** The shortest text that reads back as `value`; NaN and infinities as quoted text, since JSON has
 * no numbers for them. */
char *hb_put_double(char *p, double value);

/** With 17 digits, "0.10000000000000001", as PyTorch prints inputs; "inf" and "nan" are possible.
 */
char *hb_put_exact(char *p, double value);

/** Rounded to six decimals, "4.272727", as Kineto prints ratios. */
char *hb_put_micros(char *p, double value);

/** A pointer, "0x7f00". */
char *hb_put_hex(char *p, uint64_t value);

#endif
