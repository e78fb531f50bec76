/* SPDX-License-Identifier: MIT */
#include "base/utf8.h"

#include "base/base.h"

/* Table 3-7 of the Unicode standard: only the second byte's range depends on the first. */
size_t hb_utf8_length(const unsigned char *text, size_t size)
{
    unsigned char c = text[0];
    if (c < 0x80) return 1;
    size_t n = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
    if (c < 0xc2 || c > 0xf4 || n > size) return 0;
    unsigned char low = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
    unsigned char high = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
    if (text[1] < low || text[1] > high) return 0;
    for (size_t i = 2; i < n; i++)
        if ((text[i] & 0xc0) != 0x80) return 0;
    return n;
}

static void json_escape(hb_buf *buf, unsigned char c)
{
    switch (c) {
    case '"': hb_buf_append(buf, "\\\"", 2); return;
    case '\\': hb_buf_append(buf, "\\\\", 2); return;
    case '\n': hb_buf_append(buf, "\\n", 2); return;
    case '\r': hb_buf_append(buf, "\\r", 2); return;
    case '\t': hb_buf_append(buf, "\\t", 2); return;
    default: hb_buf_printf(buf, "\\u%04x", c); return;
    }
}

void hb_buf_json_string(hb_buf *buf, const char *text, size_t size)
{
    const unsigned char *p = (const unsigned char *)text, *end = p + size;
    hb_buf_append(buf, "\"", 1);
    while (p < end) {
        const unsigned char *plain = p;
        size_t n = 0;
        while (p < end && *p >= 0x20 && *p != '"' && *p != '\\' && *p != 0x7f &&
               (n = hb_utf8_length(p, (size_t)(end - p))) != 0)
            p += n;
        hb_buf_append(buf, plain, (size_t)(p - plain));
        if (p == end) break;
        if (*p >= 0x80)
            hb_buf_append(buf, "\xef\xbf\xbd", 3); /* U+FFFD */
        else
            json_escape(buf, *p);
        p++;
    }
    hb_buf_append(buf, "\"", 1);
}
