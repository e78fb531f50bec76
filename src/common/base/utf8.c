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

size_t hb_utf8_valid_prefix(const char *text, size_t size)
{
    size_t i = 0;
    while (i < size) {
        size_t n = hb_utf8_length((const unsigned char *)text + i, size - i);
        if (n == 0) break;
        i += n;
    }
    return i;
}

size_t hb_utf8_cut(const char *text, size_t size, size_t most)
{
    enum { LONGEST = 4 };
    if (size <= most) return size;
    for (size_t n = most; n > 0 && most - n < LONGEST; n--)
        if (((unsigned char)text[n] & 0xc0) != 0x80) return n;
    return most; /* no UTF-8 */
}

size_t hb_utf8_replace(char *to, const char *text, size_t size)
{
    const char *begin = to;
    for (;;) {
        size_t n = hb_utf8_valid_prefix(text, size);
        memcpy(to, text, n);
        to += n;
        if (n == size) break;
        memcpy(to, "\xef\xbf\xbd", 3);
        to += 3;
        text += n + 1;
        size -= n + 1;
    }
    *to = '\0';
    return (size_t)(to - begin);
}

bool hb_buf_mend_utf8(hb_buf *buf)
{
    hb_buf mended;
    if (!buf->size || hb_utf8_valid_prefix(buf->data, buf->size) == buf->size) return true;
    hb_buf_init(&mended, SIZE_MAX / 2);
    char *to = hb_buf_reserve(&mended, 3 * buf->size + 1);
    if (to) mended.size = hb_utf8_replace(to, buf->data, buf->size);
    hb_buf_free(buf);
    *buf = mended;
    return to != NULL;
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

/* Whether all eight bytes are ASCII that a JSON string takes as it is. Bytes are compared by the
 * classic trick: v - 0x01.. borrows out of a zero byte into its top bit. */
static bool eight_plain(const unsigned char *text)
{
    const uint64_t ones = 0x0101010101010101, tops = 0x8080808080808080;
    uint64_t v;
    memcpy(&v, text, 8);
    uint64_t quote = v ^ ones * '"', backslash = v ^ ones * '\\', del = v ^ ones * 0x7f;
    uint64_t odd = v | (v - ones * 0x20) | (quote - ones) | (backslash - ones) | (del - ones);
    return (odd & tops) == 0;
}

static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c != '"' && c != '\\' && c != 0x7f;
}

/* The end of what can be copied as it is. */
static const unsigned char *skip_plain(const unsigned char *p, const unsigned char *end)
{
    for (;;) {
        while (end - p >= 8 && eight_plain(p))
            p += 8;
        if (p == end || !is_plain(*p)) return p;
        size_t n = hb_utf8_length(p, (size_t)(end - p));
        if (n == 0) return p;
        p += n;
    }
}

void hb_buf_json_string(hb_buf *buf, const char *text, size_t size)
{
    /* An empty text may be NULL, to which not even 0 may be added. */
    const unsigned char *p = (const unsigned char *)(size ? text : ""), *end = p + size;
    hb_buf_append(buf, "\"", 1);
    while (p < end) {
        const unsigned char *plain = p;
        p = skip_plain(p, end);
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
