/* SPDX-License-Identifier: MIT
 *
 * Every row of databases of rocprofv3 (rocpd), of rocmProfileData (RPD), of rocprof and of nsys,
 * with all that is told of it, odd ones among them. Tables have the columns that are read alone.
 */
#include <sqlite3.h>

#include "imported_rows.h"

static const char *keep_database(const char *name, const char *sql)
{
    sqlite3 *db;
    char *why = NULL;
    const char *path = in_dir(name);
    remove(path);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, "PRAGMA synchronous = OFF; BEGIN", NULL, NULL, &why) != SQLITE_OK ||
        sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK ||
        sqlite3_exec(db, "COMMIT", NULL, NULL, &why) != SQLITE_OK)
        fail_msg("%s", why);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    return path;
}

#define TABLE(name, columns) "CREATE TABLE " name "(" columns ");"
#define ROWS(table, rows)    "INSERT INTO " table " VALUES " rows ";"

/* ---- rocpd ---- */

#define ROCPD_MACHINE                                                                              \
    TABLE("rocpd_metadata", "tag, value")                                                          \
    ROWS("rocpd_metadata", "('other', '2'), ('schema_version', '3.1')")                            \
    TABLE("rocpd_string", "id INTEGER PRIMARY KEY, string")                                        \
    ROWS("rocpd_string",                                                                           \
         "(1, 'HIP_RUNTIME_API_EXT'), (2, 'MARKER_CORE_API'), (3, 'HSA_CORE_API'),"                \
         "(4, 'RCCL_API'), (5, 'KERNEL_DISPATCH'), (6, 'hipLaunchKernel'), (7, 'roctxRangePushA'),"\
         "(8, 'hipMemcpyAsync'), (9, 'hsa_init'), (10, 'ncclAllReduce'), (11, 'FillBuffer'),"      \
         "(12, 'hipMemsetD8'), (13, 'copy'), (14, '__hipPop'), (15, 'GPU Power'), (16, 'own')")    \
    TABLE("rocpd_info_node", "id INTEGER PRIMARY KEY, hostname, machine_id")                       \
    ROWS("rocpd_info_node", "(7, 'node7', 'a1b2'), (8, 'node8', '0000')")                          \
    TABLE("rocpd_info_process",                                                                    \
          "id INTEGER PRIMARY KEY, nid, pid, fini, end, command, environment")                     \
    ROWS("rocpd_info_process",                                                                     \
         "(1, 7, 4711, 9000, 8000, '/opt/bin/train --key=/x/y',"                                   \
         " '{\"RANK\":\"1\",\"WORLD_SIZE\":\"4\",\"SLURM_PROCID\":\"9\"}'),"                       \
         "(2, 8, 4712, 7000, 9500, 'train --a',"                                                   \
         " '{\"RANK\":\"1x\",\"OMPI_COMM_WORLD_RANK\":\"2\",\"OMPI_COMM_WORLD_SIZE\":\"5\"}'),"    \
         "(3, 9, 4713, NULL, NULL, '', '{\"RANK\":\"1234567890\",\"OMPI_COMM_WORLD_RANK\":7,"      \
         "\"SLURM_PROCID\":\"123456789\",\"SLURM_NTASKS\":\"6\"}'),"                               \
         "(4, NULL, 4714, 1, 1, NULL, '[]')")                                                      \
    TABLE("rocpd_info_thread", "id INTEGER PRIMARY KEY, tid, name")                                \
    ROWS("rocpd_info_thread", "(1, 4711, 'main'), (2, 4799, NULL), (3, 4712, '')")                 \
    TABLE("rocpd_info_agent",                                                                      \
          "id INTEGER PRIMARY KEY, pid, type, type_index, name, product_name, extdata")            \
    ROWS("rocpd_info_agent",                                                                       \
         "(0, 1, 'CPU', 0, 'EPYC', '', '{}'),"                                                     \
         "(1, 1, 'GPU', 0, 'gfx942', 'MI300X', '{\"cu_count\":304}'),"                             \
         "(2, NULL, 'GPU', 1, 'gfx90a', '', '{\"cu_count\":104}'),"                                \
         "(3, 2, 'GPU', 2, 'gfx90a', 'MI250', ''), (4, 1, 'GPU', 1024, 'far', '', '{}'),"          \
         "(5, 1, 'GPU', -1, 'none', '', '{}'), (6, 2, 'GPU', 1023, 'last', '', '{}')")             \
    TABLE("rocpd_info_kernel_symbol",                                                              \
          "id INTEGER PRIMARY KEY, display_name, kernel_name, arch_vgpr_count, accum_vgpr_count,"  \
          " sgpr_count")                                                                           \
    ROWS("rocpd_info_kernel_symbol",                                                               \
         "(1, 'gemm(float*)', '_Z4gemmPf.kd', 96, 4, 48), (2, NULL, 'plain.kd', 16, NULL, NULL),"  \
         "(3, 'shown.kd', 'x', NULL, 5, 6)")

static const char rocpd[] = ROCPD_MACHINE
    /* events without a gap; the markers' texts */
    TABLE("rocpd_event", "id INTEGER PRIMARY KEY, stack_id, category_id, extdata")
    ROWS("rocpd_event",
         "(1, 11, 1, '{}'), (2, 12, 2, '{\"message\":\"for\\\"ward\"}'),"
         "(3, 13, 2, '{\"message\":5}'), (4, 14, 3, '{}'), (5, 15, 4, '{}'), (6, -3, 1, 'x'),"
         "(7, 17, NULL, '{}'), (8, 11, 5, '{}'), (9, 19, 5, '{}'), (10, 20, 1, NULL),"
         "(11, 20, 5, '{}'), (12, 0, 2, '{\"x\":{\"message\":\"inner\"}}'), (13, 0, 1, '{}'),"
         "(14, 0, 1, '{}'), (15, 0, 1, '{}')")
    TABLE("rocpd_region", "id INTEGER PRIMARY KEY, pid, tid, start, end, name_id, event_id")
    ROWS("rocpd_region",
         "(1, 1, 1, 2200, 2210, 6, 1), (2, 1, 1, 2000, 3000, 7, 2), (3, 1, 1, 2100, 2900, 7, 3),"
         "(4, 1, 2, 2300, 2290, 9, 4), (5, 1, 2, 2310, 2320, 10, 5), (6, 1, 50, 2330, 2340, 14, 6),"
         "(7, 1, 1, 2350, 2360, 7, 7), (8, 1, 1, 2400, 2410, 8, 10), (9, 1, 1, 8000, 0, 7, NULL),"
         "(10, 1, 1, 9100, 0, 7, 99), (11, 1, 1, 0, 0, 7, -1), (12, 1, 1, -1, 5, 7, NULL),"
         "(13, 1, 1, 5, 6, 99, NULL), (14, 99, 1, 5, 6, 7, NULL), (15, NULL, 1, 5, 6, 7, NULL),"
         "(16, 2, 3, 2500, 2600, 7, 12), (17, 1, NULL, 2700, 2710, 7, NULL),"
         "(18, 1, 1, 1, 2, 6, NULL), (19, 3, 1, 10, 0, 7, NULL)")
    TABLE("rocpd_arg", "id INTEGER PRIMARY KEY, event_id, type, name, value")
    ROWS("rocpd_arg",
         "(1, 1, 'dim3', 'numBlocks', '{z=1, y=2, x=3}'), (2, 1, 'dim3', 'dimBlocks', '{x=64}'),"
         "(3, 10, 'void*', 'dst', '0x10'), (4, 10, 'size_t', 'sizeBytes', 77),"
         "(5, 10, 'x', 'kind', 'HostToDevice'), (6, 10, 'void**', 'ptr', '0x77'),"
         "(7, 8, 'void*', 'dst', '0x99'), (8, 99, 'void*', 'dst', '0x99'),"
         "(9, 4, 'void*', 'ptr', '0x30')")
    TABLE("rocpd_kernel_dispatch",
          "id INTEGER PRIMARY KEY, pid, agent_id, kernel_id, queue_id, stream_id, start, end,"
          " private_segment_size, group_segment_size, workgroup_size_x, workgroup_size_y,"
          " workgroup_size_z, grid_size_x, grid_size_y, grid_size_z, event_id")
    ROWS("rocpd_kernel_dispatch",
         "(1, 1, 1, 1, 16, 2, 2400, 2500, 32, 4096, 256, 2, 1, 512, 128, 3, 8),"
         "(2, 1, 2, 2, 17, NULL, 2510, 2520, -1, 99999999999, 64, 1, 1, 65, 1, 1, 9),"
         "(3, 2, 3, 3, NULL, 5, 2530, 2540, 0, 0, 0, 1, 1, 65, 1, 1, NULL),"
         "(4, 1, 1, 9, NULL, NULL, 2550, 2545, 0, 0, 1, 1, 1, 1, 1, 1, 99),"
         "(5, 1, 0, 1, 16, 2, 2560, 2570, 0, 0, 1, 1, 1, 1, 1, 1, 9),"
         "(6, 1, 99, 1, 16, 2, 2560, 2570, 0, 0, 1, 1, 1, 1, 1, 1, 9),"
         "(7, 1, NULL, 1, 16, 2, 2560, 2570, 0, 0, 1, 1, 1, 1, 1, 1, 9),"
         "(8, 99, 1, 1, 16, 2, 2560, 2570, 0, 0, 1, 1, 1, 1, 1, 1, 9),"
         "(9, 1, 1, 1, 16, 2, -2560, 2570, 0, 0, 1, 1, 1, 1, 1, 1, 9)")
    TABLE("rocpd_memory_copy",
          "id INTEGER PRIMARY KEY, pid, start, end, name_id, dst_agent_id, src_agent_id, size,"
          " queue_id, stream_id, event_id")
    ROWS("rocpd_memory_copy",
         "(1, 1, 2600, 2610, 13, 1, 0, NULL, 17, 1, 11), (2, 1, 2620, 2630, 13, 0, 2, 5, 17, 1, 0),"
         "(3, 1, 2640, 2650, 13, 2, 1, -7, NULL, 1, NULL), (4, 1, 2660, 2670, 11, 1, 1, 9, 3, NULL,"
         " NULL), (5, 1, 2680, 2690, 12, 1, 1, 10, NULL, NULL, NULL),"
         "(6, 99, 2680, 2690, 12, 1, 1, 10, 3, 4, NULL), (7, 1, -1, 2690, 12, 1, 1, 10, 3, 4, 1)")
    TABLE("rocpd_memory_allocate",
          "id INTEGER PRIMARY KEY, pid, tid, start, end, type, level, agent_id, size, address")
    ROWS("rocpd_memory_allocate",
         "(1, 1, 1, 100, 110, 'ALLOC', 'REAL', 1, 1000, 4096),"
         "(2, 1, 1, 120, 130, 'ALLOC', 'VIRTUAL', 0, 50, 8192),"
         "(3, 1, 2, 140, 150, 'FREE', 'REAL', NULL, 7, 4096),"
         "(4, 1, 2, 160, 170, 'RECLAIM', 'REAL', NULL, 7, 8192),"
         "(5, 1, 2, 180, 190, 'ALLOC', 'SCRATCH', 1, 7, 8192),"
         "(6, 1, 2, 200, 190, 'ALLOC', NULL, 2, -7, 8193),"
         "(7, 99, 2, 200, 190, 'ALLOC', NULL, 2, -7, 8193), (8, 1, 2, -2, 1, 'ALLOC', '', 2, 7, 1)")
    TABLE("rocpd_info_pmc", "id INTEGER PRIMARY KEY, symbol, name, units")
    ROWS("rocpd_info_pmc",
         "(1, 'WAVES', 'waves', ''), (2, '', 'BUSY', NULL), (3, 'power', 'p', 'W')")
    TABLE("rocpd_track", "id INTEGER PRIMARY KEY, pid, tid, name_id")
    ROWS("rocpd_track", "(1, 1, NULL, 15), (2, 99, 1, 15), (3, 2, 3, NULL), (4, 1, 2, 15)")
    TABLE("rocpd_sample", "id INTEGER PRIMARY KEY, track_id, timestamp, event_id, name_id")
    ROWS("rocpd_sample",
         "(1, 1, 3000, 13, NULL), (2, 4, 3100, 14, 16), (3, 3, 3200, 15, NULL),"
         "(4, 1, 3300, 99, 16), (5, 2, 3400, 15, 16), (6, 1, -5, 15, 16), (7, 9, 3500, 15, 16)")
    TABLE("rocpd_pmc_event", "id INTEGER PRIMARY KEY, event_id, pmc_id, value")
    ROWS("rocpd_pmc_event",
         "(1, 8, 1, 10), (2, 9, 2, 3.5), (3, 8, 2, 4), (4, 8, 1, 0.5), (5, 13, 3, 310),"
         "(6, 14, 1, 7), (7, 1, 1, 9), (8, 8, 9, 9), (9, 99, 1, 9), (10, 15, 1, 9)");

static const char rows_of_rocpd[] = 
    "process 4711 'train' 'node7' of rocpd 3.1 rank 1 of 4 end 9000 serialised\n"
    "NO_CALL 6\n"
    "NO_REGISTERS 1\n"
    "NO_BYTES 1\n"
    "BAD_TIMES 5\n"
    "BAD_ROWS 10\n"
    "NOT_SHOWN 2\n"
    "thread 4711 'main'\n"
    "thread 4799 ''\n"
    "thread 50 ''\n"
    "thread 0 ''\n"
    "gpu 0 'MI300X' 'gfx942' version 9.4 cus 304\n"
    "gpu 1 'gfx90a' 'gfx90a' version 9.0 cus 104\n"
    "op 4711 0 'roctxRangePushA' id 6\n"
    "op 4711 1-2 'hipLaunchKernel' id 8\n"
    "op 4711 2000-3000 'for\"ward' id 1\n"
    "op 4711 2100-2900 'roctxRangePushA' id 2\n"
    "op 4711 2350-2360 'roctxRangePushA' id 3\n"
    "op 4711 8000-9000 'roctxRangePushA' unfinished id 4\n"
    "op 4711 9100 'roctxRangePushA' unfinished id 5\n"
    "memory 4711 110 at 0x1000 gpu 0 +1000 = 1000\n"
    "memory 4711 130 at 0x2000 +50 = 50\n"
    "memory 4799 140 at 0x1000 gpu 0 -1000 = 0\n"
    "memory 4799 160 at 0x2000 -50 = 0\n"
    "memory 4799 200 at 0x2001 gpu 1 +0 = 0\n"
    "op 0 2700-2710 'roctxRangePushA' id 7\n"
    "sample 4711 3000 'GPU Power' 310 'W'\n"
    "sample 4799 3100 'own' 7\n"
    "call 4711 2200-2210 'hipLaunchKernel' no 11 in 2 launches grid 3,2,1 block 64,1,1\n"
    "call 4711 2400-2410 'hipMemcpyAsync' no 20 in 2 launches ptr 0x10 bytes 77 kind 1\n"
    "call 4799 2300 'hsa_init' no 14 ptr 0x30\n"
    "call 4799 2310-2320 'ncclAllReduce' no 15\n"
    "call 50 2330-2340 '__hipPop' minor no 1\n"
    "kernel 0/0 2550 '(kernel without name)' grid 1,1,1 block 1,1,1 of no call\n"
    "fill 0/0 2680-2690 'Memset (Device)' bytes 10 Device 0>0 of no call\n"
    "copy 0/1 2600-2610 'Memcpy HtoD (Host -> Device)' no 20 in 2 bytes 77 HtoD -1>0\n"
    "kernel 0/2 2400-2500 'gemm(float*)' no 11 in 2 grid 2,64,3 block 256,2,1 registers "
    "96,4,48 lds 4096 scratch 32 blocks 1.26316 warps 10.1053 occupancy 31.5789 by grid "
    "WAVES=10.5 BUSY=4\n"
    "fill 0/3 2660-2670 'Memset (Device)' bytes 9 Device 0>0 of no call\n"
    "copy 1/1 2620-2630 'Memcpy DtoH (Device -> Host)' bytes 5 DtoH 1>-1 of no call\n"
    "copy 1/1 2640-2650 'Memcpy PtoP (Device -> Device)' PtoP 0>1 of no call\n"
    "kernel 1/17 2510-2520 'plain' no 19 grid 2,1,1 block 64,1,1 registers 16,0,0 lds "
    "4294967295 blocks 0.0192308 warps 0.0192308 occupancy 0 by LDS BUSY=3.5 of no call\n"
    "process 4712 'train' 'node8' of rocpd 3.1 rank 2 of 5 end 9500\n"
    "NO_CALL 1\n"
    "NO_GRID 1\n"
    "NO_REGISTERS 1\n"
    "NOT_SHOWN 1\n"
    "thread 4712 ''\n"
    "gpu 1 'gfx90a' 'gfx90a' version 9.0 cus 104\n"
    "gpu 2 'MI250' 'gfx90a' version 9.0\n"
    "op 4712 2500-2600 'roctxRangePushA' id 1\n"
    "kernel 2/5 2530-2540 'shown' of no call\n"
    "process 4713 '' '' of rocpd 3.1 rank 123456789 of 6\n"
    "thread 4711 'main'\n"
    "op 4711 10 'roctxRangePushA' unfinished id 1\n";

static void rows_of_rocprofv3s_databases(void **state)
{
    static const rows_left left[] = {
        {"hip", 4, 5, 2, 10, 5, 2, 2, 3},
        {"hsa", 4, 5, 4, 10, 5, 2, 2, 1},
        {"rccl", 4, 5, 4, 10, 5, 2, 2, 1},
        {"ranges", 4, 5, 5, 0, 5, 2, 2, 11}, /* the third process has nothing else */
        {"copies", 4, 0, 5, 10, 5, 2, 2, 6},
        {"memory", 4, 5, 5, 10, 0, 2, 2, 7},
        {"counters", 4, 5, 5, 10, 5, 0, 0, 7},
    };
    const char *path = keep_database("r.db", rocpd);
    (void)state;
    check_rows(path, NULL, rows_of_rocpd);
    check_drops(path, left, HB_ARRAY_LEN(left));
}

/* Events of a file that was thinned: found by their ids, whatever those of the first ones are. */
static void events_with_gaps(void **state)
{
    static const struct {
        const char *ids[3];
    } rows[] = {{{"1", "2", "3"}}, {{"1", "2", "9"}}, {{"2", "3", "4"}}, {{"1", "3", "4000000000"}},
                {{"-5", "7", "70000"}}, {{"0", "1", "2"}}};
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(rows); i++) {
        char sql[8000];
        const char *const *id = rows[i].ids;
        snprintf(sql, sizeof sql,
                 "%s" TABLE("rocpd_event", "id INTEGER PRIMARY KEY, stack_id, category_id")
                 "INSERT INTO rocpd_event VALUES (%s, 5, 1), (%s, 6, 1), (%s, 7, 1);"
                 TABLE("rocpd_kernel_dispatch", "pid, agent_id, queue_id, start, end, event_id")
                 TABLE("rocpd_memory_copy", "start")
                 TABLE("rocpd_region", "pid, tid, start, end, name_id, event_id")
                 "INSERT INTO rocpd_region VALUES (1, 1, 10, 11, 6, %s), (1, 1, 20, 21, 6, %s),"
                 " (1, 1, 30, 31, 6, %s);",
                 ROCPD_MACHINE, id[0], id[1], id[2], id[2], id[0], id[1]);
        hb_import *import = import_dropping(keep_database("r.db", sql), NULL);
        hb_import_rows *r = &import->processes[0]->rows;
        assert_int_equal(r->calls.count, 3);
        for (uint32_t k = 0; k < 3; k++)
            assert_int_equal(((hb_import_host *)hb_column_at(&r->calls, k))->correlation,
                             k ? 4 + k : 7);
        hb_import_close(import);
    }
}

/* Rows of no process: there is nobody whose they are. */
static void files_without_a_process(void **state)
{
    (void)state;
    import_refused(keep_database("r.db", ROCPD_MACHINE
                                 "DELETE FROM rocpd_info_process;"
                                 TABLE("rocpd_event", "id INTEGER PRIMARY KEY, stack_id")
                                 TABLE("rocpd_kernel_dispatch", "start, queue_id")
                                 TABLE("rocpd_memory_copy", "start")
                                 TABLE("rocpd_region", "pid, tid, start, end, name_id, event_id")
                                 ROWS("rocpd_region", "(1, 1, 2, 3, 6, 1)")),
                   HB_ERROR_FORMAT, "nothing is in it");
}

/* ---- rocmProfileData ---- */

/* Two processes, ids from 2^32 on; calls whose grids count work-items and others; work of calls of
 * both, of none, and of one that is a range. */
static const char rpd[] =
    TABLE("rocpd_string", "id INTEGER PRIMARY KEY, string")
    ROWS("rocpd_string",
         "(1, ''), (2, 'UserMarker'), (3, 'aten::mm, seq = 7'), (4, 'hipExtModuleLaunchKernel'),"
         "(5, 'hipLaunchKernel'), (6, 'hipMemcpyAsync'), (7, 'OpTable::writeRows'),"
         "(8, 'rpdflush: 5'), (9, 'hcc_activity_callback'), (10, 'KernelExecution'),"
         "(11, 'CopyHostToDevice'), (12, 'FillBuffer'), (13, 'Barrier'), (14, 'gemm.kd'),"
         "(15, 'aten::mm'), (16, 'hipMalloc'), (17, 'ptr=0x100 | size=0x20'),"
         "(18, 'hipGetLastError'),"
         "(19, 'CopyDeviceToHost'), (20, 'hipFree'), (21, 'ptr=0x100'), (22, 'x=1|size=5 kind')")
    TABLE("rocpd_api", "id INTEGER PRIMARY KEY, pid, tid, start, end, apiName_id, args_id")
    ROWS("rocpd_api",
         "(4294967297, 15, 16, 2000, 9000, 2, 3), (4294967298, 15, 16, 2100, 2110, 4, 1),"
         "(4294967299, 15, 17, 2200, 2190, 5, 1), (4294967300, 15, 16, 2300, 2310, 6, 1),"
         "(4294967301, 15, 16, 2400, 2410, 7, 1), (4294967302, 15, 16, 2420, 2430, 8, 1),"
         "(4294967303, 15, 16, 2440, 2450, 9, 1), (4294967304, 20, 21, 2000, 2020, 5, 22),"
         "(4294967305, 15, 16, 2460, 2470, 2, 1), (4294967306, 15, 16, 2480, 2490, 99, 1),"
         "(4294967307, 15, 16, -1, 2490, 5, 1), (4294967308, 15, 16, 1400, 1410, 16, 17),"
         "(4294967309, 15, 16, 2500, 2510, 18, 1), (4294967310, 15, 16, 2520, 2530, 20, 21),"
         "(4294967311, 15, 16, 2540, 2550, 6, 1)")
    TABLE("rocpd_kernelapi",
          "api_ptr_id INTEGER PRIMARY KEY, gridX, gridY, gridZ, workgroupX, workgroupY,"
          " workgroupZ, groupSegmentSize, privateSegmentSize")
    ROWS("rocpd_kernelapi",
         "(4294967298, 512, 6, 5, 256, 2, 5, 4096, 16), (4294967299, 10, 2, 3, 64, 1, 2, '', ''),"
         "(4294967304, 5000000000, 1, 1, 1, 1, 1, 0, 0), (99, 1, 1, 1, 1, 1, 1, 1, 1)")
    TABLE("rocpd_copyapi", "api_ptr_id INTEGER PRIMARY KEY, size, kind, dst, src")
    ROWS("rocpd_copyapi",
         "(4294967297, 5, 1, '0x1', '0x2'), (4294967300, 65536, 1, '0x10', '0x20'),"
         "(4294967301, 5, 1, '0x1', '0x2'), (99, 5, 1, '0x1', '0x2'),"
         "(4294967311, 77, 2, '', '0x30')")
    TABLE("ext_autogradapi", "api_ptr_id INTEGER PRIMARY KEY, autogradName_id")
    ROWS("ext_autogradapi", "(4294967297, 15), (4294967298, 15), (4294967305, 15), (99, 15)")
    TABLE("rocpd_api_ops", "id INTEGER PRIMARY KEY, api_id, op_id")
    ROWS("rocpd_api_ops",
         "(1, 99, 4294967300), (2, 4294967298, 4294967297), (3, 4294967299, 4294967298),"
         "(4, 4294967300, 4294967299), (5, 4294967297, 4294967302), (6, 4294967304, 4294967303),"
         "(7, 4294967301, 4294967304), (8, 4294967311, 4294967306)")
    TABLE("rocpd_op",
          "id INTEGER PRIMARY KEY, gpuId, queueId, start, end, description_id, opType_id")
    ROWS("rocpd_op",
         "(4294967297, 2, 0, 2500, 2600, 14, 10), (4294967298, 4, 3, 2610, 2600, 1, 10),"
         "(4294967299, 2, 1, 2350, 2360, 1, 11), (4294967300, 2, 1, 2370, 2380, 14, 10),"
         "(4294967301, 2, 1, 2370, 2380, 1, 13), (4294967302, 2, 1, 2390, 2395, 14, 10),"
         "(4294967303, 7, 1, 2396, 2397, 14, 10), (4294967304, 2, 1, 2398, 2399, 14, 10),"
         "(4294967305, 2, 2, 2400, 2410, 1, 12), (4294967306, 2, 2, 2420, 2430, 1, 19),"
         "(4294967307, 2, 2, -2420, 2430, 14, 10), (4294967308, -3, 2, 2440, 2450, 99, 98)")
    TABLE("rocpd_monitor",
          "id INTEGER PRIMARY KEY, deviceType, deviceId, monitorType, start, value")
    ROWS("rocpd_monitor",
         "(1, 'gpu', 4, 'sclk', 2000, '134'), (2, 'gpu', 5, 'mclk', 2100, 7.5),"
         "(3, 'gpu', 4, 'temp', 2200, '40 C'), (4, 'gpu', 4, 'sclk', 2300, 'high'),"
         "(5, 'gpu', 4, 'sclk', -5, '1'), (6, 'a name of more than 20', 4, 'x', 2400, 1)");

static const char rows_of_rpd[] = 
    "process 15 '' '' of RPD 2\n"
    "NO_CALL 5\n"
    "NO_RANGE 1\n"
    "NO_GRID 4\n"
    "NO_REGISTERS 6\n"
    "BAD_TIMES 3\n"
    "BAD_ROWS 3\n"
    "OVERHEAD 3\n"
    "NOT_SHOWN 1\n"
    "thread 16 ''\n"
    "thread 17 ''\n"
    "thread 15 ''\n"
    "op 16 2000-9000 'aten::mm' id 1\n"
    "sample 15 2000 'gpu 4 sclk' 134 'MHz'\n"
    "sample 15 2100 'gpu 5 mclk' 7.5 'MHz'\n"
    "sample 15 2200 'gpu 4 temp' 40\n"
    "sample 15 2400 'a name of more than  4 x' 1\n"
    "call 16 1400-1410 'hipMalloc' no 12 ptr 0x100 bytes 32\n"
    "call 16 2100-2110 'hipExtModuleLaunchKernel' no 2 in 1 launches\n"
    "call 16 2300-2310 'hipMemcpyAsync' no 4 in 1 launches ptr 0x10 src 0x20 bytes 65536 "
    "kind 1\n"
    "call 16 2500-2510 'hipGetLastError' minor no 13 in 1\n"
    "call 16 2520-2530 'hipFree' no 14 in 1 ptr 0x100\n"
    "call 16 2540-2550 'hipMemcpyAsync' no 15 in 1 launches src 0x30 bytes 77 kind 2\n"
    "call 17 2200 'hipLaunchKernel' no 3 launches\n"
    "kernel 0/2 2440-2450 '(kernel without name)' of no call\n"
    "kernel 1/0 2500-2600 'gemm' no 2 in 1 grid 2,3,1 block 256,2,5 lds 4096 scratch 16\n"
    "copy 1/1 2350-2360 'Memcpy HtoD (Host -> Device)' no 4 in 1 bytes 65536 HtoD -1>1\n"
    "kernel 1/1 2370-2380 'gemm' of no call\n"
    "kernel 1/1 2390-2395 'gemm' of no call\n"
    "kernel 1/1 2398-2399 'gemm' of no call\n"
    "fill 1/2 2400-2410 'Memset (Device)' Device 1>1 of no call\n"
    "copy 1/2 2420-2430 'Memcpy DtoH (Device -> Host)' no 15 in 1 bytes 77 DtoH 1>-1\n"
    "kernel 2/3 2610 'KernelExecution' no 3 grid 10,2,3 block 64,1,2\n"
    "process 20 '' '' of RPD 2\n"
    "NO_REGISTERS 1\n"
    "thread 21 ''\n"
    "call 21 2000-2020 'hipLaunchKernel' no 8 launches\n"
    "kernel 0/1 2396-2397 'gemm' no 8 grid 4294967295,1,1 block 1,1,1\n";

static void rows_of_rocm_profile_data(void **state)
{
    static const rows_left left[] = {
        {"hip", 7, 3, 0, 1, 0, 4, 0, 9},
        {"ranges", 7, 3, 8, 0, 0, 4, 0, 1},
        {"copies", 7, 0, 8, 1, 0, 4, 0, 3},
        {"counters", 7, 3, 8, 1, 0, 0, 0, 6},
    };
    const char *path = keep_database("t.rpd", rpd);
    (void)state;
    check_rows(path, NULL, rows_of_rpd);
    check_drops(path, left, HB_ARRAY_LEN(left));
    /* of one GPU: memory by the calls */
    check_rows(keep_database("u.rpd",
                             TABLE("rocpd_string", "id INTEGER PRIMARY KEY, string")
                             ROWS("rocpd_string", "(1, 'hipMalloc'), (2, 'size=0x20 | ptr=0x100')")
                             TABLE("rocpd_api", "id, pid, tid, start, end, apiName_id, args_id")
                             ROWS("rocpd_api", "(7, 1, 2, 10, 20, 1, 2)")
                             TABLE("rocpd_api_ops", "op_id, api_id")),
               NULL, 
               "process 1 '' '' of RPD 2\n"
               "thread 2 ''\n"
               "memory 2 19 at 0x100 gpu 0 +32 = 32\n"
               "call 2 10-20 'hipMalloc' no 1 ptr 0x100 bytes 32\n");
}

/* ---- rocprof ---- */

#define V1_COLUMNS                                                                             \
    "BeginNs INTEGER, EndNs INTEGER, pid INTEGER, tid INTEGER, Name TEXT, args TEXT, \"Index\"" \
    " INTEGER, \"dev-id\" INTEGER, \"queue-id\" INTEGER, \"stream-id\" INTEGER"

static const char v1[] =
    "CREATE TABLE HIP (" V1_COLUMNS ");"
    ROWS("HIP", "(20, 30, 5, 6, 'hipLaunchKernel', '( numBlocks({z(1) y(2) x(3}) dimBlocks({z(1)"
                " y(1) x(64}))', 7, NULL, NULL, NULL),"
                "(31, 30, 5, 7, 'hipMemcpy', '(sizeBytes(24))', 8, 1, 2, 3),"
                "(32, 33, 5, 7, 'hipFree', NULL, -8, 1, 2, 3), (34, 35, 9, 9, '', '', 1, 1, 1, 1),"
                "(-34, 35, 5, 9, 'x', '', 1, 1, 1, 1)")
    "CREATE TABLE HSA (" V1_COLUMNS ");"
    ROWS("HSA", "(40, 41, 5, 6, 'hsa_init', 'x', 9, NULL, NULL, NULL)")
    "CREATE TABLE ROCTX (BeginNs, EndNs, pid, tid, Name);"
    ROWS("ROCTX", "(10, 90, 5, 6, 'forward')")
    "CREATE TABLE OPS (" V1_COLUMNS ");"
    ROWS("OPS", "(50, 60, 5, 6, 'gemm.kd', NULL, 7, 2, 3, 4), (61, 62, 5, 6, 'k', NULL, 0, 0,"
                " NULL, NULL), (63, 64, 5, 6, NULL, NULL, 99, NULL, 5, NULL)")
    "CREATE TABLE COPY (" V1_COLUMNS ");"
    ROWS("COPY", "(70, 80, 5, 6, 'CopyDeviceToHost', NULL, 8, 2, 1, NULL)");

static const char rows_of_v1[] = 
    "process 5 '' '' of rocprof 1\n"
    "NO_CALL 2\n"
    "NO_RANGE 1\n"
    "NO_GRID 2\n"
    "NO_REGISTERS 3\n"
    "BAD_TIMES 1\n"
    "thread 6 ''\n"
    "thread 7 ''\n"
    "op 6 10-90 'forward' id 1\n"
    "call 6 20-30 'hipLaunchKernel' no 7 in 1 launches grid 3,2,1 block 64,1,1\n"
    "call 6 40-41 'hsa_init' no 9 in 1\n"
    "call 7 31 'hipMemcpy' no 8 launches bytes 24\n"
    "call 7 32-33 'hipFree' no 1\n"
    "kernel 0/0 61-62 'k' of no call\n"
    "kernel 0/5 63-64 '(kernel without name)' no 99 of no call\n"
    "copy 1/1 70-80 'Memcpy DtoH (Device -> Host)' no 8 bytes 24 DtoH 1>-1\n"
    "kernel 1/4 50-60 'gemm' no 7 in 1 grid 3,2,1 block 64,1,1\n";

static void rows_of_rocprofs_databases(void **state)
{
    static const rows_left left[] = {
        {"hip", 3, 1, 1, 1, 0, 0, 0, 4},
        {"hsa", 3, 1, 3, 1, 0, 0, 0, 1},
        {"ranges", 3, 1, 4, 0, 0, 0, 0, 1},
        {"copies", 3, 0, 4, 1, 0, 0, 0, 1},
    };
    const char *path = keep_database("results.db", v1);
    (void)state;
    check_rows(path, NULL, rows_of_v1);
    check_drops(path, left, HB_ARRAY_LEN(left));
}

/* ---- nsys ---- */

/* Ids of threads and processes: the machine's number, the process's, the thread's. */
#define NSYS_PROCESS "((1 << 56) | (4711 << 24))"
#define NSYS_OTHER   "((2 << 56) | (4711 << 24))"
#define MAIN         "(" NSYS_PROCESS " | 4711)"
#define WORK(start, end, gpu, stream, id) \
    #start ", " #end ", " #gpu ", " #stream ", " #id ", " NSYS_PROCESS

static const char nsys[] =
    TABLE("META_DATA_EXPORT", "name, value")
    ROWS("META_DATA_EXPORT", "('A', '1'), ('EXPORT_SCHEMA_VERSION', '3.2'), ('Z', '9')")
    TABLE("StringIds", "id, value")
    ROWS("StringIds",
         "(1, 'cudaLaunchKernel_v7000'), (2, 'v_v3'), (3, '_v3'), (4, 'a_v'), (5, 'a_v7b'),"
         "(6, 'cuda70'), (7, 'x_v70'), (8, 'gemm<float>'), (9, 'gemm'), (10, 'main loop'),"
         "(11, 'backward'), (0, 'zero'), (12, '7')")
    TABLE("ThreadNames", "globalTid, nameId")
    ROWS("ThreadNames", "(" MAIN ", 10), (" MAIN " + 1, 99), (" NSYS_OTHER " | 4711, 9)")
    TABLE("CUPTI_ACTIVITY_KIND_RUNTIME", "start, end, globalTid, correlationId, nameId")
    ROWS("CUPTI_ACTIVITY_KIND_RUNTIME",
         "(20, 30, " MAIN ", 7, 1), (31, 30, " MAIN ", 8, 1), (32, 33, " MAIN " + 1, -9, 2),"
         "(34, 35, " MAIN ", 10, 3), (36, 37, " MAIN ", 11, 4), (38, 39, " MAIN ", 12, 5),"
         "(40, 41, " MAIN ", 13, 6), (42, 43, " MAIN ", 14, 7), (44, 45, " MAIN ", 15, 99),"
         "(46, 47, " MAIN ", 16, NULL), (48, 49, " MAIN ", 17, 0), (-50, 51, " MAIN ", 18, 1),"
         "(52, 53, " NSYS_OTHER " | 4711, 7, 7), (54, 55, " MAIN ", 19, 12)")
    TABLE("CUPTI_ACTIVITY_KIND_KERNEL",
          "start, end, deviceId, streamId, correlationId, globalPid, gridX, gridY, gridZ, blockX,"
          " blockY, blockZ, registersPerThread, staticSharedMemory, dynamicSharedMemory,"
          " localMemoryPerThread, demangledName, shortName")
    ROWS("CUPTI_ACTIVITY_KIND_KERNEL",
         "(" WORK(60, 70, 1, 7, 7) ", 2, 3, 4, 64, 2, 1, 40, 1024, 512, 8, 8, 9),"
         "(" WORK(71, 70, 0, -7, -8) ", 0, 3, 4, 64, 2, 1, 0, 4294967295, 1, -5, 99, 9),"
         "(" WORK(72, 73, 5000, 0, 99) ", 2, 3, 4, 0, 2, 1, NULL, 0, 0, 0, NULL, NULL),"
         "(" WORK(-72, 73, 0, 0, 99) ", 2, 3, 4, 0, 2, 1, NULL, 0, 0, 0, NULL, NULL)")
    TABLE("CUPTI_ACTIVITY_KIND_MEMCPY",
          "start, end, deviceId, streamId, correlationId, globalPid, bytes, copyKind, srcDeviceId,"
          " dstDeviceId")
    ROWS("CUPTI_ACTIVITY_KIND_MEMCPY",
         "(" WORK(80, 90, 1, 7, 8) ", 64, 1, NULL, NULL), (" WORK(91, 92, 1, 7, 0)
         ", -64, 10, 0, 2000), (" WORK(93, 94, 1, 7, 0) ", 5, 2, 0, 1), (" WORK(-93, 94, 1, 7, 0)
         ", 5, 2, 0, 1)")
    TABLE("CUPTI_ACTIVITY_KIND_MEMSET",
          "start, end, deviceId, streamId, correlationId, globalPid, bytes")
    ROWS("CUPTI_ACTIVITY_KIND_MEMSET", "(" WORK(95, 96, 1, 7, 14) ", 256), (" WORK(97, 98, 0, 2, 0)
         ", -1)")
    TABLE("CUDA_GPU_MEMORY_USAGE_EVENTS",
          "start, globalPid, deviceId, address, bytes, memKind, memoryOperationType")
    ROWS("CUDA_GPU_MEMORY_USAGE_EVENTS",
         "(10, " NSYS_PROCESS ", 1, 1, 100, 1, 0), (11, " NSYS_PROCESS ", 1, 2, 200, 2, 0),"
         "(12, " NSYS_PROCESS ", 1, 3, 300, 6, 0), (13, " NSYS_PROCESS ", 1, 4, 400, 7, 0),"
         "(14, " NSYS_PROCESS ", 0, 5, 500, NULL, NULL), (15, " NSYS_PROCESS ", 0, 5, 9, 2, 1),"
         "(16, " NSYS_PROCESS ", 0, 6, -9, 2, 2), (-17, " NSYS_PROCESS ", 0, 6, 9, 2, 0),"
         "(18, " NSYS_PROCESS ", 0, 7, 9, 2, 1)")
    TABLE("NVTX_EVENTS", "start, end, eventType, text, textId, globalTid")
    ROWS("NVTX_EVENTS",
         "(5, 99, 59, 'forward', 11, " MAIN "), (6, 50, 60, NULL, 11, " MAIN "),"
         "(7, 8, NULL, '', 11, " MAIN "), (9, NULL, 34, 'mark', NULL, " MAIN "),"
         "(10, 12, 34, 'long mark', NULL, " MAIN "), (11, NULL, 59, 'open', NULL, " MAIN "),"
         "(200, NULL, 60, 'late', NULL, " MAIN "), (1, 2, 33, 'a', NULL, " MAIN "),"
         "(1, 2, 35, 'a', NULL, " MAIN "), (1, 2, 58, 'a', NULL, " MAIN "),"
         "(1, 2, 61, 'a', NULL, " MAIN "), (1, 2, 75, 'a', NULL, " MAIN "),"
         "(1, 2, 59, NULL, NULL, " MAIN "), (-1, 2, 59, 'early', NULL, " MAIN "),"
         "(3, 4, 59, 'theirs', NULL, " NSYS_OTHER " | 5)")
    TABLE("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "globalPid")
    ROWS("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "(" NSYS_PROCESS "), (" NSYS_OTHER ")")
    TABLE("TARGET_INFO_CUDA_DEVICE", "gpuId, cudaId")
    ROWS("TARGET_INFO_CUDA_DEVICE", "(0, 1), (1, 0)")
    TABLE("TARGET_INFO_GPU",
          "id, name, totalMemory, smCount, computeMajor, computeMinor, threadsPerWarp,"
          " maxThreadsPerBlock, maxWarpsPerSm, maxShmemPerBlock, maxShmemPerSm")
    ROWS("TARGET_INFO_GPU",
         "(0, 'L4', 23000000000, 58, 8, 9, 32, 1024, 48, 49152, 102400),"
         "(1, 'A100', -5, 108, 8, 0, 32, 1025, 64, 49153, 167936), (7, 'T4', 7, 40, 7, 5, 0, 0, 0,"
         " 0, 0)")
    TABLE("PROCESSES", "globalPid, name")
    ROWS("PROCESSES", "(" NSYS_PROCESS ", '/usr/bin/train'), (" NSYS_OTHER ", 'serve'),"
                      "((3 << 56) | (4711 << 24), '/bin/other')");

#define NSYS_START(time)                                    \
    TABLE("TARGET_INFO_SESSION_START_TIME", "utcEpochNs") \
    ROWS("TARGET_INFO_SESSION_START_TIME", "(" #time ")")

static const char rows_of_nsys[] = 
    "process 4711 'train' '' of nsys 3.2\n"
    "NO_CALL 5\n"
    "NO_GRID 2\n"
    "NO_REGISTERS 1\n"
    "NO_BYTES 1\n"
    "NO_ALLOCATION 1\n"
    "BAD_TIMES 5\n"
    "BAD_ROWS 3\n"
    "NOT_SHOWN 1\n"
    "thread 4711 'main loop'\n"
    "thread 4712 ''\n"
    "gpu 0 'A100' '' version 8.0 block 1025 threads 2048 wave 32 lds 49153 cus 108 lds of a "
    "cu 167936\n"
    "gpu 1 'L4' '' memory 23000000000 version 8.9 block 1024 threads 1536 wave 32 lds 49152 "
    "cus 58 lds of a cu 102400\n"
    "gpu 7 'T4' '' memory 7 version 7.5 cus 40\n"
    "op 4711 5-99 'forward' id 1\n"
    "op 4711 6-50 'backward' id 2\n"
    "op 4711 7-8 'backward' id 3\n"
    "op 4711 9 'mark' id 4\n"
    "op 4711 10-12 'long mark' id 5\n"
    "op 4711 11-99 'open' unfinished id 6\n"
    "op 4711 200 'late' unfinished id 7\n"
    "memory 4711 10 at 0x1 +100 = 100\n"
    "memory 4711 11 at 0x2 gpu 1 +200 = 200\n"
    "memory 4711 12 at 0x3 gpu 1 +300 = 500\n"
    "memory 4711 13 at 0x4 +400 = 500\n"
    "memory 4711 14 at 0x5 gpu 0 +500 = 500\n"
    "memory 4711 15 at 0x5 gpu 0 -500 = 0\n"
    "memory 4711 16 at 0x6 gpu 0 +0 = 0\n"
    "call 4711 20-30 'cudaLaunchKernel' no 7 in 6 launches\n"
    "call 4711 31 'cudaLaunchKernel' no 8 in 6 launches\n"
    "call 4711 34-35 '_v3' no 10 in 6\n"
    "call 4711 36-37 'a_v' no 11 in 6\n"
    "call 4711 38-39 'a_v7b' no 12 in 6\n"
    "call 4711 40-41 'cuda70' no 13 in 6\n"
    "call 4711 42-43 'x' no 14 in 6 launches\n"
    "call 4711 48-49 'zero' no 17 in 6\n"
    "call 4711 54-55 '7' no 19 in 6\n"
    "call 4712 32-33 'v' no 1\n"
    "kernel 0/0 71 'gemm' registers 0,0,0 lds 4294967295 of no call\n"
    "fill 0/2 97-98 'Memset (Device)' Device 0>0 of no call\n"
    "kernel 1/7 60-70 'gemm<float>' no 7 in 6 grid 2,3,4 block 64,2,1 registers 40,0,0 lds "
    "1536 scratch 8\n"
    "copy 1/7 80-90 'Memcpy HtoD (Host -> Device)' no 8 in 6 bytes 64 HtoD -1>1\n"
    "copy 1/7 91-92 'Memcpy PtoP (Device -> Device)' PtoP 0>1023 of no call\n"
    "copy 1/7 93-94 'Memcpy DtoH (Device -> Host)' bytes 5 DtoH 0>-1 of no call\n"
    "fill 1/7 95-96 'Memset (Device)' no 14 in 6 bytes 256 Device 1>1\n"
    "kernel 1023/0 72-73 '(kernel without name)' no 99 of no call\n"
    "process 4711 'serve' '' of nsys 3.2\n"
    "NOT_SHOWN 1\n"
    "thread 4711 'gemm'\n"
    "thread 5 ''\n"
    "op 5 3-4 'theirs' id 1\n"
    "call 4711 52-53 'x' no 7\n";

static void rows_of_nsyss_databases(void **state)
{
    static const rows_left left[] = {
        {"hip", 3, 5, 0, 8, 8, 0, 0, 14},    {"ranges", 3, 5, 11, 0, 8, 0, 0, 10},
        {"copies", 3, 0, 11, 8, 8, 0, 0, 6}, {"memory", 3, 5, 11, 8, 0, 0, 0, 9},
    };
    static const struct {
        const char *start;
        int64_t expected; /* 0: not told */
    } starts[] = {{"", 0}, {NSYS_START(0), 0}, {NSYS_START(-5), 0}, {NSYS_START(1), 1}};
    const char *path = keep_database("n.db", nsys);
    (void)state;
    check_rows(path, NULL, rows_of_nsys);
    check_drops(path, left, HB_ARRAY_LEN(left));
    for (size_t i = 0; i < HB_ARRAY_LEN(starts); i++) {
        char sql[sizeof nsys + 200];
        snprintf(sql, sizeof sql, "%s%s", nsys, starts[i].start);
        hb_import *import = import_dropping(keep_database("n.db", sql), NULL);
        for (size_t k = 0; k < hb_import_count(import); k++) {
            const hb_import_process *p = import->processes[k];
            assert_int_equal(p->clock_is_unix, starts[i].expected > 0);
            if (starts[i].expected) assert_int_equal(p->offset, starts[i].expected);
        }
        hb_import_close(import);
    }
}

/* ---- what is known ---- */

/* Tables tell what a database is, also where its schema lies behind other pages; of rocprof's,
 * which have names of one word, just these. */
static void databases_by_their_tables(void **state)
{
    static const struct {
        const char *table, *format; /* NULL: of none that is known */
    } rows[] = {
        {"rocpd_info_node", "rocpd"}, {"rocpd_info_", "rocpd"}, {"rocpd_api_ops", "RPD"},
        {"OPS", "rocprof"},           {"HIP", "rocprof"},       {"ROCTX", "rocprof"},
        {"OPS2", NULL},               {"xOPS", NULL},           {"NVTX_EVENTS", "nsys"},
        {"NVTX_EVENT", NULL},         {"CUPTI_ACTIVITY_KIND_RUNTIME", "nsys"},
        {"rocpd_info", NULL},
    };
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(rows); i++)
        for (int far = 0; far < 2; far++) {
            char sql[8000];
            size_t n = (size_t)snprintf(
                sql, sizeof sql, "CREATE TABLE filler(x);%s",
                far ? "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 99)"
                      "INSERT INTO filler SELECT zeroblob(3000) FROM n;"
                    : "");
            for (int k = 0; far && k < 60; k++)
                n += (size_t)snprintf(sql + n, sizeof sql - n,
                                      "CREATE TABLE others%d(a_long_name_of_a_column, b_also);", k);
            snprintf(sql + n, sizeof sql - n, "CREATE TABLE %s (x);", rows[i].table);
            const hb_import_format *format = hb_import_format_of(keep_database("t.db", sql));
            const char *expected = rows[i].format ? rows[i].format : "SQLite";
            assert_non_null(format);
            if (strcmp(format->name, expected) != 0)
                fail_msg("%s: %s", rows[i].table, format->name);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(rows_of_rocprofv3s_databases),
        IN_DIR(events_with_gaps),
        IN_DIR(files_without_a_process),
        IN_DIR(rows_of_rocm_profile_data),
        IN_DIR(rows_of_rocprofs_databases),
        IN_DIR(rows_of_nsyss_databases),
        IN_DIR(databases_by_their_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
