/* SPDX-License-Identifier: MIT
 *
 * Chrome's JSON of writers with categories of their own; PyTorch's needs no import.
 */
#include "imported.h"
#include "written_trace.h"

/* Complete events, pairs within each other, an end that tells args, one too many of each. */
static const char pairs[] =
    "{\"traceEvents\": ["
    "{\"ph\": \"B\", \"cat\": \"op\", \"name\": \"forward\", \"pid\": 7, \"tid\": 8, \"ts\": 10},"
    "{\"ph\": \"B\", \"cat\": \"op\", \"name\": \"conv\", \"pid\": 7, \"tid\": 8, \"ts\": 12},"
    "{\"ph\": \"B\", \"cat\": \"op\", \"name\": \"other\", \"pid\": 7, \"tid\": 9, \"ts\": 13},"
    "{\"ph\": \"X\", \"cat\": \"hip_runtime\", \"name\": \"hipLaunchKernel\", \"pid\": 7,"
    " \"tid\": 8, \"ts\": 20, \"dur\": 3, \"args\": {\"correlation\": 1}},"
    "{\"ph\": \"E\", \"pid\": 7, \"tid\": 8, \"ts\": 28.5},"
    "{\"ph\": \"E\", \"pid\": 7, \"tid\": 8, \"ts\": 60},"
    "{\"ph\": \"E\", \"pid\": 7, \"tid\": 8, \"ts\": 61},"
    "{\"ph\": \"B\", \"cat\": \"gpu_kernel\", \"name\": \"gemm\", \"pid\": 0, \"tid\": 1,"
    " \"ts\": 30},"
    "{\"ph\": \"E\", \"pid\": 0, \"tid\": 1, \"ts\": 39.25, \"args\": {\"device\": 0,"
    " \"stream\": 1, \"correlation\": 1, \"grid\": [2, 1, 1], \"block\": [64, 1, 1]}}"
    "]}";

static void slices_of_two_events(void **state)
{
    (void)state;
    hb_import *import = import_with(keep_text("trace", pairs), NULL);
    const hb_imported *p = hb_import_get(import, 0);
    assert_string_equal(p->format, "Chrome JSON");
    assert_int_equal(p->pid, 7);
    assert_int_equal(p->ranges, 3);
    assert_int_equal(p->calls, 1);
    assert_int_equal(p->kernels, 1);
    assert_int_equal(p->kernel_ns, 9250);
    assert_int_equal(p->linked, 1);
    assert_int_equal(note_of(p, "UNPAIRED"), 2);
    char *text = written_text(import, 0);
    HAS(text, "\"grid\":     [2, 1, 1], \"block\":     [64, 1, 1]");
    HAS(text, "\"dur\": 16.500");
    HAS(text, "\"dur\": 50.000"); /* forward */
    HAS(text, "\"dur\": 47.000"); /* other, to the last end */
    free(text);
    hb_import_close(import);
}

/* A GPU's work stands in a process of its own, whose number is no GPU's. */
static void gpus_by_their_pids(void **state)
{
    static const char trace[] =
        "[{\"ph\": \"X\", \"cat\": \"op\", \"name\": \"a\", \"pid\": 7, \"tid\": 8, \"ts\": 1,"
        " \"dur\": 50}, {\"ph\": \"X\", \"cat\": \"gpu_kernel\", \"name\": \"k\", \"pid\": 90210,"
        " \"tid\": 3, \"ts\": 5, \"dur\": 2}, {\"ph\": \"X\", \"cat\": \"gpu_kernel\","
        " \"name\": \"k\", \"pid\": 90211, \"tid\": 4, \"ts\": 5, \"dur\": 2}]";
    (void)state;
    hb_import *import = import_with(keep_text("trace", trace), NULL);
    assert_int_equal(hb_import_get(import, 0)->gpus, 2);
    char *text = written_text(import, 0);
    HAS(text, "\"device\": 0, \"stream\": 3");
    HAS(text, "\"device\": 1, \"stream\": 4");
    free(text);
    hb_import_close(import);
}

/* What of a kernel's counters there is no room for is told. */
static void numbers_of_a_kernel(void **state)
{
    (void)state;
    for (int n = 63; n <= 66; n++) {
        char trace[4000], last[40];
        size_t size = (size_t)snprintf(
            trace, sizeof trace,
            "[{\"ph\": \"X\", \"cat\": \"op\", \"name\": \"a\", \"pid\": 7, \"tid\": 8,"
            " \"ts\": 1, \"dur\": 50}, {\"ph\": \"X\", \"cat\": \"gpu_kernel\","
            " \"name\": \"k\", \"pid\": 7, \"tid\": 3, \"ts\": 5, \"dur\": 2, \"args\": {");
        for (int i = 1; i <= n; i++)
            size += (size_t)snprintf(trace + size, sizeof trace - size, "%s\"COUNTER_%d\": %d",
                                     i > 1 ? ", " : "", i, i);
        size += (size_t)snprintf(trace + size, sizeof trace - size, "}}]");
        assert_true(size < sizeof trace);
        hb_import *import = import_with(keep_text("trace", trace), NULL);
        assert_int_equal(note_of(hb_import_get(import, 0), "MANY_VALUES"), n > 64 ? n - 64 : 0);
        char *text = written_text(import, 0);
        snprintf(last, sizeof last, "\"COUNTER_%d\": ", n < 64 ? n : 64);
        HAS(text, last);
        free(text);
        hb_import_close(import);
    }
}

static void refused(const char *text)
{
    import_refused(keep_text("trace", text), HB_ERROR_FORMAT, "need no import");
}

static void what_is_read_as_it_stands(void **state)
{
    (void)state;
    refused("{\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"mm\", \"ts\": 1,"
            " \"dur\": 1}, {\"ph\": \"X\", \"cat\": \"mine\", \"name\": \"x\", \"ts\": 1}]}");
    refused("[{\"ph\": \"X\", \"cat\": \"Kernel\", \"name\": \"mm\", \"ts\": 1, \"dur\": 1}]");
    refused("{\"schemaVersion\": 1, \"traceEvents\": [{\"ph\": \"X\", \"cat\": \"mine\","
            " \"name\": \"x\", \"ts\": 1}]}");
    refused("{\"traceEvents\": []}");
}

#define OP(name, ts)                                                                               \
    "{\"ph\": \"X\", \"cat\": \"op\", \"name\": \"" name "\", \"pid\": 7, \"tid\": 8, \"ts\": " ts \
    ", \"dur\": 3}"

/* Of 1969, of 2264, further away than any clock goes. */
static void times_that_are_too_far_away_are_told(void **state)
{
    (void)state;
    static const char far[] = "{\"traceEvents\": [" OP("a", "-1000000000.5") "," OP(
        "b", "9300000000001000.0") "," OP("c", "1e300") "]}";
    import_refused(keep_text("far", far), HB_ERROR_FORMAT,
                   "none of its 3 events has a time between 1970 and 2043");
    static const char one[] =
        "{\"traceEvents\": [" OP("a", "9300000000001000.0") "," OP("b", "5.5") "]}";
    hb_import *import = import_with(keep_text("one", one), NULL);
    const hb_imported *p = hb_import_get(import, 0);
    assert_int_equal(p->ranges, 1);
    assert_int_equal(note_of(p, "BAD_TIMES"), 1);
    hb_import_close(import);
}

/* A time of day beyond all that are read, to which none can be added, is none. */
static void a_clock_that_is_too_far_away_is_none(void **state)
{
    (void)state;
    static const char *const bases[] = {"2305843009213693951", "2305843009213693952",
                                        "9223372036854775807"};
    for (size_t i = 0; i < sizeof bases / sizeof *bases; i++) {
        char text[300];
        snprintf(text, sizeof text,
                 "{\"baseTimeNanoseconds\": %s, \"traceEvents\": [" OP(
                     "a", "2305843009213693.5") "," OP("b", "5.5") "]}",
                 bases[i]);
        hb_import *import = import_with(keep_text("far", text), NULL);
        const hb_imported *p = hb_import_get(import, 0);
        bool told = strcmp(p->clock, "told by the file") == 0;
        assert_int_equal(told, i == 0);
        if (told) assert_int_equal(p->start_ns, 2305843009213693951 + 5500);
        free(written_text(import, 0));
        hb_import_close(import);
    }
}

static void the_end_of_a_program_is_a_time(void **state)
{
    (void)state;
    static const char one[] = "{\"traceEvents\": [" OP("a", "5.5") "]}";
    static const int64_t wrong[] = {-1, INT64_MIN, INT64_MAX / 4 + 1, INT64_MAX};
    const char *path = keep_text("one", one);
    hb_import_options o = HB_IMPORT_OPTIONS_INIT;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        hb_import *import = NULL;
        o.end_time_ns = wrong[i];
        assert_int_equal(hb_import_open(&path, 1, &o, &import), HB_ERROR_INVALID_ARGUMENT);
        assert_non_null(strstr(hb_last_error(), "end_time_ns"));
    }
    o.end_time_ns = INT64_MAX / 4;
    hb_import *import = import_with(path, &o);
    assert_int_equal(hb_import_get(import, 0)->end_ns, INT64_MAX / 4);
    hb_import_close(import);
}

/* Two threads with ranges within each other, kernels of two classes on two streams, one of which
 * begins before the other of its stream ends, and one with its call. */
static const char scopes[] =
    "{'traceEvents': ["
    "{'ph':'X','cat':'op','name':'outer','pid':7,'tid':8,'ts':0,'dur':100},"
    "{'ph':'X','cat':'op','name':'inner','pid':7,'tid':8,'ts':10,'dur':40},"
    "{'ph':'X','cat':'op','name':'inner','pid':7,'tid':8,'ts':60,'dur':30},"
    "{'ph':'X','cat':'op','name':'other','pid':7,'tid':9,'ts':5,'dur':20},"
    "{'ph':'X','cat':'hip_runtime','name':'hipLaunchKernel','pid':7,'tid':8,'ts':20,'dur':3,"
    "'args':{'correlation':1}},"
    "{'ph':'X','cat':'gpu_kernel','name':'Cijk_gemm','pid':0,'tid':1,'ts':30,'dur':30,"
    "'args':{'device':0,'stream':1}},"
    "{'ph':'X','cat':'gpu_kernel','name':'vectorized_elementwise_kernel','pid':0,'tid':1,'ts':40,"
    "'dur':10,'args':{'device':0,'stream':1}},"
    "{'ph':'X','cat':'gpu_kernel','name':'Cijk_gemm','pid':0,'tid':2,'ts':35,'dur':5,"
    "'args':{'device':0,'stream':2}},"
    "{'ph':'X','cat':'gpu_kernel','name':'Cijk_gemm','pid':0,'tid':2,'ts':70,'dur':5,"
    "'args':{'device':0,'stream':2,'correlation':1}}]}";

/* "name ts dur parent" of the events of a category, in the file's order. */
static void check_scopes(const cJSON *trace, const char *category, const char *mark,
                         const char *expected)
{
    char told[2000] = "";
    const cJSON *e;
    double origin = -1;
    cJSON_ArrayForEach(e, cJSON_GetObjectItem(trace, "traceEvents")) if (strcmp(text_of(e, "name"),
                                                                                "outer") == 0 &&
                                                                         origin < 0) origin =
        cJSON_GetObjectItem(e, "ts")->valuedouble;
    cJSON_ArrayForEach(e, cJSON_GetObjectItem(trace, "traceEvents"))
    {
        const cJSON *args = cJSON_GetObjectItem(e, "args");
        if (strcmp(text_of(e, "cat"), category) != 0 || !cJSON_GetObjectItem(args, mark)) continue;
        const cJSON *parent = cJSON_GetObjectItem(args, "Python parent id");
        size_t at = strlen(told);
        snprintf(told + at, sizeof told - at, "%s %g %g %s\n", text_of(e, "name"),
                 cJSON_GetObjectItem(e, "ts")->valuedouble - origin,
                 cJSON_GetObjectItem(e, "dur")->valuedouble,
                 !parent                  ? "-"
                 : cJSON_IsNumber(parent) ? "inside"
                                          : "top");
    }
    assert_string_equal(told, expected);
}

static void ranges_are_modules_and_kernels_operators(void **state)
{
    static const char modules[] = "nn.Module: outer 0 100 top\n"
                                  "nn.Module: other 5 20 top\n"
                                  "nn.Module: inner 10 40 inside\n"
                                  "nn.Module: inner 60 30 inside\n";
    static const char kernels[] = "gemm 30 10 -\nelementwise 40 10 -\ngemm 35 5 -\n";
    char text[sizeof scopes];
    (void)state;
    for (int with = 0; with < 4; with++) {
        hb_import_options o = HB_IMPORT_OPTIONS_INIT;
        o.modules = with & 1;
        o.kernel_operators = with & 2;
        for (size_t i = 0; i < sizeof text; i++)
            text[i] = (char)(scopes[i] == '\'' ? '"' : scopes[i]);
        hb_import *import = import_with(keep_text("trace", text), &o);
        char *path;
        assert_int_equal(hb_import_write(import, 0, in_dir("log"), &path), HB_OK);
        cJSON *trace = load_trace(path);
        check_scopes(trace, "python_function", "Python id", with & 1 ? modules : "");
        check_scopes(trace, "cpu_op", "hipboard", with & 2 ? kernels : "");
        cJSON_Delete(trace);
        remove(path);
        hb_free(path);
        hb_import_close(import);
    }
}

/* Which of its class each module is: one around the first, and the second alone. */
static const char *told_of_modules(const char *first, const char *second)
{
    static char numbers[64];
    char text[600];
    const cJSON *e;
    hb_import_options o = HB_IMPORT_OPTIONS_INIT;
    o.modules = true;
    snprintf(
        text, sizeof text,
        "{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"op\",\"name\":\"outer\",\"pid\":7,\"tid\":8,"
        "\"ts\":0,\"dur\":20},{\"ph\":\"X\",\"cat\":\"op\",\"name\":\"%s\",\"pid\":7,\"tid\":8,"
        "\"ts\":1,\"dur\":9},{\"ph\":\"X\",\"cat\":\"op\",\"name\":\"%s\",\"pid\":7,\"tid\":8,"
        "\"ts\":30,\"dur\":9}]}",
        first, second);
    hb_import *import = import_with(keep_text("trace", text), &o);
    char *path;
    assert_int_equal(hb_import_write(import, 0, in_dir("log"), &path), HB_OK);
    cJSON *trace = load_trace(path);
    numbers[0] = 0;
    cJSON_ArrayForEach(e, cJSON_GetObjectItem(trace, "traceEvents"))
    {
        const cJSON *id = cJSON_GetObjectItem(cJSON_GetObjectItem(e, "args"), "Python module id");
        size_t n = strlen(numbers);
        if (id) snprintf(numbers + n, sizeof numbers - n, "%d ", id->valueint);
    }
    cJSON_Delete(trace);
    remove(path);
    hb_free(path);
    hb_import_close(import);
    return numbers;
}

/* Of the last two the hashes are one, with "nn.Module: " before them. */
static void modules_are_told_apart_by_all_of_their_names(void **state)
{
    (void)state;
    assert_string_equal(told_of_modules("a", "b"), "0 0 0 ");
    assert_string_equal(told_of_modules("a", "a"), "0 0 1 ");
    assert_string_equal(told_of_modules("layer_234098", "layer_321263"), "0 0 0 ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(slices_of_two_events),
        IN_DIR(gpus_by_their_pids),
        IN_DIR(numbers_of_a_kernel),
        IN_DIR(what_is_read_as_it_stands),
        IN_DIR(times_that_are_too_far_away_are_told),
        IN_DIR(a_clock_that_is_too_far_away_is_none),
        IN_DIR(the_end_of_a_program_is_a_time),
        IN_DIR(ranges_are_modules_and_kernels_operators),
        IN_DIR(modules_are_told_apart_by_all_of_their_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
