/* SPDX-License-Identifier: MIT */
#include "read/encoding.h"

static bool begins(const unsigned char *p, size_t size, const char *mark, size_t n)
{
    return size >= n && memcmp(p, mark, n) == 0;
}

hb_encoding hb_encoding_of(const char *text, size_t size)
{
    const unsigned char *p = (const unsigned char *)text;
    if (begins(p, size, "\0\0\xfe\xff", 4)) return (hb_encoding){4, true, 4};
    if (begins(p, size, "\xff\xfe\0\0", 4)) return (hb_encoding){4, false, 4};
    if (begins(p, size, "\xfe\xff", 2)) return (hb_encoding){2, true, 2};
    if (begins(p, size, "\xff\xfe", 2)) return (hb_encoding){2, false, 2};
    if (begins(p, size, "\xef\xbb\xbf", 3)) return (hb_encoding){1, false, 3};
    /* Without a mark: JSON begins with an ASCII character, whose zeros tell. */
    if (size >= 4 && !p[0]) return (hb_encoding){p[1] ? 2 : 4, true, 0};
    if (size >= 4 && !p[1]) return (hb_encoding){p[2] || p[3] ? 2 : 4, false, 0};
    return (hb_encoding){1, false, 0};
}

static unsigned unit_at(hb_encoding e, const unsigned char *p)
{
    unsigned u = 0;
    for (unsigned i = 0; i < e.width; i++)
        u = u << 8 | p[e.big_endian ? i : e.width - 1 - i];
    return u;
}

static void append(hb_buf *out, unsigned c)
{
    char b[4];
    size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char heads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = n; i-- > 1; c >>= 6)
        b[i] = (char)(0x80 | (c & 0x3f));
    b[0] = (char)(heads[n] | c);
    hb_buf_append(out, b, n);
}

bool hb_encoding_decode(hb_encoding e, const char *text, size_t size, hb_buf *out)
{
    const unsigned char *p = (const unsigned char *)text + e.bom, *end = p + (size - e.bom);
    for (; (size_t)(end - p) >= e.width; p += e.width) {
        unsigned c = unit_at(e, p);
        if (e.width == 2 && c >= 0xd800 && c < 0xdc00 && end - p >= 4) {
            unsigned low = unit_at(e, p + 2);
            if (low >= 0xdc00 && low < 0xe000) {
                c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
                p += 2;
            }
        }
        if (c > 0x10ffff) return false;
        append(out, c);
    }
    return p == end;
}
