/* SPDX-License-Identifier: MIT */
#include "rules/step_roles.h"

const char *hb_role_title(hb_role role)
{
    static const char *const titles[] = {
#define HB_ROLE(id, title, metric) title,
#include "rules/step_roles.def"
    };
    return titles[role];
}

const char *hb_role_metric(hb_role role)
{
    static const char *const metrics[] = {
#define HB_ROLE(id, title, metric) metric,
#include "rules/step_roles.def"
    };
    return metrics[role];
}
