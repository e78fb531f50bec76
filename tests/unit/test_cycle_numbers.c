/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "array_source.h"
#include "digest/digest.h"
#include "plugin/analysis.h"
#include "write/write.h"

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

static void expect_same(const hb_cycle_numbers *a, const hb_cycle_numbers *b)
{
    assert_int_equal(a->steps.count, b->steps.count);
    assert_int_equal(a->shown_steps, b->shown_steps);
    assert_int_equal(a->num_devices, b->num_devices);
    assert_int_equal(a->host_events, b->host_events);
    assert_int_equal(a->operators.count, b->operators.count);
    if (a->steps.count)
        assert_memory_equal(a->steps.items, b->steps.items,
                            a->steps.count * sizeof *a->steps.items);
}

/* Whether the steps are found on a pass of their own or while the trace is written. */
static hb_cycle_numbers numbers_of(const hb_trace_event *events, size_t n)
{
    array_source source;
    hb_cycle_numbers alone, numbers;
    hb_cycle_marks marks;
    hb_trace_event event;
    array_source_init(&source, events, n);
    assert_int_equal(hb_cycle_numbers_make(&source.source, HB_SCOPES_ARE_OPERATORS, NULL, &alone),
                     HB_OK);
    hb_cycle_marks_init(&marks, HB_SCOPES_ARE_OPERATORS);
    hb_marking_source marking = hb_marking_source_of(&source.source, &marks);
    for (int times = 0; times < 3; times++) { /* the first pass is left before its end */
        assert_int_equal(marking.source.begin(&marking.source, HB_PASS_HOST), HB_OK);
        for (size_t left = times ? n + 1 : n / 2;
             left && marking.source.next(&marking.source, &event);)
            left--;
    }
    assert_int_equal(
        hb_cycle_numbers_make(&source.source, HB_SCOPES_ARE_OPERATORS, &marks, &numbers), HB_OK);
    assert_true(marks.whole);
    expect_same(&numbers, &alone);
    hb_cycle_marks_free(&marks);
    hb_cycle_numbers_free(&alone);
    return numbers;
}
#define NUMBERS_OF(events) numbers_of(events, HB_ARRAY_LEN(events))

static void expect_roles(const hb_step_times *step, int64_t step_number,
                         const int64_t expected[HB_ROLE_PARTS])
{
    int64_t sum = 0;
    assert_int_equal(step->step, step_number);
    for (int role = 0; role < HB_ROLE_PARTS; role++) {
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

/* Kineto's dialect writes the program's own scopes as annotations, which are no operators there. */
static void scopes_are_what_the_trace_beside_says(void **state)
{
    (void)state;
    const hb_trace_event events[] = {
        annotation("ProfilerStep#7", 1, 1000, 2000),
        annotation("mine", 2, 1000, 1400),
        op("aten::mm", 3, 1, 1300, 1500),
        annotation("Optimizer.step#SGD", 4, 1600, 1700),
    };
    array_source source;
    hb_cycle_numbers n;
    array_source_init(&source, events, HB_ARRAY_LEN(events));
    assert_int_equal(hb_cycle_numbers_make(&source.source, HB_SCOPES_ARE_ANNOTATIONS, NULL, &n),
                     HB_OK);
    expect_roles(&n.steps.items[0], 7, (int64_t[]){0, 0, 0, 0, 0, 0, 300, 700});
    assert_int_equal(n.operators.count, 2);
    hb_cycle_numbers_free(&n);
    n = NUMBERS_OF(events);
    expect_roles(&n.steps.items[0], 7, (int64_t[]){0, 0, 0, 0, 0, 0, 600, 400});
    assert_int_equal(n.operators.count, 3);
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

/* A call on the host and the kernel that it launches. */
static hb_trace_event call(uint64_t correlation, int64_t start, int64_t end)
{
    hb_trace_event e = work(HB_EVENT_RUNTIME, -1, start, end);
    e.correlation = correlation;
    return e;
}

static hb_trace_event launched(uint64_t correlation, int32_t device, int64_t start, int64_t end)
{
    hb_trace_event e = work(HB_EVENT_KERNEL, device, start, end);
    e.correlation = correlation;
    return e;
}

static void expect_step(const hb_step_times *step, int64_t number, int64_t start, int64_t end)
{
    assert_int_equal(step->step, number);
    assert_int_equal(step->start_ns, start);
    assert_int_equal(step->end_ns, end);
}

static void a_step_lasts_as_long_as_what_it_launched(void **state)
{
    (void)state;
    const hb_trace_event events[] = {
        call(1, 110, 120),
        launched(1, 0, 130, 250), /* into the next step */
        call(2, 210, 220),
        launched(2, 0, 260, 280),
        annotation("ProfilerStep#1", 1, 100, 200),
        annotation("ProfilerStep#2", 2, 200, 300),
        op("aten::mm", 3, 1, 200, 300),
    };
    hb_cycle_numbers n = NUMBERS_OF(events);
    assert_int_equal(n.steps.count, 2);
    expect_step(&n.steps.items[0], 1, 100, 250);
    expect_step(&n.steps.items[1], 2, 250, 300);
    /* other 100-110, runtime 110-120, other 120-130, kernel 130-250 */
    expect_roles(&n.steps.items[0], 1, (int64_t[]){120, 0, 0, 0, 10, 0, 0, 20});
    /* the first kernel has 200-250; cpu 250-260, kernel 260-280, cpu 280-300 */
    expect_roles(&n.steps.items[1], 2, (int64_t[]){20, 0, 0, 0, 0, 0, 30, 0});
    hb_cycle_numbers_free(&n);
}

static void a_step_that_earlier_work_covers_is_left_out(void **state)
{
    (void)state;
    const hb_trace_event events[] = {
        call(1, 110, 120),
        launched(1, 0, 130, 320),
        annotation("ProfilerStep#1", 1, 100, 200),
        annotation("ProfilerStep#2", 2, 200, 300),
        annotation("ProfilerStep#3", 3, 300, 400),
    };
    hb_cycle_numbers n = NUMBERS_OF(events);
    assert_int_equal(n.steps.count, 2);
    expect_step(&n.steps.items[0], 1, 100, 320);
    expect_step(&n.steps.items[1], 3, 320, 400);
    assert_int_equal(n.shown_steps, 1); /* no work after the first: the plugin distrusts the rest */
    hb_cycle_numbers_free(&n);
}

static void work_from_before_the_first_step_delays_it(void **state)
{
    (void)state;
    const hb_trace_event events[] = {
        call(1, 50, 60),
        launched(1, 0, 70, 120),
        call(2, 105, 115),
        launched(2, 0, 130, 140),
        annotation("ProfilerStep#1", 1, 100, 200),
    };
    hb_cycle_numbers n = NUMBERS_OF(events);
    expect_step(&n.steps.items[0], 1, 120, 200);
    hb_cycle_numbers_free(&n);
}

static void kernels_of_collectives_are_communication(void **state)
{
    (void)state;
    hb_trace_event events[] = {
        launched(1, 0, 120, 150),
        annotation("ProfilerStep#1", 1, 100, 200),
        op("nccl:all_reduce", 2, 1, 100, 110),
    };
    events[0].external_id = events[2].external_id = 7;
    hb_cycle_numbers n = NUMBERS_OF(events);
    expect_roles(&n.steps.items[0], 1, (int64_t[]){0, 0, 0, 40, 0, 0, 0, 60});
    hb_cycle_numbers_free(&n);
}

static void without_steps_the_whole_cycle_is_one(void **state)
{
    (void)state;
    const hb_trace_event events[] = {
        call(1, 110, 120),
        launched(1, 0, 130, 320),
        op("aten::mm", 1, 1, 100, 200),
        op("aten::mm", 1, 1, 210, 220),
    };
    hb_cycle_numbers n = NUMBERS_OF(events);
    assert_true(n.whole);
    assert_int_equal(n.steps.count, 1);
    expect_step(&n.steps.items[0], 0, 100, 320);
    expect_roles(&n.steps.items[0], 0, (int64_t[]){190, 0, 0, 0, 10, 0, 20, 0});
    hb_cycle_numbers_free(&n);
    n = numbers_of(events, 2); /* nothing on the host */
    assert_true(n.whole);
    expect_step(&n.steps.items[0], 0, 110, 320);
    hb_cycle_numbers_free(&n);
}

static void a_gpus_numbers_are_over_the_steps_time(void **state)
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
    events[1].kernel.blocks_per_sm = events[2].kernel.blocks_per_sm = 0.75;
    events[4].copy = (hb_copy_args){.bytes = 4096, .kind = "DtoH"};
    hb_cycle_numbers n = NUMBERS_OF(events);
    const double *first = n.devices[0].percent, *second = n.devices[1].percent;
    assert_int_equal(n.num_devices, 2);
    assert_float_equal(first[HB_GPU_UTILIZATION], 40, 1e-9);
    assert_float_equal(second[HB_GPU_UTILIZATION], 10, 1e-9);
    /* 0.75 for 100-110 and 120-140, at most 1 for 110-120 */
    assert_float_equal(first[HB_GPU_SM_EFFICIENCY], 0.75 * 30 + 10, 1e-9);
    assert_float_equal(first[HB_GPU_OCCUPANCY], (50.0 * 20 + 25 * 30) / 50, 1e-9);
    assert_true(isnan(second[HB_GPU_SM_EFFICIENCY]) && isnan(second[HB_GPU_OCCUPANCY]));
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

static hb_trace_event memory(int32_t gpu, int64_t at, int64_t bytes, int64_t total)
{
    hb_trace_event e = host(HB_EVENT_MEMORY, "[memory]", 0, 1, at, at);
    e.memory = (hb_memory_args){.device_type = gpu < 0 ? HB_DEVICE_CPU : HB_DEVICE_HIP,
                                .device_id = gpu,
                                .bytes = bytes,
                                .total_allocated = total};
    return e;
}

static void expect_held(const hb_cycle_numbers *n, uint32_t step, int32_t device, int64_t peak,
                        int64_t current)
{
    const hb_device_numbers *d = hb_cycle_step_device(n, step, device);
    assert_true(d->has_memory);
    assert_int_equal(d->peak_bytes, peak);
    assert_int_equal(d->current_bytes, current);
}

static void a_step_has_the_memory_that_it_found(void **state)
{
    (void)state;
    hb_trace_event events[] = {
        memory(-1, 50, 100, 1100), /* before the first step */
        annotation("ProfilerStep#1", 1, 100, 200),
        memory(-1, 110, 400, 1500),
        memory(-1, 120, -1000, 500),
        annotation("ProfilerStep#2", 2, 200, 300),
        annotation("ProfilerStep#3", 3, 300, 400),
        memory(1, 310, -30, 70), /* the first that is known of the GPU's */
        memory(-1, 320, 5000, 5500),
        memory(-1, 330, -5000, 500),
        memory(1, 450, 1000, 1070), /* after the last one's end, before the recording's */
        memory(-7, 460, 1, 1),
    };
    events[8].flags = HB_TEV_OUT_OF_MEMORY; /* tells nothing */
    events[10].memory.device_type = HB_DEVICE_HIP;
    hb_cycle_numbers n = NUMBERS_OF(events);
    assert_int_equal(n.num_devices, 2);
    expect_held(&n, 0, HB_HOST_DEVICE, 1500, 500);
    expect_held(&n, 1, HB_HOST_DEVICE, 500, 500);
    expect_held(&n, 2, HB_HOST_DEVICE, 5500, 5500);
    expect_held(&n, 0, 1, 100, 100);
    expect_held(&n, 1, 1, 100, 100);
    expect_held(&n, 2, 1, 1070, 1070);
    assert_false(hb_cycle_step_device(&n, 0, 0)->has_memory || n.devices[0].has_memory);
    assert_int_equal(n.devices[1].peak_bytes, 1070);
    assert_int_equal(n.host.peak_bytes, 5500);
    hb_cycle_numbers_free(&n);
}

static void without_steps_all_memory_is_the_whole_s(void **state)
{
    (void)state;
    const hb_trace_event events[] = {
        memory(-1, 50, 900, 900),
        memory(-1, 60, -800, 100),
        op("aten::mm", 1, 1, 100, 200),
        memory(-1, 110, 10, 110),
    };
    hb_cycle_numbers n = NUMBERS_OF(events);
    assert_true(n.whole);
    expect_held(&n, 0, HB_HOST_DEVICE, 900, 110);
    hb_cycle_numbers_free(&n);
    n = numbers_of(events, 2); /* of no time at all */
    assert_int_equal(n.steps.count, 0);
    assert_int_equal(n.host.peak_bytes, 900);
    hb_cycle_numbers_free(&n);
}

static void copies_and_events_belong_to_the_step_they_began_in(void **state)
{
    (void)state;
    hb_trace_event events[] = {
        work(HB_EVENT_MEMCPY, 0, 90, 95), /* before the first step */
        call(1, 110, 120),
        work(HB_EVENT_MEMCPY, 0, 190, 230), /* into the next step's time */
        work(HB_EVENT_MEMCPY, 0, 240, 250),
        work(HB_EVENT_MEMCPY, 0, 250, 260),
        work(HB_EVENT_MEMCPY, 0, 300, 310),
        annotation("ProfilerStep#1", 1, 100, 200),
        annotation("ProfilerStep#2", 2, 200, 300),
        op("aten::mm", 3, 1, 200, 300),
    };
    const uint64_t bytes[] = {1, 0, 2, 4, 8, 16};
    const char *const kinds[] = {"HtoD", NULL, "HtoD", "DtoH", "DtoD", "PtoP"};
    for (int i = 0; i < 6; i++)
        if (i != 1) events[i].copy = (hb_copy_args){.bytes = bytes[i], .kind = kinds[i]};
    events[2].correlation = 1; /* makes the first step last until 230 */
    hb_cycle_numbers n = NUMBERS_OF(events);
    const hb_step_times *first = &n.steps.items[0], *second = &n.steps.items[1];
    expect_step(first, 1, 100, 230);
    const uint64_t of_first[] = {2, 0, 0}, of_second[] = {0, 4, 8}, of_all[] = {3, 4, 24};
    assert_memory_equal(first->copied_bytes, of_first, sizeof of_first);
    assert_memory_equal(second->copied_bytes, of_second, sizeof of_second);
    assert_memory_equal(n.copied_bytes, of_all, sizeof of_all);
    assert_int_equal(first->host_events, 1);
    assert_int_equal(first->events, 3);
    assert_int_equal(second->host_events, 2);
    assert_int_equal(second->events, 4);
    assert_int_equal(n.events, 9);
    hb_cycle_numbers_free(&n);
}

static void each_step_has_numbers_of_its_gpus(void **state)
{
    (void)state;
    hb_trace_event events[] = {
        annotation("ProfilerStep#1", 1, 100, 200),
        annotation("ProfilerStep#2", 2, 200, 300),
        annotation("ProfilerStep#3", 3, 300, 400),
        work(HB_EVENT_KERNEL, 0, 150, 350), /* through the second */
        work(HB_EVENT_KERNEL, 0, 160, 180),
        work(HB_EVENT_KERNEL, 1, 390, 500),
    };
    events[3].kernel.occupancy = 80;
    events[4].kernel.occupancy = 10;
    events[3].kernel.blocks_per_sm = 0.25;
    hb_cycle_numbers n = NUMBERS_OF(events);
    const double busy[] = {50, 100, 50}, full[] = {(80 * 50 + 10 * 20) / 70.0, 80, 80};
    for (uint32_t step = 0; step < 3; step++) {
        const double *first = hb_cycle_step_device(&n, step, 0)->percent;
        const double *second = hb_cycle_step_device(&n, step, 1)->percent;
        assert_float_equal(first[HB_GPU_UTILIZATION], busy[step], 1e-9);
        assert_float_equal(first[HB_GPU_SM_EFFICIENCY], busy[step] / 4, 1e-9);
        assert_float_equal(first[HB_GPU_OCCUPANCY], full[step], 1e-9);
        assert_float_equal(second[HB_GPU_UTILIZATION], step == 2 ? 10 : 0, 1e-9);
        assert_true(isnan(second[HB_GPU_SM_EFFICIENCY]) && isnan(second[HB_GPU_OCCUPANCY]));
    }
    assert_float_equal(n.devices[0].percent[HB_GPU_UTILIZATION], 200.0 / 3, 1e-9);
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

/* ---- beside the analysis of the same cycle's trace, which is the plugin's ---- */

#define BASE 1795256296153421000

typedef struct cycle {
    hb_trace_event events[400];
    size_t count;
    int64_t now; /* ns since BASE, of the host */
    uint64_t next_id, next_correlation;
    uint32_t random;
} cycle;

static uint32_t random_below(cycle *c, uint32_t n)
{
    c->random = c->random * 1664525 + 1013904223;
    return (c->random >> 8) % n;
}

static hb_trace_event *add_event(cycle *c, hb_trace_event e)
{
    hb_trace_event *at = &c->events[c->count++];
    *at = e;
    at->start_ns += BASE;
    at->end_ns += BASE;
    return at;
}

static hb_trace_event *add_scope(cycle *c, hb_event_kind kind, const char *name, uint32_t key)
{
    hb_trace_event *e = add_event(c, host(kind, name, key, 100, c->now, c->now));
    e->external_id = ++c->next_id;
    return e;
}

static void add_launch(cycle *c, uint64_t external_id)
{
    static const hb_event_kind kinds[] = {HB_EVENT_KERNEL, HB_EVENT_KERNEL, HB_EVENT_MEMCPY,
                                          HB_EVENT_MEMSET};
    int64_t length = 500 + random_below(c, 4000);
    hb_trace_event *launch = add_event(c, call(++c->next_correlation, c->now, c->now + length));
    launch->tid = 100;
    launch->name = HB_STR("hipLaunchKernel");
    launch->external_id = external_id;
    int64_t start = c->now + random_below(c, 20000);
    c->now += length;
    if (random_below(c, 8) == 0) return; /* no device work */
    hb_event_kind kind = kinds[random_below(c, HB_ARRAY_LEN(kinds))];
    int32_t device = (int32_t)random_below(c, 2);
    hb_trace_event *e = add_event(c, work(kind, device, start, start + 1 + random_below(c, 30000)));
    e->correlation = c->next_correlation;
    e->external_id = external_id;
    if (kind != HB_EVENT_KERNEL) return;
    if (random_below(c, 4)) e->kernel.occupancy = random_below(c, 100);
    if (random_below(c, 4)) e->kernel.blocks_per_sm = 0.125 * random_below(c, 20);
}

static void add_operation(cycle *c)
{
    static const char *const names[] = {"aten::mm", "aten::relu", "nccl:all_reduce",
                                        "enumerate(DataLoader)#x.__next__", "forward"};
    uint32_t which = random_below(c, HB_ARRAY_LEN(names));
    hb_event_kind kind = which == 4 ? HB_EVENT_USER_ANNOTATION : HB_EVENT_OP;
    size_t at = c->count;
    add_scope(c, kind, names[which], 10 + which);
    c->now += 200 + random_below(c, 3000);
    for (uint32_t n = random_below(c, 4); n > 0; n--)
        add_launch(c, c->events[at].external_id);
    c->now += 1 + random_below(c, 3000);
    c->events[at].end_ns = BASE + c->now;
    c->now += random_below(c, 2) * random_below(c, 2000);
}

static void add_random_step(cycle *c, int number, const char *name, bool with_steps)
{
    size_t at = c->count;
    if (with_steps) add_scope(c, HB_EVENT_USER_ANNOTATION, name, 20 + (uint32_t)number);
    c->now += random_below(c, 1000);
    for (uint32_t n = 1 + random_below(c, 6); n > 0; n--)
        add_operation(c);
    if (with_steps) c->events[at].end_ns = BASE + ++c->now;
    c->now += random_below(c, 3) * 500;
}

static int compare_starts(const void *a, const void *b)
{
    const hb_trace_event *x = a, *y = b;
    if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns ? -1 : 1;
    return x->external_id != y->external_id ? (x->external_id < y->external_id ? -1 : 1) : 0;
}

static cycle random_cycle(uint32_t seed)
{
    static const char *const names[] = {"ProfilerStep#3", "ProfilerStep#4", "ProfilerStep#5",
                                        "ProfilerStep#6"};
    cycle c = {.random = seed * 2654435761u + 1};
    bool with_steps = random_below(&c, 5) != 0;
    if (random_below(&c, 3) == 0) add_operation(&c);
    for (int i = 0, n = 1 + (int)random_below(&c, 4); i < n; i++)
        add_random_step(&c, i, names[i], with_steps);
    if (random_below(&c, 3) == 0) add_operation(&c);
    qsort(c.events, c.count, sizeof *c.events, compare_starts);
    return c;
}

/* The trace's times are doubles of 1/1024 us; a percentage may be of a few of these. */
static void expect_close(uint32_t seed, const char *what, double found, double expected)
{
    if (fabs(found - expected) <= 0.05) return;
    fail_msg("cycle %u: %s is %.6f, not %.6f", seed, what, found, expected);
}

/* When the steps' time is all given away, the plugin counts the next role in full. */
static bool is_given_away_once(const hb_analysis *a)
{
    for (uint32_t i = 0; i < a->steps.count; i++) {
        double sum = 0;
        for (int role = 0; role <= HB_ROLE_OTHER; role++)
            sum += a->steps.items[i].costs[role].v;
        if (fabs(sum - a->steps.items[i].costs[HB_ROLE_TOTAL].v) > 0.01) return false;
    }
    return true;
}

static void compare_steps(uint32_t seed, const hb_cycle_numbers *n, const hb_analysis *a)
{
    assert_int_equal(n->shown_steps, a->steps.count);
    for (uint32_t i = 0; i < a->steps.count; i++) {
        const hb_step_times *ours = &n->steps.items[i];
        const hb_step *theirs = &a->steps.items[i];
        expect_close(seed, "a step's time", (double)(ours->end_ns - ours->start_ns) / 1e3,
                     theirs->costs[HB_ROLE_TOTAL].v);
        for (int role = 0; role < HB_ROLE_PARTS; role++)
            expect_close(seed, "a role", (double)ours->role_ns[role] / 1e3, theirs->costs[role].v);
    }
}

static void compare_gpus(uint32_t seed, const hb_cycle_numbers *n, const hb_analysis *a)
{
    for (uint32_t i = 0; i < a->num_gpus; i++) {
        const hb_gpu *theirs = &a->gpus[i];
        const double *ours = n->devices[theirs->id].percent;
        expect_close(seed, "utilization", ours[HB_GPU_UTILIZATION], 100 * theirs->utilization);
        assert_int_equal(isnan(ours[HB_GPU_SM_EFFICIENCY]), !theirs->has_sm);
        if (theirs->has_sm)
            expect_close(seed, "SM efficiency", ours[HB_GPU_SM_EFFICIENCY],
                         100 * theirs->sm_efficiency);
        assert_int_equal(isnan(ours[HB_GPU_OCCUPANCY]), !theirs->has_occupancy);
        if (theirs->has_occupancy)
            expect_close(seed, "occupancy", ours[HB_GPU_OCCUPANCY], theirs->occupancy);
    }
}

/* How long some kernel of a device ran in a window, counted kernel by kernel. */
static int64_t busy_in(const cycle *c, int32_t device, int64_t from, int64_t to)
{
    int64_t busy = 0, until = from;
    for (size_t i = 0; i < c->count; i++) { /* by start */
        const hb_trace_event *e = &c->events[i];
        if (e->kind != HB_EVENT_KERNEL || e->device != device) continue;
        int64_t start = HB_MAX(e->start_ns, until), end = HB_MIN(e->end_ns, to);
        if (end > start) busy += end - start;
        until = HB_MAX(until, e->end_ns);
    }
    return busy;
}

static void compare_step_gpus(uint32_t seed, const hb_cycle_numbers *n, const cycle *c)
{
    for (uint32_t step = 0; step < n->steps.count; step++) {
        const hb_step_times *times = &n->steps.items[step];
        for (int32_t device = 0; device < n->num_devices; device++) {
            const hb_device_numbers *d = hb_cycle_step_device(n, step, device);
            if (!d->has_kernels) continue;
            int64_t busy = busy_in(c, device, times->start_ns, times->end_ns);
            expect_close(seed, "a step's utilization", d->percent[HB_GPU_UTILIZATION],
                         100.0 * (double)busy / (double)(times->end_ns - times->start_ns));
        }
    }
}

static bool compare_with_analysis(uint32_t seed)
{
    cycle c = random_cycle(seed);
    array_source source;
    hb_cycle_numbers numbers = numbers_of(c.events, c.count);
    hb_trace trace;
    hb_analysis analysis;
    array_source_init(&source, c.events, c.count);
    assert_int_equal(hb_write_to_trace(&source.source, HB_WRITE_TENSORBOARD, &trace), HB_OK);
    if (hb_analysis_run(&analysis, &trace) != HB_OK)
        fail_msg("cycle %u: %s", seed, hb_last_error());
    bool comparable = is_given_away_once(&analysis);
    if (comparable) compare_steps(seed, &numbers, &analysis);
    compare_gpus(seed, &numbers, &analysis);
    compare_step_gpus(seed, &numbers, &c);
    hb_analysis_free(&analysis);
    hb_trace_free(&trace);
    hb_cycle_numbers_free(&numbers);
    return comparable;
}

static void numbers_are_those_of_the_trace(void **state)
{
    (void)state;
    int compared = 0;
    for (uint32_t seed = 1; seed <= 2000; seed++)
        compared += compare_with_analysis(seed);
    assert_true(compared > 1500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_moment_goes_to_the_first_active_role),
        cmocka_unit_test(scopes_are_what_the_trace_beside_says),
        cmocka_unit_test(time_outside_steps_counts_for_none),
        cmocka_unit_test(a_step_lasts_as_long_as_what_it_launched),
        cmocka_unit_test(a_step_that_earlier_work_covers_is_left_out),
        cmocka_unit_test(work_from_before_the_first_step_delays_it),
        cmocka_unit_test(kernels_of_collectives_are_communication),
        cmocka_unit_test(without_steps_the_whole_cycle_is_one),
        cmocka_unit_test(a_gpus_numbers_are_over_the_steps_time),
        cmocka_unit_test(self_times_leave_children_out),
        cmocka_unit_test(memory_has_a_peak_and_a_last_value_per_device),
        cmocka_unit_test(a_step_has_the_memory_that_it_found),
        cmocka_unit_test(without_steps_all_memory_is_the_whole_s),
        cmocka_unit_test(copies_and_events_belong_to_the_step_they_began_in),
        cmocka_unit_test(each_step_has_numbers_of_its_gpus),
        cmocka_unit_test(flops_belong_to_the_step_they_began_in),
        cmocka_unit_test(an_empty_cycle_has_no_numbers),
        cmocka_unit_test(numbers_are_those_of_the_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
