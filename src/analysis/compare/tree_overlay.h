/* SPDX-License-Identifier: MIT
 *
 * Call trees of two runs laid over each other. A tree is folded into it step by step and file by
 * file, so that it holds what the steps have in common once, and of each side sums.
 */
#ifndef HB_COMPARE_TREE_OVERLAY_H
#define HB_COMPARE_TREE_OVERLAY_H

#include "base/arena.h"

typedef struct hb_call_tree hb_call_tree;
struct hb_digest;

/** NULL without memory. */
hb_call_tree *hb_call_tree_new(void);
void hb_call_tree_free(hb_call_tree *tree);

/** Adds the steps of the thread that ran them; side 0 is the baseline. */
hb_result hb_call_tree_add(hb_call_tree *tree, struct hb_digest *digest, int side);

/** The nodes in pre-order, children under their parents; `*rows` is the caller's to free. */
struct hb_tree_difference;
hb_result hb_call_tree_list(hb_call_tree *tree, struct hb_tree_difference **rows, size_t *count);

#endif
