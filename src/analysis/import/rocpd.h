/* SPDX-License-Identifier: MIT
 *
 * rocpd: the SQLite database that rocprofv3 writes by default since ROCm 7.0, and rocprof-sys since
 * 2026. Its tables end in the recording's guid; a merged file has several. Times are those of the
 * clock since boot.
 *
 * Shared by the files that read what rows refer to (rocpd.c) and the rows (rocpd_events.c,
 * rocpd_values.c).
 */
#ifndef HB_IMPORT_ROCPD_H
#define HB_IMPORT_ROCPD_H

#include "import/id_index.h"
#include "import/import_set.h"
#include "import/sqlite_file.h"

/* What an event turned out to be. */
typedef enum hb_rocpd_kind {
    HB_ROCPD_NOTHING,
    HB_ROCPD_CALL,
    HB_ROCPD_SCOPE,
    HB_ROCPD_WORK,
    HB_ROCPD_SAMPLE,
} hb_rocpd_kind;

/* There are as many as rows, so their bytes count. */
typedef struct __attribute__((packed, aligned(4))) hb_rocpd_event {
    uint64_t stack;    /* the correlation: a call and its work have the same */
    uint32_t category; /* index of `categories` */
    union {
        hb_string_id message; /* NOTHING: of a marker; 0: none */
        uint32_t row;         /* others: of its kind's column */
    };
    uint16_t process, kind;
} hb_rocpd_event;

typedef struct hb_rocpd_symbol {
    hb_string_id name;
    uint32_t vgprs, agprs, sgprs;
    bool has_registers;
} hb_rocpd_symbol;

typedef struct hb_rocpd_node {
    const char *host;
    uint64_t machine;
} hb_rocpd_node;

/* Where a row is, in files of schema 4, in place of columns of its own; -1: not told. */
typedef struct hb_rocpd_track {
    int64_t pid, tid, agent, queue, stream;
} hb_rocpd_track;

typedef struct hb_rocpd_counter {
    hb_string_id name, unit;
} hb_rocpd_counter;

/** One suffix of tables. Ids are the file's. */
typedef struct hb_rocpd {
    hb_import *import;
    hb_arena *arena;
    hb_sqlite *db;
    const char *suffix;
    const char *version;
    hb_id_index strings; /* to texts of the import */
    hb_id_index nodes, processes, threads, agents, symbols, events, counters;
    hb_id_index categories; /* to texts, where they have a table */
    hb_id_index tracks;     /* where rows refer to them: `by_tracks` */
    hb_id_index sample_tracks, dispatches; /* while these are read */
    HB_VEC(hb_rocpd_track) track_list;
    bool by_tracks;
    HB_VEC(hb_rocpd_node) node_list;
    HB_VEC(hb_import_process *) process_list;
    HB_VEC(hb_import_thread) thread_list;
    HB_VEC(int32_t) agent_list; /* GPU's number, or -1 */
    HB_VEC(hb_rocpd_symbol) symbol_list;
    HB_VEC(hb_rocpd_counter) counter_list;
    HB_VEC(hb_import_sample) sample_list; /* until their values are known */
    hb_column event_list;
    bool events_are_sparse; /* else the list is by id, from 1 on, and `events` is empty */
    hb_buf json;            /* the present value, with zeros behind it */
} hb_rocpd;

/** A walk over one of its tables: `name` without the suffix. Leaves by the arena. */
hb_sqlite_rows hb_rocpd_select(hb_rocpd *r, const char *name, const char *columns);
void hb_rocpd_done(hb_rocpd *r, hb_sqlite_rows *rows);

/** A column's JSON, as scanning needs it; empty when it is none. Until the next one. */
hb_str hb_rocpd_json(hb_rocpd *r, const hb_sqlite_rows *rows, int column);

/** The text that a column names; 0: none. */
hb_string_id hb_rocpd_string(const hb_rocpd *r, const hb_sqlite_rows *rows, int column);
hb_string_id hb_rocpd_category(const hb_rocpd *r, const hb_sqlite_rows *rows, int column);
/** NULL, and noted, when there is no such process. */
hb_import_process *hb_rocpd_process(hb_rocpd *r, int64_t id);
uint32_t hb_rocpd_thread(hb_rocpd *r, hb_import_process *p, int64_t id);
/** -1: no GPU. */
int32_t hb_rocpd_gpu(const hb_rocpd *r, int64_t id);
/** A column's number; -1: it is NULL. */
int64_t hb_rocpd_id(const hb_sqlite_rows *rows, int column);
/** Where a row is, by its columns, of which those that the table lacks are -1, or by its track. */
typedef struct hb_rocpd_columns {
    int8_t pid, tid, agent, queue, stream, track;
} hb_rocpd_columns;
hb_rocpd_track hb_rocpd_place(const hb_rocpd *r, const hb_sqlite_rows *rows,
                              hb_rocpd_columns columns);
/** The event that a column names, as its place in the list + 1; 0: there is none. */
uint32_t hb_rocpd_event_place(const hb_rocpd *r, const hb_sqlite_rows *rows, int column);
/** NULL: there is none. */
hb_rocpd_event *hb_rocpd_event_of(const hb_rocpd *r, const hb_sqlite_rows *rows, int column);

void hb_rocpd_read_events(hb_rocpd *r);
void hb_rocpd_read_values(hb_rocpd *r);

#endif
