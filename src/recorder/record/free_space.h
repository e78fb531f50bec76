/* SPDX-License-Identifier: MIT
 *
 * Space in a file that was given back, and is used again before the file grows.
 */
#ifndef HB_RECORD_FREE_SPACE_H
#define HB_RECORD_FREE_SPACE_H

#include <stdbool.h>

#include "base/base.h"

/** A part of a file. */
typedef struct hb_extent {
    uint64_t offset, bytes;
} hb_extent;

/** `space` has hb_extents in the order of their offsets, none beside another; empty at first. */

/** What overlaps none that is there. Without memory it is forgotten. */
void hb_free_space_add(hb_buf *space, hb_extent extent);
/** The first place of so many bytes, which is taken; false when there is none. */
bool hb_free_space_take(hb_buf *space, uint64_t bytes, uint64_t *offset);
/** The file ends there now. */
void hb_free_space_cut(hb_buf *space, uint64_t end);

#endif
