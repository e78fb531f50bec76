/* SPDX-License-Identifier: MIT
 *
 * Tables read from pages as they lie: what SQLite itself reads of them, value by value, whatever
 * they hold; and what is not plain is left to SQLite, also from amid a table on.
 */
#include <sqlite3.h>

#include "import/sqlite_file.h"
#include "imported.h"

static const char columns[] = "id, a, b, missing, c, d";
enum { NUM_COLUMNS = 6 };

static const char *make_database(const char *settings, const char *sql)
{
    sqlite3 *db;
    char *why = NULL;
    const char *path = in_dir("t.db");
    remove(path);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, settings, NULL, NULL, &why) != SQLITE_OK ||
        sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK)
        fail_msg("%s", why);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    return path;
}

/* The same of SQLite; NULL for what the table has not. */
static sqlite3_stmt *sqlite_of(const char *path, sqlite3 **db, const char *query)
{
    sqlite3_stmt *s;
    assert_int_equal(sqlite3_open(path, db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(*db, query, -1, &s, NULL), SQLITE_OK);
    return s;
}

static void assert_equal_row(const hb_sqlite_rows *rows, sqlite3_stmt *s)
{
    for (int i = 0; i < NUM_COLUMNS; i++) {
        assert_int_equal(hb_sqlite_is_null(rows, i), sqlite3_column_type(s, i) == SQLITE_NULL);
        assert_true(hb_sqlite_int(rows, i) == sqlite3_column_int64(s, i));
        double value = hb_sqlite_double(rows, i), expected = sqlite3_column_double(s, i);
        assert_memory_equal(&value, &expected, sizeof value);
    }
    for (int again = 0; again < 2; again++)
        for (int i = 0; i < NUM_COLUMNS; i++) {
            hb_str text = hb_sqlite_text(rows, i);
            const void *expected = sqlite3_column_text(s, i);
            assert_int_equal(text.len, sqlite3_column_bytes(s, i));
            if (!text.len) continue;
            assert_memory_equal(text.s, expected, text.len);
            assert_int_equal(text.s[text.len], 0);
        }
}

/* How many rows; `by_pages`: whether they were read as they lie to the end. */
static int compare(const char *path, const char *query, bool *by_pages)
{
    sqlite3 *db;
    hb_sqlite *own;
    hb_sqlite_rows rows;
    int count = 0;
    sqlite3_stmt *s = sqlite_of(path, &db, query);
    assert_int_equal(hb_sqlite_open(path, NULL, NULL, &own), HB_OK);
    assert_int_equal(hb_sqlite_select(own, "t", columns, &rows), HB_OK);
    while (hb_sqlite_next(&rows)) {
        assert_int_equal(sqlite3_step(s), SQLITE_ROW);
        assert_equal_row(&rows, s);
        count++;
    }
    assert_int_equal(sqlite3_step(s), SQLITE_DONE);
    *by_pages = rows.walk != NULL;
    assert_int_equal(hb_sqlite_done(&rows), HB_OK);
    hb_sqlite_close(own);
    sqlite3_finalize(s);
    sqlite3_close(db);
    return count;
}

static const char all[] = "SELECT id, a, b, NULL, c, d FROM t ORDER BY rowid";

/* Numbers of every size, texts that are longer than a page, numbers as text and the reverse. */
#define ROWS(n)                                                                                \
    "WITH RECURSIVE n(i) AS (SELECT -50 UNION ALL SELECT i + 1 FROM n WHERE i < " #n ") "      \
    "INSERT INTO t SELECT i * 3, CASE abs(i) % 9 WHEN 0 THEN 0 WHEN 1 THEN 1 WHEN 2 THEN NULL" \
    " WHEN 3 THEN 1 << (i % 63) WHEN 4 THEN -(1 << (i % 62)) WHEN 5 THEN i * 0.37"             \
    " WHEN 6 THEN '  -12' || i || 'x' WHEN 7 THEN '1.5e3' ELSE -i END,"                        \
    " 'name ' || i, CASE WHEN i % 40 = 0 THEN printf('%.*c', i * 30, 'x') ELSE x'00ff' END,"   \
    " CASE WHEN i % 7 THEN i * 1.0 END FROM n;"
#define TABLE "CREATE TABLE t(id INTEGER PRIMARY KEY, a, b TEXT, c, d REAL);"

static void pages_of_every_size_are_read(void **state)
{
    static const char *const settings[] = {"PRAGMA page_size = 512", "PRAGMA page_size = 4096",
                                           "PRAGMA page_size = 65536",
                                           "PRAGMA page_size = 1024; PRAGMA auto_vacuum = FULL"};
    bool by_pages;
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(settings); i++) {
        const char *path = make_database(settings[i], TABLE "BEGIN;" ROWS(3000) "COMMIT;");
        assert_int_equal(compare(path, all, &by_pages), 3051);
        assert_true(by_pages);
    }
}

static void holes_and_small_tables_are_read(void **state)
{
    bool by_pages;
    const char *path = make_database("PRAGMA page_size = 512", TABLE
                                     "BEGIN;" ROWS(900) "COMMIT; DELETE FROM t WHERE id % 5;");
    (void)state;
    assert_int_equal(compare(path, all, &by_pages), 191);
    assert_true(by_pages);
    assert_int_equal(compare(make_database("", TABLE), all, &by_pages), 0);
    assert_true(by_pages);
    path = make_database("", TABLE "INSERT INTO t VALUES(9223372036854775807, 1, 2, 3, 4);");
    assert_int_equal(compare(path, all, &by_pages), 1);
    assert_true(by_pages);
    /* texts of numbers that are too large, and just not */
    path = make_database("", TABLE "INSERT INTO t VALUES"
                                   "(1, '99999999999999999999', '-99999999999999999999', 'x', 0),"
                                   "(2, '9223372036854775807', '9223372036854775808', '+', 0),"
                                   "(3, '-9223372036854775808', '-9223372036854775809', '.', 0),"
                                   "(4, '+12', ' \t\n-7', '1e400', 1e300);");
    assert_int_equal(compare(path, all, &by_pages), 4);
    assert_true(by_pages);
}

/* Rows that are shorter than the table has become; where the new column is not empty in them, only
 * SQLite knows what it holds. */
static void added_columns_are_read(void **state)
{
    bool by_pages;
    const char *path = make_database("", "CREATE TABLE t(id INTEGER PRIMARY KEY, a, b, c);"
                                         "INSERT INTO t VALUES(1, 2, 3, 4);"
                                         "ALTER TABLE t ADD COLUMN d;"
                                         "INSERT INTO t VALUES(2, 3, 4, 5, 6);");
    (void)state;
    assert_int_equal(compare(path, all, &by_pages), 2);
    assert_true(by_pages);
    path = make_database("", "CREATE TABLE t(id INTEGER PRIMARY KEY, a, b, c);"
                             "INSERT INTO t VALUES(2, 2, 3, 4), (5, 5, 6, 7);"
                             "ALTER TABLE t ADD COLUMN d DEFAULT 'none';"
                             "INSERT INTO t VALUES(1, 3, 4, 5, 6), (7, 1, 2, 3, 4);");
    assert_int_equal(compare(path, all, &by_pages), 4);
    assert_false(by_pages);
}

static void what_is_not_plain_is_left_to_sqlite(void **state)
{
    static const struct {
        const char *settings, *sql;
    } odd[] = {
        {"PRAGMA encoding = 'UTF-16'", TABLE "INSERT INTO t VALUES(1, 2, 'drei', 4, 5);"},
        {"", "CREATE TABLE t(id INTEGER PRIMARY KEY, a, b, c, d) WITHOUT ROWID;"
             "INSERT INTO t VALUES(1, 2, 'drei', 4, 5);"},
        {"", "CREATE TABLE t(id INTEGER PRIMARY KEY, a, e AS (a + 1), b, c, d);"
             "INSERT INTO t VALUES(1, 2, 'drei', 4, 5);"},
        {"", "CREATE TABLE t(id, a, b, c, d, rowid); INSERT INTO t VALUES(1, 2, 3, 4, 5, 6);"},
    };
    bool by_pages;
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(odd); i++) {
        const char *path = make_database(odd[i].settings, odd[i].sql);
        const char *query = i == 1 ? "SELECT id, a, b, NULL, c, d FROM t ORDER BY id" : all;
        assert_int_equal(compare(path, query, &by_pages), 1);
        assert_false(by_pages);
    }
}

static void read_damaged(const char *path)
{
    hb_sqlite *db;
    hb_sqlite_rows rows;
    uint64_t sum = 0;
    if (hb_sqlite_open(path, NULL, NULL, &db) != HB_OK) return;
    if (hb_sqlite_select(db, "t", columns, &rows) == HB_OK)
        for (int n = 0; n < 20000 && hb_sqlite_next(&rows); n++)
            for (int i = 0; i < NUM_COLUMNS; i++)
                sum += (uint64_t)hb_sqlite_int(&rows, i) + hb_sqlite_text(&rows, i).len +
                       (hb_sqlite_double(&rows, i) > 0);
    (void)hb_sqlite_done(&rows);
    hb_sqlite_close(db);
    assert_true(sum < UINT64_MAX);
}

/* Whatever stands in a page, nothing beyond it is read, and a circle of pages has an end. */
static void damaged_pages_end_the_walk(void **state)
{
    static unsigned char bytes[1 << 20];
    const char *path = make_database("PRAGMA page_size = 512", TABLE "BEGIN;" ROWS(400) "COMMIT;");
    FILE *file = fopen(path, "rb");
    size_t size = fread(bytes, 1, sizeof bytes, file);
    unsigned random = 7;
    (void)state;
    fclose(file);
    assert_in_range(size, 10000, sizeof bytes - 1);
    for (int round = 0; round < 150; round++) {
        unsigned char kept[8];
        size_t at[8];
        for (int i = 0; i < 8; i++) {
            random = random * 1664525 + 1013904223;
            /* Mostly heads of pages, which say where all else is. */
            at[i] = 1024 + random % (size - 1024);
            if (i < 6) at[i] = at[i] / 512 * 512 + (random >> 8) % 16;
            kept[i] = bytes[at[i]];
            bytes[at[i]] = (unsigned char)(random >> 20);
        }
        read_damaged(keep_bytes("damaged.db", bytes, size - (round % 4 == 0 ? random % 4000 : 0)));
        for (int i = 8; i-- > 0;)
            bytes[at[i]] = kept[i];
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(pages_of_every_size_are_read, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(holes_and_small_tables_are_read, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(added_columns_are_read, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(what_is_not_plain_is_left_to_sqlite, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(damaged_pages_end_the_walk, make_dir, remove_dir),
    };
    return cmocka_run_group_tests_name("sqlite_pages", tests, NULL, NULL);
}
