/* SPDX-License-Identifier: MIT
 *
 * Tables as CSV and JSON.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "screen.h"
#include "table.h"

static const char *const units[] = {"", "", " (us)", " (bytes)", " (%)", ""};

static size_t num_shown(const table *t, size_t top)
{
    return top && top < t->num_rows ? top : t->num_rows;
}

/* ---- CSV ---- */

static void print_quoted(const char *text)
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

void table_print_csv_header(const table *t, const char *name)
{
    if (name) printf("%s,", name);
    for (size_t c = 0; c < t->num_columns; c++) {
        print_quoted(t->columns[c].title);
        fputs(units[t->columns[c].kind], stdout);
        putchar(c + 1 < t->num_columns ? ',' : '\n');
    }
}

void table_print_csv_rows(const table *t, size_t top, const char *value)
{
    for (size_t r = 0; r < num_shown(t, top); r++) {
        if (value) print_quoted(value), putchar(',');
        for (size_t c = 0; c < t->num_columns; c++) {
            const cell *v = &t->cells[r * t->num_columns + c];
            if (t->columns[c].kind == COLUMN_TEXT)
                print_quoted(v->text);
            else if (!isnan(v->value))
                printf("%.17g", v->value);
            putchar(c + 1 < t->num_columns ? ',' : '\n');
        }
    }
}

void table_print_csv(const table *t, size_t top)
{
    table_print_csv_header(t, NULL);
    table_print_csv_rows(t, top, NULL);
}

/* ---- JSON ---- */

/* Valid UTF-8 whatever the text is: names come from files. */
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

static void print_json_cell(const table *t, size_t c, const cell *v)
{
    char key[128];
    snprintf(key, sizeof key, "%s%s", t->columns[c].title, units[t->columns[c].kind]);
    print_json_string(key);
    fputs(": ", stdout);
    if (t->columns[c].kind == COLUMN_TEXT)
        print_json_string(v->text);
    else if (isfinite(v->value))
        printf("%.17g", v->value);
    else
        fputs("null", stdout);
}

void table_print_json(const table *t, size_t top)
{
    putchar('[');
    for (size_t r = 0; r < num_shown(t, top); r++) {
        fputs(r ? ", {" : "{", stdout);
        for (size_t c = 0; c < t->num_columns; c++) {
            if (c) fputs(", ", stdout);
            print_json_cell(t, c, &t->cells[r * t->num_columns + c]);
        }
        putchar('}');
    }
    putchar(']');
}
