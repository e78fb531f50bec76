/* SPDX-License-Identifier: MIT
 *
 * How torch's tables write quantities, and what a table does with long, odd and hostile texts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>

#include "read/json_reader.h"
#include "torch/table_text.h"
#include "trace_text.h"

static hb_buf buf;

static const char *taken(void)
{
    static char text[64];
    snprintf(text, sizeof text, "%s", hb_buf_text(&buf));
    buf.size = 0;
    return text;
}

static const char *time_text(double us, const char *unit)
{
    hb_put_time(&buf, us, unit);
    return taken();
}

static void test_times(void **state)
{
    (void)state;
    assert_string_equal(time_text(0, NULL), "0.000us");
    assert_string_equal(time_text(999.9994, NULL), "999.999us");
    assert_string_equal(time_text(999.9996, NULL), "1000.000us");
    assert_string_equal(time_text(1000, NULL), "1.000ms");
    assert_string_equal(time_text(999999.9, NULL), "1000.000ms");
    assert_string_equal(time_text(1e6, NULL), "1.000s");
    assert_string_equal(time_text(-2500, NULL), "-2500.000us");
    assert_string_equal(time_text(1234.5, "s"), "0.001s");
    assert_string_equal(time_text(1234.5, "ms"), "1.234ms"); /* the double lies below the tie */
    assert_string_equal(time_text(2e6, "us"), "2000000.000us");
}

static const char *memory_text(double bytes)
{
    hb_put_memory(&buf, bytes);
    return taken();
}

static void test_memory(void **state)
{
    (void)state;
    assert_string_equal(memory_text(0), "0 B");
    assert_string_equal(memory_text(-0.0), "0 B");
    assert_string_equal(memory_text(1023), "1023 B");
    assert_string_equal(memory_text(-1023), "-1023 B");
    assert_string_equal(memory_text(1024), "1.00 KB");
    assert_string_equal(memory_text(-6042), "-5.90 KB");
    assert_string_equal(memory_text(1048575), "1024.00 KB");
    assert_string_equal(memory_text(1048576), "1.00 MB");
    assert_string_equal(memory_text(1073741824.0 * 3 / 2), "1.50 GB");
    assert_string_equal(memory_text(1099511627776.0), "1024.00 GB");
}

static void test_shares(void **state)
{
    (void)state;
    hb_put_share(&buf, 1, 3);
    assert_string_equal(taken(), "33.33%");
    hb_put_share(&buf, 5, 2);
    assert_string_equal(taken(), "250.00%");
    hb_put_share(&buf, 0, 0);
    assert_string_equal(taken(), "NaN");
}

static void test_flops_units(void **state)
{
    (void)state;
    static const struct {
        double smallest;
        const char *unit;
        double scaled;
    } cases[] = {
        {1, "FLOPs", 1},        {999, "FLOPs", 999}, {1000, "KFLOPs", 1}, {1e6, "MFLOPs", 1},
        {2.5e9, "GFLOPs", 2.5}, {1e12, "TFLOPs", 1}, {1e15, "PFLOPs", 1}, {1e21, "PFLOPs", 1e6},
    };
    for (size_t i = 0; i < HB_ARRAY_LEN(cases); i++) {
        double scale;
        assert_string_equal(hb_flops_unit(cases[i].smallest, &scale), cases[i].unit);
        assert_true(fabs(cases[i].smallest * scale / cases[i].scaled - 1) < 1e-12);
    }
}

/* ---- whole tables ---- */

typedef struct made {
    hb_trace trace;
    hb_arena arena;
    hb_fn_list list;
    hb_averages averages;
} made;

static const hb_table_style plain = {
    .row_limit = 100, .max_name = 55, .max_shapes = 80, .max_source = 75, .device = "CUDA"};

static void make(made *m, const char *json, const hb_group_options *grouping)
{
    static hb_read_report report;
    hb_read_options options = {0};
    memset(m, 0, sizeof *m);
    assert_int_equal(hb_read_trace_memory(json, strlen(json), &options, &m->trace, &report), HB_OK);
    if (hb_arena_try(&m->arena)) {
        hb_fn_list_make(&m->list, &m->arena, &m->trace);
        m->averages = hb_key_averages_make(&m->list, grouping);
    }
    assert_int_equal(m->arena.result, HB_OK);
}

static void unmake(made *m)
{
    hb_arena_free(&m->arena);
    hb_trace_free(&m->trace);
}

static const char *table_of(const char *json, const hb_group_options *grouping,
                            const hb_table_style *style)
{
    made m;
    make(&m, json, grouping);
    buf.size = 0;
    hb_report_table(&m.list, &m.averages, style, &buf);
    unmake(&m);
    return hb_buf_text(&buf);
}

#define OP(name, ts, dur, args)                                                              \
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"" name "\",\"pid\":1,\"tid\":1,\"ts\":" #ts \
    ",\"dur\":" #dur ",\"args\":{" args "}}"

static void test_nothing(void **state)
{
    (void)state;
    hb_group_options grouping = {0};
    assert_string_equal(table_of(TRACE(""), &grouping, &plain), "");
}

static void test_characters_are_aligned(void **state)
{
    (void)state;
    hb_group_options grouping = {0};
    const char *text = table_of(TRACE(OP("Größe Ω", 1, 2, "")), &grouping, &plain);
    assert_non_null(strstr(text, "\n    Größe Ω       100.00%       2.000us  "));
    assert_non_null(strstr(text, "-----------  ------------  "));
}

static void test_long_names_are_cut(void **state)
{
    (void)state;
    hb_group_options grouping = {0};
    hb_table_style style = plain;
    style.max_name = 8;
    const char *text = table_of(TRACE(OP("12345", 1, 2, "")), &grouping, &style);
    assert_non_null(strstr(text, "\n12345...  ")); /* as torch: what leaves no room for dots */
    text = table_of(TRACE(OP("1234", 1, 2, "")), &grouping, &style);
    assert_non_null(strstr(text, "\n    1234  "));
}

static void test_stacks_and_flops_stand_below_their_headers(void **state)
{
    (void)state;
    hb_group_options grouping = {.stack_frames = 2};
    const char *text = table_of(
        TRACE_WITH("\"with_flops\":1,", OP("aten::mm", 1, 2,
                                           "\"Call stack\":\"a.py(1): f;b.py(2): g;c.py(3): h;\","
                                           "\"Input Dims\":[[2,3],[3,4]]")),
        &grouping, &plain);
    assert_non_null(strstr(text, "  Source Location   Total FLOPs  \n"));
    assert_non_null(strstr(text, "  a.py(1): f"
                                 "            48.000  \n"));
    assert_non_null(strstr(text, "  b.py(2): g"
                                 "                    \n"));
    assert_null(strstr(text, "c.py"));
}

#define CONV(dims, concrete) dims ",\"Concrete Inputs\":[\"\",\"\",\"\"," concrete "]"
#define IMAGE                "[[2,6,10,12],[8,3,3,5],[8]]"
#define PAIR(a, b)           "\"[" #a ", " #b "]\""

/* As torch counts them; counted by hand. Of inputs that are damaged, or not those of the operator,
 * there are none. */
static void test_flops_of_operators(void **state)
{
    (void)state;
    static const struct {
        const char *name, *dims;
        double flops;
    } cases[] = {
        {"mm", "[[2,3],[3,4]]", 48},
        {"mm", "[ [2, 3] ,[ 3,4 ],7,\"x\"]", 48},
        {"mm", "[[2,3],[3,-4]]", 0},
        {"mm", "[[2,3]]", 0},
        {"mm", "[[2,3],7]", 0},
        {"mm", "[[2,3],[3,4,null]]", 0},
        {"mm", "[[2,3,null],[3,4]]", 0},
        {"mm", "[[2,3],[3,4,5]]", 0},
        {"mm", "[[2,3,5],[3,4]]", 0},
        {"mm", "[[[2,3]],[3,4]]", 0},
        {"mm", "7", 0},
        {"mm", "[]", 0},
        {"addmm", "[[4],[2,3],[3,4]]", 48},
        {"addmm", "[[[4],[5]],[2,3],[3,4],[],[]]", 48},
        {"addmm", "[[2,3],[3,4]]", 0},
        {"addmm", "[7,[2,3],[3,4]]", 0},
        {"bmm", "[[5,2,3],[5,3,4]]", 240},
        {"bmm", "[[5,2,3],[3,4]]", 0},
        {"bmm", "[[2,3],[5,3,4]]", 0},
        {"baddbmm", "[[4],[5,2,3],[5,3,4]]", 240},
        {"baddbmm", "[[5,2,3],[5,3,4]]", 0},
        {"mul", "[[2,3,4],[]]", 24},
        {"add", "[[],[],[]]", 1},
        {"add", "[[1,2,1,2,1,2,1,2]]", 16},
        {"add", "[[1,2,1,2,1,2,1,2,1]]", 0},
        {"add", "[[2,0]]", 0},
        {"add", "[[2,true]]", 0},
        {"sub", "[[2,3],[2,3]]", 0},
        /* 2 images, 5 by 8 places, 3 by 5 of a kernel, 6 into 8 channels, twice, in 2 groups */
        {"conv2d", CONV(IMAGE, PAIR(2, 1) "," PAIR(1, 0) "," PAIR(1, 1) ",\"2\""),
         2.0 * 2 * 5 * 8 * 15 * 6 * 8 / 2},
        /* of 10 and 12 with 4 about them 12 by 4 places are left by kernels over 7 and 13 */
        {"conv2d", CONV(IMAGE, PAIR(1, 2) "," PAIR(4, 4) "," PAIR(3, 3) ",\"1\""),
         2.0 * 2 * 12 * 4 * 15 * 6 * 8},
        {"conv2d", CONV(IMAGE, PAIR(0, 1) "," PAIR(1, 0) "," PAIR(1, 1) ",\"2\""), 0},
        {"conv2d", CONV(IMAGE, PAIR(1, 1) "," PAIR(0, 0) "," PAIR(1, 3) ",\"1\""), 0},
        {"conv2d", CONV(IMAGE, PAIR(1, 1) "," PAIR(0, 0) "," PAIR(1, 1) ",\"0\""), 0},
        {"conv2d", CONV(IMAGE, PAIR(1, 1) "," PAIR(0, 0) "," PAIR(1, 1)), 0},
        {"conv2d", CONV(IMAGE, "\"[1]\"," PAIR(0, 0) "," PAIR(1, 1) ",\"1\""), 0},
        {"conv2d", CONV(IMAGE, PAIR(1, 1) ",\"[0, 0, 0]\"," PAIR(1, 1) ",\"1\""), 0},
        {"conv2d", CONV(IMAGE, PAIR(1, 1) "," PAIR(0, 0) ",\"same\",\"1\""), 0},
        {"conv2d", CONV("[[2,6,10],[8,6,3]]", PAIR(1, 1) "," PAIR(0, 0) "," PAIR(1, 1) ",\"1\""),
         0},
        {"conv2d", IMAGE, 0},
    };
    hb_group_options grouping = {0};
    for (size_t i = 0; i < HB_ARRAY_LEN(cases); i++) {
        char event[512];
        snprintf(event, sizeof event, OP("aten::%s", 1, 2, "\"Input Dims\":%s"), cases[i].name,
                 cases[i].dims);
        made m;
        make(&m, TRACE_WITH("\"with_flops\":1,", event), &grouping);
        assert_int_equal(m.averages.count, 1);
        if (m.averages.items[0].flops != cases[i].flops)
            fail_msg("%s of %s: %g", cases[i].name, cases[i].dims, m.averages.items[0].flops);
        unmake(&m);
    }
}

static void test_self_time_is_what_children_leave(void **state)
{
    (void)state;
    hb_group_options grouping = {0};
    made m;
    make(&m,
         TRACE(OP("a", 10, 100, ""), OP("b", 20, 30, ""), OP("c", 20, 10, ""), OP("b", 60, 40, ""),
               OP("late", 105, 10, "")),
         &grouping);
    assert_int_equal(m.averages.count, 4);
    assert_true(m.averages.items[0].self_cpu == 30);
    assert_true(m.averages.items[1].self_cpu == 60 && m.averages.items[1].count == 2);
    assert_true(m.averages.items[1].nested && !m.averages.items[0].nested);
    assert_true(!m.averages.items[3].nested); /* it ends after a */
    unmake(&m);
}

static void test_hostile_numbers_are_survived(void **state)
{
    (void)state;
    hb_group_options grouping = {.by_shape = true, .stack_frames = 3};
    const char *text = table_of(
        TRACE_WITH(
            "\"with_flops\":1,\"profile_memory\":1,",
            OP("aten::mm", 1e300, 2,
               "\"Input Dims\":[[9223372036854775807,2],[2,99999999999999999999]]"),
            OP("aten::mm", 5, -1e300, "\"Input Dims\":[[2],3]"),
            OP("aten::mm", -2e15, 2e15,
               "\"Input Dims\":[[9223372036854775807,2],[2,99999999999999999999]]"),
            OP("aten::conv2d", 2e15, 2e15,
               "\"Input Dims\":[[1,1,9223372036854775807,9],[1,1,3,3]],\"Concrete "
               "Inputs\":[\"\",\"\",\"\",\"[1,1]\",\"[-9223372036854775808,0]\",\"[1,1]\",\"0\"]"),
            OP("aten::add", 7, 1, "\"Input Dims\":[[[1,2],[3]],7],\"Call stack\":\";;;\""),
            "{\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":1,\"tid\":1,\"ts\":7,\"args\":{\"Bytes\":"
            "1e308,\"Device Type\":0}}",
            "{\"ph\":\"i\",\"name\":\"[memory]\",\"ts\":\"x\",\"args\":{\"Bytes\":1}}"),
        &grouping, &plain);
    assert_non_null(strstr(text, "aten::mm"));
    assert_non_null(strstr(text, "aten::conv2d"));
    assert_non_null(strstr(text, "  [[]]")); /* a list of tensors has no shape to torch */
}

static void test_sort_keys(void **state)
{
    (void)state;
    hb_group_options grouping = {.by_shape = true};
    made m;
    make(&m,
         TRACE(OP("a", 10, 9, "\"Input Dims\":[[10]]"), OP("a", 20, 9, "\"Input Dims\":[[9,1]]"),
               OP("b", 30, 99, ""), OP("c", 200, 9, "")),
         &grouping);
    assert_int_equal(hb_averages_sort(&m.averages, &m.arena, &m.trace, "self_cpu_time_total"),
                     HB_OK);
    assert_true(m.averages.items[0].cpu_total == 99); /* the others keep their order */
    assert_string_equal(hb_trace_text(&m.trace, m.averages.items[3].name).s, "c");
    assert_int_equal(hb_averages_sort(&m.averages, &m.arena, &m.trace, "input_shapes"), HB_OK);
    assert_string_equal(hb_trace_text(&m.trace, m.averages.items[0].shapes).s, "[[10]]");
    assert_string_equal(hb_trace_text(&m.trace, m.averages.items[1].shapes).s, "[[9, 1]]");
    assert_int_equal(hb_averages_sort(&m.averages, &m.arena, &m.trace, "privateuse1_time"), HB_OK);
    assert_int_equal(hb_averages_sort(&m.averages, &m.arena, &m.trace, "time"),
                     HB_ERROR_INVALID_ARGUMENT);
    unmake(&m);
}

/* The order of "input_shapes" that torch has, also where they are no integers: sorting ends. */
static void test_shapes_are_in_order(void **state)
{
    (void)state;
    static const char *const by_size[] = {"[[9, 10], [1]]", "[[9, 2]]",      "[[9], [3]]", "[[9]]",
                                          "[[-Infinity]]",  "[[-Infinity]]", "[[-2]]"};
    hb_group_options grouping = {.by_shape = true};
    made m;
    make(&m,
         TRACE(
             OP("a", 10, 9, "\"Input Dims\":[[-Infinity]]"), OP("b", 20, 9, "\"Input Dims\":[[9]]"),
             OP("c", 30, 9, "\"Input Dims\":[[-Infinity]]"),
             OP("d", 40, 9, "\"Input Dims\":[[-2]]"), OP("e", 50, 9, "\"Input Dims\":[[9,10],[1]]"),
             OP("f", 60, 9, "\"Input Dims\":[[9],[3]]"), OP("g", 70, 9, "\"Input Dims\":[[9,2]]")),
         &grouping);
    assert_int_equal(hb_averages_sort(&m.averages, &m.arena, &m.trace, "input_shapes"), HB_OK);
    for (size_t i = 0; i < sizeof by_size / sizeof *by_size; i++)
        assert_string_equal(hb_trace_text(&m.trace, m.averages.items[i].shapes).s, by_size[i]);
    unmake(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_shares),
        cmocka_unit_test(test_flops_units),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_characters_are_aligned),
        cmocka_unit_test(test_long_names_are_cut),
        cmocka_unit_test(test_stacks_and_flops_stand_below_their_headers),
        cmocka_unit_test(test_flops_of_operators),
        cmocka_unit_test(test_self_time_is_what_children_leave),
        cmocka_unit_test(test_hostile_numbers_are_survived),
        cmocka_unit_test(test_sort_keys),
        cmocka_unit_test(test_shapes_are_in_order),
    };
    hb_buf_init(&buf, SIZE_MAX / 2);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    hb_buf_free(&buf);
    return failed;
}
