/* SPDX-License-Identifier: MIT
 *
 * Runs side by side: trees laid over each other, what belongs together, limits, and files that are
 * none.
 */
#include <math.h>
#include <sys/stat.h>

#include "compare_traces.h"

static const hb_difference *find_row(hb_comparison *c, hb_compare_by by, hb_compare_group group,
                                     const char *name, const char *measure)
{
    const hb_difference *rows;
    size_t count;
    assert_int_equal(hb_comparison_differences(c, 1, by, group, &rows, &count), HB_OK);
    for (size_t i = 0; i < count; i++)
        if (strcmp(rows[i].name, name) == 0 && strcmp(rows[i].measure, measure) == 0)
            return &rows[i];
    return NULL;
}

static void test_slower_operator_leads(void **state)
{
    (void)state;
    hb_comparison *c = compare(write_trace("plain.json", 10, plain, ""),
                               write_trace("slower.json", 10, slower, ""), false);
    const hb_difference *rows;
    size_t count;
    assert_int_equal(
        hb_comparison_differences(c, 1, HB_COMPARE_OPERATOR, HB_GROUP_MODULE, &rows, &count),
        HB_OK);
    assert_string_equal(rows[0].name, "mm");
    assert_string_equal(rows[0].shape, "[[8, 8]]");
    assert_int_equal(rows[0].verdict, HB_VERDICT_BEYOND_NOISE);
    assert_true(fabs(rows[0].change - 50 * 1.045) < 0.01);
    assert_true(rows[0].before.calls == 1 && rows[0].after.steps.count == 10);
    assert_true(rows[0].low > 40 && rows[0].high < 65);
    const hb_difference *relu =
        find_row(c, HB_COMPARE_OPERATOR, HB_GROUP_NAME, "relu", "self_host");
    assert_non_null(relu);
    assert_int_equal(relu->verdict, HB_VERDICT_NOISE);
    const hb_difference *step = find_row(c, HB_COMPARE_STEP, HB_GROUP_NAME, "step_time", "value");
    assert_true(fabs(step->change - 50 * 1.045) < 0.01);
    hb_comparison_free(c);
}

static void test_a_run_does_not_differ_from_itself(void **state)
{
    (void)state;
    const char *path = write_trace("self.json", 10, plain, "");
    hb_comparison *c = compare(path, path, true);
    for (int by = HB_COMPARE_STEP; by <= HB_COMPARE_MODULE; by++) {
        const hb_difference *rows;
        size_t count;
        assert_int_equal(
            hb_comparison_differences(c, 1, (hb_compare_by)by, HB_GROUP_MODULE, &rows, &count),
            HB_OK);
        for (size_t i = 0; i < count; i++) {
            assert_true(rows[i].change == 0);
            assert_int_equal(rows[i].verdict, HB_VERDICT_NOISE);
            assert_true(rows[i].p == 1);
        }
    }
    const hb_tree_difference *nodes;
    size_t count;
    assert_int_equal(hb_comparison_tree(c, &nodes, &count), HB_OK);
    for (size_t i = 0; i < count; i++)
        assert_true(nodes[i].host_us[0] == nodes[i].host_us[1]);
    hb_comparison_free(c);
}

static void test_swapped_runs_swap_signs(void **state)
{
    (void)state;
    const char *a = write_trace("a.json", 10, plain, ""), *b = write_trace("b.json", 7, slower, "");
    hb_comparison *there = compare(a, b, false), *back = compare(b, a, false);
    const hb_difference *x, *y;
    size_t n, m;
    hb_comparison_differences(there, 1, HB_COMPARE_OPERATOR, HB_GROUP_MODULE, &x, &n);
    hb_comparison_differences(back, 1, HB_COMPARE_OPERATOR, HB_GROUP_MODULE, &y, &m);
    assert_int_equal(n, m);
    for (size_t i = 0; i < n; i++) {
        assert_string_equal(x[i].name, y[i].name);
        assert_true(x[i].change == -y[i].change);
        assert_true(fabs(x[i].p - y[i].p) < 1e-12 && x[i].verdict == y[i].verdict);
        assert_true(x[i].low == -y[i].high || (isnan(x[i].low) && isnan(y[i].high)));
    }
    hb_comparison_free(there);
    hb_comparison_free(back);
}

/* Another batch size: shapes differ, and the operators are compared all the same. */
static void test_changed_shapes_meet(void **state)
{
    static const call wider[] = {
        {"load", NULL, 50}, {"mm", "[[16, 8]]", 190}, {"gelu", NULL, 9}, {0}};
    (void)state;
    hb_comparison *c = compare(write_trace("narrow.json", 10, plain, ""),
                               write_trace("wide.json", 10, wider, ""), false);
    const hb_difference *mm = find_row(c, HB_COMPARE_OPERATOR, HB_GROUP_MODULE, "mm", "self_host");
    assert_string_equal(mm->shape, "[[8, 8]] -> [[16, 8]]");
    assert_int_equal(mm->verdict, HB_VERDICT_BEYOND_NOISE);
    assert_int_equal(
        find_row(c, HB_COMPARE_OPERATOR, HB_GROUP_MODULE, "relu", "self_host")->verdict,
        HB_VERDICT_ONLY_BASELINE);
    const hb_difference *gelu =
        find_row(c, HB_COMPARE_OPERATOR, HB_GROUP_MODULE, "gelu", "self_host");
    assert_int_equal(gelu->verdict, HB_VERDICT_ONLY_RUN);
    assert_true(gelu->before.steps.count == 0 && gelu->change > 9);
    hb_comparison_free(c);
}

static void test_few_steps_tell_nothing(void **state)
{
    (void)state;
    hb_comparison *c = compare(write_trace("three.json", 3, plain, ""),
                               write_trace("four.json", 3, slower, ""), false);
    const hb_difference *mm = find_row(c, HB_COMPARE_OPERATOR, HB_GROUP_NAME, "mm", "self_host");
    assert_int_equal(mm->verdict, HB_VERDICT_TOO_FEW);
    assert_true(mm->change > 50 && isnan(mm->low));
    hb_comparison_free(c);
}

/* What runs in every second step counts half a step. */
static void test_share_of_the_steps(void **state)
{
    (void)state;
    FILE *f = begin_trace("sparse.json", "");
    for (int step = 0; step < 10; step++) {
        char text[64];
        snprintf(text, sizeof text, "ProfilerStep#%d", step);
        put_event(f, "user_annotation", text, 1000 * (step + 1), 900, "");
        put_event(f, "cpu_op", "work", 1000 * (step + 1) + 10, 100, "");
        if (step % 2) put_event(f, "cpu_op", "log", 1000 * (step + 1) + 200, 40, "");
    }
    end_trace(f);
    hb_comparison *c = compare(path_of("sparse.json"), path_of("sparse.json"), false);
    const hb_difference *log = find_row(c, HB_COMPARE_OPERATOR, HB_GROUP_NAME, "log", "self_host");
    assert_true(log->before.per_step == 20 && log->before.share == 0.5);
    assert_true(log->before.calls == 0.5 && log->before.steps.median == 40);
    hb_comparison_free(c);
}

/* ---- workers ---- */

static void test_workers_are_averaged(void **state)
{
    static const call fast[] = {{"mm", NULL, 100}, {0}}, slow[] = {{"mm", NULL, 300}, {0}};
    hb_compared_run run;
    (void)state;
    mkdir(path_of("ranks"), 0755);
    write_trace("ranks/rank0.1.pt.trace.json", 6, fast, "");
    write_trace("ranks/rank1.1.pt.trace.json", 6, slow, "");
    write_trace("ranks/rank0.2.pt.trace.json", 6, fast, "");
    hb_comparison *c = compare(path_of("ranks"), write_trace("one.json", 6, fast, ""), false);
    assert_int_equal(hb_comparison_run(c, 0, &run), HB_OK);
    assert_int_equal(run.files, 3);
    assert_int_equal(run.workers, 2);
    assert_int_equal(run.steps, 12); /* rank 0's second cycle is its own */
    const hb_difference *mm = find_row(c, HB_COMPARE_OPERATOR, HB_GROUP_NAME, "mm", "self_host");
    assert_true(fabs(mm->before.steps.max - 200 * 1.08) < 0.5);
    assert_true(fabs(mm->before.steps.min - 100) < 0.5);
    hb_comparison_free(c);
}

/* As short as tells them apart; those of one path are numbered. */
static void test_names_of_runs(void **state)
{
    static const char *const names[] = {"a/r.json", "b/r.json", "a/other.json", "a/r.json (2)",
                                        "a/r.json (3)"};
    char paths[3][600];
    hb_comparison *c;
    hb_compared_run run;
    (void)state;
    mkdir(path_of("a"), 0755);
    mkdir(path_of("b"), 0755);
    for (int i = 0; i < 3; i++)
        snprintf(paths[i], sizeof paths[i], "%s", write_trace(names[i], 6, plain, ""));
    const char *list[] = {paths[0], paths[1], paths[2], paths[0], paths[0]};
    assert_int_equal(hb_compare(list, 5, NULL, &c), HB_OK);
    assert_int_equal(hb_comparison_num_runs(c), 5);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(hb_comparison_run(c, i, &run), HB_OK);
        assert_string_equal(run.name, names[i]);
        assert_string_equal(run.path, list[i]);
        assert_true(run.files == 1 && run.steps == 6);
    }
    assert_int_equal(hb_comparison_run(c, 5, &run), HB_ERROR_NOT_FOUND);
    hb_comparison_free(c);
    assert_int_equal(hb_compare(&list[1], 2, NULL, &c), HB_OK);
    assert_int_equal(hb_comparison_run(c, 0, &run), HB_OK);
    assert_string_equal(run.name, "r.json");
    hb_comparison_free(c);
}

/* ---- limits ---- */

static void test_limits(void **state)
{
    (void)state;
    hb_comparison *c = compare(write_trace("l1.json", 10, plain, ""),
                               write_trace("l2.json", 10, slower, ""), false);
    check_limit(c, "step_time > +5%", false, true);
    check_limit(c, "step_time > +50%", false, false);
    check_limit(c, " step_time>+40us ", true, true);
    check_limit(c, "step_time > 300us", false, false);
    check_limit(c, "step_time < 0.3ms", false, true);
    check_limit(c, "operator:mm > +49%", true, true);
    check_limit(c, "operator.self_host:mm >= +51%", true, false);
    check_limit(c, "operator:relu > +0%", false, false);
    check_limit(c, "operator:relu >= +0%", false, true);
    check_limit(c, "operator:relu >= +0%", true, false); /* no more than noise */
    hb_comparison_free(c);
}

static void test_wrong_limits(void **state)
{
    static const char *const wrong[] = {
        "",
        "step_time",
        "step_time > ",
        "step_time > 5",
        "step_time > 5%",
        "> +5%",
        "foo > +5%",
        "operator: > +5%",
        "operator.foo:mm > 2ms",
        "step_time > 3MB",
        "peak_memory > 3ms",
        "step_time > +2pp",
        "step_time > nan%",
        "step_time > +5% of it",
    };
    hb_compare_finding finding;
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(hb_compare_condition_valid(wrong[i]), HB_ERROR_INVALID_ARGUMENT);
    hb_compare_condition_valid("foo > +5%");
    assert_non_null(strstr(hb_last_error(), "gpu_utilization"));
    assert_int_equal(hb_compare_condition_valid("kernel:void f<int>(a) > +5%"), HB_OK);
    assert_int_equal(hb_compare_condition_valid("gpu_utilization < 80%"), HB_OK);
    assert_int_equal(hb_compare_condition_valid("gpu_utilization < -5pp"), HB_OK);
    assert_int_equal(hb_compare_condition_valid("peak_memory:GPU0 > 1.5GiB"), HB_OK);
    hb_comparison *c =
        compare(write_trace("w1.json", 6, plain, ""), write_trace("w2.json", 6, plain, ""), false);
    assert_int_equal(hb_comparison_check(c, 1, "operator:nothing > +5%", false, &finding),
                     HB_ERROR_NOT_FOUND);
    assert_non_null(strstr(hb_last_error(), "mm"));
    assert_int_equal(hb_comparison_check(c, 1, "gpu_utilization < 80%", false, &finding),
                     HB_ERROR_NOT_FOUND);
    hb_comparison_free(c);
}

/* ---- what is not alike ---- */

static void test_contrasts(void **state)
{
    const hb_run_contrast *list;
    size_t count, seen = 0;
    (void)state;
    hb_comparison *c = compare(
        write_trace(
            "c1.json", 6, plain,
            "\"git\": \"abc\", \"deviceProperties\": [{\"id\": 0, \"name\": \"MI250X\"}], "),
        write_trace("c2.json", 8, plain,
                    "\"git\": \"def\", \"deviceProperties\": [{\"id\": 0, \"name\": "
                    "\"simhsa gfx90a (simulated)\", \"numSms\": 104}], \"with_stack\": 1, "),
        false);
    assert_int_equal(hb_comparison_contrasts(c, 1, &list, &count), HB_OK);
    for (size_t i = 0; i < count; i++) {
        seen += strcmp(list[i].what, "git") == 0 && strcmp(list[i].before, "abc") == 0 &&
                strcmp(list[i].after, "def") == 0;
        seen += strcmp(list[i].what, "devices") == 0 && strcmp(list[i].before, "MI250X") == 0 &&
                strcmp(list[i].after, "simhsa gfx90a (simulated), 104 CUs") == 0;
        seen += strcmp(list[i].what, "recorded with") == 0 && strcmp(list[i].after, "stacks") == 0;
        seen += strcmp(list[i].what, "steps") == 0 && strcmp(list[i].before, "6") == 0;
        seen += strcmp(list[i].what, "simulated GPU") == 0 && strcmp(list[i].after, "yes") == 0;
    }
    assert_int_equal(seen, 5);
    assert_int_equal(count, 5);
    hb_comparison_free(c);
}

static void test_devices_are_named(void **state)
{
#define LONG                                                                               \
    "AMD Instinct MI300X AMD Instinct MI300X AMD Instinct MI300X AMD Instinct MI300X AMD " \
    "Instinct MI300X"
    static const struct {
        const char *devices, *text;
    } cases[] = {
        {"{\"name\":\"G\"},{\"name\":\"G\"},{\"name\":\"H\"},{\"name\":\"G\"}", "2 x G; H; G"},
        {"{\"name\":\"a \\\"b\\\" \\u00e9\",\"numSms\":304,\"totalGlobalMem\":206158430208}",
         "a \"b\" \xc3\xa9, 304 CUs, 192 GiB"},
        {"{}", "unnamed device"},
        {"{\"name\":7,\"numSms\":8},{\"name\":\"\",\"numSms\":8}", "2 x unnamed device, 8 CUs"},
        {"{\"name\":\"G\",\"numSms\":0,\"totalGlobalMem\":1610612736}", "G, 1.5 GiB"},
        {"7,{\"name\":\"" LONG " 012345678901234567\\u00e9\",\"numSms\":1}", /* 120 are in it */
         LONG " 012345678901234567\xc3\xa9, 1 CUs"},
        {"{\"name\":\"" LONG " 0123456789012345678\\u00e9\",\"numSms\":1}", /* 121 */
         LONG " 0123456789012345678, 1 CUs"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *plain_trace = write_trace("d1.json", 6, plain, "");
        char members[600];
        const hb_run_contrast *list;
        size_t count, k = 0;
        snprintf(members, sizeof members, "\"deviceProperties\": [%s], ", cases[i].devices);
        hb_comparison *c = compare(plain_trace, write_trace("d2.json", 6, plain, members), false);
        assert_int_equal(hb_comparison_contrasts(c, 1, &list, &count), HB_OK);
        while (k < count && strcmp(list[k].what, "devices") != 0)
            k++;
        assert_true(k < count);
        assert_string_equal(list[k].before, "none");
        assert_string_equal(list[k].after, cases[i].text);
        hb_comparison_free(c);
    }
}

static void test_many_devices_are_all_named(void **state)
{
    enum { DEVICES = 1500 };
    (void)state;
    const hb_run_contrast *list;
    size_t count, k = 0;
    char *members = malloc(DEVICES * 150), *p = members, *traces[2];
    assert_non_null(members);
    for (int last = 0; last < 2; last++) { /* which alone differs */
        char name[20];
        p = stpcpy(members, "\"deviceProperties\": [");
        for (int i = 0; i < DEVICES; i++)
            p += sprintf(p, "%s{\"name\": \"%0100d\"}", i ? ", " : "",
                         i + (i == DEVICES - 1) * last);
        strcpy(p, "], ");
        sprintf(name, "m%d.json", last);
        traces[last] = strdup(write_trace(name, 6, plain, members));
    }
    hb_comparison *c = compare(traces[0], traces[1], false);
    assert_int_equal(hb_comparison_contrasts(c, 1, &list, &count), HB_OK);
    while (k < count && strcmp(list[k].what, "devices") != 0)
        k++;
    assert_true(k < count);
    assert_true(strncmp(list[k].before, "... ", 4) == 0 && strstr(list[k].before, "001499"));
    assert_true(strncmp(list[k].after, "... ", 4) == 0 && strstr(list[k].after, "001500"));
    assert_true(strlen(list[k].after) < 450);
    hb_comparison_free(c);
    for (int i = 0; i < 2; i++)
        free(traces[i]);
    free(members);
}

/* ---- the call tree ---- */

static const hb_tree_difference *find_node(const hb_tree_difference *nodes, size_t count,
                                           const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(nodes[i].name, name) == 0) return &nodes[i];
    return NULL;
}

/* By position, everything behind the new call would be paired with its neighbour. */
static void test_tree_with_a_new_call(void **state)
{
    static const call more[] = {{"load", NULL, 50}, {"cast", NULL, 10}, {"mm", "[[8, 8]]", 100},
                                {"relu", NULL, 20}, {"relu", NULL, 20}, {0}};
    const hb_tree_difference *nodes;
    size_t count;
    (void)state;
    hb_comparison *c =
        compare(write_trace("t1.json", 10, plain, ""), write_trace("t2.json", 5, more, ""), true);
    assert_int_equal(hb_comparison_tree(c, &nodes, &count), HB_OK);
    assert_int_equal(count, 5);
    assert_string_equal(nodes[0].name, "step");
    assert_int_equal(find_node(nodes, count, "cast")->verdict, HB_VERDICT_ONLY_RUN);
    const hb_tree_difference *relu = find_node(nodes, count, "relu");
    assert_true(relu->calls[0] == 1 && relu->calls[1] == 2); /* a loop, folded */
    assert_true(fabs(relu->host_us[1] - 40 * 1.04) < 0.01);
    const hb_tree_difference *mm = find_node(nodes, count, "mm");
    assert_int_equal(mm->depth, 1);
    assert_true(mm->calls[0] == 1 && mm->calls[1] == 1);
    hb_comparison_free(c);
}

/* ---- bad input ---- */

static hb_result compare_paths(const char *a, const char *b)
{
    hb_comparison *c = NULL;
    const char *paths[] = {a, b};
    hb_result result = hb_compare(paths, 2, NULL, &c);
    hb_comparison_free(c);
    return result;
}

static void write_text(const char *name, const char *text)
{
    FILE *f = fopen(path_of(name), "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static void test_nothing_there(void **state)
{
    (void)state;
    const char *good = write_trace("good.json", 6, plain, "");
    mkdir(path_of("empty"), 0755);
    assert_int_equal(compare_paths(good, path_of("empty")), HB_ERROR_NOT_FOUND);
    assert_non_null(strstr(hb_last_error(), "no file named *.pt.trace.json"));
    assert_int_equal(compare_paths(good, path_of("nowhere")), HB_ERROR_NOT_FOUND);
    hb_comparison *c;
    assert_int_equal(hb_compare(NULL, 0, NULL, &c), HB_ERROR_INVALID_ARGUMENT);
    hb_compare_options o = HB_COMPARE_OPTIONS_INIT;
    o.baseline = "no such run";
    assert_int_equal(hb_compare(&good, 1, &o, &c), HB_ERROR_NOT_FOUND);
}

/* Each is left out with a reason, or taken for what it is; none stops the comparison. */
static void test_broken_files(void **state)
{
    static const char *const broken[] = {
        "",
        "not JSON",
        "[]",
        "{}",
        "{\"traceEvents\": []}",
        "{\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"a\", \"pid\": 1, "
        "\"tid\": 1, \"ts\": NaN, \"dur\": 5}]}",
        "{\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"a\", \"pid\": 1, "
        "\"tid\": 1, \"ts\": 5, \"dur\": Infinity}]}",
        "{\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": "
        "\"ProfilerStep#1\", \"pid\": 1, \"tid\": 1, \"ts\": 5, \"dur\": 0}]}",
        "{\"deviceProperties\": 7, \"distributedInfo\": [], \"traceEvents\": [{\"ph\": \"X\", "
        "\"cat\": \"kernel\", \"name\": \"k\", \"pid\": 0, \"tid\": 7, \"ts\": 1, \"dur\": 2, "
        "\"args\": {\"device\": 99, \"correlation\": 1}}]}",
    };
    (void)state;
    const char *good = write_trace("fine.json", 6, plain, "");
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        char *text = NULL;
        hb_compare_report report = HB_COMPARE_REPORT_INIT;
        write_text("broken.json", broken[i]);
        hb_comparison *c = compare(good, path_of("broken.json"), true);
        for (int format = HB_COMPARE_TEXT; format <= HB_COMPARE_JSON; format++) {
            report.format = (hb_compare_format)format;
            assert_int_equal(hb_comparison_text(c, &report, &text, NULL), HB_OK);
            hb_free(text);
        }
        if (hb_comparison_problem(c, 0))
            assert_non_null(strstr(hb_comparison_problem(c, 0), "broken.json"));
        hb_comparison_free(c);
    }
}

static void test_a_bad_file_among_good_ones(void **state)
{
    hb_compared_run run;
    (void)state;
    mkdir(path_of("mixed"), 0755);
    write_trace("mixed/a.1.pt.trace.json", 6, plain, "");
    write_text("mixed/a.2.pt.trace.json", "{\"traceEvents\": 7");
    write_trace("mixed/a.3.pt.trace.json", 6, plain, "");
    hb_comparison *c = compare(path_of("mixed"), write_trace("ref.json", 6, plain, ""), false);
    assert_int_equal(hb_comparison_run(c, 0, &run), HB_OK);
    assert_int_equal(run.files, 2);
    assert_int_equal(run.steps, 12);
    assert_non_null(strstr(hb_comparison_problem(c, 0), "a.2.pt.trace.json"));
    assert_null(hb_comparison_problem(c, 1));
    hb_comparison_free(c);
}

static bool refuse(void *context, const char *path, uint64_t done, uint64_t size)
{
    (void)context, (void)path, (void)done, (void)size;
    return false;
}

static void test_progress_may_stop(void **state)
{
    hb_comparison *c;
    hb_open_options open = HB_OPEN_OPTIONS_INIT;
    hb_compare_options o = HB_COMPARE_OPTIONS_INIT;
    (void)state;
    FILE *f = begin_trace("large.json", "");
    for (int i = 0; i < 150000; i++)
        put_event(f, "cpu_op", "op", i * 10, 5, "\"Input Dims\": [[1, 2, 3]]");
    end_trace(f);
    const char *paths[] = {path_of("large.json"), path_of("large.json")};
    open.progress = refuse;
    o.open = &open;
    assert_int_equal(hb_compare(paths, 2, &o, &c), HB_ERROR_STATE);
    assert_null(c);
}

/* However many threads read, the text is the same. */
static void test_threads_change_nothing(void **state)
{
    char *texts[2];
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        hb_comparison *c;
        hb_compare_options o = HB_COMPARE_OPTIONS_INIT;
        const char *paths[] = {path_of("ranks"), path_of("mixed"), path_of("one.json"),
                               path_of("l2.json")};
        o.threads = i ? 4 : 1;
        assert_int_equal(hb_compare(paths, 4, &o, &c), HB_OK);
        assert_int_equal(hb_comparison_text(c, NULL, &texts[i], NULL), HB_OK);
        hb_comparison_free(c);
    }
    assert_string_equal(texts[0], texts[1]);
    hb_free(texts[0]);
    hb_free(texts[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slower_operator_leads),
        cmocka_unit_test(test_a_run_does_not_differ_from_itself),
        cmocka_unit_test(test_swapped_runs_swap_signs),
        cmocka_unit_test(test_changed_shapes_meet),
        cmocka_unit_test(test_few_steps_tell_nothing),
        cmocka_unit_test(test_share_of_the_steps),
        cmocka_unit_test(test_workers_are_averaged),
        cmocka_unit_test(test_names_of_runs),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_wrong_limits),
        cmocka_unit_test(test_contrasts),
        cmocka_unit_test(test_devices_are_named),
        cmocka_unit_test(test_many_devices_are_all_named),
        cmocka_unit_test(test_tree_with_a_new_call),
        cmocka_unit_test(test_nothing_there),
        cmocka_unit_test(test_broken_files),
        cmocka_unit_test(test_a_bad_file_among_good_ones),
        cmocka_unit_test(test_progress_may_stop),
        cmocka_unit_test(test_threads_change_nothing),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
