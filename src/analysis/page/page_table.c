/* SPDX-License-Identifier: MIT */
#include "page/page_table.h"

#include <math.h>

static const char *const kind_words[] = {"text",    "count",  "time", "bytes",
                                         "percent", "number", "spark"};

void hb_table_begin(hb_emitter *out, const char *key, const hb_page_table *table)
{
    hb_emit_open_key(out, key, '{');
    hb_emit_pair(out, "title", table->title);
    hb_emit_open_key(out, "columns", '[');
    for (size_t i = 0; i < table->num_columns; i++) {
        hb_emit_open(out, '[');
        hb_emit_text(out, table->columns[i].title);
        hb_emit_text(out, kind_words[table->columns[i].kind]);
        hb_emit_close(out, ']');
    }
    hb_emit_close(out, ']');
    hb_emit_open_key(out, "rows", '[');
}

void hb_table_row(hb_emitter *out, const hb_page_table *table, ...)
{
    va_list args;
    va_start(args, table);
    hb_emit_open(out, '[');
    for (size_t i = 0; i < table->num_columns; i++) {
        if (table->columns[i].kind == HB_CELL_TEXT || table->columns[i].kind == HB_CELL_SPARK) {
            const char *text = va_arg(args, const char *);
            hb_emit_text(out, text ? text : "");
        } else {
            hb_emit_finite(out, va_arg(args, double));
        }
    }
    hb_emit_close(out, ']');
    va_end(args);
}

void hb_table_end(hb_emitter *out)
{
    hb_emit_close(out, ']');
    hb_emit_close(out, '}');
}

double hb_percent_of(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : NAN;
}

double hb_if_known(double value)
{
    return value < 0 ? NAN : value;
}
