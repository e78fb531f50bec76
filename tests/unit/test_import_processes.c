/* SPDX-License-Identifier: MIT
 *
 * What is made of a file's rows, whatever its format is: rows by streams or queues, the window of
 * time, clocks of several files, passes that are one run, and what is told of a process.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "import/added_scopes.h"
#include "import/import_read.h"
#include "imported_rows.h"

#define EVENT(cat, name, pid, tid, ts, dur, args)                                         \
    "{'ph':'X','cat':'" cat "','name':'" name "','pid':" #pid ",'tid':" #tid ",'ts':" #ts \
    ",'dur':" #dur ",'args':{" args "}}"
#define MEMORY(bytes, ts)                                                  \
    "{'ph':'i','cat':'memory','name':'[memory]','pid':7,'tid':8,'ts':" #ts \
    ",'args':{'Addr':16,'Bytes':" #bytes ",'Total Allocated':64,'Device Type':1,'Device Id':3}}"
#define SAMPLE(ts) "{'ph':'C','name':'queue','pid':7,'tid':8,'ts':" #ts ",'args':{'rows':5}}"

/* ---- time ---- */

/* From the first to the last of all kinds of rows. */
static void the_window_has_all_rows(void **state)
{
    static const char *const kinds[] = {
        "'ph':'X','cat':'op','name':'a'",
        "'ph':'X','cat':'hip_api','name':'a'",
        "'ph':'X','cat':'gpu_kernel','name':'a'",
        "'ph':'i','cat':'memory','name':'a','args':{'Bytes':8,'Total Allocated':64}",
        "'ph':'C','name':'a','args':{'rows':5}",
    };
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(kinds); i++)
        for (int ts = 10; ts < 40; ts += 20) { /* before another one, and behind it */
            char text[800];
            snprintf(text, sizeof text,
                     "{'baseTimeNanoseconds':1000000,'traceEvents':[{%s,'pid':7,'tid':8,'ts':%d},%s"
                     "]}",
                     kinds[i], ts, EVENT("op", "other", 7, 8, 20, 0, ""));
            hb_import *import = import_dropping(keep_quoted("trace", text), NULL);
            const hb_imported *p = hb_import_get(import, 0);
            assert_int_equal(p->start_ns, 1000000 + 1000 * (ts < 20 ? ts : 20));
            assert_int_equal(p->end_ns, 1000000 + 1000 * (ts < 20 ? 20 : ts));
            hb_import_close(import);
        }
}

static void put_kinds(lines *to, hb_source *source, hb_pass pass)
{
    hb_trace_event e;
    assert_int_equal(source->begin(source, pass), HB_OK);
    while (source->next(source, &e))
        put(to, "%s %lld %lld\n", e.kind == HB_EVENT_MEMORY ? "memory" : e.name.s, (long long)e.tid,
            (long long)e.start_ns);
}

static const char threads[] =
    "{'baseTimeNanoseconds':1,'traceEvents':[" EVENT("op", "inner", 7, 9, 10, 5, "") "," EVENT(
        "op", "outer", 7, 9, 10, 9,
        "") "," EVENT("op", "first", 7, 8, 5, 50,
                      "") "," MEMORY(64,
                                     12) "," MEMORY(-64,
                                                    11) "," EVENT("op", "last", 7, 8, 30, 5,
                                                                  "") "," EVENT("gpu_kernel", "k",
                                                                                0, 2, 20, 5,
                                                                                "") "," EVENT("gpu_"
                                                                                              "kern"
                                                                                              "el",
                                                                                              "k",
                                                                                              0, 1,
                                                                                              13, 5,
                                                                                              "") "," EVENT("gpu_kernel",
                                                                                                            "k",
                                                                                                            0,
                                                                                                            1,
                                                                                                            60,
                                                                                                            5,
                                                                                                            "") "]}";

/* All threads by time, and kernels that became operators between them. */
static void all_threads_by_time(void **state)
{
    static const char *const expected[] = {
        "first 8 5001\nouter 9 10001\ninner 9 10001\nmemory 8 11001\nmemory 8 12001\n"
        "last 8 30001\n",
        "first 8 5001\nouter 9 10001\ninner 9 10001\nmemory 8 11001\nmemory 8 12001\n"
        "other 2000000001 13001\nother 2000000002 20001\nlast 8 30001\nother 2000000001 60001\n",
    };
    (void)state;
    for (int kernels = 0; kernels < 2; kernels++) {
        static lines found;
        hb_source *source;
        hb_import_options o = HB_IMPORT_OPTIONS_INIT;
        o.kernel_operators = kernels;
        hb_import *import = NULL;
        assert_int_equal(hb_import_open_any(keep_quoted("trace", threads), &o, &import), HB_OK);
        assert_int_equal(hb_import_rows_source(import->processes[0], &source), HB_OK);
        assert_int_equal(hb_add_scopes(&source, false, kernels), HB_OK);
        for (int again = 0; again < 2; again++) {
            found.size = 0;
            put_kinds(&found, source, HB_PASS_TIMELINE);
            assert_string_equal(found.text, expected[kernels]);
        }
        source->close(source);
        hb_import_close(import);
    }
}

/* Frees of what nobody has allocated are in no pass. */
static void frees_of_unknown_memory(void **state)
{
    static const hb_pass passes[] = {HB_PASS_TIMELINE, HB_PASS_HOST};
    (void)state;
    hb_import *import = import_dropping(
        keep_text("1_memory_allocation_trace.csv",
                  "Operation,Agent_Id,Allocation_Size,Address,Start_Timestamp,End_Timestamp\n"
                  "FREE,1,0,0x9,1,2\nALLOCATE,1,8,0x10,3,4\nFREE,1,0,0x99,5,6\n"
                  "FREE,1,0,0x10,7,8\n"),
        NULL);
    hb_import_process *p = import->processes[0];
    for (size_t i = 0; i < HB_ARRAY_LEN(passes); i++) {
        hb_source *source;
        hb_trace_event e;
        int64_t times[3] = {0}, count = 0;
        assert_int_equal(hb_import_rows_source(p, &source), HB_OK);
        assert_int_equal(source->begin(source, passes[i]), HB_OK);
        while (source->next(source, &e)) {
            assert_in_range(count, 0, 1);
            times[count++] = e.start_ns - p->offset;
        }
        assert_int_equal(count, 2);
        assert_true(times[0] == 4 && times[1] == 7);
        source->close(source);
    }
    hb_import_close(import);
}

/* ---- rows of GPUs ---- */

/* So many kernels on streams and queues of their own, of GPU 0; the last one of another queue. */
static hb_import *kernels_on(int streams, int last_queue, hb_import_by by)
{
    static char text[16000];
    hb_import_options o = HB_IMPORT_OPTIONS_INIT;
    size_t n = (size_t)snprintf(text, sizeof text, "[{'ph':'M'}");
    for (int i = 0; i < streams; i++) {
        n += (size_t)snprintf(text + n, sizeof text - n,
                              ",{'ph':'X','cat':'gpu_kernel','name':'k','pid':0,'tid':0,'ts':%d,"
                              "'dur':1,'args':{'device':0,'stream':%d",
                              10 + i, 100 + i);
        int queue = i + 1 < streams ? i % 2 : last_queue;
        if (queue >= 0) n += (size_t)snprintf(text + n, sizeof text - n, ",'queue':%d", queue);
        n += (size_t)snprintf(text + n, sizeof text - n, "}}");
    }
    snprintf(text + n, sizeof text - n, "]");
    o.rows = by;
    return import_with(keep_quoted("trace", text), &o);
}

static void streams_or_queues(void **state)
{
    static const struct {
        int streams, last_queue;
        hb_import_by by;
        unsigned rows, many;
    } cases[] = {
        {32, 1, HB_IMPORT_BY_COUNT, 32, 0},  {33, 1, HB_IMPORT_BY_COUNT, 2, 33},
        {33, -1, HB_IMPORT_BY_COUNT, 33, 0}, {33, 0, HB_IMPORT_BY_COUNT, 2, 33},
        {33, 1, HB_IMPORT_BY_STREAM, 33, 0}, {3, 1, HB_IMPORT_BY_QUEUE, 2, 0},
        {3, 2, HB_IMPORT_BY_QUEUE, 3, 0},    {3, -1, HB_IMPORT_BY_QUEUE, 3, 0},
    };
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(cases); i++) {
        hb_import *import = kernels_on(cases[i].streams, cases[i].last_queue, cases[i].by);
        const hb_imported *p = hb_import_get(import, 0);
        if (p->streams != cases[i].rows || note_of(p, "MANY_STREAMS") != cases[i].many)
            fail_msg("%zu: %llu rows, %llu", i, (unsigned long long)p->streams,
                     (unsigned long long)note_of(p, "MANY_STREAMS"));
        char *text = written_text(import, 0);
        bool queues = cases[i].by == HB_IMPORT_BY_QUEUE || cases[i].many;
        assert_int_equal(count_in(text, "\"hip stream\": 1"), queues ? cases[i].streams : 0);
        free(text);
        hb_import_close(import);
    }
}

/* Up to the last one that anything is told of. */
static void gpus_are_counted(void **state)
{
    static const struct {
        const char *event;
        unsigned gpus;
    } rows[] = {
        {EVENT("op", "a", 7, 8, 10, 0, ""), 0},
        {EVENT("gpu_kernel", "a", 0, 8, 10, 0, "'device':1"), 2},
        {EVENT("gpu_kernel", "a", 0, 8, 10, 0, "'device':0"), 1},
        {MEMORY(8, 10), 4},
    };
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(rows); i++) {
        char text[400];
        snprintf(text, sizeof text, "[%s]", rows[i].event);
        hb_import *import = import_dropping(keep_quoted("t", text), NULL);
        assert_int_equal(hb_import_get(import, 0)->gpus, rows[i].gpus);
        hb_import_close(import);
    }
}

/* Ranges as modules: each with its number, that of what it lies in, and which of its class it is.
 */
static void modules_by_their_parents(void **state)
{
    static lines found;
    hb_source *source;
    hb_trace_event e;
    hb_import *import = import_dropping(
        keep_quoted("t",
                    "[" EVENT("op", "outer", 7, 8, 10, 50, "") "," EVENT(
                        "op", "in", 7, 8, 10, 20,
                        "") "," EVENT("op", "in", 7, 8, 30, 20,
                                      "") "," EVENT("op", "outer", 7, 8, 70, 9,
                                                    "") "," EVENT("op", "in", 7, 9, 15, 20,
                                                                  "") "," EVENT("op", "in", 7, 8,
                                                                                72, 5, "") "]"),
        NULL);
    (void)state;
    found.size = 0;
    assert_int_equal(hb_import_rows_source(import->processes[0], &source), HB_OK);
    assert_int_equal(hb_add_scopes(&source, true, false), HB_OK);
    assert_int_equal(source->begin(source, HB_PASS_MODULES), HB_OK);
    while (source->next(source, &e))
        put(&found, "%s %lld: %llu in %llu, %u\n", e.name.s, (long long)e.tid,
            (unsigned long long)e.module.python_id, (unsigned long long)e.module.parent_id,
            e.module.module_id);
    assert_string_equal(found.text, "nn.Module: outer 8: 1 in 0, 0\nnn.Module: in 8: 2 in 1, 0\n"
                                    "nn.Module: in 9: 3 in 0, 1\nnn.Module: in 8: 4 in 1, 0\n"
                                    "nn.Module: outer 8: 5 in 0, 0\nnn.Module: in 8: 6 in 5, 0\n");
    source->close(source);
    hb_import_close(import);
}

/* ---- clocks of several files ---- */

static void set_written(const char *name, int64_t seconds)
{
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = seconds}};
    assert_int_equal(utimensat(AT_FDCWD, in_dir(name), times, 0), 0);
}

/* When each process of the directory began, by its file's time alone: less what its clock shows. */
static void check_starts(const int64_t *expected, size_t count)
{
    hb_import *import = import_with(dir, NULL);
    assert_int_equal(hb_import_count(import), count);
    for (size_t i = 0; i < count; i++) {
        int64_t start = hb_import_get(import, i)->start_ns;
        if (start != expected[i]) fail_msg("%zu: %lld", i, (long long)start);
    }
    hb_import_close(import);
}

#define SECOND INT64_C(1000000000)

/* Tables of one directory are of one boot where they were written within ten minutes: of these the
 * soonest counts for each. Of other files each has its own. */
static void clocks_of_several_files(void **state)
{
    static const int64_t written[] = {1000, 1599, 1600, 9000};
    (void)state;
    for (int i = 0; i < 4; i++) {
        char name[40], text[300];
        snprintf(name, sizeof name, "%d_kernel_trace.csv", i + 1);
        snprintf(text, sizeof text,
                 "Agent_Id,Kernel_Name,Start_Timestamp,End_Timestamp\nAgent 1,k,%d,5000\n",
                 1000 + i);
        keep_text(name, text);
        set_written(name, written[i]);
    }
    check_starts((const int64_t[]){1000 * SECOND - 4000, 1000 * SECOND - 3999, 1599 * SECOND - 3998,
                                   9000 * SECOND - 3997},
                 4);
    remove_tree(dir);
    assert_int_equal(make_dir(NULL), 0);
    for (int i = 0; i < 2; i++) {
        char name[40];
        snprintf(name, sizeof name, "%d.json", i);
        keep_quoted(name, "[" EVENT("mine", "a", 7, 8, 10, 5, "") "," EVENT("mine", "b", 8, 9, 20,
                                                                            5, "") "]");
        set_written(name, 1000 + 5 * i);
    }
    check_starts((const int64_t[]){1000 * SECOND - 5000 - 10000, 1000 * SECOND - 5000,
                                   1005 * SECOND - 5000 - 10000, 1005 * SECOND - 5000},
                 4);
}

/* A file that is named twice, also by another name, is read once. */
static void files_are_read_once(void **state)
{
    const char *path = keep_quoted("a", "[" EVENT("mine", "a", 7, 8, 10, 5, "") "]");
    const char *paths[] = {path, in_dir("b"), path};
    hb_import *import;
    (void)state;
    assert_int_equal(link(path, in_dir("b")), 0);
    assert_int_equal(hb_import_open(paths, 3, NULL, &import), HB_OK);
    assert_int_equal(hb_import_count(import), 1);
    hb_import_close(import);
    keep_quoted("c", "[" EVENT("mine", "a", 9, 8, 10, 5, "") "]");
    import = import_with(dir, NULL);
    assert_int_equal(hb_import_count(import), 2);
    hb_import_close(import);
}

/* ---- what cannot be ---- */

static void what_cannot_be_left_out(void **state)
{
    static const struct {
        const char *drop, *why; /* NULL: it can */
    } cases[] = {
        {"", NULL},
        {"hsa,", NULL},
        {"hsa,rccl", NULL},
        {"x", "'x' cannot be dropped: hip, hsa, rccl, ranges, copies, memory or counters can"},
        {"hi", "'hi' cannot be dropped"},
        {"hipp", "'hipp' cannot be dropped"},
        {",hsa", "'' cannot be dropped"},
        {"hsa,,rccl", "'' cannot be dropped"},
        {"hsa,any,rccl", "'any' cannot be dropped"},
    };
    const char *path = keep_quoted("a", "[" EVENT("mine", "a", 7, 8, 10, 5, "") "]");
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(cases); i++) {
        hb_import *import = NULL;
        hb_import_options o = HB_IMPORT_OPTIONS_INIT;
        o.drop = cases[i].drop;
        assert_int_equal(hb_import_open(&path, 1, &o, &import),
                         cases[i].why ? HB_ERROR_INVALID_ARGUMENT : HB_OK);
        if (cases[i].why) HAS(hb_last_error(), cases[i].why);
        hb_import_close(import);
    }
}

static void arguments_that_are_none(void **state)
{
    const char *path = keep_quoted("a", "[" EVENT("mine", "a", 7, 8, 10, 5, "") "]");
    hb_import *import = (hb_import *)&path;
    char *written = (char *)&path;
    (void)state;
    assert_int_equal(hb_import_open(NULL, 1, NULL, &import), HB_ERROR_INVALID_ARGUMENT);
    assert_int_equal(hb_import_open(&path, 0, NULL, &import), HB_ERROR_INVALID_ARGUMENT);
    assert_int_equal(hb_import_open(&path, 1, NULL, NULL), HB_ERROR_INVALID_ARGUMENT);
    import = import_with(path, NULL);
    assert_int_equal(hb_import_write(import, 0, NULL, &written), HB_ERROR_INVALID_ARGUMENT);
    assert_null(written);
    assert_int_equal(hb_import_write(import, 1, dir, NULL), HB_ERROR_INVALID_ARGUMENT);
    assert_string_equal(hb_last_error(), "no directory, or no process 1");
    hb_import_close(import);
    hb_import_close(NULL);
    assert_int_equal(hb_import_count(NULL), 0);
}

static void traces_of_other_tools_have_a_cure(void **state)
{
    static const struct {
        const char *name, *cure; /* NULL: none */
    } files[] = {
        {"a.nsys-rep", "nsys export --type sqlite"},
        {"a.qdrep", "nsys export --type sqlite"},
        {"a.otf2", "--output-format rocpd"},
        {"a.att", "ROCprof Compute Viewer"},
        {"a.tracy", "tracy-csvexport -u"},
        {"a.hbspool", "hipboard recover"},
        {"a.txt", NULL},
        {"att", NULL},
    };
    static const struct {
        const char *head, *cure;
    } heads[] = {{"tlZ\4x", "tracy-csvexport -u"},   {"tZstx", "tracy-csvexport -u"},
                 {"tr\xfdPx", "tracy-csvexport -u"}, {"PERFILE2", "perf report"},
                 {"tlZ\3x", "of no format"},         {"PERFILE3", "of no format"}};
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(files); i++) {
        import_refused(keep_text(files[i].name, "x"), HB_ERROR_FORMAT,
                       files[i].cure ? files[i].cure : "of no format");
        assert_false(hb_import_knows(in_dir(files[i].name)));
    }
    for (size_t i = 0; i < HB_ARRAY_LEN(heads); i++)
        import_refused(keep_text("x", heads[i].head), HB_ERROR_FORMAT, heads[i].cure);
    assert_false(hb_import_knows(NULL));
}

/* ---- passes ---- */

#define COUNTED(kernel, counter, value, start)                                     \
    "Dispatch_Id,Agent_Id,Kernel_Name,Counter_Name,Counter_Value,Start_Timestamp," \
    "End_Timestamp\n1,Agent 1," kernel "," counter "," #value "," #start ",9000\n"

/* Only of directories called so beside each other, of the same kernels, into the first one. */
static void passes_by_their_directories(void **state)
{
    static const struct {
        const char *first, *second, *kernel; /* of the second */
        bool merged;
    } cases[] = {
        {"pass_1", "pass_2", "k", true},
        {"pass_2", "pass_10", "k", true},
        {"pass_1", "pass_2", "other", false},
        {"a/pass_1", "a/pass_3", "k", true},
        {"a/pass_1", "b/pass_2", "k", false},
        {"a_pass_1", "a_pass_2", "k", false},
        {"pass_1x", "pass_2x", "k", false},
        {"pass_a", "pass_b", "k", false},
        {"pass_0", "pass_1", "k", true},
        {"pass_1", "passes_2", "k", false},
        {"pass_1/a", "pass_2/a", "k", true},
        {"pass_1/pass_3", "pass_1/pass_4", "k", true},
        {"pass_1/pass_3", "pass_2/pass_4", "k", false},
    };
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(cases); i++) {
        char command[400], name[100], text[300];
        const char *const directories[] = {cases[i].first, cases[i].second};
        for (size_t k = 0; k < 2; k++) {
            snprintf(command, sizeof command, "mkdir -p '%s/%s'", dir, directories[k]);
            assert_int_equal(system(command), 0);
            snprintf(name, sizeof name, "%s/1_counter_collection.csv", directories[k]);
            snprintf(text, sizeof text,
                     "Dispatch_Id,Agent_Id,Kernel_Name,Counter_Name,Counter_Value,Start_Timestamp,"
                     "End_Timestamp\n1,Agent 1,%s,%s,%d,%d,9000\n",
                     k ? cases[i].kernel : "k", k ? "BUSY" : "WAVES", k ? 7 : 5, k ? 2000 : 1000);
            keep_text(name, text);
        }
        hb_import *import = import_with(dir, NULL);
        const hb_imported *p = hb_import_get(import, 0);
        if (hb_import_count(import) != (cases[i].merged ? 1 : 2)) fail_msg("%s", cases[i].first);
        assert_int_equal(note_of(p, "MERGED_PASSES"), cases[i].merged);
        assert_int_equal(p->kernel_ns, 8000);
        char *trace = written_text(import, 0);
        if (cases[i].merged) HAS(trace, "\"WAVES\": 5, \"BUSY\": 7");
        free(trace);
        hb_import_close(import);
        remove_tree(dir);
        assert_int_equal(make_dir(NULL), 0);
    }
}

/* "pass_1/n/100 k 0 100 WAVES 1": a file, the kernel in it and its GPU, the process, a counter and
 * its value. */
static void keep_pass(const char *text)
{
    char stem[80], directory[400], name[120], rows[400], kernel[20], counter[20];
    int gpu, pid, value;
    assert_int_equal(
        sscanf(text, "%79s %19s %d %d %19s %d", stem, kernel, &gpu, &pid, counter, &value), 6);
    snprintf(directory, sizeof directory, "%s/%s", dir, stem);
    for (char *p = directory + strlen(dir) + 1; (p = strchr(p, '/')); *p++ = '/') {
        *p = 0;
        (void)mkdir(directory, 0700);
    }
    snprintf(name, sizeof name, "%s_counter_collection.csv", stem);
    snprintf(rows, sizeof rows,
             "Dispatch_Id,Agent_Id,Process_Id,Kernel_Name,Counter_Name,Counter_Value,"
             "Start_Timestamp,End_Timestamp\n1,GPU %d,%d,%s,%s,%d,1000,9000\n",
             gpu, pid, kernel, counter, value);
    keep_text(name, rows);
}

/* "100: WAVES 1 INSTS 10 apart 1;" */
static void put_values(lines *to, const hb_import_process *p)
{
    const hb_import_work *work = hb_column_at(&p->rows.works, 0);
    put(to, "%lld:", (long long)p->pid);
    for (uint32_t i = 0; i < work->num_values; i++) {
        const hb_import_value *v = hb_column_at(&p->rows.values, work->values + i);
        put(to, " %s %g", hb_texts_get(p->rows.texts, v->name).s, v->value);
    }
    put_number(to, "apart", note_of(&p->shown, "SEPARATE_PASSES"));
    put(to, ";");
}

/* Each process of a job gets the counters of its own passes. */
static void passes_of_several_processes(void **state)
{
    static const struct {
        const char *passes[8], *expected;
    } cases[] = {
        {{"pass_1/n/100 k 0 100 WAVES 1", "pass_1/n/101 k 0 101 WAVES 2",
          "pass_2/n/200 k 0 200 INSTS 10", "pass_2/n/201 k 0 201 INSTS 70",
          "pass_3/n/300 k 0 300 VALU 11", "pass_3/n/301 k 0 301 VALU 77"},
         "100: WAVES 1 INSTS 10 VALU 11;101: WAVES 2 INSTS 70 VALU 77;"},
        /* by their numbers */
        {{"pass_1/n/100 k 0 100 WAVES 2", "pass_1/n/99 k 0 99 WAVES 1",
          "pass_2/n/200 k 0 200 INSTS 10", "pass_2/n/201 k 0 201 INSTS 70"},
         "100: WAVES 2 INSTS 70;99: WAVES 1 INSTS 10;"},
        /* their GPU is before that: the second pass of rank 1 began first */
        {{"pass_1/n/100 k 0 100 WAVES 1", "pass_1/n/101 k 1 101 WAVES 2",
          "pass_2/n/200 k 1 200 INSTS 70", "pass_2/n/201 k 0 201 INSTS 10"},
         "100: WAVES 1 INSTS 10;101: WAVES 2 INSTS 70;"},
        /* and before both a rank, where one is told */
        {{"pass_1/rank0 k 1 101 WAVES 1", "pass_1/rank1 k 0 100 WAVES 2",
          "pass_2/rank0 k 0 200 INSTS 10", "pass_2/rank1 k 1 201 INSTS 70"},
         "101: WAVES 1 INSTS 10;100: WAVES 2 INSTS 70;"},
        {{"pass_1/rank0 k 0 100 WAVES 1", "pass_1/rank1 k 0 101 WAVES 2",
          "pass_2/rank1 k 0 200 INSTS 70"},
         "100: WAVES 1;101: WAVES 2 INSTS 70;"},
        {{"pass_1/n.100.0/n/100 k 0 100 WAVES 1", "pass_1/n.101.1/n/101 k 0 101 WAVES 2",
          "pass_2/n.200.1/n/200 k 0 200 INSTS 70", "pass_2/n.201.0/n/201 k 0 201 INSTS 10"},
         "100: WAVES 1 INSTS 10;101: WAVES 2 INSTS 70;"},
        /* of several machines */
        {{"pass_1/a/100 k 0 100 WAVES 1", "pass_1/b/50 k 0 50 WAVES 2",
          "pass_2/a/200 k 0 200 INSTS 10", "pass_2/b/300 k 0 300 INSTS 70"},
         "100: WAVES 1 INSTS 10;50: WAVES 2 INSTS 70;"},
        {{"pass_1/a/100 k 0 100 WAVES 1", "pass_2/b/200 k 0 200 INSTS 10"},
         "100: WAVES 1;200: INSTS 10 apart 1;"},
        /* in a directory of each one's own */
        {{"pass_1/100/r k 0 100 WAVES 1", "pass_2/200/r k 0 200 INSTS 10"},
         "100: WAVES 1 INSTS 10;"},
        {{"pass_1/a/100/r k 0 100 WAVES 1", "pass_1/b/50/r k 0 50 WAVES 2",
          "pass_2/a/200/r k 0 200 INSTS 10", "pass_2/b/300/r k 0 300 INSTS 70"},
         "100: WAVES 1 INSTS 10;50: WAVES 2 INSTS 70;"},
        /* one that is missing may be anyone's */
        {{"pass_1/n/100 k 0 100 WAVES 1", "pass_1/n/101 k 0 101 WAVES 2",
          "pass_2/n/201 k 0 201 INSTS 70"},
         "100: WAVES 1;101: WAVES 2;201: INSTS 70 apart 1;"},
        {{"pass_1/n/100 k 0 100 WAVES 1", "pass_2/n/200 k 0 200 INSTS 10",
          "pass_2/n/201 k 0 201 INSTS 70"},
         "100: WAVES 1;200: INSTS 10 apart 1;201: INSTS 70 apart 1;"},
        /* what ran other kernels */
        {{"pass_1/n/100 k 0 100 WAVES 1", "pass_1/n/101 k 0 101 WAVES 2",
          "pass_2/n/200 k 0 200 INSTS 10", "pass_2/n/201 x 0 201 INSTS 70"},
         "100: WAVES 1 INSTS 10;101: WAVES 2;201: INSTS 70 apart 1;"},
    };
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(cases); i++) {
        static lines found;
        found.size = 0;
        for (size_t k = 0; k < HB_ARRAY_LEN(cases[i].passes) && cases[i].passes[k]; k++)
            keep_pass(cases[i].passes[k]);
        hb_import *import = import_with(dir, NULL);
        for (size_t k = 0; k < hb_import_count(import); k++)
            put_values(&found, import->processes[k]);
        assert_string_equal(found.text, cases[i].expected);
        hb_import_close(import);
        remove_tree(dir);
        assert_int_equal(make_dir(NULL), 0);
    }
}

/* ---- what is told ---- */

/* What stands in the trace of where it comes from. */
static void what_a_trace_tells_of_its_file(void **state)
{
    static const char text[] =
        "{'rocprofiler-sdk-tool':[{'metadata':{'pid':5,'node':{'hostname':'n/o.de\\t7',"
        "'machine_id':'a'},'command':['x/train']},"
        "'agents':[{'id':1,'type':2,'logical_node_type_id':0,'name':'gfx90a'}],"
        "'counters':[{'id':1,'name':'W\\\"1'},{'id':2,'name':'B'}],"
        "'strings':{'buffer_records':[{'kind':'HIP_API','operations':['hipFree']}]},"
        "'kernel_symbols':[{'kernel_id':1,'formatted_kernel_name':'k'}],"
        "'buffer_records':{'hip_api':[{'kind':0,'operation':0,'thread_id':6,"
        "'correlation_id':{'internal':3},'start_timestamp':1,'end_timestamp':2},{'kind':0}],"
        "'kernel_dispatch':[{'correlation_id':{'internal':3},'start_timestamp':5,"
        "'end_timestamp':9,'dispatch_info':{'agent_id':1,'kernel_id':1,'dispatch_id':1}},"
        "{'start_timestamp':10,'end_timestamp':12,'dispatch_info':{'agent_id':1,'kernel_id':1,"
        "'dispatch_id':2}}],'memory_copy':[{'start_timestamp':20,'end_timestamp':21,"
        "'dst_agent_id':1,'bytes':5}],'memory_allocation':[{'agent_id':1,'address':5,"
        "'allocation_size':5,'thread_id':6,'start_timestamp':1,'end_timestamp':2}]},"
        "'callback_records':{'counter_collection':[{'dispatch_data':{'dispatch_info':{"
        "'dispatch_id':1}},'records':[{'counter_id':1,'value':10},{'counter_id':2,'value':0.5}]},"
        "{'dispatch_data':{'dispatch_info':{'dispatch_id':2}},'records':[{'counter_id':1,"
        "'value':2e1}]}]}}]}";
    (void)state;
    hb_import *import = import_dropping(keep_quoted("r.json", text), NULL);
    const hb_imported *p = hb_import_get(import, 0);
    assert_string_equal(p->worker, "n_o.de_7_5");
    assert_int_equal(p->kernel_ns, 6);
    assert_int_equal(p->gpus, 1);
    assert_int_equal(p->threads, 1);
    assert_int_equal(p->streams, 1);
    assert_true(import->processes[0]->info.profile_memory);
    assert_string_equal(
        import->processes[0]->metadata.json,
        "{\"format\": \"rocprofv3 JSON\", \"file\": \"r.json\", \"clock\": \"time since boot, its "
        "end as given\", \"steps\": \"one for all: nothing tells of steps\", \"kernels\": 2, "
        "\"copies\": 1, \"calls\": 1, \"allocations\": 1, \"kernels_with_counters\": 2, "
        "\"linked\": 1, \"counters\": [{\"kernel\": \"k\", \"counter\": \"W\\\"1\", "
        "\"kernels\": 2, \"mean\": 15, \"max\": 20}, {\"kernel\": \"k\", \"counter\": \"B\", "
        "\"kernels\": 1, \"mean\": 0.5, \"max\": 0.5}], \"serialised\": true, "
        "\"changed\": {\"bad_rows\": 1}, \"unknown\": {\"no_call\": 2, \"no_grid\": 2, "
        "\"no_registers\": 2}}");
    hb_import_close(import);
    import = import_dropping(
        keep_quoted("t.json", "{'host_name':'n','distributedInfo':{'rank':0,'world_size':1},"
                              "'baseTimeNanoseconds':5,'traceEvents':[" SAMPLE(1) "," EVENT(
                                  "mine", "a", 7, 8, 10, 5, "") "]}"),
        NULL);
    p = hb_import_get(import, 0);
    assert_false(import->processes[0]->info.profile_memory);
    assert_string_equal(import->processes[0]->info.distributed_json,
                        "{\"backend\": \"nccl\", \"rank\": 0, \"world_size\": 1}");
    assert_string_equal(
        import->processes[0]->metadata.json,
        "{\"format\": \"Chrome JSON\", \"file\": \"t.json\", \"clock\": \"told by the file\", "
        "\"steps\": \"one for all: nothing tells of steps\", \"rank\": 0, \"ranges\": 1, "
        "\"samples\": 1, \"changed\": {}, \"unknown\": {}}");
    hb_import_close(import);
}

/* Of counters that are no numbers nothing can be written but that. */
static void counters_that_are_endless(void **state)
{
    (void)state;
    hb_import *import =
        import_dropping(keep_text("1_counter_collection.csv", COUNTED("k", "W", inf, 1)), NULL);
    (void)hb_import_get(import, 0);
    HAS(import->processes[0]->metadata.json, "\"mean\": null, \"max\": null}]");
    hb_import_close(import);
}

/* Files of one worker have times that no other one has. */
static void names_of_files(void **state)
{
    static const char *const names[] = {"n_7.1700000000000005010.pt.trace.json.gz",
                                        "n_7.1700000000000005011.pt.trace.json.gz",
                                        "n_7.1700000000000005012.pt.trace.json.gz"};
    const char *paths[3];
    hb_import_options o = HB_IMPORT_OPTIONS_INIT;
    hb_import *import;
    (void)state;
    for (int i = 0; i < 3; i++) {
        char name[12];
        snprintf(name, sizeof name, "%d", i);
        paths[i] = keep_quoted(name, "{'host_name':'n','baseTimeNanoseconds':1700000000000000000,"
                                     "'traceEvents':[" EVENT("mine", "a", 7, 8, 0.01, 5, "") "]}");
    }
    o.gzip = true;
    assert_int_equal(hb_import_open(paths, 3, &o, &import), HB_OK);
    for (size_t i = 0; i < 3; i++) {
        char *path;
        assert_int_equal(hb_import_write(import, i, in_dir("log"), &path), HB_OK);
        assert_string_equal(strrchr(path, '/') + 1, names[i]);
        hb_free(path);
        for (size_t k = 0; k < i; k++) /* of one process: what is equal is the same recording */
            assert_string_equal(import->processes[i]->info.trace_id,
                                import->processes[k]->info.trace_id);
    }
    hb_import_close(import);
}

/* As two dumps of one ring: each has a name and an id of its own in one directory. */
static void recordings_that_begin_at_one_instant(void **state)
{
    static const char *const events[] = {
        EVENT("mine", "a", 7, 8, 0.01, 5, ""),
        EVENT("mine", "a", 7, 8, 0.01, 5, "") "," EVENT("mine", "b", 7, 8, 6, 1, "")};
    char ids[2][64];
    (void)state;
    for (int i = 0; i < 2; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "{'host_name':'ring','baseTimeNanoseconds':1700000000000000000,"
                 "'traceEvents':[%s]}",
                 events[i]);
        hb_import *import = import_with(keep_quoted(i ? "later" : "first", text), NULL);
        assert_int_equal(hb_import_write(import, 0, in_dir("log"), NULL), HB_OK);
        snprintf(ids[i], sizeof ids[i], "%s", import->processes[0]->info.trace_id);
        hb_import_close(import);
    }
    assert_string_not_equal(ids[0], ids[1]);
}

/* Without a directory: the same as it would be written. */
static void a_trace_in_memory(void **state)
{
    static char bytes[1 << 16];
    char path[HB_IMPORT_FILE_PATH];
    int fd = -1;
    hb_import *import =
        import_with(keep_quoted("t", "[" EVENT("mine", "a", 7, 8, 10, 5, "") "]"), NULL);
    (void)state;
    char *expected = written_text(import, 0);
    assert_int_equal(hb_import_to_memory_file(import, 0, &fd, path), HB_OK);
    assert_true(fd >= 0);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    bytes[fread(bytes, 1, sizeof bytes - 1, file)] = 0;
    fclose(file);
    assert_int_equal(close(fd), 0);
    /* but for its name */
    assert_string_equal(strstr(bytes, "\"traceEvents\""), strstr(expected, "\"traceEvents\""));
    assert_non_null(strstr(bytes, "\"traceName\": \"\""));
    free(expected);
    hb_import_close(import);
}

/* A file's processes by their numbers, as they are read without a file. */
static void processes_by_their_numbers(void **state)
{
    const char *path = keep_quoted(
        "t", "[" EVENT("mine", "a", 7, 8, 10, 5, "") "," EVENT("mine", "b", 9, 8, 10, 5, "") "]");
    hb_open_options o = HB_OPEN_OPTIONS_INIT;
    hb_trace_file *file;
    size_t count = 0;
    (void)state;
    assert_int_equal(hb_import_processes(path, &count), HB_OK);
    assert_int_equal(count, 2);
    o.process = 1;
    assert_int_equal(hb_trace_file_open(path, &o, &file), HB_OK);
    hb_trace_file_close(file);
    o.process = 2;
    assert_int_equal(hb_trace_file_open(path, &o, &file), HB_ERROR_NOT_FOUND);
    HAS(hb_last_error(), "t: no process 2: it has 2");
    path = keep_quoted("own", "{'traceEvents':[" EVENT("cpu_op", "a", 7, 8, 10, 5, "") "]}");
    assert_int_equal(hb_import_processes(path, &count), HB_OK);
    assert_int_equal(count, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(the_window_has_all_rows),
        IN_DIR(all_threads_by_time),
        IN_DIR(frees_of_unknown_memory),
        IN_DIR(streams_or_queues),
        IN_DIR(gpus_are_counted),
        IN_DIR(modules_by_their_parents),
        IN_DIR(clocks_of_several_files),
        IN_DIR(files_are_read_once),
        IN_DIR(what_cannot_be_left_out),
        IN_DIR(arguments_that_are_none),
        IN_DIR(traces_of_other_tools_have_a_cure),
        IN_DIR(passes_by_their_directories),
        IN_DIR(passes_of_several_processes),
        IN_DIR(what_a_trace_tells_of_its_file),
        IN_DIR(counters_that_are_endless),
        IN_DIR(names_of_files),
        IN_DIR(recordings_that_begin_at_one_instant),
        IN_DIR(a_trace_in_memory),
        IN_DIR(processes_by_their_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
