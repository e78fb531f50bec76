/* SPDX-License-Identifier: MIT
 *
 * Two call trees side by side.
 */
#ifndef HB_PLUGIN_TREE_DIFF_H
#define HB_PLUGIN_TREE_DIFF_H

#include "plugin/analysis.h"

/** One side: no node, one, or several in a row. */
typedef struct hb_diff_side {
    hb_analysis *analysis;
    const uint32_t *nodes;
    uint32_t count;
    bool single; /* a node by itself, not a list */
} hb_diff_side;

typedef struct hb_diff hb_diff;
struct hb_diff {
    hb_diff_side left, right;
    HB_VEC(hb_diff) children;
};

/** Compares the first trees. HB_ERROR_FORMAT when one of them has none. All memory is the arena's.
 */
hb_result hb_diff_run(hb_arena *arena, hb_analysis *left, hb_analysis *right, hb_diff **diff);

/** The thread whose tree the plugin shows; NULL: none. */
const hb_tree_thread *hb_first_thread(const hb_analysis *a, const hb_threads *threads);

#endif
