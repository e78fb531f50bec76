/* SPDX-License-Identifier: MIT
 *
 * What key_averages() gives for operators in operators, with several kernels each and memory of the
 * host and a GPU on both levels; and each way to sort it.
 *
 *   time (us)  0        10 ......... 50      60 .. 80    100        200 ......... 250
 *   host       [ outer  [ inner      ]       [ inner ]     ]        [ other         ]
 *   kernels    k3       k1, k2, k1                                  k1
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <hipboard/analysis.h>

#include "trace_text.h"

#define EVENT(cat, name, tid, ts, dur, args)                                          \
    "{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name "\",\"pid\":0,\"tid\":" #tid \
    ",\"ts\":" #ts ",\"dur\":" #dur ",\"args\":{" args "}}"
#define OP(name, ts, dur, id, shapes) \
    EVENT("cpu_op", name, 7, ts, dur, "\"External id\":" #id ",\"Input Dims\":" shapes)
#define KERNEL(name, ts, dur, id) \
    EVENT("kernel", name, 0, ts, dur, "\"device\":0,\"External id\":" #id)
#define MEMORY(ts, bytes, type)                                                                \
    "{\"ph\":\"i\",\"cat\":\"cpu_instant_event\",\"s\":\"t\",\"name\":\"[memory]\",\"pid\":0," \
    "\"tid\":7,\"ts\":" #ts ",\"args\":{\"Bytes\":" #bytes ",\"Device Type\":" #type           \
    ",\"Device Id\":0,\"Addr\":1}}"

static char path[] = "/tmp/hipboard-test-averages-XXXXXX";
static hb_trace_file *file;

static int open_trace(void **state)
{
    (void)state;
    FILE *f = fdopen(mkstemp(path), "w");
    assert_non_null(f);
    fputs(TRACE(OP("outer", 0, 100, 1, "[[2,3],[]]"), MEMORY(5, 7, 0),
                OP("inner", 10, 40, 2, "[[4]]"), MEMORY(12, 100, 0), MEMORY(20, 1000, 1),
                OP("inner", 60, 20, 3, "[[5]]"), MEMORY(70, -40, 0),
                OP("other", 200, 50, 4, "[[4]]"), MEMORY(210, 64, 0), MEMORY(220, -8, 1),
                KERNEL("k3", 30, 11, 1), KERNEL("k1", 50, 7, 2), KERNEL("k2", 60, 5, 2),
                KERNEL("k1", 70, 3, 2), KERNEL("k1", 260, 2, 4)),
          f);
    assert_int_equal(fclose(f), 0);
    hb_result result = hb_trace_file_open(path, NULL, &file);
    remove(path);
    return result == HB_OK ? 0 : -1;
}

static int close_trace(void **state)
{
    (void)state;
    hb_trace_file_close(file);
    return 0;
}

static hb_key_averages *averages_of(const char *sort_by, bool by_shape)
{
    hb_key_averages_options o = HB_KEY_AVERAGES_OPTIONS_INIT;
    hb_key_averages *k;
    o.sort_by = sort_by;
    o.group_by_input_shape = by_shape;
    assert_int_equal(hb_key_averages_create(file, &o, &k), HB_OK);
    return k;
}

static void assert_stat(const hb_average_stat *s, const hb_average_stat *e)
{
    assert_string_equal(s->key, e->key);
    assert_int_equal(s->count, e->count);
    assert_int_equal(s->is_device, e->is_device);
    const double is[] = {s->cpu_us,    s->self_cpu_us,    s->device_us,    s->self_device_us,
                         s->cpu_bytes, s->self_cpu_bytes, s->device_bytes, s->self_device_bytes};
    const double should[] = {e->cpu_us,         e->self_cpu_us,      e->device_us,
                             e->self_device_us, e->cpu_bytes,        e->self_cpu_bytes,
                             e->device_bytes,   e->self_device_bytes};
    for (size_t i = 0; i < sizeof is / sizeof *is; i++)
        if (is[i] != should[i]) fail_msg("%s: %zu: %g, not %g", s->key, i, is[i], should[i]);
}

static void sums_are_of_all_levels(void **state)
{
    (void)state;
    const hb_average_stat expected[] = {
        {.key = "outer",
         .count = 1,
         .cpu_us = 100,
         .self_cpu_us = 40,
         .device_us = 26,
         .self_device_us = 11,
         .cpu_bytes = 67,
         .self_cpu_bytes = 7,
         .device_bytes = 1000},
        {.key = "inner",
         .count = 2,
         .cpu_us = 60,
         .self_cpu_us = 60,
         .device_us = 15,
         .self_device_us = 15,
         .cpu_bytes = 60,
         .self_cpu_bytes = 60,
         .device_bytes = 1000,
         .self_device_bytes = 1000},
        {.key = "other",
         .count = 1,
         .cpu_us = 50,
         .self_cpu_us = 50,
         .device_us = 2,
         .self_device_us = 2,
         .cpu_bytes = 64,
         .self_cpu_bytes = 64,
         .device_bytes = -8,
         .self_device_bytes = -8},
        {.key = "k3", .count = 1, .is_device = true, .device_us = 11, .self_device_us = 11},
        {.key = "k1", .count = 3, .is_device = true, .device_us = 12, .self_device_us = 12},
        {.key = "k2", .count = 1, .is_device = true, .device_us = 5, .self_device_us = 5},
    };
    hb_key_averages *k = averages_of(NULL, false);
    assert_int_equal(hb_key_averages_count(k), sizeof expected / sizeof *expected);
    for (size_t i = 0; i < hb_key_averages_count(k); i++) {
        hb_average_stat s, found = {.key = ""};
        assert_int_equal(hb_key_averages_get(k, i, &s), HB_OK);
        for (size_t j = 0; j < sizeof expected / sizeof *expected; j++)
            if (strcmp(expected[j].key, s.key) == 0) found = expected[j];
        assert_stat(&s, &found);
    }
    hb_average_stat total;
    assert_int_equal(hb_key_averages_get(k, 6, &total), HB_ERROR_NOT_FOUND);
    assert_int_equal(hb_key_averages_total(k, &total), HB_OK);
    assert_string_equal(total.key, "Total");
    assert_true(total.self_cpu_us == 150 && total.self_cpu_bytes == 131);
    assert_true(total.self_device_bytes == 992 && total.count == 9);
    hb_key_averages_destroy(k);
}

/* Names in order, as many as the key tells apart. */
static void each_way_to_sort(void **state)
{
    (void)state;
    static const struct {
        const char *by;
        const char *order[6];
    } cases[] = {
        {"cpu_time_total", {"outer", "inner", "other"}},
        {"self_cpu_time_total", {"inner", "other", "outer"}},
        {"cpu_time", {"outer", "other", "inner"}},
        {"device_time_total", {"outer", "inner", "k1", "k3", "k2", "other"}},
        {"cuda_time_total", {"outer", "inner", "k1", "k3", "k2", "other"}},
        {"hip_time_total", {"outer", "inner", "k1", "k3", "k2", "other"}},
        {"self_device_time_total", {"inner", "k1"}},
        {"device_time", {"outer", "k3", "inner", "k2", "k1", "other"}},
        {"cpu_memory_usage", {"outer", "other", "inner"}},
        {"self_cpu_memory_usage", {"other", "inner", "outer"}},
        {"self_device_memory_usage", {"inner"}},
        {"count", {"k1", "inner"}},
        {"key", {"outer", "other", "k3", "k2", "k1", "inner"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hb_key_averages *k = averages_of(cases[i].by, false);
        for (size_t j = 0; j < 6 && cases[i].order[j]; j++) {
            hb_average_stat s;
            assert_int_equal(hb_key_averages_get(k, j, &s), HB_OK);
            if (strcmp(s.key, cases[i].order[j]) != 0)
                fail_msg("%s: %zu. is %s, not %s", cases[i].by, j, s.key, cases[i].order[j]);
        }
        hb_key_averages_destroy(k);
    }
    hb_key_averages_options o = HB_KEY_AVERAGES_OPTIONS_INIT;
    hb_key_averages *k;
    o.sort_by = "speed";
    assert_int_equal(hb_key_averages_create(file, &o, &k), HB_ERROR_INVALID_ARGUMENT);
    assert_non_null(strstr(hb_last_error(), "speed"));
}

static void shapes_tell_operators_apart(void **state)
{
    (void)state;
    hb_key_averages *k = averages_of(NULL, true);
    unsigned inners = 0;
    for (size_t i = 0; i < hb_key_averages_count(k); i++) {
        hb_average_stat s;
        assert_int_equal(hb_key_averages_get(k, i, &s), HB_OK);
        if (strcmp(s.key, "outer") == 0) assert_string_equal(s.input_shapes, "[[2, 3], []]");
        if (strcmp(s.key, "inner") != 0) continue;
        inners++;
        bool first = strcmp(s.input_shapes, "[[4]]") == 0;
        if (!first) assert_string_equal(s.input_shapes, "[[5]]");
        assert_true(s.count == 1 && s.cpu_us == (first ? 40 : 20));
        assert_true(s.cpu_bytes == (first ? 100 : -40) && s.device_us == (first ? 15 : 0));
    }
    assert_int_equal(inners, 2);
    hb_key_averages_destroy(k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_of_all_levels),
        cmocka_unit_test(each_way_to_sort),
        cmocka_unit_test(shapes_tell_operators_apart),
    };
    return cmocka_run_group_tests(tests, open_trace, close_trace);
}
