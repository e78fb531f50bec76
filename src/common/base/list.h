/* SPDX-License-Identifier: MIT
 *
 * Lists in malloc()ed memory, for what outlives an arena or has none.
 */
#ifndef HB_BASE_LIST_H
#define HB_BASE_LIST_H

#include <stdint.h>
#include <stdlib.h>

/** `list` with room for one more than `count` items of `size` bytes: as it is, or moved to where it
 * has twice the room. NULL without memory; `list` is then as it was. */
static inline void *hb_list_grow(void *list, uint32_t count, uint32_t *capacity, size_t size)
{
    if (count < *capacity) return list;
    uint32_t more = *capacity ? *capacity * 2 : 4;
    void *grown = more > count ? realloc(list, more * size) : NULL;
    if (grown) *capacity = more;
    return grown;
}

#endif
