/* SPDX-License-Identifier: MIT
 *
 * Which call started a piece of device work, and which operator that belongs to.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "normalize/keep_steps.h"
#include "read/json_reader.h"
#include "trace/edges.h"
#include "trace/host_nest.h"

static hb_trace trace;

#define EVENT(cat, name, tid, ts, dur, args)                                                       \
    "{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name "\",\"pid\":1,\"tid\":" tid ",\"ts\":" ts \
    ",\"dur\":" dur ",\"args\":{" args "}}"
#define IDS(ext, corr) "\"External id\":" ext ",\"correlation\":" corr

static void load(const char *events)
{
    static char text[8192];
    static hb_read_report report;
    hb_read_options options = {0};
    int n = snprintf(text, sizeof text, "[%s]", events);
    assert_true(n > 0 && (size_t)n < sizeof text);
    assert_int_equal(hb_read_trace_memory(text, (size_t)n, &options, &trace, &report), HB_OK);
    assert_int_equal(hb_trace_link(&trace), HB_OK);
}

static uint32_t call_of(uint32_t work)
{
    return hb_work_call(&trace, hb_trace_row(&trace, work));
}

static uint32_t scope_of(uint32_t row)
{
    return hb_event_scope(&trace, hb_trace_row(&trace, row));
}

/* The id says mm, although time says add. */
static void test_ids(void **state)
{
    (void)state;
    load(EVENT("cpu_op", "mm", "1", "0", "10", "\"External id\":7") ","       /* 0 */
         EVENT("cpu_op", "add", "1", "20", "10", "\"External id\":8") ","     /* 1 */
         EVENT("cuda_runtime", "launch", "1", "22", "2", IDS("7", "500")) "," /* 2 */
         EVENT("kernel", "k", "9", "40", "5", IDS("7", "500")) ","            /* 3 */
         EVENT("gpu_memcpy", "c", "9", "50", "5", IDS("8", "501")) "," /* 4: its call is missing */
         EVENT("kernel", "k", "9", "60", "5", IDS("99", "502")));      /* 5: and nothing else */
    assert_int_equal(call_of(3), 2);
    assert_int_equal(scope_of(3), 0);
    assert_int_equal(scope_of(2), 0);
    assert_int_equal(call_of(4), HB_NO_EVENT);
    assert_int_equal(scope_of(4), 1);
    assert_int_equal(call_of(5), HB_NO_EVENT);
    assert_int_equal(scope_of(5), HB_NO_EVENT);
    hb_trace_free(&trace);
}

/* PyTorch 2.0 to 2.4: the External id of calls and work is their own correlation, which here is
 * another operator's id. */
static void test_time_where_ids_tell_nothing(void **state)
{
    (void)state;
    load(EVENT("cpu_op", "mm", "1", "0", "10", "\"External id\":7") ","    /* 0 */
         EVENT("cpu_op", "add", "1", "2", "5", "\"External id\":8") ","    /* 1 */
         EVENT("cuda_runtime", "launch", "1", "3", "2", IDS("7", "7")) "," /* 2: in add */
         EVENT("cuda_runtime", "launch", "1", "8", "1", IDS("9", "9")) "," /* 3: in mm */
         EVENT("cuda_runtime", "launch", "2", "8", "1", IDS("8", "8")) "," /* 4: in neither */
         EVENT("kernel", "k", "9", "40", "5", IDS("7", "7")) ","           /* 5 */
         EVENT("kernel", "k", "9", "50", "5", IDS("9", "9")) ","           /* 6 */
         EVENT("kernel", "k", "9", "60", "5", IDS("8", "8")));             /* 7 */
    const uint32_t calls[] = {2, 3, 4}, scopes[] = {1, 0, HB_NO_EVENT};
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(call_of(5 + i), calls[i]);
        assert_int_equal(scope_of(5 + i), scopes[i]);
        assert_int_equal(scope_of(2 + i), scopes[i]);
    }
    hb_trace_free(&trace);
}

/* Of two calls the later in the file, of one without times none. */
static void test_which_call(void **state)
{
    (void)state;
    load(EVENT("cuda_runtime", "first", "1", "1", "1", IDS("7", "5")) ","       /* 0 */
         EVENT("hip_runtime", "second", "1", "3", "1", IDS("7", "5")) ","       /* 1 */
         EVENT("cuda_runtime", "endless", "1", "5", "1e300", IDS("7", "5")) "," /* 2 */
         EVENT("kernel", "k", "9", "40", "5", IDS("7", "5")));                  /* 3 */
    assert_int_equal(call_of(3), 1);
    hb_trace_free(&trace);
}

/* Rows move when steps are left out. */
static void test_edges_follow_the_rows(void **state)
{
    (void)state;
    load(
        EVENT("user_annotation", "ProfilerStep#1", "1", "0", "10", "\"External id\":1") ","  /* 0 */
        EVENT("cpu_op", "mm", "1", "1", "8", "\"External id\":2") ","                        /* 1 */
        EVENT("cuda_runtime", "launch", "1", "2", "2", IDS("2", "20")) ","                   /* 2 */
        EVENT("kernel", "k", "9", "40", "5", IDS("2", "20")) ","                             /* 3 */
        EVENT("user_annotation", "ProfilerStep#2", "1", "10", "10", "\"External id\":3") "," /* 4 */
        EVENT("cpu_op", "mm", "1", "11", "8", "\"External id\":4") ","                       /* 5 */
        EVENT("cuda_runtime", "launch", "1", "12", "2", IDS("4", "21")) ","                  /* 6 */
        EVENT("kernel", "k", "9", "50", "5", IDS("4", "21")));                               /* 7 */
    assert_int_equal(call_of(7), 6);
    assert_int_equal(hb_keep_steps(&trace, 2, 2), HB_OK);
    assert_int_equal(trace.rows.count, 4);
    assert_int_equal(hb_trace_link(&trace), HB_OK);
    assert_int_equal(call_of(3), 2);
    assert_int_equal(scope_of(3), 1);
    hb_trace_free(&trace);
}

/* The place of a row, and of what is around it. */
static uint32_t place_of(const hb_host_nest *nest, uint32_t row)
{
    uint32_t place = 0;
    while (nest->rows.items[place] != row)
        place++;
    return place;
}

static uint32_t parent_of(const hb_host_nest *nest, uint32_t row)
{
    uint32_t parent = nest->parents[place_of(nest, row)];
    return parent == HB_NO_PLACE ? HB_NO_EVENT : nest->rows.items[parent];
}

static void test_parents(void **state)
{
    (void)state;
    load(EVENT("cpu_op", "inner", "1", "2", "3", "") ","    /* 0 */
         EVENT("cpu_op", "other", "2", "3", "1", "") ","    /* 1: on another thread */
         EVENT("cpu_op", "outer", "1", "0", "10", "") ","   /* 2 */
         EVENT("cpu_op", "twin", "1", "0", "5", "") ","     /* 3: begins with the longer one */
         EVENT("cpu_op", "crossing", "1", "4", "8", "") "," /* 4: ends behind inner and outer */
         EVENT("cpu_op", "last", "1", "9", "1", "") ","     /* 5 */
         EVENT("cpu_op", "next", "1", "12", "1", ""));      /* 6: as crossing ends */
    hb_arena arena = {0};
    hb_host_nest nest;
    hb_u32s rows = {0};
    assert_true(hb_arena_try(&arena));
    for (uint32_t i = 0; i < trace.rows.count; i++)
        *HB_PUSH(&arena, &rows) = i;
    hb_host_nest_make(&arena, &trace, rows, &nest);
    static const uint32_t parents[] = {3, HB_NO_EVENT, HB_NO_EVENT, 2, 0, 4, HB_NO_EVENT};
    for (uint32_t i = 0; i < trace.rows.count; i++)
        assert_int_equal(parent_of(&nest, i), parents[i]);
    assert_true(place_of(&nest, 2) < place_of(&nest, 3));
    hb_arena_free(&arena);
    hb_trace_free(&trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ids),        cmocka_unit_test(test_time_where_ids_tell_nothing),
        cmocka_unit_test(test_which_call), cmocka_unit_test(test_edges_follow_the_rows),
        cmocka_unit_test(test_parents),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
