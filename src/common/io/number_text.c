/* SPDX-License-Identifier: MIT */
#include "io/number_text.h"

#include <math.h>
#include <stdio.h>

#include "base/decimal.h"
#include "base/times.h"

const char hb_digit_pairs[200] = {
#define ROW(t) t, '0', t, '1', t, '2', t, '3', t, '4', t, '5', t, '6', t, '7', t, '8', t, '9'
    ROW('0'), ROW('1'), ROW('2'), ROW('3'), ROW('4'),
    ROW('5'), ROW('6'), ROW('7'), ROW('8'), ROW('9'),
#undef ROW
};

/* The first is 0, not 1, so that 0 has one digit. */
const uint64_t hb_powers_of_ten[20] = {
    0ull,
    10ull,
    100ull,
    1000ull,
    10000ull,
    100000ull,
    1000000ull,
    10000000ull,
    100000000ull,
    1000000000ull,
    10000000000ull,
    100000000000ull,
    1000000000000ull,
    10000000000000ull,
    100000000000000ull,
    1000000000000000ull,
    10000000000000000ull,
    100000000000000000ull,
    1000000000000000000ull,
    10000000000000000000ull,
};

/* `value` / 10^digits with that many decimals. */
static char *put_fixed(char *p, uint64_t value, unsigned digits)
{
    uint64_t unit = hb_powers_of_ten[digits], fraction = value % unit;
    p = hb_put_u64(p, value / unit);
    *p = '.';
    for (unsigned i = digits; i > 0; i--, fraction /= 10)
        p[i] = (char)('0' + fraction % 10);
    return p + 1 + digits;
}

/* Of `n` bytes that printf made: whatever the locale separates decimals with becomes a point. */
static char *with_point(char *p, int n)
{
    char *end = p;
    for (int i = 0; i < n; i++)
        if (memchr("0123456789+-einfa", p[i], 17))
            *end++ = p[i];
        else if (end == p || end[-1] != '.')
            *end++ = '.';
    return end;
}

char *hb_put_exact(char *p, double value)
{
    return with_point(p, snprintf(p, HB_MAX_NUMBER, "%.17g", value));
}

char *hb_put_nesting_us(char *p, uint64_t start_ns, uint64_t end_ns)
{
    hb_nesting n = hb_nesting_of(start_ns, end_ns);
    if (HB_LIKELY(n.decimals == 3)) return hb_put_us(p, n.scaled);
    return n.decimals ? put_fixed(p, n.scaled, n.decimals) : hb_put_exact(p, n.us);
}

/* Up to six decimals, without those that are 0; NULL when `value` has more. */
static char *put_short_decimal(char *p, double value)
{
    double scaled = value * 1e6;
    if (!(scaled >= 0 && scaled < 0x1p53) || scaled != nearbyint(scaled) || scaled / 1e6 != value)
        return NULL;
    p = put_fixed(p, (uint64_t)scaled, 6);
    while (p[-1] == '0')
        p--;
    return p[-1] == '.' ? p - 1 : p;
}

char *hb_put_double(char *p, double value)
{
    if (isnan(value)) return HB_PUT(p, "\"NaN\"");
    if (isinf(value)) return value < 0 ? HB_PUT(p, "\"-Infinity\"") : HB_PUT(p, "\"Infinity\"");
    if (fabs(value) < 0x1p53 && value == (double)(int64_t)value && !(value == 0 && signbit(value)))
        return hb_put_i64(p, (int64_t)value);
    char *end = put_short_decimal(p, value);
    if (end) return end;
    return hb_put_decimal(p, value, 0);
}

char *hb_put_micros(char *p, double value)
{
    double scaled = nearbyint(value * 1e6);
    if (!(scaled >= 0 && scaled < 0x1p53)) return hb_put_double(p, value);
    return put_fixed(p, (uint64_t)scaled, 6);
}

char *hb_put_hex(char *p, uint64_t value)
{
    static const char digits[] = "0123456789abcdef";
    p = HB_PUT(p, "0x");
    for (int shift = (63 - __builtin_clzll(value | 1)) / 4 * 4; shift >= 0; shift -= 4)
        *p++ = digits[value >> shift & 15];
    return p;
}
