/* SPDX-License-Identifier: MIT */
#include "import/sqlite_file.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "import/rows_shared.h"
#include "import/whole_file.h"

enum {
    ROWS_BETWEEN_REPORTS = 65536,
    /* Bytes: two of a row's place in its page, one of its size, one of its columns. */
    LEAST_ROW = 4,
    /* Of SQLite's machine, which takes one for each column of a row and a few for the row. */
    INSTRUCTIONS_BETWEEN_LOOKS = 10000,
    INSTRUCTIONS_A_BYTE = 8,
    LEAST_INSTRUCTIONS = 100000,
};

typedef struct hb_sqlite_walk {
    hb_dbpage_walk *pages;
    char *table;
    char *query;             /* by which SQLite reads on where pages are odd */
    sqlite3_stmt *statement; /* of it */
    uint64_t rows;           /* that it came to */
    struct hb_sqlite_walk *next;
} hb_sqlite_walk;

struct hb_sqlite {
    sqlite3 *handle;
    char *path;
    char *bytes; /* of a database in memory */
    const char *missed;
    int fd; /* of `pages`, where they are read as they lie */
    hb_dbpage_file pages;
    bool by_pages;
    hb_sqlite_walk *walks;
    hb_sqlite_progress *progress;
    void *context;
    uint64_t rows;
    uint64_t size;         /* bytes, with what is left beside it */
    uint64_t instructions; /* since the last statement began */
};

static hb_result fail(const hb_sqlite *db, const char *what)
{
    int code = db->handle ? sqlite3_errcode(db->handle) : SQLITE_NOMEM;
    if (code == SQLITE_NOMEM) return hb_no_memory();
    if (code == SQLITE_INTERRUPT)
        return hb_fail(HB_ERROR_FORMAT, "%s: %s: its pages lead to some again and again", db->path,
                       what);
    return hb_fail(HB_ERROR_FORMAT, "%s: %s: %s", db->path, what, sqlite3_errmsg(db->handle));
}

/* ---- no more than there is ---- */

/* Of damaged databases several pages may lead to one, and so on below: to more rows than anybody
 * could wait for. SQLite bounds how deep they lead, not how often. */
static int stops_at_limit(void *context)
{
    hb_sqlite *db = context;
    db->instructions += INSTRUCTIONS_BETWEEN_LOOKS;
    return db->instructions > LEAST_INSTRUCTIONS + db->size * INSTRUCTIONS_A_BYTE;
}

static bool prepares(hb_sqlite *db, const char *sql, sqlite3_stmt **statement)
{
    db->instructions = 0;
    return sqlite3_prepare_v2(db->handle, sql, -1, statement, NULL) == SQLITE_OK;
}

/* ---- opening ---- */

/* The schema of a stranger's database may hold code: none of it runs. */
static bool harden(hb_sqlite *file)
{
    sqlite3 *db = file->handle;
    static const struct {
        int setting, value;
    } settings[] = {
        {SQLITE_DBCONFIG_DEFENSIVE, 1},
        {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
        {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
        {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
        {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
    };
    for (size_t i = 0; i < HB_ARRAY_LEN(settings); i++)
        if (sqlite3_db_config(db, settings[i].setting, settings[i].value, NULL) != SQLITE_OK)
            return false;
    sqlite3_progress_handler(db, INSTRUCTIONS_BETWEEN_LOOKS, stops_at_limit, file);
    sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 64 << 20);
    sqlite3_limit(db, SQLITE_LIMIT_SQL_LENGTH, 1 << 20);
    /* A damaged page must not lead out of its bounds. */
    return sqlite3_exec(db, "PRAGMA cell_size_check=ON; PRAGMA query_only=ON", NULL, NULL, NULL) ==
           SQLITE_OK;
}

/* Its size, which may be 0; 0: there is none, too. */
static uint64_t size_of(const char *path, const char *suffix)
{
    struct stat st;
    char *beside;
    if (asprintf(&beside, "%s%s", path, suffix) < 0) return 0;
    uint64_t size = stat(beside, &st) == 0 && st.st_size > 0 ? (uint64_t)st.st_size : 0;
    free(beside);
    return size;
}

/* "?", "#" and "%" mean something in SQLite's addresses. */
static char *address_of(const char *path, const char *query)
{
    hb_buf buf;
    char *text = NULL;
    hb_buf_init(&buf, SIZE_MAX / 2);
    hb_buf_str(&buf, "file:");
    for (const char *p = path; *p; p++)
        if (*p == '?' || *p == '#' || *p == '%')
            hb_buf_printf(&buf, "%%%02x", (unsigned char)*p);
        else
            hb_buf_append(&buf, p, 1);
    hb_buf_str(&buf, query);
    if (hb_buf_hand_out(&buf, HB_OK, &text, NULL) != HB_OK) return NULL;
    return text;
}

/* Opening is lazy: only reading shows whether it works. */
static bool opens(hb_sqlite *db, const char *query)
{
    char *address = address_of(db->path, query);
    int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX;
    bool fine = address && sqlite3_open_v2(address, &db->handle, flags, NULL) == SQLITE_OK &&
                harden(db) &&
                sqlite3_exec(db->handle, "SELECT count(*) FROM sqlite_master", NULL, NULL, NULL) ==
                    SQLITE_OK;
    free(address);
    return fine;
}

/* What is left beside it belongs to its pages: only SQLite puts them together. */
static void open_pages(hb_sqlite *db)
{
    struct stat st;
    db->fd = open(db->path, O_RDONLY | O_CLOEXEC);
    db->by_pages = db->fd >= 0 && fstat(db->fd, &st) == 0 &&
                   hb_dbpage_file_init(&db->pages, db->fd, NULL, (uint64_t)st.st_size);
}

/* Where nothing is left beside it, no lock is needed, and no file is made beside it. */
static hb_result open_file(hb_sqlite *db)
{
    uint64_t log = size_of(db->path, "-wal"), journal = size_of(db->path, "-journal");
    db->size = size_of(db->path, "") + log + journal;
    if (!log && !journal) open_pages(db);
    if (opens(db, log || journal ? "?mode=ro" : "?mode=ro&immutable=1")) return HB_OK;
    if (!log && !journal) return fail(db, "cannot be read");
    sqlite3_close(db->handle);
    db->missed = log ? "its log (-wal) could not be read: the last rows may be missing"
                     : "its journal could not be undone: some rows may be half written";
    return opens(db, "?mode=ro&immutable=1") ? HB_OK : fail(db, "cannot be read");
}

/* A database in memory has no log: its header must not say so. */
static void forget_log(char *bytes, size_t size)
{
    if (size > 20 && bytes[18] == 2 && bytes[19] == 2) bytes[18] = bytes[19] = 1;
}

static hb_result open_memory(hb_sqlite *db)
{
    size_t size;
    HB_TRY(hb_whole_file(db->path, &db->bytes, &size));
    forget_log(db->bytes, size);
    db->size = size;
    db->by_pages = hb_dbpage_file_init(&db->pages, -1, db->bytes, size);
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
    bool fine =
        sqlite3_open_v2(":memory:", &db->handle, flags, NULL) == SQLITE_OK &&
        sqlite3_deserialize(db->handle, "main", (unsigned char *)db->bytes, (sqlite3_int64)size,
                            (sqlite3_int64)size, SQLITE_DESERIALIZE_READONLY) == SQLITE_OK &&
        harden(db);
    return fine ? HB_OK : fail(db, "cannot be read");
}

hb_result hb_sqlite_open(const char *path, hb_sqlite_progress *progress, void *context,
                         hb_sqlite **db)
{
    hb_sqlite *made = calloc(1, sizeof *made);
    if (!made) return hb_no_memory();
    made->path = strdup(path);
    made->fd = -1;
    made->progress = progress;
    made->context = context;
    hb_result result = made->path ? HB_OK : hb_no_memory();
    if (result == HB_OK) result = hb_is_compressed(path) ? open_memory(made) : open_file(made);
    if (result != HB_OK)
        hb_sqlite_close(made);
    else
        *db = made;
    return result;
}

static void free_walk(hb_sqlite *db, hb_sqlite_walk *walk)
{
    hb_sqlite_walk **at = &db->walks;
    while (*at && *at != walk)
        at = &(*at)->next;
    if (!walk || !*at) return;
    *at = walk->next;
    hb_dbpage_walk_close(walk->pages);
    sqlite3_finalize(walk->statement);
    free(walk->query);
    free(walk->table);
    free(walk);
}

void hb_sqlite_close(hb_sqlite *db)
{
    if (!db) return;
    while (db->walks)
        free_walk(db, db->walks);
    sqlite3_close(db->handle);
    if (db->fd >= 0) close(db->fd);
    free(db->bytes);
    free(db->path);
    free(db);
}

const char *hb_sqlite_missed(const hb_sqlite *db)
{
    return db->missed;
}

/* ---- tables ---- */

static bool step(hb_sqlite *db, sqlite3_stmt *s, hb_result *result)
{
    int code = sqlite3_step(s);
    *result = HB_OK;
    if (code == SQLITE_ROW) return true;
    if (code != SQLITE_DONE) *result = fail(db, "damaged");
    return false;
}

/* Virtual tables' rows are made by code. They have no page of their own, but what the schema says
 * of pages may be damaged. */
#define TABLES \
    "FROM sqlite_master WHERE type = 'table' AND rootpage > 0 AND sql LIKE 'create table%' "

hb_result hb_sqlite_tables(hb_sqlite *db, const char *prefix,
                           void (*fn)(void *context, const char *table), void *context)
{
    sqlite3_stmt *s;
    hb_result result;
    const char *sql = "SELECT name " TABLES "AND substr(name, 1, length(?1)) = ?1 ORDER BY name";
    if (!prepares(db, sql, &s)) return fail(db, "cannot be read");
    sqlite3_bind_text(s, 1, prefix, -1, SQLITE_STATIC);
    while (step(db, s, &result))
        if (sqlite3_column_text(s, 0)) fn(context, (const char *)sqlite3_column_text(s, 0));
    sqlite3_finalize(s);
    return result;
}

static bool is_table(hb_sqlite *db, const char *table)
{
    sqlite3_stmt *s;
    hb_result result;
    const char *sql = "SELECT 1 " TABLES "AND name = ?1";
    if (!prepares(db, sql, &s)) return false;
    sqlite3_bind_text(s, 1, table, -1, SQLITE_STATIC);
    bool there = step(db, s, &result);
    sqlite3_finalize(s);
    return there;
}

bool hb_sqlite_has(hb_sqlite *db, const char *table, const char *column)
{
    return is_table(db, table) &&
           sqlite3_table_column_metadata(db->handle, "main", table, column, NULL, NULL, NULL, NULL,
                                         NULL) == SQLITE_OK;
}

static void put_column(hb_sqlite *db, hb_buf *sql, const char *table, const char *name, size_t size)
{
    char column[64];
    snprintf(column, sizeof column, "%.*s", (int)size, name);
    if (hb_sqlite_has(db, table, column))
        hb_buf_printf(sql, "\"%s\"", column);
    else
        hb_buf_str(sql, "NULL");
}

/* `table` may hold any byte: a quote in it is doubled. */
static void put_query(hb_sqlite *db, hb_buf *sql, const char *table, const char *columns)
{
    hb_buf_str(sql, "SELECT ");
    for (const char *p = columns; *p;) {
        size_t n = strcspn(p, ",");
        put_column(db, sql, table, p, n);
        p += n;
        if (!*p) break;
        hb_buf_str(sql, ", ");
        p += 1 + strspn(p + 1, " ");
    }
    hb_buf_str(sql, " FROM \"");
    for (const char *p = table; *p; p++)
        hb_buf_append(sql, *p == '"' ? "\"\"" : p, *p == '"' ? 2 : 1);
    hb_buf_str(sql, "\"");
}

/* ---- pages as they lie ---- */

static uint32_t root_of(hb_sqlite *db, const char *table)
{
    sqlite3_stmt *s;
    hb_result result;
    const char *sql = "SELECT rootpage " TABLES "AND name = ?1";
    if (!prepares(db, sql, &s)) return 0;
    sqlite3_bind_text(s, 1, table, -1, SQLITE_STATIC);
    int64_t page = step(db, s, &result) ? sqlite3_column_int64(s, 0) : 0;
    sqlite3_finalize(s);
    return page > 0 && page <= UINT32_MAX ? (uint32_t)page : 0;
}

static bool is_word(hb_str word, const char *text)
{
    return word.len == strlen(text) && sqlite3_strnicmp(word.s, text, (int)word.len) == 0;
}

typedef struct column_search {
    const char *names; /* asked for, by commas */
    hb_dbpage_column columns[HB_DBPAGE_COLUMNS];
    int count, keys, key; /* key: which is the table's only one, and a number */
    bool plain;
} column_search;

static hb_str text_in(sqlite3_stmt *s, int column)
{
    const char *text = (const char *)sqlite3_column_text(s, column);
    return text ? (hb_str){text, (uint32_t)sqlite3_column_bytes(s, column)} : (hb_str){"", 0};
}

static int place_among(const char *names, hb_str name)
{
    for (int i = 0; *names; i++) {
        size_t n = strcspn(names, ",");
        if (n == name.len && sqlite3_strnicmp(names, name.s, (int)n) == 0) return i;
        names += n + (names[n] == ',');
        names += strspn(names, " ");
    }
    return -1;
}

/* By SQLite's rules of what a declaration means. */
static bool is_real(hb_str type)
{
    static const char *const others[] = {"INT", "CHAR", "CLOB", "TEXT", "BLOB"};
    for (size_t i = 0; i < HB_ARRAY_LEN(others); i++)
        if (hb_import_has_word(type, others[i])) return false;
    return hb_import_has_word(type, "REAL") || hb_import_has_word(type, "FLOA") ||
           hb_import_has_word(type, "DOUB");
}

/* Computed columns stand in no page; a column that hides the row's number keeps SQLite from going
 * on from it. */
static void take_column(column_search *c, sqlite3_stmt *s)
{
    static const char *const row_ids[] = {"rowid", "_rowid_", "oid"};
    hb_str name = text_in(s, 1);
    int place = place_among(c->names, name), at = sqlite3_column_int(s, 0);
    c->plain &= sqlite3_column_int(s, 6) == 0 && at < INT16_MAX;
    for (size_t i = 0; i < HB_ARRAY_LEN(row_ids); i++)
        c->plain &= !is_word(name, row_ids[i]);
    bool key = sqlite3_column_int(s, 5) > 0;
    c->keys += key;
    if (key && is_word(text_in(s, 2), "INTEGER")) c->key = at;
    if (place < 0 || place >= c->count) return;
    c->columns[place].place = (int16_t)at;
    c->columns[place].is_real = is_real(text_in(s, 2));
    c->columns[place].has_default = sqlite3_column_type(s, 4) != SQLITE_NULL;
}

static bool find_columns(hb_sqlite *db, const char *table, column_search *c)
{
    sqlite3_stmt *s;
    hb_result result;
    const char *sql = "SELECT * FROM pragma_table_xinfo(?1)";
    if (!prepares(db, sql, &s)) return false;
    sqlite3_bind_text(s, 1, table, -1, SQLITE_STATIC);
    while (step(db, s, &result))
        take_column(c, s);
    sqlite3_finalize(s);
    for (int i = 0; i < c->count; i++)
        c->columns[i].is_row_id = c->keys == 1 && c->columns[i].place == c->key;
    return result == HB_OK && c->plain;
}

static void walk_pages(hb_sqlite *db, const char *columns, hb_sqlite_rows *rows)
{
    column_search c = {.names = columns, .key = -2, .plain = true, .count = 1};
    uint32_t root = db->by_pages ? root_of(db, rows->table) : 0;
    for (const char *p = columns; *p; p++)
        c.count += *p == ',';
    if (!root || c.count > HB_DBPAGE_COLUMNS) return;
    for (int i = 0; i < c.count; i++)
        c.columns[i].place = -1;
    if (find_columns(db, rows->table, &c))
        rows->walk = rows->own->pages = hb_dbpage_walk_open(&db->pages, root, c.columns, c.count);
}

static hb_result prepare(hb_sqlite_rows *rows)
{
    bool fine = prepares(rows->db, rows->own->query, &rows->own->statement);
    rows->statement = rows->own->statement;
    return fine ? HB_OK : (rows->result = fail(rows->db, rows->table));
}

/* From behind the last row on; what is wrong, SQLite finds as well. */
static bool read_on(hb_sqlite_rows *rows)
{
    int64_t id;
    hb_buf sql;
    bool began = hb_dbpage_walk_row_id(rows->walk, &id);
    rows->walk = NULL;
    if (!began) return prepare(rows) == HB_OK;
    hb_buf_init(&sql, SIZE_MAX / 2);
    hb_buf_printf(&sql, "%s WHERE rowid > %lld ORDER BY rowid", rows->own->query, (long long)id);
    free(rows->own->query);
    rows->own->query = NULL;
    rows->result = hb_buf_hand_out(&sql, HB_OK, &rows->own->query, NULL);
    return rows->result == HB_OK && prepare(rows) == HB_OK;
}

/* ---- walks ---- */

hb_result hb_sqlite_select(hb_sqlite *db, const char *table, const char *columns,
                           hb_sqlite_rows *rows)
{
    hb_buf sql;
    *rows = (hb_sqlite_rows){.db = db};
    if (!is_table(db, table)) return HB_OK;
    rows->own = calloc(1, sizeof *rows->own);
    if (!rows->own) return rows->result = hb_no_memory();
    rows->own->next = db->walks;
    db->walks = rows->own;
    rows->table = rows->own->table = strdup(table);
    if (!rows->table) return rows->result = hb_no_memory();
    hb_buf_init(&sql, SIZE_MAX / 2);
    put_query(db, &sql, table, columns);
    rows->result = hb_buf_hand_out(&sql, HB_OK, &rows->own->query, NULL);
    if (rows->result != HB_OK) return rows->result;
    walk_pages(db, columns, rows);
    return rows->walk ? HB_OK : prepare(rows);
}

static bool next_row(hb_sqlite_rows *rows)
{
    if (rows->walk) {
        hb_dbpage_step found = hb_dbpage_walk_next(rows->walk);
        if (HB_LIKELY(found == HB_DBPAGE_ROW)) return true;
        if (found == HB_DBPAGE_END || !read_on(rows)) return false;
    }
    if (!step(rows->db, rows->statement, &rows->result)) return false;
    if (++rows->own->rows <= rows->db->size / LEAST_ROW) return true;
    rows->result = hb_fail(HB_ERROR_FORMAT, "%s: damaged: more rows of %s than it has room for",
                           rows->db->path, rows->table);
    return false;
}

bool hb_sqlite_next(hb_sqlite_rows *rows)
{
    hb_sqlite *db = rows->db;
    if (!(rows->statement || rows->walk) || rows->result != HB_OK) return false;
    if (++db->rows % ROWS_BETWEEN_REPORTS == 0 && db->progress &&
        !db->progress(db->context, db->rows)) {
        rows->result = hb_fail(HB_ERROR_STATE, "%s: stopped", db->path);
        return false;
    }
    return next_row(rows);
}

hb_result hb_sqlite_done(hb_sqlite_rows *rows)
{
    free_walk(rows->db, rows->own);
    rows->statement = NULL;
    rows->walk = NULL;
    rows->own = NULL;
    return rows->result;
}

bool hb_sqlite_is_null(const hb_sqlite_rows *rows, int column)
{
    if (HB_LIKELY(rows->walk)) return hb_dbpage_is_null(rows->walk, column);
    return sqlite3_column_type(rows->statement, column) == SQLITE_NULL;
}

int64_t hb_sqlite_int(const hb_sqlite_rows *rows, int column)
{
    if (HB_LIKELY(rows->walk)) return hb_dbpage_int(rows->walk, column);
    return sqlite3_column_int64(rows->statement, column);
}

double hb_sqlite_double(const hb_sqlite_rows *rows, int column)
{
    if (HB_LIKELY(rows->walk)) return hb_dbpage_double(rows->walk, column);
    return sqlite3_column_double(rows->statement, column);
}

hb_str hb_sqlite_text(const hb_sqlite_rows *rows, int column)
{
    if (HB_LIKELY(rows->walk)) return hb_dbpage_text(rows->walk, column);
    return text_in(rows->statement, column);
}

hb_str hb_sqlite_view(const hb_sqlite_rows *rows, int column)
{
    if (HB_LIKELY(rows->walk)) return hb_dbpage_view(rows->walk, column);
    return text_in(rows->statement, column);
}
