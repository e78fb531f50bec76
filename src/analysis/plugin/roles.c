/* SPDX-License-Identifier: MIT
 *
 * How each step's time divides into roles.
 */
#include "plugin/analysis.h"

/* Roles take what those before them left. When nothing is left, the plugin starts again with the
 * whole steps, and the next role is counted in full. */
static void allocate(hb_analysis *a, hb_ranges taken[HB_ROLE_OTHER + 1])
{
    hb_range *steps = HB_NEW_ARRAY(&a->arena, hb_range, a->steps.count);
    for (uint32_t i = 0; i < a->steps.count; i++)
        steps[i] = a->steps.items[i].range;
    hb_ranges slots = {0};
    for (int role = 0; role < HB_ROLE_OTHER; role++) {
        if (slots.count) {
            taken[role] = hb_ranges_intersect(&a->arena, &slots, &a->roles[role]);
        } else {
            taken[role] = a->roles[role];
            slots = hb_ranges_merge(&a->arena, steps, a->steps.count);
        }
        hb_ranges left = hb_ranges_subtract(&a->arena, &slots, &taken[role]);
        hb_ranges_give_back(&a->arena, &slots);
        slots = left;
    }
    taken[HB_ROLE_OTHER] = slots;
}

/* All that is left of them is their sums: a range each operator is a lot. */
static void give_back(hb_analysis *a, hb_ranges taken[HB_ROLE_OTHER + 1], hb_ranges *both)
{
    for (int role = 0; role <= HB_ROLE_OTHER; role++)
        if (role == HB_ROLE_OTHER || taken[role].items != a->roles[role].items)
            hb_ranges_give_back(&a->arena, &taken[role]);
    for (int role = 0; role < HB_ROLE_OTHER; role++)
        hb_ranges_give_back(&a->arena, &a->roles[role]);
    hb_ranges_give_back(&a->arena, both);
}

/* Computation beside communication, as the distributed view has them. */
typedef struct overlaps {
    hb_range_sums work, communication, both;
} overlaps;

static void compare_communication(hb_step *step, overlaps *sums)
{
    step->overlap = hb_ranges_sum_next(&sums->both, step->range);
    step->computation = hb_ranges_sum_next(&sums->work, step->range);
    step->communication = hb_ranges_sum_next(&sums->communication, step->range);
    step->other = hb_num_sub(
        hb_num_sub(hb_num_add(step->costs[HB_ROLE_TOTAL], step->overlap), step->computation),
        step->communication);
}

void hb_analyze_overall(hb_analysis *a)
{
    hb_ranges taken[HB_ROLE_OTHER + 1];
    allocate(a, taken);
    const hb_ranges *work = &a->roles[a->has_role[HB_ROLE_KERNEL] ? HB_ROLE_KERNEL : HB_ROLE_CPU];
    const hb_ranges *communication = &a->roles[HB_ROLE_COMMUNICATION];
    hb_ranges both = hb_ranges_intersect(&a->arena, work, communication);
    overlaps compared = {hb_range_sums_of(work), hb_range_sums_of(communication),
                         hb_range_sums_of(&both)};
    hb_range_sums sums[HB_ROLE_OTHER + 1];
    for (int role = 0; role <= HB_ROLE_OTHER; role++)
        sums[role] = hb_range_sums_of(&taken[role]);
    for (int role = 0; role < HB_ROLE_COUNT; role++)
        a->average[role] = hb_float(0);
    for (uint32_t i = 0; i < a->steps.count; i++) {
        hb_step *step = &a->steps.items[i];
        for (int role = 0; role <= HB_ROLE_OTHER; role++)
            step->costs[role] = hb_ranges_sum_next(&sums[role], step->range);
        step->costs[HB_ROLE_TOTAL] = hb_num_sub(step->range.end, step->range.start);
        for (int role = 0; role < HB_ROLE_COUNT; role++)
            a->average[role].v += step->costs[role].v;
        compare_communication(step, &compared);
    }
    give_back(a, taken, &both);
    for (int role = 0; role < HB_ROLE_COUNT; role++)
        a->average[role].v /= a->steps.count;
    for (uint32_t i = 0; i < a->steps.count; i++)
        if (a->steps.items[i].costs[HB_ROLE_TOTAL].v == 0)
            hb_reject_trace(a, "step %.*s has no length",
                            (int)hb_trace_text(a->trace, a->steps.items[i].name).len,
                            hb_trace_text(a->trace, a->steps.items[i].name).s);
    if (a->average[HB_ROLE_TOTAL].v == 0) hb_reject_trace(a, "the steps have no length on average");
}
