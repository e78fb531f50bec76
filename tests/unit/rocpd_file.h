/* SPDX-License-Identifier: MIT
 *
 * Databases as rocprofv3 of ROCm 7 writes them, with the columns of AMD's published schema 3.0.0,
 * made here: a file of a real run may not be copied. Fill them by SQL.
 */
#ifndef HB_TEST_ROCPD_FILE_H
#define HB_TEST_ROCPD_FILE_H

#include <sqlite3.h>

#include "test_dir.h"

#define GUID "_00000b0a_0000_7000_8000_0123456789ab"

static const char rocpd_schema[] =
    "CREATE TABLE rocpd_metadata" GUID "(id INTEGER PRIMARY KEY, tag TEXT, value TEXT);"
    "CREATE TABLE rocpd_string" GUID "(id INTEGER PRIMARY KEY, guid TEXT, string TEXT);"
    "CREATE TABLE rocpd_info_node" GUID "(id INTEGER PRIMARY KEY, guid TEXT, hash INTEGER,"
    " machine_id TEXT, system_name TEXT, hostname TEXT);"
    "CREATE TABLE rocpd_info_process" GUID "(id INTEGER PRIMARY KEY, guid TEXT, nid INTEGER,"
    " ppid INTEGER, pid INTEGER, init INTEGER, fini INTEGER, start INTEGER, end INTEGER,"
    " command TEXT, environment TEXT, extdata TEXT);"
    "CREATE TABLE rocpd_info_thread" GUID "(id INTEGER PRIMARY KEY, guid TEXT, nid INTEGER,"
    " ppid INTEGER, pid INTEGER, tid INTEGER, name TEXT, start INTEGER, end INTEGER);"
    "CREATE TABLE rocpd_info_agent" GUID "(id INTEGER PRIMARY KEY, guid TEXT, nid INTEGER,"
    " pid INTEGER, type TEXT, absolute_index INTEGER, logical_index INTEGER, type_index INTEGER,"
    " name TEXT, product_name TEXT, extdata TEXT);"
    "CREATE TABLE rocpd_info_queue" GUID "(id INTEGER PRIMARY KEY, name TEXT);"
    "CREATE TABLE rocpd_info_stream" GUID "(id INTEGER PRIMARY KEY, name TEXT);"
    "CREATE TABLE rocpd_info_pmc" GUID "(id INTEGER PRIMARY KEY, guid TEXT, nid INTEGER,"
    " pid INTEGER, agent_id INTEGER, name TEXT, symbol TEXT, units TEXT DEFAULT '');"
    "CREATE TABLE rocpd_info_kernel_symbol" GUID "(id INTEGER PRIMARY KEY, guid TEXT, nid INTEGER,"
    " pid INTEGER, code_object_id INTEGER, kernel_name TEXT, display_name TEXT,"
    " group_segment_size INTEGER, private_segment_size INTEGER, sgpr_count INTEGER,"
    " arch_vgpr_count INTEGER, accum_vgpr_count INTEGER);"
    "CREATE TABLE rocpd_track" GUID "(id INTEGER PRIMARY KEY, guid TEXT, nid INTEGER, pid INTEGER,"
    " tid INTEGER, name_id INTEGER);"
    "CREATE TABLE rocpd_event" GUID "(id INTEGER PRIMARY KEY, guid TEXT, category_id INTEGER,"
    " stack_id INTEGER, parent_stack_id INTEGER, correlation_id INTEGER, call_stack TEXT,"
    " line_info TEXT, extdata TEXT DEFAULT '{}');"
    "CREATE TABLE rocpd_arg" GUID "(id INTEGER PRIMARY KEY, guid TEXT, event_id INTEGER,"
    " position INTEGER, type TEXT, name TEXT, value TEXT);"
    "CREATE TABLE rocpd_pmc_event" GUID "(id INTEGER PRIMARY KEY, guid TEXT, event_id INTEGER,"
    " pmc_id INTEGER, value REAL);"
    "CREATE TABLE rocpd_region" GUID "(id INTEGER PRIMARY KEY, guid TEXT, nid INTEGER, pid INTEGER,"
    " tid INTEGER, start BIGINT, end BIGINT, name_id INTEGER, event_id INTEGER);"
    "CREATE TABLE rocpd_sample" GUID "(id INTEGER PRIMARY KEY, guid TEXT, track_id INTEGER,"
    " timestamp BIGINT, event_id INTEGER);"
    "CREATE TABLE rocpd_kernel_dispatch" GUID "(id INTEGER PRIMARY KEY, guid TEXT, nid INTEGER,"
    " pid INTEGER, tid INTEGER, agent_id INTEGER, kernel_id INTEGER, dispatch_id INTEGER,"
    " queue_id INTEGER, stream_id INTEGER, start BIGINT, end BIGINT, private_segment_size INTEGER,"
    " group_segment_size INTEGER, workgroup_size_x INTEGER, workgroup_size_y INTEGER,"
    " workgroup_size_z INTEGER, grid_size_x INTEGER, grid_size_y INTEGER, grid_size_z INTEGER,"
    " region_name_id INTEGER, event_id INTEGER);"
    "CREATE TABLE rocpd_memory_copy" GUID "(id INTEGER PRIMARY KEY, guid TEXT, nid INTEGER,"
    " pid INTEGER, tid INTEGER, start BIGINT, end BIGINT, name_id INTEGER, dst_agent_id INTEGER,"
    " dst_address INTEGER, src_agent_id INTEGER, src_address INTEGER, size INTEGER,"
    " queue_id INTEGER, stream_id INTEGER, event_id INTEGER);"
    "CREATE TABLE rocpd_memory_allocate" GUID "(id INTEGER PRIMARY KEY, guid TEXT, nid INTEGER,"
    " pid INTEGER, tid INTEGER, agent_id INTEGER, type TEXT, level TEXT, start BIGINT, end BIGINT,"
    " address INTEGER, size INTEGER, event_id INTEGER);";

/* A node with two processors and two GPUs, of which the second is used; a process 4711 with a
 * secret in its environment; what rows name: strings 1 to 15, two kernels. */
static const char rocpd_machine[] =
    "INSERT INTO rocpd_metadata" GUID " VALUES (1, 'schema_version', '3');"
    "INSERT INTO rocpd_info_node" GUID "(id, machine_id, hostname) VALUES (7, 'a1b2', 'node7');"
    "INSERT INTO rocpd_info_process" GUID "(id, nid, pid, start, end, fini, command, environment)"
    " VALUES (1, 7, 4711, 1000000, 9000000, 9000000, '/opt/bin/train --key=hunter2',"
    " '{\"API_TOKEN\":\"hunter2\",\"RANK\":\"1\",\"WORLD_SIZE\":\"2\"}');"
    "INSERT INTO rocpd_info_thread" GUID "(id, pid, tid, name) VALUES (1, 1, 4711, 'main');"
    "INSERT INTO rocpd_info_agent" GUID "(id, pid, type, absolute_index, type_index, name,"
    " product_name, extdata) VALUES (0, 1, 'CPU', 0, 0, 'EPYC', '', '{}'),"
    " (1, 1, 'CPU', 1, 1, 'EPYC', '', '{}'),"
    " (2, 1, 'GPU', 2, 0, 'gfx942', 'AMD Instinct MI300X', '{\"cu_count\":304}'),"
    " (3, 1, 'GPU', 3, 1, 'gfx942', 'AMD Instinct MI300X', '{\"cu_count\":304,\"simd_per_cu\":4,"
    "\"max_waves_per_simd\":8,\"wave_front_size\":64,\"lds_size_in_kb\":64,"
    "\"gfx_target_version\":90402,\"workgroup_max_size\":1024,"
    "\"max_engine_clk_fcompute\":2100,\"mem_banks\":[{\"size_in_bytes\":206141652992,"
    "\"width\":8192,\"mem_clk_max\":1300}]}');"
    "INSERT INTO rocpd_string" GUID "(id, string) VALUES (1, ''), (2, 'HIP_RUNTIME_API_EXT'),"
    " (3, 'HIP_COMPILER_API_EXT'), (4, 'MARKER_CORE_API'), (5, 'KERNEL_DISPATCH'),"
    " (6, 'MEMORY_COPY'), (7, 'hipLaunchKernel'), (8, '__hipPushCallConfiguration'),"
    " (9, 'hipMemcpyAsync'), (10, 'roctxRangePushA'), (11, 'MEMORY_COPY_HOST_TO_DEVICE'),"
    " (12, 'hipMalloc'), (13, 'hipDeviceSynchronize'), (14, 'GPU Power'), (15, 'HSA_CORE_API'),"
    " (16, 'hsa_queue_create');"
    "INSERT INTO rocpd_info_kernel_symbol" GUID "(id, kernel_name, display_name, sgpr_count,"
    " arch_vgpr_count, accum_vgpr_count) VALUES"
    " (1, '_Z4gemmPf.kd', 'gemm(float*)', 48, 96, 4), (2, 'plain.kd', NULL, 16, 8, 0);";

static inline sqlite3 *rocpd_open(const char *path)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    return db;
}

static inline void rocpd_sql(sqlite3 *db, const char *sql)
{
    char *why = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK) fail_msg("%s: %s", why, sql);
}

/* Of the form above, and what `sql` adds. */
static inline void rocpd_make(const char *path, const char *sql)
{
    remove(path);
    sqlite3 *db = rocpd_open(path);
    rocpd_sql(db, "BEGIN");
    rocpd_sql(db, rocpd_schema);
    rocpd_sql(db, rocpd_machine);
    rocpd_sql(db, sql);
    rocpd_sql(db, "COMMIT");
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

#endif
