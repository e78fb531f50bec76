/* SPDX-License-Identifier: MIT */
#include "table.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BAR_WIDTH = 10, CELL_SIZE = 512 };

static void *must(void *memory)
{
    if (memory) return memory;
    fputs("hipboard: out of memory\n", stderr);
    exit(1);
}

void table_init(table *t, const column *columns, size_t num_columns)
{
    *t = (table){.num_columns = num_columns};
    memcpy(t->columns, columns, num_columns * sizeof *columns);
}

void table_free(table *t)
{
    for (size_t i = 0; i < t->num_rows * t->num_columns; i++)
        free(t->cells[i].text);
    free(t->cells);
    *t = (table){0};
}

void table_add(table *t, ...)
{
    va_list args;
    if (t->num_rows == t->capacity) {
        t->capacity = t->capacity ? t->capacity * 2 : 64;
        t->cells = must(realloc(t->cells, t->capacity * t->num_columns * sizeof *t->cells));
    }
    cell *row = &t->cells[t->num_rows++ * t->num_columns];
    va_start(args, t);
    for (size_t i = 0; i < t->num_columns; i++) {
        row[i] = (cell){NULL, NAN};
        if (t->columns[i].kind == COLUMN_TEXT)
            row[i].text = must(strdup(va_arg(args, const char *)));
        else
            row[i].value = va_arg(args, double);
    }
    va_end(args);
}

/* ---- sorting ---- */

static size_t sort_column, sort_size; /* qsort() passes no context on */

static int by_column(const void *x, const void *y)
{
    double a = ((const cell *)x)[sort_column].value, b = ((const cell *)y)[sort_column].value;
    if (isnan(a) || isnan(b)) return isnan(a) - isnan(b);
    return (a < b) - (a > b);
}

void table_sort(table *t, size_t at)
{
    sort_column = at;
    sort_size = t->num_columns * sizeof *t->cells;
    if (t->num_rows) qsort(t->cells, t->num_rows, sort_size, by_column);
}

/* ---- text ---- */

static void scaled(char *text, double value, const double *steps, const char *const *units, int n)
{
    int unit = 0;
    while (unit + 1 < n && fabs(value) >= steps[unit + 1])
        unit++;
    snprintf(text, CELL_SIZE, unit == 0 && value == floor(value) ? "%.0f %s" : "%.3f %s",
             value / steps[unit], units[unit]);
}

/* Characters, not bytes: continuation bytes of UTF-8 take no room. */
static size_t width_of(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += (*text & 0xc0) != 0x80;
    return n;
}

/* At most `width` characters; control characters would break the lines. */
static void fit(char *to, const char *text, size_t width)
{
    bool cut = width_of(text) > width;
    size_t keep = cut ? width - 3 : width, n = 0, chars = 0;
    for (; *text && n < CELL_SIZE - 8; text++) {
        if ((*text & 0xc0) != 0x80 && chars++ == keep) break;
        to[n++] = (unsigned char)*text < 0x20 || *text == 0x7f ? ' ' : *text;
    }
    strcpy(to + n, cut ? "..." : "");
}

static void format_cell(char *text, const column *c, const cell *v, size_t width)
{
    static const double times[] = {1, 1e3, 1e6}, sizes[] = {1, 1024, 1048576, 1073741824.0};
    static const char *const time_units[] = {"us", "ms", "s"};
    static const char *const size_units[] = {"B", "KiB", "MiB", "GiB"};
    static const char bar[] = "##########";
    *text = 0;
    if (c->kind == COLUMN_TEXT) {
        fit(text, v->text, width);
        return;
    }
    if (isnan(v->value)) return;
    int filled = (int)(fmin(fmax(v->value, 0), 100) / 100 * BAR_WIDTH + 0.5);
    switch (c->kind) {
    case COLUMN_TEXT:
    case COLUMN_COUNT: snprintf(text, CELL_SIZE, "%.0f", v->value); break;
    case COLUMN_TIME: scaled(text, v->value, times, time_units, 3); break;
    case COLUMN_BYTES: scaled(text, v->value, sizes, size_units, 4); break;
    case COLUMN_PERCENT:
        snprintf(text, CELL_SIZE, "%.1f %% %-*.*s", v->value, BAR_WIDTH, filled, bar);
        break;
    }
}

static void print_cell(const char *text, size_t width, bool left, bool last)
{
    int blanks = (int)(width - width_of(text));
    if (!left) printf("%*s", blanks, "");
    fputs(text, stdout);
    if (left && !last) printf("%*s", blanks, "");
    fputs(last ? "\n" : "  ", stdout);
}

void table_print(const table *t, size_t top, size_t width)
{
    char text[CELL_SIZE];
    size_t rows = top && top < t->num_rows ? top : t->num_rows, widths[TABLE_MAX_COLUMNS];
    for (size_t c = 0; c < t->num_columns; c++) {
        widths[c] = strlen(t->columns[c].title);
        for (size_t r = 0; r < rows; r++) {
            format_cell(text, &t->columns[c], &t->cells[r * t->num_columns + c], width);
            if (width_of(text) > widths[c]) widths[c] = width_of(text);
        }
    }
    for (size_t c = 0; c < t->num_columns; c++)
        print_cell(t->columns[c].title, widths[c], t->columns[c].kind == COLUMN_TEXT,
                   c + 1 == t->num_columns);
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < t->num_columns; c++) {
            format_cell(text, &t->columns[c], &t->cells[r * t->num_columns + c], width);
            print_cell(text, widths[c], t->columns[c].kind == COLUMN_TEXT, c + 1 == t->num_columns);
        }
    if (rows < t->num_rows) printf("(%zu more)\n", t->num_rows - rows);
}

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

void table_print_csv(const table *t, size_t top)
{
    size_t rows = top && top < t->num_rows ? top : t->num_rows;
    for (size_t c = 0; c < t->num_columns; c++) {
        static const char *const units[] = {"", "", " (us)", " (bytes)", " (%)"};
        print_quoted(t->columns[c].title);
        fputs(units[t->columns[c].kind], stdout);
        putchar(c + 1 < t->num_columns ? ',' : '\n');
    }
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < t->num_columns; c++) {
            const cell *v = &t->cells[r * t->num_columns + c];
            if (t->columns[c].kind == COLUMN_TEXT)
                print_quoted(v->text);
            else if (!isnan(v->value))
                printf("%.17g", v->value);
            putchar(c + 1 < t->num_columns ? ',' : '\n');
        }
}
