/* SPDX-License-Identifier: MIT */
#include "analyze/arena.h"

#include <stdio.h>
#include <stdlib.h>

struct hb_arena_block {
    hb_arena_block *next;
    max_align_t data[];
};

enum { BLOCK = 64 * 1024 };

void hb_arena_leave(hb_arena *arena, hb_result result, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(arena->reason, sizeof arena->reason, format, args);
    va_end(args);
    arena->result = result;
    longjmp(arena->out, 1);
}

static void *new_block(hb_arena *arena, size_t size)
{
    hb_arena_block *block = NULL;
    if (size <= SIZE_MAX - sizeof *block) block = calloc(1, sizeof *block + size);
    if (!block) hb_arena_leave(arena, HB_ERROR_NO_MEMORY, "out of memory for the analysis");
    block->next = arena->blocks;
    arena->blocks = block;
    arena->bytes += size;
    return block->data;
}

void *hb_arena_alloc(hb_arena *arena, size_t size)
{
    size = (size + 15) & ~(size_t)15;
    if (size > BLOCK / 4) return new_block(arena, size);
    if (size > arena->left) {
        arena->fill = new_block(arena, BLOCK);
        arena->left = BLOCK;
    }
    void *p = arena->fill;
    arena->fill += size;
    arena->left -= size;
    return p;
}

void *hb_arena_grow(hb_arena *arena, void *items, uint32_t count, uint32_t *capacity, size_t size)
{
    if (count < *capacity) return items;
    if (count > UINT32_MAX / 2) hb_arena_leave(arena, HB_ERROR_LIMIT, "too many items");
    *capacity = HB_MAX(8, count * 2);
    void *larger = hb_arena_alloc(arena, *capacity * size);
    if (count) memcpy(larger, items, count * size);
    return larger;
}

void hb_arena_free(hb_arena *arena)
{
    while (arena->blocks) {
        hb_arena_block *next = arena->blocks->next;
        free(arena->blocks);
        arena->blocks = next;
    }
    arena->fill = NULL;
    arena->left = arena->bytes = 0;
}
