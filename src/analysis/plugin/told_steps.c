/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "plugin/analysis.h"

static void take_step(hb_analysis *a, const hb_told_step *told)
{
    char digits[24];
    int n = snprintf(digits, sizeof digits, "%lld", (long long)told->number);
    hb_step *step = HB_PUSH(&a->arena, &a->steps);
    *step = (hb_step){
        .range = {hb_float(told->start), hb_float(told->start + told->us[HB_ROLE_TOTAL])}};
    for (int role = 0; role < HB_ROLE_COUNT; role++) {
        step->costs[role] = hb_float(told->us[role]);
        a->average[role].v += told->us[role];
        if (role < HB_ROLE_OTHER) a->has_role[role] |= told->us[role] > 0;
    }
    hb_string_id name = hb_intern(a, digits, (size_t)n);
    a->steps.items[a->steps.count - 1].name = name;
}

static void take_steps(hb_analysis *a, const hb_told_step *steps, uint32_t count)
{
    for (int role = 0; role < HB_ROLE_COUNT; role++)
        a->average[role] = hb_float(0);
    for (uint32_t i = 0; i < count; i++)
        take_step(a, &steps[i]);
    for (int role = 0; role < HB_ROLE_COUNT; role++)
        a->average[role].v /= HB_MAX(1u, count);
    if (!(a->average[HB_ROLE_TOTAL].v > 0))
        hb_reject_trace(a, "the steps have no length on average");
}

hb_result hb_analysis_of_steps(hb_analysis *a, hb_trace *trace, const hb_told_step *steps,
                               uint32_t count)
{
    memset(a, 0, sizeof *a);
    a->trace = trace;
    a->told = true;
    hb_buf_init(&a->text, 1 << 20);
    if (hb_arena_try(&a->arena)) take_steps(a, steps, count);
    return hb_arena_outcome(&a->arena);
}
