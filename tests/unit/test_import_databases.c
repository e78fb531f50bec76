/* SPDX-License-Identifier: MIT
 *
 * Databases of rocmProfileData (RPD), of rocprof (v1) and of nsys: a real one, and small ones made
 * here, that of nsys with the tables and columns of its exports.
 */
#include <sqlite3.h>

#include "export/rocpd_schema.h"
#include "export/rocpd_views.h"
#include "imported.h"

static const char *make_database(const char *name, const char *sql)
{
    sqlite3 *db;
    char *why = NULL;
    const char *path = in_dir(name);
    remove(path);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK) fail_msg("%s", why);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    return path;
}

/* Ids count from 2^32, as in sessions; a graph's launch of two kernels; a call of the recorder. */
static const char rpd[] =
    "CREATE TABLE rocpd_metadata(id INTEGER PRIMARY KEY, tag, value);"
    "INSERT INTO rocpd_metadata VALUES (1, 'schema_version', '2');"
    "CREATE TABLE rocpd_string(id INTEGER PRIMARY KEY, string);"
    "INSERT INTO rocpd_string VALUES (1, ''), (2, 'UserMarker'), (3, 'aten::mm, seq = 7'),"
    " (4, 'hipExtModuleLaunchKernel'), (5, 'hipGraphLaunch'), (6, 'hipMemcpyAsync'),"
    " (7, 'OpTable::writeRows'), (8, 'KernelExecution'), (9, 'Task'), (10, 'CopyHostToDevice'),"
    " (11, '_Z4gemmPfi'), (12, 'softmax'), (13, 'Barrier'), (14, 'hipMalloc'),"
    " (15, 'ptr=0x7f3ea0600000 | size=0x200000'), (16, 'aten::mm'), (17, 'hipLaunchKernel');"
    "CREATE TABLE rocpd_api(id INTEGER PRIMARY KEY, pid, tid, start, end, apiName_id, args_id);"
    "INSERT INTO rocpd_api VALUES (4294967297, 1560, 1561, 2000000, 9000000, 2, 3),"
    " (4294967298, 1560, 1561, 2100000, 2110000, 4, 1),"
    " (4294967299, 1560, 1561, 2200000, 2210000, 5, 1),"
    " (4294967300, 1560, 1561, 2300000, 2310000, 6, 1),"
    " (4294967301, 1560, 1561, 2400000, 2410000, 7, 1),"
    " (4294967302, 1560, 1561, 1400000, 1410000, 14, 15),"
    " (4294967303, 1560, 1561, 2420000, 2430000, 17, 1);"
    "CREATE TABLE rocpd_op(id INTEGER PRIMARY KEY, gpuId, queueId, start, end, description_id,"
    " opType_id);"
    "INSERT INTO rocpd_op VALUES (4294967297, 2, 0, 2500000, 2600000, 11, 8),"
    " (4294967298, 2, 0, 2600000, 2700000, 12, 9), (4294967299, 2, 0, 2700000, 2800000, 12, 9),"
    " (4294967300, 2, 1, 2350000, 2360000, 1, 10), (4294967301, 2, 1, 2350000, 2360000, 1, 13),"
    " (4294967302, 2, 0, 2900000, 2950000, 11, 8);"
    "CREATE TABLE rocpd_api_ops(id INTEGER PRIMARY KEY, api_id, op_id);"
    "INSERT INTO rocpd_api_ops VALUES (1, 4294967298, 4294967297), (2, 4294967299, 4294967298),"
    " (3, 4294967299, 4294967299), (4, 4294967300, 4294967300), (5, 4294967303, 4294967302);"
    "CREATE TABLE rocpd_kernelapi(api_ptr_id INTEGER PRIMARY KEY, stream, gridX, gridY, gridZ,"
    " workgroupX, workgroupY, workgroupZ, groupSegmentSize, privateSegmentSize);"
    "INSERT INTO rocpd_kernelapi VALUES (4294967298, '0x0', 227328, 1, 1, 256, 1, 1, 4096, ''),"
    " (4294967303, '0x0', 10, 2, 1, 64, 1, 1, '', '');"
    "CREATE TABLE rocpd_copyapi(api_ptr_id INTEGER PRIMARY KEY, size, kind, dst, src);"
    "INSERT INTO rocpd_copyapi VALUES (4294967300, 65536, 1, '0x7f59c1260000', '0x7f5562b2a800');"
    "CREATE TABLE ext_autogradapi(api_ptr_id INTEGER PRIMARY KEY, autogradName_id, seq, sizes);"
    "INSERT INTO ext_autogradapi VALUES (4294967297, 16, 7, '');"
    "CREATE TABLE rocpd_monitor(id INTEGER PRIMARY KEY, deviceType, deviceId, monitorType, start,"
    " end, value);"
    "INSERT INTO rocpd_monitor VALUES (1, 'gpu', 4, 'sclk', 2000000, 3000000, '134'),"
    " (2, 'gpu', 4, 'sclk', 3000000, 4000000, 'high');";

static void rpd_as_it_was(void **state)
{
    (void)state;
    static const char *const parts[] = {
        "\"name\": \"aten::mm\"",
        "\"grid\":     [888, 1, 1], \"block\":     [256, 1, 1]", /* of work-items */
        "\"grid\":     [10, 2, 1], \"block\":     [64, 1, 1]",   /* of blocks */
        "\"bytes\": 65536",
        "\"dst\": \"0x7f59c1260000\"",
        "\"Total Allocated\": 2097152",
        "\"name\": \"gpu 4 sclk\"",
        "\"MHz\": 134",
    };
    hb_import *import = import_with(make_database("t.rpd", rpd), NULL);
    const hb_imported *p = hb_import_get(import, 0);
    assert_string_equal(p->format, "RPD");
    assert_int_equal(p->pid, 1560);
    assert_int_equal(p->kernels, 4);
    assert_int_equal(p->copies, 1);
    assert_int_equal(p->calls, 5);
    assert_int_equal(p->ranges, 1);
    assert_int_equal(p->linked, 5);
    assert_int_equal(p->samples, 1);
    assert_int_equal(note_of(p, "OVERHEAD"), 1);
    assert_int_equal(note_of(p, "NOT_SHOWN"), 1);
    assert_int_equal(note_of(p, "BAD_ROWS"), 1);
    assert_int_equal(note_of(p, "NO_GRID"), 2);
    char *text = written_text(import, 0);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        HAS(text, parts[i]);
    HAS_NOT(text, "writeRows");
    free(text);
    hb_import_close(import);
}

/* Which GPU a call's memory is of, nobody says where there are several. */
static void memory_of_calls_is_one_gpus(void **state)
{
    static const char *const gpus[] = {"", "UPDATE rocpd_op SET gpuId = 3 WHERE id = 4294967302;"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        char sql[sizeof rpd + 100];
        snprintf(sql, sizeof sql, "%s%s", rpd, gpus[i]);
        hb_import *import = import_with(make_database("t.rpd", sql), NULL);
        assert_int_equal(hb_import_get(import, 0)->gpus, i + 1);
        assert_int_equal(hb_import_get(import, 0)->allocations, !i);
        hb_import_close(import);
    }
}

static void a_real_rpd(void **state)
{
    (void)state;
    hb_import *import = import_with(TEST_DATA "/matmul_result.rpd.gz", NULL);
    const hb_imported *p = hb_import_get(import, 0);
    assert_int_equal(p->kernels, 29);
    assert_int_equal(p->copies, 56);
    assert_int_equal(p->calls, 120);
    assert_int_equal(p->linked, 85);
    assert_int_equal(p->allocations, 5);
    assert_int_equal(p->samples, 15);
    hb_import_close(import);
}

static const char rocprof[] =
    "CREATE TABLE HIP (\"BeginNs\" INTEGER, \"EndNs\" INTEGER, \"pid\" INTEGER, \"tid\" INTEGER,"
    " \"Name\" TEXT, \"args\" TEXT, \"Index\" INTEGER);"
    "INSERT INTO HIP VALUES (2000000, 2010000, 517, 518, 'hipMemcpy', '( dst(0x7f13d6a00000)"
    " src(0x741bb00) sizeBytes(24) kind(1) stream(1))', 99),"
    " (2200000, 2210000, 517, 518, 'hipLaunchKernel', '( kernel(a(b)) numBlocks({z(1) y(2) x(3})"
    " dimBlocks({z(1) y(1) x(256}) sharedMemBytes(0) stream(1))', 117);"
    "CREATE TABLE ROCTX (\"BeginNs\" INTEGER, \"EndNs\" INTEGER, \"pid\" INTEGER, \"tid\" INTEGER,"
    " \"Name\" TEXT);"
    "INSERT INTO ROCTX VALUES (1900000, 3000000, 517, 518, 'forward');"
    "CREATE TABLE OPS (\"BeginNs\" INTEGER, \"EndNs\" INTEGER, \"dev-id\" INTEGER,"
    " \"queue-id\" INTEGER, \"Name\" TEXT, \"pid\" INTEGER, \"tid\" INTEGER,"
    " \"stream-id\" INTEGER, \"Index\" INTEGER);"
    "INSERT INTO OPS VALUES (2300000, 2400000, 2, 0, 'gemm.kd', 517, 518, 1, 117);"
    "CREATE TABLE COPY (\"BeginNs\" INTEGER, \"EndNs\" INTEGER, \"dev-id\" INTEGER,"
    " \"queue-id\" INTEGER, \"Name\" TEXT, \"pid\" INTEGER, \"tid\" INTEGER,"
    " \"stream-id\" INTEGER, \"Index\" INTEGER);"
    "INSERT INTO COPY VALUES (2050000, 2060000, 2, 0, 'CopyHostToDevice', 517, 518, 1, 99);";

static void database_of_rocprof(void **state)
{
    (void)state;
    hb_import *import = import_with(make_database("results.db", rocprof), NULL);
    const hb_imported *p = hb_import_get(import, 0);
    assert_string_equal(p->format, "rocprof");
    assert_int_equal(p->kernels, 1);
    assert_int_equal(p->copies, 1);
    assert_int_equal(p->calls, 2);
    assert_int_equal(p->ranges, 1);
    assert_int_equal(p->linked, 2);
    char *text = written_text(import, 0);
    HAS(text, "\"name\": \"gemm\"");
    HAS(text, "\"grid\":     [3, 2, 1], \"block\":     [256, 1, 1]");
    HAS(text, "\"bytes\": 24");
    HAS(text, "\"device\": 0, \"stream\": 1");
    free(text);
    hb_import_close(import);
}

/* Ids of threads as nsys makes them: machine, process, thread. */
#define GLOBAL "(1 << 56 | 4711 << 24)"
#define SECRET "token-that-stays"

/* Two machines' numbers differ; a graph of two kernels; ranges by text, by id, without an end. */
static const char nsys[] =
    "CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);"
    "INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel_v7000'), (2, 'cudaMemcpyAsync_v3020'),"
    " (3, 'cudaGraphLaunch_v10000'), (4, 'void gemm<float>(float*)'), (5, 'gemm'),"
    " (6, 'relu'), (7, 'backward'), (8, 'main loop'), (9, '" SECRET "'), (10, 'cudaMalloc_v3020');"
    "CREATE TABLE META_DATA_EXPORT(name TEXT, value TEXT);"
    "INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '3.24.14');"
    "CREATE TABLE TARGET_INFO_SESSION_START_TIME(utcEpochNs INTEGER, utcTime TEXT);"
    "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1790000000000000000, '');"
    "CREATE TABLE TARGET_INFO_SYSTEM_ENV(globalVid INTEGER, name TEXT, value TEXT);"
    "INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES (1, 'TOKEN', '" SECRET "');"
    "CREATE TABLE ProcessStreams(globalPid INTEGER, filenameId INTEGER, contentId INTEGER);"
    "INSERT INTO ProcessStreams VALUES (" GLOBAL ", 9, 9);"
    "CREATE TABLE PROCESSES(globalPid INTEGER, pid INTEGER, name TEXT);"
    "INSERT INTO PROCESSES VALUES (" GLOBAL ", 4711, '/usr/bin/train'),"
    " (1 << 56 | 99 << 24, 99, '/bin/" SECRET "');"
    "CREATE TABLE ThreadNames(nameId INTEGER, priority INTEGER, globalTid INTEGER);"
    "INSERT INTO ThreadNames VALUES (8, 0, " GLOBAL " | 4712);"
    "CREATE TABLE TARGET_INFO_GPU(id INTEGER, name TEXT, totalMemory INTEGER, smCount INTEGER,"
    " computeMajor INTEGER, computeMinor INTEGER, threadsPerWarp INTEGER);"
    "INSERT INTO TARGET_INFO_GPU VALUES (0, 'NVIDIA L4', 23000000000, 58, 8, 9, 32),"
    " (1, 'NVIDIA A100', 42000000000, 108, 8, 0, 32);"
    "CREATE TABLE TARGET_INFO_CUDA_DEVICE(gpuId INTEGER, cudaId INTEGER, pid INTEGER);"
    "INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (0, 1, 4711), (1, 0, 4711);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INTEGER, end INTEGER, eventClass INTEGER,"
    " globalTid INTEGER, correlationId INTEGER, nameId INTEGER, returnValue INTEGER);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES"
    " (2000, 2500, 0, " GLOBAL " | 4712, 11, 1, 0), (3000, 3500, 0, " GLOBAL " | 4712, 12, 2, 0),"
    " (4000, 4500, 0, " GLOBAL " | 4712, 13, 3, 0), (1000, 1500, 0, " GLOBAL " | 4712, 14, 10, 0),"
    " (5000, 5500, 0, " GLOBAL " | 4712, 15, 77, 0);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER, end INTEGER, deviceId INTEGER,"
    " contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER,"
    " demangledName INTEGER, shortName INTEGER, registersPerThread INTEGER, gridX INTEGER,"
    " gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER,"
    " staticSharedMemory INTEGER, dynamicSharedMemory INTEGER, localMemoryPerThread INTEGER);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES"
    " (2600, 2900, 0, 1, 7, 11, " GLOBAL ", 4, 5, 40, 12, 2, 1, 128, 1, 1, 1024, 512, 0),"
    " (4600, 4700, 0, 1, 7, 13, " GLOBAL ", 99, 5, 32, 1, 1, 1, 32, 1, 1, 0, 0, 0),"
    " (4700, 4800, 0, 1, 7, 13, " GLOBAL ", 6, 6, 16, 1, 1, 1, 32, 1, 1, 0, 0, 0);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start INTEGER, end INTEGER, deviceId INTEGER,"
    " streamId INTEGER, correlationId INTEGER, globalPid INTEGER, bytes INTEGER,"
    " copyKind INTEGER, srcDeviceId INTEGER, dstDeviceId INTEGER);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES"
    " (3600, 3700, 0, 7, 12, " GLOBAL ", 65536, 1, NULL, NULL),"
    " (3700, 3800, 0, 7, 0, " GLOBAL ", 4096, 10, 0, 1);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET(start INTEGER, end INTEGER, deviceId INTEGER,"
    " streamId INTEGER, correlationId INTEGER, globalPid INTEGER, bytes INTEGER);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (3800, 3900, 0, 7, 0, " GLOBAL ", 256);"
    "CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS(start INTEGER, globalPid INTEGER,"
    " deviceId INTEGER, address INTEGER, bytes INTEGER, memKind INTEGER,"
    " memoryOperationType INTEGER);"
    "INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (1500, " GLOBAL ", 0, 512, 2097152, 2, 0),"
    " (9000, " GLOBAL ", 0, 512, 2097152, 2, 1);"
    "CREATE TABLE NVTX_EVENTS(start INTEGER, end INTEGER, eventType INTEGER, text TEXT,"
    " textId INTEGER, globalTid INTEGER);"
    "INSERT INTO NVTX_EVENTS VALUES (1900, 4900, 59, 'forward', NULL, " GLOBAL " | 4712),"
    " (5000, 8000, 60, NULL, 7, " GLOBAL " | 4712), (8100, NULL, 59, 'open', NULL,"
    " " GLOBAL " | 4712), (100, NULL, 34, 'mark', NULL, " GLOBAL " | 4712),"
    " (50, NULL, 75, 'a domain', NULL, " GLOBAL " | 4712);";

static void report_of_nsys(void **state)
{
    static const char *const parts[] = {
        "\"name\": \"cudaLaunchKernel\"",
        "\"name\": \"void gemm<float>(float*)\"",
        "\"grid\":     [12, 2, 1], \"block\":     [128, 1, 1]",
        "\"registers per thread\": 40",
        "\"shared memory\": 1536",
        "\"name\": \"backward\"",
        "\"name\": \"open\"",
        "Memcpy HtoD",
        "Memcpy PtoP",
        "\"Total Allocated\": 2097152",
        "main loop",
        "NVIDIA A100",
    };
    (void)state;
    hb_import *import = import_with(make_database("report.sqlite", nsys), NULL);
    assert_int_equal(hb_import_count(import), 1);
    const hb_imported *p = hb_import_get(import, 0);
    assert_string_equal(p->format, "nsys");
    assert_string_equal(p->version, "3.24.14");
    assert_int_equal(p->pid, 4711);
    assert_string_equal(p->program, "train");
    assert_int_equal(p->kernels, 3);
    assert_int_equal(p->copies, 3);
    assert_int_equal(p->calls, 4);
    assert_int_equal(p->ranges, 4);
    assert_int_equal(p->linked, 4);
    assert_int_equal(p->allocations, 2);
    assert_int_equal(note_of(p, "BAD_ROWS"), 1);
    char *text = written_text(import, 0);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        HAS(text, parts[i]);
    HAS_NOT(text, SECRET);
    HAS_NOT(text, "a domain");
    free(text);
    hb_import_close(import);
}

/* By CUPTI's number of the kind: which ends are the host's, of none that it has nothing is known.
 */
static void copies_of_nsys(void **state)
{
    static const char *const kinds[] = {
        "Memcpy",      "Memcpy HtoD", "Memcpy DtoH", "Memcpy HtoD", "Memcpy DtoH", "Memcpy DtoD",
        "Memcpy DtoD", "Memcpy DtoD", "Memcpy DtoD", "Memcpy HtoH", "Memcpy DtoD", "Memcpy HtoD",
        "Memcpy DtoH", "Memcpy DtoD", "Memcpy HtoH", "Memcpy",      "Memcpy",      "Memcpy"};
    enum { COUNT = sizeof kinds / sizeof *kinds };
    static char sql[sizeof nsys + 4000];
    size_t n = (size_t)snprintf(sql, sizeof sql, "%sDELETE FROM CUPTI_ACTIVITY_KIND_MEMCPY;", nsys);
    (void)state;
    for (int i = 0; i < COUNT; i++)
        n += (size_t)snprintf(
            sql + n, sizeof sql - n,
            "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (%d, %d, 0, 7, 0, " GLOBAL
            ", %d, %d, NULL, NULL);",
            10000 + 100 * i, 10050 + 100 * i, 1000 + i, i < COUNT - 1 ? i : -1);
    hb_import *import = import_with(make_database("report.sqlite", sql), NULL);
    assert_int_equal(hb_import_get(import, 0)->copies, COUNT + 1);
    char *text = written_text(import, 0), *event = strstr(text, "\"gpu_memset\"");
    assert_non_null(event);
    HAS(event, "\"bytes\": 256");
    event = text;
    for (int i = 0; i < COUNT; i++) {
        char bytes[40], name[60];
        snprintf(bytes, sizeof bytes, "\"bytes\": %d,", 1000 + i);
        event = strstr(event, "\"gpu_memcpy\"");
        assert_non_null(event);
        size_t length = strcspn(event, "}");
        snprintf(name, sizeof name, "\"%s", kinds[i]);
        char *at = strstr(event, name), *size = strstr(event, bytes);
        if (!at || at > event + length || !size || size > event + length ||
            at[strlen(name)] != (kinds[i][6] ? ' ' : '\"'))
            fail_msg("%d: %.*s", i, (int)length, event);
        event += length;
    }
    free(text);
    hb_import_close(import);
}

/* Rows that name nothing, numbers that are none. */
static void damaged_databases(void **state)
{
    (void)state;
    static const char *const changes[] = {
        "DELETE FROM rocpd_string;",
        "DROP TABLE rocpd_api;",
        "UPDATE rocpd_op SET gpuId = -9223372036854775807, start = 'x';",
        "UPDATE rocpd_api SET id = id * -1;",
        "UPDATE rocpd_api SET pid = 9223372036854775807, tid = NULL, end = -1;",
        "DROP TABLE rocpd_api_ops; CREATE VIEW rocpd_api_ops AS SELECT 1;",
        "UPDATE rocpd_api_ops SET api_id = 4294967297;",
        /* A table that code makes, and that is told to have a page. */
        "DROP TABLE rocpd_op; CREATE VIRTUAL TABLE rocpd_op USING fts5(gpuId, start);"
        "PRAGMA writable_schema = ON; UPDATE sqlite_master SET rootpage = 2 WHERE name = "
        "'rocpd_op';",
    };
    static char sql[sizeof rpd + 200];
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        hb_import *import = NULL;
        snprintf(sql, sizeof sql, "%s%s", rpd, changes[i]);
        const char *path = make_database("t.rpd", sql);
        hb_result result = hb_import_open(&path, 1, NULL, &import);
        assert_true(result == HB_OK || result == HB_ERROR_FORMAT);
        if (result == HB_OK) free(written_text(import, 0));
        hb_import_close(import);
    }
}

/* One page after another, at the end of what it has: whatever is being read then is left, and
 * freed.
 */
static void databases_with_damaged_pages(void **state)
{
    enum { PAGE = 4096, MOST = 64 * PAGE, CELLS = 4 /* the low byte of how many a page has */ };
    static char bytes[MOST];
    (void)state;
    const char *path = make_database("report.sqlite", nsys);
    FILE *f = fopen(path, "rb");
    size_t size = fread(bytes, 1, sizeof bytes, f), refused = 0;
    fclose(f);
    assert_in_range(size, 10 * PAGE, MOST - 1);
    for (size_t at = PAGE; at < size; at += PAGE) {
        hb_import *import = NULL;
        f = fopen(path, "wb");
        bytes[at + CELLS]++; /* one more than there are, behind all others */
        assert_int_equal(fwrite(bytes, 1, size, f), size);
        bytes[at + CELLS]--;
        fclose(f);
        hb_result result = hb_import_open(&path, 1, NULL, &import);
        assert_true(result == HB_OK || result == HB_ERROR_FORMAT);
        refused += result != HB_OK;
        hb_import_close(import);
    }
    assert_true(refused > 5);
}

enum { SMALL_PAGE = 512, INNER = 5 /* a page of a table that leads to others */ };

static uint32_t number_at(const uint8_t *p, int bytes)
{
    uint32_t value = 0;
    for (int i = 0; i < bytes; i++)
        value = value << 8 | p[i];
    return value;
}

static void put_page(uint8_t *at, uint32_t page)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(page >> (24 - 8 * i));
}

/* All that an inner page leads to; `header`: bytes before its own, in the first page. */
static void lead_to(uint8_t *bytes, uint32_t from, size_t header, uint32_t to)
{
    uint8_t *page = bytes + (size_t)(from - 1) * SMALL_PAGE, *at = page + header;
    assert_int_equal(*at, INNER);
    for (uint32_t i = 0, cells = number_at(at + 3, 2); i < cells; i++)
        put_page(page + number_at(at + 12 + 2 * i, 2), to);
    put_page(at + 8, to); /* the last one */
}

/* Each inner page leads to the next one only, as often as it led to any: some thirty times, on
 * eight levels. Of a table's rows, or of those that tell of the tables. */
static void pages_that_are_shared_have_no_more_rows(void **state)
{
    enum { LEVELS = 8, MOST = 4000 * SMALL_PAGE };
    static uint8_t bytes[MOST];
    static char sql[sizeof rpd + 40000];
    (void)state;
    size_t n = (size_t)snprintf(sql, sizeof sql, "PRAGMA page_size = %d; %s", SMALL_PAGE, rpd);
    for (int i = 0; i < 600; i++)
        n += (size_t)snprintf(sql + n, sizeof sql - n, "CREATE TABLE more_%d(a);", i);
    snprintf(sql + n, sizeof sql - n,
             "WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 16000) "
             "INSERT INTO rocpd_api SELECT i, 1, 1, i, i + 1, 17, 1 FROM n;");
    const char *path = make_database("t.rpd", sql);
    FILE *f = fopen(path, "rb");
    size_t size = fread(bytes, 1, MOST, f);
    fclose(f);
    assert_in_range(size, 500 * SMALL_PAGE, MOST - 1);
    assert_int_equal(bytes[100], INNER);
    uint32_t first_table = number_at(bytes + number_at(bytes + 112, 2), 4), inner[LEVELS];
    while (bytes[(size_t)(first_table - 1) * SMALL_PAGE] == INNER) /* to a page of tables */
        first_table = number_at(bytes + (size_t)first_table * SMALL_PAGE - SMALL_PAGE + 8, 4);
    /* The table's own comes first: the others were made below it. */
    uint32_t count = 0;
    sqlite3 *db;
    sqlite3_stmt *s;
    static const char root[] = "SELECT rootpage FROM sqlite_master WHERE name = 'rocpd_api'";
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, root, -1, &s, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(s), SQLITE_ROW);
    inner[count++] = (uint32_t)sqlite3_column_int(s, 0);
    sqlite3_finalize(s);
    sqlite3_close(db);
    uint32_t last = (uint32_t)(size / SMALL_PAGE);
    for (uint32_t page = last; page > inner[0] && count < LEVELS; page--)
        if (bytes[(size_t)(page - 1) * SMALL_PAGE] == INNER) inner[count++] = page;
    assert_int_equal(count, LEVELS);
    const uint8_t *lowest = bytes + (size_t)(inner[count - 1] - 1) * SMALL_PAGE;
    uint32_t leaf = number_at(lowest + 8, 4);
    for (int tables = 0; tables < 2; tables++) {
        hb_import *import = NULL;
        for (uint32_t i = 0; i < count; i++)
            lead_to(bytes, inner[i], 0, i + 1 < count ? inner[i + 1] : tables ? first_table : leaf);
        if (tables) lead_to(bytes, 1, 100, inner[0]);
        f = fopen(path, "wb");
        assert_int_equal(fwrite(bytes, 1, size, f), size);
        fclose(f);
        assert_int_equal(hb_import_open(&path, 1, NULL, &import), HB_ERROR_FORMAT);
        assert_non_null(
            strstr(hb_last_error(), tables ? "t.rpd: " : "more rows of rocpd_api than"));
        hb_import_close(import);
    }
}

/* SQLite takes 500 terms of one union. */
static void views_over_many_processes(void **state)
{
    (void)state;
    enum { PROCESSES = 1100 };
    static const char *const names[] = {
#define NAME(name, columns) name,
        HB_ROCPD_TABLES(NAME)
#undef NAME
    };
    sqlite3 *db;
    sqlite3_stmt *s;
    char sql[200];
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (int k = 0; k < (strcmp(names[i], "string") == 0 ? PROCESSES : 1); k++) {
            snprintf(sql, sizeof sql,
                     "CREATE TABLE \"rocpd_%s_0000%04x_a\" (id, string);"
                     "INSERT INTO \"rocpd_%s_0000%04x_a\" VALUES (%d, 'text %d')",
                     names[i], (unsigned)k, names[i], (unsigned)k, k, k);
            assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
        }
    assert_int_equal(hb_rocpd_create_views(db), SQLITE_OK);
    static const char sums[] = "SELECT count(*), sum(id) FROM rocpd_string";
    assert_int_equal(sqlite3_prepare_v2(db, sums, -1, &s, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(s), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int(s, 0), PROCESSES);
    assert_int_equal(sqlite3_column_int(s, 1), PROCESSES * (PROCESSES - 1) / 2);
    sqlite3_finalize(s);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(rpd_as_it_was),
        IN_DIR(memory_of_calls_is_one_gpus),
        IN_DIR(a_real_rpd),
        IN_DIR(database_of_rocprof),
        IN_DIR(report_of_nsys),
        IN_DIR(copies_of_nsys),
        IN_DIR(damaged_databases),
        IN_DIR(databases_with_damaged_pages),
        IN_DIR(pages_that_are_shared_have_no_more_rows),
        IN_DIR(views_over_many_processes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
