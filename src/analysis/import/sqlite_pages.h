/* SPDX-License-Identifier: MIT
 *
 * Rows of a table as they lie in the pages of a SQLite file, which costs a fifth of what SQLite's
 * machine takes for each. It knows plain tables of whole files only: what is anything else is said
 * to be odd, and SQLite reads on from there (sqlite_file.c). The format is public:
 * https://www.sqlite.org/fileformat2.html
 */
#ifndef HB_IMPORT_SQLITE_PAGES_H
#define HB_IMPORT_SQLITE_PAGES_H

#include "base/str.h"

typedef struct hb_dbpage_file {
    int fd;               /* -1: the bytes are in memory */
    const uint8_t *bytes; /* then */
    uint64_t size;
    uint32_t page_size, usable, num_pages;
} hb_dbpage_file;

/** False when it is not of the kind that is read here. Descriptor and bytes stay the caller's. */
bool hb_dbpage_file_init(hb_dbpage_file *file, int fd, const void *bytes, uint64_t size);

enum { HB_DBPAGE_COLUMNS = 32 };

/** A value of the present row. */
typedef struct hb_dbpage_value {
    uint64_t type; /* as the format numbers them; 0: NULL */
    uint64_t at;   /* where in the row its bytes begin */
} hb_dbpage_value;

/** A column that is asked for. */
typedef struct hb_dbpage_column {
    int16_t place;    /* in the table; -1: it has none such */
    bool is_row_id;   /* INTEGER PRIMARY KEY: NULL there, as it is the row's own number */
    bool has_default; /* rows may be shorter than the table has become since */
    bool is_real;     /* whole numbers in it are reals that were stored shorter */
} hb_dbpage_column;

typedef struct hb_dbpage_walk hb_dbpage_walk;

typedef enum hb_dbpage_step { HB_DBPAGE_ROW, HB_DBPAGE_END, HB_DBPAGE_ODD } hb_dbpage_step;

/** A walk over the table whose first page is `root`; NULL without memory. */
hb_dbpage_walk *hb_dbpage_walk_open(const hb_dbpage_file *file, uint32_t root,
                                    const hb_dbpage_column *columns, int num_columns);
void hb_dbpage_walk_close(hb_dbpage_walk *walk);

/** The next row. After ODD the walk is over. */
hb_dbpage_step hb_dbpage_walk_next(hb_dbpage_walk *walk);

/** Whether there was a row; if so, the number of the last one. */
bool hb_dbpage_walk_row_id(const hb_dbpage_walk *walk, int64_t *id);

/** Of the present row, as SQLite's functions of these names convert them. */
bool hb_dbpage_is_null(const hb_dbpage_walk *walk, int column);
int64_t hb_dbpage_int(const hb_dbpage_walk *walk, int column);
double hb_dbpage_double(const hb_dbpage_walk *walk, int column);
/** Until the next row; a NUL is behind it. Empty also without memory. */
hb_str hb_dbpage_text(hb_dbpage_walk *walk, int column);
/** The same, but nothing ends it. */
hb_str hb_dbpage_view(hb_dbpage_walk *walk, int column);

#endif
