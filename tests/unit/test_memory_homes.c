/* SPDX-License-Identifier: MIT
 *
 * The plugin's page of memory shows the devices of which some operator has memory: each has one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "array_source.h"
#include "io/sink.h"
#include "write/write.h"

#define AT(us) (INT64_C(1795256296153421318) + (us) * 1000)

static hb_trace_event memory(int device, int64_t tid, int64_t us)
{
    return (hb_trace_event){.kind = HB_EVENT_MEMORY,
                            .start_ns = AT(us),
                            .end_ns = AT(us),
                            .tid = tid,
                            .device = -1,
                            .memory = {.device_type = device < 0 ? HB_DEVICE_CPU : HB_DEVICE_HIP,
                                       .device_id = device,
                                       .addr = 4096,
                                       .bytes = 64,
                                       .total_allocated = 64}};
}

static hb_trace_event operator_of(const char *name, int64_t tid, int64_t from, int64_t to)
{
    return (hb_trace_event){.kind = HB_EVENT_OP,
                            .name = {name, (uint32_t)strlen(name)},
                            .start_ns = AT(from),
                            .end_ns = AT(to),
                            .tid = tid,
                            .device = -1,
                            .external_id = 1};
}

static hb_trace_event call(const char *name, int64_t tid, int64_t from, int64_t to, uint64_t number)
{
    hb_trace_event event = operator_of(name, tid, from, to);
    event.kind = HB_EVENT_RUNTIME;
    event.external_id = 0;
    event.correlation = number;
    return event;
}

static char *written(const hb_trace_event *events, size_t count)
{
    array_source array;
    hb_memory_sink sink;
    hb_write_options options = {.trace_name = "t"};
    array_source_init(&array, events, count);
    hb_memory_sink_init(&sink, 1 << 20);
    assert_int_equal(hb_write_trace(&array.source, &sink.sink, &options, NULL), HB_OK);
    hb_buf_append(&sink.buf, "", 1);
    return sink.buf.data;
}

static int count_of(const char *text, const char *part)
{
    int count = 0;
    for (const char *at = text; (at = strstr(at, part)); at++)
        count++;
    return count;
}

static void an_operator_has_it(void **state)
{
    (void)state;
    const hb_trace_event events[] = {operator_of("forward", 7, 0, 100), memory(0, 7, 50),
                                     memory(0, 7, 150), call("hipMalloc", 7, 140, 160, 3)};
    char *text = written(events, 4);
    assert_int_equal(count_of(text, "\"cpu_op\""), 1);
    assert_int_equal(count_of(text, "hipMalloc"), 1);
    free(text);
}

/* An end is not within; a step and the runtime's own calls are no operators. */
static void a_call_becomes_an_operator(void **state)
{
    (void)state;
    hb_trace_event events[] = {operator_of("ProfilerStep#0", 7, 0, 300),
                               operator_of("forward", 7, 0, 50),
                               memory(0, 7, 50),
                               memory(0, 7, 150),
                               call("__hipInit", 7, 40, 60, 2),
                               call("hipMalloc", 7, 140, 160, 3),
                               call("hipMalloc", 8, 140, 160, 4)};
    events[1].external_id = 2;
    events[4].flags = HB_TEV_MINOR;
    char *text = written(events, 7);
    assert_int_equal(count_of(text, "\"cat\": \"cpu_op\""), 2);
    assert_int_equal(count_of(text, "\"name\": \"hipMalloc\""), 3); /* one of them twice */
    assert_int_equal(count_of(text, "outside of all"), 0);
    free(text);
}

/* What nothing has, one has that is made: for each device, at its first moment. */
static void each_device_has_one(void **state)
{
    (void)state;
    const hb_trace_event events[] = {operator_of("forward", 7, 0, 100),
                                     memory(0, 7, 50),
                                     memory(1, 7, 400),
                                     memory(-1, 7, 500),
                                     memory(1, 8, 300),
                                     memory(2, 8, 600),
                                     call("hipMalloc", 8, 590, 610, 3)};
    char *text = written(events, 7);
    assert_int_equal(count_of(text, "\"name\": \"memory outside of all operators\""), 2);
    assert_int_equal(count_of(text, "\"name\": \"hipMalloc\""), 2);
    assert_int_equal(count_of(text, "\"hipboard\": \"inferred\""), 2);
    char *made = strstr(text, "\"name\": \"memory outside of all operators\"");
    char *thread = strstr(made, "\"tid\": 8"); /* the first of GPU 1 */
    assert_true(thread && thread < made + 120);
    free(text);
}

/* The last moment that there is has no later one. */
static void one_may_be_made_at_the_end_of_time(void **state)
{
    (void)state;
    hb_trace_event events[] = {operator_of("forward", 7, 0, 100), memory(1, 7, 400)};
    events[1].start_ns = events[1].end_ns = INT64_MAX;
    char *text = written(events, 2);
    char *made = strstr(text, "\"name\": \"memory outside of all operators\"");
    char *duration = made ? strstr(made, "\"dur\": ") : NULL;
    assert_true(duration && strncmp(duration, "\"dur\": 0", 8) == 0);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_operator_has_it),
        cmocka_unit_test(a_call_becomes_an_operator),
        cmocka_unit_test(each_device_has_one),
        cmocka_unit_test(one_may_be_made_at_the_end_of_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
