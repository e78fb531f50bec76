/* SPDX-License-Identifier: MIT
 *
 * Changes of a SQLite database that leave it one: cells get other values or those of other cells,
 * rows are doubled or left out, tables and columns are gone or called otherwise. Changed bytes
 * mostly leave pages that SQLite refuses, and seldom a row that is new to who reads them; they
 * remain one of four.
 */
#ifndef HB_FUZZ_DATABASE_MUTATOR_H
#define HB_FUZZ_DATABASE_MUTATOR_H

#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "mutate.h"

enum { NAME_MOST = 128 };

typedef struct database {
    sqlite3 *handle;
    uint64_t random;
    char table[NAME_MOST], column[NAME_MOST], other[NAME_MOST]; /* quoted */
    int64_t row, other_row;                                     /* their rowids */
} database;

static inline unsigned next_number(database *db, unsigned below)
{
    return fuzz_random(&db->random, below);
}

static inline int64_t ask_number(database *db, const char *sql)
{
    sqlite3_stmt *s;
    int64_t number = 0;
    if (sqlite3_prepare_v2(db->handle, sql, -1, &s, NULL) != SQLITE_OK) return 0;
    if (sqlite3_step(s) == SQLITE_ROW) number = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    return number;
}

/* One of the names that a question has for an answer, in quotes; false: it has none. */
static inline bool ask_name(database *db, const char *question, char name[NAME_MOST])
{
    char sql[600];
    sqlite3_stmt *s;
    snprintf(sql, sizeof sql, "SELECT count(*) FROM (%s)", question);
    int64_t count = ask_number(db, sql);
    snprintf(sql, sizeof sql, "%s LIMIT 1 OFFSET %u", question,
             next_number(db, (unsigned)(count < 1000 ? count : 1000)));
    if (count < 1 || sqlite3_prepare_v2(db->handle, sql, -1, &s, NULL) != SQLITE_OK) return false;
    bool found = sqlite3_step(s) == SQLITE_ROW && sqlite3_column_bytes(s, 0) < 50;
    if (found) sqlite3_snprintf(NAME_MOST, name, "\"%w\"", sqlite3_column_text(s, 0));
    sqlite3_finalize(s);
    return found;
}

static inline int64_t any_row(database *db)
{
    char sql[300];
    snprintf(sql, sizeof sql, "SELECT count(*) FROM %s", db->table);
    int64_t count = ask_number(db, sql);
    snprintf(sql, sizeof sql, "SELECT rowid FROM %s LIMIT 1 OFFSET %u", db->table,
             next_number(db, (unsigned)(count < 100000 ? count : 100000)));
    return count ? ask_number(db, sql) : -1;
}

/* A table, two of its columns and two of its rows. */
static inline bool choose_place(database *db)
{
    char question[400];
    if (!ask_name(db,
                  "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE "
                  "'sqlite_%'",
                  db->table))
        return false;
    snprintf(question, sizeof question, "SELECT name FROM pragma_table_info(%s)", db->table);
    if (!ask_name(db, question, db->column) || !ask_name(db, question, db->other)) return false;
    db->row = any_row(db);
    db->other_row = any_row(db);
    return true;
}

static inline const char *any_value(database *db)
{
    static const char *const values[] = {"NULL",
                                         "0",
                                         "1",
                                         "-1",
                                         "2",
                                         "7",
                                         "64",
                                         "65535",
                                         "2147483647",
                                         "-2147483648",
                                         "4294967295",
                                         "9223372036854775807",
                                         "-9223372036854775808",
                                         "1000000000",
                                         "1e300",
                                         "-1e300",
                                         "0.5",
                                         "1e999",
                                         "''",
                                         "'x'",
                                         "'7'",
                                         "'-1'",
                                         "'{}'",
                                         "'[]'",
                                         "'{\"a\": 1}'",
                                         "'null'",
                                         "x'00ff'",
                                         "zeroblob(40)",
                                         "'a' || char(0) || 'b'",
                                         "char(0x1f600)",
                                         "x'ff'",
                                         "'kernel'",
                                         "'GPU'",
                                         "'hipMemcpyAsync'",
                                         "'rocprof'",
                                         "hex(zeroblob(300))",
                                         "1700000000000000000",
                                         "'NaN'",
                                         "34",
                                         "59",
                                         "60",
                                         "'0x10'",
                                         "'FREE'",
                                         "'SCRATCH'",
                                         "'UserMarker'",
                                         "'hipMalloc'",
                                         "'hipFree'",
                                         "'hipGetLastError'",
                                         "'HIP_RUNTIME_API'",
                                         "'MARKER_CORE_API'",
                                         "'HSA_CORE_API'",
                                         "'RCCL_API'",
                                         "'CopyHostToDevice'",
                                         "'CopyDeviceToHost'",
                                         "'FillBuffer'",
                                         "'Barrier'",
                                         "'step 3'",
                                         "'ProfilerStep#4'",
                                         "'enumerate(DataLoader)#x.__next__'",
                                         "'numBlocks'",
                                         "'{x=4, y=2, z=1}'",
                                         "'( ptr(0x10) size(64))'",
                                         "'ptr=0x10 | size=0x20'",
                                         "'{\"message\": \"x\"}'",
                                         "'{\"RANK\": \"1\", \"WORLD_SIZE\": \"2\"}'",
                                         "'gfx90a'",
                                         "'gfx1100'"};
    return values[next_number(db, sizeof values / sizeof *values)];
}

/* Columns that some files have and others have not. */
static inline const char *any_column(database *db)
{
    static const char *const columns[] = {
        "track_id",  "replay_pass", "dispatch_id",        "stream_id",   "extdata", "tid",
        "eventType", "textId",      "registersPerThread", "srcDeviceId", "args",    "'Index'",
        "'dev-id'",  "'stream-id'", "description_id",     "environment", "fini",    "name_id"};
    return columns[next_number(db, sizeof columns / sizeof *columns)];
}

/* Ids stay ids: the doubled row's is the next one. */
static inline void put_double_sql(const database *db, char *sql, size_t size)
{
    snprintf(sql, size,
             "CREATE TEMP TABLE one AS SELECT * FROM %s WHERE rowid = %lld;"
             "UPDATE OR IGNORE one SET id = (SELECT max(id) + 1 FROM %s);"
             "INSERT OR IGNORE INTO %s SELECT * FROM one; DROP TABLE one",
             db->table, (long long)db->row, db->table, db->table);
}

static inline void change_once(database *db)
{
    static const char *const nudges[] = {" + 1", " - 1", " * -1", " * 1000", " / 2", " + 0.5"};
    char sql[1200], value[300];
    if (!choose_place(db)) return;
    switch (next_number(db, 16)) {
    case 0:
    case 1:
    case 2:
    case 3: snprintf(value, sizeof value, "%s", any_value(db)); break;
    case 4:
    case 5:
    case 6: snprintf(value, sizeof value, "%s%s", db->column, nudges[next_number(db, 6)]); break;
    case 7:
    case 8: snprintf(value, sizeof value, "%s", db->other); break;
    case 9:
    case 10:
        snprintf(value, sizeof value, "(SELECT %s FROM %s WHERE rowid = %lld)", db->column,
                 db->table, (long long)db->other_row);
        break;
    case 11:
        snprintf(sql, sizeof sql, "DELETE FROM %s WHERE rowid = %lld", db->table,
                 (long long)db->row);
        sqlite3_exec(db->handle, sql, NULL, NULL, NULL);
        return;
    case 12:
    case 13:
        put_double_sql(db, sql, sizeof sql);
        sqlite3_exec(db->handle, sql, NULL, NULL, NULL);
        return;
    case 14: /* of all rows */
        if (next_number(db, 2))
            snprintf(value, sizeof value, "%s", any_value(db));
        else
            snprintf(value, sizeof value, "%s%s", db->column, nudges[next_number(db, 6)]);
        snprintf(sql, sizeof sql, "UPDATE OR IGNORE %s SET %s = %s", db->table, db->column, value);
        sqlite3_exec(db->handle, sql, NULL, NULL, NULL);
        return;
    default:
        if (next_number(db, 3) == 0)
            snprintf(sql, sizeof sql, "DROP TABLE %s", db->table);
        else if (next_number(db, 3) == 0)
            snprintf(sql, sizeof sql, "ALTER TABLE %s DROP COLUMN %s", db->table, db->column);
        else if (next_number(db, 2))
            snprintf(sql, sizeof sql, "ALTER TABLE %s ADD COLUMN %s DEFAULT %s", db->table,
                     any_column(db), any_value(db));
        else
            snprintf(sql, sizeof sql, "DELETE FROM %s", db->table);
        sqlite3_exec(db->handle, sql, NULL, NULL, NULL);
        return;
    }
    snprintf(sql, sizeof sql, "UPDATE OR IGNORE %s SET %s = %s WHERE rowid = %lld", db->table,
             db->column, value, (long long)db->row);
    sqlite3_exec(db->handle, sql, NULL, NULL, NULL);
}

static inline size_t change_database(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    database db = {.random = seed};
    size_t made = 0;
    unsigned char *copy = sqlite3_malloc64(size + 1);
    if (!copy) return 0;
    memcpy(copy, data, size);
    if (sqlite3_open(":memory:", &db.handle) != SQLITE_OK ||
        sqlite3_deserialize(db.handle, "main", copy, (sqlite3_int64)size, (sqlite3_int64)size,
                            SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE) !=
            SQLITE_OK) {
        sqlite3_close(db.handle);
        return 0;
    }
    sqlite3_exec(db.handle, "PRAGMA foreign_keys = OFF; PRAGMA synchronous = OFF", NULL, NULL,
                 NULL);
    for (unsigned n = 1 + next_number(&db, 3); n > 0; n--)
        change_once(&db);
    sqlite3_int64 bytes;
    unsigned char *all = sqlite3_serialize(db.handle, "main", &bytes, 0);
    if (all && bytes > 0 && (size_t)bytes <= max_size && memcmp(all, "SQLite", 6) == 0) {
        memcpy(data, all, (size_t)bytes);
        made = (size_t)bytes;
    }
    sqlite3_free(all);
    sqlite3_close(db.handle);
    return made;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
    size_t made = 0;
    if (seed % 4 && size > 100 && memcmp(data, "SQLite", 6) == 0)
        made = change_database(data, size, max_size, seed / 4);
    return made ? made : LLVMFuzzerMutate(data, size, max_size);
}

#endif
#endif
