/* SPDX-License-Identifier: MIT
 *
 * A small trace with something of each kind, in other formats: whole tables, rows of the database,
 * what is said to be left out; parts by steps, times and sizes.
 */
#include <errno.h>
#include <fcntl.h>
#include <hipboard/export.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include "exported_tables.h"
#include "import/import_set.h"
#include "imported.h"
#include "refused_calls.h"

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
    check_notes(made, 22, notes);
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
    static const char *const notes[] = {"1 operators whose inputs", "1 annotations",
                                        "1 allocations", NULL};
    sqlite3 *db;
    (void)state;
    check_notes(exported(kept("trace", exported_trace), in_dir("out.db"), HB_EXPORT_ROCPD), 25,
                notes);
    assert_int_equal(sqlite3_open(in_dir("out.db"), &db), SQLITE_OK);
    for (size_t i = 0; i < HB_ARRAY_LEN(exported_rows); i++)
        check_rows(db, exported_rows[i].sql, exported_rows[i].expected);
    sqlite3_close(db);
}

static hb_result export_database(const char *output, bool replace)
{
    hb_export_options o = HB_EXPORT_OPTIONS_INIT;
    o.format = HB_EXPORT_ROCPD;
    o.replace = replace;
    return hb_export(kept("trace", exported_trace), output, &o, NULL);
}

static void assert_database(const char *path)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    check_rows(db, exported_rows[0].sql, exported_rows[0].expected);
    sqlite3_close(db);
}

static mode_t mode_of(const char *path)
{
    struct stat st;
    assert_int_equal(lstat(path, &st), 0);
    return st.st_mode;
}

static void a_database_keeps_what_it_replaces(void **state)
{
    char link[512];
    (void)state;
    keep_text("out.db", "mine");
    snprintf(link, sizeof link, "%s", in_dir("link.db"));
    assert_int_equal(symlink("out.db", link), 0);
    assert_int_equal(export_database(link, false), HB_ERROR_STATE);
    static const mode_t modes[] = {0600, 0664, 0400};
    for (size_t i = 0; i < HB_ARRAY_LEN(modes); i++) {
        assert_int_equal(chmod(in_dir("out.db"), modes[i]), 0);
        assert_int_equal(export_database(i ? in_dir("out.db") : link, true), HB_OK);
        assert_int_equal(mode_of(in_dir("out.db")), S_IFREG | modes[i]);
        assert_true(S_ISLNK(mode_of(link)));
        assert_database(link);
    }
    assert_int_equal(list_dir(dir, NULL, NULL, 0), 3); /* and the trace */
}

static void a_database_is_no_stream(void **state)
{
    char fifo[512];
    (void)state;
    snprintf(fifo, sizeof fifo, "%s", in_dir("fifo.db"));
    assert_int_equal(mkfifo(fifo, 0600), 0);
    for (int replace = 0; replace < 2; replace++) {
        assert_int_equal(export_database(fifo, replace), HB_ERROR_INVALID_ARGUMENT);
        HAS(hb_last_error(), "fifo.db': a database can be written into a file only");
        assert_int_equal(mode_of(fifo), S_IFIFO | 0600);
    }
    assert_int_equal(export_database("/dev/fd/2", true), HB_ERROR_INVALID_ARGUMENT);
    assert_int_equal(export_database(dir, true), HB_ERROR_IO);
}

/* As on file systems without second names, or of which nothing can be renamed. */
static void a_database_is_written_where_files_have_one_name(void **state)
{
    static const int calls[] = {SYS_renameat2, SYS_linkat, SYS_link, SYS_rename, SYS_renameat};
    (void)state;
    for (int n = 3; n <= 5; n += 2) {
        pid_t child = fork();
        if (child == 0) {
            refuse_calls(calls, n, ENOSYS);
            _exit(export_database(in_dir("one.db"), false) != HB_OK ||
                  export_database(in_dir("one.db"), false) != HB_ERROR_STATE);
        }
        wait_for_success(child);
        assert_database(in_dir("one.db"));
        assert_int_equal(list_dir(dir, NULL, NULL, 0), 2);
        assert_int_equal(unlink(in_dir("one.db")), 0);
    }
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

/* Curves, and what stands beside events. */
static void check_rest(const char *path)
{
    hb_import *import;
    assert_int_equal(hb_import_open_any(path, NULL, &import), HB_OK);
    char *text = written_text(import, 0);
    HAS(text, "\"rows\": 3");
    HAS(text, "\"free\": -1.5");
    HAS(text, "\"host_name\": \"node\"");
    HAS(text, "\"rank\": 1, \"world_size\": 2");
    HAS(text, "\"name\": \"First\"");
    HAS(text, "\"gcnArchName\": \"gfx942\"");
    HAS(text, "\"numSms\": 110");
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
        if (!tables) check_rest(output);
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
    char told[100] = "", name[16];
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

static void files_are_no_larger_than_asked_for(void **state)
{
    (void)state;
    char input[512], told[100] = "", whole[512];
    struct stat st;
    snprintf(input, sizeof input, "%s", four_steps());
    snprintf(whole, sizeof whole, "%s", in_dir("whole.pftrace"));
    hb_exported_free(exported(input, whole, HB_EXPORT_PFTRACE));
    assert_int_equal(stat(whole, &st), 0);
    hb_export_options o = HB_EXPORT_OPTIONS_INIT;
    o.max_size = (uint64_t)st.st_size * 2 / 3;
    hb_exported *made = exported_with(input, in_dir("sized.pftrace"), &o);
    assert_in_range(made->num_paths, 2, 4);
    for (size_t i = 0; i < made->num_paths; i++) {
        hb_import *import;
        assert_int_equal(stat(made->paths[i], &st), 0);
        assert_in_range(st.st_size, 1, o.max_size);
        assert_int_equal(hb_import_open_any(made->paths[i], NULL, &import), HB_OK);
        snprintf(told + strlen(told), sizeof told - strlen(told), "%llu ",
                 (unsigned long long)hb_import_get(import, 0)->kernels);
        hb_import_close(import);
    }
    assert_string_equal(told, made->num_paths == 2   ? "2 2 "
                              : made->num_paths == 3 ? "2 1 1 "
                                                     : "1 1 1 1 ");
    hb_exported_free(made);
}

/* What HIP counts as one CU is two of these. */
static void agents_have_all_their_cus(void **state)
{
    static const char text[] =
        "{'deviceProperties':[{'id':0,'name':'RX','numSms':48,'warpSize':32,"
        "'maxThreadsPerMultiprocessor':2048,'gcnArchName':'gfx1100'}],'traceEvents':[{'ph':'X',"
        "'cat':'kernel','name':'k','pid':0,'tid':0,'ts':1,'dur':1,'args':{'device':0,'stream':0}}]"
        "}";
    (void)state;
    char input[512], path[600];
    snprintf(input, sizeof input, "%s", kept("rdna.json", text));
    hb_exported_free(exported(input, in_dir("rdna"), HB_EXPORT_CSV));
    snprintf(path, sizeof path, "%s/0_agent_info.csv", in_dir("rdna"));
    char *agents = text_in(path);
    HAS(agents, "1,1,\"GPU\",96,0,0,32,32,");
    free(agents);
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
        IN_DIR(a_database_keeps_what_it_replaces),
        IN_DIR(a_database_is_no_stream),
        IN_DIR(a_database_is_written_where_files_have_one_name),
        IN_DIR(what_is_read_back_is_the_same),
        IN_DIR(parts_by_steps_and_times),
        IN_DIR(splits_have_all_of_it),
        IN_DIR(files_are_no_larger_than_asked_for),
        IN_DIR(agents_have_all_their_cus),
        IN_DIR(what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
