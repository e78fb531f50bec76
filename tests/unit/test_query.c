/* SPDX-License-Identifier: MIT
 *
 * Log directories and trace files through the public API: names, what is lost, errors, results.
 */
#include <locale.h>
#include <math.h>
#include <sys/stat.h>

#include <hipboard/analysis.h>

#include "doc/py_text.h"
#include "test_dir.h"

#define STEP                                                                            \
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"ProfilerStep#3\",\"pid\":1,\"tid\":1," \
    "\"ts\":1000,\"dur\":100}"
#define OP                                                                                    \
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":1,\"tid\":1,\"ts\":1010," \
    "\"dur\":40,\"args\":{\"External id\":1,\"Input Dims\":[[2, 3],[3,4]]}}"
#define CHILD                                                                                    \
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::empty\",\"pid\":1,\"tid\":1,\"ts\":1020," \
    "\"dur\":5.5,\"args\":{\"External id\":2}}"
#define ODD_ID                                                                         \
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1010," \
    "\"dur\":1,\"args\":{\"External id\":{}}}"
#define RUNTIME                                                                         \
    "{\"ph\":\"X\",\"cat\":\"Runtime\",\"name\":\"r\",\"pid\":1,\"tid\":1,\"ts\":1010," \
    "\"dur\":1,\"args\":{\"External id\":9}}"
#define WITH_MEMORY(bytes)                                                   \
    "{\"schemaVersion\":1,\"deviceProperties\":[{\"id\":0,\"name\":\"gpu\"," \
    "\"totalGlobalMem\":" bytes "}],\"traceEvents\":[" STEP "," OP "," KERNEL "]}"
#define KERNEL                                                                         \
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":1015," \
    "\"dur\":5,\"args\":{\"device\":0,\"stream\":7,\"correlation\":1,\"External id\":1}}"
#define FILE_OF(events) "{\"schemaVersion\":1,\"traceEvents\":[" events "]}"

static void put(const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    for (char *p = path + strlen(dir) + 1; (p = strchr(p, '/')) != NULL; p++) {
        *p = 0;
        mkdir(path, 0755);
        *p = '/';
    }
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void assert_answer(hb_logdir *logdir, const char *url, const char *expected)
{
    char *json;
    size_t size;
    if (hb_logdir_query(logdir, url, &json, &size) != HB_OK)
        fail_msg("%s: %s", url, hb_last_error());
    assert_string_equal(json, expected);
    assert_int_equal(size, strlen(expected));
    hb_free(json);
}

static hb_logdir *open_dir(const char *name)
{
    char path[512];
    hb_logdir *logdir;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    assert_int_equal(hb_logdir_open(path, NULL, &logdir), HB_OK);
    return logdir;
}

static void test_runs_workers_and_spans(void **state)
{
    (void)state;
    put("names/w.99.pt.trace.json", FILE_OF(STEP "," OP));
    put("names/w.100.pt.trace.json", FILE_OF(STEP "," OP));
    put("names/w.123.pt.trace.json", FILE_OF(STEP "," OP));
    put("names/w.pt.trace.json", FILE_OF(STEP "," OP));
    put("names/a.b_7.5.pt.trace.json", FILE_OF(STEP "," OP));
    put("names/x.trace.json", FILE_OF(STEP));
    put("names/sub/b c/.9.pt.trace.json", FILE_OF(STEP "," OP));
    put("names/empty/readme", "");
    hb_logdir *d = open_dir("names/./sub/..");
    assert_answer(d, "/runs", "{\"runs\": [\"names\", \"sub/b c\"], \"loading\": false}");
    assert_answer(d, "workers?run=names&view=Overview", "[\"a.b_7\", \"w\"]");
    assert_answer(d, "spans?run=names&worker=w", "[\"1\", \"2\", \"3\", \"default\"]");
    assert_answer(d, "spans?run=names&worker=a.b_7", "[\"1\"]");
    assert_answer(d, "spans?run=names&worker=nobody", "[]");
    assert_answer(d, "workers?run=sub%2Fb+c&view=Trace", "[\"\"]");
    assert_answer(d, "workers?run=names&view=Memory", "[]");
    assert_answer(d, "views?run=names", "[\"Overview\", \"Operator\", \"Trace\"]");
    hb_logdir_close(d);
}

static void test_no_directory_has_no_runs(void **state)
{
    (void)state;
    hb_logdir *d = open_dir("not there");
    assert_int_equal(hb_logdir_num_runs(d), 0);
    assert_answer(d, "runs", "{\"runs\": [], \"loading\": false}");
    hb_logdir_close(d);
}

static void test_answers(void **state)
{
    (void)state;
    put("answers/w.1.pt.trace.json", FILE_OF(STEP "," OP "," CHILD));
    hb_logdir *d = open_dir("answers");
    assert_answer(
        d, "operation/table?run=answers&worker=w&span=1&group_by=OperationAndInputShape",
        "{\"metadata\": {\"sort\": \"host_self_duration\", \"tooltips\": {\"tc_eligible\": "
        "\"Whether this operator is eligible to use Tensor Cores.\", \"tc_self_ratio\": "
        "\"Time of self-kernels with Tensor Cores / Time of self-kernels.\", "
        "\"tc_total_ratio\": \"Time of kernels with Tensor Cores / Time of kernels.\"}}, "
        "\"data\": [{\"name\": \"aten::mm\", \"input_shape\": \"[[2, 3], [3, 4]]\", "
        "\"calls\": 1, \"host_self_duration\": 34, \"host_total_duration\": 40, "
        "\"tc_eligible\": \"Yes\", \"tc_self_ratio\": 0, \"tc_total_ratio\": 0, "
        "\"has_call_stack\": false}, {\"name\": \"aten::empty\", \"input_shape\": \"[]\", "
        "\"calls\": 1, \"host_self_duration\": 6, \"host_total_duration\": 6, "
        "\"tc_eligible\": \"No\", \"tc_self_ratio\": 0, \"tc_total_ratio\": 0, "
        "\"has_call_stack\": false}]}");
    assert_answer(d, "kernel?run=answers&worker=w&span=1", "null");
    hb_logdir_close(d);
}

/* As Python's int() of it. */
#define CALL(name, dims, stack, ts)                                                              \
    ",{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"" name "\",\"pid\":1,\"tid\":1,\"ts\":" #ts    \
    ",\"dur\":1,\"args\":{\"External id\":" #ts ",\"Input Dims\":" dims ",\"Call stack\":" stack \
    "}}"

static void assert_stacks(hb_logdir *logdir, const char *url, const char *expected)
{
    char *json, found[400] = "";
    assert_int_equal(hb_logdir_query(logdir, url, &json, NULL), HB_OK);
    for (const char *at = json; (at = strstr(at, "{\"name\": \"")); at++) {
        const char *has = strstr(at, "\"has_call_stack\": ");
        assert_non_null(has);
        snprintf(found + strlen(found), sizeof found - strlen(found), "%.1s%.1s ", at + 10,
                 has + 18);
    }
    assert_string_equal(found, expected);
    hb_free(json);
}

/* It is enough that one call of the name, or of the name and the shape, has one. */
static void test_who_has_call_stacks(void **state)
{
    (void)state;
    put("stacks/w.1.pt.trace.json",
        FILE_OF(STEP CALL("a", "[[1]]", "null", 1001) CALL("a", "[[1]]", "\"x.py(1): f\"", 1003)
                    CALL("a", "[[2]]", "\"\"", 1005) CALL("b", "[[1]]", "\"\"", 1007) CALL(
                        "c", "[[2]]", "\"x.py(1): f\"", 1009) CALL("c", "[[2]]", "\"\"", 1011)));
    hb_logdir *d = open_dir("stacks");
    assert_stacks(d, "operation/table?run=stacks&worker=w&span=1", "at ct bf ");
    assert_stacks(d, "operation/table?run=stacks&worker=w&span=1&group_by=OperationAndInputShape",
                  "at ct af bf ");
    hb_logdir_close(d);
}

static void test_a_thread_of_a_fraction_is_the_whole_ones(void **state)
{
    (void)state;
    char *json;
    put("fraction/w.1.pt.trace.json",
        FILE_OF(STEP "," OP ",{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::empty\",\"pid\":1,"
                     "\"tid\":1.75,\"ts\":1020,\"dur\":5.5,\"args\":{\"External id\":2}}"));
    hb_logdir *d = open_dir("fraction");
    assert_int_equal(
        hb_logdir_query(d, "operation/table?run=fraction&worker=w&span=1&group_by=Operation", &json,
                        NULL),
        HB_OK);
    assert_non_null(strstr(json, "\"host_self_duration\": 34, \"host_total_duration\": 40"));
    hb_free(json);
    hb_logdir_close(d);
}

static void test_errors(void **state)
{
    (void)state;
    static const struct {
        const char *url;
        hb_result result;
    } cases[] = {
        {"nothing", HB_ERROR_NOT_FOUND},
        {"views", HB_ERROR_INVALID_ARGUMENT},
        {"views?run=none", HB_ERROR_NOT_FOUND},
        {"overview?run=errors", HB_ERROR_INVALID_ARGUMENT},
        {"overview?run=errors&worker=w", HB_ERROR_NOT_FOUND},
        {"overview?run=errors&worker=w&span=2", HB_ERROR_NOT_FOUND},
        {"memory?run=errors&worker=w&span=1", HB_ERROR_NOT_FOUND},
        {"memory?run=errors&worker=w&span=1&start_ts=1.5", HB_ERROR_INVALID_ARGUMENT},
        {"memory_curve?run=errors&worker=w&span=1&time_metric=h", HB_ERROR_INVALID_ARGUMENT},
        {"module?run=errors&worker=w&span=1", HB_ERROR_NOT_FOUND},
        {"operation/stack?run=errors&worker=w&span=1&op_name=x", HB_ERROR_NOT_FOUND},
        {"distributed/overlap?run=errors&span=1", HB_ERROR_NOT_FOUND},
        {"diff?run=errors&worker=w&span=1", HB_ERROR_INVALID_ARGUMENT},
    };
    put("errors/w.1.pt.trace.json", FILE_OF(STEP "," OP));
    hb_logdir *d = open_dir("errors");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *json;
        assert_int_equal(hb_logdir_query(d, cases[i].url, &json, NULL), cases[i].result);
        assert_null(json);
    }
    hb_logdir_close(d);
}

static void note_lost(void *context, const char *path, const char *reason)
{
    const char *name = strrchr(path, '/') + 1;
    char *list = context;
    snprintf(list + strlen(list), 1024 - strlen(list), "%s: %s\n", name,
             strstr(reason, path) ? reason + strlen(path) + 2 : reason);
}

static void test_lost_files_and_why(void **state)
{
    (void)state;
    char list[1024] = "";
    put("lost/a.pt.trace.json", FILE_OF(STEP "," OP));
    put("lost/b.pt.trace.json", FILE_OF(STEP ",{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\"}"));
    put("lost/c.pt.trace.json", "[]");
    put("lost/d.pt.trace.json.gz", FILE_OF(STEP));
    put("lost/e.pt.trace.json", FILE_OF("{\"name\":\"C:\\dir\"}"));
    put("lost/f.pt.trace.json", FILE_OF("{\"ph\":\"M\"}"));
    /* Python looks such an id up only where there is a runtime call to find. */
    put("lost/g.pt.trace.json", FILE_OF(STEP "," ODD_ID));
    put("lost/h.pt.trace.json", FILE_OF(STEP "," ODD_ID "," RUNTIME));
    put("lost/i.pt.trace.json", WITH_MEMORY("\"64 GB\""));
    put("lost/j.pt.trace.json", WITH_MEMORY("\"17179869184\""));
    put("lost/k.pt.trace.json", WITH_MEMORY("{}"));
    hb_logdir *d = open_dir("lost");
    assert_int_equal(hb_logdir_lost_files(d, "lost", note_lost, list), HB_OK);
    assert_string_equal(list,
                        "b.pt.trace.json: event 1: ts is not a number\n"
                        "c.pt.trace.json: the file is a list, not an object with traceEvents\n"
                        "d.pt.trace.json.gz: not a gzip file\n"
                        "e.pt.trace.json: invalid backslash escape\n"
                        "f.pt.trace.json: event 0 has no name that is a string\n"
                        "h.pt.trace.json: event 1: External id is a container\n"
                        "i.pt.trace.json: deviceProperties: totalGlobalMem is not a number\n"
                        "k.pt.trace.json: deviceProperties: totalGlobalMem is not a number\n");
    assert_answer(d, "workers?run=lost&view=Overview", "[\"a\", \"g\", \"j\"]");
    hb_logdir_close(d);
}

static void put_nested(const char *name, int depth)
{
    char *text = malloc((size_t)depth * 128 + 256);
    if (!text) abort();
    int n = sprintf(text, "{\"traceEvents\":[" STEP);
    for (int i = 0; i < depth; i++)
        n += sprintf(text + n,
                     ",{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"op%d\",\"pid\":1,\"tid\":1,"
                     "\"ts\":%f,\"dur\":%f}",
                     i, 1000 + i * 0.1, 100 - i * 0.2);
    strcpy(text + n, "]}");
    put(name, text);
    free(text);
}

/* Measured with the real plugin: 195 operators below a step arrive, 196 do not. */
static void test_a_run_that_the_plugin_never_loads(void **state)
{
    (void)state;
    put_nested("deep/fine/w.pt.trace.json", 195);
    put_nested("deep/hangs/w.pt.trace.json", 196);
    put("deep/hangs/v.pt.trace.json", FILE_OF(STEP "," OP));
    hb_logdir *d = open_dir("deep");
    char *json;
    assert_answer(d, "runs", "{\"runs\": [\"fine\"], \"loading\": true}");
    assert_int_equal(hb_logdir_query(d, "views?run=hangs", &json, NULL), HB_ERROR_NOT_FOUND);
    assert_answer(d, "views?run=fine", "[\"Overview\", \"Operator\", \"Trace\"]");
    hb_logdir_close(d);
}

static void test_a_file_by_itself(void **state)
{
    (void)state;
    char path[512];
    hb_trace_file *file;
    hb_file_event event;
    const hb_operator_stat *ops;
    const hb_step_stat *steps;
    size_t count;
    put("file.json", FILE_OF(STEP "," OP "," CHILD));
    snprintf(path, sizeof path, "%s/file.json", dir);
    assert_int_equal(hb_trace_file_open(path, NULL, &file), HB_OK);
    assert_int_equal(hb_trace_file_num_events(file), 3);
    assert_int_equal(hb_trace_file_event(file, 1, &event), HB_OK);
    assert_string_equal(event.name, "aten::mm");
    assert_string_equal(event.category, "cpu_op");
    assert_string_equal(event.tid, "1");
    assert_true(event.has_external_id && event.external_id == 1 && event.ts_us == 1010);
    assert_string_equal(event.input_dims, "[[2, 3],[3,4]]");
    assert_int_equal(hb_trace_file_event(file, 3, &event), HB_ERROR_NOT_FOUND);
    assert_string_equal(hb_trace_file_metadata(file, "schemaVersion"), "1");
    assert_int_equal(hb_trace_file_operators(file, false, &ops, &count), HB_OK);
    assert_int_equal(count, 2);
    assert_string_equal(ops[0].name, "aten::empty"); /* children come first */
    assert_true(ops[1].self_host_us == 34.5 && ops[1].host_us == 40);
    assert_int_equal(hb_trace_file_steps(file, &steps, &count), HB_OK);
    assert_int_equal(count, 1);
    assert_string_equal(steps[0].name, "3");
    assert_true(steps[0].duration_us == 100 && steps[0].cpu_us == 40 && steps[0].other_us == 60);
    hb_trace_file_close(file);
}

/* Makes a locale with a decimal comma; skips where the system has no sources for one. */
static void use_decimal_comma(void)
{
    char command[512];
    snprintf(command, sizeof command,
             "localedef -i de_DE -f UTF-8 '%s/de_DE.UTF-8' 2>/dev/null >&2", dir);
    setenv("LOCPATH", dir, 1);
    if (system(command) != 0 || !setlocale(LC_ALL, "de_DE.UTF-8")) skip();
}

static void test_a_decimal_comma_changes_nothing(void **state)
{
    (void)state;
    char path[512], *json;
    hb_trace_file *file;
    hb_file_event event;
    put("comma.json", FILE_OF("{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"enumerate(DataPipe)#\","
                              "\"pid\":1,\"tid\":1,\"ts\":1234567890.12345678,\"dur\":2.25}"));
    snprintf(path, sizeof path, "%s/comma.json", dir);
    use_decimal_comma();
    assert_int_equal(hb_trace_file_open(path, NULL, &file), HB_OK);
    assert_int_equal(hb_trace_file_event(file, 0, &event), HB_OK);
    assert_int_equal(hb_trace_file_query(file, "overview", &json, NULL), HB_OK);
    setlocale(LC_ALL, "C");
    assert_true(event.ts_us == 1234567890.12345678);
    assert_non_null(strstr(json, "100.0% of the step time is in DataLoader"));
    hb_free(json);
    hb_trace_file_close(file);
}

static void test_python_numbers(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *text;
    } cases[] = {{40, "40.0"},
                 {0.1, "0.1"},
                 {1e-5, "1e-05"},
                 {6602.20703125, "6602.20703125"},
                 {1e16, "1e+16"},
                 {123456789012345680.0, "1.2345678901234568e+17"},
                 {0.0001, "0.0001"},
                 {-0.0, "-0.0"},
                 {1e22, "1e+22"},
                 {5e-324, "5e-324"},
                 {9007199254740993.0, "9007199254740992.0"},
                 {INFINITY, "inf"},
                 {NAN, "nan"},
                 {100, "100.0"},
                 {1.0 / 3, "0.3333333333333333"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hb_buf buf;
        hb_buf_init(&buf, 1024);
        hb_buf_py_float(&buf, cases[i].value);
        assert_string_equal(hb_buf_text(&buf), cases[i].text);
        hb_buf_free(&buf);
    }
    assert_true(hb_py_round(2.675, 2) == 2.67);
    assert_true(hb_py_round(0.125, 2) == 0.12);
    assert_true(hb_py_round(2.5, 0) == 2 && hb_py_round(3.5, 0) == 4);
}

static void test_python_strings(void **state)
{
    (void)state;
    static const char text[] = "a\"\\\n\x01\x7f\xc3\xbc\xf0\x9d\x84\x9e\xed\xa0\x80\xff";
    hb_buf buf;
    hb_buf_init(&buf, 1024);
    hb_buf_json_ascii(&buf, text, sizeof text - 1);
    assert_string_equal(hb_buf_text(&buf),
                        "\"a\\\"\\\\\\n\\u0001\\u007f\\u00fc\\ud834\\udd1e\\ud800\\ufffd\"");
    hb_buf_free(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs_workers_and_spans),
        cmocka_unit_test(test_no_directory_has_no_runs),
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_who_has_call_stacks),
        cmocka_unit_test(test_a_thread_of_a_fraction_is_the_whole_ones),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_lost_files_and_why),
        cmocka_unit_test(test_a_run_that_the_plugin_never_loads),
        cmocka_unit_test(test_a_file_by_itself),
        cmocka_unit_test(test_a_decimal_comma_changes_nothing),
        cmocka_unit_test(test_python_numbers),
        cmocka_unit_test(test_python_strings),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
