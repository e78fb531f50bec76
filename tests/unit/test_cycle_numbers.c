/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/cycle_numbers.h"
#include "array_source.h"

/* Times in ns; `thread` 1 is the main one. */
static hb_trace_event host(hb_event_kind kind, const char *name, uint32_t key, int64_t thread,
                           int64_t start, int64_t end)
{
    return (hb_trace_event){.kind = kind,
                            .name = {name, (uint32_t)strlen(name)},
                            .name_key = key,
                            .tid = thread,
                            .device = -1,
                            .start_ns = start,
                            .end_ns = end};
}

static hb_trace_event op(const char *name, uint32_t key, int64_t thread, int64_t start, int64_t end)
{
    return host(HB_EVENT_OP, name, key, thread, start, end);
}

static hb_trace_event annotation(const char *name, uint32_t key, int64_t start, int64_t end)
{
    return host(HB_EVENT_USER_ANNOTATION, name, key, 1, start, end);
}

static hb_trace_event work(hb_event_kind kind, int32_t device, int64_t start, int64_t end)
{
    hb_trace_event e = host(kind, "kernel", 900, 7, start, end);
    e.device = device;
    e.kernel.occupancy = -1;
    if (kind == HB_EVENT_MEMCPY) e.copy = (hb_copy_args){.bytes = 0};
    return e;
}

static hb_cycle_numbers numbers_of(const hb_trace_event *events, size_t n)
{
    array_source source;
    hb_cycle_numbers numbers;
    array_source_init(&source, events, n);
    assert_int_equal(hb_cycle_numbers_make(&source.source, &numbers), HB_OK);
    return numbers;
}
#define NUMBERS_OF(events) numbers_of(events, HB_ARRAY_LEN(events))

static void expect_roles(const hb_step_times *step, int64_t step_number,
                         const int64_t expected[HB_TIME_ROLES])
{
    int64_t sum = 0;
    assert_int_equal(step->step, step_number);
    for (int role = 0; role < HB_TIME_ROLES; role++) {
        if (step->role_ns[role] != expected[role])
            fail_msg("step %lld, role %d: %lld, not %lld", (long long)step_number, role,
                     (long long)step->role_ns[role], (long long)expected[role]);
        sum += step->role_ns[role];
    }
    assert_int_equal(sum, step->end_ns - step->start_ns);
}

static void each_moment_goes_to_the_first_active_role(void **state)
{
    (void)state;
    const hb_trace_event events[] = {
        work(HB_EVENT_KERNEL, 0, 1250, 1300),
        work(HB_EVENT_MEMCPY, 0, 1280, 1320),
        work(HB_EVENT_RUNTIME, -1, 1200, 1260),
        annotation("ProfilerStep#7", 1, 1000, 2000),
        annotation("enumerate(DataLoader)#x.__next__", 2, 1000, 1100),
        op("aten::mm", 3, 1, 1050, 1500), /* the loader's time comes first */
        op("aten::mm", 3, 2, 1400, 1600), /* another thread, overlapping */
        op("nccl:all_reduce", 4, 1, 1550, 1700),
    };
    hb_cycle_numbers n = NUMBERS_OF(events);
    assert_int_equal(n.steps.count, 1);
    /* loader 1000-1100, cpu 1100-1200, runtime 1200-1250, kernel 1250-1300, copy 1300-1320,
     * cpu 1320-1550, communication 1550-1700, other 1700-2000 */
    expect_roles(&n.steps.items[0], 7, (int64_t[]){50, 20, 0, 150, 50, 100, 330, 300});
    hb_cycle_numbers_free(&n);
}

static void time_outside_steps_counts_for_none(void **state)
{
    (void)state;
    const hb_trace_event events[] = {
        op("before", 1, 2, 0, 150),   annotation("ProfilerStep#1", 2, 100, 200),
        op("across", 3, 2, 180, 320), annotation("ProfilerStep#2", 4, 300, 400),
        op("after", 5, 2, 390, 500),
    };
    hb_cycle_numbers n = NUMBERS_OF(events);
    assert_int_equal(n.steps.count, 2);
    expect_roles(&n.steps.items[0], 1, (int64_t[]){0, 0, 0, 0, 0, 0, 70, 30});
    expect_roles(&n.steps.items[1], 2, (int64_t[]){0, 0, 0, 0, 0, 0, 30, 70});
    hb_cycle_numbers_free(&n);
}

static void utilisation_counts_a_device_once(void **state)
{
    (void)state;
    hb_trace_event events[] = {
        annotation("ProfilerStep#1", 1, 100, 200),
        work(HB_EVENT_KERNEL, 0, 50, 120), /* from before the step */
        work(HB_EVENT_KERNEL, 0, 110, 140),
        work(HB_EVENT_KERNEL, 1, 190, 300), /* beyond its end */
        work(HB_EVENT_MEMCPY, 0, 150, 160),
    };
    events[1].kernel.occupancy = 50;
    events[2].kernel.occupancy = 25;
    events[4].copy = (hb_copy_args){.bytes = 4096, .kind = "DtoH"};
    hb_cycle_numbers n = NUMBERS_OF(events);
    assert_int_equal(n.num_devices, 2);
    assert_int_equal(n.devices[0].busy_ns, 40);
    assert_int_equal(n.devices[1].busy_ns, 10);
    assert_true(n.devices[0].occupancy_ns == 50 * 70 + 25 * 30);
    assert_int_equal(n.copied_bytes[1], 4096);
    assert_int_equal(n.kernel_us.count, 3);
    assert_true(n.kernel_us.items[2] == 0.11);
    assert_int_equal(n.kernels.items[0].self_ns, 70 + 30 + 110);
    hb_cycle_numbers_free(&n);
}

static void self_times_leave_children_out(void **state)
{
    (void)state;
    const hb_trace_event events[] = {
        op("outer", 1, 1, 0, 100), op("inner", 2, 1, 10, 40),
        op("inner", 2, 2, 20, 90), /* of another thread: no child */
        op("inner", 2, 1, 50, 60), op("outer", 1, 1, 100, 130),
    };
    hb_cycle_numbers n = NUMBERS_OF(events);
    assert_int_equal(n.steps.count, 0);
    assert_int_equal(n.operators.count, 2);
    const hb_name_cost *inner = &n.operators.items[0], *outer = &n.operators.items[1];
    assert_int_equal(inner->calls, 3);
    assert_int_equal(inner->self_ns, 30 + 70 + 10);
    assert_int_equal(outer->self_ns, 100 - 40 + 30);
    hb_cycle_numbers_free(&n);
}

static void memory_has_a_peak_and_a_last_value_per_device(void **state)
{
    (void)state;
    hb_trace_event events[4];
    const int64_t totals[] = {10, 500, 90, 7};
    for (int i = 0; i < 4; i++) {
        events[i] = host(HB_EVENT_MEMORY, "[memory]", 0, 1, i, i);
        events[i].memory = (hb_memory_args){.device_type = i == 3 ? HB_DEVICE_HIP : HB_DEVICE_CPU,
                                            .device_id = i == 3 ? 2 : -1,
                                            .total_allocated = totals[i]};
    }
    hb_cycle_numbers n = NUMBERS_OF(events);
    assert_true(n.host.has_memory && n.devices[2].has_memory && !n.devices[0].has_memory);
    assert_int_equal(n.host.peak_bytes, 500);
    assert_int_equal(n.host.current_bytes, 90);
    assert_int_equal(n.devices[2].peak_bytes, 7);
    assert_int_equal(n.num_devices, 3);
    hb_cycle_numbers_free(&n);
}

static void flops_belong_to_the_step_they_began_in(void **state)
{
    (void)state;
    hb_trace_event events[] = {
        annotation("ProfilerStep#3", 1, 0, 100),
        op("aten::mm", 2, 1, 10, 20),
        annotation("ProfilerStep#4", 3, 100, 200),
        op("aten::mm", 2, 1, 110, 120),
        op("aten::mm", 2, 2, 130, 140),
    };
    events[1].op.flops = 5;
    events[3].op.flops = events[4].op.flops = 7;
    hb_cycle_numbers n = NUMBERS_OF(events);
    assert_true(n.steps.items[0].flops == 5 && n.steps.items[1].flops == 14);
    assert_int_equal(n.events, 5);
    hb_cycle_numbers_free(&n);
}

static void an_empty_cycle_has_no_numbers(void **state)
{
    (void)state;
    hb_cycle_numbers n = numbers_of(NULL, 0);
    assert_int_equal(n.steps.count + n.operators.count + n.kernels.count + n.events, 0);
    hb_cycle_numbers_free(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_moment_goes_to_the_first_active_role),
        cmocka_unit_test(time_outside_steps_counts_for_none),
        cmocka_unit_test(utilisation_counts_a_device_once),
        cmocka_unit_test(self_times_leave_children_out),
        cmocka_unit_test(memory_has_a_peak_and_a_last_value_per_device),
        cmocka_unit_test(flops_belong_to_the_step_they_began_in),
        cmocka_unit_test(an_empty_cycle_has_no_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
