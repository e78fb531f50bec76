/* SPDX-License-Identifier: MIT
 *
 * What a handler gets of a cycle without a file, against the same of the file.
 */
#include <limits.h>

#include <hipboard/analysis.h>

#include "test_dir.h"

static const char *in_dir(const char *name)
{
    static char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static char *slurp(const char *path)
{
    static char text[1 << 16];
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    return text;
}

/* ---- a program ---- */

static void work(int step)
{
    static char kept[64];
    HB_RECORD_FUNCTION("train_batch") {
        hb_memory_alloc(HB_DEVICE_CPU, -1, kept, 4096);
        HB_OP("aten::mm", HB_INPUTS(HB_TENSOR(HB_FLOAT32, 8, 4), HB_TENSOR(HB_FLOAT32, 4, 2)),
              .flops = hb_flops_mm(8, 4, 2), .sequence_number = (uint64_t)step) {
            hb_memory_alloc(HB_DEVICE_HIP, 0, kept + step, 1000 * step);
        }
        HB_OP("aten::add", HB_INPUTS(HB_TENSOR(HB_FLOAT32, step))) {
        }
        hb_memory_free(HB_DEVICE_CPU, -1, kept, 4096);
        usleep(2); /* a timeline counts in microseconds */
    }
}

static hb_profiler *run(hb_trace_ready_fn ready)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.record_shapes = o.profile_memory = o.with_flops = o.with_modules = o.with_stack = true;
    o.spool_dir = "";
    o.schedule = hb_schedule_make(.wait = 1, .active = 3, .repeat = 1);
    o.on_trace_ready.fn = ready;
    hb_profiler *prof = hb_profiler_create(&o);
    assert_non_null(prof);
    assert_int_equal(hb_profiler_start(prof), HB_OK);
    for (int step = 1; step <= 6; step++) {
        work(step);
        assert_int_equal(hb_profiler_step(prof), HB_OK);
    }
    assert_int_equal(hb_profiler_stop(prof), HB_OK);
    return prof;
}

/* ---- tables ---- */

static void make_table(hb_key_averages *averages, const hb_table_options *options, char **text)
{
    size_t size;
    assert_int_equal(hb_key_averages_table(averages, options, text, &size), HB_OK);
    assert_int_equal(strlen(*text), size);
}

static void compare_tables(hb_profiler *prof, hb_trace_file *file,
                           const hb_key_averages_options *options)
{
    hb_key_averages *of_file, *live;
    hb_table_options all = HB_TABLE_OPTIONS_INIT;
    all.row_limit = UINT64_MAX;
    assert_int_equal(hb_key_averages_create(file, options, &of_file), HB_OK);
    assert_int_equal(hb_profiler_key_averages(prof, options, &live), HB_OK);
    char *expected, *text;
    make_table(of_file, &all, &expected);
    make_table(live, &all, &text);
    assert_string_equal(text, expected);
    assert_non_null(strstr(text, "aten::mm"));
    assert_non_null(strstr(text, "ProfilerStep*"));
    assert_non_null(strstr(text, "FLOPs"));
    hb_free(expected);
    hb_free(text);
    hb_key_averages_destroy(of_file);
    hb_key_averages_destroy(live);
}

/* ---- memory ---- */

static void compare_timelines(hb_profiler *prof, hb_trace_file *file)
{
    char *json;
    assert_int_equal(hb_memory_timeline(file, "cuda:0", false, &json, NULL), HB_OK);
    assert_int_equal(hb_export_memory_timeline(prof, in_dir("t.json"), NULL), HB_OK);
    assert_string_equal(slurp(in_dir("t.json")), json); /* the GPU by itself */
    assert_non_null(strstr(json, "[[0, 0, 0, 0, 0, 0, 0, 0, 1000], "));
    assert_non_null(strstr(json, ", 6000], [")); /* 1000 of step 1, not recorded, 2000, 3000 */
    hb_free(json);
    assert_int_equal(hb_memory_timeline(file, "cpu", true, &json, NULL), HB_OK);
    assert_non_null(strstr(json, ", 2, 4096, 7], ["));
    assert_non_null(strstr(json, ", 4, -4096, 7]"));
    hb_free(json);
}

/* ---- the handler ---- */

static int handled;

static hb_result compare(hb_profiler *prof, void *context)
{
    static const char *const sort_keys[] = {NULL, "count", "self_cpu_time_total", "flops"};
    (void)context;
    hb_trace_file *file;
    const char *path = in_dir("cycle.pt.trace.json");
    assert_int_equal(hb_export_chrome_trace(prof, path, 0), HB_OK);
    assert_int_equal(hb_trace_file_open(path, NULL, &file), HB_OK);
    for (int i = 0; i < 16; i++) {
        hb_key_averages_options o = HB_KEY_AVERAGES_OPTIONS_INIT;
        o.sort_by = sort_keys[i / 4];
        o.group_by_input_shape = i & 1;
        o.group_by_stack_n = i & 2 ? 3 : 0;
        o.events = i == 15;
        compare_tables(prof, file, &o);
    }
    compare_timelines(prof, file);
    hb_trace_file_close(file);
    handled++;
    return HB_OK;
}

static void test_tables_are_those_of_the_file(void **state)
{
    (void)state;
    hb_profiler_destroy(run(compare));
    assert_int_equal(handled, 1);
}

/* ---- stacks ---- */

static void lasts(void)
{
    volatile double x = 1;
    for (int i = 0; i < 20000; i++)
        x = x * 1.0000001;
}

static void test_stacks(void **state)
{
    (void)state;
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.spool_dir = "";
    o.with_stack = true;
    hb_profiler *prof = hb_profiler_create(&o);
    hb_profiler_start(prof);
    HB_OP("aten::mm") {
        lasts();
    }
    hb_profiler_stop(prof);
    assert_int_equal(hb_export_stacks(prof, in_dir("stacks"), NULL), HB_OK);
    const char *text = slurp(in_dir("stacks")), *time = strrchr(text, ' ');
    assert_non_null(time);
    assert_true(atoi(time) > 0);
#ifdef HB_HAVE_LIBDW
    const char *outer = strstr(text, "_main;"), *inner = strstr(text, "_test_stacks ");
    assert_true(outer && inner && outer < inner);
#endif
    assert_int_equal(hb_export_stacks(prof, in_dir("none"), "self_cuda_time_total"), HB_OK);
    assert_string_equal(slurp(in_dir("none")), "");
    assert_int_equal(hb_export_stacks(prof, in_dir("bad"), "time"), HB_ERROR_INVALID_ARGUMENT);
    assert_int_not_equal(access(in_dir("bad"), F_OK), 0);
    hb_profiler_destroy(prof);
}

/* The trace is a thing of its own: it serves every analysis, and outlives the profiler. */
static void test_a_cycle_as_a_file(void **state)
{
    (void)state;
    hb_trace_file *file;
    const hb_step_stat *steps;
    size_t count;
    hb_profiler *prof = run(NULL);
    assert_int_equal(hb_profiler_trace(prof, HB_DIALECT_KINETO, &file), HB_OK);
    hb_profiler_destroy(prof);
    assert_int_equal(hb_trace_file_steps(file, &steps, &count), HB_OK);
    assert_int_equal(count, 3);
    assert_string_equal(hb_trace_file_metadata(file, "with_stack"), "1");
    hb_trace_file_close(file);
}

static hb_result ignore(hb_profiler *prof, void *context)
{
    (void)prof;
    (void)context;
    return HB_OK;
}

static void test_refusals(void **state)
{
    (void)state;
    hb_trace_file *file = (hb_trace_file *)dir;
    hb_key_averages *averages = (hb_key_averages *)dir;
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.spool_dir = "";
    o.on_trace_ready.fn = ignore;
    hb_profiler *prof = hb_profiler_create(&o);
    assert_int_equal(hb_profiler_trace(prof, 0, &file), HB_ERROR_STATE);
    assert_null(file);
    assert_int_equal(hb_profiler_key_averages(prof, NULL, &averages), HB_ERROR_STATE);
    assert_null(averages);
    hb_profiler_start(prof);
    hb_profiler_stop(prof);
    hb_key_averages_options bad = HB_KEY_AVERAGES_OPTIONS_INIT;
    bad.sort_by = "nonsense";
    assert_int_equal(hb_profiler_key_averages(prof, &bad, &averages), HB_ERROR_INVALID_ARGUMENT);
    assert_null(averages);
    assert_int_equal(hb_export_stacks(prof, in_dir("s"), NULL), HB_ERROR_STATE); /* with_stack */
    assert_int_equal(hb_export_memory_timeline(prof, in_dir("m.json"), NULL), HB_ERROR_STATE);
    assert_int_equal(hb_export_memory_timeline(NULL, in_dir("m.json"), NULL),
                     HB_ERROR_INVALID_ARGUMENT);
    assert_int_equal(hb_export_stacks(NULL, in_dir("s"), NULL), HB_ERROR_INVALID_ARGUMENT);
    assert_int_equal(hb_profiler_trace(NULL, 0, &file), HB_ERROR_INVALID_ARGUMENT);
    assert_int_equal(hb_profiler_trace(prof, 0, NULL), HB_ERROR_INVALID_ARGUMENT);
    assert_int_equal(hb_profiler_key_averages(prof, NULL, NULL), HB_ERROR_INVALID_ARGUMENT);
    static const char *const no_path[] = {NULL, ""};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(hb_export_stacks(prof, no_path[i], NULL), HB_ERROR_INVALID_ARGUMENT);
        assert_string_equal(hb_last_error(), "export_stacks: the path is NULL or empty");
    }
    hb_profiler_destroy(prof);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables_are_those_of_the_file),
        cmocka_unit_test(test_stacks),
        cmocka_unit_test(test_a_cycle_as_a_file),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
