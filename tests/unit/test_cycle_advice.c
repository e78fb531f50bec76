/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "summary/cycle_facts.h"

typedef struct cycle {
    hb_cycle_numbers numbers;
    hb_step_times step;
    double kernel_us[1000];
    hb_device_info device;
    hb_trace_info info;
} cycle;

/* One step of 1000 ns, computed on the host; one GPU, well used, half full. */
static void make_good(cycle *c)
{
    *c = (cycle){.step = {.start_ns = 0, .end_ns = 1000, .role_ns = {[HB_ROLE_CPU] = 1000}},
                 .device = {.id = 0, .total_global_mem = (uint64_t)64 << 30}};
    c->numbers.steps.items = &c->step;
    c->numbers.steps.count = c->numbers.shown_steps = 1;
    c->numbers.num_devices = 1;
    c->numbers.devices[0] = (hb_device_numbers){.has_memory = true,
                                                .has_kernels = true,
                                                .peak_bytes = (int64_t)32 << 30,
                                                .percent = {80, 60, 50}};
    c->numbers.kernel_us.items = c->kernel_us;
    c->info.devices = &c->device;
    c->info.num_devices = 1;
}

static void expect(cycle *c, size_t count, const char *words)
{
    assert_true(hb_arena_try(&c->numbers.arena));
    hb_cycle_advice advice = hb_cycle_advise(&c->numbers, &c->info);
    assert_int_equal(advice.count, count);
    if (words && !strstr(advice.items[0], words))
        fail_msg("\"%s\" lacks \"%s\"", advice.items[0], words);
    hb_arena_free(&c->numbers.arena);
}

static void set_share(cycle *c, hb_role role, int64_t ns)
{
    make_good(c);
    c->step.role_ns[HB_ROLE_CPU] -= ns;
    c->step.role_ns[role] = ns;
}

static void nothing_is_advised_when_all_is_well(void **state)
{
    (void)state;
    cycle c;
    make_good(&c);
    expect(&c, 0, NULL);
    c.numbers.num_devices = 0;
    c.numbers.steps.count = c.numbers.shown_steps = 0;
    expect(&c, 0, NULL);
}

static void time_lost_in_steps_is_named(void **state)
{
    (void)state;
    cycle c;
    set_share(&c, HB_ROLE_LOADER, 50);
    expect(&c, 0, NULL);
    set_share(&c, HB_ROLE_LOADER, 51);
    expect(&c, 1, "5.1 % of the steps' time is data loading");
    set_share(&c, HB_ROLE_COMMUNICATION, 100);
    expect(&c, 0, NULL);
    set_share(&c, HB_ROLE_COMMUNICATION, 120);
    expect(&c, 1, "12.0 % of the steps' time is communication");
}

static void a_badly_used_gpu_is_named(void **state)
{
    (void)state;
    cycle c;
    make_good(&c);
    c.numbers.devices[0].percent[HB_GPU_UTILIZATION] = 49.9;
    expect(&c, 1, "GPU 0 was busy for 49.9 %");
    make_good(&c);
    c.numbers.devices[0].percent[HB_GPU_OCCUPANCY] = 12.5;
    expect(&c, 1, "occupy 12.5 % of its wave slots");
    make_good(&c);
    c.numbers.devices[0].percent[HB_GPU_SM_EFFICIENCY] = 20;
    expect(&c, 1, "blocks for 25 % of its compute units");
    for (int i = 0; i < HB_GPU_NUMBERS; i++)
        c.numbers.devices[0].percent[i] = NAN; /* not known */
    expect(&c, 0, NULL);
}

static void full_memory_is_named_where_its_size_is_known(void **state)
{
    (void)state;
    cycle c;
    make_good(&c);
    c.numbers.devices[0].peak_bytes = (int64_t)60 << 30;
    expect(&c, 1, "93.8 % of the 64.0 GiB of GPU 0");
    c.device.total_global_mem = 0;
    expect(&c, 0, NULL);
    c.info.num_devices = 0;
    expect(&c, 0, NULL);
}

static void many_short_kernels_are_named(void **state)
{
    (void)state;
    cycle c;
    make_good(&c);
    for (int i = 0; i < 1000; i++)
        c.kernel_us[i] = 5;
    c.numbers.kernel_us.count = 99;
    expect(&c, 0, NULL);
    c.numbers.kernel_us.count = 100;
    expect(&c, 1, "100 kernels of 5.0 us");
    c.kernel_us[0] = 1000;
    expect(&c, 0, NULL);
}

static void matrix_products_without_matrix_cores_are_named(void **state)
{
    (void)state;
    cycle c;
    hb_name_cost kernels[] = {{HB_STR("Cijk_Ailk_Bljk_SB_MT64x64"), 1, 190},
                              {HB_STR("fill_kernel"), 1, 810}};
    make_good(&c);
    c.numbers.kernels.items = kernels;
    c.numbers.kernels.count = 2;
    expect(&c, 0, NULL);
    kernels[0].self_ns = 810;
    expect(&c, 2, "(GEMM, convolution and attention take 50.0 % of the kernels' time");
    kernels[0].name = HB_STR("Cijk_Ailk_Bljk_HHS_BH_MT64x64_MI32x32x8");
    expect(&c, 0, NULL);
}

static void what_keeps_gpus_from_talking_is_named(void **state)
{
    (void)state;
    cycle c;
    hb_name_cost operators[] = {{HB_STR("DataParallel.forward"), 3, 10}, {HB_STR("x"), 1, 1}};
    hb_name_cost kernel = {HB_STR("ncclDevKernel_AllReduce"), 1, 1};
    make_good(&c);
    c.numbers.operators.items = operators;
    c.numbers.operators.count = 2;
    expect(&c, 0, NULL);
    c.numbers.num_devices = 2;
    c.numbers.devices[1] = (hb_device_numbers){.has_kernels = true, .percent = {NAN, NAN, NAN}};
    expect(&c, 1, "(calls of DataParallel.forward: 3; GPUs that compute: 2)");
    operators[0].name = HB_STR("DistributedDataParallel.forward");
    expect(&c, 1, "of DistributedDataParallel.forward: 3)");
    operators[1].name = HB_STR("gloo:all_reduce");
    expect(&c, 1, "(collectives of gloo: 1,");
    c.numbers.kernels.items = &kernel;
    c.numbers.kernels.count = 1; /* they talk to each other */
    expect(&c, 0, NULL);
    c.numbers.kernels.count = 0;
    operators[1].name = HB_STR("nccl:all_reduce");
    expect(&c, 0, NULL);
    operators[1].name = HB_STR("gloo:all_reduce");
    c.numbers.num_devices = 0; /* there is nothing to talk past */
    expect(&c, 0, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_advised_when_all_is_well),
        cmocka_unit_test(time_lost_in_steps_is_named),
        cmocka_unit_test(a_badly_used_gpu_is_named),
        cmocka_unit_test(full_memory_is_named_where_its_size_is_known),
        cmocka_unit_test(many_short_kernels_are_named),
        cmocka_unit_test(matrix_products_without_matrix_cores_are_named),
        cmocka_unit_test(what_keeps_gpus_from_talking_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
