/* SPDX-License-Identifier: MIT
 *
 * Tables for people, for spreadsheets and for scripts.
 */
#ifndef HB_TOOLS_TABLE_H
#define HB_TOOLS_TABLE_H

#include <stdbool.h>
#include <stddef.h>

enum { TABLE_MAX_COLUMNS = 16 };

typedef enum column_kind {
    COLUMN_TEXT,
    COLUMN_COUNT,
    COLUMN_TIME, /* microseconds */
    COLUMN_BYTES,
    COLUMN_FLOPS,   /* operations, also a second */
    COLUMN_PERCENT, /* 0..100; with a bar */
    COLUMN_NUMBER,  /* two decimals */
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

typedef struct table_style {
    size_t top;        /* rows at most; 0: all */
    size_t text_width; /* columns of the screen that a text cell takes at most; 0: any */
    size_t line_width; /* texts are cut and bars left out until lines fit; 0: never */
    bool hide_empty;   /* leave out columns in which nothing but zeros or blanks stand */
    bool bold;         /* the titles */
} table_style;

void table_init(table *t, const column *columns, size_t num_columns);
void table_free(table *t);

/** Appends a row: for each column a `const char *` (TEXT) or a `double`. */
void table_add(table *t, ...);

/** Numbers descending, texts ascending; equal rows stay in order. */
void table_sort(table *t, size_t column);

/** The index of the column with that title, whatever its case and punctuation; -1: none. */
int table_find(const column *columns, size_t num_columns, const char *title);

/** Aligned, in fitting units. */
void table_print(const table *t, const table_style *style);

/** Comma-separated, all digits, quoted where needed: the titles, and the first `top` rows (0: all).
 * `name` and a value lead each line when they are not NULL. */
void table_print_csv_header(const table *t, const char *name);
void table_print_csv_rows(const table *t, size_t top, const char *value);

/** A JSON list of objects, a row each, with the CSV's titles for keys; unknown numbers are null. */
void table_print_json(const table *t, size_t top);

#endif
