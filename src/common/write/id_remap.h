/* SPDX-License-Identifier: MIT
 *
 * What is done with HIP calls made in scopes that are kept out of the plugin's tree: they go to the
 * nearest scope that is in it, or else the plugin would find no operator for their kernels.
 */
#ifndef HB_WRITE_ID_REMAP_H
#define HB_WRITE_ID_REMAP_H

#include "base/base.h"
#include "base/vector.h"

enum { HB_MAX_REMAPPED = 65536 }; /* those beyond keep their own id */

/** All zero is empty. */
typedef struct hb_id_remap {
    HB_VEC(struct hb_remapped_id) ids;
} hb_id_remap;

/** External id `id` is not in the tree; `instead`, which may be 0, takes its calls. */
void hb_id_remap_add(hb_id_remap *remap, uint64_t id, uint64_t instead);

/** When all are added. */
void hb_id_remap_sort(hb_id_remap *remap);

/** The id to write for `id`. */
uint64_t hb_id_remap_find(const hb_id_remap *remap, uint64_t id);

void hb_id_remap_free(hb_id_remap *remap);

#endif
