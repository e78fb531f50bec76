/* SPDX-License-Identifier: MIT
 *
 * Tables for people and for spreadsheets.
 */
#ifndef HB_TOOLS_TABLE_H
#define HB_TOOLS_TABLE_H

#include <stdbool.h>
#include <stddef.h>

enum { TABLE_MAX_COLUMNS = 12 };

typedef enum column_kind {
    COLUMN_TEXT,
    COLUMN_COUNT,
    COLUMN_TIME, /* microseconds */
    COLUMN_BYTES,
    COLUMN_PERCENT, /* 0..100; with a bar */
} column_kind;

typedef struct column {
    const char *title;
    column_kind kind;
} column;

typedef struct cell {
    char *text;   /* TEXT */
    double value; /* the others; NaN: nothing to show */
} cell;

typedef struct table {
    column columns[TABLE_MAX_COLUMNS];
    size_t num_columns, num_rows, capacity;
    cell *cells; /* row after row */
} table;

void table_init(table *t, const column *columns, size_t num_columns);
void table_free(table *t);

/** Appends a row: for each column a `const char *` (TEXT) or a `double`. */
void table_add(table *t, ...);

/** By a number column, descending. */
void table_sort(table *t, size_t column);

/** The first `top` rows (0: all), aligned, in fitting units; text is cut to `width` characters. */
void table_print(const table *t, size_t top, size_t width);

/** Comma-separated, all digits, quoted where needed. */
void table_print_csv(const table *t, size_t top);

#endif
