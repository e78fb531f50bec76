/* SPDX-License-Identifier: MIT */
#include "summary/cycle_facts.h"

#include <stdarg.h>
#include <stdio.h>

#include "rules/advice.h"
#include "rules/name_class.h"

/* With fewer their length does not matter. */
#define MANY_KERNELS 100 /* a step */

typedef struct adviser {
    hb_cycle_numbers *numbers;
    const hb_trace_info *info;
    hb_cycle_advice advice;
} adviser;

static HB_PRINTF(2, 3) void advise(adviser *a, const char *format, ...)
{
    char text[1200];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    size_t size = HB_MIN((size_t)HB_MAX(n, 0), sizeof text - 1) + 1;
    *HB_PUSH(&a->numbers->arena, &a->advice) =
        memcpy(hb_arena_alloc(&a->numbers->arena, size), text, size);
}

#define FACT(...)      format_fact((char[40]){0}, __VA_ARGS__)
#define PERCENT(value) FACT("%.1f %%", value)

static HB_PRINTF(2, 3) const char *format_fact(char text[40], const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(text, 40, format, args);
    va_end(args);
    return text;
}

/* With the facts that the sentence has room for. */
static void advise_if(adviser *a, bool applies, hb_advice_id id, const char *first,
                      const char *second)
{
    char text[600];
    if (!applies) return;
    hb_advice_sentence(text, sizeof text, id, first, second);
    advise(a, "%s", text);
}

/* ---- steps ---- */

static double share_of(const hb_cycle_numbers *n, hb_role role)
{
    double part = 0, all = 0;
    for (uint32_t i = 0; i < n->shown_steps; i++) {
        part += (double)n->steps.items[i].role_ns[role];
        all += (double)(n->steps.items[i].end_ns - n->steps.items[i].start_ns);
    }
    return all > 0 ? part / all : 0;
}

static void slow_loading(adviser *a)
{
    double share = share_of(a->numbers, HB_ROLE_LOADER);
    advise_if(a, share > hb_advice_threshold(HB_ADVICE_LOADING), HB_ADVICE_LOADING,
              PERCENT(100 * share), "");
}

static void much_communication(adviser *a)
{
    double share = share_of(a->numbers, HB_ROLE_COMMUNICATION);
    advise_if(a, share > hb_advice_threshold(HB_ADVICE_COMMUNICATION), HB_ADVICE_COMMUNICATION,
              PERCENT(100 * share), "");
}

/* ---- GPUs ---- */

static void idle_gpu(adviser *a, int id, const hb_device_numbers *gpu)
{
    double busy = gpu->percent[HB_GPU_UTILIZATION];
    advise_if(a, busy < 100 * hb_advice_threshold(HB_ADVICE_UTILIZATION), HB_ADVICE_UTILIZATION,
              FACT("%d", id), PERCENT(busy));
}

static void low_occupancy(adviser *a, int id, const hb_device_numbers *gpu)
{
    double occupied = gpu->percent[HB_GPU_OCCUPANCY];
    advise_if(a, occupied < hb_advice_threshold(HB_ADVICE_OCCUPANCY), HB_ADVICE_OCCUPANCY,
              FACT("%d", id), PERCENT(occupied));
}

static void small_grids(adviser *a, int id, const hb_device_numbers *gpu)
{
    double busy = gpu->percent[HB_GPU_UTILIZATION], filled = gpu->percent[HB_GPU_SM_EFFICIENCY];
    advise_if(a, filled < busy * hb_advice_threshold(HB_ADVICE_SMALL_GRIDS), HB_ADVICE_SMALL_GRIDS,
              FACT("%d", id), FACT("%.0f %%", 100 * filled / busy));
}

static void advise_finding(adviser *a, const hb_rule_finding *f)
{
    advise(a, "%s (%s)", f->text, f->evidence);
}

static void full_memory(adviser *a, int id, const hb_device_numbers *gpu)
{
    hb_rule_finding f;
    const hb_device_info *device = hb_find_device(a->info, id);
    double capacity = device ? (double)device->total_global_mem : 0;
    if (gpu->has_memory && hb_rule_full_memory(id, (double)gpu->peak_bytes, capacity, &f))
        advise_finding(a, &f);
}

static void short_kernels(adviser *a)
{
    const hb_cycle_numbers *n = a->numbers;
    double sum = 0;
    for (uint32_t i = 0; i < n->kernel_us.count; i++)
        sum += n->kernel_us.items[i];
    if (n->steps.count == 0 || n->kernel_us.count < MANY_KERNELS * n->steps.count) return;
    double mean = sum / n->kernel_us.count;
    advise_if(a, mean < hb_advice_threshold(HB_ADVICE_SHORT_KERNELS), HB_ADVICE_SHORT_KERNELS,
              FACT("%u", n->kernel_us.count / n->steps.count), FACT("%.1f us", mean));
}

/* ---- kernels and operators by name ---- */

static void matrix_products(adviser *a, const hb_kernel_rules *rules)
{
    hb_math_facts facts = {0};
    hb_rule_finding f;
    for (uint32_t i = 0; i < a->numbers->kernels.count; i++) {
        const hb_name_cost *k = &a->numbers->kernels.items[i];
        hb_math_facts_add(&facts, k->name, hb_kernel_class_of(rules, k->name),
                          hb_kernel_matrix_of(rules, k->name), (double)k->self_ns);
    }
    if (hb_rule_no_matrix_cores(&facts, &f)) advise_finding(a, &f);
    if (hb_rule_single_precision(&facts, &f)) advise_finding(a, &f);
}

static void distribution(adviser *a, const hb_kernel_rules *rules)
{
    const hb_cycle_numbers *n = a->numbers;
    hb_distributed_facts facts = {0};
    hb_rule_finding f;
    for (int id = 0; id < n->num_devices; id++)
        facts.gpus += n->devices[id].has_kernels;
    for (uint32_t i = 0; i < n->operators.count; i++)
        hb_distributed_facts_add(&facts, n->operators.items[i].name, n->operators.items[i].calls);
    for (uint32_t i = 0; i < n->kernels.count; i++)
        facts.communication_kernels |= hb_kernel_class_is(
            HB_KERNELS_COMMUNICATION, hb_kernel_class_of(rules, n->kernels.items[i].name));
    if (hb_rule_one_process(&facts, &f)) advise_finding(a, &f);
    if (hb_rule_host_collectives(&facts, &f)) advise_finding(a, &f);
}

hb_cycle_advice hb_cycle_advise(hb_cycle_numbers *numbers, const hb_trace_info *info)
{
    const hb_kernel_rules rules = {0}; /* the built-in ones */
    adviser a = {.numbers = numbers, .info = info};
    slow_loading(&a);
    much_communication(&a);
    for (int id = 0; id < numbers->num_devices; id++) {
        const hb_device_numbers *gpu = &numbers->devices[id];
        idle_gpu(&a, id, gpu);
        low_occupancy(&a, id, gpu);
        small_grids(&a, id, gpu);
        full_memory(&a, id, gpu);
    }
    short_kernels(&a);
    matrix_products(&a, &rules);
    distribution(&a, &rules);
    return a.advice;
}
