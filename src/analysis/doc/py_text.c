/* SPDX-License-Identifier: MIT */
#include "doc/py_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/decimal.h"
#include "base/utf8.h"

void hb_buf_py_float(hb_buf *buf, double v)
{
    if (isnan(v)) {
        hb_buf_str(buf, "nan");
        return;
    }
    if (isinf(v)) {
        hb_buf_str(buf, v < 0 ? "-inf" : "inf");
        return;
    }
    char *text = hb_buf_reserve(buf, HB_MAX_DECIMAL);
    if (!text) return;
    size_t size = (size_t)(hb_put_decimal(text, v, 16) - text);
    bool whole = !memchr(text, '.', size) && !memchr(text, 'e', size);
    buf->size += size;
    if (whole) hb_buf_append(buf, ".0", 2);
}

/* Most numbers of an answer are short integers; they are worth a fast way. */
void hb_buf_py_num(hb_buf *buf, hb_num n)
{
    if (n.is_float || isnan(n.v) || isinf(n.v))
        hb_buf_py_float(buf, n.v);
    else if (fabs(n.v) < 9e15)
        hb_buf_printf(buf, "%lld", (long long)n.v);
    else
        hb_buf_printf(buf, "%.0f", n.v);
}

void hb_buf_json_num(hb_buf *buf, hb_num n)
{
    if (isnan(n.v))
        hb_buf_str(buf, "NaN");
    else if (isinf(n.v))
        hb_buf_str(buf, n.v < 0 ? "-Infinity" : "Infinity");
    else
        hb_buf_py_num(buf, n);
}

static void unit(hb_buf *buf, unsigned u)
{
    char text[8];
    snprintf(text, sizeof text, "\\u%04x", u & 0xffff);
    hb_buf_append(buf, text, 6);
}

static bool is_surrogate(const unsigned char *p, size_t size)
{
    return size >= 3 && p[0] == 0xed && p[1] >= 0xa0 && p[1] <= 0xbf && (p[2] & 0xc0) == 0x80;
}

static size_t escape_wide(hb_buf *buf, const unsigned char *p, size_t size)
{
    size_t n = is_surrogate(p, size) ? 3 : hb_utf8_length(p, size);
    unsigned c;
    switch (n) {
    case 2: c = (unsigned)(p[0] & 0x1f) << 6 | (p[1] & 0x3f); break;
    case 3: c = (unsigned)(p[0] & 0x0f) << 12 | (unsigned)(p[1] & 0x3f) << 6 | (p[2] & 0x3f); break;
    case 4:
        c = (unsigned)(p[0] & 7) << 18 | (unsigned)(p[1] & 0x3f) << 12 |
            (unsigned)(p[2] & 0x3f) << 6 | (p[3] & 0x3f);
        unit(buf, 0xd800 + ((c - 0x10000) >> 10));
        c = 0xdc00 + ((c - 0x10000) & 0x3ff);
        break;
    default:
        c = 0xfffd;
        n = 1;
        break;
    }
    unit(buf, c);
    return n;
}

static void escape_ascii(hb_buf *buf, unsigned char c)
{
    static const char *const names[] = {
        ['\b'] = "\\b", ['\t'] = "\\t", ['\n'] = "\\n", ['\f'] = "\\f",
        ['\r'] = "\\r", ['"'] = "\\\"", ['\\'] = "\\\\"};
    if (c < sizeof names / sizeof names[0] && names[c])
        hb_buf_append(buf, names[c], 2);
    else
        unit(buf, c);
}

void hb_buf_json_ascii(hb_buf *buf, const char *text, size_t size)
{
    const unsigned char *p = (const unsigned char *)text, *end = p + size;
    hb_buf_append(buf, "\"", 1);
    while (p < end) {
        const unsigned char *plain = p;
        while (p < end && *p >= 0x20 && *p < 0x7f && *p != '"' && *p != '\\')
            p++;
        hb_buf_append(buf, plain, (size_t)(p - plain));
        if (p == end) break;
        if (*p < 0x80)
            escape_ascii(buf, *p++);
        else
            p += escape_wide(buf, p, (size_t)(end - p));
    }
    hb_buf_append(buf, "\"", 1);
}

double hb_py_round(double v, int digits)
{
    if (digits == 0) return nearbyint(v);
    if (!isfinite(v) || fabs(v) >= 1e17) return v;
    char text[400];
    snprintf(text, sizeof text, "%.*f", digits, v);
    return strtod(text, NULL);
}
