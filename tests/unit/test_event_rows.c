/* SPDX-License-Identifier: MIT
 *
 * What each member of an event is for, and what becomes of it in a row: each name, type and limit
 * beside its neighbours.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include <math.h>

#include "read/encoding.h"
#include "read/json_event.h"
#include "read/json_reader.h"
#include "trace/trace.h"

/* ---- names of members ---- */

typedef struct named {
    const char *name;
    hb_slot slot;
} named;

static const named of_events[] = {
    {"ph", HB_SLOT_PH},   {"ts", HB_SLOT_TS},     {"id", HB_SLOT_ID},
    {"cat", HB_SLOT_CAT}, {"pid", HB_SLOT_PID},   {"tid", HB_SLOT_TID},
    {"dur", HB_SLOT_DUR}, {"name", HB_SLOT_NAME}, {"args", HB_SLOT_ARGS}};

static const named of_args[] = {{"Addr", HB_SLOT_ADDR},
                                {"size", HB_SLOT_COPIED},
                                {"grid", HB_SLOT_GRID},
                                {"Bytes", HB_SLOT_BYTES},
                                {"bytes", HB_SLOT_COPIED},
                                {"flops", HB_SLOT_FLOPS},
                                {"block", HB_SLOT_BLOCK},
                                {"device", HB_SLOT_DEVICE},
                                {"Python id", HB_SLOT_PYTHON_ID},
                                {"Device Id", HB_SLOT_DEVICE_ID},
                                {"Input Dims", HB_SLOT_DIMS},
                                {"Input dims", HB_SLOT_DIMS_LOWER},
                                {"Input type", HB_SLOT_TYPES},
                                {"Call stack", HB_SLOT_STACK},
                                {"External id", HB_SLOT_EXTERNAL},
                                {"external id", HB_SLOT_EXTERNAL_LOWER},
                                {"correlation", HB_SLOT_CORRELATION},
                                {"Device Type", HB_SLOT_DEVICE_TYPE},
                                {"Allocated by", HB_SLOT_OWNER},
                                {"blocks per SM", HB_SLOT_BLOCKS_PER_SM},
                                {"shared memory", HB_SLOT_SHARED},
                                {"Fwd thread id", HB_SLOT_FWD_THREAD},
                                {"Total Reserved", HB_SLOT_RESERVED},
                                {"Total Allocated", HB_SLOT_ALLOCATED},
                                {"Concrete Inputs", HB_SLOT_CONCRETE},
                                {"Sequence number", HB_SLOT_SEQUENCE},
                                {"Python parent id", HB_SLOT_PYTHON_PARENT},
                                {"Python module id", HB_SLOT_PYTHON_MODULE},
                                {"occupancy limited by", HB_SLOT_LIMIT},
                                {"registers per thread", HB_SLOT_REGISTERS},
                                {"est. achieved occupancy %", HB_SLOT_OCCUPANCY}};

static int slot_of(const char *name, size_t size, bool escaped, bool args)
{
    hb_value key = {name, size, HB_JSON_STRING, escaped};
    return hb_event_slot(&key, args);
}

static void check_names(const named *list, size_t count, bool args)
{
    for (size_t i = 0; i < count; i++) {
        char other[64], escaped[64];
        const char *name = list[i].name;
        size_t size = strlen(name);
        assert_int_equal(slot_of(name, size, false, args), list[i].slot);
        assert_int_equal(slot_of(name, size, false, !args), -1);
        snprintf(escaped, sizeof escaped, "\\u%04x%s", name[0], name + 1);
        assert_int_equal(slot_of(escaped, size + 5, true, args), list[i].slot);
        assert_int_equal(slot_of(escaped, size + 5, false, args), -1);
        snprintf(other, sizeof other, "%sx", name);
        assert_int_equal(slot_of(other, size + 1, false, args), -1);
        assert_int_equal(slot_of(name, size - 1, false, args), -1);
        for (size_t k = 0; k < size; k++) {
            snprintf(other, sizeof other, "%s", name);
            other[k] = '#';
            assert_int_equal(slot_of(other, size, false, args), -1);
        }
    }
    assert_int_equal(slot_of("", 0, false, args), -1);
}

static void each_name_has_its_slot(void **state)
{
    (void)state;
    check_names(of_events, HB_ARRAY_LEN(of_events), false);
    check_names(of_args, HB_ARRAY_LEN(of_args), true);
}

/* ---- quotes that end nothing ---- */

static void ignore_defect(void *context, hb_json_defect defect, const char *at)
{
    (void)context, (void)defect, (void)at;
}

static void a_quote_ends_a_text_where_more_of_the_event_follows(void **state)
{
    static const struct {
        const char *behind; /* a quote in the text and what follows it */
        const char *name;   /* NULL: it is not found */
    } cases[] = {
        {"\"b\"}", "a\"b"},
        {"\"b\" }", "a\"b"},
        {"\"b\", \"ts\": 1}", "a\"b"},
        {"\"b\" , \"ts\" : 1}", "a\"b"},
        {"\"b\", c\", \"ts\": 1}", "a\"b\", c"},
        {"\"b\", \"c\", \"ts\": 1}", "a\"b\", \"c"},
        {"\"b\", \"c\"}", "a\"b\", \"c"},
        {"\"b\", c\": d\", \"ts\": 1}", "a\"b\", c\": d"}, /* nor what is no name */
        {"[\"b\"]\"}", "a[\"b\"]"},                        /* a bracket ends no member */
        {"\", b\", \"ts\": 1}", NULL}, /* the first one ends a member, which none follows */
        {"\", \"b\", \"ts\": 1}", NULL},
        {"\", \"b\"}", NULL},
        {"\" : b\"}", "a\" : b"},
        {"\"b\", \"t\ns\": 1}", NULL},
        {"\"b\", 7}", NULL},
        {"\"b\n\"}", NULL},
        {"\"b", NULL},
        {"\"b\", \"", NULL},
    };
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(cases); i++) {
        char text[200] = "";
        hb_raw_event raw = {.row = NULL};
        int n = snprintf(text, 100, "{\"name\": \"a%s", cases[i].behind);
        hb_scan scan = {.end = text + n, .defect = ignore_defect};
        const char *end = hb_parse_event(&scan, text + 1, true, &raw);
        if ((end != NULL) != (cases[i].name != NULL)) fail_msg("%s", cases[i].behind);
        assert_null(hb_parse_event(&scan, text + 1, false, &raw)); /* json.loads() takes none */
        if (!end) continue;
        (void)hb_parse_event(&scan, text + 1, true, &raw);
        hb_value name = hb_raw_get(&raw, HB_SLOT_NAME);
        assert_int_equal(name.size, strlen(cases[i].name));
        assert_memory_equal(name.s, cases[i].name, name.size);
        assert_int_equal(raw.num_repaired, 1);
    }
}

/* ---- rows ---- */

static hb_trace read_event(const char *event, bool strict)
{
    char text[6000];
    hb_trace trace;
    hb_read_report report;
    hb_read_options options = {.strict = strict};
    int n = snprintf(text, sizeof text, "{\"traceEvents\": [%s]}", event);
    assert_in_range(n, 1, sizeof text - 1);
    if (hb_read_trace_memory(text, (size_t)n, &options, &trace, &report) != HB_OK)
        fail_msg("%s: %s", event, hb_last_error());
    assert_int_equal(trace.rows.count, 1);
    return trace;
}

static const char *text_of(const hb_trace *trace, hb_string_id id)
{
    return id ? hb_trace_text(trace, id).s : NULL;
}

static void assert_text(const hb_trace *trace, hb_string_id id, const char *expected)
{
    if (expected)
        assert_string_equal(text_of(trace, id), expected);
    else
        assert_int_equal(id, 0);
}

static void flags_tell_what_there_is(void **state)
{
    enum { TIMES = HB_ROW_TS | HB_ROW_HAS_TS };
    static const struct {
        const char *event;
        unsigned flags;
        char ph;
    } cases[] = {
        {"{}", 0, 0},
        {"{\"ph\": \"X\"}", HB_ROW_COMPLETE, 'X'},
        {"{\"ph\": \"Xx\"}", 0, 'X'},
        {"{\"ph\": \"\"}", 0, 0},
        {"{\"ph\": 7}", 0, 0},
        {"{\"ph\": \"i\"}", HB_ROW_INSTANT, 'i'},
        {"{\"ph\": \"I\"}", 0, 'I'},
        {"{\"name\": \"a\"}", HB_ROW_NAME, 0},
        {"{\"name\": 7}", 0, 0},
        {"{\"name\": null}", 0, 0},
        {"{\"cat\": \"a\"}", HB_ROW_CAT, 0},
        {"{\"cat\": []}", 0, 0},
        {"{\"args\": {}}", HB_ROW_ARGS, 0},
        {"{\"args\": []}", HB_ROW_ARGS_ODD, 0},
        {"{\"args\": null}", HB_ROW_ARGS_ODD, 0},
        {"{\"args\": \"x\"}", HB_ROW_ARGS_ODD, 0},
        {"{\"ts\": 1}", TIMES | HB_ROW_TS_INT, 0},
        {"{\"ts\": 1.0}", TIMES, 0},
        {"{\"ts\": 1e0}", TIMES, 0},
        {"{\"ts\": true}", TIMES | HB_ROW_TS_INT, 0},
        {"{\"ts\": null}", HB_ROW_HAS_TS, 0},
        {"{\"ts\": []}", HB_ROW_HAS_TS, 0},
        {"{\"ts\": \"x\"}", HB_ROW_HAS_TS, 0},
        {"{\"ts\": \"7\"}", TIMES | HB_ROW_TS_INT, 0},
        {"{\"dur\": 1}", HB_ROW_DUR | HB_ROW_DUR_INT, 0},
        {"{\"dur\": 1.5}", HB_ROW_DUR, 0},
        {"{\"dur\": false}", HB_ROW_DUR | HB_ROW_DUR_INT, 0},
        {"{\"dur\": null}", 0, 0},
        {"{\"id\": 1}", HB_ROW_HAS_ID, 0},
        {"{\"id\": null}", HB_ROW_HAS_ID, 0},
        {"{\"ph\": \"X\", \"cat\": \"memory\"}", HB_ROW_COMPLETE | HB_ROW_CAT | HB_ROW_MEMORY_X,
         'X'},
        {"{\"ph\": \"i\", \"cat\": \"memory\"}", HB_ROW_INSTANT | HB_ROW_CAT, 'i'},
        {"7", HB_ROW_NOT_OBJECT, 0},
    };
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(cases); i++) {
        hb_trace trace = read_event(cases[i].event, false);
        const hb_row *row = hb_trace_row(&trace, 0);
        if (row->flags != cases[i].flags || row->ph != cases[i].ph)
            fail_msg("%s: flags %x, ph %d", cases[i].event, row->flags, row->ph);
        hb_trace_free(&trace);
    }
}

/* Of flows, also by their category alone, and of arrows it is "id"; else the ids of arguments. */
static void each_kind_has_its_id(void **state)
{
    static const struct {
        const char *event;
        int64_t id; /* -1: none */
        hb_kind kind;
    } cases[] = {
        {"\"ph\": \"X\", \"cat\": \"cpu_op\", \"args\": {\"External id\": 3}", 3, HB_KIND_OPERATOR},
        {"\"ph\": \"X\", \"cat\": \"cpu_op\", \"args\": {\"external id\": 4}", 4, HB_KIND_OPERATOR},
        {"\"ph\": \"X\", \"cat\": \"cpu_op\", \"args\": {\"External id\": 3, \"external id\": 4}",
         4, HB_KIND_OPERATOR},
        {"\"ph\": \"X\", \"cat\": \"cpu_op\", \"args\": {\"External id\": 3, \"external id\": "
         "null}",
         3, HB_KIND_OPERATOR},
        {"\"ph\": \"X\", \"cat\": \"cpu_op\"", -1, HB_KIND_OPERATOR},
        {"\"ph\": \"s\", \"cat\": \"ac2g\", \"id\": 5, \"args\": {\"External id\": 3}", 5,
         HB_KIND_OTHER},
        {"\"ph\": \"t\", \"id\": 5", 5, HB_KIND_OTHER},
        {"\"ph\": \"f\", \"id\": 5", 5, HB_KIND_OTHER},
        {"\"ph\": \"u\", \"id\": 5", -1, HB_KIND_OTHER},
        {"\"ph\": \"r\", \"id\": 5", -1, HB_KIND_OTHER},
        {"\"ph\": \"g\", \"id\": 5", -1, HB_KIND_OTHER},
        {"\"ph\": \"e\", \"id\": 5", -1, HB_KIND_OTHER},
        {"\"ph\": \"X\", \"cat\": \"forward_backward\", \"id\": 5", 5, HB_KIND_FLOW},
        {"\"cat\": \"forward_backward\", \"id\": 6", 6, HB_KIND_FLOW},
        {"\"ph\": \"i\", \"name\": \"[memory]\", \"id\": 5, \"args\": {\"External id\": 3}", -1,
         HB_KIND_MEMORY},
        {"\"ph\": \"i\", \"name\": \"memory\", \"args\": {\"External id\": 3}", 3, HB_KIND_OTHER},
        {"\"ph\": \"X\", \"cat\": \"python_function\", \"args\": {\"Python id\": 8, "
         "\"External id\": 3}",
         8, HB_KIND_FUNCTION},
    };
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(cases); i++) {
        char event[300];
        snprintf(event, sizeof event, "{%s}", cases[i].event);
        hb_trace trace = read_event(event, false);
        const hb_row *row = hb_trace_row(&trace, 0);
        hb_key wanted = cases[i].id < 0 ? HB_KEY_NONE : hb_key_int(cases[i].id);
        if (hb_row_key(&trace, row) != wanted || row->kind != cases[i].kind)
            fail_msg("%s: id %lld, kind %d", event, (long long)hb_row_key(&trace, row), row->kind);
        hb_trace_free(&trace);
    }
}

static void what_an_operator_has(void **state)
{
    static const struct {
        const char *name, *args, *dims, *types, *stack, *concrete;
        int64_t sequence, fwd_thread;
        double flops;
    } cases[] = {
        {"a", "", "[]", NULL, NULL, NULL, -1, 0, NAN},
        {"a", "\"Input Dims\": [[1]], \"Input type\": [\"f\"]", "[[1]]", "[\"f\"]", NULL, NULL, -1,
         0, NAN},
        {"a", "\"Input Dims\": null", "[]", NULL, NULL, NULL, -1, 0, NAN},
        {"a", "\"Input Dims\": [[1]], \"Input dims\": [[2]]", "[[1]]", NULL, NULL, NULL, -1, 0,
         NAN},
        {"a", "\"Input Dims\": null, \"Input dims\": [[2]]", "[[2]]", NULL, NULL, NULL, -1, 0, NAN},
        {"a", "\"Input dims\": null", NULL, NULL, NULL, NULL, -1, 0, NAN},
        {"a", "\"Call stack\": \"f;\\\"g\\\"\", \"Sequence number\": 5", "[]", NULL,
         "\"f;\\\"g\\\"\"", NULL, 5, 0, NAN},
        {"a", "\"Call stack\": null, \"Sequence number\": 5", "[]", NULL, NULL, NULL, -1, 0, NAN},
        {"a", "\"Sequence number\": 5", "[]", NULL, NULL, NULL, -1, 0, NAN},
        {"a", "\"Sequence number\": 0, \"Fwd thread id\": 1", "[]", NULL, NULL, NULL, 0, 1, NAN},
        {"a", "\"Sequence number\": 2147483647, \"Fwd thread id\": 2147483647", "[]", NULL, NULL,
         NULL, 2147483647, 2147483647, NAN},
        {"a", "\"Sequence number\": 2147483648, \"Fwd thread id\": 1", "[]", NULL, NULL, NULL, -1,
         1, NAN},
        {"a", "\"Sequence number\": -1, \"Fwd thread id\": 1", "[]", NULL, NULL, NULL, -1, 1, NAN},
        {"a", "\"Sequence number\": 5, \"Fwd thread id\": 2147483648", "[]", NULL, NULL, NULL, -1,
         0, NAN},
        {"a", "\"flops\": 12", "[]", NULL, NULL, NULL, -1, 0, 12},
        {"a", "\"flops\": 1.5", "[]", NULL, NULL, NULL, -1, 0, 1.5},
        {"a", "\"flops\": \"x\"", "[]", NULL, NULL, NULL, -1, 0, NAN},
        {"a", "\"flops\": null", "[]", NULL, NULL, NULL, -1, 0, NAN},
        {"aten::conv2d", "\"Concrete Inputs\": [1]", "[]", NULL, NULL, "[1]", -1, 0, NAN},
        {"aten::conv3d", "\"Concrete Inputs\": [1]", "[]", NULL, NULL, NULL, -1, 0, NAN},
        {"aten::conv2d", "\"Concrete Inputs\": null", "[]", NULL, NULL, NULL, -1, 0, NAN},
    };
    static const char *const categories[] = {"cpu_op", "user_annotation"};
    (void)state;
    for (size_t i = 0; i < 2 * HB_ARRAY_LEN(cases); i++) {
        char event[400];
        size_t k = i / 2;
        snprintf(event, sizeof event,
                 "{\"ph\": \"X\", \"cat\": \"%s\", \"name\": \"%s\", \"args\": {%s}}",
                 categories[i % 2], cases[k].name, cases[k].args);
        hb_trace trace = read_event(event, false);
        const hb_op_row *op = hb_trace_op(&trace, hb_trace_row(&trace, 0));
        const hb_op_detail *d = hb_trace_detail(&trace, op);
        assert_text(&trace, op->dims, cases[k].dims);
        assert_text(&trace, op->types, cases[k].types);
        assert_text(&trace, op->stack, cases[k].stack);
        assert_text(&trace, d ? d->concrete : 0, cases[k].concrete);
        double flops = d ? d->flops : NAN;
        bool right = (d ? d->sequence : -1) == cases[k].sequence &&
                     (d ? d->fwd_thread : 0) == cases[k].fwd_thread &&
                     (isnan(flops) ? isnan(cases[k].flops) : flops == cases[k].flops);
        if (!right) fail_msg("%s", event);
        hb_trace_free(&trace);
    }
}

static void what_a_kernel_and_a_copy_have(void **state)
{
    static const struct {
        const char *category, *args;
        const char *grid, *block, *registers, *shared, *limit;
        double blocks, occupancy, bytes;
        int blocks_state, occupancy_state, device_state;
        bool device_is_bool;
        int64_t correlation;
    } cases[] = {
        {"kernel", "", NULL, NULL, NULL, NULL, NULL, 0, 0, 0, 0, 0, 0, false, -1},
        {"kernel",
         "\"grid\": [1, 2], \"block\": [3], \"registers per thread\": 32, \"shared memory\": 7, "
         "\"occupancy limited by\": \"LDS\", \"blocks per SM\": 2, \"est. achieved occupancy %\": "
         "12.5, \"device\": 1, \"correlation\": 9, \"bytes\": 5",
         "[1, 2]", "[3]", "32", "7", "\"LDS\"", 2, 12.5, 0, HB_NUMBER_INT, HB_NUMBER_FLOAT,
         HB_NUMBER_INT, false, 9},
        {"kernel", "\"device\": true, \"grid\": null", NULL, NULL, NULL, NULL, NULL, 0, 0, 0, 0, 0,
         HB_NUMBER_INT, true, -1},
        {"kernel", "\"device\": false", NULL, NULL, NULL, NULL, NULL, 0, 0, 0, 0, 0, HB_NUMBER_INT,
         true, -1},
        {"kernel", "\"device\": []", NULL, NULL, NULL, NULL, NULL, 0, 0, 0, 0, 0, HB_NUMBER_BAD,
         false, -1},
        {"kernel", "\"device\": null", NULL, NULL, NULL, NULL, NULL, 0, 0, 0, 0, 0, HB_NUMBER_NONE,
         false, -1},
        {"gpu_memcpy", "\"bytes\": 5, \"correlation\": 1", NULL, NULL, NULL, NULL, NULL, 0, 0, 5, 0,
         0, 0, false, 1},
        {"gpu_memcpy", "\"size\": 6.5", NULL, NULL, NULL, NULL, NULL, 0, 0, 6.5, 0, 0, 0, false,
         -1},
        {"gpu_memcpy", "\"bytes\": null", NULL, NULL, NULL, NULL, NULL, 0, 0, 0, 0, 0, 0, false,
         -1},
        {"gpu_memset", "\"bytes\": \"many\"", NULL, NULL, NULL, NULL, NULL, 0, 0, 0, 0, 0, 0, false,
         -1},
        {"cuda_runtime", "\"size\": 8, \"correlation\": 2", NULL, NULL, NULL, NULL, NULL, 0, 0, 8,
         0, 0, 0, false, 2},
    };
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(cases); i++) {
        char event[500];
        snprintf(event, sizeof event,
                 "{\"ph\": \"X\", \"cat\": \"%s\", \"name\": \"k\", \"args\": {%s}}",
                 cases[i].category, cases[i].args);
        hb_trace trace = read_event(event, false);
        const hb_row *row = hb_trace_row(&trace, 0);
        const hb_launch *l = hb_trace_launch_of(&trace, row);
        assert_text(&trace, l->grid, cases[i].grid);
        assert_text(&trace, l->block, cases[i].block);
        assert_text(&trace, l->registers, cases[i].registers);
        assert_text(&trace, l->shared, cases[i].shared);
        assert_text(&trace, l->limit, cases[i].limit);
        hb_key correlation = hb_row_correlation_key(&trace, row);
        bool right = l->blocks_per_sm == cases[i].blocks && l->occupancy == cases[i].occupancy &&
                     l->bytes == cases[i].bytes && l->blocks_state == cases[i].blocks_state &&
                     l->occupancy_state == cases[i].occupancy_state &&
                     l->device_state == cases[i].device_state &&
                     l->device_is_bool == cases[i].device_is_bool &&
                     correlation == (cases[i].correlation < 0 ? HB_KEY_NONE
                                                              : hb_key_int(cases[i].correlation));
        if (!right) fail_msg("%s", event);
        hb_trace_free(&trace);
    }
}

static void what_a_record_of_memory_has(void **state)
{
    enum {
        NONE = HB_NUMBER_NONE,
        INT = HB_NUMBER_INT,
        FLOAT = HB_NUMBER_FLOAT,
        BAD = HB_NUMBER_BAD
    };
    static const struct {
        const char *args;
        int type, bytes_state, allocated_state, reserved_state;
        double bytes, allocated, reserved;
        const char *owner;
        bool held;
    } cases[] = {
        {"", 255, NONE, NONE, NONE, 0, 0, 0, NULL, false},
        {"\"Device Type\": 0, \"Bytes\": -5, \"Total Allocated\": 6.5, \"Total Reserved\": 7", 0,
         INT, FLOAT, INT, -5, 6.5, 7, NULL, false},
        {"\"Device Type\": 1.0", 1, NONE, NONE, NONE, 0, 0, 0, NULL, false},
        {"\"Device Type\": 2", 255, NONE, NONE, NONE, 0, 0, 0, NULL, false},
        {"\"Device Type\": 5", 255, NONE, NONE, NONE, 0, 0, 0, NULL, false},
        {"\"Device Type\": 6", 2, NONE, NONE, NONE, 0, 0, 0, NULL, false},
        {"\"Device Type\": 7", 255, NONE, NONE, NONE, 0, 0, 0, NULL, false},
        {"\"Device Type\": 11", 255, NONE, NONE, NONE, 0, 0, 0, NULL, false},
        {"\"Device Type\": 12", 2, NONE, NONE, NONE, 0, 0, 0, NULL, false},
        {"\"Device Type\": 13", 255, NONE, NONE, NONE, 0, 0, 0, NULL, false},
        {"\"Device Type\": 19", 255, NONE, NONE, NONE, 0, 0, 0, NULL, false},
        {"\"Device Type\": 20", 2, NONE, NONE, NONE, 0, 0, 0, NULL, false},
        {"\"Device Type\": 21", 255, NONE, NONE, NONE, 0, 0, 0, NULL, false},
        {"\"Device Type\": null", 255, NONE, NONE, NONE, 0, 0, 0, NULL, false},
        {"\"Device Type\": []", 255, NONE, NONE, NONE, 0, 0, 0, NULL, false},
        {"\"Bytes\": null", 255, BAD, NONE, NONE, 0, 0, 0, NULL, false},
        {"\"Total Allocated\": null", 255, NONE, BAD, NONE, 0, 0, 0, NULL, false},
        {"\"Total Reserved\": null", 255, NONE, NONE, BAD, 0, 0, 0, NULL, false},
        {"\"Bytes\": [], \"Total Reserved\": true", 255, BAD, NONE, INT, 0, 0, 1, NULL, false},
        {"\"Allocated by\": \"op\"", 255, NONE, NONE, NONE, 0, 0, 0, "op", true},
        {"\"Allocated by\": \"\"", 255, NONE, NONE, NONE, 0, 0, 0, NULL, true},
        {"\"Allocated by\": null", 255, NONE, NONE, NONE, 0, 0, 0, NULL, false},
    };
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(cases); i++) {
        char event[300];
        snprintf(event, sizeof event, "{\"ph\": \"i\", \"name\": \"[memory]\", \"args\": {%s}}",
                 cases[i].args);
        hb_trace trace = read_event(event, false);
        const hb_memory_row *m = hb_trace_memory(&trace, hb_trace_row(&trace, 0));
        bool right = m->device_type == cases[i].type && m->bytes_state == cases[i].bytes_state &&
                     m->allocated_state == cases[i].allocated_state &&
                     m->reserved_state == cases[i].reserved_state && m->bytes == cases[i].bytes &&
                     m->allocated == cases[i].allocated && m->reserved == cases[i].reserved &&
                     m->held == cases[i].held;
        if (!right) fail_msg("%s", event);
        assert_text(&trace, m->owner, cases[i].owner);
        hb_trace_free(&trace);
    }
}

static void a_function_has_its_place_and_its_stack(void **state)
{
    (void)state;
    for (int with = 0; with < 2; with++) {
        char event[300];
        snprintf(event, sizeof event,
                 "{\"ph\": \"X\", \"cat\": \"python_function\", \"name\": \"f\", \"args\": {%s"
                 "\"Python id\": 1, \"Python parent id\": 2, \"Python module id\": 3}}",
                 with ? "\"Call stack\": \"g\", " : "");
        hb_trace trace = read_event(event, false);
        const hb_row *row = hb_trace_row(&trace, 0);
        const hb_function_row *f = hb_trace_function(&trace, row);
        assert_int_equal((row->flags & HB_ROW_STACK) != 0, with);
        assert_true(hb_row_key(&trace, row) == hb_key_int(1));
        assert_true(hb_id_key(&trace, f->parent) == hb_key_int(2));
        assert_true(hb_id_key(&trace, f->module) == hb_key_int(3));
        hb_trace_free(&trace);
    }
}

/* The text of a curve's numbers, up to 4096 bytes of it, unless it had to be mended. */
static void a_counter_has_its_numbers(void **state)
{
    enum { MOST = 4096 };
    static char event[MOST + 200];
    (void)state;
    for (int more = -1; more < 2; more++) {
        char *p = event + sprintf(event, "{\"ph\": \"C\", \"name\": \"c\", \"args\": ");
        const char *args = p;
        p += sprintf(p, "{\"v\": 1");
        while (p - args < MOST - 1 + more)
            *p++ = ' ';
        sprintf(p, "}}");
        hb_trace trace = read_event(event, false);
        const hb_row *row = hb_trace_row(&trace, 0);
        assert_int_equal(row->extra != 0, more <= 0);
        if (row->extra) assert_int_equal(hb_trace_text(&trace, row->extra).len, MOST + more);
        hb_trace_free(&trace);
    }
    static const char *const odd[] = {
        "{\"ph\": \"C\", \"name\": \"c\", \"args\": {\"v\": \"a \"b\" c\"}}",
        "{\"ph\": \"C\", \"name\": \"c\", \"args\": [1]}", "{\"ph\": \"C\", \"name\": \"c\"}"};
    for (size_t i = 0; i < HB_ARRAY_LEN(odd); i++) {
        hb_trace trace = read_event(odd[i], false);
        assert_int_equal(hb_trace_row(&trace, 0)->extra, 0);
        hb_trace_free(&trace);
    }
}

/* Old writers put quotes around them; what is no number as a whole stays a text. */
static void numbers_in_quotes_are_numbers_where_numbers_stand(void **state)
{
    static const struct {
        const char *text;
        bool number;
    } cases[] = {{"0", true},     {"9", true},   {"-9", true},   {"-0.5", true},    {"1e3", true},
                 {"12.25", true}, {"-", false},  {"/", false},   {":", false},      {"-/", false},
                 {"-:", false},   {"", false},   {"1 ", false},  {" 1", false},     {"1x", false},
                 {"01", false},   {"+1", false}, {"--1", false}, {"\\u0031", false}};
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(cases); i++)
        for (int strict = 0; strict < 2; strict++) {
            char event[200];
            snprintf(event, sizeof event,
                     "{\"ph\": \"X\", \"name\": \"%s\", \"pid\": \"%s\", \"ts\": \"%s\"}",
                     cases[i].text, cases[i].text, cases[i].text);
            hb_trace trace = read_event(event, strict);
            const hb_row *row = hb_trace_row(&trace, 0);
            bool number = cases[i].number && !strict;
            if (((row->flags & HB_ROW_TS) != 0) != number) fail_msg("%s, strict %d", event, strict);
            enum hb_key_tag tag = hb_key_tag(hb_row_pid_key(&trace, row));
            assert_true(row->flags & HB_ROW_NAME);
            if (!number) assert_int_equal(tag, HB_KEY_TAG_TEXT);
            hb_trace_free(&trace);
        }
}

/* Threads change back and forth, also between numbers that begin alike, and texts. */
static void each_event_has_its_thread(void **state)
{
    static const char *const tracks[][2] = {{"1", "2"},
                                            {"1", "2"},
                                            {"1", "22"},
                                            {"1", "2"},
                                            {"11", "2"},
                                            {"1", "\"2\""},
                                            {"1", "2"},
                                            {"1", "2.0"},
                                            {"1", "null"},
                                            {"1", "2"},
                                            {"123456789012345678901234", "2"},
                                            {"1234567890123456789012345", "2"},
                                            {"123456789012345678901234", "2"},
                                            {"1", "[2]"},
                                            {"true", "2"},
                                            {"-1", "2"},
                                            {"1", "2"}};
    char text[4000] = "{\"traceEvents\": [";
    size_t n = strlen(text);
    hb_trace all;
    hb_read_report report;
    hb_read_options options = {0};
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(tracks); i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s{\"pid\": %s, \"tid\": %s}",
                              i ? ", " : "", tracks[i][0], tracks[i][1]);
    n += (size_t)snprintf(text + n, sizeof text - n, "]}");
    assert_int_equal(hb_read_trace_memory(text, n, &options, &all, &report), HB_OK);
    for (uint32_t i = 0; i < HB_ARRAY_LEN(tracks); i++)
        for (uint32_t k = 0; k < i; k++) {
            static const char *const alike[] = {"true", "1", "2.0", "2", "\"2\"", "2"};
            bool same = true;
            for (int part = 0; part < 2; part++) {
                const char *x = tracks[i][part], *y = tracks[k][part];
                for (int a = 0; a < 6; a += 2) {
                    if (strcmp(x, alike[a]) == 0) x = alike[a + 1];
                    if (strcmp(y, alike[a]) == 0) y = alike[a + 1];
                }
                same = same && strcmp(x, y) == 0;
            }
            if ((hb_trace_row(&all, i)->track == hb_trace_row(&all, k)->track) != same)
                fail_msg("events %u and %u", i, k);
        }
    hb_trace_free(&all);
}

/* ---- encodings ---- */

static void how_a_text_is_encoded_is_seen_by_its_beginning(void **state)
{
    static const struct {
        const char *text;
        size_t size;
        hb_encoding encoding;
    } cases[] = {{"", 0, {1, false, 0}},
                 {"{", 1, {1, false, 0}},
                 {"{}", 2, {1, false, 0}},
                 {"{\"\":", 4, {1, false, 0}},
                 {"\xef\xbb\xbf", 3, {1, false, 3}},
                 {"\xef\xbb", 2, {1, false, 0}},
                 {"\xef\xbb\xbe{", 4, {1, false, 0}},
                 {"\xfe\xff\0{", 4, {2, true, 2}},
                 {"\xfe\xff", 2, {2, true, 2}},
                 {"\xfe", 1, {1, false, 0}},
                 {"\xff\xfe{\0", 4, {2, false, 2}},
                 {"\xff\xfe\0\0", 4, {4, false, 4}},
                 {"\xff\xfe\0", 3, {2, false, 2}},
                 {"\0\0\xfe\xff", 4, {4, true, 4}},
                 {"\0{\0}", 4, {2, true, 0}},
                 {"\0\0\0{", 4, {4, true, 0}},
                 {"{\0}\0", 4, {2, false, 0}},
                 {"{\0\0\0", 4, {4, false, 0}},
                 {"{\0\0{", 4, {2, false, 0}},
                 {"{\0{\0", 3, {1, false, 0}},
                 {"\0{\0", 3, {1, false, 0}}};
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(cases); i++) {
        hb_encoding e = hb_encoding_of(cases[i].text, cases[i].size);
        if (e.width != cases[i].encoding.width || e.bom != cases[i].encoding.bom ||
            (e.width > 1 && e.big_endian != cases[i].encoding.big_endian))
            fail_msg("case %zu: width %u, mark %u", i, e.width, e.bom);
    }
}

static void units_become_utf_8(void **state)
{
    static const struct {
        unsigned width;
        uint32_t units[3];
        unsigned count;
        const char *text; /* NULL: there is no such character */
    } cases[] = {{2, {0x41}, 1, "A"},
                 {2, {0x7f, 0x80}, 2, "\x7f\xc2\x80"},
                 {2, {0x7ff, 0x800}, 2, "\xdf\xbf\xe0\xa0\x80"},
                 {2, {0xd7ff, 0xe000}, 2, "\xed\x9f\xbf\xee\x80\x80"},
                 {2, {0xffff}, 1, "\xef\xbf\xbf"},
                 {2, {0xd800, 0xdc00}, 2, "\xf0\x90\x80\x80"},
                 {2, {0xdbff, 0xdfff}, 2, "\xf4\x8f\xbf\xbf"},
                 {2,
                  {0xd834, 0xdd1e, 0x41},
                  3,
                  "\xf0\x9d\x84\x9e"
                  "A"},
                 {2, {0xd800}, 1, "\xed\xa0\x80"},
                 {2, {0xd800, 0xdbff}, 2, "\xed\xa0\x80\xed\xaf\xbf"},
                 {2, {0xd800, 0xe000}, 2, "\xed\xa0\x80\xee\x80\x80"},
                 {2, {0xdc00, 0xdc00}, 2, "\xed\xb0\x80\xed\xb0\x80"},
                 {4, {0x41, 0xffff, 0x10000}, 3, "A\xef\xbf\xbf\xf0\x90\x80\x80"},
                 {4, {0x10ffff}, 1, "\xf4\x8f\xbf\xbf"},
                 {4, {0x110000}, 1, NULL},
                 {4, {0xffffffff}, 1, NULL},
                 {4, {0xd800, 0xdc00}, 2, "\xed\xa0\x80\xed\xb0\x80"}};
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(cases); i++)
        for (int form = 0; form < 4; form++) {
            unsigned width = cases[i].width;
            hb_encoding e = {width, form & 1, form & 2 ? width : 0};
            char bytes[20] = "";
            size_t n = e.bom;
            for (unsigned k = 0; k < cases[i].count; k++)
                for (unsigned b = 0; b < width; b++)
                    bytes[n++] =
                        (char)(cases[i].units[k] >> 8 * (e.big_endian ? width - 1 - b : b));
            for (size_t cut = 0; cut < width; cut++) {
                hb_buf out;
                hb_buf_init(&out, 1 << 20);
                bool fine = hb_encoding_decode(e, bytes, n - cut, &out);
                if (fine != (cut == 0 && cases[i].text)) fail_msg("case %zu, %zu cut", i, cut);
                if (fine) {
                    assert_int_equal(out.size, strlen(cases[i].text));
                    assert_memory_equal(out.data, cases[i].text, out.size);
                }
                hb_buf_free(&out);
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_name_has_its_slot),
        cmocka_unit_test(a_quote_ends_a_text_where_more_of_the_event_follows),
        cmocka_unit_test(flags_tell_what_there_is),
        cmocka_unit_test(each_kind_has_its_id),
        cmocka_unit_test(what_an_operator_has),
        cmocka_unit_test(what_a_kernel_and_a_copy_have),
        cmocka_unit_test(what_a_record_of_memory_has),
        cmocka_unit_test(a_function_has_its_place_and_its_stack),
        cmocka_unit_test(a_counter_has_its_numbers),
        cmocka_unit_test(numbers_in_quotes_are_numbers_where_numbers_stand),
        cmocka_unit_test(each_event_has_its_thread),
        cmocka_unit_test(how_a_text_is_encoded_is_seen_by_its_beginning),
        cmocka_unit_test(units_become_utf_8),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
