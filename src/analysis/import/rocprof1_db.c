/* SPDX-License-Identifier: MIT
 *
 * rocprof's results.db (v1): a table for each kind of event. What was launched has the Index of
 * its call.
 */
#include "import/rocprof1.h"
#include "import/sqlite_file.h"

typedef struct file {
    hb_rocprof1 r;
    hb_sqlite *db;
} file;

static void leave(const file *f, hb_result result)
{
    if (result != HB_OK) hb_arena_leave(&f->r.import->arena, result, "%s", hb_last_error());
}

enum { T_START, T_END, T_PID, T_TID, T_NAME, T_ARGS, T_INDEX, T_DEVICE, T_QUEUE, T_STREAM };

static int64_t id_or_none(const hb_sqlite_rows *rows, int column)
{
    return hb_sqlite_is_null(rows, column) ? -1 : hb_sqlite_int(rows, column);
}

static bool next_event(hb_sqlite_rows *rows, hb_rocprof1_event *e)
{
    if (!hb_sqlite_next(rows)) return false;
    *e = (hb_rocprof1_event){
        .start = hb_sqlite_int(rows, T_START),
        .end = hb_sqlite_int(rows, T_END),
        .pid = hb_sqlite_int(rows, T_PID),
        .tid = hb_sqlite_int(rows, T_TID),
        .name = hb_sqlite_text(rows, T_NAME),
        .args = hb_sqlite_text(rows, T_ARGS),
        .correlation = (uint64_t)HB_MAX(hb_sqlite_int(rows, T_INDEX), 0),
        .device = id_or_none(rows, T_DEVICE),
        .queue = id_or_none(rows, T_QUEUE),
        .stream = id_or_none(rows, T_STREAM),
    };
    return true;
}

static hb_sqlite_rows select_events(file *f, const char *table)
{
    hb_sqlite_rows rows;
    leave(f, hb_sqlite_select(f->db, table,
                              "BeginNs, EndNs, pid, tid, Name, args, Index, dev-id, queue-id, "
                              "stream-id",
                              &rows));
    return rows;
}

static void read_hosts(file *f, const char *table, enum hb_import_part part)
{
    hb_rocprof1_event e;
    hb_sqlite_rows rows = select_events(f, table);
    while (next_event(&rows, &e))
        (void)hb_rocprof1_add_host(&f->r, &e, part);
    leave(f, hb_sqlite_done(&rows));
}

static void read_works(file *f, const char *table, bool copies)
{
    hb_rocprof1_event e;
    hb_sqlite_rows rows = select_events(f, table);
    while (next_event(&rows, &e))
        (void)hb_rocprof1_add_work(&f->r, &e, copies);
    leave(f, hb_sqlite_done(&rows));
}

static void close_file(void *context)
{
    file *f = context;
    hb_sqlite_close(f->db);
    f->db = NULL;
}

bool hb_rocprof1_db_probe(const hb_import_probe *probe)
{
    return hb_import_has_table(probe, "CREATE TABLE OPS (") ||
           hb_import_has_table(probe, "CREATE TABLE HIP (") ||
           hb_import_has_table(probe, "CREATE TABLE ROCTX (");
}

void hb_rocprof1_db_open(hb_import *import, const char *path)
{
    file *f = hb_arena_alloc(&import->arena, sizeof *f);
    f->r.import = import;
    hb_import_guard(import, close_file, f);
    leave(f, hb_sqlite_open(path, hb_import_progress, import, &f->db));
    read_hosts(f, "HIP", HB_IMPORT_HIP);
    read_hosts(f, "HSA", HB_IMPORT_HSA);
    read_hosts(f, "ROCTX", HB_IMPORT_RANGES);
    read_works(f, "OPS", false);
    read_works(f, "COPY", true);
    hb_rocprof1_finish(&f->r);
    hb_import_unguard(import);
}
