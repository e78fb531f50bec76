/* SPDX-License-Identifier: MIT
 *
 * The vector: items one behind the other, their number, and for how many there is room. All zero is
 * empty. HB_PUSH() (base/arena.h) adds to one in an arena, HB_APPEND() to one in malloc()ed memory;
 * a vector stays with one of the two.
 */
#ifndef HB_BASE_VECTOR_H
#define HB_BASE_VECTOR_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define HB_VEC(type)              \
    struct {                      \
        type *items;              \
        uint32_t count, capacity; \
    }

/** `items` with room for one more than `count` of `size` bytes: as they are, or moved to where they
 * have twice the room. NULL without memory; `items` are then as they were. */
static inline void *hb_vec_grow(void *items, uint32_t count, uint32_t *capacity, size_t size)
{
    if (count < *capacity) return items;
    uint32_t more = *capacity ? *capacity * 2 : 4;
    void *grown = more > count ? realloc(items, more * size) : NULL;
    if (grown) *capacity = more;
    return grown;
}

/** Adds one, zeroed, to a HB_VEC; gives its address, which holds until the next one is added. NULL
 * without memory; nothing is changed then. To be freed by free() of its items. */
#define HB_APPEND(vec)                                                                       \
    ({                                                                                       \
        __typeof__(vec) hb_vec_ = (vec);                                                     \
        void *hb_grown_ = hb_vec_grow(hb_vec_->items, hb_vec_->count, &hb_vec_->capacity,    \
                                      sizeof *hb_vec_->items);                               \
        if (hb_grown_) hb_vec_->items = hb_grown_;                                           \
        hb_grown_ ? (__typeof__(hb_vec_->items))memset(&hb_vec_->items[hb_vec_->count++], 0, \
                                                       sizeof *hb_vec_->items)               \
                  : NULL;                                                                    \
    })

#endif
