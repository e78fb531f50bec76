/* SPDX-License-Identifier: MIT
 *
 * Events as rows of a rocpd: what export_rocpd.c, which makes the file, asks for.
 */
#ifndef HB_EXPORT_ROCPD_ROWS_H
#define HB_EXPORT_ROCPD_ROWS_H

#include <sqlite3.h>

#include "base/hash_map.h"
#include "base/string_table.h"
#include "export/exporter.h"
#include "io/publish.h"

enum { HB_ROCPD_STATEMENTS = 15 };

typedef struct hb_rocpd_out {
    hb_exporter base;
    hb_publish publish;
    sqlite3 *db;
    uint32_t processes;
    int64_t last_end;
    /* the present process */
    char suffix[72], guid[64];
    sqlite3_stmt *add[HB_ROCPD_STATEMENTS];
    const hb_trace_info *info;
    hb_export_counts *counts;
    hb_arena arena;
    hb_texts texts;       /* ids are those of the table of strings */
    hb_dict thread_names; /* index of info->threads, by tid */
    hb_dict threads, queues, streams, tracks, pmcs, vector_registers, registers, symbols;
    int64_t events, dispatches, end;
    int64_t totals[65];
} hb_rocpd_out;

/** Leaves by the arena with what the database says. */
_Noreturn void hb_rocpd_leave(hb_rocpd_out *r);

/** `sql` with the process's suffix for each '@'; the arena's. */
char *hb_rocpd_with_suffix(hb_rocpd_out *r, const char *sql);

/** The process's tables, empty but for a string 1, which is empty. */
void hb_rocpd_create_tables(hb_rocpd_out *r);

void hb_rocpd_add_event(hb_rocpd_out *r, const hb_trace_event *e);

#endif
