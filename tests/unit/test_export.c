/* SPDX-License-Identifier: MIT
 *
 * A small trace with something of each kind, in other formats: whole tables, rows of the database,
 * what is said to be left out; parts by steps, times and sizes.
 */
#include <hipboard/export.h>
#include <sqlite3.h>

#include "exported_tables.h"
#include "import/import_set.h"
#include "imported.h"

/* The trace with the right quotes, in the test's directory. */
static const char *kept(const char *name, const char *text)
{
    char *copy = strdup(text);
    for (char *p = copy; *p; p++)
        if (*p == '\'') *p = '"';
    const char *path = keep_text(name, copy);
    free(copy);
    return path;
}

static hb_exported *exported_with(const char *input, const char *output,
                                  const hb_export_options *options)
{
    hb_exported *made;
    if (hb_export(input, output, options, &made) != HB_OK) fail_msg("%s", hb_last_error());
    return made;
}

static hb_exported *exported(const char *input, const char *output, hb_export_format format)
{
    hb_export_options o = HB_EXPORT_OPTIONS_INIT;
    o.format = format;
    return exported_with(input, output, &o);
}

static void check_notes(hb_exported *made, uint64_t events, const char *const *notes)
{
    assert_int_equal(made->events, events);
    assert_int_equal(made->processes, 1);
    for (size_t i = 0; i < made->num_notes; i++) {
        char note[300];
        snprintf(note, sizeof note, "%llu %s", (unsigned long long)made->notes[i].count,
                 made->notes[i].text);
        if (!notes[i] || !strstr(note, notes[i])) fail_msg("%s", note);
    }
    assert_null(notes[made->num_notes]);
    hb_exported_free(made);
}

static char *text_in(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file) fail_msg("no %s", path);
    char *text = calloc(1, 1 << 16);
    assert_in_range(fread(text, 1, (1 << 16) - 1, file), 1, (1 << 16) - 2);
    fclose(file);
    return text;
}

/* ---- tables ---- */

static void tables_are_as_rocprofv3_writes_them(void **state)
{
    static const char *const notes[] = {"1 operators whose inputs",
                                        "1 annotations",
                                        "1 allocations",
                                        "2 values of counters",
                                        "1 fills",
                                        "4 copies",
                                        NULL};
    (void)state;
    hb_exported *made = exported(kept("trace", exported_trace), in_dir("csv"), HB_EXPORT_CSV);
    assert_int_equal(made->num_paths, 1);
    for (size_t i = 0; i < HB_ARRAY_LEN(exported_tables); i++) {
        char path[600];
        snprintf(path, sizeof path, "%s/%s", in_dir("csv"), exported_tables[i].name);
        char *text = text_in(path);
        for (char *p = text; *p; p++)
            if (*p == '"') *p = '\'';
        assert_string_equal(text, exported_tables[i].text);
        free(text);
    }
    check_notes(made, 24, notes);
}

/* ---- the database ---- */

static void check_rows(sqlite3 *db, const char *sql, const char *expected)
{
    sqlite3_stmt *s;
    char told[4000] = "";
    if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) != SQLITE_OK) fail_msg("%s", sqlite3_errmsg(db));
    while (sqlite3_step(s) == SQLITE_ROW)
        for (int i = 0; i < sqlite3_column_count(s); i++) {
            const char *text = (const char *)sqlite3_column_text(s, i);
            size_t at = strlen(told);
            snprintf(told + at, sizeof told - at, "%s%s", text ? text : "-",
                     i + 1 < sqlite3_column_count(s) ? " " : "\n");
        }
    sqlite3_finalize(s);
    assert_string_equal(told, expected);
}

static void rows_of_the_database(void **state)
{
    static const struct {
        const char *sql, *expected;
    } rows[] = {
        {"SELECT rank, hostname FROM (SELECT json_extract(environment, '$.RANK') || '/' "
         "|| json_extract(environment, '$.WORLD_SIZE') AS rank, nid FROM "
         "rocpd_info_process) p JOIN rocpd_info_node n ON n.id = p.nid",
         "1/2 node\n"},
        {"SELECT pid, start, end, init, fini FROM rocpd_info_process",
         "7 1700000000000000000 1700000000001000000 1700000000000000000 "
         "1700000000001000000\n"},
        {"SELECT id, pid, tid FROM rocpd_info_thread", "7 1 7\n"
                                                       "8 1 8\n"},
        {"SELECT id, type, absolute_index, logical_index, type_index, name, product_name "
         "FROM rocpd_info_agent",
         "0 CPU 0 0 0  \n"
         "1 GPU 1 1 0 gfx90a First\n"
         "2 GPU 2 2 1 gfx942 Second\n"},
        {"SELECT extdata FROM rocpd_info_agent",
         "{}\n"
         "{\"cu_count\":104,\"max_waves_per_cu\":32,\"wave_front_size\":64,\"lds_size_in_kb\":64,"
         "\"gfx_target_version\":90000,\"workgroup_max_size\":1024,\"max_engine_clk_fcompute\":0,"
         "\"mem_banks\":[{\"size_in_bytes\":1073741824,\"width\":0,\"mem_clk_max\":0}]}\n"
         "{\"cu_count\":110,\"max_waves_per_cu\":32,\"wave_front_size\":32,\"lds_size_in_kb\":160,"
         "\"gfx_target_version\":90400,\"workgroup_max_size\":512,\"max_engine_clk_fcompute\":0,"
         "\"mem_banks\":[{\"size_in_bytes\":2147483648,\"width\":0,\"mem_clk_max\":0}]}\n"},
        {"SELECT id, name FROM rocpd_info_queue", "0 Queue 0\n"},
        {"SELECT id, name FROM rocpd_info_stream", "3 Stream 3\n"
                                                   "4 Stream 4\n"
                                                   "9 Stream 9\n"},
        {"SELECT id, name, units FROM rocpd_info_pmc", "1 queue rows\n"
                                                       "2 queue free\n"
                                                       "3 SQ_WAVES \n"
                                                       "4 L2 \n"},
        {"SELECT id, kernel_name, sgpr_count, arch_vgpr_count, accum_vgpr_count FROM "
         "rocpd_info_kernel_symbol",
         "1 gemm 48 32 16\n"
         "2 relu - - -\n"},
        {"SELECT e.id, s.string, e.correlation_id, e.stack_id, e.extdata FROM rocpd_event "
         "e JOIN rocpd_string s ON s.id = e.category_id ORDER BY e.id",
         "1 MARKER_CORE_API 0 0 {\"message\":\"ProfilerStep#1\"}\n"
         "2 MARKER_CORE_API 0 0 {\"message\":\"aten::mm\"}\n"
         "3 MEMORY_ALLOCATION 0 0 {}\n"
         "4 MEMORY_ALLOCATION 0 0 {}\n"
         "5 MARKER_CORE_API 0 0 {\"message\":\"aten::copy_\"}\n"
         "6 MEMORY_ALLOCATION 0 0 {}\n"
         "7 MEMORY_ALLOCATION 0 0 {}\n"
         "8 COUNTER 0 0 {}\n"
         "9 COUNTER 0 0 {}\n"
         "10 HIP_RUNTIME_API 0 11 {}\n"
         "11 HIP_RUNTIME_API 0 12 {}\n"
         "12 HIP_RUNTIME_API 0 13 {}\n"
         "13 HSA_CORE_API 0 0 {}\n"
         "14 RCCL_API 0 0 {}\n"
         "15 RCCL_API 0 0 {}\n"
         "16 HIP_COMPILER_API 0 0 {}\n"
         "17 KERNEL_DISPATCH 0 11 {}\n"
         "18 MEMORY_COPY 0 12 {}\n"
         "19 MEMORY_COPY 0 0 {}\n"
         "20 MEMORY_COPY 0 0 {}\n"
         "21 MEMORY_COPY 0 0 {}\n"
         "22 MEMORY_COPY 0 0 {}\n"
         "23 MEMORY_COPY 0 0 {}\n"
         "24 KERNEL_DISPATCH 0 13 {}\n"
         "25 KERNEL_DISPATCH 0 0 {}\n"},
        {"SELECT event_id, pmc_id, value FROM rocpd_pmc_event", "8 1 3.0\n"
                                                                "9 2 -1.5\n"
                                                                "17 3 8.0\n"
                                                                "17 4 2.5\n"},
        {"SELECT r.tid, r.start, r.end, s.string, r.event_id FROM rocpd_region r JOIN "
         "rocpd_string s ON s.id = r.name_id",
         "7 1700000000000000000 1700000000001000000 roctxRangePushA 1\n"
         "7 1700000000000010000 1700000000000310000 roctxRangePushA 2\n"
         "8 1700000000000400000 1700000000000600000 roctxRangePushA 5\n"
         "7 1700000000000020000 1700000000000025000 hipLaunchKernel 10\n"
         "8 1700000000000410000 1700000000000460000 hipMemcpyAsync 11\n"
         "8 1700000000000650000 1700000000000657000 hipModuleLaunchKernel 12\n"
         "8 1700000000000660000 1700000000000667000 hsa_signal_create 13\n"
         "8 1700000000000670000 1700000000000677000 ncclAllReduce 14\n"
         "8 1700000000000680000 1700000000000687000 rcclX 15\n"
         "8 1700000000000690000 1700000000000697000 __hipPushCallConfiguration 16\n"},
        {"SELECT track_id, timestamp, event_id FROM rocpd_sample", "1 1700000000000050000 8\n"
                                                                   "1 1700000000000050000 9\n"},
        {"SELECT t.tid, s.string FROM rocpd_track t JOIN rocpd_string s ON s.id = "
         "t.name_id",
         "7 queue\n"},
        {"SELECT tid, agent_id, kernel_id, dispatch_id, queue_id, stream_id, start, end, "
         "private_segment_size, group_segment_size, workgroup_size_x, workgroup_size_y, "
         "workgroup_size_z, grid_size_x, grid_size_y, grid_size_z, event_id FROM "
         "rocpd_kernel_dispatch",
         "7 1 1 1 0 9 1700000000000100000 1700000000000140000 64 1024 64 4 1 256 8 1 17\n"
         "7 2 2 2 0 4 1700000000000700000 1700000000000760000 0 0 256 1 1 256 1 1 24\n"
         "7 2 2 3 0 4 1700000000000770000 1700000000000830000 0 0 0 0 0 0 0 0 25\n"},
        {"SELECT c.tid, c.start, c.end, s.string, c.src_agent_id, c.dst_agent_id, c.size, "
         "c.queue_id, c.stream_id, c.event_id FROM rocpd_memory_copy c JOIN rocpd_string "
         "s ON s.id = c.name_id",
         "7 1700000000000420000 1700000000000440000 MEMORY_COPY_HOST_TO_DEVICE 0 2 4096 0 "
         "3 18\n"
         "7 1700000000000450000 1700000000000470000 MEMORY_COPY_DEVICE_TO_HOST 2 0 512 0 "
         "3 19\n"
         "7 1700000000000480000 1700000000000483000 MEMORY_COPY_DEVICE_TO_DEVICE 2 2 0 0 "
         "3 20\n"
         "7 1700000000000490000 1700000000000493000 MEMORY_COPY_DEVICE_TO_DEVICE 1 2 64 0 "
         "3 21\n"
         "7 1700000000000495000 1700000000000495000 MEMORY_COPY_HOST_TO_HOST 0 0 1 0 3 22\n"
         "7 1700000000000497000 1700000000000502000 MEMORY_FILL 2 2 100 0 3 23\n"},
        {"SELECT tid, agent_id, type, level, start, end, address, size, event_id FROM "
         "rocpd_memory_allocate",
         "7 1 ALLOC REAL 1700000000000015000 1700000000000015000 100 4096 3\n"
         "7 0 ALLOC REAL 1700000000000030000 1700000000000030000 200 100 4\n"
         "7 1 FREE REAL 1700000000000500000 1700000000000500000 100 0 6\n"
         "7 2 ALLOC REAL 1700000000000510000 1700000000000510000 300 7 7\n"},
    };
    static const char *const notes[] = {"1 operators whose inputs", "1 annotations",
                                        "1 allocations", NULL};
    sqlite3 *db;
    (void)state;
    check_notes(exported(kept("trace", exported_trace), in_dir("out.db"), HB_EXPORT_ROCPD), 25,
                notes);
    assert_int_equal(sqlite3_open(in_dir("out.db"), &db), SQLITE_OK);
    for (size_t i = 0; i < HB_ARRAY_LEN(rows); i++)
        check_rows(db, rows[i].sql, rows[i].expected);
    sqlite3_close(db);
}

/* ---- back ---- */

static hb_imported told_of(const char *path)
{
    hb_import *import;
    if (hb_import_open_any(path, NULL, &import) != HB_OK) fail_msg("%s", hb_last_error());
    assert_int_equal(hb_import_count(import), 1);
    hb_imported told = *hb_import_get(import, 0);
    hb_import_close(import);
    return told;
}

static void check_curves(const char *path)
{
    hb_import *import;
    assert_int_equal(hb_import_open_any(path, NULL, &import), HB_OK);
    char *text = written_text(import, 0);
    HAS(text, "\"rows\": 3");
    HAS(text, "\"free\": -1.5");
    free(text);
    hb_import_close(import);
}

/* Of tables without fills and curves. */
static void what_is_read_back_is_the_same(void **state)
{
    static const char *const names[] = {"b.pftrace", "b.db", "b"};
    (void)state;
    char input[512];
    snprintf(input, sizeof input, "%s", kept("trace", exported_trace));
    hb_imported a = told_of(input);
    assert_true(a.kernels == 3 && a.copies == 6 && a.ranges == 3 && a.calls == 7);
    assert_true(a.allocations == 4 && a.samples == 2 && a.gpus == 2);
    for (int format = 0; format < 3; format++) {
        const char *output = in_dir(names[format]);
        hb_exported_free(exported(input, output, (hb_export_format)format));
        hb_imported b = told_of(output);
        bool tables = format == HB_EXPORT_CSV;
        assert_int_equal(b.kernels, a.kernels);
        assert_int_equal(b.kernel_ns, a.kernel_ns);
        assert_int_equal(b.copies, a.copies - tables);
        assert_int_equal(b.ranges, a.ranges);
        assert_int_equal(b.calls, a.calls);
        assert_int_equal(b.allocations, a.allocations);
        assert_int_equal(b.samples, tables ? 0 : a.samples);
        assert_int_equal(b.linked, a.linked);
        assert_int_equal(b.gpus, a.gpus);
        assert_int_equal(b.pid, 7);
        if (!tables) check_curves(output);
    }
}

/* ---- parts ---- */

/* Four steps of 100 us; in each an operator of 20 us launches a kernel that runs for 30. */
static const char *four_steps(void)
{
    static char text[8000];
    size_t n = (size_t)snprintf(text, sizeof text,
                                "{'baseTimeNanoseconds':1700000000000000000,"
                                "'traceEvents':[");
    for (int i = 0; i < 4; i++)
        n += (size_t)snprintf(
            text + n, sizeof text - n,
            "%s{'ph':'X','cat':'user_annotation','name':'ProfilerStep#%d','pid':7,'tid':7,"
            "'ts':%d,'dur':100},{'ph':'X','cat':'cpu_op','name':'op%d','pid':7,'tid':7,'ts':%d,"
            "'dur':20,'args':{'External id':%d}},{'ph':'X','cat':'cuda_runtime','name':"
            "'hipLaunchKernel','pid':7,'tid':7,'ts':%d,'dur':5,'args':{'correlation':%d}},"
            "{'ph':'X','cat':'kernel','name':'k%d','pid':0,'tid':1,'ts':%d,'dur':30,'args':"
            "{'correlation':%d,'device':0,'stream':1}}",
            i ? "," : "", i + 5, 100 * i, i, 100 * i + 60, i + 1, 100 * i + 70, i + 1, i,
            100 * i + 90, i + 1);
    snprintf(text + n, sizeof text - n, "]}");
    return kept("steps", text);
}

/* The kernels of a file, "k0 k1". */
static void check_kernels(const char *path, const char *expected)
{
    hb_import *import;
    char told[100] = "", name[8];
    if (hb_import_open_any(path, NULL, &import) != HB_OK) fail_msg("%s", hb_last_error());
    char *text = written_text(import, 0);
    hb_import_close(import);
    for (int i = 0; i < 4; i++) {
        snprintf(name, sizeof name, "\"k%d\"", i);
        if (strstr(text, name))
            snprintf(told + strlen(told), sizeof told - strlen(told), "%sk%d", *told ? " " : "", i);
    }
    free(text);
    assert_string_equal(told, expected);
}

static void parts_by_steps_and_times(void **state)
{
    static const struct {
        int64_t first, last;
        double start, end;
        const char *kernels;
    } rows[] = {
        {INT64_MIN, INT64_MAX, 0, 0, "k0 k1 k2 k3"},
        {6, 7, 0, 0, "k1 k2"},
        {5, 5, 0, 0, "k0"},
        {INT64_MIN, 6, 0, 0, "k0 k1"},
        {8, INT64_MAX, 0, 0, "k3"},
        {INT64_MIN, INT64_MAX, 100, 300, "k1 k2"},
        {INT64_MIN, INT64_MAX, 171, 0, "k2 k3"}, /* the launch began before */
        {INT64_MIN, INT64_MAX, 170, 0, "k1 k2 k3"},
        {INT64_MIN, INT64_MAX, 0, 70, ""},
        {INT64_MIN, INT64_MAX, 0, 70.5, "k0"},
        {6, 8, 0, 250, "k1"},
    };
    (void)state;
    char input[512];
    snprintf(input, sizeof input, "%s", four_steps());
    for (size_t i = 0; i < HB_ARRAY_LEN(rows); i++) {
        hb_export_options o = HB_EXPORT_OPTIONS_INIT;
        o.first_step = rows[i].first;
        o.last_step = rows[i].last;
        o.start_us = rows[i].start;
        o.end_us = rows[i].end;
        o.replace = true;
        const char *output = in_dir("part.pftrace");
        hb_exported_free(exported_with(input, output, &o));
        check_kernels(output, rows[i].kernels);
    }
}

static void splits_have_all_of_it(void **state)
{
    static const struct {
        uint64_t steps;
        double us;
        size_t files;
        const char *kernels[4];
    } rows[] = {
        {1, 0, 4, {"k0", "k1", "k2", "k3"}},   {2, 0, 2, {"k0 k1", "k2 k3"}},
        {3, 0, 2, {"k0 k1 k2", "k3"}},         {4, 0, 1, {"k0 k1 k2 k3"}},
        {0, 100, 4, {"k0", "k1", "k2", "k3"}}, {0, 250, 2, {"k0 k1", "k2 k3"}},
        {3, 200, 2, {"k0 k1", "k2 k3"}},
    };
    (void)state;
    char input[512];
    snprintf(input, sizeof input, "%s", four_steps());
    for (size_t i = 0; i < HB_ARRAY_LEN(rows); i++) {
        hb_export_options o = HB_EXPORT_OPTIONS_INIT;
        o.split_steps = rows[i].steps;
        o.split_us = rows[i].us;
        o.replace = true;
        hb_exported *made = exported_with(input, in_dir("split.pftrace"), &o);
        assert_int_equal(made->num_paths, rows[i].files);
        for (size_t k = 0; k < made->num_paths; k++) {
            char ending[40];
            snprintf(ending, sizeof ending, "/split.%04zu.pftrace", k + 1);
            HAS(made->paths[k], ending);
            check_kernels(made->paths[k], rows[i].kernels[k]);
        }
        hb_exported_free(made);
    }
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    char input[512];
    snprintf(input, sizeof input, "%s", four_steps());
    hb_export_options o = HB_EXPORT_OPTIONS_INIT;
    hb_exported *made = (hb_exported *)1;
    assert_int_equal(hb_export(NULL, in_dir("x"), &o, &made), HB_ERROR_INVALID_ARGUMENT);
    assert_null(made);
    assert_int_equal(hb_export(input, NULL, &o, NULL), HB_ERROR_INVALID_ARGUMENT);
    o.first_step = o.last_step = 9;
    assert_int_equal(hb_export(input, in_dir("none.pftrace"), &o, &made), HB_ERROR_NOT_FOUND);
    assert_int_equal(access(in_dir("none.pftrace"), F_OK), -1);
    o = (hb_export_options)HB_EXPORT_OPTIONS_INIT;
    keep_text("there.pftrace", "mine");
    assert_int_equal(hb_export(input, in_dir("there.pftrace"), &o, &made), HB_ERROR_STATE);
    char *text = text_in(in_dir("there.pftrace"));
    assert_string_equal(text, "mine");
    free(text);
    assert_int_equal(hb_export(keep_text("no", "{}"), in_dir("x"), &o, &made), HB_ERROR_FORMAT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(tables_are_as_rocprofv3_writes_them),
        IN_DIR(rows_of_the_database),
        IN_DIR(what_is_read_back_is_the_same),
        IN_DIR(parts_by_steps_and_times),
        IN_DIR(splits_have_all_of_it),
        IN_DIR(what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
