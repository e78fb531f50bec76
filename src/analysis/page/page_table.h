/* SPDX-License-Identifier: MIT
 *
 * Tables as the page gets them: {"title": ..., "columns": [[title, kind], ...], "rows": [[...],
 * ...]}. Numbers are whole: microseconds and bytes, percent of 100; null is not known.
 */
#ifndef HB_PAGE_PAGE_TABLE_H
#define HB_PAGE_PAGE_TABLE_H

#include "doc/json_writer.h"

typedef enum hb_cell_kind {
    HB_CELL_TEXT,
    HB_CELL_COUNT,
    HB_CELL_TIME,
    HB_CELL_BYTES,
    HB_CELL_PERCENT,
    HB_CELL_NUMBER,
    HB_CELL_SPARK /* a text: a digit a bar, 0 to 8 */
} hb_cell_kind;

typedef struct hb_page_column {
    const char *title;
    hb_cell_kind kind;
} hb_page_column;

typedef struct hb_page_table {
    const char *title;
    const hb_page_column *columns;
    size_t num_columns;
} hb_page_table;

#define HB_PAGE_TABLE(title, columns) {title, columns, HB_ARRAY_LEN(columns)}

/** `key` is the member's name. Rows follow, each a `const char *` (texts, sparks) or a `double` a
 * column. */
void hb_table_begin(hb_emitter *out, const char *key, const hb_page_table *table);
void hb_table_row(hb_emitter *out, const hb_page_table *table, ...);
void hb_table_end(hb_emitter *out);

/** NaN where there is no whole. */
double hb_percent_of(double part, double whole);
/** Negative figures are unknown ones. */
double hb_if_known(double value);

#endif
