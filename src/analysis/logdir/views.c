/* SPDX-License-Identifier: MIT */
#include "logdir/views.h"

const char *hb_view_name(hb_view view)
{
    static const char *const names[HB_VIEW_COUNT] = {
        [HB_VIEW_OVERVIEW] = "Overview",       [HB_VIEW_OPERATOR] = "Operator",
        [HB_VIEW_KERNEL] = "Kernel",           [HB_VIEW_TRACE] = "Trace",
        [HB_VIEW_DISTRIBUTED] = "Distributed", [HB_VIEW_MEMORY] = "Memory",
        [HB_VIEW_MODULE] = "Module",           [HB_VIEW_LIGHTNING] = "Lightning",
    };
    return names[view];
}

const hb_joint *hb_run_joint(const hb_run *run, const char *worker, const char *span)
{
    for (size_t i = 0; strcmp(worker, "All") == 0 && span && i < run->num_joints; i++)
        if (strcmp(run->joints[i].span, span) == 0) return &run->joints[i];
    return NULL;
}

unsigned hb_profile_views(const hb_run *run, const hb_profile *p)
{
    const hb_analysis *a = &p->analysis;
    if (p->lost || hb_run_joint(run, p->worker, p->span)) return 0;
    if (a->told) return 1u << HB_VIEW_OVERVIEW;
    unsigned views = 1u << HB_VIEW_OVERVIEW | 1u << HB_VIEW_OPERATOR | 1u << HB_VIEW_TRACE;
    if (a->has_role[HB_ROLE_KERNEL]) views |= 1u << HB_VIEW_KERNEL;
    if (a->memory.count) views |= 1u << HB_VIEW_MEMORY;
    if (a->num_modules) views |= 1u << (a->lightning ? HB_VIEW_LIGHTNING : HB_VIEW_MODULE);
    return views;
}

unsigned hb_run_views(const hb_run *run)
{
    unsigned all = run->num_joints ? 1u << HB_VIEW_DISTRIBUTED : 0;
    for (size_t i = 0; i < run->num_profiles; i++)
        all |= hb_profile_views(run, &run->profiles[i]);
    return all;
}
