/* SPDX-License-Identifier: MIT */
#include "export/rocpd_views.h"

#include <stdio.h>

#include "base/base.h"
#include "export/rocpd_schema.h"

/* What is asked for most, with ids resolved. */
static const char named_views[] =
    "CREATE VIEW kernels AS SELECT K.id, K.guid, K.tid, C.string AS category, R.string AS region,"
    " S.display_name AS name, K.nid, P.pid, A.absolute_index AS agent_abs_index,"
    " A.logical_index AS agent_log_index, A.type_index AS agent_type_index, A.type AS agent_type,"
    " S.code_object_id, K.kernel_id, K.dispatch_id, K.stream_id, K.queue_id, Q.name AS queue,"
    " T.name AS stream, K.start, K.end, K.end - K.start AS duration, K.grid_size_x AS grid_x,"
    " K.grid_size_y AS grid_y, K.grid_size_z AS grid_z, K.workgroup_size_x AS workgroup_x,"
    " K.workgroup_size_y AS workgroup_y, K.workgroup_size_z AS workgroup_z,"
    " K.group_segment_size AS lds_size, K.private_segment_size AS scratch_size,"
    " S.arch_vgpr_count AS vgpr_count, S.accum_vgpr_count, S.sgpr_count, E.stack_id,"
    " E.parent_stack_id, E.correlation_id AS corr_id FROM rocpd_kernel_dispatch K"
    " JOIN rocpd_info_agent A ON A.id = K.agent_id AND A.guid = K.guid"
    " JOIN rocpd_event E ON E.id = K.event_id AND E.guid = K.guid"
    " JOIN rocpd_string C ON C.id = E.category_id AND C.guid = E.guid"
    " LEFT JOIN rocpd_string R ON R.id = K.region_name_id AND R.guid = K.guid"
    " JOIN rocpd_info_kernel_symbol S ON S.id = K.kernel_id AND S.guid = K.guid"
    " JOIN rocpd_info_process P ON P.id = K.pid AND P.guid = K.guid"
    " LEFT JOIN rocpd_info_stream T ON T.id = K.stream_id AND T.guid = K.guid"
    " LEFT JOIN rocpd_info_queue Q ON Q.id = K.queue_id AND Q.guid = K.guid;"
    "CREATE VIEW regions AS SELECT R.id, R.guid, C.string AS category, N.string AS name, R.nid,"
    " P.pid, T.tid, R.start, R.end, R.end - R.start AS duration, R.event_id, E.stack_id,"
    " E.parent_stack_id, E.correlation_id AS corr_id, E.extdata FROM rocpd_region R"
    " JOIN rocpd_event E ON E.id = R.event_id AND E.guid = R.guid"
    " JOIN rocpd_string C ON C.id = E.category_id AND C.guid = E.guid"
    " JOIN rocpd_string N ON N.id = R.name_id AND N.guid = R.guid"
    " JOIN rocpd_info_process P ON P.id = R.pid AND P.guid = R.guid"
    " JOIN rocpd_info_thread T ON T.id = R.tid AND T.guid = R.guid;"
    "CREATE VIEW memory_copies AS SELECT M.id, M.guid, N.string AS name, P.pid, M.start, M.end,"
    " M.end - M.start AS duration, M.size, M.queue_id, M.stream_id, D.type AS dst_agent_type,"
    " D.type_index AS dst_agent_type_index, S.type AS src_agent_type,"
    " S.type_index AS src_agent_type_index, E.stack_id FROM rocpd_memory_copy M"
    " JOIN rocpd_event E ON E.id = M.event_id AND E.guid = M.guid"
    " JOIN rocpd_string N ON N.id = M.name_id AND N.guid = M.guid"
    " JOIN rocpd_info_process P ON P.id = M.pid AND P.guid = M.guid"
    " LEFT JOIN rocpd_info_agent D ON D.id = M.dst_agent_id AND D.guid = M.guid"
    " LEFT JOIN rocpd_info_agent S ON S.id = M.src_agent_id AND S.guid = M.guid;";

enum { MOST_PARTS = 400 }; /* SQLite takes no more than 500 of one union, but unions of unions */

/* A view over a table's parts, each of which ends in its process's guid. */
static int create_view(sqlite3 *db, hb_buf *sql, const char *name)
{
    sqlite3_stmt *s;
    const char *find = "SELECT name FROM sqlite_master WHERE type = 'table' AND "
                       "name LIKE ? || '\\_________\\_%' ESCAPE '\\'";
    char table[100];
    snprintf(table, sizeof table, "rocpd_%s", name);
    if (sqlite3_prepare_v2(db, find, -1, &s, NULL) != SQLITE_OK) return sqlite3_errcode(db);
    sqlite3_bind_text(s, 1, table, -1, SQLITE_STATIC);
    sql->size = 0;
    hb_buf_printf(sql, "CREATE VIEW %s AS ", table);
    uint32_t parts = 0;
    for (; sqlite3_step(s) == SQLITE_ROW; parts++) {
        if (parts % MOST_PARTS == 0)
            hb_buf_str(sql, parts ? ") UNION ALL SELECT * FROM (" : "SELECT * FROM (");
        hb_buf_printf(sql, "%sSELECT * FROM \"%s\"", parts % MOST_PARTS ? " UNION ALL " : "",
                      (const char *)sqlite3_column_text(s, 0));
    }
    hb_buf_str(sql, ")");
    sqlite3_finalize(s);
    return sqlite3_exec(db, hb_buf_text(sql), NULL, NULL, NULL);
}

int hb_rocpd_create_views(sqlite3 *db)
{
    static const char *const names[] = {
#define NAME(name, columns) name,
        HB_ROCPD_TABLES(NAME)
#undef NAME
    };
    hb_buf sql;
    int code = SQLITE_OK;
    hb_buf_init(&sql, 1 << 20);
    for (size_t i = 0; i < HB_ARRAY_LEN(names) && code == SQLITE_OK; i++)
        code = create_view(db, &sql, names[i]);
    hb_buf_free(&sql);
    return code == SQLITE_OK ? sqlite3_exec(db, named_views, NULL, NULL, NULL) : code;
}
