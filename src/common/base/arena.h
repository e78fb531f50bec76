/* SPDX-License-Identifier: MIT
 *
 * Memory and ways out of an analysis. An analysis allocates much and frees it all at once, and it
 * may find deep inside that the plugin would lose the file here; both are a jump to where it began,
 * so that the code in between reads like the rules it follows.
 */
#ifndef HB_BASE_ARENA_H
#define HB_BASE_ARENA_H

#include <setjmp.h>

#include "base/base.h"
#include "base/vector.h"

typedef struct hb_arena_block hb_arena_block;

typedef struct hb_arena {
    hb_arena_block *blocks;
    char *fill;
    size_t left, bytes;
    size_t in_memory; /* of the bytes; the others lie in files */
    jmp_buf out;
    hb_result result;
    char reason[240];
} hb_arena;

/** if (hb_arena_try(arena)) { work } else { arena->result, arena->reason }  Not to be nested. */
#define hb_arena_try(arena) ((arena)->result = HB_OK, setjmp((arena)->out) == 0)

/** Leaves the analysis. HB_ERROR_FORMAT: the plugin loses the file for this reason. */
_Noreturn HB_COLD HB_PRINTF(3, 4) void hb_arena_leave(hb_arena *arena, hb_result result,
                                                      const char *format, ...);

/** HB_OK, or the failure that it was left by, which hb_last_error() then tells. */
hb_result hb_arena_outcome(const hb_arena *arena);

/** Zeroed; never NULL. */
void *hb_arena_alloc(hb_arena *arena, size_t size);
void hb_arena_free(hb_arena *arena);
/** Gives back a piece of `size` bytes that nobody uses any more, at once where it is large; else it
 * goes with the arena. */
void hb_arena_give_back(hb_arena *arena, void *piece, size_t size);

#define HB_NEW_ARRAY(arena, type, count) ((type *)hb_arena_alloc(arena, sizeof(type) * (count)))

/** Makes room for one more in an array of the arena. */
void *hb_arena_grow(hb_arena *arena, void *items, uint32_t count, uint32_t *capacity, size_t size);

/** Adds one to a HB_VEC; gives its address, which holds until the next one is added. */
#define HB_PUSH(arena, vec)                                                                       \
    ({                                                                                            \
        __typeof__(vec) hb_vec_ = (vec);                                                          \
        hb_vec_->items = hb_arena_grow(arena, hb_vec_->items, hb_vec_->count, &hb_vec_->capacity, \
                                       sizeof *hb_vec_->items);                                   \
        &hb_vec_->items[hb_vec_->count++];                                                        \
    })

typedef HB_VEC(uint32_t) hb_u32s;

#endif
