/* SPDX-License-Identifier: MIT
 *
 * What operators achieved: their FLOPs over the time of their kernels.
 */
#include "write/op_rates.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "array_source.h"
#include "base/base.h"

static const int64_t left[] = {1000, 500}, right[] = {500, 250}, strides[] = {1, 1};
static const hb_input inputs[] = {
    {.kind = HB_INPUT_TENSOR, .dtype = HB_FLOAT32, .count = 2, .dims = left, .strides = strides},
    {.kind = HB_INPUT_TENSOR, .dtype = HB_FLOAT32, .count = 2, .dims = right, .strides = strides},
};
#define FLOPS 250e6 /* 2 * 1000 * 500 * 250 */

static hb_trace_event on_host(hb_event_kind kind, uint64_t id, int64_t from, int64_t to,
                              double flops)
{
    hb_trace_event e = {.kind = kind, .external_id = id, .tid = 1, .start_ns = from, .end_ns = to};
    e.op.flops = flops;
    e.op.inputs = inputs;
    e.op.num_inputs = flops > 0 ? 2 : 0;
    return e;
}

static hb_trace_event work(hb_event_kind kind, uint64_t id, int64_t from, int64_t to, int32_t gpu)
{
    return (hb_trace_event){
        .kind = kind, .external_id = id, .start_ns = from, .end_ns = to, .device = gpu};
}

/* 2 * FLOPs are no product of the inputs: then of the result nothing is known. An operator of two
 * kernels, a copy and a kernel of another; one of which only those within it launch; one without
 * kernels; one behind it on the same thread, one at the same time on another, without inputs; one
 * whose kernel takes no time. */
static const hb_trace_event *events(size_t *count)
{
    static hb_trace_event list[18];
    const hb_trace_event all[] = {
        on_host(HB_EVENT_OP, 1, 0, 100, FLOPS),
        on_host(HB_EVENT_OP, 2, 100, 200, 2 * FLOPS),
        on_host(HB_EVENT_USER_ANNOTATION, 3, 110, 190, 0),
        on_host(HB_EVENT_OP, 4, 120, 180, 5),
        on_host(HB_EVENT_OP, 5, 200, 300, FLOPS),
        on_host(HB_EVENT_OP, 6, 300, 400, 0),
        on_host(HB_EVENT_OP, 7, 350, 360, FLOPS),
        on_host(HB_EVENT_OP, 8, 110, 120, FLOPS),
        on_host(HB_EVENT_OP, 0, 500, 600, FLOPS),
        on_host(HB_EVENT_OP, 9, 700, 800, FLOPS),
        work(HB_EVENT_KERNEL, 1, 1000, 1400, 1),
        work(HB_EVENT_KERNEL, 1, 1400, 2000, 0),
        work(HB_EVENT_MEMCPY, 1, 2000, 9000, 1),
        work(HB_EVENT_KERNEL, 3, 3000, 3500, 0),
        work(HB_EVENT_KERNEL, 4, 4000, 4500, 0),
        work(HB_EVENT_KERNEL, 7, 5000, 5010, 2),
        work(HB_EVENT_KERNEL, 8, 5000, 7500, 0),
        work(HB_EVENT_KERNEL, 9, 6000, 6000, 0),
    };
    memcpy(list, all, sizeof list);
    list[7].tid = 2;
    list[7].op.num_inputs = 0;
    *count = HB_ARRAY_LEN(list);
    return list;
}

/* Device 0's peak in f32 is 104 * 256 * 1.7e9 a second; of device 1 nothing is known. */
static const hb_device_info devices[] = {
    {.id = 0, .name = "MI210", .arch = "gfx90a", .num_cus = 104, .clock_khz = 1700000},
    {.id = 1, .name = "none", .arch = "gfx1", .num_cus = 104, .clock_khz = 1700000},
};

static void rates_of_operators(void **state)
{
    static const struct {
        int event;
        const char *told;
    } rows[] = {
        {0,
         "\"TFLOP/s\": 250, \"FLOP/byte\": 71.42857142857143, "}, /* by 1000 ns, on GPU 1 first */
        {1, "\"TFLOP/s\": 500, \"FLOP/byte\": 200, \"% of peak\": 1104.7087104072398, "},
        {3, ""}, /* its time is that of the operator around it */
        {4, ""},
        {5, ""},
        {6, "\"TFLOP/s\": 25000, \"FLOP/byte\": 71.42857142857143, "},
        {7, "\"TFLOP/s\": 100, "},
        {9, ""},
    };
    (void)state;
    size_t count;
    const hb_trace_event *all = events(&count);
    array_source array;
    array_source_init(&array, all, count);
    array.info.devices = devices;
    array.info.num_devices = 2;
    hb_op_rates rates = {0};
    for (size_t i = 0; i < 10; i++)
        assert_true(hb_op_rates_note(&rates, &all[i]));
    assert_int_equal(hb_op_rates_collect(&rates, &array.source), HB_OK);
    for (size_t i = 0; i < HB_ARRAY_LEN(rows); i++) {
        char text[HB_OP_RATES_ROOM + 1] = "";
        *hb_put_op_rates(text, &rates, &array.info, &all[rows[i].event]) = '\0';
        assert_string_equal(text, rows[i].told);
    }
    hb_op_rates_free(&rates);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_of_operators),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
