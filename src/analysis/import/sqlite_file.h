/* SPDX-License-Identifier: MIT
 *
 * SQLite databases of others, which are data and nothing else: opened read-only, without views,
 * triggers, extensions, virtual tables and functions of their schema. Only plain tables are read,
 * each from its beginning to its end.
 */
#ifndef HB_IMPORT_SQLITE_FILE_H
#define HB_IMPORT_SQLITE_FILE_H

#include "base/arena.h"
#include "base/str.h"
#include "import/sqlite_pages.h"

typedef struct hb_sqlite hb_sqlite;

/** Called now and then with the rows read so far; false stops. */
typedef bool hb_sqlite_progress(void *context, uint64_t rows);

/** Opens a database, gzipped ones in memory. What a program that still runs, or was killed, has
 * left in a log beside it (-wal) is read as well where the system lets us. */
hb_result hb_sqlite_open(const char *path, hb_sqlite_progress *progress, void *context,
                         hb_sqlite **db);
void hb_sqlite_close(hb_sqlite *db);

/** What could not be read of it, for people; NULL: all could. */
const char *hb_sqlite_missed(const hb_sqlite *db);

/** Calls `fn` for each table whose name begins so. */
hb_result hb_sqlite_tables(hb_sqlite *db, const char *prefix,
                           void (*fn)(void *context, const char *table), void *context);

/** Whether a table has a column; false when there is no such table. */
bool hb_sqlite_has(hb_sqlite *db, const char *table, const char *column);

/** A walk over a table; columns that it has not are NULL, a table that is not there is empty. To be
 * closed also after an error. */
typedef struct hb_sqlite_rows {
    hb_sqlite *db;
    void *statement;            /* sqlite3_stmt; NULL: no such table, or ... */
    hb_dbpage_walk *walk;       /* ... its pages are read as they lie */
    struct hb_sqlite_walk *own; /* of the database, which frees it where the walk was left */
    const char *table;
    hb_result result; /* set when the walk ends */
} hb_sqlite_rows;

/** `columns`: names, by commas. */
hb_result hb_sqlite_select(hb_sqlite *db, const char *table, const char *columns,
                           hb_sqlite_rows *rows);
bool hb_sqlite_next(hb_sqlite_rows *rows);
hb_result hb_sqlite_done(hb_sqlite_rows *rows);

/** Of the present row. */
bool hb_sqlite_is_null(const hb_sqlite_rows *rows, int column);
int64_t hb_sqlite_int(const hb_sqlite_rows *rows, int column);
double hb_sqlite_double(const hb_sqlite_rows *rows, int column);
/** Until the next row. */
hb_str hb_sqlite_text(const hb_sqlite_rows *rows, int column);
/** The same, faster, but nothing ends it. */
hb_str hb_sqlite_view(const hb_sqlite_rows *rows, int column);

#endif
