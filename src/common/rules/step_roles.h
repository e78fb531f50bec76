/* SPDX-License-Identifier: MIT
 *
 * What a step's time is given to, and what that is called.
 */
#ifndef HB_RULES_STEP_ROLES_H
#define HB_RULES_STEP_ROLES_H

typedef enum hb_role {
#define HB_ROLE(id, title, metric) HB_ROLE_##id,
#include "rules/step_roles.def"
    HB_ROLE_COUNT
} hb_role;
enum { HB_ROLE_PARTS = HB_ROLE_TOTAL }; /* which together are the step */

const char *hb_role_title(hb_role role);
const char *hb_role_metric(hb_role role);

#endif
