/* SPDX-License-Identifier: MIT */
#include "base/arena.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/memory_share.h"

struct hb_arena_block {
    hb_arena_block *next, *previous;
    size_t size; /* of the data */
    max_align_t data[];
};

/* MAPPED_BLOCK: from then on a block is a mapping of its own, which comes as zeros and grows
 * without being copied. */
enum { BLOCK = 64 * 1024, MAPPED_BLOCK = 1 << 20, HUGE_BLOCK = 4 << 20 };

void hb_arena_leave(hb_arena *arena, hb_result result, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(arena->reason, sizeof arena->reason, format, args);
    va_end(args);
    arena->result = result;
    longjmp(arena->out, 1);
}

static void check_share(hb_arena *arena, size_t more)
{
    size_t share = hb_memory_share();
    if (more <= share && arena->bytes <= share - more) return;
    hb_arena_leave(arena, HB_ERROR_LIMIT, "the analysis needs over %zu MiB of memory", share >> 20);
}

static bool is_mapped(size_t size)
{
    return size >= MAPPED_BLOCK;
}

static hb_arena_block *map_block(size_t size)
{
    hb_arena_block *block = mmap(NULL, sizeof *block + size, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return block == MAP_FAILED ? NULL : block;
}

/* The whole mapping, as mremap() takes no parts of several sorts. */
static void use_huge_pages(hb_arena_block *block)
{
    if (block->size >= HUGE_BLOCK) madvise(block, sizeof *block + block->size, MADV_HUGEPAGE);
}

static void free_block(hb_arena_block *block)
{
    if (is_mapped(block->size))
        munmap(block, sizeof *block + block->size);
    else
        free(block);
}

static void *new_block(hb_arena *arena, size_t size)
{
    check_share(arena, size);
    hb_arena_block *block = NULL;
    if (size <= SIZE_MAX - sizeof *block)
        block = is_mapped(size) ? map_block(size) : calloc(1, sizeof *block + size);
    if (!block) hb_arena_leave(arena, HB_ERROR_NO_MEMORY, "out of memory for the analysis");
    block->size = size;
    block->next = arena->blocks;
    if (block->next) block->next->previous = block;
    arena->blocks = block;
    arena->bytes += size;
    use_huge_pages(block);
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
    if (size > arena->left) {
        arena->fill = new_block(arena, BLOCK);
        arena->left = BLOCK;
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
    arena->bytes -= rounded(size);
    free_block(block);
}

/* NULL without memory. What is new is zeroed. */
static hb_arena_block *grown(hb_arena_block *block, size_t size)
{
    hb_arena_block *larger;
    size_t old_size = block->size, whole = sizeof *block + size;
    if (is_mapped(old_size)) {
        larger = mremap(block, sizeof *block + old_size, whole, MREMAP_MAYMOVE);
        if (larger == MAP_FAILED) return NULL;
    } else if (is_mapped(size)) {
        larger = map_block(size);
        if (!larger) return NULL;
        memcpy(larger, block, sizeof *block + old_size);
        free(block);
    } else {
        larger = realloc(block, whole);
        if (!larger) return NULL;
        memset((char *)larger->data + old_size, 0, size - old_size);
    }
    larger->size = size;
    return larger;
}

/* In place if it can be, so that large arrays leave no shorter copies behind. */
static void *grow_block(hb_arena *arena, void *items, size_t old_size, size_t size)
{
    hb_arena_block *block = block_of(items);
    check_share(arena, rounded(size) - rounded(old_size));
    hb_arena_block *larger = grown(block, rounded(size));
    if (!larger) hb_arena_leave(arena, HB_ERROR_NO_MEMORY, "out of memory for the analysis");
    if (larger->next) larger->next->previous = larger;
    if (larger->previous)
        larger->previous->next = larger;
    else
        arena->blocks = larger;
    use_huge_pages(larger);
    arena->bytes += rounded(size) - rounded(old_size);
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
        free_block(arena->blocks);
        arena->blocks = next;
    }
    arena->fill = NULL;
    arena->left = arena->bytes = 0;
}
