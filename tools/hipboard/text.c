/* SPDX-License-Identifier: MIT */
#include "text.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "screen.h"

void *must(void *memory)
{
    if (memory) return memory;
    fputs("hipboard: out of memory\n", stderr);
    exit(1);
}

bool ends_with(const char *text, const char *suffix)
{
    size_t n = strlen(text), m = strlen(suffix);
    return n >= m && strcmp(text + n - m, suffix) == 0;
}

bool is_digests(const char *path)
{
    return ends_with(path, ".hbranks");
}

const char *text_behind(const char *text, const char *path)
{
    size_t size = strlen(path);
    bool named = strncmp(text, path, size) == 0 && strncmp(text + size, ": ", 2) == 0;
    return named ? text + size + 2 : text;
}

char *trace_stem(const char *path)
{
    static const char *const suffixes[] = {".gz", ".json", ".trace", ".pt", ".hbranks"};
    const char *slash = strrchr(path, '/');
    char *name = must(strdup(slash ? slash + 1 : path));
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        size_t left = strlen(name) - strlen(suffixes[i]);
        if (ends_with(name, suffixes[i]) && left) name[left] = 0;
    }
    return name;
}

char *pack_name(const char *path)
{
    size_t end = strlen(path), begin;
    char *name;
    while (end > 1 && path[end - 1] == '/')
        end--;
    for (begin = end; begin && path[begin - 1] != '/';)
        begin--;
    bool unnamed = begin == end || path[begin] == '.';
    if (asprintf(&name, "%.*s.hbpack", unnamed ? 4 : (int)(end - begin),
                 unnamed ? "runs" : path + begin) < 0)
        name = NULL;
    return must(name);
}

void print_json_string(const char *text)
{
    putchar('"');
    while (*text) {
        unsigned char c = (unsigned char)*text;
        size_t n = screen_character(text);
        if (c == '"' || c == '\\')
            printf("\\%c", c);
        else if (c < 0x20 || c == 0x7f || n == 0)
            printf("\\u%04x", n ? c : 0xfffdu);
        else
            fwrite(text, 1, n, stdout);
        text += n ? n : 1;
    }
    putchar('"');
}

void print_json_number(double value)
{
    if (isfinite(value))
        printf("%.17g", value);
    else
        fputs("null", stdout);
}

static void print_code_point(unsigned c, FILE *to)
{
    static const unsigned first[] = {0, 0xc0, 0xe0, 0xf0};
    int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    fputc((int)(first[more] | c >> 6 * more), to);
    while (more-- > 0)
        fputc((int)(0x80u | (c >> 6 * more & 0x3fu)), to);
}

/* "uXXXX", and -1 of anything else. */
static long unit_at(const char *c)
{
    char digits[5] = "";
    if (*c != 'u') return -1;
    for (int i = 0; i < 4; i++) {
        if (!isxdigit((unsigned char)c[i + 1])) return -1;
        digits[i] = c[i + 1];
    }
    return strtol(digits, NULL, 16);
}

/* `c`: behind the backslash; returns the escape's last character. */
static const char *print_escape(const char *c, FILE *to)
{
    long unit = unit_at(c);
    if (unit < 0) {
        fputc(strchr("bfnrt", *c) ? ' ' : *c, to);
        return c;
    }
    long low = unit >> 10 == 0x36 && c[5] == '\\' ? unit_at(c + 6) : -1;
    if (low >> 10 == 0x37) {
        print_code_point(0x10000u + ((unsigned)(unit & 0x3ff) << 10) + (unsigned)(low & 0x3ff), to);
        return c + 10;
    }
    print_code_point(unit >> 11 == 0x1b ? 0xfffdu : unit < 0x20 ? ' ' : (unsigned)unit, to);
    return c + 4;
}

const char *print_json_text(const char *c, FILE *to)
{
    for (; *c && *c != '"'; c++)
        if (*c == '\\' && c[1])
            c = print_escape(c + 1, to);
        else
            fputc(*c, to);
    fputc('\n', to);
    return *c ? c + 1 : c;
}

void print_csv_field(const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) {
        fputs(text, stdout);
        return;
    }
    putchar('"');
    for (; *text; text++)
        printf(*text == '"' ? "\"\"" : "%c", *text);
    putchar('"');
}

/* Bytes of `text` that fit on a line: up to a line's end or a blank; a long word is not cut. */
static size_t line_length(const char *text, size_t width)
{
    size_t whole = strcspn(text, "\n"), n = width;
    if (whole <= width) return whole;
    while (n > 0 && text[n] != ' ')
        n--;
    return n > 0 ? n : strcspn(text, " \n");
}

void print_wrapped(const char *text, size_t indent, size_t width)
{
    for (;;) {
        size_t n = line_length(text, width > indent ? width - indent : 1);
        printf("%.*s\n", (int)n, text);
        text += n;
        bool soft = *text == ' ';
        if (soft) text += strspn(text, " ");
        if (!soft && *text) text++;
        if (!*text) return;
        if (*text != '\n') printf("%*s", (int)indent, "");
    }
}
