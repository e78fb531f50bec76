/* SPDX-License-Identifier: MIT
 *
 * A trace that PyTorch 2.13 wrote is read into events and written again in the kineto dialect:
 * every byte must come back. tests/data/README.md says how the file was made.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cjson/cJSON.h>
#include <cmocka.h>

#include "array_source.h"
#include "write/write.h"

enum { MAX_EVENTS = 256, MAX_INPUTS = 2048, MAX_NUMBERS = 8192, MAX_THREADS = 16 };

/* Everything the events point to. */
static struct {
    hb_trace_event events[MAX_EVENTS];
    size_t num_events;
    hb_input inputs[MAX_INPUTS];
    size_t num_inputs;
    int64_t numbers[MAX_NUMBERS];
    size_t num_numbers;
    hb_thread_info threads[MAX_THREADS];
    size_t num_threads;
    int64_t base_ns;
    array_source source;
} g;

static char *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    char *text = malloc(*size + 1);
    assert_int_equal(fread(text, 1, *size, file), *size);
    text[*size] = '\0';
    fclose(file);
    return text;
}

static double number(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

static const char *text(const cJSON *object, const char *key)
{
    const char *value = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
    return value ? value : "";
}

static hb_str str(const char *s)
{
    return (hb_str){s, (uint32_t)strlen(s)};
}

/* A double is up to 0.49 ns off here; multiplying it as a whole would round once more. */
static int64_t to_ns(double us)
{
    return (int64_t)floor(us) * 1000 + llround((us - floor(us)) * 1e3);
}

/* ---- inputs ---- */

static int64_t *numbers_of(const cJSON *list)
{
    int64_t *numbers = &g.numbers[g.num_numbers];
    const cJSON *item;
    cJSON_ArrayForEach(item, list) g.numbers[g.num_numbers++] = (int64_t)item->valuedouble;
    assert_true(g.num_numbers <= MAX_NUMBERS);
    return numbers;
}

static void read_scalar(hb_input *input, const char *value)
{
    bool is_bool = strcmp(value, "True") == 0 || strcmp(value, "False") == 0;
    bool is_float = !is_bool && strpbrk(value, ".e");
    input->kind = is_bool ? HB_INPUT_BOOL : is_float ? HB_INPUT_FLOAT : HB_INPUT_INT;
    input->i = is_bool ? value[0] == 'T' : strtoll(value, NULL, 10);
    input->f = strtod(value, NULL);
}

static void read_int_list(hb_input *input, const char *value)
{
    cJSON *list = cJSON_Parse(value);
    input->kind = HB_INPUT_INT_LIST;
    input->count = (uint32_t)cJSON_GetArraySize(list);
    input->dims = numbers_of(list);
    cJSON_Delete(list);
}

static hb_dtype dtype_named(const char *name)
{
    static const char *const names[] = {
#define NAME(dtype, name, size) name,
        HB_DTYPE_MAP(NAME)
#undef NAME
    };
    for (size_t i = 1; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i], name) == 0) return (hb_dtype)i;
    return HB_NONE;
}

static void read_input(hb_input *input, const char *type, const char *value, const cJSON *dims,
                       const cJSON *strides)
{
    input->dtype = dtype_named(type);
    if (strcmp(type, "Scalar") == 0) {
        read_scalar(input, value);
    } else if (strcmp(type, "ScalarList") == 0) {
        read_int_list(input, value);
    } else if (input->dtype != HB_NONE) {
        input->kind = HB_INPUT_TENSOR;
        input->count = (uint32_t)cJSON_GetArraySize(dims);
        input->dims = numbers_of(dims);
        input->strides = numbers_of(strides);
    }
}

static void read_inputs(hb_op_args *op, const cJSON *args)
{
    const cJSON *types = cJSON_GetObjectItem(args, "Input type");
    const cJSON *values = cJSON_GetObjectItem(args, "Concrete Inputs");
    const cJSON *dims = cJSON_GetObjectItem(args, "Input Dims");
    const cJSON *strides = cJSON_GetObjectItem(args, "Input Strides");
    op->num_inputs = (uint32_t)cJSON_GetArraySize(types);
    op->inputs = &g.inputs[g.num_inputs];
    for (int i = 0; i < (int)op->num_inputs; i++)
        read_input(&g.inputs[g.num_inputs++], cJSON_GetArrayItem(types, i)->valuestring,
                   cJSON_GetArrayItem(values, i)->valuestring, cJSON_GetArrayItem(dims, i),
                   cJSON_GetArrayItem(strides, i));
    assert_true(g.num_inputs <= MAX_INPUTS);
}

/* ---- events ---- */

static void read_scope(hb_trace_event *event, const cJSON *args)
{
    event->external_id = (uint64_t)number(args, "External id");
    event->op.sequence_number = (uint64_t)number(args, "Sequence number");
    event->op.forward_thread = (uint64_t)number(args, "Fwd thread id");
    event->op.thread_number = 1;
    read_inputs(&event->op, args);
}

static void read_memory(hb_trace_event *event, const cJSON *args)
{
    event->memory = (hb_memory_args){
        .device_id = (int32_t)number(args, "Device Id"),
        .addr = (uint64_t)number(args, "Addr"),
        .bytes = (int64_t)number(args, "Bytes"),
        .total_allocated = (int64_t)number(args, "Total Allocated"),
        .total_reserved = (int64_t)number(args, "Total Reserved"),
    };
}

static void read_module(hb_trace_event *event, const cJSON *args)
{
    event->module = (hb_module_args){
        .python_id = (uint64_t)number(args, "Python id"),
        .parent_id = (uint64_t)number(args, "Python parent id"),
        .module_id = (uint32_t)number(args, "Python module id"),
    };
}

/* Rows, spans and flows are not events; the writer makes them. */
static bool read_kind(hb_trace_event *event, const char *cat)
{
    if (strcmp(cat, "cpu_op") == 0)
        event->kind = HB_EVENT_OP;
    else if (strcmp(cat, "user_annotation") == 0)
        event->kind = HB_EVENT_USER_ANNOTATION;
    else if (strcmp(cat, "python_function") == 0)
        event->kind = HB_EVENT_MODULE;
    else if (strcmp(cat, "cpu_instant_event") == 0)
        event->kind = HB_EVENT_MEMORY;
    else
        return false;
    return true;
}

static void read_event(const cJSON *json)
{
    hb_trace_event *event = &g.events[g.num_events];
    const cJSON *args = cJSON_GetObjectItem(json, "args");
    if (!read_kind(event, text(json, "cat"))) return;
    event->name = str(text(json, "name"));
    event->start_ns = g.base_ns + to_ns(number(json, "ts"));
    event->end_ns = event->start_ns + to_ns(number(json, "dur"));
    event->tid = (int64_t)number(json, "tid");
    event->device = -1;
    if (event->kind == HB_EVENT_MEMORY)
        read_memory(event, args);
    else if (event->kind == HB_EVENT_MODULE)
        read_module(event, args);
    else
        read_scope(event, args);
    assert_true(++g.num_events < MAX_EVENTS);
}

/* "thread 4057 (python)" of a thread_name event. */
static void read_row(const cJSON *json)
{
    static char names[MAX_THREADS][32];
    if (strcmp(text(json, "name"), "thread_name") != 0) return;
    char *name = names[g.num_threads];
    const char *args = text(cJSON_GetObjectItem(json, "args"), "name");
    assert_int_equal(sscanf(args, "thread %*d (%31[^)])", name), 1);
    g.threads[g.num_threads++] = (hb_thread_info){(int64_t)number(json, "tid"), name};
}

static void read_trace(const cJSON *json)
{
    const cJSON *events = cJSON_GetObjectItem(json, "traceEvents"), *event;
    const cJSON *first = events->child;
    /* The base does not fit a double: it is the last quarter before this trace. */
    g.base_ns = 1790857026000000000;
    assert_true(fabs(number(json, "baseTimeNanoseconds") - (double)g.base_ns) < 1000);
    cJSON_ArrayForEach(event, events)
    {
        read_row(event);
        read_event(event);
    }
    const cJSON *last = cJSON_GetArrayItem(events, cJSON_GetArraySize(events) - 1);
    array_source_init(&g.source, g.events, g.num_events);
    hb_trace_info *info = &g.source.info;
    info->start_ns = g.base_ns + to_ns(number(first, "ts"));
    info->stop_ns = g.base_ns + to_ns(number(last, "ts"));
    info->pid = (int64_t)number(first, "pid");
    info->process_name = text(cJSON_GetObjectItem(first, "args"), "name");
    info->host_name = text(json, "host_name");
    info->trace_id = text(json, "trace_id");
    info->with_stack = number(json, "with_stack") == 1;
    info->profile_memory = number(json, "profile_memory") == 1;
    info->record_shapes = number(json, "record_shapes") == 1;
    info->with_modules = number(json, "with_modules") == 1;
    info->with_flops = number(json, "with_flops") == 1;
    info->threads = g.threads;
    info->num_threads = g.num_threads;
    info->has_sequences = true;
}

static void assert_same_text(const char *expected, size_t expected_size, const char *actual,
                             size_t actual_size)
{
    size_t i = 0;
    while (i < expected_size && i < actual_size && expected[i] == actual[i])
        i++;
    if (i == expected_size && i == actual_size) return;
    size_t from = i > 200 ? i - 200 : 0;
    print_error("differ at byte %zu\nexpected: %.300s\nactual: %.300s\n", i, expected + from,
                actual + from);
    fail();
}

static void kineto_dialect_is_pytorch_to_the_byte(void **state)
{
    (void)state;
    size_t size;
    char *expected = read_file(TEST_DATA "/torch-2.13-cpu.pt.trace.json", &size);
    cJSON *json = cJSON_Parse(expected);
    assert_non_null(json);
    read_trace(json);

    hb_memory_sink memory;
    hb_memory_sink_init(&memory, 1 << 20);
    hb_write_options options = {.dialect = HB_WRITE_KINETO, .trace_name = text(json, "traceName")};
    hb_write_stats stats;
    assert_int_equal(hb_write_trace(&g.source.source, &memory.sink, &options, &stats), HB_OK);
    assert_same_text(expected, size, hb_buf_text(&memory.buf), memory.buf.size);
    assert_int_equal(stats.events, cJSON_GetArraySize(cJSON_GetObjectItem(json, "traceEvents")));
    assert_int_equal(stats.bytes, size);
    hb_memory_sink_free(&memory);
    cJSON_Delete(json);
    free(expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kineto_dialect_is_pytorch_to_the_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
