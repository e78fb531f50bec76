/* SPDX-License-Identifier: MIT */
#include "screen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#include "terminal.h"

/* One character: its bytes and its columns. Invalid bytes are taken one at a time. */
typedef struct glyph {
    size_t bytes, width;
    bool valid;
} glyph;

static size_t sequence_length(unsigned char first)
{
    if (first < 0x80) return 1;
    if (first >= 0xc2 && first < 0xe0) return 2;
    if (first >= 0xe0 && first < 0xf0) return 3;
    return first >= 0xf0 && first < 0xf5 ? 4 : 0;
}

/* Of a form that is longer than need be, a surrogate, or beyond U+10FFFF: no character's. */
static bool is_wrong_second(unsigned char first, unsigned char second)
{
    return (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
           (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f);
}

static glyph next_glyph(const char *text)
{
    static const unsigned char masks[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    const unsigned char *p = (const unsigned char *)text;
    size_t n = sequence_length(*p);
    if (n == 0 || is_wrong_second(p[0], p[1])) return (glyph){1, 1, false};
    wchar_t c = *p & masks[n];
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80) return (glyph){1, 1, false};
        c = c << 6 | (p[i] & 0x3f);
    }
    if (c < 0x20 || (c >= 0x7f && c < 0xa0)) return (glyph){n, 1, true};
    int width = c < 0x80 ? 1 : wcwidth(c);
    return (glyph){n, width < 0 ? 1 : (size_t)width, true};
}

size_t screen_character(const char *text)
{
    glyph g = next_glyph(text);
    return g.valid ? g.bytes : 0;
}

size_t screen_width(const char *text)
{
    size_t sum = 0;
    while (*text) {
        glyph g = next_glyph(text);
        sum += g.width;
        text += g.bytes;
    }
    return sum;
}

static bool is_control(const char *text)
{
    const unsigned char *p = (const unsigned char *)text;
    return *p < 0x20 || *p == 0x7f || (*p == 0xc2 && p[1] < 0xa0);
}

void screen_fit(char *to, size_t size, const char *text, size_t width)
{
    bool cut = screen_width(text) > width || strlen(text) + 8 > size;
    size_t dots = !cut ? 0 : width < 3 ? width : 3, keep = width - dots, n = 0, taken = 0;
    while (*text) {
        glyph g = next_glyph(text);
        if (taken + g.width > keep || n + g.bytes + 8 > size) break;
        if (!g.valid || is_control(text))
            to[n++] = g.valid ? ' ' : '?';
        else
            memcpy(to + n, text, g.bytes), n += g.bytes;
        taken += g.width;
        text += g.bytes;
    }
    strcpy(to + n, &"..."[3 - dots]);
}

size_t screen_columns(void)
{
    struct winsize size;
    const char *columns = getenv("COLUMNS"); /* exported on purpose: shells keep theirs */
    if (!isatty(STDOUT_FILENO)) return 0;
    if (columns && atoi(columns) > 0) return (size_t)atoi(columns);
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : 80;
}

bool screen_is_styled(void)
{
    const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");
    if (!isatty(STDOUT_FILENO) || (no_color && *no_color)) return false;
    if (!term || strcmp(term, "dumb") == 0) return false;
    terminal_allow_styles();
    return true;
}
