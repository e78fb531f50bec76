/* SPDX-License-Identifier: MIT
 *
 * What is done with HIP calls made in scopes that are kept out of the plugin's tree: they go to the
 * nearest scope that is in it, or else the plugin would find no operator for their kernels.
 */
#ifndef HB_WRITE_ID_REMAP_H
#define HB_WRITE_ID_REMAP_H

#include "base/base.h"
#include "base/vector.h"

enum { HB_MAX_OUTSIDE = 65536 }; /* those beyond keep their own id */

/** All zero is empty. */
typedef struct hb_outside {
    HB_VEC(struct hb_outside_id) ids;
} hb_outside;

/** External id `id` is not in the tree; `instead`, which may be 0, takes its calls. */
void hb_outside_add(hb_outside *outside, uint64_t id, uint64_t instead);

/** When all are added. */
void hb_outside_sort(hb_outside *outside);

/** The id to write for `id`. */
uint64_t hb_outside_find(const hb_outside *outside, uint64_t id);

void hb_outside_free(hb_outside *outside);

#endif
