/* SPDX-License-Identifier: MIT
 *
 * A table of comma-separated values, row after row, of a file of any size, also gzipped. Read is
 * also what tools write that do not escape: a quote inside a quoted field, a lone quote as a field.
 */
#ifndef HB_IMPORT_CSV_ROWS_H
#define HB_IMPORT_CSV_ROWS_H

#include "base/arena.h"
#include "base/str.h"
#include "read/text_window.h"

enum { HB_CSV_MAX_FIELDS = 256 };

/** To be closed also when reading leaves by the arena. */
typedef struct hb_csv {
    hb_text text;
    const char *path;
    hb_arena *arena;
    size_t at; /* in the window */
    uint64_t rows;
    hb_buf unescaped;                 /* fields with doubled quotes */
    uint32_t count, all;              /* fields of the present row; also those that are left out */
    hb_str fields[HB_CSV_MAX_FIELDS]; /* each is followed by no digit */
} hb_csv;

/** Leaves by the arena, and closes itself, when the file cannot be opened. */
void hb_csv_open(hb_csv *csv, hb_arena *arena, const char *path);
void hb_csv_close(hb_csv *csv);

/** The next row that is not empty; false at the end. Fields beyond the most are left out. */
bool hb_csv_next(hb_csv *csv);

/** The first row that is not empty of a text, from its field `first` on; how many fields. They
 * point into it. */
uint32_t hb_csv_first_row(const char *text, size_t size, uint32_t first, hb_str *fields,
                          uint32_t most);

/** A whole number, also in hexadecimal; -1 of anything else, and of a field that is not there. */
int64_t hb_csv_int(const hb_csv *csv, int field);

/** Empty of a field that is not there. */
static inline hb_str hb_csv_text(const hb_csv *csv, int field)
{
    return field >= 0 && (uint32_t)field < csv->count ? csv->fields[field] : (hb_str){"", 0};
}

#endif
