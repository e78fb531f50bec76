/* SPDX-License-Identifier: MIT
 *
 * Databases of others: what is opened, whatever it is called and lies beside it, walks that are
 * left, tables and columns by their names, and how often somebody who waits is told.
 */
#include <sqlite3.h>

#include "import/sqlite_file.h"
#include "imported.h"

static const char *keep_database(const char *name, const char *sql)
{
    sqlite3 *db;
    char *why = NULL;
    const char *path = in_dir(name);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK) fail_msg("%s", why);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    return path;
}

static hb_sqlite *opened(const char *path)
{
    hb_sqlite *db = NULL;
    if (hb_sqlite_open(path, NULL, NULL, &db) != HB_OK) fail_msg("%s", hb_last_error());
    return db;
}

static const char numbers[] = "CREATE TABLE t(a, b); INSERT INTO t VALUES (1, 2), (3, 4), (5, 6);"
                              "CREATE TABLE u(a); INSERT INTO u VALUES (7);";

static int64_t sum_of(hb_sqlite *db, const char *table)
{
    hb_sqlite_rows rows;
    int64_t sum = 0;
    assert_int_equal(hb_sqlite_select(db, table, "a", &rows), HB_OK);
    while (hb_sqlite_next(&rows))
        sum += hb_sqlite_int(&rows, 0);
    assert_int_equal(hb_sqlite_done(&rows), HB_OK);
    return sum;
}

/* What means something in SQLite's addresses is a part of a name like any other. */
static void names_of_files(void **state)
{
    static const char *const names[] = {"a.db", "a?b.db", "a#b.db", "a%20b.db", "?mode=x", "a b",
                                        "%", "a%"};
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(names); i++) {
        hb_sqlite *db = opened(keep_database(names[i], numbers));
        assert_int_equal(sum_of(db, "t"), 9);
        assert_null(hb_sqlite_missed(db));
        hb_sqlite_close(db);
    }
}

/* A log or journal that cannot be read, as a directory of its name is none, is told; the database
 * is read without it. An empty one is none. */
static void what_lies_beside_it(void **state)
{
    static const struct {
        const char *settings, *beside, *missed; /* NULL: nothing was */
    } cases[] = {
        {"PRAGMA journal_mode = WAL;", "-wal",
         "its log (-wal) could not be read: the last rows may be missing"},
        {"", "-journal", "its journal could not be undone: some rows may be half written"},
    };
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(cases); i++)
        for (int empty = 0; empty < 2; empty++) {
            char sql[500], beside[30];
            snprintf(sql, sizeof sql, "%s%s", cases[i].settings, numbers);
            snprintf(beside, sizeof beside, "t.db%s", cases[i].beside);
            const char *path = keep_database("t.db", sql);
            if (empty)
                keep_text(beside, "");
            else
                assert_int_equal(mkdir(in_dir(beside), 0700), 0);
            hb_sqlite *db = opened(path);
            if (empty)
                assert_null(hb_sqlite_missed(db));
            else
                assert_string_equal(hb_sqlite_missed(db), cases[i].missed);
            assert_int_equal(sum_of(db, "t"), 9);
            hb_sqlite_close(db);
            remove_tree(dir);
            assert_int_equal(make_dir(NULL), 0);
        }
}

/* Several at a time, in any order, also left amid their rows; by their pages and by SQLite. */
static void walks_that_are_left(void **state)
{
    static const char *const tables[] = {numbers, "CREATE TABLE t(a PRIMARY KEY, b) WITHOUT ROWID;"
                                                  "INSERT INTO t VALUES (1, 2), (3, 4), (5, 6);"};
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(tables); i++) {
        hb_sqlite_rows walks[4];
        hb_sqlite *db = opened(keep_database(i ? "u.db" : "t.db", tables[i]));
        for (int k = 0; k < 4; k++) {
            assert_int_equal(hb_sqlite_select(db, "t", "a, b", &walks[k]), HB_OK);
            for (int row = 0; row <= k % 3; row++)
                assert_true(hb_sqlite_next(&walks[k]));
        }
        assert_int_equal(hb_sqlite_done(&walks[1]), HB_OK); /* amid the others */
        for (int k = 0; k < 4; k++)
            if (k != 1) assert_int_equal(hb_sqlite_int(&walks[k], 0), 1 + k % 3 * 2);
        assert_int_equal(hb_sqlite_done(&walks[0]), HB_OK);
        assert_true(hb_sqlite_next(&walks[3]));
        assert_int_equal(hb_sqlite_int(&walks[3], 1), 4);
        assert_false(hb_sqlite_next(&walks[2]));
        hb_sqlite_close(db);
    }
}

static void add_name(void *context, const char *table)
{
    char *names = context;
    snprintf(names + strlen(names), 200 - strlen(names), "%s ", table);
}

static void tables_and_columns_by_their_names(void **state)
{
    char names[200] = "";
    hb_sqlite_rows rows;
    (void)state;
    hb_sqlite *db = opened(keep_database(
        "t.db", "CREATE TABLE ab(x, \"y-z\"); CREATE TABLE aa(x);"
                "CREATE TABLE b(x); CREATE VIEW av AS SELECT 1 AS x; CREATE INDEX ai ON aa(x);"
                "CREATE TABLE \"a\"\"q\"(x); INSERT INTO \"a\"\"q\" VALUES (5);"
                "INSERT INTO ab VALUES (1, 'two');"));
    assert_int_equal(hb_sqlite_tables(db, "a", add_name, names), HB_OK);
    assert_string_equal(names, "a\"q aa ab ");
    assert_true(hb_sqlite_has(db, "ab", "y-z"));
    assert_true(hb_sqlite_has(db, "ab", "X"));
    assert_false(hb_sqlite_has(db, "ab", "y"));
    assert_false(hb_sqlite_has(db, "av", "x"));
    assert_false(hb_sqlite_has(db, "none", "x"));
    assert_int_equal(hb_sqlite_select(db, "a\"q", "x", &rows), HB_OK);
    assert_true(hb_sqlite_next(&rows));
    assert_int_equal(hb_sqlite_int(&rows, 0), 5);
    assert_int_equal(hb_sqlite_done(&rows), HB_OK);
    assert_int_equal(hb_sqlite_select(db, "ab", "none, y-z,x", &rows), HB_OK);
    assert_true(hb_sqlite_next(&rows));
    assert_true(hb_sqlite_is_null(&rows, 0));
    assert_string_equal(hb_sqlite_text(&rows, 1).s, "two");
    assert_int_equal(hb_sqlite_int(&rows, 2), 1);
    assert_false(hb_sqlite_next(&rows));
    assert_int_equal(hb_sqlite_done(&rows), HB_OK);
    assert_int_equal(hb_sqlite_select(db, "av", "x", &rows), HB_OK); /* no table: no rows */
    assert_false(hb_sqlite_next(&rows));
    assert_int_equal(hb_sqlite_done(&rows), HB_OK);
    hb_sqlite_close(db);
}

typedef struct listener {
    unsigned calls, stop_at;
    uint64_t last;
} listener;

static bool listen(void *context, uint64_t rows)
{
    listener *l = context;
    l->last = rows;
    return ++l->calls != l->stop_at;
}

/* Rows of all tables together count. */
static void each_65536_rows_are_told(void **state)
{
    const char *path = keep_database(
        "t.db", "PRAGMA synchronous = OFF; CREATE TABLE t(a); CREATE TABLE u(a);"
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40000)"
                "INSERT INTO t SELECT 1 FROM n; INSERT INTO u SELECT 1 FROM t;");
    (void)state;
    for (unsigned stop_at = 0; stop_at < 2; stop_at++) {
        listener l = {.stop_at = stop_at};
        hb_sqlite *db;
        hb_sqlite_rows rows;
        uint64_t count = 0;
        assert_int_equal(hb_sqlite_open(path, listen, &l, &db), HB_OK);
        assert_int_equal(sum_of(db, "t"), 40000);
        assert_int_equal(hb_sqlite_select(db, "u", "a", &rows), HB_OK);
        while (hb_sqlite_next(&rows))
            count++;
        assert_int_equal(l.calls, 1);
        assert_int_equal(l.last, 65536);
        assert_int_equal(hb_sqlite_done(&rows), stop_at ? HB_ERROR_STATE : HB_OK);
        /* the end of the first table was asked for as well */
        assert_int_equal(count, stop_at ? 65536 - 40001 - 1 : 40000);
        if (stop_at) HAS(hb_last_error(), "t.db: stopped");
        hb_sqlite_close(db);
    }
}

static void what_is_no_database(void **state)
{
    hb_sqlite *db = NULL;
    (void)state;
    assert_int_equal(hb_sqlite_open(keep_text("t.db", "SQLite format 3"), NULL, NULL, &db),
                     HB_ERROR_FORMAT);
    HAS(hb_last_error(), "t.db: cannot be read: file is not a database");
    assert_null(db);
    assert_int_equal(hb_sqlite_open(in_dir("none.db"), NULL, NULL, &db), HB_ERROR_FORMAT);
    assert_null(db);
    hb_sqlite_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(names_of_files),
        IN_DIR(what_lies_beside_it),
        IN_DIR(walks_that_are_left),
        IN_DIR(tables_and_columns_by_their_names),
        IN_DIR(each_65536_rows_are_told),
        IN_DIR(what_is_no_database),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
