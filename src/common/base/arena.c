/* SPDX-License-Identifier: MIT */
#include "base/arena.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/large_memory.h"
#include "base/memory_share.h"

struct hb_arena_block {
    hb_arena_block *next, *previous;
    size_t size; /* of the data */
    bool in_memory;
    max_align_t data[];
};

enum { BLOCK = 64 * 1024, MOST_BLOCKS = 64 };

void hb_arena_leave(hb_arena *arena, hb_result result, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(arena->reason, sizeof arena->reason, format, args);
    va_end(args);
    arena->result = result;
    longjmp(arena->out, 1);
}

/* Its own head included. */
static size_t whole(size_t size)
{
    return sizeof(hb_arena_block) + size;
}

/* What lies in a file is none of the memory that there may be. What was not touched so far takes
 * none, so that it can be had before that is looked at. */
static void count_block(hb_arena *arena, hb_arena_block *block)
{
    size_t share = hb_memory_share();
    block->in_memory = hb_large_is_in_memory(block, whole(block->size));
    arena->bytes += block->size;
    if (block->in_memory) arena->in_memory += block->size;
    if (arena->in_memory <= share) return;
    hb_arena_leave(arena, HB_ERROR_LIMIT, "the analysis needs over %zu MiB of memory", share >> 20);
}

static void uncount_block(hb_arena *arena, const hb_arena_block *block)
{
    arena->bytes -= block->size;
    if (block->in_memory) arena->in_memory -= block->size;
}

static _Noreturn void leave_without_memory(hb_arena *arena)
{
    char text[256];
    hb_arena_leave(arena, HB_ERROR_NO_MEMORY, "%s for the analysis", hb_large_refusal(text));
}

static void *new_block(hb_arena *arena, size_t size)
{
    hb_arena_block *block = size <= SIZE_MAX - sizeof *block ? hb_large_alloc(whole(size)) : NULL;
    if (!block) leave_without_memory(arena);
    block->size = size;
    block->next = arena->blocks;
    if (block->next) block->next->previous = block;
    arena->blocks = block;
    count_block(arena, block);
    return block->data;
}

static size_t rounded(size_t size)
{
    return (size + 15) & ~(size_t)15;
}

/* Large pieces have a block of their own. */
static bool has_own_block(size_t size)
{
    return rounded(size) > BLOCK / 4;
}

hb_result hb_arena_outcome(const hb_arena *arena)
{
    return arena->result == HB_OK ? HB_OK : hb_fail(arena->result, "%s", arena->reason);
}

void *hb_arena_alloc(hb_arena *arena, size_t size)
{
    if (has_own_block(size)) return new_block(arena, rounded(size));
    size = rounded(size);
    if (size > arena->left || HB_UNLIKELY(!arena->fill)) { /* a piece of no bytes is one, too */
        /* A sixteenth of what there is, so that small pieces of many lie in files, too. */
        size_t blocks = HB_MIN(arena->bytes / BLOCK / 16 + 1, (size_t)MOST_BLOCKS);
        arena->fill = new_block(arena, blocks * BLOCK);
        arena->left = blocks * BLOCK;
    }
    void *p = arena->fill;
    arena->fill += size;
    arena->left -= size;
    return p;
}

static hb_arena_block *block_of(void *piece)
{
    return (hb_arena_block *)(void *)((char *)piece - offsetof(hb_arena_block, data));
}

void hb_arena_give_back(hb_arena *arena, void *piece, size_t size)
{
    if (!piece || !has_own_block(size)) return;
    hb_arena_block *block = block_of(piece);
    if (block->next) block->next->previous = block->previous;
    if (block->previous)
        block->previous->next = block->next;
    else
        arena->blocks = block->next;
    uncount_block(arena, block);
    hb_large_free(block, whole(block->size));
}

/* In place if it can be, so that large arrays leave no shorter copies behind. */
static void *grow_block(hb_arena *arena, void *items, size_t old_size, size_t size)
{
    hb_arena_block *block = block_of(items);
    uncount_block(arena, block); /* counted again when it is larger, or the analysis is left */
    hb_arena_block *larger = hb_large_grow(block, whole(rounded(old_size)), whole(rounded(size)));
    if (!larger) leave_without_memory(arena);
    larger->size = rounded(size);
    if (larger->next) larger->next->previous = larger;
    if (larger->previous)
        larger->previous->next = larger;
    else
        arena->blocks = larger;
    count_block(arena, larger);
    return larger->data;
}

void *hb_arena_grow(hb_arena *arena, void *items, uint32_t count, uint32_t *capacity, size_t size)
{
    if (count < *capacity) return items;
    if (count > UINT32_MAX / 2) hb_arena_leave(arena, HB_ERROR_LIMIT, "too many items");
    size_t old_size = *capacity * size;
    /* Half as much again, where a copy costs nothing but its time. */
    uint32_t more = has_own_block(old_size) ? count + count / 2 : HB_MAX(8, count * 2);
    if (has_own_block(old_size)) {
        items = grow_block(arena, items, old_size, more * size);
        *capacity = more;
        return items;
    }
    void *larger = hb_arena_alloc(arena, more * size);
    if (count) memcpy(larger, items, count * size);
    *capacity = more;
    return larger;
}

void hb_arena_free(hb_arena *arena)
{
    while (arena->blocks) {
        hb_arena_block *next = arena->blocks->next;
        hb_large_free(arena->blocks, whole(arena->blocks->size));
        arena->blocks = next;
    }
    arena->fill = NULL;
    arena->left = arena->bytes = arena->in_memory = 0;
}
