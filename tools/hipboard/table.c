/* SPDX-License-Identifier: MIT */
#include "table.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "screen.h"
#include "text.h"

enum { BAR_WIDTH = 10, CELL_SIZE = 4096, TEXT_FINE = 40, TEXT_LEAST = 12 };

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

static size_t sort_column; /* qsort() passes no context on */

static int by_column(const void *x, const void *y)
{
    const cell *a = *(cell *const *)x, *b = *(cell *const *)y;
    double u = a[sort_column].value, v = b[sort_column].value;
    int order = 0;
    if (a[sort_column].text)
        order = strcmp(a[sort_column].text, b[sort_column].text);
    else if (isnan(u) || isnan(v))
        order = isnan(u) - isnan(v);
    else
        order = (u < v) - (u > v);
    return order ? order : (a > b) - (a < b);
}

void table_sort(table *t, size_t at)
{
    size_t row_size = t->num_columns * sizeof *t->cells;
    if (!t->num_rows) return;
    cell **rows = must(malloc(t->num_rows * sizeof *rows)),
         *sorted = must(malloc(t->num_rows * row_size));
    for (size_t i = 0; i < t->num_rows; i++)
        rows[i] = &t->cells[i * t->num_columns];
    sort_column = at;
    qsort(rows, t->num_rows, sizeof *rows, by_column);
    for (size_t i = 0; i < t->num_rows; i++)
        memcpy(&sorted[i * t->num_columns], rows[i], row_size);
    free(rows);
    free(t->cells);
    t->cells = sorted;
    t->capacity = t->num_rows;
}

static int next_letter(const char **text)
{
    while (**text && !isalnum((unsigned char)**text))
        ++*text;
    return **text ? tolower((unsigned char)*(*text)++) : 0;
}

static bool same_title(const char *a, const char *b)
{
    for (int x = 1; x;) {
        x = next_letter(&a);
        if (x != next_letter(&b)) return false;
    }
    return true;
}

int table_find(const column *columns, size_t num_columns, const char *title)
{
    for (size_t i = 0; i < num_columns; i++)
        if (same_title(columns[i].title, title)) return (int)i;
    return -1;
}

/* ---- text ---- */

/* Four digits; what would be rounded to more of them, or to a larger unit, is that. */
static void scaled(char *text, double value, const double *steps, const char *const *units, int n)
{
    int unit = 0;
    while (unit + 1 < n && fabs(value) >= 0.99995 * steps[unit + 1])
        unit++;
    value /= steps[unit];
    double size = fabs(value);
    int decimals = size >= 999.95 ? 0 : size >= 99.995 ? 1 : size >= 9.9995 ? 2 : 3;
    bool exact = unit == 0 && value == floor(value);
    snprintf(text, CELL_SIZE, "%.*f %s", exact ? 0 : decimals, value, units[unit]);
}

static void format_cell(char *text, const column *c, const cell *v, size_t width)
{
    static const double times[] = {1, 1e3, 1e6}, sizes[] = {1, 1024, 1048576, 1073741824.0};
    static const double decimal[] = {1, 1e6, 1e9, 1e12};
    static const char *const time_units[] = {"us", "ms", "s"};
    static const char *const flops_units[] = {"", "M", "G", "T"};
    static const char *const size_units[] = {"B", "KiB", "MiB", "GiB"};
    static const char bar[] = "##########";
    *text = 0;
    if (c->kind == COLUMN_TEXT) {
        screen_fit(text, CELL_SIZE, v->text, width);
        return;
    }
    if (isnan(v->value)) return;
    int filled = (int)(fmin(fmax(v->value, 0), 100) / 100 * BAR_WIDTH + 0.5);
    switch (c->kind) {
    case COLUMN_TEXT:
    case COLUMN_COUNT: snprintf(text, CELL_SIZE, "%.0f", v->value); break;
    case COLUMN_NUMBER: snprintf(text, CELL_SIZE, "%.2f", v->value); break;
    case COLUMN_TIME: scaled(text, v->value, times, time_units, 3); break;
    case COLUMN_FLOPS: scaled(text, v->value, decimal, flops_units, 4); break;
    case COLUMN_BYTES: scaled(text, v->value, sizes, size_units, 4); break;
    case COLUMN_PERCENT:
        snprintf(text, CELL_SIZE, "%.1f %%", v->value);
        if (width) sprintf(text + strlen(text), " %-*.*s", BAR_WIDTH, filled, bar);
        break;
    }
}

/* How a table is laid out: which columns, and how wide. */
typedef struct layout {
    size_t rows, order[TABLE_MAX_COLUMNS], count; /* of the columns shown */
    size_t limits[TABLE_MAX_COLUMNS];             /* of a column's cells, for format_cell() */
    size_t widths[TABLE_MAX_COLUMNS];
    bool split_titles; /* at a blank, into two lines */
} layout;

/* Bytes of a title's first line: up to the blank nearest to its middle. */
static size_t title_break(const layout *l, const char *title)
{
    size_t all = strlen(title), best = all;
    for (size_t i = 0; l->split_titles && i < all; i++)
        if (title[i] == ' ' && (best == all || llabs((long long)(2 * i) - (long long)all) <
                                                   llabs((long long)(2 * best) - (long long)all)))
            best = i;
    return best;
}

static size_t title_width(const layout *l, const char *title)
{
    size_t first = title_break(l, title), all = strlen(title);
    size_t second = first < all ? all - first - 1 : 0;
    return first > second ? first : second;
}

static bool is_empty(const table *t, size_t c)
{
    for (size_t r = 0; r < t->num_rows; r++) {
        const cell *v = &t->cells[r * t->num_columns + c];
        if (v->text ? *v->text : !isnan(v->value) && v->value != 0) return false;
    }
    return t->num_rows > 0;
}

static void measure(const table *t, layout *l, size_t c)
{
    char text[CELL_SIZE];
    l->widths[c] = title_width(l, t->columns[c].title);
    for (size_t r = 0; r < l->rows; r++) {
        format_cell(text, &t->columns[c], &t->cells[r * t->num_columns + c], l->limits[c]);
        size_t width = screen_width(text);
        if (width > l->widths[c]) l->widths[c] = width;
    }
}

static size_t line_width(const layout *l)
{
    size_t sum = l->count ? 2 * (l->count - 1) : 0;
    for (size_t i = 0; i < l->count; i++)
        sum += l->widths[l->order[i]];
    return sum;
}

static int widest_text(const table *t, const layout *l)
{
    int widest = -1;
    for (size_t i = 0; i < l->count; i++) {
        size_t c = l->order[i];
        if (t->columns[c].kind == COLUMN_TEXT && (widest < 0 || l->widths[c] > l->widths[widest]))
            widest = (int)c;
    }
    return widest;
}

static void cut_texts(const table *t, layout *l, size_t line, size_t least)
{
    int c;
    while (line_width(l) > line && (c = widest_text(t, l)) >= 0 && l->widths[c] > least) {
        size_t over = line_width(l) - line;
        l->limits[c] = l->widths[c] - least > over ? l->widths[c] - over : least;
        size_t before = l->widths[c];
        measure(t, l, (size_t)c);
        if (l->widths[c] >= before) return; /* its title is the widest */
    }
}

static void drop_bars(const table *t, layout *l, size_t line)
{
    for (size_t i = l->count; i-- > 0 && line_width(l) > line;) {
        size_t c = l->order[i];
        if (t->columns[c].kind != COLUMN_PERCENT) continue;
        l->limits[c] = 0;
        measure(t, l, c);
    }
}

static void split_titles(const table *t, layout *l)
{
    bool any = false;
    for (size_t i = 0; i < l->count; i++)
        any = any || strchr(t->columns[l->order[i]].title, ' ');
    l->split_titles = any;
    for (size_t i = 0; i < l->count; i++)
        measure(t, l, l->order[i]);
}

static void lay_out(const table *t, const table_style *style, layout *l)
{
    *l = (layout){.rows = style->top && style->top < t->num_rows ? style->top : t->num_rows};
    for (size_t c = 0; c < t->num_columns; c++) {
        if (style->hide_empty && is_empty(t, c)) continue;
        l->order[l->count++] = c;
        l->limits[c] = style->text_width ? style->text_width : CELL_SIZE;
        measure(t, l, c);
    }
    if (!style->line_width) return;
    cut_texts(t, l, style->line_width, TEXT_FINE);
    drop_bars(t, l, style->line_width);
    if (line_width(l) > style->line_width) split_titles(t, l);
    cut_texts(t, l, style->line_width, TEXT_LEAST);
}

/* Blanks are printed before the next text, so that no line ends with any. */
static void print_padded(const char *text, size_t bytes, size_t taken, size_t width, bool left,
                         size_t *blanks)
{
    size_t before = left ? 0 : width - taken;
    if (bytes) printf("%*s%.*s", (int)(*blanks + before), "", (int)bytes, text);
    *blanks = bytes ? width - before - taken + 2 : *blanks + width + 2;
}

/* The part of a title that stands in its first or second line. */
static void print_title(const layout *l, const column *c, int line, size_t width, size_t *blanks)
{
    size_t first = title_break(l, c->title);
    const char *rest = c->title + first;
    const char *part = line == 0 ? c->title : rest + (*rest == ' ');
    size_t n = line == 0 ? first : strlen(part);
    print_padded(part, n, n, width, c->kind == COLUMN_TEXT, blanks);
}

static void print_title_line(const table *t, const layout *l, int line)
{
    size_t blanks = 0;
    for (size_t i = 0; i < l->count; i++)
        print_title(l, &t->columns[l->order[i]], line, l->widths[l->order[i]], &blanks);
    putchar('\n');
}

static void print_titles(const table *t, const layout *l, bool bold)
{
    if (bold) fputs("\033[1m", stdout);
    print_title_line(t, l, 0);
    if (l->split_titles) print_title_line(t, l, 1);
    if (bold) fputs("\033[0m", stdout);
}

static void print_row(const table *t, const layout *l, size_t row)
{
    char text[CELL_SIZE];
    size_t blanks = 0;
    for (size_t i = 0; i < l->count; i++) {
        size_t c = l->order[i];
        format_cell(text, &t->columns[c], &t->cells[row * t->num_columns + c], l->limits[c]);
        size_t taken = screen_width(text), bytes = strlen(text);
        while (bytes && text[bytes - 1] == ' ') /* as a short bar does */
            bytes--;
        print_padded(text, bytes, taken, l->widths[c], t->columns[c].kind == COLUMN_TEXT, &blanks);
        if (bytes) blanks += strlen(text) - bytes;
    }
    putchar('\n');
}

void table_print(const table *t, const table_style *style)
{
    layout l;
    lay_out(t, style, &l);
    print_titles(t, &l, style->bold);
    for (size_t r = 0; r < l.rows; r++)
        print_row(t, &l, r);
    if (l.rows < t->num_rows) printf("(%zu more)\n", t->num_rows - l.rows);
}
