/* SPDX-License-Identifier: MIT */
#include "terminal.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

/* All that hipboard writes itself, here and in the library. */
static const char *const styles[] = {"\033[0m", "\033[1m", "\033[31m", "\033[32m"};
enum { NUM_STYLES = sizeof styles / sizeof *styles, LONGEST_STYLE = 5 };

typedef struct terminal {
    int fd;
    bool styled;
    bool first_of_c1;         /* 0xc2 came */
    unsigned char first;      /* byte of a character, when it was the last one */
    unsigned left;            /* bytes of a UTF-8 character that are to come */
    char held[LONGEST_STYLE]; /* what may become a style */
    size_t num_held;
    char out[8192];
    size_t size;
} terminal;

static terminal terminals[] = {{.fd = STDOUT_FILENO}, {.fd = STDERR_FILENO}};

static bool flush(terminal *t)
{
    size_t done = 0;
    while (done < t->size) {
        ssize_t n = write(t->fd, t->out + done, t->size - done);
        if (n < 0 && errno != EINTR) return false;
        if (n > 0) done += (size_t)n;
    }
    t->size = 0;
    return true;
}

static void put(terminal *t, const char *bytes, size_t size)
{
    memcpy(t->out + t->size, bytes, size);
    t->size += size;
}

/* \u001b, which is right in JSON as well, or \x9b of what is no UTF-8. */
static void put_escaped(terminal *t, char form, unsigned c)
{
    t->size += (size_t)sprintf(t->out + t->size, form == 'u' ? "\\u%04x" : "\\x%02x", c);
}

/* A prefix of a style, or the whole of one. */
static bool is_style(const char *bytes, size_t size, bool *whole)
{
    for (size_t i = 0; i < NUM_STYLES; i++)
        if (size <= strlen(styles[i]) && memcmp(styles[i], bytes, size) == 0) {
            *whole = size == strlen(styles[i]);
            return true;
        }
    return false;
}

static void put_byte(terminal *t, unsigned char c);

/* What was held is no style: behind its escape there are characters that steer nothing. */
static void let_go(terminal *t)
{
    put_escaped(t, 'u', 033);
    put(t, t->held + 1, t->num_held - 1);
    t->num_held = 0;
}

/* False: the byte is not part of a style. */
static bool take_style(terminal *t, unsigned char c)
{
    bool whole;
    if (!t->num_held && (c != 033 || !t->styled)) return false;
    t->held[t->num_held++] = (char)c;
    if (!is_style(t->held, t->num_held, &whole)) {
        t->num_held--;
        let_go(t);
        return false;
    }
    if (whole) {
        put(t, t->held, t->num_held);
        t->num_held = 0;
    }
    return true;
}

static unsigned length_of(unsigned char first)
{
    if (first >= 0xf5) return 1;
    return first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 1;
}

/* Behind the first byte of U+0080 to U+00bf, which is printed only now. True: all is printed. */
static bool finish_c1(terminal *t, unsigned char c)
{
    bool control = c >= 0x80 && c < 0xa0;
    t->first_of_c1 = false;
    t->left = !control;
    if (control)
        put_escaped(t, 'u', c);
    else
        put(t, "\xc2", 1);
    return control;
}

/* Whether the byte goes on with the character; what is too long a form of another does not. */
static bool goes_on(const terminal *t, unsigned char c)
{
    if (!t->left || (c & 0xc0) != 0x80) return false;
    return !(t->first == 0xe0 && c < 0xa0) && !(t->first == 0xf0 && c < 0x90);
}

static void put_byte(terminal *t, unsigned char c)
{
    if (t->first_of_c1 && finish_c1(t, c)) return;
    bool within = goes_on(t, c);
    if (!within) t->left = 0;
    if (!within && take_style(t, c)) return;
    t->left = (within ? t->left : length_of(c)) - 1;
    t->first = within ? 0 : c;
    if (!within && c == 0xc2)
        t->first_of_c1 = true;
    else if (!within && c >= 0x80 && c < 0xa0)
        put_escaped(t, 'x', c);
    else if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f)
        put_escaped(t, 'u', c);
    else
        put(t, (const char *)&c, 1);
}

static ssize_t take(void *cookie, const char *bytes, size_t size)
{
    terminal *t = cookie;
    for (size_t i = 0; i < size; i++) {
        put_byte(t, (unsigned char)bytes[i]);
        if (t->size > sizeof t->out - 64 && !flush(t)) return 0;
    }
    return flush(t) ? (ssize_t)size : 0;
}

static FILE *protected(terminal *t, FILE *plain, int mode)
{
    if (!isatty(t->fd)) return plain;
    FILE *file = fopencookie(t, "w", (cookie_io_functions_t){.write = take});
    if (!file) return plain;
    setvbuf(file, NULL, mode, 0);
    return file;
}

void terminal_protect(void)
{
    stdout = protected(&terminals[0], stdout, _IOLBF);
    stderr = protected(&terminals[1], stderr, _IONBF);
}

void terminal_allow_styles(void)
{
    terminals[0].styled = true;
}
