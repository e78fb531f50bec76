/* SPDX-License-Identifier: MIT
 *
 * Which of the plugin's views a run has.
 */
#ifndef HB_LOGDIR_VIEWS_H
#define HB_LOGDIR_VIEWS_H

#include "logdir/logdir.h"

typedef enum hb_view {
    HB_VIEW_OVERVIEW,
    HB_VIEW_OPERATOR,
    HB_VIEW_KERNEL,
    HB_VIEW_TRACE,
    HB_VIEW_DISTRIBUTED,
    HB_VIEW_MEMORY,
    HB_VIEW_MODULE,
    HB_VIEW_LIGHTNING,
    HB_VIEW_COUNT
} hb_view;

/** As the plugin writes it. */
const char *hb_view_name(hb_view view);

/** The joint result of all workers hides a worker of that name, which is "All". NULL: there is
 * none, or `worker` is another. */
const hb_joint *hb_run_joint(const hb_run *run, const char *worker, const char *span);

/** A bit for each view that a worker's span has; 0 when it is hidden or lost. */
unsigned hb_profile_views(const hb_run *run, const hb_profile *profile);
/** A bit for each view that a loaded run has. */
unsigned hb_run_views(const hb_run *run);

#endif
