/* SPDX-License-Identifier: MIT
 *
 * What a trace of any writer means: events that the plugin could not digest, one vocabulary, the
 * scope of each call, the devices of kernels, and steps that are kept alone.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "normalize/keep_steps.h"
#include "normalize/normalize.h"
#include "read/json_reader.h"
#include "trace_text.h"

static hb_trace trace;

#define EVENT(cat, name, pid, tid, ts, dur, args)                                          \
    "{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name "\",\"pid\":" pid ",\"tid\":" tid \
    ",\"ts\":" ts ",\"dur\":" dur ",\"args\":{" args "}}"
#define OP(name, ts, dur, args)   EVENT("cpu_op", name, "1", "1", ts, dur, args)
#define NOTE(name, ts, dur, args) EVENT("user_annotation", name, "1", "1", ts, dur, args)
#define CALL(ts, dur, args)       EVENT("cuda_runtime", "launch", "1", "1", ts, dur, args)
#define KERNEL(ts, args)          EVENT("kernel", "k", "0", "7", ts, "5", args)
#define EXT(id)                   "\"External id\":" id
#define CORR(id)                  "\"correlation\":" id
#define MEMORY(ts, args)                                                                   \
    "{\"ph\":\"i\",\"name\":\"[memory]\",\"s\":\"t\",\"pid\":1,\"tid\":1" ts ",\"args\":{" \
    "\"Device Type\":1,\"Device Id\":0" args "}}"
#define FLOW(members) \
    "{\"ph\":\"s\",\"cat\":\"forward_backward\",\"name\":\"f\",\"pid\":1,\"tid\":1" members "}"

static void load(const char *text)
{
    static hb_read_report report;
    hb_read_options options = {0};
    assert_int_equal(hb_read_trace_memory(text, strlen(text), &options, &trace, &report), HB_OK);
}

static void load_normalized(const char *text)
{
    load(text);
    assert_int_equal(hb_normalize(&trace), HB_OK);
    assert_true(trace.normalized);
}

static hb_kind kind_of(uint32_t row)
{
    return (hb_kind)hb_trace_row(&trace, row)->kind;
}

/* The External id as a number; 0 for none and for 0. */
static int64_t id_of(uint32_t row)
{
    hb_key key = hb_row_key(&trace, hb_trace_row(&trace, row));
    return hb_key_tag(key) == HB_KEY_TAG_INT ? hb_key_value(key) : 0;
}

/* What becomes of one event alone. */
typedef struct alone {
    const char *event;
    hb_kind kind; /* afterwards */
    uint32_t mended;
} alone;

static void check_alone(const alone *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        load_normalized(TRACE(cases[i].event));
        if (kind_of(0) != cases[i].kind || trace.num_mended != cases[i].mended)
            fail_msg("%s: kind %d, %u mended", cases[i].event, kind_of(0), trace.num_mended);
        hb_trace_free(&trace);
    }
}

static void test_events_that_would_lose_the_file(void **state)
{
    static const alone cases[] = {
        {OP("a", "5", "0", ""), HB_KIND_OPERATOR, 0},
        {OP("a", "\"x\"", "1", ""), HB_KIND_OTHER, 1},
        {OP("a", "5", "null", ""), HB_KIND_OTHER, 1},
        {OP("a", "5", "-1", ""), HB_KIND_OTHER, 1},
        {OP("a", "5.0001", "-1e-3", ""), HB_KIND_OTHER, 1}, /* times that nanoseconds don't have */
        {OP("a", "5.0001", "1e-4", ""), HB_KIND_OPERATOR, 0},
        {OP("a", "5.0001", "0.0000", ""), HB_KIND_OPERATOR, 0},
        {OP("a", "1e308", "1", ""), HB_KIND_OPERATOR, 0},
        {OP("a", "1e308", "1e308", ""), HB_KIND_OTHER, 1}, /* has no end */
        {OP("a", "1e999", "1", ""), HB_KIND_OTHER, 1},
        {OP("a", "1e300", "null", ""), HB_KIND_OTHER, 1},
        {EVENT("kernel", "k", "0", "7", "5", "-1", "\"device\":0"), HB_KIND_OTHER, 1},
        /* lists where a number is wanted */
        {EVENT("cpu_op", "a", "1", "[2]", "5", "1", ""), HB_KIND_OTHER, 1},
        {EVENT("cpu_op", "a", "[1]", "2", "5", "1", ""), HB_KIND_OTHER, 1},
        {OP("a", "5", "1", EXT("[3]")), HB_KIND_OTHER, 1},
        {EVENT("Runtime", "c", "1", "1", "5", "1", CORR("{}")), HB_KIND_OTHER, 1},
        {KERNEL("5", "\"device\":0," CORR("[1]")), HB_KIND_OTHER, 1},
        {KERNEL("5", "\"device\":0," CORR("1")), HB_KIND_KERNEL, 0},
        {OP("a", "5", "1", CORR("[1]")), HB_KIND_OPERATOR, 0},
        {OP("a", "5", "1", "\"Call stack\":[]"), HB_KIND_OTHER, 1},
        {EVENT("python", "a", "1", "1", "5", "1", "\"Call stack\":{}"), HB_KIND_OTHER, 1},
        {OP("a", "5", "1", "\"Call stack\":\"[\""), HB_KIND_OPERATOR, 0},
        /* threads that are named */
        {EVENT("cpu_op", "a", "1", "\"main\"", "5", "1", ""), HB_KIND_OPERATOR, 0},
        {EVENT("cpu_op", "a", "1", "null", "5", "1", ""), HB_KIND_OTHER, 1},
        {EVENT("Runtime", "c", "1", "null", "5", "1", EXT("0")), HB_KIND_RUNTIME, 0},
        /* steps: their number is the whole rest of the name */
        {NOTE("ProfilerStep#3", "5", "1", ""), HB_KIND_ANNOTATION, 0},
        {NOTE("ProfilerStep#", "5", "1", ""), HB_KIND_OTHER, 1},
        {NOTE("ProfilerStep#x", "5", "1", ""), HB_KIND_OTHER, 1},
        {NOTE("ProfilerStep#3#", "5", "1", ""), HB_KIND_OTHER, 1},
        {NOTE("ProfilerStep#3", "5", "0", ""), HB_KIND_OTHER, 1},
        {OP("ProfilerStep#3", "5", "0", ""), HB_KIND_OTHER, 1},
        {OP("ProfilerStep", "5", "0", ""), HB_KIND_OPERATOR, 0},
        /* records of memory have no duration */
        {MEMORY(",\"ts\":5", ",\"Addr\":1,\"Bytes\":8"), HB_KIND_MEMORY, 0},
        {MEMORY(",\"ts\":5.0001", ",\"Addr\":1,\"Bytes\":8"), HB_KIND_MEMORY, 0},
        {MEMORY(",\"ts\":1e999", ",\"Addr\":1,\"Bytes\":8"), HB_KIND_OTHER, 1},
        {MEMORY("", ",\"Addr\":1,\"Bytes\":8"), HB_KIND_OTHER, 1},
        {MEMORY(",\"ts\":5", ",\"Addr\":[1],\"Bytes\":8"), HB_KIND_OTHER, 1},
        {MEMORY(",\"ts\":5", ",\"Addr\":1,\"Bytes\":\"x\""), HB_KIND_OTHER, 1},
        /* the profiler's own span, by which the plugin measures all */
        {EVENT("Trace", "s", "\"Spans\"", "\"a\"", "5", "1", ""), HB_KIND_SPAN, 0},
        {EVENT("Trace", "s", "\"Spans\"", "\"a\"", "5", "0.999", ""), HB_KIND_OTHER, 1},
        {EVENT("Trace", "s", "\"Spans\"", "\"a\"", "5", "null", ""), HB_KIND_OTHER, 1},
        /* arrows */
        {FLOW(",\"id\":1,\"ts\":5"), HB_KIND_FLOW, 0},
        {FLOW(",\"ts\":5"), HB_KIND_OTHER, 1},
        {FLOW(",\"id\":1"), HB_KIND_OTHER, 1},
        {FLOW(",\"id\":[1],\"ts\":5"), HB_KIND_OTHER, 1},
        /* the plugin fails at these; they stay what they are */
        {"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":5,\"dur\":1,"
         "\"args\":[]}",
         HB_KIND_OPERATOR, 1},
        {"5", HB_KIND_OTHER, 1},
        {EVENT("memory", "m", "1", "1", "5", "1", ""), HB_KIND_OTHER, 1},
        {"{\"ph\":\"M\"}", HB_KIND_OTHER, 0},
    };
    (void)state;
    check_alone(cases, sizeof cases / sizeof *cases);
}

static void test_what_fails_the_plugin_is_forgotten(void **state)
{
    (void)state;
    load_normalized(TRACE("5", "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"pid\":1,\"tid\":1,\"ts\":5,"
                               "\"dur\":1,\"args\":7}"));
    for (uint32_t i = 0; i < 2; i++) {
        uint16_t flags = hb_trace_row(&trace, i)->flags;
        assert_false(flags & (HB_ROW_ARGS_ODD | HB_ROW_NOT_OBJECT | HB_ROW_MEMORY_X));
        assert_true(flags & HB_ROW_NAME && flags & HB_ROW_CAT);
    }
    hb_trace_free(&trace);
}

static void test_totals_of_memory_that_are_no_numbers(void **state)
{
    (void)state;
    load_normalized(TRACE(MEMORY(",\"ts\":5", ",\"Addr\":1,\"Bytes\":8,\"Total Allocated\":\"x\","
                                              "\"Total Reserved\":64"),
                          MEMORY(",\"ts\":6", ",\"Addr\":1,\"Bytes\":8,\"Total Allocated\":72,"
                                              "\"Total Reserved\":\"x\"")));
    const hb_memory_row *m = hb_trace_memory(&trace, hb_trace_row(&trace, 0));
    assert_int_equal(m->allocated_state, HB_NUMBER_NONE);
    assert_int_equal(m->reserved_state, HB_NUMBER_INT);
    m = hb_trace_memory(&trace, hb_trace_row(&trace, 1));
    assert_int_equal(m->allocated_state, HB_NUMBER_INT);
    assert_int_equal(m->reserved_state, HB_NUMBER_NONE);
    hb_trace_free(&trace);
}

/* One thread stays one, and no two become one. */
static void test_named_threads(void **state)
{
    (void)state;
    load_normalized(TRACE(EVENT("cpu_op", "a", "1", "\"main\"", "5", "1", ""),
                          EVENT("user_annotation", "b", "1", "\"main\"", "7", "1", ""),
                          EVENT("python", "c", "1", "\"other\"", "9", "1", ""),
                          EVENT("cpu_op", "d", "1", "12", "9", "1", "")));
    hb_key tid[4];
    for (uint32_t i = 0; i < 4; i++) {
        tid[i] = hb_row_tid_key(&trace, hb_trace_row(&trace, i));
        assert_int_equal(hb_key_tag(tid[i]), HB_KEY_TAG_INT);
    }
    assert_true(tid[0] == tid[1] && tid[0] != tid[2]);
    assert_true(hb_key_value(tid[0]) < 0 && hb_key_value(tid[2]) < 0);
    assert_int_equal(hb_key_value(tid[3]), 12);
    hb_trace_free(&trace);
}

#define GPU_NOTE(name) EVENT("gpu_user_annotation", name, "0", "7", "5", "1", "")

static void test_one_vocabulary(void **state)
{
    static const alone cases[] = {
        {EVENT("cuda_runtime", "c", "1", "1", "5", "1", EXT("0")), HB_KIND_RUNTIME, 1},
        {EVENT("hip_runtime", "c", "1", "1", "5", "1", EXT("0")), HB_KIND_RUNTIME, 1},
        {EVENT("cuda_driver", "c", "1", "1", "5", "1", EXT("0")), HB_KIND_RUNTIME, 1},
        {EVENT("Runtime", "c", "1", "1", "5", "1", EXT("0")), HB_KIND_RUNTIME, 0},
        {NOTE("enumerate(DataLoader)#_Single.__next__", "5", "1", ""), HB_KIND_OPERATOR, 1},
        {NOTE("enumerate(DataPipe)#x", "5", "1", ""), HB_KIND_OPERATOR, 1},
        {NOTE("Optimizer.step#SGD.step", "5", "1", ""), HB_KIND_OPERATOR, 1},
        {NOTE("DataParallel.forward", "5", "1", ""), HB_KIND_OPERATOR, 1},
        {NOTE("DataParallel.forward2", "5", "1", ""), HB_KIND_ANNOTATION, 0},
        {NOTE("my own", "5", "1", ""), HB_KIND_ANNOTATION, 0},
        {GPU_NOTE("Optimizer.step#SGD.step"), HB_KIND_ANNOTATION, 0},
        {GPU_NOTE("ProfilerStep#3"), HB_KIND_OTHER, 1}, /* the host has it, too */
        {GPU_NOTE("my own"), HB_KIND_ANNOTATION, 0},
        {OP("Optimizer.step#SGD.step", "5", "1", ""), HB_KIND_OPERATOR, 0},
    };
    (void)state;
    check_alone(cases, sizeof cases / sizeof *cases);
}

/* The same name is asked for once; what was found of another one says nothing. */
static void test_names_are_told_apart(void **state)
{
    (void)state;
    load_normalized(TRACE(NOTE("mine", "5", "1", ""), NOTE("Optimizer.step#A", "7", "1", ""),
                          NOTE("mine", "9", "1", ""), NOTE("Optimizer.step#A", "11", "1", "")));
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(kind_of(i), i & 1 ? HB_KIND_OPERATOR : HB_KIND_ANNOTATION);
    hb_trace_free(&trace);
}

static void test_owners_of_calls(void **state)
{
    (void)state;
    load_normalized(TRACE(
        OP("outer", "0", "100", EXT("7")),                                     /* 0 */
        OP("inner", "10", "20", EXT("8")),                                     /* 1 */
        CALL("12", "2", EXT("7") "," CORR("50")), KERNEL("200", CORR("50")),   /* 2: as it says */
        CALL("15", "2", CORR("51")),                                           /* 4 */
        KERNEL("210", EXT("7") "," CORR("51")),                                /*    by its work */
        CALL("18", "2", CORR("52")), KERNEL("220", CORR("52")),                /* 6: by time */
        CALL("22", "2", EXT("7") "," CORR("7")), KERNEL("230", CORR("7")),     /* 8: no link */
        CALL("40", "2", EXT("99") "," CORR("53")), KERNEL("240", CORR("53")),  /* 10: of nobody */
        CALL("120", "2", EXT("98") "," CORR("54")), KERNEL("250", CORR("54")), /* 12: in nothing */
        CALL("24", "2", CORR("55")),                                           /* 14: no work */
        CALL("26", "2", EXT("97") "," CORR("56"))));                           /* 15: no work */
    static const int64_t ids[][2] = {{2, 7},  {4, 7},  {6, 8},  {8, 8},
                                     {10, 7}, {12, 0}, {14, 0}, {15, 97}};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        assert_int_equal(id_of((uint32_t)ids[i][0]), ids[i][1]);
    /* All calls without an id have a 0: none would be the first module's. */
    assert_int_equal(hb_trace_row(&trace, 12)->id, HB_ID_ZERO);
    assert_int_equal(hb_trace_row(&trace, 14)->id, HB_ID_ZERO);
    hb_trace_free(&trace);
}

/* Of many operators and one call that looks for one. */
static void test_a_call_in_nothing(void **state)
{
    (void)state;
    load_normalized(TRACE(OP("a", "0", "10", EXT("1")), OP("b", "10", "10", EXT("2")),
                          OP("c", "20", "10", EXT("3")), CALL("120", "2", EXT("98") "," CORR("9")),
                          KERNEL("250", CORR("9"))));
    assert_int_equal(hb_trace_row(&trace, 3)->id, HB_ID_ZERO);
    hb_trace_free(&trace);
}

/* Of a step, a scope of PyTorch's own and a Python scope: the plugin's trees have these. */
static void test_calls_in_scopes_that_are_no_operators(void **state)
{
    (void)state;
#define WORKING(ts, dur, id, corr) CALL(ts, dur, EXT(id) "," CORR(corr)), KERNEL("900", CORR(corr))
    load_normalized(TRACE(
        NOTE("ProfilerStep#1", "0", "100", EXT("1")),                 /* 0 */
        NOTE("Optimizer.step#SGD.step", "10", "10", EXT("2")),        /* 1 */
        EVENT("python", "p", "1", "1", "30", "10", EXT("3")),         /* 2 */
        NOTE("mine", "50", "10", EXT("4")),                           /* 3 */
        WORKING("5", "2", "1", "61"), WORKING("12", "2", "2", "62"),  /* 4, 6 */
        WORKING("32", "2", "3", "63"), WORKING("52", "2", "4", "64"), /* 8, 10 */
        WORKING("9", "2", "2", "65"),  /* 12: begins before its scope */
        WORKING("10", "2", "2", "66"), /* 14: with it */
        WORKING("18", "4", "2", "67"), /* 16: half of it is in it */
        WORKING("18", "6", "2", "68"), /* 18: less is */
        EVENT("cuda_runtime", "launch", "1", "2", "12", "2", EXT("2") "," CORR("69")), /* 20 */
        KERNEL("900", CORR("69"))));
    static const int64_t ids[][2] = {{4, 1},  {6, 2},  {8, 3},  {10, 0}, {12, 0},
                                     {14, 2}, {16, 2}, {18, 0}, {20, 0}};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        assert_int_equal(id_of((uint32_t)ids[i][0]), ids[i][1]);
    hb_trace_free(&trace);
}

static void test_an_id_of_two_scopes_is_the_operator_s(void **state)
{
    (void)state;
    load_normalized(TRACE(NOTE("Optimizer.step#SGD.step", "0", "50", EXT("7")),
                          OP("mm", "1", "9", EXT("7")), OP("add", "20", "9", EXT("0")),
                          NOTE("Optimizer.zero_grad#SGD", "60", "9", EXT("8")),
                          NOTE("mine", "80", "9", EXT("7"))));
    assert_int_equal(hb_trace_row(&trace, 0)->id, HB_ID_NONE);
    assert_int_equal(id_of(1), 7);
    assert_int_equal(hb_trace_row(&trace, 2)->id, HB_ID_ZERO);
    assert_int_equal(id_of(3), 8);
    assert_int_equal(id_of(4), 7);
    hb_trace_free(&trace);
}

static const hb_launch *launch_of(uint32_t row)
{
    return hb_trace_launch_of(&trace, hb_trace_row(&trace, row));
}

static int64_t device_of(uint32_t row)
{
    const hb_launch *l = launch_of(row);
    assert_int_equal(l->device_state, HB_NUMBER_INT);
    assert_int_equal(hb_key_tag(l->device), HB_KEY_TAG_INT);
    return hb_key_value(l->device);
}

#define ON(pid, args) EVENT("kernel", "k", pid, "7", "5", "5", args)

static void test_devices_of_kernels(void **state)
{
    (void)state;
    load_normalized(TRACE(ON("3", "\"device\":2"), ON("3", ""), ON("\"gpu\"", ""),
                          ON("3", "\"device\":\"x\""), ON("3", "\"device\":1.5")));
    static const int64_t devices[] = {2, 3, 0, 3, 3};
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(device_of(i), devices[i]);
    assert_int_equal(trace.num_mended, 4);
    hb_trace_free(&trace);
}

static void test_ratios_of_kernels(void **state)
{
#define GRID(device, more) "\"device\":" device ",\"grid\":[3, 4, 2]" more
    (void)state;
    load_normalized(TRACE_WITH(
        "\"deviceProperties\":[{\"id\":0,\"numSms\":8},{\"id\":1},{\"id\":2,\"numSms\":48},"
        "{\"id\":3,\"numSms\":\"4\"},{\"id\":4,\"numSms\":0},{\"id\":5,\"numSms\":1}],",
        ON("0", GRID("0", "")), ON("0", GRID("1", "")), ON("0", GRID("2", "")),
        ON("0", GRID("3", "")), ON("0", GRID("4", "")), ON("0", GRID("6", "")),
        ON("0", GRID("-1", "")), ON("0", GRID("0", ",\"blocks per SM\":0.25")), ON("0", ""),
        ON("0", "\"device\":0,\"grid\":[0, 4, 2]"), ON("0", GRID("0", ",\"blocks per SM\":\"x\"")),
        ON("0", "\"device\":0,\"blocks per SM\":\"x\""),
        ON("0", "\"device\":0,\"est. achieved occupancy %\":\"x\""),
        ON("0", "\"device\":0,\"est. achieved occupancy %\":40"), ON("0", GRID("5", ""))));
    static const double blocks[] = {3, 0, 0.5, 0, 0, 0, 0, 0.25, 0, 0, 3, 0, 0, 0, 24};
    for (uint32_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        const hb_launch *l = launch_of(i);
        assert_int_equal(l->blocks_state, blocks[i] > 0 ? HB_NUMBER_FLOAT : HB_NUMBER_NONE);
        if (blocks[i] > 0) assert_true(l->blocks_per_sm == blocks[i]);
    }
    assert_int_equal(launch_of(12)->occupancy_state, HB_NUMBER_NONE);
    assert_int_equal(launch_of(13)->occupancy_state, HB_NUMBER_INT);
    assert_int_equal(trace.num_mended, 7); /* with row 8's device */
    hb_trace_free(&trace);
}

#define OF(pid, cat, ts, args) EVENT(cat, "x", pid, "1", ts, "5", args)

/* Two processes that count alike: the second one's ids, correlations and threads become others. */
static void test_processes_in_one_file(void **state)
{
    (void)state;
    load_normalized(TRACE(
        OF("100", "cpu_op", "0", EXT("7")), OF("100", "cuda_runtime", "1", EXT("7") "," CORR("9")),
        OF("0", "kernel", "20", "\"device\":0," EXT("7") "," CORR("9")),
        OF("200", "cpu_op", "100", EXT("7")),
        OF("200", "cuda_runtime", "101", EXT("7") "," CORR("9")),
        OF("1", "kernel", "120", "\"device\":1," EXT("7") "," CORR("9")),
        OF("200", "user_annotation", "200", EXT("7")), OF("200", "python", "300", EXT("7"))));
    assert_int_equal(id_of(0), 7);
    int64_t other = id_of(3);
    assert_int_not_equal(other, 7);
    static const uint32_t first[] = {0, 1, 2}, second[] = {3, 4, 5, 6, 7};
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(id_of(first[i]), 7);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(id_of(second[i]), other);
    hb_id correlation[2];
    for (uint32_t i = 0; i < 2; i++) {
        correlation[i] = hb_row_correlation(&trace, hb_trace_row(&trace, 1 + 3 * i));
        assert_int_equal(hb_row_correlation(&trace, hb_trace_row(&trace, 2 + 3 * i)),
                         correlation[i]);
    }
    assert_int_not_equal(correlation[0], correlation[1]);
    hb_key tid = hb_row_tid_key(&trace, hb_trace_row(&trace, 3));
    assert_true(tid != hb_row_tid_key(&trace, hb_trace_row(&trace, 0)));
    assert_true(tid == hb_row_tid_key(&trace, hb_trace_row(&trace, 4)));
    assert_true(hb_key_int(1) == hb_row_tid_key(&trace, hb_trace_row(&trace, 5))); /* a stream */
    /* Both calls, and all six events of the second one. */
    assert_int_equal(trace.num_mended, 2 + 5);
    hb_trace_free(&trace);
}

/* ---- steps that are kept ---- */

#define STEPPED                                                                            \
    NOTE("ProfilerStep#1", "0", "10", ""), NOTE("ProfilerStep#2", "10", "10", ""),         \
        NOTE("ProfilerStep#3", "20", "10", ""), NOTE("ProfilerStep#4", "30", "10", ""),    \
        OP("early", "9", "5", ""), OP("at 10", "10", "1", ""), OP("at 29", "29", "5", ""), \
        OP("at 30", "30", "1", ""), MEMORY(",\"ts\":9", ",\"Addr\":1,\"Bytes\":8"),        \
        MEMORY(",\"ts\":15", ",\"Addr\":2,\"Bytes\":8"),                                   \
        MEMORY(",\"ts\":30", ",\"Addr\":3,\"Bytes\":8"), CALL("12", "1", CORR("5")),       \
        KERNEL("70", CORR("5")), CALL("35", "1", CORR("6")), KERNEL("25", CORR("6")),      \
        KERNEL("21", CORR("77")), KERNEL("31", CORR("78")),                                \
        EVENT("Trace", "PyTorch Profiler (0)", "\"Spans\"", "\"x\"", "0", "90", ""),       \
        "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":{\"name\":\"p\"}}",    \
        EVENT("gpu_user_annotation", "ProfilerStep#2", "0", "7", "70", "3", ""),           \
        EVENT("gpu_user_annotation", "ProfilerStep#4", "0", "7", "25", "3", "")

static void check_rows(const uint32_t *numbers, size_t count)
{
    hb_trace whole;
    static hb_read_report report;
    hb_read_options options = {0};
    const char *text = TRACE(STEPPED);
    assert_int_equal(hb_read_trace_memory(text, strlen(text), &options, &whole, &report), HB_OK);
    assert_int_equal(trace.rows.count, count);
    for (uint32_t i = 0; i < count; i++) {
        const hb_row *row = hb_trace_row(&trace, i), *was = hb_trace_row(&whole, numbers[i]);
        assert_int_equal(row->kind, was->kind);
        assert_int_equal(row->start, was->start);
        assert_int_equal(row->duration, was->duration);
    }
    hb_trace_free(&whole);
}

static void test_steps_that_are_kept(void **state)
{
    static const uint32_t two[] = {1, 2, 5, 6, 9, 11, 12, 15, 17, 18, 19};
    static const uint32_t last[] = {3, 7, 10, 13, 14, 16, 17, 18, 20};
    (void)state;
    load(TRACE(STEPPED));
    assert_int_equal(hb_keep_steps(&trace, 2, 3), HB_OK);
    check_rows(two, sizeof two / sizeof *two);
    hb_trace_free(&trace);
    load(TRACE(STEPPED));
    assert_int_equal(hb_keep_steps(&trace, 4, 99), HB_OK);
    check_rows(last, sizeof last / sizeof *last);
    hb_trace_free(&trace);
}

static void test_no_such_step(void **state)
{
    uint32_t all[21];
    (void)state;
    for (uint32_t i = 0; i < 21; i++)
        all[i] = i;
    load(TRACE(STEPPED));
    assert_int_equal(hb_keep_steps(&trace, 5, 7), HB_ERROR_NOT_FOUND);
    assert_string_equal(hb_last_error(), "the trace has no step 5");
    check_rows(all, 21);
    hb_trace_free(&trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_events_that_would_lose_the_file),
        cmocka_unit_test(test_what_fails_the_plugin_is_forgotten),
        cmocka_unit_test(test_totals_of_memory_that_are_no_numbers),
        cmocka_unit_test(test_named_threads),
        cmocka_unit_test(test_one_vocabulary),
        cmocka_unit_test(test_names_are_told_apart),
        cmocka_unit_test(test_owners_of_calls),
        cmocka_unit_test(test_a_call_in_nothing),
        cmocka_unit_test(test_calls_in_scopes_that_are_no_operators),
        cmocka_unit_test(test_an_id_of_two_scopes_is_the_operator_s),
        cmocka_unit_test(test_devices_of_kernels),
        cmocka_unit_test(test_ratios_of_kernels),
        cmocka_unit_test(test_processes_in_one_file),
        cmocka_unit_test(test_steps_that_are_kept),
        cmocka_unit_test(test_no_such_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
