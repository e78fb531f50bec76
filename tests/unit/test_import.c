/* SPDX-License-Identifier: MIT
 *
 * Databases of rocprofv3 and rocprof-sys, made here, as traces: what is joined, placed and told,
 * and what hostile and broken ones do.
 */
#include "rocpd_file.h"

#include <dlfcn.h>
#include <hipboard/analysis.h>
#include <hipboard/import.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <zlib.h>

#include "read/text_window.h"

/* A range around a launch, a copy and what they started on the second GPU; a kernel of a call that
 * was not recorded, which began before the others; an allocation and its free. */
static const char small_run[] =
    "INSERT INTO rocpd_event" GUID "(id, category_id, stack_id, extdata) VALUES"
    " (1, 4, 1, '{\"message\":\"forward \\\"pass\\\"\"}'), (2, 3, 2, '{}'), (3, 2, 3, '{}'),"
    " (4, 2, 4, '{}'), (5, 5, 3, '{}'), (6, 6, 4, '{}'), (7, 5, 99, '{}'), (8, 2, 8, '{}');"
    "INSERT INTO rocpd_region" GUID "(pid, tid, start, end, name_id, event_id) VALUES"
    " (1, 1, 2000000, 5000000, 10, 1), (1, 1, 2100000, 2101000, 8, 2),"
    " (1, 1, 2200000, 2210000, 7, 3), (1, 1, 2300000, 2310000, 9, 4),"
    " (1, 1, 1500000, 1600000, 12, 8);"
    "INSERT INTO rocpd_arg" GUID "(event_id, position, type, name, value) VALUES"
    " (3, 1, 'rocprofiler_dim3_t', 'numBlocks', '{z=1, y=128, x=2}'),"
    " (3, 2, 'rocprofiler_dim3_t', 'dimBlocks', '{z=1, y=1, x=256}'),"
    " (3, 4, 'unsigned long', 'sharedMemBytes', '4096'),"
    " (4, 0, 'void*', 'dst', '0x7eda00200000'), (4, 1, 'void const*', 'src', '0x7f1b841f7010'),"
    " (4, 2, 'unsigned long', 'sizeBytes', '65536'),"
    " (4, 3, 'hipMemcpyKind', 'kind', 'HostToDevice');"
    "INSERT INTO rocpd_kernel_dispatch" GUID
    "(pid, tid, agent_id, kernel_id, dispatch_id, queue_id,"
    " stream_id, start, end, private_segment_size, group_segment_size, workgroup_size_x,"
    " workgroup_size_y, workgroup_size_z, grid_size_x, grid_size_y, grid_size_z, event_id) VALUES"
    " (1, 1, 3, 1, 1, 16, 0, 2400000, 2500000, 32, 65536, 256, 1, 1, 512, 128, 1, 5),"
    " (1, 1, 3, 2, 2, 16, 0, 1900000, 1900500, 0, 0, 64, 1, 1, 100, 1, 1, 7);"
    "INSERT INTO rocpd_memory_copy" GUID "(pid, tid, start, end, name_id, dst_agent_id,"
    " src_agent_id, size, queue_id, stream_id, event_id) VALUES"
    " (1, 1, 2350000, 2360000, 11, 3, 0, 65536, 17, 1, 6);"
    "INSERT INTO rocpd_memory_allocate" GUID
    "(pid, tid, agent_id, type, level, start, end, address,"
    " size) VALUES (1, 1, 3, 'ALLOC', 'REAL', 1510000, 1590000, 4096, 1000),"
    " (1, 1, NULL, 'FREE', 'REAL', 4000000, 4100000, 4096, 0),"
    " (1, 1, NULL, 'FREE', 'REAL', 4200000, 4300000, 8192, 0),"
    " (1, 1, 3, 'ALLOC', 'SCRATCH', 2390000, 2395000, 77, 5000);";

static const char *in_dir(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static hb_import *open_with(const char *path, const hb_import_options *options)
{
    hb_import *import = NULL;
    if (hb_import_open(&path, 1, options, &import) != HB_OK) fail_msg("%s", hb_last_error());
    return import;
}

static hb_import *open_sql(const char *sql, const hb_import_options *options)
{
    rocpd_make(in_dir("r.db"), sql);
    return open_with(in_dir("r.db"), options);
}

static char *file_text(const char *path)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char *text = calloc(1, 1 << 20);
    size_t n = fread(text, 1, (1 << 20) - 1, file);
    assert_true(n > 0 && n < (1 << 20) - 1);
    fclose(file);
    return text;
}

/* The first process as text. */
static char *written(hb_import *import, char **path)
{
    char *file;
    if (hb_import_write(import, 0, in_dir("log"), &file) != HB_OK) fail_msg("%s", hb_last_error());
    char *text = file_text(file);
    if (path)
        *path = file;
    else
        hb_free(file);
    return text;
}

static uint64_t count_of(const char *text, const char *part)
{
    uint64_t count = 0;
    for (; (text = strstr(text, part)); text += strlen(part))
        count++;
    return count;
}

static uint64_t note_of(const hb_imported *p, const char *key)
{
    for (size_t i = 0; i < p->num_notes; i++)
        if (strcmp(p->notes[i].key, key) == 0) return p->notes[i].count;
    return 0;
}

#define HAS(text, part) \
    if (!strstr(text, part)) fail_msg("no %s in %s", part, text)
#define HAS_NOT(text, part) \
    if (strstr(text, part)) fail_msg("%s in %s", part, text)

/* ---- what is told ---- */

static void counts_and_notes(void **state)
{
    (void)state;
    hb_import *import = open_sql(small_run, NULL);
    assert_int_equal(hb_import_count(import), 1);
    const hb_imported *p = hb_import_get(import, 0);
    assert_null(hb_import_get(import, 1));
    assert_string_equal(p->format, "rocpd");
    assert_string_equal(p->version, "3");
    assert_string_equal(p->worker, "node7_4711");
    assert_string_equal(p->program, "train");
    assert_int_equal(p->rank, 1);
    assert_int_equal(p->kernels, 2);
    assert_int_equal(p->kernel_ns, 100500);
    assert_int_equal(p->copies, 1);
    assert_int_equal(p->calls, 4);
    assert_int_equal(p->ranges, 1);
    assert_int_equal(p->linked, 2);
    assert_int_equal(p->allocations, 3);
    assert_int_equal(note_of(p, "NO_CALL"), 1);
    assert_int_equal(note_of(p, "NO_ALLOCATION"), 1);
    assert_int_equal(note_of(p, "NOT_SHOWN"), 1);
    hb_import_close(import);
}

static void events_as_they_were(void **state)
{
    (void)state;
    hb_import *import = open_sql(small_run, NULL);
    char *text = written(import, NULL);
    HAS(text, "\"name\": \"forward \\\"pass\\\"\"");
    HAS(text, "\"name\": \"gemm(float*)\"");
    HAS(text, "\"name\": \"plain\"");
    HAS(text, "\"grid\":     [2, 128, 1], \"block\":     [256, 1, 1]");
    HAS(text, "\"grid\":     [2, 1, 1], \"block\":     [64, 1, 1]"); /* 100 work-items */
    HAS(text, "\"device\": 1, \"stream\": 0,      \"correlation\": 3");
    HAS(text, "\"registers per thread\": 96, \"shared memory\": 65536");
    HAS(text, "\"sgprs per wave\": 48, \"agprs per thread\": 4, \"scratch per thread\": 32");
    HAS(text, "est. achieved occupancy %");
    HAS(text, "\"name\": \"Memcpy HtoD (Host -> Device)\"");
    HAS(text, "\"bytes\": 65536, \"memory bandwidth (GB/s)\": 6.5536");
    HAS(text, "\"src\": \"0x7f1b841f7010\", \"dst\": \"0x7eda00200000\"");
    HAS(text, "\"rank\": 1, \"world_size\": 2");
    HAS(text, "\"Total Allocated\": 1000");
    HAS(text, "\"Total Allocated\": 0");
    /* The range is the operator, and of calls none but the one that allocated outside of it. */
    assert_int_equal(count_of(text, "\"cat\": \"cpu_op\""), 2);
    assert_int_equal(count_of(text, "\"name\": \"hipMalloc\""), 2);
    /* An arrow begins at each of two launches and ends at their work. */
    assert_int_equal(count_of(text, "\"ph\": \"s\""), 2);
    assert_int_equal(count_of(text, "\"ph\": \"f\""), 2);
    free(text);
    hb_import_close(import);
}

static void calls_are_operators_where_no_range_is(void **state)
{
    (void)state;
    hb_import_options o = HB_IMPORT_OPTIONS_INIT;
    o.drop = "ranges";
    hb_import *import = open_sql(small_run, &o);
    char *text = written(import, NULL);
    /* Not what the compiler added; and one with time of its own, which calls do not have. */
    assert_int_equal(count_of(text, "\"cat\": \"cpu_op\""), 3 + 1);
    assert_int_equal(count_of(text, "\"name\": \"no operator was recorded\""), 1);
    assert_int_equal(count_of(text, "\"cat\": \"Runtime\""), 4);
    HAS_NOT(text, "forward");
    assert_int_equal(note_of(hb_import_get(import, 0), "DROPPED"), 1);
    free(text);
    hb_import_close(import);
}

static void no_environment_comes_out(void **state)
{
    (void)state;
    hb_import *import = open_sql(small_run, NULL);
    char *text = written(import, NULL);
    HAS_NOT(text, "hunter2");
    HAS_NOT(text, "API_TOKEN");
    free(text);
    hb_import_close(import);
}

static void twice_is_the_same(void **state)
{
    (void)state;
    char *paths[2], *texts[2];
    hb_import_options o = HB_IMPORT_OPTIONS_INIT;
    o.replace = true;
    rocpd_make(in_dir("r.db"), small_run);
    for (int i = 0; i < 2; i++) {
        hb_import *import = open_with(in_dir("r.db"), &o);
        texts[i] = written(import, &paths[i]);
        hb_import_close(import);
    }
    assert_string_equal(paths[0], paths[1]);
    assert_string_equal(texts[0], texts[1]);
    for (int i = 0; i < 2; i++) {
        hb_free(paths[i]);
        free(texts[i]);
    }
}

static void the_file_tells_the_time_of_day(void **state)
{
    (void)state;
    hb_import_options o = HB_IMPORT_OPTIONS_INIT;
    o.end_time_ns = INT64_C(1700000000000000000);
    hb_import *import = open_sql(small_run, &o);
    /* The process ended at 9 ms of its clock, the first event began at 1.5 ms. */
    assert_int_equal(hb_import_get(import, 0)->start_ns, o.end_time_ns - 7500000);
    hb_import_close(import);
}

/* ---- directly, and by way of a file ---- */

static void same_text(const char *a, const char *b)
{
    assert_int_equal(!a, !b);
    if (a) assert_string_equal(a, b);
}

static void same_event(const hb_file_event *a, const hb_file_event *b)
{
    same_text(a->name, b->name);
    same_text(a->category, b->category);
    assert_int_equal(a->phase, b->phase);
    assert_true(a->ts_us == b->ts_us);
    assert_true(a->dur_us == b->dur_us);
    assert_int_equal(a->has_correlation, b->has_correlation);
    assert_int_equal(a->correlation, b->correlation);
    assert_int_equal(a->has_external_id, b->has_external_id);
    assert_int_equal(a->external_id, b->external_id);
    same_text(a->input_dims, b->input_dims);
    assert_string_equal(a->pid, b->pid);
    assert_string_equal(a->tid, b->tid);
}

/* Names of rows are not part of what is read directly. */
static bool is_shown(const hb_trace_file *file, size_t i, hb_file_event *event)
{
    assert_int_equal(hb_trace_file_event(file, i, event), HB_OK);
    return event->phase != 'M' && event->category && event->has_ts;
}

static void compare_files(const hb_trace_file *a, const hb_trace_file *b)
{
    size_t i = 0, k = 0, n = hb_trace_file_num_events(a), m = hb_trace_file_num_events(b);
    hb_file_event x, y;
    for (; i < n || k < m; i++, k++) {
        while (i < n && !is_shown(a, i, &x))
            i++;
        while (k < m && !is_shown(b, k, &y))
            k++;
        assert_int_equal(i < n, k < m);
        if (i < n) same_event(&x, &y);
    }
    assert_string_equal(hb_trace_file_metadata(a, "hipboard_import"),
                        hb_trace_file_metadata(b, "hipboard_import"));
}

static void directly_as_by_a_file(void **state)
{
    (void)state;
    char *path;
    hb_trace_file *direct, *read;
    hb_import *import = open_sql(small_run, NULL);
    free(written(import, &path));
    assert_int_equal(hb_trace_file_open(in_dir("r.db"), NULL, &direct), HB_OK);
    assert_int_equal(hb_trace_file_open(path, NULL, &read), HB_OK);
    assert_true(hb_trace_file_num_events(direct) > 10);
    compare_files(direct, read);
    hb_trace_file_close(direct);
    hb_trace_file_close(read);
    hb_free(path);
    hb_import_close(import);
}

/* ---- steps ---- */

/* Three ranges of a name, each with a launch, and one that is alone. */
static void make_ranges(char *sql, size_t size, const char *const names[4])
{
    size_t n = 0;
    for (int i = 0; i < 4; i++) {
        int at = 2000000 + i * 1000000;
        n += (size_t)snprintf(
            sql + n, size - n,
            "INSERT INTO rocpd_event" GUID "(id, category_id, stack_id, extdata) VALUES"
            " (%d, 4, %d, '{\"message\":\"%s\"}'), (%d, 2, %d, '{}'), (%d, 5, %d, '{}');"
            "INSERT INTO rocpd_region" GUID "(pid, tid, start, end, name_id, event_id) VALUES"
            " (1, 1, %d, %d, 10, %d), (1, 1, %d, %d, 7, %d);"
            "INSERT INTO rocpd_kernel_dispatch" GUID
            "(pid, agent_id, kernel_id, dispatch_id, queue_id, stream_id, start, end,"
            " workgroup_size_x, workgroup_size_y, workgroup_size_z, grid_size_x, grid_size_y,"
            " grid_size_z, event_id) VALUES"
            " (1, 2, 1, %d, 1, 1, %d, %d, 64, 1, 1, 64, 1, 1, %d);",
            i * 10 + 1, i * 10 + 1, names[i], i * 10 + 2, i * 10 + 2, i * 10 + 3, i * 10 + 2, at,
            at + 900000, i * 10 + 1, at + 1000, at + 2000, i * 10 + 2, i, at + 500000, at + 600000,
            i * 10 + 3);
    }
}

static const char *rule_of(hb_import *import)
{
    return hb_import_get(import, 0)->steps;
}

static void one_step_for_all(void **state)
{
    (void)state;
    hb_import *import = open_sql(small_run, NULL);
    char *text = written(import, NULL);
    HAS(rule_of(import), "one for all");
    assert_int_equal(count_of(text, "\"name\": \"ProfilerStep#0\""), 1);
    assert_int_equal(count_of(text, "\"hipboard\": \"inferred\""), 1);
    HAS(text, "inferred steps");
    free(text);
    hb_import_close(import);
}

static void steps_by_their_names(void **state)
{
    (void)state;
    static char sql[8192];
    static const char *const names[] = {"warm up", "Iteration 7", "Iteration 8", "Iteration 9"};
    make_ranges(sql, sizeof sql, names);
    hb_import *import = open_sql(sql, NULL);
    char *text = written(import, NULL);
    HAS(rule_of(import), "names count");
    for (int i = 6; i < 11; i++) {
        char name[32];
        snprintf(name, sizeof name, "\"ProfilerStep#%d\"", i);
        assert_int_equal(count_of(text, name), i >= 7 && i <= 9);
    }
    assert_int_equal(count_of(text, "\"hipboard\": \"inferred\""), 3);
    free(text);
    hb_import_close(import);
}

static void steps_by_repetition(void **state)
{
    (void)state;
    static char sql[8192];
    static const char *const names[] = {"load", "train", "train", "train"};
    make_ranges(sql, sizeof sql, names);
    hb_import *import = open_sql(sql, NULL);
    char *text = written(import, NULL);
    HAS(rule_of(import), "'train', which have 75 %");
    assert_int_equal(count_of(text, "\"name\": \"ProfilerStep#"), 3);
    free(text);
    hb_import_close(import);
}

static void steps_as_asked_for(void **state)
{
    (void)state;
    static char sql[8192];
    static const char *const names[] = {"a", "b", "c", "b"};
    make_ranges(sql, sizeof sql, names);
    rocpd_make(in_dir("r.db"), sql);
    const struct {
        hb_import_options options;
        unsigned steps;
    } asked[] = {
        {HB_SIZED_WITH_(hb_import_options, .step = "b", .replace = true), 2},
        {HB_SIZED_WITH_(hb_import_options, .step_launch = "hipLaunchKernel", .replace = true), 4},
        {HB_SIZED_WITH_(hb_import_options, .step_gap_ns = 500000, .replace = true), 4},
        {HB_SIZED_WITH_(hb_import_options, .step_gap_ns = 5000000, .replace = true), 1},
    };
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        hb_import *import = open_with(in_dir("r.db"), &asked[i].options);
        char *text = written(import, NULL);
        HAS(rule_of(import), "as asked for");
        assert_int_equal(count_of(text, "\"name\": \"ProfilerStep#"), asked[i].steps);
        free(text);
        hb_import_close(import);
    }
    hb_import_options none = HB_IMPORT_OPTIONS_INIT;
    none.step = "d";
    hb_import *import = open_with(in_dir("r.db"), &none);
    assert_int_equal(hb_import_write(import, 0, in_dir("log"), NULL), HB_ERROR_NOT_FOUND);
    HAS(hb_last_error(), "'d'");
    hb_import_close(import);
}

/* ---- values ---- */

static void counters_of_kernels(void **state)
{
    (void)state;
    static char sql[16384];
    snprintf(sql, sizeof sql,
             "%sINSERT INTO rocpd_info_pmc" GUID "(id, symbol, name) VALUES (1, 'SQ_WAVES', 'x');"
             "INSERT INTO rocpd_pmc_event" GUID "(event_id, pmc_id, value) VALUES"
             " (5, 1, 100), (7, 1, 7), (5, 1, 24.5);",
             small_run);
    hb_import *import = open_sql(sql, NULL);
    char *text = written(import, NULL);
    HAS(text, "\"SQ_WAVES\": 124.5"); /* the sum of its instances */
    HAS(text, "\"SQ_WAVES\": 7");
    HAS(text, "\"serialised\": true");
    assert_int_equal(hb_import_get(import, 0)->counters, 2);
    free(text);
    hb_import_close(import);
}

/* Two processes whose dispatches have the same numbers, each run twice for two counters; the first
 * has more kernels than the second. */
static void passes_of_two_processes(void **state)
{
    (void)state;
    static const char passes[] =
        "INSERT INTO rocpd_info_process" GUID "(id, nid, pid, command) VALUES (2, 1, 4712, 'b');"
        "ALTER TABLE rocpd_kernel_dispatch" GUID " ADD COLUMN replay_pass;"
        "INSERT INTO rocpd_info_pmc" GUID "(id, nid, pid, agent_id, symbol) VALUES"
        " (1, 1, 1, 3, 'WAVES'), (2, 1, 1, 3, 'CYCLES');"
        "INSERT INTO rocpd_event" GUID "(id, category_id, stack_id) VALUES (1, 5, 1), (2, 5, 2),"
        " (3, 5, 3), (4, 5, 1), (5, 5, 2), (6, 5, 3);"
        "INSERT INTO rocpd_kernel_dispatch" GUID "(pid, agent_id, kernel_id, dispatch_id, queue_id,"
        " stream_id, start, end, event_id, replay_pass) VALUES"
        " (1, 3, 1, 7, 16, 0, 1000, 1100, 1, 0), (1, 3, 1, 8, 16, 0, 2000, 2100, 2, 0),"
        " (2, 3, 2, 8, 16, 0, 1000, 1200, 3, 0),"
        " (1, 3, 1, 7, 16, 0, 3000, 3100, 4, 1), (1, 3, 1, 8, 16, 0, 4000, 4100, 5, 1),"
        " (2, 3, 2, 8, 16, 0, 3000, 3300, 6, 1);"
        "INSERT INTO rocpd_pmc_event" GUID
        "(event_id, pmc_id, value) VALUES (1, 1, 10), (2, 1, 20),"
        " (3, 1, 30), (4, 2, 11), (5, 2, 21), (6, 2, 31);";
    static const char *const values[2][4] = {
        {"\"WAVES\": 10", "\"CYCLES\": 11", "\"WAVES\": 20", "\"CYCLES\": 21"},
        {"\"WAVES\": 30", "\"CYCLES\": 31", "\"dur\": 0.200", "\"dur\": 0.200"}};
    hb_import *import = open_sql(passes, NULL);
    assert_int_equal(hb_import_count(import), 2);
    for (size_t i = 0; i < 2; i++) {
        char *path;
        const hb_imported *p = hb_import_get(import, i);
        assert_int_equal(p->kernels, i == 0 ? 2 : 1);
        assert_int_equal(p->counters, p->kernels);
        assert_int_equal(note_of(p, "MERGED_PASSES"), p->kernels);
        assert_int_equal(hb_import_write(import, i, in_dir("log"), &path), HB_OK);
        char *text = file_text(path);
        for (size_t k = 0; k < 4; k++)
            HAS(text, values[i][k]);
        free(text);
        hb_free(path);
    }
    hb_import_close(import);
}

/* A counter that two passes have is the first one's, of whose instances it is the sum. The second
 * pass's readings stand before and between the first one's. */
static void a_counter_of_two_passes(void **state)
{
    (void)state;
    static const char passes[] =
        "ALTER TABLE rocpd_kernel_dispatch" GUID " ADD COLUMN replay_pass;"
        "INSERT INTO rocpd_info_pmc" GUID "(id, nid, pid, agent_id, symbol) VALUES"
        " (1, 1, 1, 3, 'WAVES'), (2, 1, 1, 3, 'GUI'), (3, 1, 1, 3, 'VALU');"
        "INSERT INTO rocpd_event" GUID "(id, category_id, stack_id) VALUES (1, 5, 1), (2, 5, 2),"
        " (3, 5, 1), (4, 5, 2);"
        "INSERT INTO rocpd_kernel_dispatch" GUID "(pid, agent_id, kernel_id, dispatch_id, queue_id,"
        " stream_id, start, end, event_id, replay_pass) VALUES"
        " (1, 3, 1, 7, 16, 0, 1000, 1100, 1, 0), (1, 3, 1, 8, 16, 0, 2000, 2100, 2, 0),"
        " (1, 3, 1, 7, 16, 0, 3000, 3100, 3, 1), (1, 3, 1, 8, 16, 0, 4000, 4100, 4, 1);"
        "INSERT INTO rocpd_pmc_event" GUID
        "(event_id, pmc_id, value) VALUES (3, 2, 101), (1, 1, 10), (1, 2, 60), (3, 2, 102),"
        " (1, 2, 40), (2, 2, 200), (4, 2, 202), (3, 3, 5), (3, 3, 6);";
    hb_import *import = open_sql(passes, NULL);
    char *text = written(import, NULL);
    assert_int_equal(hb_import_get(import, 0)->kernels, 2);
    HAS(text, "\"WAVES\": 10, \"GUI\": 100, \"VALU\": 11");
    HAS(text, "\"GUI\": 200");
    HAS(text, "\"counter\": \"GUI\", \"kernels\": 2, \"mean\": 150, \"max\": 200");
    free(text);
    hb_import_close(import);
}

/* More bytes than there are: sums stay numbers. */
static void allocations_of_more_than_there_is(void **state)
{
    (void)state;
    static char sql[6000] = "INSERT INTO rocpd_memory_allocate" GUID
                            "(pid, tid, agent_id, type, level, start, end, address, size) VALUES";
    size_t n = strlen(sql);
    for (int i = 0; i < 40; i++)
        n += (size_t)snprintf(sql + n, sizeof sql - n,
                              "%s (1, 1, 3, 'ALLOC', 'REAL', %d, %d, %d, 9223372036854775807)",
                              i ? "," : "", 1000 + i, 1000 + i, 4096 * (i + 1));
    hb_import *import = open_sql(sql, NULL);
    assert_int_equal(hb_import_get(import, 0)->allocations, 40);
    char *text = written(import, NULL);
    assert_int_equal(count_of(text, "\"Bytes\": 36028797018963967"), 40);
    assert_int_equal(count_of(text, "\"Total Allocated\": 36028797018963967"), 40);
    free(text);
    hb_import_close(import);
}

static void samples_of_gpus(void **state)
{
    (void)state;
    static char sql[16384];
    snprintf(sql, sizeof sql,
             "%sINSERT INTO rocpd_track" GUID "(id, pid, tid, name_id) VALUES (1, 1, NULL, 14);"
             "INSERT INTO rocpd_info_pmc" GUID "(id, symbol, units) VALUES (1, 'power', 'W');"
             "INSERT INTO rocpd_event" GUID "(id, category_id) VALUES (50, 1), (51, 1);"
             "INSERT INTO rocpd_sample" GUID "(track_id, timestamp, event_id) VALUES"
             " (1, 3000000, 51), (1, 2500000, 50);"
             "INSERT INTO rocpd_pmc_event" GUID "(event_id, pmc_id, value) VALUES (50, 1, 310),"
             " (51, 1, 640.25);",
             small_run);
    hb_import *import = open_sql(sql, NULL);
    char *text = written(import, NULL);
    const char *first = strstr(text, "\"W\": 310"), *second = strstr(text, "\"W\": 640.25");
    assert_non_null(first);
    assert_true(second > first);
    assert_int_equal(count_of(text, "\"name\": \"GPU Power\""), 2);
    free(text);
    hb_import_close(import);
}

static void many_streams_are_queues(void **state)
{
    (void)state;
    static char sql[65536];
    size_t n = (size_t)snprintf(sql, sizeof sql, "%s", small_run);
    for (int i = 0; i < 40; i++)
        n += (size_t)snprintf(sql + n, sizeof sql - n,
                              "INSERT INTO rocpd_kernel_dispatch" GUID
                              "(pid, agent_id, kernel_id, queue_id, stream_id, start, end,"
                              " workgroup_size_x, grid_size_x) VALUES (1, 2, 1, %d, %d, %d, %d,"
                              " 64, 64);",
                              i % 3, i, 3000000 + i * 100, 3000150 + i * 100);
    hb_import *import = open_sql(sql, NULL);
    char *text = written(import, NULL);
    assert_int_equal(note_of(hb_import_get(import, 0), "MANY_STREAMS"), 42);
    assert_int_equal(hb_import_get(import, 0)->streams, 5);
    HAS(text, "\"hip stream\": 39");
    /* They overlap, and their times are as they were. */
    assert_int_equal(count_of(text, "\"dur\": 0.150"), 40);
    free(text);
    hb_import_close(import);
}

/* ---- several processes ---- */

static void replace_all(char *text, size_t size, const char *from, const char *to)
{
    static char copy[65536];
    size_t n = 0;
    for (const char *p = text; *p && n + 1 < sizeof copy;)
        if (strncmp(p, from, strlen(from)) == 0) {
            n += (size_t)snprintf(copy + n, sizeof copy - n, "%s", to);
            p += strlen(from);
        } else {
            copy[n++] = *p++;
        }
    copy[n] = 0;
    assert_true(n < size);
    memcpy(text, copy, n + 1);
}

/* What `rocpd merge` makes of two: here of one pid, as in two containers. */
static void merged_files_are_processes(void **state)
{
    (void)state;
    static char sql[3][32768];
    const char *const parts[] = {rocpd_schema, rocpd_machine, small_run};
    rocpd_make(in_dir("r.db"), small_run);
    sqlite3 *db = rocpd_open(in_dir("r.db"));
    for (int i = 0; i < 3; i++) {
        snprintf(sql[i], sizeof sql[i], "%s", parts[i]);
        replace_all(sql[i], sizeof sql[i], GUID, "_0000ffff_0000_7000_8000_0123456789ab");
        rocpd_sql(db, sql[i]);
    }
    sqlite3_close(db);
    hb_import *import = open_with(in_dir("r.db"), NULL);
    assert_int_equal(hb_import_count(import), 2);
    for (size_t i = 0; i < 2; i++) {
        hb_open_options o = HB_OPEN_OPTIONS_INIT;
        hb_trace_file *file;
        o.process = i;
        assert_int_equal(hb_import_get(import, i)->kernels, 2);
        assert_int_equal(hb_import_write(import, i, in_dir("log"), NULL), HB_OK);
        assert_int_equal(hb_trace_file_open(in_dir("r.db"), &o, &file), HB_OK);
        hb_trace_file_close(file);
    }
    assert_int_equal(list_dir(in_dir("log"), NULL, NULL, 0), 2);
    hb_import_close(import);
}

/* ---- what is wrong ---- */

static void refuse(const char *path, hb_result expected, const char *reason)
{
    hb_import *import = NULL;
    assert_int_equal(hb_import_open(&path, 1, NULL, &import), expected);
    assert_null(import);
    HAS(hb_last_error(), reason);
}

static void times_that_are_none(void **state)
{
    (void)state;
    static char sql[16384];
    snprintf(sql, sizeof sql,
             "%sINSERT INTO rocpd_region" GUID "(pid, tid, start, end, name_id) VALUES"
             " (1, 1, 9223372036854775807, 9223372036854775807, 7), (1, 1, -5, 7, 7),"
             " (1, 1, 3000000, 2000000, 7), (9, 1, 3000000, 3000000, 7), (1, 1, 3, 4, 999);",
             small_run);
    hb_import *import = open_sql(sql, NULL);
    const hb_imported *p = hb_import_get(import, 0);
    assert_int_equal(note_of(p, "BAD_TIMES"), 2);
    assert_int_equal(note_of(p, "BAD_ROWS"), 2);
    free(written(import, NULL));
    hb_import_close(import);
}

#define DROP(table, column) "ALTER TABLE rocpd_" table GUID " DROP COLUMN " column ";"
#define BY_TRACK(table, number)                                                  \
    "ALTER TABLE rocpd_" table GUID " ADD COLUMN track_id INTEGER;"              \
    "UPDATE rocpd_" table GUID " SET track_id = " #number ";" DROP(table, "pid") \
        DROP(table, "tid")

/* What schema 4.1 made of 3: rows are on tracks, and categories have a table. */
static const char *const to_tracks[] = {
    "ALTER TABLE rocpd_track" GUID " ADD COLUMN agent_id INTEGER;",
    "ALTER TABLE rocpd_track" GUID " ADD COLUMN queue_id INTEGER;",
    "ALTER TABLE rocpd_track" GUID " ADD COLUMN stream_id INTEGER;",
    "INSERT INTO rocpd_track" GUID "(id, pid, tid, agent_id, queue_id, stream_id) VALUES",
    " (100, 1, 1, NULL, NULL, NULL), (101, 1, 1, 3, 16, 0), (102, 1, 1, 3, 17, 1);",
    BY_TRACK("region", 100),
    BY_TRACK("kernel_dispatch", 101),
    BY_TRACK("memory_copy", 102),
    BY_TRACK("memory_allocate", 101),
    DROP("kernel_dispatch", "agent_id"),
    DROP("kernel_dispatch", "queue_id"),
    DROP("kernel_dispatch", "stream_id"),
    DROP("memory_copy", "queue_id"),
    DROP("memory_copy", "stream_id"),
    DROP("memory_allocate", "agent_id"),
    "CREATE TABLE rocpd_info_category" GUID "(id INTEGER PRIMARY KEY, guid TEXT, name TEXT);",
    "INSERT INTO rocpd_info_category" GUID " SELECT id + 1000, guid, string FROM rocpd_string" GUID,
    ";UPDATE rocpd_event" GUID " SET category_id = category_id + 1000;",
};

static void rows_on_tracks(void **state)
{
    (void)state;
    static char sql[16384];
    hb_import_options o = HB_IMPORT_OPTIONS_INIT;
    o.end_time_ns = INT64_C(1790000000000000000);
    hb_import *import = open_sql(small_run, &o);
    char *before = written(import, NULL);
    hb_import_close(import);
    remove_tree(dir);
    assert_int_equal(make_dir(NULL), 0);
    snprintf(sql, sizeof sql, "%s", small_run);
    for (size_t i = 0; i < sizeof to_tracks / sizeof *to_tracks; i++)
        strncat(sql, to_tracks[i], sizeof sql - strlen(sql) - 1);
    import = open_sql(sql, &o);
    char *after = written(import, NULL);
    hb_import_close(import);
    /* The directory's name is another one. */
    assert_string_equal(strstr(after, "\"traceEvents\""), strstr(before, "\"traceEvents\""));
    free(before);
    free(after);
}

static void newer_schemas_are_refused(void **state)
{
    (void)state;
    rocpd_make(in_dir("r.db"), "ALTER TABLE rocpd_region" GUID " RENAME COLUMN start TO start_id;"
                               "UPDATE rocpd_metadata" GUID " SET value = '4.2.0';");
    refuse(in_dir("r.db"), HB_ERROR_FORMAT, "schema 4.2.0, which is not read: rocpd_region");
    rocpd_make(in_dir("r.db"), DROP("region", "tid"));
    refuse(in_dir("r.db"), HB_ERROR_FORMAT, "has no column tid");
}

/* Views and triggers of a stranger's database are a stranger's code. */
static void nothing_of_a_schema_runs(void **state)
{
    (void)state;
    rocpd_make(in_dir("r.db"),
               "ALTER TABLE rocpd_region" GUID " RENAME TO hidden;"
               "CREATE VIEW rocpd_region" GUID " AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL"
               " SELECT i + 1 FROM n) SELECT 1 AS pid, i AS tid, i AS start, i AS end,"
               " 7 AS name_id, i AS event_id FROM n;");
    refuse(in_dir("r.db"), HB_ERROR_FORMAT, "rocpd_region has no column");
}

static void damaged_and_empty_files(void **state)
{
    (void)state;
    rocpd_make(in_dir("r.db"), "");
    refuse(in_dir("r.db"), HB_ERROR_FORMAT, "nothing is in it");
    rocpd_make(in_dir("r.db"), small_run);
    assert_int_equal(truncate(in_dir("r.db"), 20000), 0);
    refuse(in_dir("r.db"), HB_ERROR_FORMAT, "r.db: ");
    assert_int_equal(truncate(in_dir("r.db"), 0), 0);
    refuse(in_dir("r.db"), HB_ERROR_FORMAT, "is empty");
    refuse(in_dir("none.db"), HB_ERROR_NOT_FOUND, "none.db");
    assert_int_equal(mkdir(in_dir("empty"), 0700), 0);
    refuse(in_dir("empty"), HB_ERROR_NOT_FOUND, "no file in it");
    sqlite3 *db = rocpd_open(in_dir("other.db"));
    rocpd_sql(db, "CREATE TABLE t(x)");
    sqlite3_close(db);
    refuse(in_dir("other.db"), HB_ERROR_FORMAT, "without tables that are known");
}

static void a_log_beside_it_is_read(void **state)
{
    (void)state;
    rocpd_make(in_dir("r.db"), "");
    sqlite3 *db = rocpd_open(in_dir("r.db"));
    rocpd_sql(db, "PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0;");
    rocpd_sql(db, small_run); /* stays in the log */
    hb_import *import = open_with(in_dir("r.db"), NULL);
    assert_int_equal(hb_import_get(import, 0)->kernels, 2);
    hb_import_close(import);
    sqlite3_close(db);
}

static void gzipped_files(void **state)
{
    (void)state;
    char path[512];
    rocpd_make(in_dir("r.db"), "PRAGMA journal_mode=WAL;");
    rocpd_make(in_dir("r.db"), small_run);
    FILE *from = fopen(in_dir("r.db"), "rb");
    snprintf(path, sizeof path, "%s/r.db.gz", dir);
    gzFile to = gzopen(path, "wb");
    static char buffer[1 << 20];
    size_t n = fread(buffer, 1, sizeof buffer, from);
    assert_int_equal(gzwrite(to, buffer, (unsigned)n), (int)n);
    gzclose(to);
    fclose(from);
    hb_import *import = open_with(path, NULL);
    assert_int_equal(hb_import_get(import, 0)->kernels, 2);
    hb_import_close(import);
    assert_int_equal(truncate(path, 2000), 0);
    refuse(path, HB_ERROR_FORMAT, "r.db.gz");
}

/* zstd's own compressor, loaded as the reader loads the library. */
static const char *keep_zstd(const char *name, const void *bytes, size_t size)
{
    static char packed[2 << 20];
    size_t (*compress)(void *to, size_t room, const void *from, size_t from_size, int level);
    void *library = dlopen("libzstd.so.1", RTLD_NOW);
    assert_non_null(library); /* dpkg itself needs it */
    void *symbol = dlsym(library, "ZSTD_compress");
    memcpy(&compress, &symbol, sizeof symbol);
    size_t n = compress(packed, sizeof packed, bytes, size, 3);
    assert_in_range(n, 1, sizeof packed);
    dlclose(library);
    FILE *file = fopen(in_dir(name), "wb");
    assert_int_equal(fwrite(packed, 1, n, file), n);
    fclose(file);
    return in_dir(name);
}

static void files_by_zstd(void **state)
{
    (void)state;
    static char buffer[1 << 21];
    rocpd_make(in_dir("r.db"), small_run);
    FILE *from = fopen(in_dir("r.db"), "rb");
    size_t n = fread(buffer, 1, sizeof buffer, from);
    fclose(from);
    const char *path = keep_zstd("r.db.zst", buffer, n);
    hb_import *import = open_with(path, NULL);
    assert_int_equal(hb_import_get(import, 0)->kernels, 2);
    hb_import_close(import);
    assert_int_equal(truncate(path, 700), 0);
    refuse(path, HB_ERROR_FORMAT, "r.db.zst");
    /* More than a block of the reader's, and one that ends with it. */
    for (int round = 0; round < 2; round++) {
        hb_text text;
        hb_buf all;
        n = round ? 1 << 20 : (1 << 21) - 11;
        for (size_t i = 0; i < n; i++)
            buffer[i] = (char)('a' + i * 7919 % 23);
        assert_int_equal(hb_text_open(&text, keep_zstd("text.zst", buffer, n), HB_TEXT_AUTO),
                         HB_OK);
        hb_buf_init(&all, SIZE_MAX / 2);
        assert_int_equal(hb_text_read_all(&text, "text.zst", &all), HB_OK);
        assert_int_equal(all.size, n);
        assert_memory_equal(all.data, buffer, n);
        hb_buf_free(&all);
        hb_text_close(&text);
    }
}

static void a_directory_stands_for_its_files(void **state)
{
    (void)state;
    char other[512];
    rocpd_make(in_dir("r.db"), small_run);
    snprintf(other, sizeof other, "%s/node8", dir);
    assert_int_equal(mkdir(other, 0700), 0);
    snprintf(other, sizeof other, "%s/node8/any name at all", dir);
    rocpd_make(other, small_run);
    fclose(fopen(in_dir("notes.txt"), "w"));
    hb_import *import = open_with(dir, NULL);
    assert_int_equal(hb_import_count(import), 2);
    /* Of one machine: one clock for both, though the files are of different times. */
    assert_int_equal(hb_import_get(import, 0)->start_ns, hb_import_get(import, 1)->start_ns);
    hb_import_close(import);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(counts_and_notes),
        IN_DIR(events_as_they_were),
        IN_DIR(calls_are_operators_where_no_range_is),
        IN_DIR(no_environment_comes_out),
        IN_DIR(twice_is_the_same),
        IN_DIR(the_file_tells_the_time_of_day),
        IN_DIR(directly_as_by_a_file),
        IN_DIR(one_step_for_all),
        IN_DIR(steps_by_their_names),
        IN_DIR(steps_by_repetition),
        IN_DIR(steps_as_asked_for),
        IN_DIR(counters_of_kernels),
        IN_DIR(passes_of_two_processes),
        IN_DIR(a_counter_of_two_passes),
        IN_DIR(allocations_of_more_than_there_is),
        IN_DIR(samples_of_gpus),
        IN_DIR(many_streams_are_queues),
        IN_DIR(merged_files_are_processes),
        IN_DIR(times_that_are_none),
        IN_DIR(rows_on_tracks),
        IN_DIR(newer_schemas_are_refused),
        IN_DIR(nothing_of_a_schema_runs),
        IN_DIR(damaged_and_empty_files),
        IN_DIR(a_log_beside_it_is_read),
        IN_DIR(gzipped_files),
        IN_DIR(files_by_zstd),
        IN_DIR(a_directory_stands_for_its_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
